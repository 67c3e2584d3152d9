//! Records that outlive the page they were read from.

use weir::trace::Record;

macro_rules! keep {
    ($($record:ident { $($field:ident),* })*) => {
        /// The record without its borrowed name: marks and labels have one, and it is kept apart.
        pub(super) fn owned(record: Record<'_>) -> Record<'static> {
            match record {
                $(Record::$record { $($field),* } => Record::$record { $($field),* },)*
                Record::LabelDef { label, .. } => Record::LabelDef { label, name: "" },
                Record::Mark { label, .. } => Record::Mark { label, name: "" },
            }
        }
    };
}
keep! {
    Begin { version, policy, streams, events, markers, pools, blocks, granules }
    DeviceDef { device, properties }
    StreamDef { stream, device, kind }
    PoolDef { pool, base, range, config }
    PoolCreated { pool }
    PoolDestroyed { pool, leaked }
    StreamCreated { stream }
    StreamDestroyed { stream }
    EventCreated { event }
    EventDestroyed { event }
    AttributeSet { pool, attribute, value }
    Malloc { pool, stream, seq, id, asked, given, offset, source, label, points }
    Free { pool, stream, seq, id, offset, given }
    Use { pool, stream, seq, id, until }
    Recorded { event, stream, seq, number }
    Waited { stream, seq, event, number }
    Queried { event, number, complete }
    MarkerLaid { marker, stream, seq }
    Asked { stream, seq, complete }
    WaitInserted { stream, seq, marker, on }
    StreamSynchronized { stream, seq }
    EventSynchronized { event, number }
    DeviceSynchronized { device }
    GrowPlanned { pool, stream, call, offset, granules }
    GrowAborted { pool, call }
    Mapped { pool, offset, granules, reason }
    Unmapped { pool, offset, granules, reason }
    Quarantined { pool, granules }
    Trimmed { pool, target, reached, live, pending, partial }
    OutOfMemory { pool, stream, requested, used, reserved, limit, largest_usable, pending }
    Refused { verb, pool, stream, size, reason }
    DriverFailed { error }
    Lost { records }
    EventReset { event }
    CaptureSet { stream, capture }
    PoolTuned { pool, tuning }
    Kept { pool, kept, thrash }
    Blocked { pool, stream, on }
    Pressed { pool, bytes, relieved }
    MappedInOrder { pool, stream, seq, offset, granules, reason }
    UnmappedInOrder { pool, stream, seq, offset, granules, reason }
    TrimPending { pool, on, bytes, streams }
    Undestroyed { pool, granules }
}
