//! The arenas that a simulation runs in, and the storage that holds them.

use super::queue::OpKind;
use super::violation::SimError;
use crate::policy::StreamKind;

/// A place in an arena, or none. All zero bits are "none", so that untouched storage stays in `.bss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn to(index: usize) -> Self {
        Self(u32::try_from(index).map_or(0, |i| i.wrapping_add(1)))
    }

    pub(super) fn index(self) -> Option<usize> {
        self.0.checked_sub(1).map(|i| i as usize)
    }
}

/// An element that can stand in a free list.
pub(super) trait Linked: Copy {
    const EMPTY: Self;
    fn next(&self) -> Link;
    fn set_next(&mut self, next: Link);
}

/// A lent slice with a free list. Elements never used are not in the list, so nothing is linked at the start.
pub(super) struct Arena<'a, T> {
    items: &'a mut [T],
    fresh: usize,
    free: Link,
    used: usize,
}

impl<'a, T: Linked> Arena<'a, T> {
    pub(super) fn new(items: &'a mut [T]) -> Self {
        items.fill(T::EMPTY);
        Self { items, fresh: 0, free: Link::NONE, used: 0 }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// How many elements were ever in use: all behind are untouched.
    pub(super) fn touched(&self) -> usize {
        self.fresh
    }

    pub(super) fn is_full(&self) -> bool {
        self.used >= self.items.len()
    }

    /// Takes an element; its old content is left in it, apart from the link. `None`: none is left.
    pub(super) fn take(&mut self) -> Option<Link> {
        let link = if self.free == Link::NONE {
            self.items.get(self.fresh)?;
            self.fresh += 1;
            Link::to(self.fresh - 1)
        } else {
            self.free
        };
        let item = self.items.get_mut(link.index()?)?;
        if self.free != Link::NONE {
            self.free = item.next();
        }
        item.set_next(Link::NONE);
        self.used += 1;
        Some(link)
    }

    /// Gives an element back.
    pub(super) fn give(&mut self, link: Link) -> Result<(), SimError> {
        let free = self.free;
        self.at_mut(link)?.set_next(free);
        self.free = link;
        self.used = self.used.saturating_sub(1);
        Ok(())
    }

    pub(super) fn at(&self, link: Link) -> Result<&T, SimError> {
        let item = link.index().and_then(|i| self.items.get(i));
        item.ok_or(SimError::Corrupt("a link leads nowhere"))
    }

    pub(super) fn at_mut(&mut self, link: Link) -> Result<&mut T, SimError> {
        let item = link.index().and_then(|i| self.items.get_mut(i));
        item.ok_or(SimError::Corrupt("a link leads nowhere"))
    }
}

macro_rules! linked {
    ($($item:ident)+) => {
        $(impl Linked for $item {
            const EMPTY: Self = $item::EMPTY;
            fn next(&self) -> Link {
                self.next
            }
            fn set_next(&mut self, next: Link) {
                self.next = next;
            }
        })+
    };
}
linked!(SimGranule SimOp SimPiece);

/// A device of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimDevice {
    pub(super) granularity: u64,
    pub(super) alignment: u64,
    pub(super) total: u64,
    pub(super) addresses: u64,
    pub(super) capabilities: u32,
    /// Bytes of granules that exist.
    pub(super) created: u64,
    /// Bytes of granules that are mapped.
    pub(super) mapped: u64,
}

impl SimDevice {
    /// No device.
    pub const EMPTY: Self =
        Self { granularity: 0, alignment: 0, total: 0, addresses: 0, capabilities: 0, created: 0, mapped: 0 };
}

/// A reserved range of addresses.
#[derive(Clone, Copy, Debug)]
pub struct SimRange {
    pub(super) base: u64,
    pub(super) bytes: u64,
    pub(super) mapped: u64,
    pub(super) device: u32,
}

impl SimRange {
    /// No range.
    pub const EMPTY: Self = Self { base: 0, bytes: 0, mapped: 0, device: 0 };
}

/// An operation by its number and the place of its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// 0: none.
    pub(super) issue: u64,
    pub(super) slot: u32,
}

impl Stamp {
    pub(super) const NONE: Self = Self { issue: 0, slot: 0 };
}

