//! Judgement of what may be unmapped: whole granules inside free blocks whose past is complete. Pure.

use crate::block::{Block, Class};
use crate::facts::Facts;
use crate::free_index::Kind;
use crate::reuse::is_settled;

/// Whole granules inside one free block.
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

/// The next whole granules to take, at most `bytes`: from the smallest block that has any. `spared`: a block that is
/// needed for something else.
pub(crate) fn next(facts: &Facts<'_>, pool: usize, bytes: u64, spared: Option<usize>) -> Option<Releasable> {
    let granularity = facts.pool(pool).granularity;
    if bytes < granularity {
        return None;
    }
    let releasable = |class| {
        let settled = move |b: &Block| (facts.granules_inside(b).is_some() && is_settled(facts, b)).then_some(());
        let at = (pool, Kind::Free(class));
        match spared {
            None => facts.index.best(&facts.blocks, at, granularity, settled),
            Some(spared) => {
                let spared = facts.blocks.get(spared).at;
                facts.index.best(&facts.blocks, at, granularity, |b| if b.at == spared { None } else { settled(b) })
            }
        }
    };
    let (block, ()) = releasable(Class::Large).or_else(|| releasable(Class::Small))?;
    let slot = facts.blocks.get(block);
    let (from, to) = facts.granules_inside(slot)?;
    let bytes = bytes.min(to.wrapping_sub(from));
    // At the side where a hole lies already, so that holes stay few.
    let hole_before = slot.prev.slot().is_some_and(|prev| Kind::of(facts.blocks.get(prev)) == Some(Kind::Hole));
    if hole_before && from == slot.at {
        Some(Releasable { block, from, to: from.wrapping_add(bytes) })
    } else {
        Some(Releasable { block, from: to.wrapping_sub(bytes), to })
    }
}

/// Bytes of whole granules in free blocks that could be taken now, without those of `spared`.
pub(crate) fn available(facts: &Facts<'_>, pool: usize, spared: Option<usize>) -> u64 {
    let of = |class| {
        let entries = facts.index.entries(&facts.blocks, (pool, Kind::Free(class)), facts.pool(pool).granularity);
        entries
            .filter(|&(slot, b)| Some(slot) != spared && is_settled(facts, b))
            .filter_map(|(_, b)| facts.granules_inside(b))
            .fold(0u64, |sum, (from, to)| sum.wrapping_add(to.wrapping_sub(from)))
    };
    of(Class::Large).wrapping_add(of(Class::Small))
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
    /// Whole unsettled granules are there at all.
    pub(crate) whole_pending: bool,
}

/// Sums up what a trim could not release.
pub(crate) fn held(facts: &Facts<'_>, pool: usize) -> Held {
    let mut held = Held { live: facts.pool(pool).used, ..Held::default() };
    for class in [Class::Large, Class::Small] {
        for (_, block) in facts.index.entries(&facts.blocks, (pool, Kind::Free(class)), 0) {
            let whole = facts.granules_inside(block).map_or(0, |(from, to)| to.wrapping_sub(from));
            held.partial = held.partial.wrapping_add(block.size.wrapping_sub(whole));
            if whole > 0 && !is_settled(facts, block) {
                held.pending = held.pending.wrapping_add(whole);
                held.whole_pending = true;
            }
        }
    }
    held
}
