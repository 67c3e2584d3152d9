//! A slow, obvious model of clocks, events and markers: full rows, and searches instead of chains. Random calls, of which
//! several are in flight at once, must leave both with the same knowledge.

use super::{CoveredBy, Level, Mark, Marking, Order, OrderArenas, Recording};
use crate::arena::{Empty, Slots};
use crate::driver::NativeStream;
use crate::id::{DeviceId, EventId, StreamId};
use crate::order::rows::ClockRows;
use crate::policy::StreamKind;
use crate::units::Seq;
extern crate std;
use std::vec;
use std::vec::Vec;

const EVENTS: usize = 3;
const MARKERS: usize = 4;

type Row = Vec<u64>;

/// One of the slots that the program uses.
#[derive(Clone)]
struct Stream {
    slot: usize,
    kind: StreamKind,
    head: u64,
    known: u64,
    /// What it comes after, by slot.
    clock: Row,
}

#[derive(Clone, Default)]
struct Event {
    live: bool,
    number: u64,
    stands_for: Option<u64>,
    murky: bool,
    flux: usize,
    pins: usize,
    row: Row,
}

#[derive(Clone)]
struct Marker {
    slot: usize,
    at: usize,
    seq: u64,
    laid: bool,
    /// It says no more than what is known, but a call in flight names it.
    spent: bool,
    pins: usize,
    row: Row,
}

/// A call between its halves.
enum Flight {
    /// Whether it was alone at its beginning, and what the event will stand for.
    Record(Recording, bool, Row),
    /// The stream, and what the event surely stood for.
    Wait(usize, Recording, Option<u64>),
    Lay(usize),
    MarkerWait(usize, usize),
    MarkerQuery(usize),
}

struct Model {
    streams: Vec<Stream>,
    events: Vec<Event>,
    markers: Vec<Marker>,
    flights: Vec<Flight>,
    state: u64,
}

fn raise(row: &mut Row, other: &Row) {
    row.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Model {
    fn draw(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) as usize % below
    }

    /// What an action that takes the next position comes after.
    fn action(&mut self, at: usize) -> Row {
        self.streams[at].head += 1;
        let stream = self.streams[at].clone();
        let mut row = stream.clock;
        row[stream.slot] = stream.head;
        for other in &self.streams {
            let tied = match (stream.kind, other.kind) {
                (StreamKind::Legacy, other) => other == StreamKind::Blocking,
                (StreamKind::Blocking, other) => other == StreamKind::Legacy,
                _ => false,
            };
            if tied {
                raise(&mut row, &other.clock);
                row[other.slot] = row[other.slot].max(other.head);
            }
        }
        row
    }

    /// An action was accepted. Without a legacy stream there is nothing that it implied.
    fn keep(&mut self, at: usize, row: &Row) {
        if self.streams.iter().any(|stream| stream.kind == StreamKind::Legacy) {
            raise(&mut self.streams[at].clock, row);
        }
    }

    /// Markers that say nothing new are unused once nobody names them.
    fn sweep(&mut self) {
        let known: Vec<u64> = self.streams.iter().map(|stream| stream.known).collect();
        for marker in self.markers.iter_mut().filter(|marker| marker.laid && marker.seq <= known[marker.at]) {
            (marker.laid, marker.spent) = (false, true);
        }
        self.markers.retain(|marker| !marker.spent || marker.pins > 0);
    }

    fn laid(&self, at: usize) -> impl Iterator<Item = &Marker> {
        self.markers.iter().filter(move |marker| marker.laid && marker.at == at)
    }

    /// The slots of which a lay must take one.
    fn may_lay(&self, at: usize) -> Vec<usize> {
        if self.markers.len() < MARKERS {
            return (0..MARKERS).filter(|slot| self.markers.iter().all(|marker| marker.slot != *slot)).collect();
        }
        let oldest = |at: usize| self.laid(at).filter(|marker| marker.pins == 0).min_by_key(|marker| marker.seq);
        let count = |at: usize| self.markers.iter().filter(|marker| marker.at == at && !marker.spent).count();
        let most = (0..self.streams.len()).map(count).max().unwrap();
        let busiest = (0..self.streams.len()).filter(|&other| count(other) == most);
        let own = oldest(at).map(|marker| vec![marker.slot]);
        own.unwrap_or_else(|| busiest.filter_map(oldest).map(|marker| marker.slot).collect())
    }
}

/// The ids of a live event and of a stream.
fn names(order: &Order<'_>, event: usize, stream: usize) -> (EventId, StreamId) {
    (EventId::new(event, order.events.get(event).generation()), order.stream_id(stream))
}

