//! Who handed how much memory to whom: sums over any range of records, in bounded time.

use super::{EventIx, Kind, LifeIx, Model, Payload, PoolIx, StreamIx};
use foldhash::HashMap;
use std::collections::BTreeMap;
use weir::trace::Source;

/// Records of one block of sums.
const BLOCK: usize = 1 << 16;
/// Parties that are told one by one; of more, neighbours by their ids are one.
const MOST: usize = 32;

/// What went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How much.
    pub bytes: u64,
    /// In how many pieces.
    pub hand_overs: usize,
}

impl Amount {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), hand_overs: self.hand_overs + other.hand_overs }
    }
}

/// Who gives or takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Memory that nobody had before.
    Nobody,
    /// Streams by their place among all ids: from the first to the last. Mostly one.
    Streams(u32, u32),
}

/// Everything that went from one to another, by what it relied on.
pub type Handed = BTreeMap<(Party, Party), BTreeMap<Source, Amount>>;

/// By pool, who gave (0: nobody; else a stream's rank and 1), who took (likewise), and what it relied on.
type Sums = HashMap<Key, Amount>;

/// The source by its place in `Source::ALL`.
type Key = (PoolIx, u32, u32, u8);

/// Sums of whole blocks, over so many streams at a time that few are left.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    /// By pool.
    blocks: Vec<Vec<(Key, Amount)>>,
    /// Streams of one sum.
    wide: u32,
    /// The streams in the order of their ids.
    by_rank: Vec<StreamIx>,
}

impl Flows {
    pub(super) fn build(model: &Model) -> Self {
        let mut by_rank: Vec<StreamIx> = (0..model.streams.len()).map(StreamIx::next_of).collect();
        by_rank.sort_unstable_by_key(|stream| model.stream(*stream).rank);
        let wide = u32::try_from(by_rank.len().div_ceil(MOST).max(1)).unwrap_or(u32::MAX);
        let mut blocks = Vec::new();
        for block in 0..model.events.len() / BLOCK {
            let mut sums = Sums::default();
            let events = block * BLOCK..(block + 1) * BLOCK;
            let group = |rank| group(rank, wide);
            events.for_each(|at| add(model, EventIx::next_of(at), &mut sums, |_| true, group));
            let mut sums: Vec<(Key, Amount)> = sums.into_iter().collect();
            sums.sort_unstable_by_key(|sum| sum.0);
            blocks.push(sums);
        }
        Self { blocks, wide, by_rank }
    }
}

/// The streams of a rank and 1, so many together; nobody stays nobody.
const fn group(rank: u32, wide: u32) -> u32 {
    match rank {
        0 => 0,
        rank => (rank - 1) / wide + 1,
    }
}

/// Adds what the record's malloc got, if its pool is one of those wanted.
fn add(model: &Model, event: EventIx, sums: &mut Sums, wanted: impl Fn(PoolIx) -> bool, group: impl Fn(u32) -> u32) {
    if model.events.kind(event) != Kind::Malloc {
        return;
    }
    let Payload::Life(at) = model.events.payload(event) else { return };
    let pool = model.life(at).pool;
    if !wanted(pool) {
        return;
    }
    each_hand_over(model, at, |from, to, source, bytes| {
        let sum = sums.entry((pool, group(from), group(to), source)).or_default();
        *sum = sum.and(Amount { bytes, hand_overs: 1 });
    });
}

/// Where the bytes of a malloc came from, by ranks. Of a malloc whose source is not recorded, nothing is told.
fn each_hand_over(model: &Model, at: LifeIx, mut tell: impl FnMut(u32, u32, u8, u64)) {
    let life = model.life(at);
    let Some(source) = life.source else {
        return;
    };
    let rank = |stream: StreamIx| u32::try_from(model.stream(stream).rank).unwrap_or(u32::MAX - 1) + 1;
    for (from, bytes) in model.hand_overs(at) {
        let relied = relied_on(source, from, life.stream);
        tell(from.map_or(0, rank), rank(life.stream), relied as u8, bytes);
    }
}

