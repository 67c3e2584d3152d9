//! Records in little room: a log holds millions, and most of them are far smaller than the largest.

use super::Kind;
use weir::error::Point;
use weir::id::{AllocId, DeviceId, EventId, PoolId, StreamId};
use weir::policy::Attribute;
use weir::policy::UseUntil;
use weir::trace::{MapReason, Record, Refusal, UnmapReason, Verb};
use weir::units::{Bytes, Seq};

macro_rules! class {
    ($(#[$doc:meta])* $name:ident, $bytes:literal { $($record:ident { $($field:ident: $type:ty),* })* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        enum $name { $($record { $($field: $type),* },)* }

        const _: () = assert!(size_of::<$name>() <= $bytes);

        impl $name {
            /// The record, where it is of this class.
            const fn of(record: &Record<'static>) -> Option<Self> {
                match *record {
                    $(Record::$record { $($field),* } => Some(Self::$record { $($field),* }),)*
                    _ => None,
                }
            }

            const fn record(self) -> Record<'static> {
                match self { $(Self::$record { $($field),* } => Record::$record { $($field),* },)* }
            }

            const fn has(kind: Kind) -> bool {
                matches!(kind, $(Kind::$record)|*)
            }
        }
    };
}

class! {
    Small, 24 {
        PoolCreated { pool: PoolId }
        PoolDestroyed { pool: PoolId, leaked: Bytes }
        StreamCreated { stream: StreamId }
        StreamDestroyed { stream: StreamId }
        EventCreated { event: EventId }
        EventDestroyed { event: EventId }
        EventReset { event: EventId }
        AttributeSet { pool: PoolId, attribute: Attribute, value: u64 }
        Queried { event: EventId, number: u64, complete: bool }
        MarkerLaid { marker: u32, stream: StreamId, seq: Seq }
        Asked { stream: StreamId, seq: Seq, complete: bool }
        StreamSynchronized { stream: StreamId, seq: Seq }
        EventSynchronized { event: EventId, number: u64 }
        DeviceSynchronized { device: DeviceId }
        GrowAborted { pool: PoolId, call: u64 }
        Mapped { pool: PoolId, offset: Bytes, granules: u32, reason: MapReason }
        Unmapped { pool: PoolId, offset: Bytes, granules: u32, reason: UnmapReason }
        Quarantined { pool: PoolId, granules: u32 }
        Undestroyed { pool: PoolId, granules: u32 }
        Pressed { pool: PoolId, bytes: Bytes, relieved: bool }
        Lost { records: u64 }
    }
}
class! {
    Middle, 40 {
        Use { pool: PoolId, stream: StreamId, seq: Seq, id: AllocId, until: UseUntil }
        Recorded { event: EventId, stream: StreamId, seq: Seq, number: u64 }
        Waited { stream: StreamId, seq: Seq, event: EventId, number: u64 }
        WaitInserted { stream: StreamId, seq: Seq, marker: u32, on: Point }
        GrowPlanned { pool: PoolId, stream: StreamId, call: u64, offset: Bytes, granules: u32 }
        Kept { pool: PoolId, kept: Bytes, thrash: Bytes }
        Blocked { pool: PoolId, stream: StreamId, on: Point }
        MappedInOrder { pool: PoolId, stream: StreamId, seq: Seq, offset: Bytes, granules: u32, reason: MapReason }
        UnmappedInOrder { pool: PoolId, stream: StreamId, seq: Seq, offset: Bytes, granules: u32, reason: UnmapReason }
        TrimPending { pool: PoolId, on: Point, bytes: Bytes, streams: u32 }
    }
}
class! {
    Large, 80 {
        Trimmed { pool: PoolId, target: Bytes, reached: Bytes, live: Bytes, pending: Bytes, partial: Bytes }
        OutOfMemory {
            pool: PoolId, stream: StreamId, requested: Bytes, used: Bytes, reserved: Bytes, limit: Bytes,
            largest_usable: Bytes, pending: Bytes
        }
        Refused { verb: Verb, pool: Option<PoolId>, stream: Option<StreamId>, size: Bytes, reason: Refusal }
    }
}

/// Records, each in the table of its size.
#[derive(Clone, Debug, Default)]
pub(super) struct Compact {
    small: Vec<Small>,
    middle: Vec<Middle>,
    large: Vec<Large>,
    /// Whatever is rare.
    others: Vec<Record<'static>>,
}

impl Compact {
    /// Keeps a record; answers its place, which its kind goes with. O(1).
    pub(super) fn keep(&mut self, record: Record<'static>) -> usize {
        if let Some(record) = Small::of(&record) {
            self.small.push(record);
            return self.small.len() - 1;
        }
        if let Some(record) = Middle::of(&record) {
            self.middle.push(record);
            return self.middle.len() - 1;
        }
        if let Some(record) = Large::of(&record) {
            self.large.push(record);
            return self.large.len() - 1;
        }
        self.others.push(record);
        self.others.len() - 1
    }

    /// The record of this kind that was kept at this place.
    pub(super) fn get(&self, kind: Kind, at: usize) -> Record<'static> {
        if Small::has(kind) {
            self.small[at].record()
        } else if Middle::has(kind) {
            self.middle[at].record()
        } else if Large::has(kind) {
            self.large[at].record()
        } else {
            self.others[at]
        }
    }
}
