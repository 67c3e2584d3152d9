//! Records of events that the driver refused, and records in the middle of which something else was done: the log does
//! not name the event of the first, nor say when the second began. Both leave holes in the numbers that count an event's
//! recordings, and from those it is worked out.

use super::calls::Calls;
use crate::model::{Death, EventIx, Kind, Model, Payload};
use std::collections::{BTreeMap, HashMap};
use weir::id::StreamId;
use weir::trace::{Record, Refusal, Verb};
use weir::units::Seq;

/// What the holes tell.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// The places of refused records' events in the arena, by the refusals.
    events: HashMap<EventIx, u32>,
    /// Where each event's last accepted record stands, by its place.
    last: HashMap<u32, EventIx>,
    /// Records that were begun before the call that a record ends, by that: where they end.
    around: HashMap<EventIx, EventIx>,
}

/// A number of an event's recordings that no record of the log has.
struct Hole {
    event: u32,
    /// It was used between these records.
    between: [EventIx; 2],
}

/// Whether the driver, or the vendor behind a layer, refused a record of an event.
pub(super) fn is_refused_record(record: &Record<'_>) -> Option<StreamId> {
    match *record {
        Record::Refused { verb: Verb::Record, stream: Some(stream), reason: Refusal::Driver(_), .. } => Some(stream),
        _ => None,
    }
}

/// The stream of a record that takes a position there, and the position.
fn position(model: &Model, at: EventIx) -> Option<(StreamId, Seq)> {
    match model.events.payload(at) {
        Payload::Life(life) if model.events.kind(at) == Kind::Malloc => {
            let life = model.life(life);
            Some((model.stream(life.stream).id, life.seq))
        }
        Payload::Life(life) => match model.life(life).death {
            Death::Free { stream, seq, .. } => Some((model.stream(stream).id, seq)),
            _ => None,
        },
        Payload::Other(
            Record::Recorded { stream, seq, .. } | Record::Waited { stream, seq, .. } | Record::Use { stream, seq, .. },
        ) => Some((stream, seq)),
        Payload::Other(_) => None,
    }
}

impl Holes {
    /// O(records of the run).
    pub(super) fn of(model: &Model, begin: EventIx) -> Self {
        let (mut refused, mut accepted) = (Vec::new(), BTreeMap::<u32, Vec<(EventIx, u64)>>::new());
        let (mut holes, mut latest) = (Self::default(), HashMap::<StreamId, (Seq, EventIx)>::new());
        for at in (begin.at()..model.events.len()).map(EventIx::next_of) {
            match model.events.payload(at) {
                Payload::Other(Record::Begin { .. }) if at > begin => break,
                Payload::Other(Record::Recorded { event, stream, seq, number }) => {
                    accepted.entry(event.raw() as u32).or_default().push((at, number));
                    // A call on the stream has a later position, and its record stands before.
                    if let Some((_, inside)) = latest.get(&stream).filter(|(later, _)| *later > seq) {
                        holes.around.insert(*inside, at);
                    }
                }
                Payload::Other(record) if is_refused_record(&record).is_some() => refused.push(at),
                _ => {}
            }
            if let Some((stream, seq)) = position(model, at) {
                let known = latest.entry(stream).or_insert((seq, at));
                if known.0 < seq {
                    *known = (seq, at);
                }
            }
        }
        let mut open = Vec::new();
        for (event, accepted) in accepted {
            holes.last.extend(accepted.last().map(|(at, _)| (event, *at)));
            holes.look_at(event, &accepted, &mut open);
        }
        holes.fill(open, &refused);
        holes
    }

    /// The holes in the numbers of one event.
    fn look_at(&mut self, event: u32, accepted: &[(EventIx, u64)], open: &mut Vec<Hole>) {
        let ends: HashMap<u64, EventIx> = accepted.iter().map(|(at, number)| (*number, *at)).collect();
        let (mut counted, mut since) = (0, EventIx(0));
        for (at, number) in accepted {
            for missing in counted + 1..*number {
                match ends.get(&missing) {
                    // Begun before this one, ended after it.
                    Some(end) => drop(self.around.insert(*at, *end)),
                    None => open.push(Hole { event, between: [since, *at] }),
                }
            }
            (counted, since) = (counted.max(*number), *at);
        }
    }

