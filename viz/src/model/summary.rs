//! The short allocations of a pool in a picture's coarse raster, for blocks of records of several sizes: what cannot be
//! told apart is summed up once, not in each picture.

use super::{By, EventIx, Life, LifeIx, Model, PoolIx};

/// Records of the smallest block.
const LEAF: u32 = 64;
/// Blocks of one size in one of the next.
const FAN: u32 = 4;
/// How many sizes there are.
const SIZES: u32 = 7;
/// Parts of all addresses that are told apart.
const ROWS: u64 = 512;
/// Pools of fewer allocations are drawn one by one.
const FEW: usize = 4_000;

/// What allocations are summed up by: those of one kind in one place are one patch, and no kind is lost in another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summed {
    /// The stream that allocated.
    Stream,
    /// The label: see [`Groups`](super::Groups).
    Label,
    /// What the malloc relied on.
    Source,
    /// How long they stayed, in steps of ten records.
    Length,
}

impl Summed {
    fn key(self, model: &Model, pool: PoolIx, life: &Life) -> u32 {
        match self {
            Self::Stream => life.stream.0,
            Self::Label => model.groups(pool, By::Label).of(life) as u32,
            Self::Source => life.source.map_or(u32::MAX, |source| source as u32),
            Self::Length => life.died().map_or(u32::MAX, |died| (died.0 - life.since().0).max(1).ilog10()),
        }
    }
}

/// Allocations of one kind in one block of records and one part of the addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    /// Where they begin, from the pool's base.
    pub start: u64,
    /// Past the last of them.
    pub end: u64,
    /// The largest of them, by bytes and records.
    pub life: LifeIx,
    /// How much they cover of the block's records times their addresses; small ones may cover each other.
    pub cover: f32,
    /// Bytes times records of the largest.
    most: f32,
    /// What they are summed up by.
    key: u32,
    row: u32,
}

/// Those of all blocks of one size.
#[derive(Clone, Debug, Default)]
struct Size {
    starts: Vec<u32>,
    patches: Vec<Patch>,
}

/// Those of a pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    sizes: Vec<Size>,
}

/// What is to be drawn of a pool's allocations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// One allocation.
    Life(LifeIx),
    /// Some that began in these records, and stayed for less than that.
    Patch(EventIx, EventIx, Patch),
}

const fn records(size: u32) -> u32 {
    LEAF * FAN.pow(size)
}

impl Summary {
    pub(super) fn build(model: &Model, at: PoolIx, by: Summed) -> Self {
        let pool = model.pool(at);
        if pool.lives.len() < FEW {
            return Self::default();
        }
        let end = pool.covered.last().map_or(1, |span| span.1).max(1);
        let row = end.div_ceil(ROWS).max(1);
        let ordered = &pool.lives[pool.stays.unordered().min(pool.lives.len())..];
        let mut sizes: Vec<Size> = Vec::new();
        for size in 0..SIZES {
            let least = size.checked_sub(1).map_or(0, records);
            let new = ordered.iter().zip(pool.stays.unordered()..).filter(|(_, at)| {
                let length = pool.stays.length(*at);
                length >= least && length < records(size)
            });
            let new = new.map(|(life, _)| (model.life(*life).since().0, *life));
            let key = |life: &Life| by.key(model, at, life);
            let made = Size::build(model, new, sizes.last(), (records(size), row), key);
            sizes.push(made);
        }
        Self { sizes }
    }
}

impl Size {
    /// Of those that are new in this size, in the order of their beginnings, and of the blocks below.
    fn build(
        model: &Model,
        new: impl Iterator<Item = (u32, LifeIx)>,
        below: Option<&Self>,
        (records, row): (u32, u64),
        key: impl Fn(&Life) -> u32,
    ) -> Self {
        let blocks = model.events.len() as u32 / records + 1;
        let mut made = Self { starts: vec![0], patches: Vec::new() };
        let mut new = new.peekable();
        let mut found: Vec<Patch> = Vec::new();
        for block in 0..blocks {
            while let Some((_, life)) = new.next_if(|(born, _)| *born < (block + 1).saturating_mul(records)) {
                let one = model.life(life);
                split(one, life, (row, records, key(one)), &mut found);
            }
            for part in (block * FAN)..((block + 1) * FAN) {
                let patches = below.map_or(&[][..], |below| below.of(part));
                found.extend(patches.iter().map(|patch| Patch { cover: patch.cover / FAN as f32, ..*patch }));
            }
            made.close(&mut found);
        }
        made
    }

    fn of(&self, block: u32) -> &[Patch] {
        match (self.starts.get(block as usize), self.starts.get(block as usize + 1)) {
            (Some(from), Some(to)) => &self.patches[*from as usize..*to as usize],
            _ => &[],
        }
    }

    fn close(&mut self, found: &mut Vec<Patch>) {
        found.sort_unstable_by_key(|patch| (patch.row, patch.key));
        let first = self.patches.len();
        for patch in found.drain(..) {
            let alike = |last: &&mut Patch| (last.row, last.key) == (patch.row, patch.key);
            match self.patches[first..].last_mut().filter(alike) {
                Some(last) => last.take(&patch),
                None => self.patches.push(patch),
            }
        }
        self.starts.push(u32::try_from(self.patches.len()).unwrap_or(u32::MAX));
    }
}

