//! Mallocs that both logs have, and which of them lost their reuse.

use crate::model::{LifeIx, Model, PoolIx};
use std::cmp::Reverse;
use weir::trace::Source;

/// So far a match is looked for where the two go apart.
const AHEAD: usize = 32;
/// So many lost ones are told.
const MOST: usize = 20;

/// A malloc that was reuse at no cost in one log, and is not in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The allocation in the first log and in the second.
    pub alloc: [u64; 2],
    /// What it relied on.
    pub source: [Source; 2],
    /// Bytes asked for.
    pub asked: u64,
    /// Its label in the first log; empty for none.
    pub label: String,
}

/// Mallocs that both logs have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// How many.
    pub count: u64,
    /// Mallocs that only one of them has.
    pub alone: [u64; 2],
    /// What they relied on in the first log (row) and in the second (column), in the order of [`Source::ALL`].
    pub sources: [[u64; 6]; 6],
    /// How many lost their reuse.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// How many won it.
    pub won: u64,
    /// The largest of those that lost it.
    pub largest: Vec<Lost>,
}

const fn is_cheap(source: Source) -> bool {
    matches!(source, Source::SameStream | Source::Settled | Source::Event)
}

/// What stands at a place where two logs are walked along together.
enum Step {
    /// A malloc of both.
    Both([LifeIx; 2]),
    /// Mallocs that only one of them has.
    Alone([u64; 2]),
}

/// Matches the mallocs between the same marks. `bounds`: for each section the records of both logs.
pub(super) fn matched(models: [&Model; 2], pools: [Option<PoolIx>; 2], bounds: &[[[u32; 2]; 2]]) -> Matched {
    let mut matched = Matched::default();
    each(models, pools, bounds, |step| match step {
        Step::Both(lives) => matched.pair(models, lives),
        Step::Alone([one, other]) => {
            matched.alone[0] += one;
            matched.alone[1] += other;
        }
    });
    matched.largest.sort_by_key(|lost| (Reverse(lost.asked), lost.alloc));
    matched.largest.truncate(MOST);
    matched
}

/// The mallocs of both.
pub(super) fn pairs(models: [&Model; 2], pools: [Option<PoolIx>; 2], bounds: &[[[u32; 2]; 2]]) -> Vec<[LifeIx; 2]> {
    let mut pairs = Vec::new();
    each(models, pools, bounds, |step| {
        if let Step::Both(lives) = step {
            pairs.push(lives);
        }
    });
    pairs
}

fn each(models: [&Model; 2], pools: [Option<PoolIx>; 2], bounds: &[[[u32; 2]; 2]], mut take: impl FnMut(Step)) {
    let [Some(one), Some(other)] = pools else { return };
    let lives = [mallocs(models[0], one), mallocs(models[1], other)];
    for section in bounds {
        let within = |side: usize| {
            let born = |life: &LifeIx| models[side].life(*life).since().0;
            let [from, to] = section[side];
            let lives = &lives[side];
            &lives[lives.partition_point(|life| born(life) < from)..lives.partition_point(|life| born(life) < to)]
        };
        walk(models, [within(0), within(1)], &mut take);
    }
}

/// Those whose mallocs are in the log, in their order.
fn mallocs(model: &Model, pool: PoolIx) -> Vec<LifeIx> {
    model.pool(pool).lives.iter().copied().filter(|life| model.life(*life).born().is_some()).collect()
}

fn walk(models: [&Model; 2], lives: [&[LifeIx]; 2], take: &mut impl FnMut(Step)) {
    let key = |side: usize, at: usize| {
        let life = models[side].life(lives[side][at]);
        (models[side].stream(life.stream).id.raw() as u32, life.asked())
    };
    let (mut a, mut b) = (0, 0);
    while a < lives[0].len() && b < lives[1].len() {
        if key(0, a) == key(1, b) {
            take(Step::Both([lives[0][a], lives[1][b]]));
            (a, b) = (a + 1, b + 1);
            continue;
        }
        // The nearest place where they meet again.
        let meets = (1..=2 * AHEAD).find_map(|steps| {
            let splits = steps.saturating_sub(AHEAD)..=steps.min(AHEAD);
            splits
                .map(|ahead| (a + ahead, b + steps - ahead))
                .find(|(a, b)| *a < lives[0].len() && *b < lives[1].len() && key(0, *a) == key(1, *b))
        });
        let (next_a, next_b) = meets.unwrap_or((a + 1, b + 1));
        take(Step::Alone([(next_a - a) as u64, (next_b - b) as u64]));
        (a, b) = (next_a, next_b);
    }
    let left = |side: usize, at: usize| (lives[side].len() - at.min(lives[side].len())) as u64;
    take(Step::Alone([left(0, a), left(1, b)]));
}

impl Matched {
    fn pair(&mut self, models: [&Model; 2], lives: [LifeIx; 2]) {
        let [one, other] = [models[0].life(lives[0]), models[1].life(lives[1])];
        self.count += 1;
        let (Some(was), Some(is)) = (one.source, other.source) else { return };
        self.sources[was as usize][is as usize] += 1;
        match (is_cheap(was), is_cheap(is)) {
            (false, true) => self.won += 1,
            (true, false) => {
                self.lost += 1;
                let asked = one.asked().map_or(0, |asked| asked.0);
                self.lost_bytes = self.lost_bytes.saturating_add(asked);
                let label = models[0].name(one.name).to_owned();
                self.keep(Lost { alloc: [one.id.0, other.id.0], source: [was, is], asked, label });
            }
            _ => {}
        }
    }

    /// Keeps the largest ones, cutting the list now and then.
    fn keep(&mut self, lost: Lost) {
        self.largest.push(lost);
        if self.largest.len() >= MOST * 16 {
            self.largest.sort_by_key(|lost| (Reverse(lost.asked), lost.alloc));
            self.largest.truncate(MOST);
        }
    }
}
