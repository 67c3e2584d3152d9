//! The slice of each call on a stream: from when to when it is drawn.

use crate::model::{Death, EventIx, Kind, Model, Payload};
use foldhash::HashMap;
use weir::id::StreamId;
use weir::trace::Record;

/// The longest slice of a call. Calls have no length in the log.
const LONGEST: u16 = 1_000;

/// When the slice of each call begins and how long it is, so that none overlap on a stream and none begins before an
/// earlier one.
pub(super) struct Slices {
    /// By record; of those that are no calls nobody asks.
    begins: Vec<u64>,
    lengths: Vec<u16>,
}

impl Slices {
    /// O(n) in the log's records.
    pub(super) fn of(model: &Model) -> Self {
        let count = model.events.len();
        let (mut begins, mut lengths) = (vec![0_u64; count], vec![LONGEST; count]);
        let mut last: HashMap<StreamId, usize> = HashMap::default();
        let mut latest = 0;
        for at in 0..count {
            let event = EventIx::next_of(at);
            let Some(stream) = stream_of(model, event) else { continue };
            let mut begin = model.events.time(event).max(latest);
            if let Some(before) = last.insert(stream, at) {
                // What has the same time is drawn a nanosecond apart.
                begin = begin.max(begins[before] + 1);
                lengths[before] = u16::try_from(begin - begins[before]).map_or(LONGEST, |length| length.min(LONGEST));
            }
            begins[at] = begin;
            latest = begin;
        }
        Self { begins, lengths }
    }

    /// Where the slice of a call begins, and how long it is.
    pub(super) fn of_call(&self, event: EventIx) -> (u64, u64) {
        (self.begins[event.at()], self.lengths[event.at()].into())
    }
}

/// The stream whose call a record is.
pub(super) fn stream_of(model: &Model, event: EventIx) -> Option<StreamId> {
    match model.events.payload(event) {
        Payload::Life(life) => {
            let life = model.life(life);
            let stream = match (model.events.kind(event), life.death) {
                (Kind::Free, Death::Free { stream, .. }) => stream,
                _ => life.stream,
            };
            Some(model.stream(stream).id)
        }
        Payload::Other(
            Record::Use { stream, .. }
            | Record::Recorded { stream, .. }
            | Record::Waited { stream, .. }
            | Record::WaitInserted { stream, .. }
            | Record::StreamSynchronized { stream, .. }
            | Record::Blocked { stream, .. },
        ) => Some(stream),
        Payload::Other(_) => None,
    }
}
