//! The records of the log: one per state change, refusals included.
//!
//! A record's variable parts (names) borrow from the page or line that it was read from.

use crate::driver::{DriverError, Properties};
use crate::error::{Arena, Point};
use crate::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use crate::policy::{Attribute, Capture, PoolConfig, StreamKind, Tuning, UseUntil};
use crate::units::{Bytes, DevicePtr, Nanos, Seq};

/// A record with its place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stamped<'a> {
    /// Counts the log's records from 0, lost ones included. Definitions that a page repeats take no number of their
    /// own: they carry that of the record that they precede.
    pub number: u64,
    /// The driver's clock.
    pub time: Nanos,
    /// What happened.
    pub record: Record<'a>,
}

/// The costliest thing a malloc had to rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Source {
    /// Every point is the asking stream's own.
    SameStream = 0,
    /// Every point was known to be complete.
    Settled = 1,
    /// Ordered along the program's events.
    Event = 2,
    /// The driver, asked now, said that it is complete.
    Opportunistic = 3,
    /// A wait was inserted.
    Internal = 4,
    /// New granules were mapped.
    Grow = 5,
}

impl Source {
    /// All kinds in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::SameStream, Self::Settled, Self::Event, Self::Opportunistic, Self::Internal, Self::Grow];
}

/// Why granules were mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum MapReason {
    /// Created for a malloc.
    Grow = 0,
    /// Unmapped elsewhere in the pool and mapped here.
    Remap = 1,
    /// Created for a malloc although a free one could be moved: the pool had moved some again and again.
    Spare = 2,
}

/// Why granules were unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum UnmapReason {
    /// A synchronisation found more reserved than the threshold.
    Threshold = 0,
    /// An explicit trim.
    Trim = 1,
    /// Needed at another address of the pool.
    Remap = 2,
    /// The pool is being destroyed.
    Destroy = 3,
    /// A growth failed half way and was undone.
    Undo = 4,
}

/// A verb of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Verb {
    /// `malloc_async`.
    Malloc = 0,
    /// `free_async`.
    Free = 1,
    /// `record_use`.
    Use = 2,
    /// `record`.
    Record = 3,
    /// `wait`.
    Wait = 4,
    /// `query`.
    Query = 5,
    /// Any synchronisation.
    Synchronize = 6,
    /// `create_stream`.
    CreateStream = 7,
    /// `destroy_stream`.
    DestroyStream = 8,
    /// `create_event`.
    CreateEvent = 9,
    /// `destroy_event`.
    DestroyEvent = 10,
    /// `create_pool`.
    CreatePool = 11,
    /// `destroy_pool`.
    DestroyPool = 12,
    /// `set_attribute` and `attribute`.
    Attribute = 13,
    /// `trim_to`.
    Trim = 14,
    /// `label` and `mark`.
    Label = 15,
    /// `reset_event`.
    ResetEvent = 16,
    /// `set_capture`.
    SetCapture = 17,
}

/// Why a call was refused, with the numbers that its error carries. [`Record::OutOfMemory`] stands apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "compact", repr(u32))]
pub enum Refusal {
    /// Zero bytes asked for.
    ZeroSize,
    /// More than the limit asked for.
    AboveLimit(Bytes),
    /// The size overflows when rounded.
    Overflow,
    /// No hole is long enough; the range's size.
    NoAddressRange(Bytes),
    /// Stream and pool on different devices.
    OtherDevice,
    /// The stream is being captured.
    Capturing,
    /// An id that never was.
    Unknown,
    /// An id of something destroyed.
    Stale,
    /// Not in any pool.
    BadPointer(DevicePtr),
    /// Inside the live block that starts at the second address.
    Interior(DevicePtr, DevicePtr),
    /// A live block of this other pool.
    OtherPool(DevicePtr, PoolId),
    /// Freed before, by the free at this point where it is still known.
    AlreadyFree(DevicePtr, Option<Point>),
    /// In a pool's range, nothing mapped there.
    Unmapped(DevicePtr),
    /// An arena is full; its capacity.
    ArenaFull(Arena, u64),
    /// A driver call failed.
    Driver(DriverError),
    /// Live blocks left: count and bytes.
    LiveBlocks(u64, Bytes),
    /// Mapped bytes left that could not be given back.
    StillHeld(Bytes),
    /// A read-only attribute, a value that is no reset, or properties or limits that make no sense; the value.
    BadValue(u64),
    /// Something of that key exists already.
    Exists,
}

