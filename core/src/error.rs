//! Errors: one enum per verb, each variant with the numbers a caller needs. After any error the state is what it was.

use crate::driver::DriverError;
use crate::id::{AllocId, EventId, PoolId, StreamId};
use crate::policy::Attribute;
use crate::units::{Bytes, DevicePtr, Seq};

/// A point in the order: everything on `stream` up to and with `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Point {
    /// The stream.
    pub stream: StreamId,
    /// The position on it.
    pub seq: Seq,
}

/// An id that names nothing live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "compact", repr(u32))]
pub enum BadId {
    /// No stream ever had this id.
    UnknownStream(StreamId),
    /// The stream was destroyed.
    StaleStream(StreamId),
    /// No event ever had this id.
    UnknownEvent(EventId),
    /// The event was destroyed.
    StaleEvent(EventId),
    /// No pool ever had this id.
    UnknownPool(PoolId),
    /// The pool was destroyed.
    StalePool(PoolId),
}

/// A fixed arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Arena {
    /// Streams, the destroyed ones with unfinished work among them.
    Streams = 0,
    /// Events.
    Events = 1,
    /// Pools.
    Pools = 2,
    /// Blocks: live, free and holes together.
    Blocks = 3,
    /// Granules.
    Granules = 4,
    /// Labels.
    Labels = 5,
    /// Devices.
    Devices = 6,
}

impl Arena {
    /// Every arena, in the order of the numbers.
    pub const ALL: [Self; 7] =
        [Self::Streams, Self::Events, Self::Pools, Self::Blocks, Self::Granules, Self::Labels, Self::Devices];
}

/// An arena has no slot left; a larger storage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ArenaFull {
    /// Which arena.
    pub arena: Arena,
    /// How many slots it has.
    pub capacity: usize,
}

/// A bookkeeping structure contradicted itself; the runtime refuses further calls. Names the place that noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Corrupt(pub &'static str);

/// Why any call may be refused before it does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Unusable {
    /// The lock is taken (`try_` forms only). Try again later.
    Busy,
    /// See [`Corrupt`].
    Corrupt(Corrupt),
}

/// Pending bytes on one stream: freed, but not yet known to be complete for the stream that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PendingOn {
    /// The stream whose work holds them. Synchronising it up to `until`, or an event recorded there after that
    /// position and waited for, releases them.
    pub stream: StreamId,
    /// The last position that they wait for.
    pub until: Seq,
    /// How many bytes.
    pub bytes: Bytes,
}

/// The whole picture of a refused allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OutOfMemory {
    /// Bytes that were asked for, rounded up.
    pub requested: Bytes,
    /// Bytes in live blocks.
    pub used: Bytes,
    /// Mapped physical bytes.
    pub reserved: Bytes,
    /// The pool's limit.
    pub limit: Bytes,
    /// The largest free block that the stream may use.
    pub largest_usable: Bytes,
    /// Bytes of whole free granules whose work is not known to be complete: once it is, they can be moved to where they
    /// are needed. Synchronising the device makes them so.
    pub unsettled: Bytes,
    /// What the driver said, where the device was full before the limit was reached.
    pub device_full: Option<DriverError>,
    /// Freed bytes that the stream may not use yet, on all streams.
    pub pending: Bytes,
    /// The four streams with most of them, most first. [`pending`](crate::Runtime::pending) lists all.
    pub pending_on: [Option<PendingOn>; 4],
}

impl OutOfMemory {
    /// Nothing is known.
    pub(crate) const NOTHING: Self = Self {
        requested: Bytes::ZERO,
        used: Bytes::ZERO,
        reserved: Bytes::ZERO,
        limit: Bytes::ZERO,
        largest_usable: Bytes::ZERO,
        unsettled: Bytes::ZERO,
        device_full: None,
        pending: Bytes::ZERO,
        pending_on: [None; 4],
    };
}

/// `malloc_async` was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MallocError {
    /// Zero bytes were asked for.
    ZeroSize,
    /// More was asked for than the pool may ever hold.
    AboveLimit {
        /// Bytes that were asked for.
        requested: Bytes,
        /// The pool's limit.
        limit: Bytes,
    },
    /// Rounding the size up overflows 64 bits.
    Overflow {
        /// Bytes that were asked for.
        requested: Bytes,
    },
    /// The pool's address range has no hole that is long enough, although the limit allows more memory.
    NoAddressRange {
        /// Bytes that were asked for, rounded up.
        requested: Bytes,
        /// Bytes of addresses that the pool reserved.
        range: Bytes,
    },
    /// Stream and pool are on different devices.
    OtherDevice {
        /// The stream.
        stream: StreamId,
        /// The pool.
        pool: PoolId,
    },
    /// The stream is being captured: no allocation without the vendor's own call.
    Capturing(StreamId),
    /// Nothing on the ladder helped.
    OutOfMemory(OutOfMemory),
    /// An id names nothing live.
    BadId(BadId),
    /// An arena has no slot left.
    ArenaFull(ArenaFull),
    /// The driver failed; what was begun was undone.
    Driver(DriverError),
    /// The call could not begin.
    Unusable(Unusable),
}

