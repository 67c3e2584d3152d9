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
    sentinel: T,
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
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        Self { items, sentinel: T::EMPTY, stray: Cell::new(false) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The slot, or an untouched one and a note that somebody went astray.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> &T {
        self.meet(slot).unwrap_or(&self.sentinel)
    }

    /// The slot, if there is one: for numbers that come from outside.
    #[inline]
    pub(crate) fn look(&self, slot: usize) -> Option<&T> {
        self.items.get(slot)
    }

    #[inline]
    pub(crate) fn look_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.items.get_mut(slot)
    }

    /// The slot, or a note that somebody went astray.
    #[inline]
    fn meet(&self, slot: usize) -> Option<&T> {
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
        match self.items.get_mut(slot) {
            Some(item) => item,
            None => Self::cleared(&self.stray, &mut self.sentinel),
        }
    }

    #[cold]
    #[inline(never)]
    fn cleared<'s>(stray: &Cell<bool>, sentinel: &'s mut T) -> &'s mut T {
        note_stray(stray);
        *sentinel = T::EMPTY;
        sentinel
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.items.iter().enumerate()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.items.iter_mut().enumerate()
    }

    /// Whether an access ever missed.
    pub(crate) fn strayed(&self) -> bool {
        self.stray.get()
    }
}

/// An address lookup: open addressing with linear probing over a lent slice of links. The keys live in the slots that
/// the links lead to, so an entry costs four bytes.
pub(crate) struct Lookup<'a> {
    cells: &'a mut [Link],
}

impl<'a> Lookup<'a> {
    /// `cells` should be about twice as many as there will be entries.
    pub(crate) fn new(cells: &'a mut [Link]) -> Self {
        Self { cells }
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        // Fibonacci hashing; the high half is mapped onto the length without a division.
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * self.cells.len() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        if at.wrapping_add(1) < self.cells.len() { at.wrapping_add(1) } else { 0 }
    }

    #[inline]
    fn link(&self, at: usize) -> Link {
        self.cells.get(at).copied().unwrap_or(Link::NONE)
    }

    #[inline]
    fn set(&mut self, at: usize, link: Link) {
        if let Some(cell) = self.cells.get_mut(at) {
            *cell = link;
        }
    }

    /// The slot whose key is `key`, as `is` can tell.
    #[inline]
    pub(crate) fn find(&self, key: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        // Three of four are at home.
        let home = self.home(key);
        let slot = self.link(home).slot()?;
        if is(slot) { Some(slot) } else { self.find_behind(home, is) }
    }

    #[inline(never)]
    fn find_behind(&self, home: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = home;
        for _ in 1..self.cells.len() {
            at = self.next(at);
            let slot = self.link(at).slot()?;
            if is(slot) {
                return Some(slot);
            }
        }
        None
    }

    /// Adds an entry; false where no cell is left, which a lookup of the right size never has.
    #[must_use]
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, slot: usize) -> bool {
        let mut at = self.home(key);
        for _ in 0..self.cells.len() {
            if self.link(at) == Link::NONE {
                self.set(at, Link::to(slot));
                return true;
            }
            at = self.next(at);
        }
        false
    }

    /// Removes the entry of `key`. Closes the gap, so that probing never meets tombstones.
    pub(crate) fn remove(&mut self, key: u64, key_of: impl Fn(usize) -> u64) {
        let mut gap = self.home(key);
        for _ in 0..self.cells.len() {
            let Some(slot) = self.link(gap).slot() else { return };
            if key_of(slot) == key {
                self.close(gap, key_of);
                return;
            }
            gap = self.next(gap);
        }
    }

    /// Empties the cell at `gap`, and moves entries behind it up where that brings them nearer to their homes.
    fn close(&mut self, mut gap: usize, key_of: impl Fn(usize) -> u64) {
        let mut at = self.next(gap);
        for _ in 0..self.cells.len() {
            let Some(slot) = self.link(at).slot() else { break };
            let home = self.home(key_of(slot));
            // The entry may move into the gap unless its home lies between the gap and its place (cyclically).
            let stays = if gap <= at { gap < home && home <= at } else { gap < home || home <= at };
            if !stays {
                self.set(gap, Link::to(slot));
                gap = at;
            }
            at = self.next(at);
        }
        self.set(gap, Link::NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::collections::BTreeMap;
    use std::vec;

    #[test]
    fn a_lookup_agrees_with_a_map() {
        let mut cells = vec![Link::NONE; 64];
        let mut lookup = Lookup::new(&mut cells);
        let mut keys = [0u64; 32];
        let mut model = BTreeMap::new();
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let slot = (state >> 33) as usize % 32;
            if keys[slot] != 0 {
                let snapshot = keys;
                lookup.remove(keys[slot], |s| snapshot[s]);
                model.remove(&keys[slot]);
                keys[slot] = 0;
            } else {
                keys[slot] = ((state >> 20) | 1) << 9;
                if model.insert(keys[slot], slot).is_some() {
                    panic!("the generator repeated a key");
                }
                assert!(lookup.insert(keys[slot], slot));
            }
            for (&key, &slot) in &model {
                assert_eq!(lookup.find(key, |s| keys[s] == key), Some(slot));
            }
            assert_eq!(lookup.find(512 * 7, |s| keys[s] == 512 * 7), None);
        }
    }

    #[test]
    fn a_miss_is_noticed_and_stays() {
        let mut items = [1u64, 2];
        let mut slots = Slots::new(&mut items);
        assert_eq!(*slots.get(1), 2);
        assert!(!slots.strayed());
        *slots.get_mut(9) = 7;
        assert_eq!(*slots.get_mut(9), 0);
        assert!(slots.strayed() && any_trouble());
    }
}
