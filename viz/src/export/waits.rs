//! Which recording each wait stands for.

use crate::model::{EventIx, Kind, Model, Payload};
use foldhash::HashMap;
use weir::id::EventId;
use weir::trace::Record;

/// A wait for a recording that is in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    at: EventIx,
    /// The recording.
    pub(super) recording: EventIx,
    /// Whether the event was not recorded again in between.
    pub(super) is_latest: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Waits(Vec<Wait>);

impl Waits {
    /// O(n) in the log's records.
    pub(super) fn of(model: &Model) -> Self {
        let mut numbered: HashMap<(EventId, u64), EventIx> = HashMap::default();
        let mut latest: HashMap<EventId, u64> = HashMap::default();
        let mut waits = Vec::new();
        let both = |at: &EventIx| matches!(model.events.kind(*at), Kind::Recorded | Kind::Waited);
        for at in (0..model.events.len()).map(EventIx::next_of).filter(both) {
            match model.events.payload(at) {
                Payload::Other(Record::Recorded { event, number, .. }) => {
                    numbered.insert((event, number), at);
                    latest.insert(event, number);
                }
                Payload::Other(Record::Waited { event, number, .. }) => {
                    let is_latest = latest.get(&event) == Some(&number);
                    let recording = numbered.get(&(event, number)).copied();
                    waits.extend(recording.map(|recording| Wait { at, recording, is_latest }));
                }
                _ => {}
            }
        }
        Self(waits)
    }

    /// That of this record, where it is one.
    pub(super) fn at(&self, event: EventIx) -> Option<Wait> {
        self.0.binary_search_by_key(&event, |wait| wait.at).ok().map(|at| self.0[at])
    }
}
