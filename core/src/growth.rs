//! Judgement of a growth: where granules are mapped for a malloc, and which free ones are moved there. Pure.

use crate::arena::Link;
use crate::block::{Block, Class, State};
use crate::blocks::Walk;
use crate::facts::Facts;
use crate::free_index::{End, Kind};
use crate::order::Reach;
use crate::release::{self, Releasable, Run};
use crate::reuse::{Ask, Dependency, is_settled};
use core::cmp::Reverse;

/// Where a pool can grow for a malloc: a part of a hole, and the usable free blocks beside it that are taken with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) hole: usize,
    /// The part of the hole that is mapped.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The blocks from here to `from` are taken as they are,
    pub(crate) start: u64,
    /// and those from `to` to here.
    pub(crate) end: u64,
}

impl Growth {
    /// Bytes that are to be mapped.
    pub(crate) fn bytes(&self) -> u64 {
        self.to.wrapping_sub(self.from)
    }

    /// Whether it needs fewer new granules than another, or a smaller hole, or begins at a lower address.
    #[inline(never)]
    fn is_closer(&self, facts: &Facts<'_>, other: &Self) -> bool {
        let hole = |growth: &Self| facts.blocks.get(growth.hole).size;
        (self.bytes(), hole(self), self.from) < (other.bytes(), hole(other), other.from)
    }

    /// Whether a block beside the hole is taken as it is.
    pub(crate) fn takes(&self, block: &Block) -> bool {
        self.start <= block.at && block.end() <= self.end
    }

    /// The same, as an eager pool grows: by a step, as far as its hole and its limit go. Never into what a block behind
    /// it needs.
    pub(crate) fn eager(self, facts: &Facts<'_>) -> Self {
        let hole = facts.blocks.get(self.hole);
        let pool = facts.pool(hole.pool());
        if self.end > self.to {
            return self;
        }
        let bytes = pool.step().min(pool.headroom()).min(hole.end().wrapping_sub(self.from)).max(self.bytes());
        let to = self.from.wrapping_add(bytes);
        Self { to, end: to, ..self }
    }
}

/// How many blocks beside a hole are looked at on each side.
const BESIDE: usize = 16;

impl Ask {
    /// The place that needs the fewest new granules; ties go to the smallest hole, then to the lowest address. `None`: no
    /// hole is long enough.
    #[inline(never)]
    pub(crate) fn growth(&self, facts: &Facts<'_>) -> Option<Growth> {
        let mut best: Option<Growth> = None;
        for (slot, hole) in facts.index.entries(&facts.blocks, (self.pool, Kind::Hole), 0) {
            if self.maps_into(facts, hole)
                && let Some(growth) = self.growth_in(facts, slot, hole)
                && best.as_ref().is_none_or(|best| growth.is_closer(facts, best))
            {
                best = Some(growth);
            }
        }
        best
    }

    /// The best part of one hole: at the blocks on one side; else all of it, between those on both; else its front. The
    /// blocks are all taken, so that what is left over lies at a hole, where the next growth can take it.
    #[inline(never)]
    fn growth_in(&self, facts: &Facts<'_>, slot: usize, hole: &Block) -> Option<Growth> {
        let pool = facts.pool(self.pool);
        let front = self.short_of(facts, facts.blocks.walk_back(hole.prev));
        let back = self.short_of(facts, facts.blocks.walk(hole.next));
        let missing = |there: u64| pool.granule_up(self.size.saturating_sub(there));
        let (of_front, of_back) = (missing(front), missing(back));
        let fits = |missing: u64| missing <= hole.size;
        let at_back = back > 0 && fits(of_back);
        if fits(of_front) && !(at_back && of_back < of_front) {
            let to = hole.at.wrapping_add(of_front);
            return Some(Growth { hole: slot, from: hole.at, to, start: hole.at.wrapping_sub(front), end: to });
        }
        if at_back {
            let (from, end) = (hole.end().wrapping_sub(of_back), hole.end().wrapping_add(back));
            return Some(Growth { hole: slot, from, to: hole.end(), start: from, end });
        }
        let lacking = self.size.checked_sub(front.wrapping_add(hole.size))?;
        // As many as it takes; what is over of the last stays as it is.
        let end = self.reaching(facts, hole, lacking)?;
        let start = hole.at.wrapping_sub(front);
        (front > 0).then_some(Growth { hole: slot, from: hole.at, to: hole.end(), start, end })
    }

    /// The end of the first blocks behind a hole that have so many bytes.
    #[inline(never)]
    fn reaching(&self, facts: &Facts<'_>, hole: &Block, bytes: u64) -> Option<u64> {
        let usable = |&(_, block): &(usize, &Block)| self.joins(facts, block);
        let mut ends = facts.blocks.walk(hole.next).take(BESIDE).take_while(usable).map(|(_, block)| block.end());
        ends.find(|end| end.wrapping_sub(hole.end()) >= bytes)
    }

    /// Bytes of the first usable blocks that are together less than what is asked for. The search for runs finds one that is enough,
    /// unless it ends before: then the run's far end is left out, and the growth comes instead.
    #[inline(never)]
    fn short_of(&self, facts: &Facts<'_>, walk: Walk<'_, '_>) -> u64 {
        let mut sum = 0u64;
        for (_, block) in walk.take(BESIDE) {
            if !self.joins(facts, block) {
                break;
            }
            match sum.checked_add(block.size).filter(|sum| *sum < self.size) {
                Some(more) => sum = more,
                None => break,
            }
        }
        sum
    }

