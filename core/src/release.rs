//! Judgement of what may be unmapped: whole granules inside free blocks whose past is complete. Pure.

use crate::arena::Link;
use crate::block::{Block, Class, State};
use crate::facts::Facts;
use crate::free_index::{End, Kind};
use crate::reuse::is_settled;

/// Whole granules inside adjacent free blocks, of which `block` is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Releasable {
    pub(crate) block: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// How many bytes a synchronisation or trim should release: down to `keep`, never below what is used.
pub(crate) fn surplus(facts: &Facts<'_>, pool: usize, keep: u64) -> u64 {
    let pool = facts.pool(pool);
    let floor = keep.max(pool.used);
    // Granules go while more is reserved than wanted, so the last one may go below.
    pool.granule_up(pool.reserved.saturating_sub(floor))
}

/// The next whole granules to release, at most `bytes`: from the smallest block that has any, as CANN does; else from
/// the smallest run of blocks.
pub(crate) fn next(facts: &Facts<'_>, pool: usize, bytes: u64) -> Option<Releasable> {
    let granularity = facts.pool(pool).granularity;
    if bytes < granularity {
        return None;
    }
    let allowed = |block: &Block| is_settled(facts, block);
    let smallest = |class| {
        let fits = |b: &Block| facts.granules_inside(b).is_some() && allowed(b);
        facts.index.extreme(&facts.blocks, (pool, Kind::Free(class)), granularity, End::Smallest, fits)
    };
    let single = [Class::Large, Class::Small].into_iter().find_map(smallest).map(|slot| Run::single(facts, slot));
    single.or_else(|| runs(facts, pool, allowed).min_by_key(Run::bytes))?.part(facts, bytes)
}

/// Adjacent free blocks that hold at least one whole granule together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    first: usize,
    at: u64,
    end: u64,
}

impl Run {
    pub(crate) fn single(facts: &Facts<'_>, slot: usize) -> Self {
        let block = facts.blocks.get(slot);
        Self { first: slot, at: block.at, end: block.end() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.end.wrapping_sub(self.at)
    }

    /// At most `bytes` of its whole granules, at the side where a hole lies already, so that holes stay few.
    pub(crate) fn part(self, facts: &Facts<'_>, bytes: u64) -> Option<Releasable> {
        let first = facts.blocks.get(self.first);
        let (mut from, mut to) = facts.pool(first.pool()).whole_granules(self.at, self.end)?;
        let bytes = bytes.min(to.wrapping_sub(from));
        let hole_before = first.prev.slot().is_some_and(|prev| facts.blocks.get(prev).state() == State::Hole);
        match hole_before && from == self.at {
            true => to = from.wrapping_add(bytes),
            false => from = to.wrapping_sub(bytes),
        }
        let (block, _) = facts.blocks.walk(Link::to(self.first)).find(|(_, block)| block.end() > from)?;
        Some(Releasable { block, from, to })
    }
}

/// The addresses of a free block and of those behind it up to the next that is not free. O(blocks of the run).
pub(crate) fn run_from(facts: &Facts<'_>, slot: usize) -> (u64, u64) {
    let run =
        facts.blocks.walk(Link::to(slot)).map(|(_, block)| block).take_while(|block| block.state() == State::Free);
    (facts.blocks.get(slot).at, run.last().map_or(0, Block::end))
}

/// The runs of a pool's free blocks that `allowed` lets through, in address order. O(blocks of the pool).
pub(crate) fn runs(facts: &Facts<'_>, pool: usize, allowed: impl Fn(&Block) -> bool) -> impl Iterator<Item = Run> {
    let pool = facts.pool(pool);
    let mut blocks = facts.blocks.walk(pool.first);
    let all = core::iter::from_fn(move || {
        let usable = |block: &Block| block.state() == State::Free && allowed(block);
        let (first, block) = blocks.find(|(_, block)| usable(block))?;
        let mut run = Run { first, at: block.at, end: block.end() };
        for (_, block) in blocks.by_ref().take_while(|(_, block)| usable(block)) {
            run.end = block.end();
        }
        Some(run)
    });
    all.filter(|run| pool.whole_granules(run.at, run.end).is_some())
}

/// Bytes of the whole granules in such runs.
pub(crate) fn whole_granules(facts: &Facts<'_>, pool: usize, allowed: impl Fn(&Block) -> bool) -> u64 {
    let whole = runs(facts, pool, allowed).filter_map(|run| facts.pool(pool).whole_granules(run.at, run.end));
    whole.fold(0u64, |sum, (from, to)| sum.wrapping_add(to.wrapping_sub(from)))
}

/// Bytes of whole granules in free blocks that could be released now.
pub(crate) fn available(facts: &Facts<'_>, pool: usize) -> u64 {
    whole_granules(facts, pool, |block| is_settled(facts, block))
}

/// What keeps reserved memory from being released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Bytes in live blocks.
    pub(crate) live: u64,
    /// Bytes in whole granules of free blocks whose work is not known to be complete.
    pub(crate) pending: u64,
    /// Free bytes in granules that are only partly free.
    pub(crate) partial: u64,
}

/// Sums up what a trim could not release.
pub(crate) fn held(facts: &Facts<'_>, pool: usize) -> Held {
    let free = |class| {
        let entries = facts.index.entries(&facts.blocks, (pool, Kind::Free(class)), 0);
        entries.fold(0u64, |sum, (_, block)| sum.wrapping_add(block.size))
    };
    let free = free(Class::Large).wrapping_add(free(Class::Small));
    let whole = whole_granules(facts, pool, |_| true);
    let pending = whole.saturating_sub(available(facts, pool));
    Held { live: facts.pool(pool).used, pending, partial: free.saturating_sub(whole) }
}