/// An entry of the table of mappings.
#[derive(Clone, Copy, Debug)]
pub struct SimPage {
    /// Its address; 0: free.
    pub(super) at: u64,
    /// The last map or unmap here that was made in the order of a stream.
    pub(super) last: Stamp,
    /// The granule that is here when everything queued has run: what calls are checked against.
    pub(super) planned: Link,
    /// The granule that the device has here now: what accesses that run find.
    pub(super) actual: Link,
}

impl SimPage {
    /// No mapping.
    pub const EMPTY: Self = Self { at: 0, last: Stamp::NONE, planned: Link::NONE, actual: Link::NONE };
}

/// A piece of physical memory.
#[derive(Clone, Copy, Debug)]
pub struct SimGranule {
    /// Where it is mapped; 0: nowhere.
    pub(super) at: u64,
    /// Where it was mapped last.
    pub(super) was: u64,
    /// The last map or unmap of it that was made in the order of a stream.
    pub(super) last: Stamp,
    /// Counts the tenants of this place, so that an old handle is noticed.
    pub(super) generation: u32,
    pub(super) device: u32,
    /// Queued accesses that have not run.
    pub(super) pending: u32,
    /// Accesses that later ones must be ordered after.
    pub(super) history: Link,
    /// Tags that stand in its bytes.
    pub(super) tags: Link,
    pub(super) exists: bool,
    /// A tag had no room: what is missing proves nothing any more.
    pub(super) lossy: bool,
    pub(super) next: Link,
}

impl SimGranule {
    /// No granule.
    pub const EMPTY: Self = Self {
        at: 0,
        was: 0,
        last: Stamp::NONE,
        generation: 0,
        device: 0,
        pending: 0,
        history: Link::NONE,
        tags: Link::NONE,
        exists: false,
        lossy: false,
        next: Link::NONE,
    };
}

/// A queue of work. The places of this arena are identities within the simulation; handles are given out apart.
#[derive(Clone, Copy, Debug)]
pub struct SimStream {
    /// The last operation that ran, over all tenants of this place.
    pub(super) done: u64,
    /// The last operation that was queued.
    pub(super) last: u64,
    /// Scratch: operations up to this one should run.
    pub(super) need: u64,
    /// Scratch: a word of a clock while an access is checked.
    pub(super) saved: u64,
    /// The state of the host's knowledge that its clock has taken in.
    pub(super) host_version: u64,
    pub(super) head: Link,
    pub(super) tail: Link,
    pub(super) device: u32,
    pub(super) handle: u32,
    /// Which place the handle with *this* place's number stands for.
    pub(super) tenant: Link,
    pub(super) kind: StreamKind,
    pub(super) exists: bool,
    pub(super) paused: bool,
}

impl SimStream {
    /// No stream.
    pub const EMPTY: Self = Self {
        done: 0,
        last: 0,
        need: 0,
        saved: 0,
        host_version: 0,
        head: Link::NONE,
        tail: Link::NONE,
        device: 0,
        handle: 0,
        tenant: Link::NONE,
        kind: StreamKind::NonBlocking,
        exists: false,
        paused: false,
    };
}

/// What a marker slot stands for.
#[derive(Clone, Copy, Debug)]
pub struct SimMarker {
    /// The operation that laid it last; 0: none.
    pub(super) issue: u64,
    /// The place of the stream on which it did.
    pub(super) slot: u32,
}

impl SimMarker {
    /// Never laid.
    pub const EMPTY: Self = Self { issue: 0, slot: 0 };
}

/// A queued operation.
#[derive(Clone, Copy, Debug)]
pub struct SimOp {
    pub(super) issue: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// The tag, the cost, or the operation that is waited for.
    pub(super) word: u64,
    /// The place of the stream that is waited for.
    pub(super) slot: u32,
    /// The granule that is mapped or unmapped.
    pub(super) granule: Link,
    pub(super) kind: OpKind,
    pub(super) next: Link,
}

impl SimOp {
    /// No operation.
    pub const EMPTY: Self =
        Self { issue: 0, at: 0, bytes: 0, word: 0, slot: 0, granule: Link::NONE, kind: OpKind::Work, next: Link::NONE };
}

/// Part of a granule's bytes: an access that is remembered, or a tag that stands there.
#[derive(Clone, Copy, Debug)]
pub struct SimPiece {
    /// The number of the access, or the tag.
    pub(super) word: u64,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) slot: u32,
    pub(super) write: bool,
    pub(super) next: Link,
}

impl SimPiece {
    /// Nothing.
    pub const EMPTY: Self = Self { word: 0, from: 0, to: 0, slot: 0, write: false, next: Link::NONE };
}

