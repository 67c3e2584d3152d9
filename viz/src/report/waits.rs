//! Waits that the pools inserted: who waited for whom, and for how long at most.

use crate::model::{EventIx, Model, Payload};
use crate::scene::ticks;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use weir::id::{DeviceId, EventId, StreamId};
use weir::trace::Record;

/// The waits of one stream for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The stream that waits.
    pub stream: StreamId,
    /// The stream it waits for.
    pub on: StreamId,
    /// The first of them.
    pub first: EventIx,
    /// How many.
    pub count: u64,
    /// Of how many the log says when what they waited for was known to be complete.
    pub known: u64,
    /// The time until then, of all those, in nanoseconds: no stall was longer, most were shorter.
    pub nanos: u64,
    /// The longest of them.
    pub longest: u64,
}

impl Waits {
    /// In words, for lists.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { stream, on, count, known, nanos, longest, .. } = self;
        let cost = match known {
            0 => "when that was complete is not recorded".to_owned(),
            _ => format!("complete {} later on average, {} at most", ticks::time(nanos / known), ticks::time(*longest)),
        };
        format!("{} x stream {stream} for stream {on}; {cost}", ticks::count(*count))
    }
}

/// Who waits, and for whom.
type Pair = (StreamId, StreamId);

/// Positions that are waited for: position, time and who waits.
type Open = BinaryHeap<Reverse<(u64, u64, Pair)>>;

#[derive(Default)]
struct Walk {
    pairs: BTreeMap<Pair, Waits>,
    open: HashMap<StreamId, Open>,
    device: HashMap<StreamId, DeviceId>,
    events: HashMap<EventId, (StreamId, u64, u64)>,
    host: u64,
}

/// All inserted waits by pairs of streams, the most first; and the pools' own waits on the host.
pub(super) fn waits(model: &Model) -> (Vec<Waits>, u64) {
    let mut walk = Walk::default();
    for stream in &model.streams {
        walk.device.extend(stream.definition.map(|(device, _)| (stream.id, device)));
    }
    for at in 0..model.events.len() {
        let at = EventIx::next_of(at);
        if let Payload::Other(record) = model.events.payload(at) {
            walk.push(&record, at, model.events.time(at));
        }
    }
    let mut waits: Vec<Waits> = walk.pairs.into_values().collect();
    waits.sort_by_key(|waits| (Reverse(waits.count), waits.stream, waits.on));
    (waits, walk.host)
}

impl Walk {
    fn push(&mut self, record: &Record<'_>, at: EventIx, now: u64) {
        match *record {
            Record::WaitInserted { stream, on, .. } => {
                let pair = (stream, on.stream);
                let none = Waits { stream, on: on.stream, first: at, count: 0, known: 0, nanos: 0, longest: 0 };
                self.pairs.entry(pair).or_insert(none).count += 1;
                self.open.entry(on.stream).or_default().push(Reverse((on.seq.0, now, pair)));
            }
            Record::Blocked { on, .. } => {
                self.host += 1;
                self.complete(on.stream, on.seq.0, now);
            }
            Record::Recorded { event, stream, seq, number } => {
                self.events.insert(event, (stream, seq.0, number));
            }
            Record::StreamSynchronized { stream, seq } | Record::Asked { stream, seq, complete: true } => {
                self.complete(stream, seq.0, now);
            }
            Record::EventSynchronized { event, number } | Record::Queried { event, number, complete: true } => {
                if let Some((stream, seq, _)) = self.events.get(&event).copied().filter(|known| known.2 == number) {
                    self.complete(stream, seq, now);
                }
            }
            Record::DeviceSynchronized { device } => {
                let on = |stream: &&StreamId| self.device.get(*stream).is_none_or(|of| *of == device);
                let streams: Vec<StreamId> = self.open.keys().filter(on).copied().collect();
                streams.into_iter().for_each(|stream| self.complete(stream, u64::MAX, now));
            }
            _ => {}
        }
    }

    /// The stream is known to have passed this position.
    fn complete(&mut self, stream: StreamId, seq: u64, now: u64) {
        let Some(open) = self.open.get_mut(&stream) else { return };
        while let Some(Reverse((at, since, pair))) = open.peek().copied().filter(|first| first.0.0 <= seq) {
            open.pop();
            let _ = at;
            let nanos = now.saturating_sub(since);
            if let Some(waits) = self.pairs.get_mut(&pair) {
                waits.known += 1;
                waits.nanos = waits.nanos.saturating_add(nanos);
                waits.longest = waits.longest.max(nanos);
            }
        }
        if open.is_empty() {
            self.open.remove(&stream);
        }
    }
}