/// Up to three points, and whether more were folded into an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Points {
    /// The points; `None` from the first unused place on.
    pub list: [Option<Point>; 3],
    /// The block had more users than fit: it also waited for the heads of all streams at this epoch (0: it did not).
    pub epoch: u64,
}

impl Points {
    /// One point.
    pub(crate) const fn one(point: Point) -> Self {
        Self { list: [Some(point), None, None], epoch: 0 }
    }
}

/// One thing that happened.
// `u8`: else the kind would hide in the points of a malloc, and where one is made the compiler could not tell its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[allow(missing_docs, reason = "fields are named as in the calls that write them; units are in their types")]
pub enum Record<'a> {
    /// The log begins here.
    Begin {
        version: (u16, u16, u16),
        policy: u32,
        streams: u32,
        events: u32,
        markers: u32,
        pools: u32,
        blocks: u32,
        granules: u32,
    },
    /// Definition: a device.
    DeviceDef {
        device: DeviceId,
        properties: Properties,
    },
    /// Definition, repeated in each page that uses it: a stream.
    StreamDef {
        stream: StreamId,
        device: DeviceId,
        kind: StreamKind,
    },
    /// Definition: a pool with its current settings.
    PoolDef {
        pool: PoolId,
        base: DevicePtr,
        range: Bytes,
        config: PoolConfig,
    },
    /// Definition: a label's name.
    LabelDef {
        label: LabelId,
        name: &'a str,
    },
    PoolCreated {
        pool: PoolId,
    },
    /// `leaked`: bytes of blocks that were live.
    PoolDestroyed {
        pool: PoolId,
        leaked: Bytes,
    },
    StreamCreated {
        stream: StreamId,
    },
    StreamDestroyed {
        stream: StreamId,
    },
    EventCreated {
        event: EventId,
    },
    EventDestroyed {
        event: EventId,
    },
    AttributeSet {
        pool: PoolId,
        attribute: Attribute,
        value: u64,
    },
    /// `offset` counts from the pool's base. `points`: what the block's bytes had waited for.
    Malloc {
        pool: PoolId,
        stream: StreamId,
        seq: Seq,
        id: AllocId,
        asked: Bytes,
        given: Bytes,
        offset: Bytes,
        source: Source,
        label: LabelId,
        points: Points,
    },
    /// `given` is the size the malloc record states too.
    Free {
        pool: PoolId,
        stream: StreamId,
        seq: Seq,
        id: AllocId,
        offset: Bytes,
        given: Bytes,
    },
    Use {
        pool: PoolId,
        stream: StreamId,
        seq: Seq,
        id: AllocId,
        until: UseUntil,
    },
    /// `number`: counts the recordings of this event.
    Recorded {
        event: EventId,
        stream: StreamId,
        seq: Seq,
        number: u64,
    },
    /// `number`: the recording that the wait took; 0 where the event was never recorded.
    Waited {
        stream: StreamId,
        seq: Seq,
        event: EventId,
        number: u64,
    },
    /// The program's own query.
    Queried {
        event: EventId,
        number: u64,
        complete: bool,
    },
    /// A marker of weir's own; it covers everything on the stream up to `seq`.
    MarkerLaid {
        marker: u32,
        stream: StreamId,
        seq: Seq,
    },
    /// weir asked the driver whether the stream has passed `seq`.
    Asked {
        stream: StreamId,
        seq: Seq,
        complete: bool,
    },
    /// An inserted wait: `stream` waits for `on`.
    WaitInserted {
        stream: StreamId,
        seq: Seq,
        marker: u32,
        on: Point,
    },
    /// The host waited for everything on the stream up to `seq`.
    StreamSynchronized {
        stream: StreamId,
        seq: Seq,
    },
    EventSynchronized {
        event: EventId,
        number: u64,
    },
    DeviceSynchronized {
        device: DeviceId,
    },
    /// A malloc begins to grow: the call's number, where, and how many granules. Its outcome is a `Malloc` record of the
    /// same offset, or `GrowAborted`.
    GrowPlanned {
        pool: PoolId,
        stream: StreamId,
        call: u64,
        offset: Bytes,
        granules: u32,
    },
    GrowAborted {
        pool: PoolId,
        call: u64,
    },
    /// Mapped at once: it is there for every stream.
    Mapped {
        pool: PoolId,
        offset: Bytes,
        granules: u32,
        reason: MapReason,
    },
    /// Unmapped at once: all work on it is complete.
    Unmapped {
        pool: PoolId,
        offset: Bytes,
        granules: u32,
        reason: UnmapReason,
    },
    /// Granules that could not be taken back: still reserved, offered to nobody. What is behind it says whether they are
    /// mapped: with [`Undestroyed`](Record::Undestroyed) they are not.
    Quarantined {
        pool: PoolId,
        granules: u32,
    },
    /// `reached`: reserved bytes afterwards; what held the rest: live blocks, unfinished work, partly used granules.
    Trimmed {
        pool: PoolId,
        target: Bytes,
        reached: Bytes,
        live: Bytes,
        pending: Bytes,
        partial: Bytes,
    },
    OutOfMemory {
        pool: PoolId,
        stream: StreamId,
        requested: Bytes,
        used: Bytes,
        reserved: Bytes,
        limit: Bytes,
        largest_usable: Bytes,
        pending: Bytes,
    },
    /// `size`: what was asked for, where the verb has a size.
    Refused {
        verb: Verb,
        pool: Option<PoolId>,
        stream: Option<StreamId>,
        size: Bytes,
        reason: Refusal,
    },
    /// A driver call failed and the call went on without it.
    DriverFailed {
        error: DriverError,
    },
    /// The user's mark: an interned name, or, where the table of names is full (`label` is none), the name itself.
    Mark {
        label: LabelId,
        name: &'a str,
    },
    /// Records that were lost before this one.
    Lost {
        records: u64,
    },
    /// The event stands for nothing from here on, until it is recorded again. Its recordings are counted on.
    EventReset {
        event: EventId,
    },
    /// The stream's calls are being captured into a graph from here on, or run again.
    CaptureSet {
        stream: StreamId,
        capture: Capture,
    },
    /// The settings that a pool's definition lacks, right behind its making; not written where all are the defaults.
    PoolTuned {
        pool: PoolId,
        tuning: Tuning,
    },
    /// At a synchronisation: from here on the pool keeps up to `kept` bytes beyond its threshold, until the next such
    /// record or a new threshold, which ends it. `thrash`: bytes that were ever released by a synchronisation and created
    /// again before the next. Written where either changes.
    Kept {
        pool: PoolId,
        kept: Bytes,
        thrash: Bytes,
    },
    /// A malloc of `stream` let the host wait until all work up to `on` was complete. It is weir's own wait: the pool
    /// released nothing after it.
    Blocked {
        pool: PoolId,
        stream: StreamId,
        on: Point,
    },
    /// A malloc asked the embedder for memory before it would be refused; `bytes`: what it needs.
    Pressed {
        pool: PoolId,
        bytes: Bytes,
        relieved: bool,
    },
    /// Mapped when the stream comes to `seq`, a position of its own: who does not come after that finds nothing there.
    MappedInOrder {
        pool: PoolId,
        stream: StreamId,
        seq: Seq,
        offset: Bytes,
        granules: u32,
        reason: MapReason,
    },
    /// Unmapped when the stream comes to `seq`, a position of its own: it comes after all work on the memory, and who maps
    /// there again comes after it.
    UnmappedInOrder {
        pool: PoolId,
        stream: StreamId,
        seq: Seq,
        offset: Bytes,
        granules: u32,
        reason: UnmapReason,
    },
    /// Behind a `Trimmed` of the pool: one of the up to four streams of `streams` that hold most of its pending bytes back,
    /// most first. `bytes` of them go once all work up to `on` is complete, and that of others on the same granules.
    TrimPending {
        pool: PoolId,
        on: Point,
        bytes: Bytes,
        streams: u32,
    },
    /// So many granules of the pool are mapped nowhere and not destroyed, because the driver refused: still reserved, until a
    /// release tries again. Written where one comes or goes.
    Undestroyed {
        pool: PoolId,
        granules: u32,
    },
}
