//! Granules: physical memory, and where each is mapped. Knows no blocks and no order.

use crate::arena::{Empty, Link, Slots};
use crate::driver::GranuleHandle;
use crate::error::{Arena, ArenaFull};
use crate::lookup::Lookup;
use crate::order::Mark;
use crate::units::Seq;

/// Where a granule is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: an unused slot of the arena.
    #[default]
    Unused,
    /// Being created, mapped, unmapped or destroyed by a call in flight.
    Transit,
    /// Mapped at this address.
    Mapped(u64),
    /// Not mapped, and not destroyed: the driver would not, or a stream has yet to unmap it (at that position). Tried
    /// again at the next release.
    Quarantined { stream: u32, seq: Seq },
}

/// One granule.
#[derive(Clone, Copy, Debug)]
pub struct Granule {
    pub(crate) handle: GranuleHandle,
    pub(crate) pool: u32,
    pub(crate) place: Place,
    next: Link,
}

impl Empty for Granule {
    const EMPTY: Self = Self { handle: GranuleHandle(0), pool: 0, place: Place::Unused, next: Link::NONE };
}

/// The arena of granules and the lookup of mapped ones by address.
pub(crate) struct Granules<'a> {
    slots: Slots<'a, Granule>,
    lookup: Lookup<'a>,
    spare: Link,
    touched: usize,
    quarantined: usize,
}

impl<'a> Granules<'a> {
    pub(crate) fn new(slots: Slots<'a, Granule>, lookup: &'a mut [Link]) -> Self {
        Self { slots, lookup: Lookup::new(lookup), spare: Link::NONE, touched: 0, quarantined: 0 }
    }

    pub(crate) fn strayed(&self) -> bool {
        self.slots.strayed()
    }

    pub(crate) fn get(&self, slot: usize) -> &Granule {
        self.slots.get(slot)
    }

    pub(crate) fn full(&self) -> ArenaFull {
        ArenaFull { arena: Arena::Granules, capacity: self.slots.len() }
    }

    /// A slot for a granule that is about to be created.
    pub(crate) fn begin(&mut self, pool: usize) -> Result<usize, ArenaFull> {
        let slot = match self.spare.slot() {
            Some(slot) => {
                self.spare = self.slots.get(slot).next;
                slot
            }
            None if self.touched < self.slots.len() => {
                self.touched = self.touched.wrapping_add(1);
                self.touched.wrapping_sub(1)
            }
            None => return Err(self.full()),
        };
        *self.slots.get_mut(slot) =
            Granule { handle: GranuleHandle(0), pool: pool as u32, place: Place::Transit, next: Link::NONE };
        Ok(slot)
    }

    pub(crate) fn created(&mut self, slot: usize, handle: GranuleHandle) {
        self.slots.get_mut(slot).handle = handle;
    }

    /// The granule is gone; its slot is given back.
    pub(crate) fn end(&mut self, slot: usize) {
        if matches!(self.slots.get(slot).place, Place::Quarantined { .. }) {
            self.quarantined = self.quarantined.saturating_sub(1);
        }
        *self.slots.get_mut(slot) = Granule { next: self.spare, ..Granule::EMPTY };
        self.spare = Link::to(slot);
    }

    /// It is mapped at `at`. False: the lookup is full, which its size rules out.
    #[must_use]
    pub(crate) fn mapped(&mut self, slot: usize, at: u64) -> bool {
        self.slots.get_mut(slot).place = Place::Mapped(at);
        self.lookup.insert(at, slot)
    }

    fn address_of(slots: &Slots<'_, Granule>, slot: usize) -> u64 {
        match slots.get(slot).place {
            Place::Mapped(at) => at,
            _ => u64::MAX,
        }
    }

    /// The granule mapped at `at`.
    pub(crate) fn at(&self, at: u64) -> Option<usize> {
        self.lookup.find(at, |slot| Self::address_of(&self.slots, slot) == at)
    }

    /// It is no longer mapped.
    pub(crate) fn unmapped(&mut self, slot: usize) {
        let at = Self::address_of(&self.slots, slot);
        let slots = &self.slots;
        self.lookup.remove(at, |s| Self::address_of(slots, s));
        self.slots.get_mut(slot).place = Place::Transit;
    }

    /// It cannot be destroyed now, and not before `after` is complete.
    pub(crate) fn quarantine(&mut self, slot: usize, after: Mark) {
        self.slots.get_mut(slot).place = Place::Quarantined { stream: after.stream as u32, seq: after.seq };
        self.quarantined = self.quarantined.saturating_add(1);
    }

    /// A quarantined granule of the pool that may be tried again.
    pub(crate) fn quarantined_of(&self, pool: usize, ready: impl Fn(Mark) -> bool) -> Option<usize> {
        if self.quarantined == 0 {
            return None;
        }
        let mine = |g: &Granule| match g.place {
            Place::Quarantined { stream, seq } => {
                g.pool as usize == pool && ready(Mark { stream: stream as usize, seq })
            }
            Place::Unused | Place::Transit | Place::Mapped(_) => false,
        };
        self.slots.iter().find(|(_, g)| mine(g)).map(|(slot, _)| slot)
    }

    /// How many of the pool's granules are quarantined.
    pub(crate) fn quarantined_in(&self, pool: usize) -> u32 {
        let mine = |g: &Granule| g.pool as usize == pool && matches!(g.place, Place::Quarantined { .. });
        self.iter().filter(|(_, g)| mine(g)).count() as u32
    }

    /// A quarantined granule is being tried again.
    pub(crate) fn retry(&mut self, slot: usize) {
        self.quarantined = self.quarantined.saturating_sub(1);
        self.slots.get_mut(slot).place = Place::Transit;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Granule)> {
        self.slots.iter().filter(|(_, g)| g.place != Place::Unused)
    }
}
