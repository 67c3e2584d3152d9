//! The books of one device: which granules exist, where they are mapped, and which bytes running kernels use.
//!
//! Nothing here makes a system call. A change that needs one is begun (the place is *moving*, of use to nobody), made
//! without the lock, and ended with what came out.

use super::arguments::{Access, KernelArg};
use super::fault::Fault;
use super::mappings;
use super::memory::Reservation;
use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use weir::driver::{GranuleHandle, NativeStream};
use weir::units::{Bytes, DevicePtr};

/// A place where nothing is mapped.
const EMPTY: u32 = 0;
/// A place that is being mapped or unmapped.
const MOVING: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Vacant,
    Created,
    Moving,
    Mapped,
}

#[derive(Clone, Copy, Debug)]
struct Granule {
    generation: u32,
    state: State,
}

#[derive(Debug)]
struct Range {
    reservation: Arc<Reservation>,
    /// Per place: [`EMPTY`], [`MOVING`], or the index of the granule there plus one.
    places: Vec<u32>,
    /// Places that are not empty.
    taken: usize,
}

impl Range {
    fn put(&mut self, place: usize, value: u32) {
        let before = self.edges(place);
        let Some(target) = self.places.get_mut(place) else {
            return;
        };
        let old = core::mem::replace(target, value);
        self.taken = self.taken + usize::from(value != EMPTY) - usize::from(old != EMPTY);
        mappings::change(self.edges(place) - before);
    }

    /// How many of the two edges of a place divide mappings.
    fn edges(&self, place: usize) -> i64 {
        let at = |i: Option<usize>| i.and_then(|i| self.places.get(i)).copied();
        let (left, here, right) = (at(place.checked_sub(1)), at(Some(place)), at(place.checked_add(1)));
        i64::from(divides(left, here)) + i64::from(divides(here, right))
    }
}

/// Whether the system keeps two mappings for two neighbouring places: it makes one of what is empty, and of granules
/// that are neighbours in the file too.
fn divides(left: Option<u32>, right: Option<u32>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    let one = if left == EMPTY || left == MOVING { right == left } else { right == left + 1 };
    !one
}

impl Drop for Space {
    fn drop(&mut self) {
        for range in self.ranges.values() {
            let inner = range.places.windows(2).filter(|w| divides(w.first().copied(), w.get(1).copied()));
            mappings::change(-1 - i64::try_from(inner.count()).unwrap_or(0));
        }
    }
}

/// Bytes that a running kernel uses.
#[derive(Clone, Copy, Debug)]
struct Use {
    launch: u64,
    stream: NativeStream,
    access: Access,
    start: u64,
    end: u64,
}

/// One place about to be mapped or unmapped.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) reservation: Arc<Reservation>,
    pub(super) offset: u64,
    pub(super) granule: u32,
    base: u64,
}

/// Why an unmap cannot begin.
#[derive(Debug)]
pub(super) enum UnmapRefused {
    /// Nothing is mapped at the address, or it is no start of a place.
    NotMapped,
    /// A kernel of this stream uses it.
    InUse(NativeStream),
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Space {
    granularity: u64,
    capacity: u32,
    granules: Vec<Granule>,
    /// Destroyed granules; the lowest comes first, so that neighbours in the file stay neighbours in addresses and
    /// the system can merge their mappings.
    vacant: BinaryHeap<Reverse<u32>>,
    ranges: BTreeMap<u64, Range>,
    running: Vec<Use>,
}

impl Space {
    pub(super) fn new(granularity: u64, capacity: u32) -> Self {
        Self {
            granularity,
            capacity,
            granules: Vec::new(),
            vacant: BinaryHeap::new(),
            ranges: BTreeMap::new(),
            running: Vec::new(),
        }
    }

    pub(super) fn add_range(&mut self, reservation: Reservation) {
        let places = reservation.bytes() / self.granularity;
        let range = Range {
            places: vec![EMPTY; usize::try_from(places).unwrap_or(0)],
            taken: 0,
            reservation: Arc::new(reservation),
        };
        mappings::change(1);
        self.ranges.insert(range.reservation.base(), range);
    }