impl Model {
    /// Begins a call.
    fn begin(&mut self, order: &mut Order<'_>) {
        let at = self.draw(self.streams.len());
        let slot = self.streams[at].slot;
        let event = self.draw(EVENTS);
        match self.draw(8) {
            0 | 1 if self.events[event].live => {
                let row = self.action(at);
                let e = &mut self.events[event];
                (e.number, e.flux) = (e.number + 1, e.flux + 1);
                let mut facts = Recording::NONE;
                order.begin_record(names(order, event, slot), Marking::Done, &mut facts).unwrap();
                assert_eq!((facts.number, facts.seq.0), (e.number, self.streams[at].head));
                self.flights.push(Flight::Record(facts, e.flux == 1, row));
            }
            2 | 3 if self.events[event].live => {
                let e = &mut self.events[event];
                e.pins += 1;
                let sure = e.stands_for.filter(|_| e.flux == 0 && !e.murky);
                let mut look = Recording::NONE;
                order.begin_wait(names(order, event, slot), Marking::Done, &mut look).unwrap();
                self.flights.push(Flight::Wait(at, look, sure));
            }
            4 => self.lay(order, at, slot),
            5 if self.events[event].live => {
                order.destroy_event(event);
                let e = &mut self.events[event];
                (e.live, e.stands_for) = (false, None);
            }
            6 => self.create_event(order),
            _ => {
                let laid: Vec<usize> = self.laid(at).map(|marker| marker.slot).collect();
                if laid.is_empty() {
                    return;
                }
                let marker = laid[self.draw(laid.len())];
                self.markers.iter_mut().find(|m| m.slot == marker).unwrap().pins += 1;
                order.pin_marker(marker);
                let by = self.draw(self.streams.len());
                let wait = self.draw(2) == 0;
                self.flights.push(if wait { Flight::MarkerWait(by, marker) } else { Flight::MarkerQuery(marker) });
            }
        }
    }

    /// A slot of a destroyed event is free once no call in flight names it.
    fn create_event(&mut self, order: &mut Order<'_>) {
        let free = |event: &Event| !event.live && event.flux == 0 && event.pins == 0;
        match order.create_event() {
            Ok(id) => {
                let event = &mut self.events[id.slot()];
                assert!(free(event));
                *event = Event { live: true, number: event.number, ..Event::default() };
            }
            Err(_) => assert!(!self.events.iter().any(free)),
        }
    }

    fn lay(&mut self, order: &mut Order<'_>, at: usize, slot: usize) {
        let may = self.may_lay(at);
        let Some((marker, seq)) = order.begin_lay(slot) else {
            // Of several streams that have most, the one that is looked at may have none to give.
            assert!(self.markers.len() == MARKERS && self.laid(at).all(|marker| marker.pins > 0));
            return;
        };
        assert!(may.contains(&marker), "{marker} was taken, of {may:?}");
        self.markers.retain(|other| other.slot != marker);
        let row = self.action(at);
        assert_eq!(seq.0, self.streams[at].head);
        self.markers.push(Marker { slot: marker, at, seq: seq.0, laid: false, spent: false, pins: 0, row });
        self.flights.push(Flight::Lay(marker));
    }

    /// Ends one of the calls in flight, accepted or not.
    fn end(&mut self, order: &mut Order<'_>) {
        let flight = self.draw(self.flights.len());
        let accepted = self.draw(4) > 0;
        match self.flights.swap_remove(flight) {
            Flight::Record(facts, steady, row) => {
                order.end_record(&facts, accepted);
                let event = &mut self.events[facts.event];
                event.flux -= 1;
                let at = self.streams.iter().position(|stream| stream.slot == facts.stream).unwrap();
                let alone = steady && facts.number == event.number;
                let number = if alone { facts.number } else { event.number };
                if accepted {
                    (event.stands_for, event.murky) = (event.live.then_some(number), !alone);
                }
                if accepted && alone {
                    event.row = row.clone();
                    self.keep(at, &row);
                }
            }
            Flight::Wait(at, look, sure) => {
                let seq = order.end_wait(self.streams[at].slot, &look, accepted);
                self.streams[at].head += 1;
                assert_eq!(seq.0, self.streams[at].head);
                let event = &mut self.events[look.event];
                event.pins -= 1;
                if accepted && sure.is_some() && event.flux == 0 && event.stands_for == sure {
                    raise(&mut self.streams[at].clock, &event.row);
                }
            }
            Flight::Lay(slot) => {
                order.end_lay(slot, accepted);
                let marker = self.markers.iter_mut().find(|marker| marker.slot == slot).unwrap();
                (marker.laid, marker.spent) = (accepted, !accepted);
                let (at, row) = (marker.at, marker.row.clone());
                if accepted {
                    self.keep(at, &row);
                }
            }
            Flight::MarkerWait(at, slot) => {
                order.end_marker_wait(self.streams[at].slot, slot, accepted);
                let marker = self.markers.iter_mut().find(|marker| marker.slot == slot).unwrap();
                marker.pins -= 1;
                if accepted {
                    raise(&mut self.streams[at].clock, &marker.row);
                }
            }
            Flight::MarkerQuery(slot) => {
                order.end_marker_query(slot, accepted, Level::Known);
                let marker = self.markers.iter_mut().find(|marker| marker.slot == slot).unwrap();
                marker.pins -= 1;
                let row = marker.row.clone();
                for stream in self.streams.iter_mut().filter(|_| accepted) {
                    stream.known = stream.known.max(row[stream.slot]);
                }
            }
        }
        self.sweep();
    }