    /// Every refusal goes to the hole that ends first of those that it can be in.
    fn fill(&mut self, mut open: Vec<Hole>, refused: &[EventIx]) {
        for at in refused {
            let can = |hole: &Hole| hole.between[0] < *at && *at < hole.between[1];
            let first = (0..open.len()).filter(|place| can(&open[*place])).min_by_key(|place| open[*place].between[1]);
            if let Some(first) = first {
                self.events.insert(*at, open.swap_remove(first).event);
            }
        }
        // What is left was refused in the middle of a record of the same event, or that in the middle of it.
        for hole in open {
            let near = |one: EventIx, other: EventIx| one > other && one.0 - other.0 <= 2;
            let [since, end] = hole.between;
            let Some(at) = refused
                .iter()
                .filter(|at| !self.events.contains_key(at))
                .find(|at| near(**at, end) || near(since, **at))
            else {
                continue;
            };
            self.events.insert(*at, hole.event);
            // Begun before it, ended behind it; or the other way about.
            let (inside, around) = if *at > end { (end, *at) } else { (*at, since) };
            self.around.insert(inside, around);
        }
    }

    /// Whether the event at this place is recorded again.
    pub(super) fn is_recorded_behind(&self, event: u32, at: EventIx) -> bool {
        self.last.get(&event).is_some_and(|last| *last > at)
    }

    /// The place of a refused record's event in its arena, where later records tell.
    pub(super) fn event_of(&self, refusal: EventIx) -> Option<u32> {
        self.events.get(&refusal).copied()
    }

    /// A record that something is done in the middle of was begun.
    pub(super) fn begun(&mut self, at: EventIx) {
        self.around.remove(&at);
    }

    /// Where the record ends that was begun before the call that this record ends.
    pub(super) fn around(&self, at: EventIx) -> Option<EventIx> {
        self.around.get(&at).copied().filter(|end| *end > at)
    }
}

/// Whether the call that this record refuses changed anything: then it is made again.
pub(super) fn is_made_again(model: &Model, at: EventIx) -> bool {
    let Payload::Other(Record::Refused { verb, pool, stream, reason, .. }) = model.events.payload(at) else {
        return false;
    };
    match (verb, reason) {
        (Verb::Malloc, _) => pool.is_some() && stream.is_some(),
        // Where no slot is left for a stream, destroyed ones are asked about.
        (Verb::CreateStream, Refusal::ArenaFull(..)) => true,
        // They take a position on their stream all the same.
        (Verb::Record | Verb::Wait, Refusal::Driver(_)) => stream.is_some(),
        // A marker was due before it.
        (Verb::Record | Verb::Wait, _) => marked_before(model, at).is_some(),
        _ => false,
    }
}

/// The stream that a marker was laid on just before a record, or should have been.
pub(super) fn marked_before(model: &Model, at: EventIx) -> Option<StreamId> {
    let before = EventIx(at.0.checked_sub(1)?);
    match model.events.payload(before) {
        Payload::Other(Record::MarkerLaid { stream, .. }) if !Calls::ends_one(model, before) => Some(stream),
        _ => None,
    }
}

/// How many records from here on are of a call that was refused, changed nothing, and is not made again: the refusal, and
/// before it that the driver failed.
pub(super) fn passed_over(model: &Model, at: EventIx) -> Option<u32> {
    let kind = |at: EventIx| (at < model.events.end()).then(|| model.events.kind(at));
    let length = match kind(at)? {
        Kind::Refused => 1,
        Kind::DriverFailed if kind(EventIx(at.0 + 1)) == Some(Kind::Refused) => 2,
        _ => return None,
    };
    (!is_made_again(model, EventIx(at.0 + length - 1))).then_some(length)
}
