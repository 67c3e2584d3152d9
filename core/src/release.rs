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
#[inline(never)]
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
    single.or_else(|| extreme_run(facts, pool, End::Smallest, allowed))?.part(facts, bytes)
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
    #[inline(never)]
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

/// Calls `f` with each run of a pool's free blocks that `allowed` lets through, and the whole granules in it, in address order.
/// O(blocks of the pool).
fn each_run(facts: &Facts<'_>, pool: usize, allowed: impl Fn(&Block) -> bool, mut f: impl FnMut(Run, (u64, u64))) {
    let pool = facts.pool(pool);
    let mut run: Option<Run> = None;
    let mut end = |run: Option<Run>| {
        let Some(run) = run else { return };
        if let Some(whole) = pool.whole_granules(run.at, run.end) {
            f(run, whole);
        }
    };
    for (slot, block) in facts.blocks.walk(pool.first) {
        if block.state() == State::Free && allowed(block) {
            run.get_or_insert(Run { first: slot, at: block.at, end: 0 }).end = block.end();
        } else {
            end(run.take());
        }
    }
    end(run);
}

/// The smallest or largest of such runs; of equal ones the first, and the last.
#[inline(never)]
pub(crate) fn extreme_run(facts: &Facts<'_>, pool: usize, end: End, allowed: impl Fn(&Block) -> bool) -> Option<Run> {
    let mut best: Option<Run> = None;
    each_run(facts, pool, allowed, |run, _| {
        let better = best.as_ref().is_none_or(|best| match end {
            End::Smallest => run.bytes() < best.bytes(),
            End::Largest => run.bytes() >= best.bytes(),
        });
        if better {
            best = Some(run);
        }
    });
    best
}

/// Bytes of the whole granules in such runs.
#[inline(never)]
pub(crate) fn whole_granules(facts: &Facts<'_>, pool: usize, allowed: impl Fn(&Block) -> bool) -> u64 {
    let mut sum = 0u64;
    each_run(facts, pool, allowed, |_, (from, to)| sum = sum.wrapping_add(to.wrapping_sub(from)));
    sum
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