/// What a piece of an allocation relied on: the order of its stream where that had it before; else what the malloc relied
/// on, and what a malloc of its own stream's memory has of others' was known to be complete.
#[must_use]
pub fn relied_on(source: Source, from: Option<StreamIx>, to: StreamIx) -> Source {
    match (source, from) {
        (_, Some(from)) if from == to => Source::SameStream,
        (Source::SameStream, _) => Source::Settled,
        (source, _) => source,
    }
}

impl Model {
    /// Where each piece of an allocation's memory came from, with its bytes: the stream that freed it last, or `None` for
    /// memory that nobody had since it was mapped. Every byte is told once. O(pieces).
    pub fn hand_overs(&self, at: LifeIx) -> impl Iterator<Item = (Option<StreamIx>, u64)> {
        let freed = self.came_from(at).iter().filter(|link| self.life(link.life).died().is_some());
        let known = freed.clone().map(|link| link.bytes).fold(0, u64::saturating_add);
        let new = self.life(at).given.0.saturating_sub(known);
        let freed = freed.map(|link| (Some(self.freed_on(link.life)), link.bytes));
        freed.chain((new > 0).then_some((None, new)))
    }

    /// The streams that a party is, by their ids; none for nobody.
    #[must_use]
    pub fn streams_of(&self, party: Party) -> &[StreamIx] {
        match party {
            Party::Nobody => &[],
            Party::Streams(first, last) => self.flows().by_rank.get(first as usize..=last as usize).unwrap_or_default(),
        }
    }

    /// Who handed memory of a pool to whom in the mallocs of the records `from..to`. Many streams are told some together.
    /// O(records in two blocks + all blocks).
    #[must_use]
    pub fn handed(&self, pool: PoolIx, from: EventIx, to: EventIx) -> Handed {
        let (first, past) = (from.at().div_ceil(BLOCK), to.at() / BLOCK);
        let mut sums = Sums::default();
        let wanted = |of: PoolIx| of == pool;
        if first >= past {
            (from.0..to.0).for_each(|at| add(self, EventIx(at), &mut sums, wanted, |rank| rank));
            return few(sums);
        }
        let wide = self.flows().wide;
        let rest = (from.at()..first * BLOCK).chain(past * BLOCK..to.at());
        rest.for_each(|at| add(self, EventIx::next_of(at), &mut sums, wanted, |rank| group(rank, wide)));
        for block in &self.flows().blocks[first..past] {
            let at = block.partition_point(|sum| sum.0.0 < pool);
            for (key, amount) in block[at..].iter().take_while(|sum| sum.0.0 == pool) {
                let sum = sums.entry(*key).or_default();
                *sum = sum.and(*amount);
            }
        }
        let streams = u32::try_from(self.streams.len()).unwrap_or(u32::MAX);
        let party = |group: u32| match group {
            0 => Party::Nobody,
            group => Party::Streams((group - 1) * wide, (group * wide).min(streams) - 1),
        };
        parties(sums, party)
    }
}

/// The same of sums by single streams: as many together as it takes.
fn few(sums: Sums) -> Handed {
    let mut ranks: Vec<u32> = sums.keys().flat_map(|key| [key.1, key.2]).filter(|rank| *rank > 0).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let wide = ranks.len().div_ceil(MOST).max(1);
    let party = |rank: u32| match ranks.binary_search(&rank) {
        Ok(at) => {
            let first = at - at % wide;
            let last = (first + wide).min(ranks.len()) - 1;
            Party::Streams(ranks[first] - 1, ranks[last] - 1)
        }
        Err(_) => Party::Nobody,
    };
    parties(sums, party)
}

fn parties(sums: Sums, party: impl Fn(u32) -> Party) -> Handed {
    let mut handed = Handed::new();
    for ((_, from, to, source), amount) in sums {
        let source = Source::ALL[usize::from(source)];
        let sum = handed.entry((party(from), party(to))).or_default().entry(source).or_default();
        *sum = sum.and(amount);
    }
    handed
}
