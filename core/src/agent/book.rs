//! The granules of a device that keeps what was freed.

use super::{Granules, Placement, Refusal};
use crate::units::{Bytes, DevicePtr};

/// Physical memory and the tables that map it.
pub trait Memory {
    /// How many granules of memory are nowhere mapped.
    fn left(&self) -> usize;
    /// One of them.
    fn take(&mut self) -> Option<u64>;
    /// It is nowhere mapped any more.
    fn give(&mut self, frame: u64);
    /// Maps it at an address where nothing is.
    fn map(&mut self, at: DevicePtr, frame: u64);
    /// Ends a mapping: no access reaches the memory any more when this returns.
    fn unmap(&mut self, at: DevicePtr);
}

/// Where a granule of memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its address; 0 where this place is free.
    at: u64,
    pool: u64,
    frame: u64,
    live: bool,
}

impl Place {
    /// A free place.
    pub const EMPTY: Self = Self { at: 0, pool: 0, frame: 0, live: false };
}

/// Granules at addresses, in places that were lent: one is needed for each granule of the memory. What was freed stays
/// mapped until the memory is needed elsewhere, or the pool is [trimmed](Self::trim) or [ended](Self::end).
///
/// Every call is linear in the places for each granule that it is about.
#[derive(Debug)]
pub struct Book<'a, M> {
    places: &'a mut [Place],
    memory: M,
    size: Bytes,
}

impl<'a, M: Memory> Book<'a, M> {
    /// Nothing is mapped. `size` is that of a granule, a power of two.
    pub fn new(places: &'a mut [Place], memory: M, size: Bytes) -> Self {
        places.fill(Place::EMPTY);
        Self { places, memory, size }
    }

    /// The memory below.
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// Bytes that a pool has: live, and kept.
    #[must_use]
    pub fn held(&self, pool: u64) -> (Bytes, Bytes) {
        let bytes = |live| {
            let mine = self.places.iter().filter(|place| place.at != 0 && place.pool == pool && place.live == live);
            Bytes(self.size.0.saturating_mul(mine.count() as u64))
        };
        (bytes(true), bytes(false))
    }

    /// Gives kept memory of a pool back until it has at most `keep` bytes, or nothing kept; what it has then.
    pub fn trim(&mut self, pool: u64, keep: Bytes) -> Bytes {
        loop {
            let (live, kept) = self.held(pool);
            let held = Bytes(live.0.saturating_add(kept.0));
            if held <= keep || kept == Bytes::ZERO {
                return held;
            }
            match self.places.iter().position(|place| place.at != 0 && place.pool == pool && !place.live) {
                Some(index) => self.drop_at(index),
                None => return held,
            }
        }
    }

    /// Gives everything of a pool back, whatever is live.
    pub fn end(&mut self, pool: u64) {
        while let Some(index) = self.places.iter().position(|place| place.at != 0 && place.pool == pool) {
            self.drop_at(index);
        }
    }

    /// Gives the kept memory at an address back, if there is any.
    pub fn drop_kept(&mut self, at: DevicePtr) {
        if let Some(index) = self.places.iter().position(|place| place.at == at.0 && at.0 != 0 && !place.live) {
            self.drop_at(index);
        }
    }

    fn drop_at(&mut self, index: usize) {
        if let Some(place) = self.places.get_mut(index) {
            let Place { at, frame, .. } = core::mem::replace(place, Place::EMPTY);
            self.memory.unmap(DevicePtr(at));
            self.memory.give(frame);
        }
    }

    fn find(&self, at: DevicePtr) -> Option<&Place> {
        self.places.iter().find(|place| place.at == at.0 && at.0 != 0)
    }

    fn find_mut(&mut self, at: DevicePtr) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.at == at.0 && at.0 != 0)
    }

    /// A place for one more granule: of the pool's own kept ones where the memory is used up, else of anybody's.
    fn room(&mut self, pool: u64) -> Option<usize> {
        if self.memory.left() == 0 || !self.places.contains(&Place::EMPTY) {
            let kept = |place: &Place| place.at != 0 && !place.live;
            let own = self.places.iter().position(|place| kept(place) && place.pool == pool);
            let index = own.or_else(|| self.places.iter().position(kept))?;
            self.drop_at(index);
            return Some(index);
        }
        self.places.iter().position(|place| *place == Place::EMPTY)
    }
}

impl<M: Memory> Granules for Book<'_, M> {
    fn size(&self) -> Bytes {
        self.size
    }

    fn placement(&self, pool: u64, at: DevicePtr) -> Placement {
        match self.find(at) {
            None => Placement::Absent,
            Some(place) if !place.live => Placement::Kept,
            Some(place) if place.pool == pool => Placement::Live,
            Some(_) => Placement::Foreign,
        }
    }

    fn spare(&self) -> usize {
        let free = self.places.iter().filter(|place| place.at == 0).count();
        let kept = self.places.iter().filter(|place| place.at != 0 && !place.live).count();
        self.memory.left().min(free).saturating_add(kept)
    }

    fn attach(&mut self, pool: u64, at: DevicePtr) -> Result<(), Refusal> {
        let index = self.room(pool).ok_or(Refusal::Exhausted)?;
        let frame = self.memory.take().ok_or(Refusal::Exhausted)?;
        self.memory.map(at, frame);
        *self.places.get_mut(index).ok_or(Refusal::Corrupt)? = Place { at: at.0, pool, frame, live: true };
        Ok(())
    }

    fn revive(&mut self, pool: u64, at: DevicePtr) {
        if let Some(place) = self.find_mut(at) {
            (place.live, place.pool) = (true, pool);
        }
    }

    fn keep(&mut self, _: u64, at: DevicePtr) -> Result<(), Refusal> {
        self.find_mut(at).ok_or(Refusal::Corrupt)?.live = false;
        Ok(())
    }
}
