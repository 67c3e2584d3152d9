//! Unused slots of an arena, without a search: those given back, and those that were never used.

use crate::arena::Link;

/// The unused slots. Those given back are linked one to the next in the slots themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spare {
    first: Link,
    /// Slots that were never used come after this many.
    touched: usize,
}

impl Spare {
    pub(super) const NONE: Self = Self { first: Link::NONE, touched: 0 };

    /// Takes the slot that was given back last, else the next one of `capacity` that was never used.
    pub(super) fn take(&mut self, capacity: usize, next_of: impl FnOnce(usize) -> Link) -> Option<usize> {
        if let Some(slot) = self.first.slot() {
            self.first = next_of(slot);
            return Some(slot);
        }
        let slot = self.touched;
        (slot < capacity).then(|| {
            self.touched = slot.wrapping_add(1);
            slot
        })
    }

    /// Gives a slot back, and returns what it has to link to.
    pub(super) fn give(&mut self, slot: usize) -> Link {
        core::mem::replace(&mut self.first, Link::to(slot))
    }
}