    /// Takes a range out; its addresses go back when the answer is dropped. `None`: no such range, or something is
    /// mapped in it.
    pub(super) fn take_range(&mut self, base: u64, bytes: u64) -> Option<Arc<Reservation>> {
        let range = self.ranges.get(&base)?;
        if range.taken > 0 || range.reservation.bytes() != bytes {
            return None;
        }
        mappings::change(-1);
        Some(self.ranges.remove(&base)?.reservation)
    }

    /// A new granule, or `None` where the device is full.
    pub(super) fn create(&mut self) -> Option<GranuleHandle> {
        let index = match self.vacant.pop() {
            Some(Reverse(index)) => index,
            None => {
                let index = u32::try_from(self.granules.len()).ok()?;
                if index >= self.capacity {
                    return None;
                }
                self.granules.push(Granule { generation: 0, state: State::Vacant });
                index
            }
        };
        let granule = self.granules.get_mut(index as usize)?;
        granule.generation = granule.generation.wrapping_add(1);
        granule.state = State::Created;
        Some(GranuleHandle((u64::from(granule.generation) << 32) | (u64::from(index) + 1)))
    }

    /// The index of a granule that exists and is not mapped. It is moving from now on.
    fn begin(&mut self, handle: GranuleHandle) -> Option<u32> {
        let index = u32::try_from(handle.0 & 0xffff_ffff).ok()?.checked_sub(1)?;
        let granule = self.granules.get_mut(index as usize)?;
        if u64::from(granule.generation) != handle.0 >> 32 || granule.state != State::Created {
            return None;
        }
        granule.state = State::Moving;
        Some(index)
    }

    fn set_state(&mut self, index: u32, state: State) {
        if let Some(granule) = self.granules.get_mut(index as usize) {
            granule.state = state;
        }
    }

    pub(super) fn begin_destroy(&mut self, handle: GranuleHandle) -> Option<u32> {
        self.begin(handle)
    }

    pub(super) fn destroyed(&mut self, index: u32) {
        self.set_state(index, State::Vacant);
        self.vacant.push(Reverse(index));
    }

    pub(super) fn not_destroyed(&mut self, index: u32) {
        self.set_state(index, State::Created);
    }

    /// The range around an address and the number of the place there.
    fn place(&self, at: u64) -> Option<(u64, usize)> {
        let (base, range) = self.ranges.range(..=at).next_back()?;
        let place = usize::try_from((at - base) / self.granularity).ok()?;
        (place < range.places.len()).then_some((*base, place))
    }

    fn put(&mut self, base: u64, offset: u64, value: u32) {
        let place = usize::try_from(offset / self.granularity).unwrap_or(usize::MAX);
        if let Some(range) = self.ranges.get_mut(&base) {
            range.put(place, value);
        }
    }

    fn move_of(&self, at: u64, expect_empty: Expect) -> Option<(Move, u32)> {
        let (base, place) = self.place(at)?;
        let range = self.ranges.get(&base)?;
        let value = *range.places.get(place)?;
        let fits = match expect_empty {
            Expect::Empty => value == EMPTY,
            Expect::Mapped => value != EMPTY && value != MOVING,
        };
        if !fits || !(at - base).is_multiple_of(self.granularity) {
            return None;
        }
        let step = Move { reservation: Arc::clone(&range.reservation), offset: at - base, granule: 0, base };
        Some((step, value))
    }

    /// Begins to map a granule. `None`: the address is no free place of a range, or the handle no unmapped granule.
    pub(super) fn begin_map(&mut self, at: DevicePtr, handle: GranuleHandle) -> Option<Move> {
        let (step, _) = self.move_of(at.0, Expect::Empty)?;
        let granule = self.begin(handle)?;
        self.put(step.base, step.offset, MOVING);
        Some(Move { granule, ..step })
    }

    pub(super) fn begin_unmap(&mut self, at: DevicePtr) -> Result<Move, UnmapRefused> {
        let (step, value) = self.move_of(at.0, Expect::Mapped).ok_or(UnmapRefused::NotMapped)?;
        let end = at.0 + self.granularity;
        if let Some(user) = self.running.iter().find(|u| u.start < end && at.0 < u.end) {
            return Err(UnmapRefused::InUse(user.stream));
        }
        let granule = value - 1;
        self.put(step.base, step.offset, MOVING);
        self.set_state(granule, State::Moving);
        Ok(Move { granule, ..step })
    }