/// A pointer that is not the start of a live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "compact", repr(u32))]
pub enum BadPointer {
    /// Outside every pool of the runtime.
    Unknown(DevicePtr),
    /// Inside a live block, not at its start.
    Interior {
        /// The pointer.
        ptr: DevicePtr,
        /// The start of the live block around it.
        start: DevicePtr,
        /// Its size.
        size: Bytes,
        /// Its id.
        id: AllocId,
    },
    /// A live block of another pool than the one that was named.
    OtherPool {
        /// The pointer.
        ptr: DevicePtr,
        /// The pool it belongs to.
        pool: PoolId,
    },
    /// The block was freed before and its bytes are free: the first free, or the free that covers them by now.
    AlreadyFree {
        /// The pointer.
        ptr: DevicePtr,
        /// The earlier free; `None` where its work is long complete and its point was dropped.
        freed_at: Option<Point>,
        /// The allocation that was freed first; `None` where the bytes have merged with others since.
        id: Option<AllocId>,
    },
    /// Inside a pool's range, where no memory is mapped (never allocated, or freed and released since).
    Unmapped {
        /// The pointer.
        ptr: DevicePtr,
        /// The pool whose range it is in.
        pool: PoolId,
    },
}

/// `free_async` was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FreeError {
    /// Not the start of a live block.
    BadPointer(BadPointer),
    /// The stream is being captured.
    Capturing(StreamId),
    /// An id names nothing live.
    BadId(BadId),
    /// The call could not begin.
    Unusable(Unusable),
}

/// `record_use` was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum UseError {
    /// Not the start of a live block.
    BadPointer(BadPointer),
    /// An id names nothing live.
    BadId(BadId),
    /// The call could not begin.
    Unusable(Unusable),
}

/// A call on streams or events (create, destroy, record, wait, query, synchronise) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OrderError {
    /// An id names nothing live.
    BadId(BadId),
    /// An arena has no slot left.
    ArenaFull(ArenaFull),
    /// The driver failed; nothing was learnt.
    Driver(DriverError),
    /// The stream exists already (same key).
    StreamExists(StreamId),
    /// The call could not begin.
    Unusable(Unusable),
}

/// A call on pools (create, destroy, attributes, trim) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PoolError {
    /// An id names nothing live.
    BadId(BadId),
    /// An arena has no slot left.
    ArenaFull(ArenaFull),
    /// The limit is larger than the device.
    LimitAboveDevice {
        /// The limit that was asked for, rounded up.
        limit: Bytes,
        /// The device's total.
        total: Bytes,
    },
    /// Rounding the limit up overflows 64 bits.
    Overflow {
        /// The limit that was asked for.
        limit: Bytes,
    },
    /// The driver's granularity or alignment is not a power of two, alignment does not divide granularity, or the total
    /// is less than a granule or more than half of all addresses.
    BadProperties {
        /// Granularity as the driver states it.
        granularity: Bytes,
        /// Alignment as the driver states it.
        alignment: Bytes,
        /// Total as the driver states it.
        total: Bytes,
    },
    /// The driver reserved a range that is not aligned to the granularity, wraps, or meets another pool's.
    BadRange {
        /// Where it begins.
        base: DevicePtr,
        /// Its size.
        bytes: Bytes,
    },
    /// Live blocks were left.
    LiveBlocks {
        /// How many.
        count: u64,
        /// Their bytes.
        bytes: Bytes,
    },
    /// The attribute is read only.
    ReadOnly(Attribute),
    /// A high mark can only be reset: set to 0.
    OnlyReset {
        /// The attribute.
        attribute: Attribute,
        /// The value that was given.
        value: u64,
    },
    /// The driver failed; what was begun was undone.
    Driver(DriverError),
    /// The call could not begin.
    Unusable(Unusable),
}

/// A label or mark was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LabelError {
    /// The table of names is full.
    ArenaFull(ArenaFull),
    /// The name is longer than [`MAX_NAME`](crate::trace::MAX_NAME) bytes.
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The call could not begin.
    Unusable(Unusable),
}

macro_rules! from {
    ($($inner:ident => $($outer:ident)+;)+) => {
        $($(
            impl From<$inner> for $outer {
                fn from(inner: $inner) -> Self {
                    Self::$inner(inner)
                }
            }
        )+)+
    };
}
from! {
    BadId => MallocError FreeError UseError OrderError PoolError;
    ArenaFull => MallocError OrderError PoolError LabelError;
    Unusable => MallocError FreeError UseError OrderError PoolError LabelError;
    BadPointer => FreeError UseError;
}

macro_rules! from_driver {
    ($($outer:ident)+) => {
        $(impl From<DriverError> for $outer {
            fn from(error: DriverError) -> Self {
                Self::Driver(error)
            }
        })+
    };
}
from_driver!(MallocError OrderError PoolError);

macro_rules! from_corrupt {
    ($($outer:ident)+) => {
        $(impl From<Corrupt> for $outer {
            fn from(corrupt: Corrupt) -> Self {
                Self::Unusable(Unusable::Corrupt(corrupt))
            }
        })+
    };
}
from_corrupt!(MallocError FreeError UseError OrderError PoolError LabelError);
