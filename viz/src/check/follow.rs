//! From records to the order of streams.

use super::order::{Order, Place};
use weir::id::StreamId;
use weir::trace::Record;
use weir::units::Seq;

impl Order {
    /// Takes what a record says of the order of streams. Those that say nothing of it are passed over.
    pub(crate) fn follow(&mut self, record: &Record<'_>) {
        match *record {
            Record::StreamCreated { stream } => {
                self.lane(stream);
            }
            Record::EventDestroyed { event } | Record::EventReset { event } => self.forget_event(event),
            Record::Malloc { stream, seq, .. } | Record::Free { stream, seq, .. } | Record::Use { stream, seq, .. } => {
                self.at(stream, seq);
            }
            Record::Recorded { event, stream, seq, number } => {
                let place = self.at(stream, seq);
                self.record(event, place, number);
            }
            Record::Waited { stream, seq, event, number } => {
                let place = self.at(stream, seq);
                self.wait(place, event, number);
            }
            Record::MarkerLaid { marker, stream, seq } => {
                let place = self.at(stream, seq);
                self.lay(marker, place);
            }
            Record::WaitInserted { stream, seq, marker, on } => {
                let on = Place { lane: self.lane(on.stream), seq: on.seq.0 };
                let place = self.at(stream, seq);
                self.wait_marker(place, marker, on);
            }
            _ => self.follow_completion(record),
        }
    }

    /// What the host learns to be complete.
    fn follow_completion(&mut self, record: &Record<'_>) {
        match *record {
            Record::Asked { stream, seq, complete: true } | Record::StreamSynchronized { stream, seq } => {
                let lane = self.lane(stream);
                self.complete(Place { lane, seq: seq.0 });
            }
            Record::Blocked { on, .. } => {
                let lane = self.lane(on.stream);
                self.complete(Place { lane, seq: on.seq.0 });
            }
            Record::Queried { event, number, complete: true } | Record::EventSynchronized { event, number } => {
                self.complete_event(event, number);
            }
            Record::DeviceSynchronized { device } => self.complete_device(device),
            _ => {}
        }
    }

    /// The stream has come to this position.
    fn at(&mut self, stream: StreamId, seq: Seq) -> Place {
        let place = Place { lane: self.lane(stream), seq: seq.0 };
        self.advance(place);
        place
    }
}