    /// Ends a map that succeeded or an unmap that did not.
    pub(super) fn mapped(&mut self, step: &Move) {
        self.put(step.base, step.offset, step.granule + 1);
        self.set_state(step.granule, State::Mapped);
    }

    /// Ends an unmap that succeeded or a map that did not.
    pub(super) fn not_mapped(&mut self, step: &Move) {
        self.put(step.base, step.offset, EMPTY);
        self.set_state(step.granule, State::Created);
    }

    /// Checks that all bytes of all arguments are there, apart from each other and in nobody's way, and notes that they
    /// are in use until [`unpin`](Self::unpin). What the same launch pinned by an earlier call may overlap.
    pub(super) fn pin(&mut self, launch: u64, stream: NativeStream, args: &[KernelArg]) -> Result<(), Fault> {
        let before = self.running.len();
        for arg in args {
            match self.check(launch, stream, *arg, before) {
                Ok(Some(entry)) => self.running.push(entry),
                Ok(None) => {}
                Err(fault) => {
                    self.running.truncate(before);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// The entry to note for `arg`, none where an earlier one covers it. Entries from number `first` on belong to the
    /// same call.
    fn check(&self, launch: u64, stream: NativeStream, arg: KernelArg, first: usize) -> Result<Option<Use>, Fault> {
        let start = arg.ptr.0;
        if arg.bytes.0 == 0 {
            return Ok(None);
        }
        let end = self.check_mapped(stream, arg)?;
        let entry = Use { launch, stream, access: arg.access, start, end };
        let mut others = self.running.iter().enumerate();
        match others.find(|(i, other)| (other.launch != launch || *i >= first) && entry.clashes(other)) {
            Some((_, other)) => Err(entry.clash(other)),
            None if self.running.iter().any(|other| other.covers(&entry)) => Ok(None),
            None => Ok(Some(entry)),
        }
    }

    /// Checks that memory is mapped under all bytes of a run; answers where it ends.
    fn check_mapped(&self, stream: NativeStream, arg: KernelArg) -> Result<u64, Fault> {
        let KernelArg { ptr, bytes, .. } = arg;
        let found = self.place(ptr.0).and_then(|(base, first)| Some((base, first, self.ranges.get(&base)?)));
        let (base, first, range) = found.ok_or(Fault::NotReserved { stream, ptr })?;
        let range_end = base + range.reservation.bytes();
        let end = ptr.0.checked_add(bytes.0).filter(|end| *end <= range_end);
        let end = end.ok_or(Fault::TooLong { stream, ptr, bytes, end: DevicePtr(range_end) })?;
        let last = usize::try_from((end - 1 - base) / self.granularity).unwrap_or(usize::MAX);
        let bad = (first..=last).find(|i| range.places.get(*i).is_none_or(|v| *v == EMPTY || *v == MOVING));
        match bad {
            None => Ok(end),
            Some(place) => {
                let ptr = DevicePtr(ptr.0.max(base + place as u64 * self.granularity));
                Err(Fault::NotMapped { stream, ptr })
            }
        }
    }

    /// The launch uses nothing any more.
    pub(super) fn unpin(&mut self, launch: u64) {
        self.running.retain(|entry| entry.launch != launch);
    }

    /// Bytes in granules that exist.
    pub(super) fn created(&self) -> Bytes {
        Bytes((self.granules.len() - self.vacant.len()) as u64 * self.granularity)
    }
}

#[derive(Clone, Copy, Debug)]
enum Expect {
    Empty,
    Mapped,
}

impl Use {
    fn clashes(&self, other: &Self) -> bool {
        let written = self.access == Access::Write || other.access == Access::Write;
        written && self.start < other.end && other.start < self.end
    }

    fn covers(&self, other: &Self) -> bool {
        let enough = self.access == Access::Write || other.access == Access::Read;
        self.launch == other.launch && enough && self.start <= other.start && other.end <= self.end
    }

    fn clash(&self, other: &Self) -> Fault {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        let (stream, ptr) = (self.stream, DevicePtr(start));
        if self.launch == other.launch {
            return Fault::Aliased { stream, ptr };
        }
        Fault::Race { stream, running: other.stream, ptr, bytes: Bytes(end - start) }
    }
}