    /// The next wait towards a growth between blocks that the stream could wait for, where the limit leaves room for it;
    /// `Some(None)`: none is left to insert.
    #[inline(never)]
    pub(crate) fn towards_growth(&self, facts: &Facts<'_>) -> Option<Option<Dependency>> {
        let imagined = Self { imagine_waits: true, ..*self };
        let growth = imagined.growth(facts)?;
        self.wait_beside(facts, &growth)
    }

    /// The next wait for the blocks beside the hole that a growth takes.
    #[inline(never)]
    fn wait_beside(&self, facts: &Facts<'_>, growth: &Growth) -> Option<Option<Dependency>> {
        let room = facts.pool(self.pool).headroom().saturating_add(self.movable(facts, growth));
        if room < growth.bytes() {
            return None;
        }
        let hole = facts.blocks.get(growth.hole);
        let (mut any, mut wait) = (false, None);
        for walk in [facts.blocks.walk_back(hole.prev), facts.blocks.walk(hole.next)] {
            for (_, block) in walk {
                if wait.is_some() || !growth.takes(block) {
                    break;
                }
                any = true;
                if !self.add_wait(facts, block, &mut wait) {
                    return None;
                }
            }
        }
        any.then_some(wait)
    }
}

impl Ask {
    /// Whether a block's granules may be unmapped in the order of the stream, since all that was done with it comes
    /// before.
    fn unmaps_in_order(&self, facts: &Facts<'_>, block: &Block) -> bool {
        // What is implied for a stream's next action may not hold for an unmap.
        let ordered = || self.reach(facts, block).is_some_and(|reach| reach != Reach::Implied);
        facts.pool(self.pool).maps_in_order && ordered()
    }

    /// Whether something may be mapped in a hole: it was unmapped before the stream comes to it.
    fn maps_into(&self, facts: &Facts<'_>, hole: &Block) -> bool {
        is_settled(facts, hole) || self.unmaps_in_order(facts, hole)
    }

    /// Whether a growth may move granules out of a free block: nothing uses them any more, or, on a device that unmaps in
    /// stream order, nothing will when the stream comes to it.
    fn may_move(&self, facts: &Facts<'_>, growth: &Growth, block: &Block) -> bool {
        !growth.takes(block) && (is_settled(facts, block) || self.unmaps_in_order(facts, block))
    }

    /// The next whole granules to move, at most `bytes`: from a block beside a hole, so that holes stay few and long; else
    /// from any. From the largest of them, which is the least likely to be just what another request needs; else from the
    /// largest run of blocks. (On 131 logs of training, inference and random sizes a sixth less was moved so than from the
    /// largest of all, and no more was reserved. Taken from the smallest, more was.)
    pub(crate) fn next_to_move(&self, facts: &Facts<'_>, growth: &Growth, bytes: u64) -> Option<Releasable> {
        let granularity = facts.pool(self.pool).granularity;
        if bytes < granularity {
            return None;
        }
        let allowed = |block: &Block| self.may_move(facts, growth, block);
        let whole = |block: &Block| facts.granules_inside(block).is_some() && allowed(block);
        let largest = |class| {
            facts.index.extreme(&facts.blocks, (self.pool, Kind::Free(class)), granularity, End::Largest, whole)
        };
        let single = self.largest_at_hole(facts, whole);
        let single = single.or_else(|| [Class::Large, Class::Small].into_iter().find_map(largest));
        let single = single.map(|slot| Run::single(facts, slot));
        single.or_else(|| release::extreme_run(facts, self.pool, End::Largest, allowed))?.part(facts, bytes)
    }

    /// The largest free block beside a hole among those allowed, then the one of the lowest address.
    #[inline(never)]
    fn largest_at_hole(&self, facts: &Facts<'_>, allowed: impl Fn(&Block) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (_, hole) in facts.index.entries(&facts.blocks, (self.pool, Kind::Hole), 0) {
            let [before, after] = [hole.prev, hole.next].map(|link| larger_free(facts, link, best));
            best = before.filter(|slot| allowed(facts.blocks.get(*slot))).or(best);
            let after = after.filter(|slot| allowed(facts.blocks.get(*slot)));
            best = after.and_then(|slot| larger_free(facts, Link::to(slot), best)).or(best);
        }
        best
    }

    /// Bytes of whole granules in free blocks that a growth could move.
    pub(crate) fn movable(&self, facts: &Facts<'_>, growth: &Growth) -> u64 {
        release::whole_granules(facts, self.pool, |block| self.may_move(facts, growth, block))
    }
}

/// The block, if it is free and larger than the best, or as large and at a lower address.
#[inline(never)]
fn larger_free(facts: &Facts<'_>, link: Link, best: Option<usize>) -> Option<usize> {
    let slot = link.slot()?;
    let rank = |slot: usize| {
        let block = facts.blocks.get(slot);
        (block.size, Reverse(block.at))
    };
    let free = facts.blocks.get(slot).state() == State::Free;
    (free && best.is_none_or(|best| rank(slot) > rank(best))).then_some(slot)
}
