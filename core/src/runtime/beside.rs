//! Before a block is cut: what lies beside it may have become one with it since the two were freed.
//!
//! Neighbours that were freed on different streams, or between whose frees another stream took an event, stay apart at
//! first (see `Order::merged`). The smallest block that is large enough is then often a piece of a long free run, and what is
//! cut from it stands in the middle of that run for as long as it lives: the next large request finds no room and moves
//! granules, in every round of a loop. So a block is joined with its neighbours before it is cut, and the closest size is
//! looked for again. Exact fits are taken as they are. (On a training log of two streams this left of 170 maps and unmaps
//! in 1,000 calls none, and of 2 percent of memory beyond the peak a quarter of a percent.)
//!
//! What one stream freed stays apart, too, where a marker lies between: others could come to know by it that one is complete
//! and not the other. Not so for the stream that frees and takes: to it the neighbours are one whatever is complete. They
//! are joined only now, and only those beside what it cuts, at most `2 * JOINS` a call: joined when they are freed, all that a stream
//! frees would be one block, which is complete when its last free is, and others would have none of it before. (An idle second
//! stream cost 5 percent of memory and four fifths more maps and unmaps before.)

use crate::arena::Link;
use crate::block::{Block, State};
use crate::facts::Facts;
use crate::order::{CoveredBy, Level, Mark};
use crate::policy::Reuse;
use crate::reuse::Question;

/// How often one call joins a block that it would cut, and how often it asks about one: then it is cut as it is. (More
/// gained nothing on training logs and on random sizes.)
pub(super) const JOINS: u8 = 2;
pub(super) const ASKS: u8 = 2;

/// What is to be done before a block is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Beside {
    /// Nothing: it is cut.
    Nothing,
    /// It is one with a neighbour.
    Joins,
    /// It would be if this were complete.
    Unknown(Question),
}

impl Facts<'_> {
    /// What is to be done before a stream cuts `size` bytes off a free block. Questions are about what calls before number
    /// `call` asked last.
    #[inline]
    pub(super) fn beside(&mut self, slot: usize, (size, stream): (u64, usize), call: u64) -> Beside {
        let block = self.blocks.get(slot);
        if block.size == size || !(self.blocks.is_free(block.prev) || self.blocks.is_free(block.next)) {
            return Beside::Nothing;
        }
        self.beside_cut(slot, stream, call)
    }

    #[inline(never)]
    fn beside_cut(&mut self, slot: usize, stream: usize, call: u64) -> Beside {
        let block = self.blocks.get(slot);
        // A block of the other class is no better a fit when it is joined.
        let alike = |link: &Link| {
            let free = link.slot().map(|slot| self.blocks.get(slot)).filter(|b| b.state() == State::Free);
            free.is_some_and(|b| b.class() == block.class())
        };
        let before = Some(block.prev).filter(alike).and_then(Link::slot);
        let after = Some(block.next).filter(alike).and_then(Link::slot);
        let joins = |first: usize, second: usize| self.joins(first, second, stream);
        if before.is_some_and(|before| joins(before, slot)) || after.is_some_and(|after| joins(slot, after)) {
            return Beside::Joins;
        }
        match self.question_beside(slot, [before, after], call) {
            Some(question) => Beside::Unknown(question),
            None => Beside::Nothing,
        }
    }

    /// Whether two free neighbours of one class are one, or were freed by the stream that takes one of them.
    fn joins(&self, first: usize, second: usize, stream: usize) -> bool {
        let Some((a, b)) = self.ones(first, second) else { return self.mergeable(first, second) };
        let (one, other) = (Mark::of_word(a), Mark::of_word(b));
        if one.stream != other.stream {
            // As `mergeable` would find, at a tenth of the cost.
            let level = self.pool(self.blocks.get(first).pool()).level();
            return self.order.settled(one, level) && self.order.settled(other, level);
        }
        self.order.untold(stream, a, b).is_some() || self.mergeable(first, second)
    }

    /// A question about the block or a neighbour, by a marker that is laid already, where the pool uses what it learns so.
    #[cfg_attr(feature = "compact", inline(never))]
    fn question_beside(&mut self, slot: usize, beside: [Option<usize>; 2], call: u64) -> Option<Question> {
        let pool = self.blocks.get(slot).pool();
        let asks = beside != [None; 2] && self.pool(pool).reuse.contains(Reuse::OPPORTUNISTIC);
        if !asks || !self.pool_mut(pool).asking.is_due() {
            return None;
        }
        let [before, after] = beside;
        for slot in [Some(slot), before, after].into_iter().flatten() {
            for mark in self.order.all_marks(&self.blocks.get(slot).points()) {
                if !self.order.settled(mark, Level::Known)
                    && self.order.stream(mark.stream).asked < call
                    && let about @ CoveredBy::Marker { .. } = self.order.covered_by(mark)
                {
                    return Some(Question { stream: mark.stream, about });
                }
            }
        }
        None
    }

    /// Joins a free block with what is one with it, and with the neighbours that the stream freed.
    pub(super) fn join_beside(&mut self, mut slot: usize, stream: usize) {
        self.unlist(slot);
        let Block { prev, next, .. } = *self.blocks.get(slot);
        if let Some(prev) = prev.slot()
            && self.join_own((prev, slot), prev, stream)
        {
            slot = prev;
        }
        if let Some(next) = next.slot() {
            self.join_own((slot, next), next, stream);
        }
        self.settle_free(slot);
    }

    /// Joins two free neighbours, of which one is listed, if the stream freed both and nobody else knows.
    fn join_own(&mut self, (first, second): (usize, usize), listed: usize, stream: usize) -> bool {
        let own = self.ones(first, second).and_then(|(a, b)| self.order.untold(stream, a, b));
        if let Some(later) = own {
            self.unlist(listed);
            self.join_ones(first, later);
        }
        own.is_some()
    }
}
