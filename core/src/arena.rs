//! Fixed arenas. The core never indexes: each accessor returns the slot, or a sentinel and a sticky *corrupt* state.
//!
//! Capacity is a constant of the storage; inside, arenas are slices, so one compiled core serves every size.

use crate::units::Seq;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that an untouched (all-zero) slot holds.
pub trait Empty: Sized {
    /// The untouched slot.
    const EMPTY: Self;
}

/// A reference to a slot that may be absent, in four bytes; absent is all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Link(u32);

impl Link {
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) const fn to(slot: usize) -> Self {
        Self((slot as u32).wrapping_add(1))
    }

    #[inline]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) const fn slot(self) -> Option<usize> {
        match self.0 {
            0 => None,
            n => Some((n as usize).wrapping_sub(1)),
        }
    }
}

/// Whether anything ever went wrong in any runtime of this process. Each runtime knows of itself, but to ask its dozen
/// arenas took 60 instructions of every call; so it asks once this says that it may be worth it.
static TROUBLE: AtomicBool = AtomicBool::new(false);

/// Whether it may be worth asking a runtime whether its bookkeeping can be trusted. If it cannot, this was said under its
/// lock.
#[inline]
pub(crate) fn any_trouble() -> bool {
    TROUBLE.load(Ordering::Relaxed)
}

/// Makes every runtime ask from now on.
pub(crate) fn note_trouble() {
    TROUBLE.store(true, Ordering::Relaxed);
}

/// Steps of all runtimes of this process; see [`steps`](crate::sim::steps).
#[cfg(feature = "sim")]
pub(crate) static STEPS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// A slot, a cell of a lookup or an entry of a clock is looked at: what the steps of a call are counted in, where tests
/// bound them.
#[inline]
pub(crate) fn note_step() {
    #[cfg(feature = "sim")]
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Somebody went astray.
#[cold]
#[inline(never)]
pub(crate) fn note_stray(stray: &Cell<bool>) {
    stray.set(true);
    note_trouble();
}

/// An arena of `T` over a lent slice.
pub(crate) struct Slots<'a, T> {
    items: &'a mut [T],
    /// Lent as well, so that a runtime is small on its way to where it stays.
    sentinel: &'a mut T,
    stray: Cell<bool>,
}

impl Empty for Seq {
    const EMPTY: Self = Self::ZERO;
}

impl Empty for u64 {
    const EMPTY: Self = 0;
}

impl Empty for crate::trace::Page {
    const EMPTY: Self = Self::EMPTY;
}

impl Empty for u16 {
    const EMPTY: Self = 0;
}

impl Empty for Link {
    const EMPTY: Self = Self::NONE;
}

impl<'a, T: Empty> Slots<'a, T> {
    pub(crate) fn new(items: &'a mut [T], sentinel: &'a mut T) -> Self {
        Self { items, sentinel, stray: Cell::new(false) }
    }

    /// An arena with a sentinel of its own.
    #[cfg(test)]
    pub(crate) fn of(items: &'a mut [T]) -> Self
    where
        T: 'static,
    {
        extern crate std;
        Self::new(items, std::boxed::Box::leak(std::boxed::Box::new(T::EMPTY)))
    }

    /// At most so many of them.
    pub(crate) fn at_most(self, most: usize) -> Self {
        let least = self.items.len().min(most);
        Self { items: self.items.get_mut(..least).unwrap_or_default(), ..self }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The slot, or an untouched one and a note that somebody went astray.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> &T {
        note_step();
        match self.items.get(slot) {
            Some(item) => item,
            None => self.missed(),
        }
    }

    #[cold]
    #[inline(never)]
    fn missed(&self) -> &T {
        note_stray(&self.stray);
        self.sentinel
    }

    /// The slot, if there is one: for numbers that come from outside.
    #[inline]
    pub(crate) fn look(&self, slot: usize) -> Option<&T> {
        note_step();
        self.items.get(slot)
    }

    #[inline]
    pub(crate) fn look_mut(&mut self, slot: usize) -> Option<&mut T> {
        note_step();
        self.items.get_mut(slot)
    }

    /// The slot, or a note that somebody went astray.
    #[inline]
    fn meet(&self, slot: usize) -> Option<&T> {
        note_step();
        let item = self.items.get(slot);
        if item.is_none() {
            note_stray(&self.stray);
        }
        item
    }

    /// Whether the slot is there, and is what is looked for.
    #[inline]
    pub(crate) fn is(&self, slot: usize, looked_for: impl Fn(&T) -> bool) -> bool {
        self.meet(slot).is_some_and(looked_for)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut T {
        note_step();
        match self.items.get_mut(slot) {
            Some(item) => item,
            None => Self::cleared(&self.stray, &mut self.sentinel),
        }
    }

    #[cold]
    #[inline(never)]
    fn cleared<'s>(stray: &Cell<bool>, sentinel: &'s mut &'a mut T) -> &'s mut T {
        note_stray(stray);
        **sentinel = T::EMPTY;
        sentinel
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.items.iter().inspect(|_| note_step()).enumerate()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.items.iter_mut().inspect(|_| note_step()).enumerate()
    }

    /// Whether an access ever missed.
    pub(crate) fn strayed(&self) -> bool {
        self.stray.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_is_noticed_and_stays() {
        let mut items = [1u64, 2];
        let mut slots = Slots::of(&mut items);
        assert_eq!(*slots.get(1), 2);
        assert!(!slots.strayed());
        *slots.get_mut(9) = 7;
        assert_eq!(*slots.get_mut(9), 0);
        assert!(slots.strayed() && any_trouble());
    }
}
