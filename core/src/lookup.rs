//! Lookups by address: open addressing with linear probing over lent slices of links. The keys live in the slots that the
//! links lead to, so an entry costs four bytes.

use crate::arena::{Link, note_step};

/// The cells, about twice as many as there will be entries.
struct Cells<'a>(&'a mut [Link]);

impl Cells<'_> {
    #[inline]
    fn home(&self, key: u64) -> usize {
        // Fibonacci hashing; the high half is mapped onto the length without a division.
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * self.0.len() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        if at.wrapping_add(1) < self.0.len() { at.wrapping_add(1) } else { 0 }
    }

    #[inline]
    fn link(&self, at: usize) -> Link {
        note_step();
        self.0.get(at).copied().unwrap_or(Link::NONE)
    }

    #[inline]
    fn set(&mut self, at: usize, link: Link) {
        if let Some(cell) = self.0.get_mut(at) {
            *cell = link;
        }
    }

    /// Puts a link in the first empty cell of so many from the key's home on; false where there is none.
    #[inline]
    fn insert(&mut self, key: u64, slot: usize, reach: usize) -> bool {
        let mut at = self.home(key);
        for _ in 0..reach.min(self.0.len()) {
            if self.link(at) == Link::NONE {
                self.set(at, Link::to(slot));
                return true;
            }
            at = self.next(at);
        }
        false
    }
}

/// A lookup that always has room. Its time is near constant, and has no bound where keys are chosen to collide.
pub(crate) struct Lookup<'a>(Cells<'a>);

impl<'a> Lookup<'a> {
    pub(crate) fn new(cells: &'a mut [Link]) -> Self {
        Self(Cells(cells))
    }

    /// The slot whose key is `key`, as `is` can tell.
    pub(crate) fn find(&self, key: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = self.0.home(key);
        for _ in 0..self.0.0.len() {
            let slot = self.0.link(at).slot()?;
            if is(slot) {
                return Some(slot);
            }
            at = self.0.next(at);
        }
        None
    }

    /// Adds an entry; false where no cell is left, which a lookup of the right size never has.
    #[must_use]
    pub(crate) fn insert(&mut self, key: u64, slot: usize) -> bool {
        self.0.insert(key, slot, usize::MAX)
    }

    /// Removes the entry of `key`. Closes the gap, so that probing never meets tombstones.
    pub(crate) fn remove(&mut self, key: u64, key_of: impl Fn(usize) -> u64) {
        let mut gap = self.0.home(key);
        for _ in 0..self.0.0.len() {
            let Some(slot) = self.0.link(gap).slot() else { return };
            if key_of(slot) == key {
                self.close(gap, key_of);
                return;
            }
            gap = self.0.next(gap);
        }
    }

    /// Empties the cell at `gap`, and moves entries behind it up where that brings them nearer to their homes.
    fn close(&mut self, mut gap: usize, key_of: impl Fn(usize) -> u64) {
        let mut at = self.0.next(gap);
        for _ in 0..self.0.0.len() {
            let Some(slot) = self.0.link(at).slot() else { break };
            let home = self.0.home(key_of(slot));
            // The entry may move into the gap unless its home lies between the gap and its place (cyclically).
            let stays = if gap <= at { gap < home && home <= at } else { gap < home || home <= at };
            if !stays {
                self.0.set(gap, Link::to(slot));
                gap = at;
            }
            at = self.0.next(at);
        }
        self.0.set(gap, Link::NONE);
    }
}

/// Cells that are looked at for one key. With half of them filled, one key in a few thousand finds no place among so many.
const REACH: usize = 32;

/// A lookup in a bounded number of steps, which has no room for some keys: its owner keeps those elsewhere.
///
/// An entry stays in its cell, whatever is removed before it, so a search passes over empty cells.
pub(crate) struct Window<'a>(Cells<'a>);

