//! Which free blocks and holes there are, by size: exact best fit among those that a judge lets through.
//!
//! Lists of blocks by size range, four ranges an octave. A search looks at the ranges from the request's on and takes the
//! best of the first range that holds a usable block: ranges are ordered by size, so that is exact. It walks the blocks
//! of a range, usable or not: O(blocks in the ranges walked).

use crate::arena::{Empty, Link, Slots};
use crate::block::{Block, Blocks, Class, State};
use crate::plant::{self, Plant};
use core::cmp::Reverse;

/// Lists of one pool and kind.
const BINS: usize = 176;

/// Large and small free blocks, and holes.
const KINDS: usize = 3;

/// Smaller sizes share the first list.
const FIRST_OCTAVE: u32 = 6;

/// The lists of one pool.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    heads: [[Link; BINS]; KINDS],
    filled: [[u64; BINS.div_ceil(64)]; KINDS],
}

impl Empty for Bins {
    const EMPTY: Self = Self { heads: [[Link::NONE; BINS]; KINDS], filled: [[0; BINS.div_ceil(64)]; KINDS] };
}

/// What an entry of the index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Free(Class),
    Hole,
}

impl Kind {
    const fn number(self) -> usize {
        match self {
            Self::Free(Class::Large) => 0,
            Self::Free(Class::Small) => 1,
            Self::Hole => 2,
        }
    }

    /// Where a block belongs by its state.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        match block.state {
            State::Free => Some(Self::Free(block.class)),
            State::Hole => Some(Self::Hole),
            _ => None,
        }
    }
}

/// The list of a size: monotone, four an octave.
fn bin_of(size: u64) -> usize {
    let octave = size.checked_ilog2().unwrap_or(0);
    if octave < FIRST_OCTAVE {
        return 0;
    }
    let quarter = (size >> (octave.saturating_sub(2))) & 3;
    let bin = u64::from(octave.wrapping_sub(FIRST_OCTAVE)) * 4 + quarter;
    (bin as usize).min(BINS - 1)
}

/// The free index of all pools.
pub(crate) struct FreeIndex<'a> {
    pools: Slots<'a, Bins>,
}

impl<'a> FreeIndex<'a> {
    pub(crate) fn new(pools: &'a mut [Bins]) -> Self {
        Self { pools: Slots::new(pools) }
    }

    pub(crate) fn strayed(&self) -> bool {
        self.pools.strayed()
    }

    pub(crate) fn clear(&mut self, pool: usize) {
        *self.pools.get_mut(pool) = Bins::EMPTY;
    }

    fn head(&self, pool: usize, kind: Kind, bin: usize) -> Link {
        let bins = self.pools.get(pool);
        bins.heads.get(kind.number()).and_then(|heads| heads.get(bin)).copied().unwrap_or(Link::NONE)
    }

    fn set_head(&mut self, pool: usize, kind: Kind, bin: usize, link: Link) {
        let bins = self.pools.get_mut(pool);
        if let Some(head) = bins.heads.get_mut(kind.number()).and_then(|heads| heads.get_mut(bin)) {
            *head = link;
        }
        if let Some(word) = bins.filled.get_mut(kind.number()).and_then(|words| words.get_mut(bin / 64)) {
            let bit = 1u64 << (bin % 64);
            *word = if link == Link::NONE { *word & !bit } else { *word | bit };
        }
    }

    /// The first list from `bin` on that holds anything.
    fn filled_from(&self, pool: usize, kind: Kind, bin: usize) -> Option<usize> {
        let words = self.pools.get(pool).filled.get(kind.number())?;
        let first = bin / 64;
        for (at, word) in words.iter().enumerate().skip(first) {
            let mask = if at == first { !0u64 << (bin % 64) } else { !0 };
            if word & mask != 0 {
                return Some(at * 64 + (word & mask).trailing_zeros() as usize);
            }
        }
        None
    }

    /// Adds a free block or hole; others are left alone.
    pub(crate) fn insert(&mut self, blocks: &mut Blocks<'_>, slot: usize) {
        let block = *blocks.get(slot);
        let Some(kind) = Kind::of(&block) else { return };
        let (pool, bin) = (block.pool as usize, bin_of(block.size));
        let old = self.head(pool, kind, bin);
        if let Some(old) = old.slot() {
            blocks.get_mut(old).bin_prev = Link::to(slot);
        }
        let block = blocks.get_mut(slot);
        block.bin_prev = Link::NONE;
        block.bin_next = old;
        self.set_head(pool, kind, bin, Link::to(slot));
    }