impl Patch {
    fn take(&mut self, other: &Self) {
        let own = self.cover * (self.end - self.start) as f32 + other.cover * (other.end - other.start) as f32;
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
        self.cover = own / (self.end - self.start).max(1) as f32;
        if other.most > self.most {
            (self.most, self.life) = (other.most, other.life);
        }
    }
}

/// A life in each of the parts of the addresses that it lies in.
fn split(life: &Life, at: LifeIx, (row, records, key): (u64, u32, u32), found: &mut Vec<Patch>) {
    let length = life.died().map_or(records, |died| died.0 - life.since().0).max(1) as f32;
    let most = length * life.given.0 as f32;
    let (mut start, end) = (life.offset.0, life.end().max(life.offset.0.saturating_add(1)));
    while start < end {
        let part = start / row;
        // A large one is not cut into more than there are parts.
        let past = if part >= ROWS { end } else { ((part + 1) * row).min(end) };
        let cover = length / records as f32;
        let row = u32::try_from(part).unwrap_or(u32::MAX);
        found.push(Patch { start, end: past, life: at, cover, most, key, row });
        start = past;
    }
}

impl Model {
    /// Worked out when it is first asked for.
    pub(super) fn summary(&self, pool: PoolIx, by: Summed) -> &Summary {
        self.pool(pool).summaries[by as usize].get_or_init(|| Summary::build(self, pool, by))
    }

    /// Sums the allocations of a pool up by this. O(n log n) the first time.
    pub fn sum(&self, pool: PoolIx, by: Summed) {
        self.summary(pool, by);
    }

    /// Whether that was done.
    #[must_use]
    pub fn has_sums(&self, pool: PoolIx, by: Summed) -> bool {
        self.pool(pool).summaries[by as usize].get().is_some()
    }

    /// What is to be drawn of a pool for the records `from..to`: allocations one by one, but for those that `fine` says
    /// are too short to be told apart; it is asked whether a block of records is worth being looked into. Those that
    /// were live at the beginning are told as well. Bounded by what `fine` allows and by what lasted.
    pub fn parts(
        &self,
        (pool, by): (PoolIx, Summed),
        (from, to): (EventIx, EventIx),
        fine: impl Fn(EventIx, EventIx) -> bool,
        mut tell: impl FnMut(Part),
    ) {
        let summary = self.summary(pool, by);
        let pool = self.pool(pool);
        let before = |event: EventIx| event.0.checked_sub(1).map(EventIx);
        let unordered = pool.stays.unordered();
        pool.lives[..unordered].iter().for_each(|life| tell(Part::Life(*life)));
        if let Some(last) = before(from) {
            pool.stays.each_live(last, |at| {
                if at >= unordered {
                    tell(Part::Life(pool.lives[at]));
                }
            });
        }
        let sizes = &summary.sizes;
        let mut at = from.0;
        while at < to.0 {
            // The largest block that begins here, fits, and need not be looked into.
            let fits = |size: &u32| {
                let past = at.saturating_add(records(*size));
                at.is_multiple_of(records(*size)) && past <= to.0 && !fine(EventIx(at), EventIx(past))
            };
            let size = (0..sizes.len() as u32).rev().find(fits);
            let Some(size) = size else {
                let past = (at / LEAF + 1).saturating_mul(LEAF).min(to.0);
                let past = if sizes.is_empty() { to.0 } else { past };
                pool.stays.each_lasting(EventIx(at), EventIx(past), 0, |at| tell(Part::Life(pool.lives[at])));
                at = past;
                continue;
            };
            let past = at + records(size);
            let block = (EventIx(at), EventIx(past));
            let patches = sizes[size as usize].of(at / records(size));
            patches.iter().for_each(|patch| tell(Part::Patch(block.0, block.1, *patch)));
            pool.stays.each_lasting(block.0, block.1, records(size), |at| tell(Part::Life(pool.lives[at])));
            at = past;
        }
    }

    /// The allocations of a pool that are live once the record has taken effect, in no order.
    pub fn each_live(&self, pool: PoolIx, event: EventIx, mut tell: impl FnMut(LifeIx)) {
        let pool = self.pool(pool);
        pool.stays.each_live(event, |at| tell(pool.lives[at]));
    }

    /// The allocations of a pool that were live at any time in the records `from..=to`.
    pub fn each_between(&self, pool: PoolIx, from: EventIx, to: EventIx, mut tell: impl FnMut(LifeIx)) {
        let (stays, lives) = (&self.pool(pool).stays, &self.pool(pool).lives);
        let later = |at: &&LifeIx| self.life(**at).since() > from;
        lives[..stays.unordered()].iter().filter(later).for_each(|at| tell(*at));
        stays.each_live(from, |at| tell(lives[at]));
        let past = EventIx(to.0.saturating_add(1));
        stays.each_lasting(EventIx(from.0.saturating_add(1)), past, 0, |at| tell(lives[at]));
    }
}