impl<'a> Window<'a> {
    pub(crate) fn new(cells: &'a mut [Link]) -> Self {
        Self(Cells(cells))
    }

    /// The slot that `is` recognises, of those with the key's home. O(1).
    #[inline]
    pub(crate) fn find(&self, key: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        // Three of four are at home.
        let home = self.0.home(key);
        match self.0.link(home).slot() {
            Some(slot) if is(slot) => Some(slot),
            _ => self.find_behind(home, is),
        }
    }

    #[inline(never)]
    fn find_behind(&self, home: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = home;
        for _ in 1..REACH {
            at = self.0.next(at);
            if let Some(slot) = self.0.link(at).slot()
                && is(slot)
            {
                return Some(slot);
            }
        }
        None
    }

    /// Adds an entry; false where there is no room for it. O(1).
    #[must_use]
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, slot: usize) -> bool {
        self.0.insert(key, slot, REACH)
    }

    /// Removes an entry; false where it has none. O(1).
    #[must_use]
    #[inline]
    pub(crate) fn remove(&mut self, key: u64, slot: usize) -> bool {
        let mut at = self.0.home(key);
        for _ in 0..REACH {
            if self.0.link(at) == Link::to(slot) {
                self.0.set(at, Link::NONE);
                return true;
            }
            at = self.0.next(at);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::collections::BTreeMap;
    use std::vec;

    /// Puts keys in and out of both lookups by chance, and compares them with a map after each step.
    fn agrees(key: impl Fn(u64) -> u64, fits: bool) {
        let (mut cells, mut window) = (vec![Link::NONE; 64], vec![Link::NONE; 64]);
        let (mut lookup, mut window) = (Lookup::new(&mut cells), Window::new(&mut window));
        let mut keys = [0u64; 32];
        let mut model = BTreeMap::new();
        let (mut state, mut without) = (1u64, 0);
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let slot = (state >> 33) as usize % 32;
            if keys[slot] != 0 {
                let snapshot = keys;
                lookup.remove(keys[slot], |s| snapshot[s]);
                let (_, there) = model.remove(&keys[slot]).expect("is in");
                assert_eq!(window.remove(keys[slot], slot), there);
                keys[slot] = 0;
            } else {
                let new = key(state);
                if model.contains_key(&new) {
                    continue;
                }
                keys[slot] = new;
                assert!(lookup.insert(new, slot));
                let there = window.insert(new, slot);
                without += usize::from(!there);
                model.insert(new, (slot, there));
            }
            for (&key, &(slot, there)) in &model {
                assert_eq!(lookup.find(key, |s| keys[s] == key), Some(slot));
                assert_eq!(window.find(key, |s| keys[s] == key), there.then_some(slot));
            }
            assert_eq!(lookup.find(512 * 7, |s| keys[s] == 512 * 7), None);
            assert_eq!(window.find(512 * 7, |s| keys[s] == 512 * 7), None);
        }
        assert_eq!(without == 0, fits, "{without} keys found no place");
    }

    #[test]
    fn lookups_agree_with_a_map() {
        agrees(|random| ((random >> 20) | 1) << 9, true);
    }

    /// Multiples of the multiplier's inverse all have their home in the first cells.
    #[test]
    fn keys_that_collide_are_found_or_have_no_place() {
        let inverse = 0xf1de_83e1_9937_733d_u64;
        assert_eq!(inverse.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1);
        agrees(|random| inverse.wrapping_mul((random >> 44) | 1), true);
        let (mut window, mut keys) = (vec![Link::NONE; 64], vec![]);
        let mut window = Window::new(&mut window);
        for n in 1..=40 {
            keys.push(inverse.wrapping_mul(n));
            assert_eq!(window.insert(keys[n as usize - 1], n as usize - 1), n <= REACH as u64);
        }
        for (slot, key) in keys.iter().enumerate() {
            assert_eq!(window.find(*key, |s| keys[s] == *key).is_some(), slot < REACH);
        }
    }
}