    /// Removes a free block or hole. Its state and size must be those it was added with.
    pub(crate) fn remove(&mut self, blocks: &mut Blocks<'_>, slot: usize) {
        let block = *blocks.get(slot);
        let Some(kind) = Kind::of(&block) else { return };
        match block.bin_prev.slot() {
            Some(prev) => blocks.get_mut(prev).bin_next = block.bin_next,
            None => self.set_head(block.pool as usize, kind, bin_of(block.size), block.bin_next),
        }
        if let Some(next) = block.bin_next.slot() {
            blocks.get_mut(next).bin_prev = block.bin_prev;
        }
    }

    /// The smallest entry of at least `size` bytes that the judge ranks; ties go to the lower rank, then to the most
    /// recently freed, then to the lower address.
    pub(crate) fn best<R: Ord + Copy>(
        &self,
        blocks: &Blocks<'_>,
        (pool, kind): (usize, Kind),
        size: u64,
        judge: impl Fn(&Block) -> Option<R>,
    ) -> Option<(usize, R)> {
        let mut bin = bin_of(size);
        loop {
            bin = self.filled_from(pool, kind, bin)?;
            let candidates = self.list(blocks, pool, kind, bin).filter(|(_, b)| b.size >= size);
            let ranked = candidates.filter_map(|(slot, b)| judge(b).map(|rank| (slot, b, rank)));
            if let Some((slot, _, rank)) = pick(ranked) {
                return Some((slot, rank));
            }
            bin = bin.wrapping_add(1);
        }
    }

    /// The largest entry of at least `size` bytes that the judge lets through; ties go to the lower address.
    pub(crate) fn largest<R: Copy>(
        &self,
        blocks: &Blocks<'_>,
        (pool, kind): (usize, Kind),
        size: u64,
        judge: impl Fn(&Block) -> Option<R>,
    ) -> Option<(usize, R)> {
        let mut bin = BINS;
        while bin > bin_of(size) {
            bin = bin.wrapping_sub(1);
            let candidates = self.list(blocks, pool, kind, bin).filter(|(_, b)| b.size >= size);
            let judged = candidates.filter_map(|(slot, b)| judge(b).map(|rank| (slot, b, rank)));
            if let Some((slot, _, rank)) = judged.max_by_key(|(_, b, _)| (b.size, Reverse(b.at))) {
                return Some((slot, rank));
            }
        }
        None
    }

    fn list<'b>(
        &self,
        blocks: &'b Blocks<'_>,
        pool: usize,
        kind: Kind,
        bin: usize,
    ) -> impl Iterator<Item = (usize, &'b Block)> + use<'b, '_> {
        let mut next = self.head(pool, kind, bin);
        core::iter::from_fn(move || {
            let slot = next.slot()?;
            let block = blocks.get(slot);
            next = block.bin_next;
            Some((slot, block))
        })
    }

    /// All entries of a kind with at least `size` bytes, by size range, smallest range first.
    pub(crate) fn entries<'b>(
        &'b self,
        blocks: &'b Blocks<'_>,
        (pool, kind): (usize, Kind),
        size: u64,
    ) -> impl Iterator<Item = (usize, &'b Block)> {
        let mut bin = self.filled_from(pool, kind, bin_of(size));
        let bins = core::iter::from_fn(move || {
            let this = bin?;
            bin = self.filled_from(pool, kind, this.wrapping_add(1));
            Some(this)
        });
        bins.flat_map(move |bin| self.list(blocks, pool, kind, bin)).filter(move |(_, b)| b.size >= size)
    }
}

/// The first of the candidates of one size range.
fn pick<'b, R: Ord + Copy>(ranked: impl Iterator<Item = (usize, &'b Block, R)>) -> Option<(usize, &'b Block, R)> {
    if plant::on(Plant::SecondBest) {
        return ranked.max_by_key(|(_, b, _)| (b.size, b.at));
    }
    if plant::on(Plant::OldestFirst) {
        return ranked.min_by_key(|(_, b, rank)| (b.size, *rank, b.freed, b.at));
    }
    if plant::on(Plant::CostlierFirst) {
        return ranked.min_by_key(|(_, b, rank)| (b.size, Reverse(*rank), b.at));
    }
    ranked.min_by_key(|(_, b, rank)| (b.size, *rank, Reverse(b.freed), b.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_monotone_and_cover_every_size() {
        let mut last = 0;
        for octave in 0..64u32 {
            for quarter in 0..4u64 {
                let size = (1u64 << octave).saturating_add(quarter << octave.saturating_sub(2));
                assert!(bin_of(size) >= last, "size {size}");
                last = bin_of(size);
            }
        }
        assert!(bin_of(u64::MAX) < BINS);
        assert_ne!(bin_of(512), bin_of(1024));
    }
}