    /// Both know the same.
    fn compare(&mut self, order: &Order<'_>) {
        for at in 0..self.streams.len() {
            let stream = self.streams[at].clone();
            let clock: Row = order.clocks.row(stream.slot).entries.iter().map(|seq| seq.0).collect();
            assert_eq!(clock, stream.clock, "of slot {}", stream.slot);
            assert_eq!(
                (order.stream(stream.slot).head.0, order.stream(stream.slot).known.0),
                (stream.head, stream.known)
            );
            let latest = self.laid(at).max_by_key(|marker| marker.seq).map(|marker| (marker.slot, Seq(marker.seq)));
            assert_eq!(order.latest_marker(stream.slot), latest);
            let seq = self.draw(stream.head as usize + 1) as u64;
            let covering = self.laid(at).filter(|marker| marker.seq >= seq).min_by_key(|marker| marker.seq);
            let expected = match covering {
                Some(marker) => CoveredBy::Marker { slot: marker.slot, seq: Seq(marker.seq) },
                None => CoveredBy::Stream { head: Seq(stream.head) },
            };
            assert_eq!(order.covered_by(Mark { stream: stream.slot, seq: Seq(seq) }), expected);
        }
        for (slot, event) in
            self.events.iter().enumerate().filter(|(_, event)| event.stands_for.is_some() && !event.murky)
        {
            let row: Row = order.event_entries(slot).iter().map(|seq| seq.0).collect();
            assert_eq!(row, event.row, "of event {slot}");
        }
    }
}

/// Runs random calls over arenas of `width` streams, of which these are used.
fn run(width: usize, used: &[(usize, StreamKind)], seed: u64) {
    fn rows(rows: usize, width: usize) -> (Vec<Seq>, Vec<u64>) {
        (vec![Seq::ZERO; rows * width], vec![0; rows])
    }
    fn lend(rows: &mut (Vec<Seq>, Vec<u64>)) -> ClockRows<'_> {
        ClockRows { entries: &mut rows.0, present: &mut rows.1 }
    }
    let (mut clocks, mut event_clocks) = (rows(width, width), rows(2 * EVENTS, width));
    let (mut marker_clocks, mut snapshots) = (rows(MARKERS, width), rows(16, width));
    let (mut streams, mut events, mut markers) =
        (vec![Empty::EMPTY; width], vec![Empty::EMPTY; EVENTS], vec![Empty::EMPTY; MARKERS]);
    let mut order = Order::new(OrderArenas {
        streams: Slots::of(&mut streams),
        clocks: lend(&mut clocks),
        events: Slots::of(&mut events),
        event_clocks: lend(&mut event_clocks),
        markers: Slots::of(&mut markers),
        marker_clocks: lend(&mut marker_clocks),
        snapshots: lend(&mut snapshots),
    });
    for slot in 0..width {
        let kind = used.iter().find(|(used, _)| *used == slot).map_or(StreamKind::NonBlocking, |(_, kind)| *kind);
        assert_eq!(order.create_stream(DeviceId(0), 0, NativeStream(0), kind).unwrap().slot(), slot);
    }
    (0..EVENTS).for_each(|slot| assert_eq!(order.create_event().unwrap().slot(), slot));
    let stream = |&(slot, kind): &(usize, StreamKind)| Stream { slot, kind, head: 0, known: 0, clock: vec![0; width] };
    let mut model = Model {
        streams: used.iter().map(stream).collect(),
        events: vec![Event { live: true, ..Event::default() }; EVENTS],
        markers: Vec::new(),
        flights: Vec::new(),
        state: seed,
    };
    for step in 0..3000 {
        if model.flights.is_empty() || model.flights.len() < 3 && model.draw(2) == 0 {
            model.begin(&mut order);
        } else {
            model.end(&mut order);
        }
        model.compare(&order);
        if step % 16 == 0 {
            assert_eq!(order.check(), Ok(()));
        }
    }
    assert_eq!(order.check(), Ok(()));
    assert!(!order.strayed());
}

const KINDS: [StreamKind; 5] =
    [StreamKind::NonBlocking, StreamKind::Legacy, StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::Blocking];

/// Rows whose words have a bit for each stream, and rows whose bits stand for several, the last row's end cut off.
const SLOTS: [(usize, [usize; 5]); 5] = [
    (5, [0, 1, 2, 3, 4]),
    (64, [0, 7, 31, 62, 63]),
    (65, [0, 1, 32, 63, 64]),
    (130, [3, 4, 5, 128, 129]),
    (200, [0, 3, 64, 77, 199]),
];

#[test]
fn streams_know_what_full_rows_say() {
    for (seed, (width, slots)) in (1..).zip(SLOTS) {
        run(width, &slots.map(|slot| (slot, StreamKind::NonBlocking)), seed);
    }
}

#[test]
fn legacy_streams_follow_as_full_rows_say() {
    for (seed, (width, slots)) in (1..).zip(SLOTS) {
        let mut kinds = KINDS.into_iter();
        run(width, &slots.map(|slot| (slot, kinds.next().unwrap())), seed);
    }
}
