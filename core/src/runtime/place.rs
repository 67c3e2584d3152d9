//! Moving blocks between states: splitting, merging, taking. Every change of a block's extent or state is made here, so
//! that index, lookup, points and counts stay in step.

use crate::arena::Link;
use crate::block::{Block, Class, State};
use crate::error::ArenaFull;
use crate::facts::Facts;
use crate::free_index::Tenant;
use crate::growth::Growth;
use crate::order::{Mark, Points, Users};
use crate::plant::{self, Plant};
use crate::policy::Reuse;
use crate::release::Releasable;
use crate::reuse::{Choice, Taken, is_settled};

/// How many neighbours on each side one free looks at.
const MERGES: usize = 4;

impl Facts<'_> {
    /// Replaces a block's points.
    pub(super) fn set_points(&mut self, slot: usize, points: Points) {
        self.order.hold_points(&points);
        let block = self.blocks.get_mut(slot);
        if block.has_epoch() {
            self.order.drop_points(&block.points());
        }
        block.set_points(points);
    }

    /// Cuts a block after `size` bytes; neither part is in an index afterwards.
    pub(super) fn cut(&mut self, slot: usize, size: u64) -> Result<usize, ArenaFull> {
        let second = self.blocks.split(slot, size)?;
        if plant::on(Plant::RemainderWithoutPoints) {
            self.blocks.get_mut(second).set_points(Points::NONE);
        }
        let points = self.blocks.get(second).points();
        self.order.hold_points(&points);
        Ok(second)
    }

    /// Joins a block with its successor; neither is in an index.
    pub(super) fn join(&mut self, slot: usize, points: &Points) {
        let Some(next) = self.blocks.get(slot).next.slot() else {
            return;
        };
        let block = self.blocks.get(next);
        let (freed, class) = (block.freed().max(self.blocks.get(slot).freed()), block.class());
        if block.has_epoch() {
            self.set_points(next, Points::NONE);
        }
        self.set_points(slot, *points);
        let block = self.blocks.get_mut(slot);
        block.set_freed(freed);
        if block.class() != class {
            block.set_class(Class::Large);
        }
        self.blocks.absorb_next(slot);
    }

    /// The positions, in words, of two free neighbours of one class that wait for one position each: by far the most that
    /// merge.
    #[inline]
    pub(super) fn ones(&self, first: usize, second: usize) -> Option<(u64, u64)> {
        let (a, b) = (self.blocks.get(first), self.blocks.get(second));
        let alike = a.state() == State::Free && b.state() == State::Free && a.class() == b.class();
        (alike && a.is_ones() && b.is_ones()).then(|| (a.first_mark(), b.first_mark()))
    }

    /// [`join`](Self::join) of such two.
    pub(super) fn join_ones(&mut self, slot: usize, later: Mark) {
        let freed = self.blocks.get(slot).next.slot().map_or(0, |next| self.blocks.get(next).freed());
        let block = self.blocks.get_mut(slot);
        let freed = freed.max(block.freed());
        block.wait_for(later, freed);
        self.blocks.absorb_next(slot);
    }

    /// Takes a free block or hole out of the index.
    pub(super) fn unlist(&mut self, slot: usize) {
        self.index.remove(&mut self.blocks, slot);
    }

    fn list(&mut self, slot: usize) {
        let block = self.blocks.get(slot);
        let former = block.marks() > 0 && self.order.is_former(Mark::of_word(block.first_mark()));
        let tenant = if former { Tenant::Former } else { Tenant::Present };
        self.index.insert(&mut self.blocks, slot, tenant);
    }

    /// Whether two free neighbours, or two holes, may merge.
    pub(super) fn mergeable(&self, first: usize, second: usize) -> bool {
        let mut points = Points::NONE;
        self.merge_points(first, second, &mut points)
    }

    /// The points of two free neighbours, or two holes, as one block: written where they may merge.
    pub(super) fn merge_points(&self, first: usize, second: usize, into: &mut Points) -> bool {
        let (a, b) = (self.blocks.get(first), self.blocks.get(second));
        let (of_a, of_b) = (a.points(), b.points());
        match (a.state(), b.state()) {
            (State::Free, State::Free) => {}
            (State::Hole, State::Hole) => return self.order.merge_holes(&of_a, &of_b, into),
            _ => return false,
        }
        let pool = self.pool(a.pool());
        // Where classes had to share a granule, its parts belong together again once they are free.
        if a.class() != b.class() && pool.granule_up(b.at) == b.at {
            return false;
        }
        self.order.merge(&of_a, &of_b, pool.level(), into) || self.merge_common((a, &of_a), (b, &of_b), into)
    }

    /// The points of two free neighbours as one block, where they are of one stream and there is no other, or each other one
    /// comes after both.
    #[cold]
    #[inline(never)]
    fn merge_common(&self, (a, of_a): (&Block, &Points), (b, of_b): (&Block, &Points), into: &mut Points) -> bool {
        let pool = self.pool(a.pool());
        // Granules that could be moved or released stay so.
        let alone = self.device(pool.device).is_some_and(|device| device.streams == 1);
        if !alone && !pool.reuse.contains(Reuse::EVENT) {
            return false;
        }
        let Some(later) = self.order.merged_common(of_a, of_b, pool.device) else { return false };
        *into = Points::one(later);
        let loses = |block: &Block| (!alone || self.granules_inside(block).is_some()) && is_settled(self, block);
        !loses(a) && !loses(b)
    }

    /// Makes a block free and lists it, merged with those neighbours that lose nothing by it. Returns what it became.
    pub(super) fn settle_free(&mut self, slot: usize) -> usize {
        self.blocks.get_mut(slot).set_state(State::Free);
        let mut slot = self.merge_around(slot);
        // A small block that fills whole granules is nobody's small memory any more.
        let block = self.blocks.get(slot);
        if block.class() == Class::Small && self.granules_inside(block) == Some((block.at, block.end())) {
            self.blocks.get_mut(slot).set_class(Class::Large);
            slot = self.merge_around(slot);
        }
        self.list(slot);
        slot
    }

    /// Merges an unlisted free block with its listed neighbours.
    fn merge_around(&mut self, mut slot: usize) -> usize {
        for _ in 0..MERGES {
            let Some(prev) = self.blocks.get(slot).prev.slot() else { break };
            if !self.blocks.get(prev).is_listed() || !self.merge_two((prev, slot), prev) {
                break;
            }
            slot = prev;
        }
        for _ in 0..MERGES {
            let Some(next) = self.blocks.get(slot).next.slot() else { break };
            if !self.blocks.get(next).is_listed() || !self.merge_two((slot, next), next) {
                break;
            }
        }
        slot
    }

    /// Merges two free neighbours, of which one is listed, if they may. The first becomes both.
    fn merge_two(&mut self, (first, second): (usize, usize), listed: usize) -> bool {
        if let Some((a, b)) = self.ones(first, second)
            && let Some(later) = self.order.unknown(a, b)
        {
            self.unlist(listed);
            self.join_ones(first, later);
            return true;
        }
        self.merge_listed((first, second), listed)
    }

    /// Merges two neighbours, of which one is listed, if they may. The first becomes both.
    fn merge_listed(&mut self, (first, second): (usize, usize), listed: usize) -> bool {
        let mut points = Points::NONE;
        let merges = self.merge_points(first, second, &mut points);
        if merges {
            self.unlist(listed);
            self.join(first, &points);
        }
        merges
    }

    /// Makes a block a hole that may be mapped again after `points`, and lists it, merged with the holes beside it.
    pub(super) fn settle_hole(&mut self, slot: usize, points: Points) -> usize {
        self.set_points(slot, points);
        let block = self.blocks.get_mut(slot);
        block.set_state(State::Hole);
        block.set_class(Class::Large);
        let mut slot = slot;
        if let Some(prev) = block.prev.slot()
            && self.merge_listed((prev, slot), prev)
        {
            slot = prev;
        }
        if let Some(next) = self.blocks.get(slot).next.slot() {
            self.merge_listed((slot, next), next);
        }
        self.list(slot);
        slot
    }

    /// Takes `[from, to)` out of listed neighbours, of which `slot` is the first, and puts it in transit as one; what is
    /// left on either side is listed again with the points that it had. All or nothing.
    pub(super) fn carve(&mut self, slot: usize, from: u64, to: u64) -> Result<usize, ArenaFull> {
        let before = self.blocks.get(slot).at < from;
        let last = self.blocks.walk(Link::to(slot)).map(|(_, block)| block.end()).find(|&end| end >= to);
        let pieces = usize::from(before) + usize::from(last.is_none_or(|end| end > to));
        if self.blocks.room() < pieces {
            return Err(self.blocks.full());
        }
        self.unlist(slot);
        let mut middle = slot;
        if before {
            middle = self.cut(slot, from.wrapping_sub(self.blocks.get(slot).at))?;
            self.list(slot);
        }
        self.end_at(middle, to)?;
        while self.blocks.get(middle).end() < to {
            let Some(next) = self.blocks.get(middle).next.slot() else { break };
            self.unlist(next);
            self.end_at(next, to)?;
            self.join_all(middle, next);
        }
        self.blocks.get_mut(middle).set_state(State::Transit);
        Ok(middle)
    }

    /// Joins a block with its successor, and waits for all that either waits for.
    #[inline(never)]
    pub(super) fn join_all(&mut self, slot: usize, next: usize) {
        let mut points = self.blocks.get(slot).points();
        points.add_all(&self.blocks.get(next).points());
        self.join(slot, &points);
    }

    /// Cuts off an unlisted block what is beyond `to`, and lists that.
    fn end_at(&mut self, slot: usize, to: u64) -> Result<(), ArenaFull> {
        let block = *self.blocks.get(slot);
        if block.end() > to {
            let rest = self.cut(slot, to.wrapping_sub(block.at))?;
            self.list(rest);
        }
        Ok(())
    }

    /// Takes the first `size` bytes of a block; what is left is listed again. The block is in transit. All or nothing.
    pub(super) fn take_front(&mut self, slot: usize, size: u64) -> Result<usize, ArenaFull> {
        let rest = self.blocks.get(slot).size > size;
        if rest && self.blocks.room() == 0 {
            return Err(self.blocks.full());
        }
        let home = self.blocks.get(slot).home();
        self.unlist(slot);
        self.blocks.get_mut(slot).set_state(State::Transit);
        if rest {
            let rest = self.cut(slot, size)?;
            self.blocks.get_mut(rest).set_state(State::Free);
            self.index.insert_in(&mut self.blocks, rest, home);
        }
        Ok(slot)
    }

    /// Takes what was chosen, `size` bytes of it, out of the index; the rest is listed again. The block is in transit.
    /// All or nothing.
    pub(super) fn take(&mut self, choice: Choice, size: u64) -> Result<usize, ArenaFull> {
        match choice.taken {
            Taken::Front(slot) => self.take_front(slot, size),
            Taken::Run(first) => {
                let at = self.blocks.get(first).at;
                self.carve(first, at, at.wrapping_add(size))
            }
            Taken::Granules { block, from, to } => {
                let Block { at, size: whole, .. } = *self.blocks.get(block);
                let pieces = [at < from, to < at.wrapping_add(whole), to.wrapping_sub(from) > size];
                if self.blocks.room() < pieces.into_iter().map(usize::from).sum() {
                    return Err(self.blocks.full());
                }
                let slot = self.carve(block, from, to)?;
                let class = match self.blocks.get(slot).class() {
                    Class::Small => Class::Large,
                    Class::Large => Class::Small,
                };
                self.blocks.get_mut(slot).set_class(class);
                self.trim_front(slot, size)?;
                Ok(slot)
            }
        }
    }

    /// Cuts what is beyond `size` bytes off an unlisted block and makes it free.
    fn trim_front(&mut self, slot: usize, size: u64) -> Result<(), ArenaFull> {
        if self.blocks.get(slot).size > size {
            let rest = self.cut(slot, size)?;
            self.settle_free(rest);
        }
        Ok(())
    }

    /// Merges every free block and hole of the pool with its neighbours where they lose nothing. O(blocks of the pool).
    pub(super) fn sweep(&mut self, pool: usize) {
        let mut at = self.pool(pool).first;
        for _ in 0..self.blocks.in_use() {
            let Some(slot) = at.slot() else { break };
            at = self.blocks.get(slot).next;
            if !self.can_merge_on(slot, at) {
                continue;
            }
            let (state, points) = (self.blocks.get(slot).state(), self.blocks.get(slot).points());
            self.unlist(slot);
            let merged = if state == State::Hole { self.settle_hole(slot, points) } else { self.settle_free(slot) };
            at = Link::to(merged);
        }
    }

    /// [`sweep`](Self::sweep) in every pool.
    pub(super) fn sweep_all(&mut self) {
        for slot in 0..self.pools.len() {
            self.sweep(slot);
        }
    }

    fn can_merge_on(&self, slot: usize, next: Link) -> bool {
        let block = self.blocks.get(slot);
        let joins = next.slot().is_some_and(|next| self.mergeable(slot, next));
        let whole = block.state() == State::Free
            && block.class() == Class::Small
            && self.granules_inside(block) == Some((block.at, block.end()));
        joins || whole
    }

    /// Calls `change` with every block that a growth takes beside its run, in address order. It says which block its own
    /// became a part of.
    pub(super) fn each_beside(
        &mut self,
        run: usize,
        growth: &Growth,
        mut change: impl FnMut(&mut Self, usize) -> usize,
    ) {
        let Growth { start, end, .. } = *growth;
        let before = self.blocks.walk_back(Link::to(run)).take_while(|(_, block)| block.at >= start);
        let mut at = before.last().map(|(slot, _)| slot);
        for _ in 0..self.blocks.in_use() {
            let Some(slot) = at else { break };
            let became = if slot == run { slot } else { change(self, slot) };
            let block = self.blocks.get(became);
            at = if block.end() < end { block.next.slot() } else { None };
        }
    }

    /// Begins to move or release granules: they are in transit.
    pub(super) fn begin_moving(&mut self, what: Releasable) -> Result<Moving, ArenaFull> {
        let block = self.carve(what.block, what.from, what.to)?;
        let pool = self.blocks.get(block).pool();
        self.pool_mut(pool).begin_transit();
        Ok(Moving { block, at: what.from, to: what.to, set_aside: false })
    }

    /// Sets a block in transit aside until a release tries again.
    pub(super) fn set_aside(&mut self, slot: usize) {
        let block = self.blocks.get_mut(slot);
        block.set_state(State::Quarantined);
        let pool = block.pool();
        let pool = self.pool_mut(pool);
        pool.set_aside = pool.set_aside.wrapping_add(1);
    }

    /// Begins to move what was set aside.
    pub(super) fn begin_moving_aside(&mut self, slot: usize) -> Moving {
        let block = self.blocks.get_mut(slot);
        block.set_state(State::Transit);
        let (pool, at, to) = (block.pool(), block.at, block.end());
        let slots = self.pool_mut(pool);
        slots.set_aside = slots.set_aside.wrapping_sub(1);
        slots.begin_transit();
        Moving { block: slot, at, to, set_aside: true }
    }

    /// A run may have had more points than fit; what is free again waits for everything then.
    #[inline(never)]
    fn wait_for_everything_where_due(&mut self, slot: usize) {
        if self.blocks.get(slot).points().wants_epoch_at_free() {
            let everything = self.order.points_of_everything(Users::Anywhere);
            self.set_points(slot, everything);
            self.order.drop_points(&everything);
        }
    }

    /// As [`settle_hole`](Self::settle_hole), with the points that the block has.
    #[inline(never)]
    pub(super) fn settle_own_hole(&mut self, slot: usize) {
        let points = self.blocks.get(slot).points();
        self.settle_hole(slot, points);
    }

    #[inline(never)]
    fn settle_hole_behind(&mut self, slot: usize, behind: Option<Mark>) {
        self.settle_hole(slot, behind.map_or(Points::NONE, Points::one));
    }

    /// Ends a move: what was unmapped becomes a hole, free after `behind`; what was not is free again. Where the arena has no slot to keep
    /// the two apart, all of it is set aside until the next release.
    #[inline(never)]
    pub(super) fn end_moving(&mut self, moving: &Moving, behind: Option<Mark>) {
        let block = self.blocks.get(moving.block);
        let (from, pool) = (block.at, block.pool());
        self.pool_mut(pool).end_transit();
        if moving.at < moving.to {
            self.wait_for_everything_where_due(moving.block);
        }
        if moving.at == moving.to {
            self.settle_hole_behind(moving.block, behind);
        } else if moving.set_aside {
            self.set_aside(moving.block);
        } else if moving.at == from {
            self.settle_free(moving.block);
        } else if let Ok(rest) = self.cut(moving.block, moving.at.wrapping_sub(from)) {
            self.settle_free(rest);
            self.settle_hole_behind(moving.block, behind);
        } else {
            self.set_aside(moving.block);
        }
    }
}

/// A run of granules on their way out of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) block: usize,
    /// The next granule to unmap.
    pub(super) at: u64,
    pub(super) to: u64,
    /// The run was set aside before: it has gaps, and what is left of it cannot be used.
    pub(super) set_aside: bool,
}