/// The slices that a [`Sim`](super::Sim) runs in. Any length is accepted; what is too short is reported by name when
/// it fills. The content on entry does not matter.
#[derive(Debug)]
pub struct SimArenas<'a> {
    /// One for each device.
    pub devices: &'a mut [SimDevice],
    /// One for each reserved range.
    pub ranges: &'a mut [SimRange],
    /// The table of mappings; twice the number of granules keeps it fast. An address that was unmapped in the order of
    /// a stream needs its entry until the host knows that to be complete.
    pub pages: &'a mut [SimPage],
    /// One for each granule that exists at one time.
    pub granules: &'a mut [SimGranule],
    /// One for each stream.
    pub streams: &'a mut [SimStream],
    /// One for each marker slot.
    pub markers: &'a mut [SimMarker],
    /// What the host knows: one word for each stream.
    pub host_clock: &'a mut [u64],
    /// What each stream is ordered after: the square of the number of streams.
    pub stream_clocks: &'a mut [u64],
    /// What each marker is ordered after: the number of streams for each marker.
    pub marker_clocks: &'a mut [u64],
    /// One for each operation that is queued and has not run. When they run out, the oldest operation runs.
    pub ops: &'a mut [SimOp],
    /// Remembered accesses and tags: a few for each live block and granule.
    pub pieces: &'a mut [SimPiece],
}

/// Storage for a simulation whose sizes are known when it is compiled. All zero at the start: a `static` of it costs
/// no room in the image.
#[derive(Debug)]
pub struct SimStorage<
    const DEVICES: usize,
    const RANGES: usize,
    const GRANULES: usize,
    const STREAMS: usize,
    const MARKERS: usize,
    const OPS: usize,
    const PIECES: usize,
> {
    devices: [SimDevice; DEVICES],
    ranges: [SimRange; RANGES],
    pages: [[SimPage; 2]; GRANULES],
    granules: [SimGranule; GRANULES],
    streams: [SimStream; STREAMS],
    markers: [SimMarker; MARKERS],
    host_clock: [u64; STREAMS],
    stream_clocks: [[u64; STREAMS]; STREAMS],
    marker_clocks: [[u64; STREAMS]; MARKERS],
    ops: [SimOp; OPS],
    pieces: [SimPiece; PIECES],
}

impl<
    const DEVICES: usize,
    const RANGES: usize,
    const GRANULES: usize,
    const STREAMS: usize,
    const MARKERS: usize,
    const OPS: usize,
    const PIECES: usize,
> SimStorage<DEVICES, RANGES, GRANULES, STREAMS, MARKERS, OPS, PIECES>
{
    /// Empty storage.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            devices: [SimDevice::EMPTY; DEVICES],
            ranges: [SimRange::EMPTY; RANGES],
            pages: [[SimPage::EMPTY; 2]; GRANULES],
            granules: [SimGranule::EMPTY; GRANULES],
            streams: [SimStream::EMPTY; STREAMS],
            markers: [SimMarker::EMPTY; MARKERS],
            host_clock: [0; STREAMS],
            stream_clocks: [[0; STREAMS]; STREAMS],
            marker_clocks: [[0; STREAMS]; MARKERS],
            ops: [SimOp::EMPTY; OPS],
            pieces: [SimPiece::EMPTY; PIECES],
        }
    }

    /// Lends it.
    pub fn arenas(&mut self) -> SimArenas<'_> {
        SimArenas {
            devices: &mut self.devices,
            ranges: &mut self.ranges,
            pages: self.pages.as_flattened_mut(),
            granules: &mut self.granules,
            streams: &mut self.streams,
            markers: &mut self.markers,
            host_clock: &mut self.host_clock,
            stream_clocks: self.stream_clocks.as_flattened_mut(),
            marker_clocks: self.marker_clocks.as_flattened_mut(),
            ops: &mut self.ops,
            pieces: &mut self.pieces,
        }
    }
}

impl<
    const DEVICES: usize,
    const RANGES: usize,
    const GRANULES: usize,
    const STREAMS: usize,
    const MARKERS: usize,
    const OPS: usize,
    const PIECES: usize,
> Default for SimStorage<DEVICES, RANGES, GRANULES, STREAMS, MARKERS, OPS, PIECES>
{
    fn default() -> Self {
        Self::new()
    }
}
