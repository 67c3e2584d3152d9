//! Before a block is cut: what lies beside it may have become one with it since the two were freed.
//!
//! Neighbours that were freed on different streams, or between whose frees another stream took an event, stay apart at
//! first (see `Order::merged`). The smallest block that is large enough is then often a piece of a long free run, and what is
//! cut from it stands in the middle of that run for as long as it lives: the next large request finds no room and moves
//! granules, in every round of a loop. So a block is joined with its neighbours before it is cut, and the closest size is
//! looked for again. Exact fits are taken as they are. (On a training log of two streams this left of 170 maps and unmaps
//! in 1,000 calls none, and of 2 percent of memory beyond the peak a quarter of a percent.)

use crate::arena::Link;
use crate::block::State;
use crate::facts::Facts;
use crate::order::{CoveredBy, Level, Mark};
use crate::policy::Reuse;
use crate::reuse::Question;

/// How often one call joins a block that it would cut, and how often it asks about one: then it is cut as it is. (More
/// gained nothing on training logs.)
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
    /// What is to be done before `size` bytes are cut off a free block. Questions are about what calls before number `call`
    /// asked last.
    #[inline]
    pub(super) fn beside(&mut self, slot: usize, size: u64, call: u64) -> Beside {
        let block = self.blocks.get(slot);
        if block.size == size || !(self.blocks.is_free(block.prev) || self.blocks.is_free(block.next)) {
            return Beside::Nothing;
        }
        self.beside_cut(slot, call)
    }

    #[inline(never)]
    fn beside_cut(&mut self, slot: usize, call: u64) -> Beside {
        let block = self.blocks.get(slot);
        // A block of the other class is no better a fit when it is joined.
        let alike = |link: &Link| {
            let free = link.slot().map(|slot| self.blocks.get(slot)).filter(|b| b.state() == State::Free);
            free.is_some_and(|b| b.class() == block.class())
        };
        let before = Some(block.prev).filter(alike).and_then(Link::slot);
        let after = Some(block.next).filter(alike).and_then(Link::slot);
        if before.is_some_and(|before| self.joins(before, slot)) || after.is_some_and(|after| self.joins(slot, after)) {
            return Beside::Joins;
        }
        match self.question_beside(slot, [before, after], call) {
            Some(question) => Beside::Unknown(question),
            None => Beside::Nothing,
        }
    }

    /// Whether two free neighbours of one class are one.
    fn joins(&self, first: usize, second: usize) -> bool {
        let (a, b) = (self.blocks.get(first), self.blocks.get(second));
        if a.is_ones() && b.is_ones() {
            let (one, other) = (Mark::of_word(a.first_mark()), Mark::of_word(b.first_mark()));
            if one.stream != other.stream {
                // As `mergeable` would find, at a tenth of the cost.
                let level = self.pool(a.pool()).level();
                return self.order.settled(one, level) && self.order.settled(other, level);
            }
        }
        self.mergeable(first, second)
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

    /// Joins a free block with what is one with it.
    pub(super) fn join_beside(&mut self, slot: usize) {
        self.unlist(slot);
        self.settle_free(slot);
    }
}
