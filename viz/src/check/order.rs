//! Who is ordered before whom, worked out from a log's records alone.
//!
//! A second, plainer answer to the question that the pool answers for itself: nothing here is shared with it. Every
//! stream has a clock (for each stream, the latest position it is known to come after); recordings and markers keep a
//! copy, waits join it. What the host saw to be complete comes before everything.
//!
//! A record of an event or marker is written when its driver call is over, but counts from its own position: what the
//! stream waited for in between is not part of it. So each stream keeps its latest clocks with the positions from which
//! they hold.

use foldhash::HashMap;
use std::collections::VecDeque;
use weir::id::{DeviceId, EventId, StreamId};
use weir::policy::StreamKind;

/// A position on a stream, by the stream's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) lane: usize,
    pub(crate) seq: u64,
}

/// How many earlier clocks a stream keeps. A call in flight is rarely overtaken by more waits; where it is, its
/// recording is taken to know a little more than it did, and less is reported.
const PAST: usize = 64;

#[derive(Debug)]
struct Lane {
    id: StreamId,
    kind: StreamKind,
    device: Option<DeviceId>,
    head: u64,
    /// All of it up to here is known to be complete, and what that came after.
    is_complete: bool,
    clock: Vec<u64>,
    /// Earlier clocks, each with the position of the wait that made it: whoever comes after that comes after all of it.
    past: VecDeque<(u64, Vec<u64>)>,
}

impl Lane {
    fn new(id: StreamId) -> Self {
        let (clock, past) = (Vec::new(), VecDeque::new());
        Self { id, kind: StreamKind::NonBlocking, device: None, head: 0, is_complete: false, clock, past }
    }
}

/// What an event or marker stands for.
#[derive(Debug)]
struct Stored {
    number: u64,
    at: Place,
    clock: Vec<u64>,
}

/// The order of a log up to where it was read.
#[derive(Debug, Default)]
pub(crate) struct Order {
    lanes: Vec<Lane>,
    by_id: HashMap<StreamId, usize>,
    /// The lane of each slot's latest stream.
    by_slot: HashMap<u32, usize>,
    done: Vec<u64>,
    events: HashMap<EventId, Stored>,
    markers: HashMap<u32, Stored>,
    legacy: bool,
}

impl Order {
    /// The stream's index; it appears when it is first named.
    pub(crate) fn lane(&mut self, id: StreamId) -> usize {
        if let Some(lane) = self.by_id.get(&id) {
            return *lane;
        }
        let slot = id.raw() as u32;
        let lane = match self.by_slot.get(&slot).copied() {
            Some(lane) if self.lanes[lane].id < id => self.take_over(lane, id),
            // One from before the log: whatever is said of it, it is not the slot's latest.
            Some(_) => self.add_lane(id),
            None => {
                let lane = self.add_lane(id);
                self.by_slot.insert(slot, lane);
                lane
            }
        };
        self.by_id.insert(id, lane);
        lane
    }

    /// The stream's index, if it was named.
    pub(crate) fn known(&self, id: StreamId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// A new stream in the slot of an older one. A slot is given away only when all work of the one before is complete,
    /// and its positions go on; so they share a lane, and a program may create any number of streams.
    fn take_over(&mut self, lane: usize, id: StreamId) -> usize {
        self.complete(Place { lane, seq: self.lanes[lane].head });
        let Lane { head, .. } = self.lanes[lane];
        self.lanes[lane] = Lane { head, ..Lane::new(id) };
        lane
    }

    fn add_lane(&mut self, id: StreamId) -> usize {
        let lane = self.lanes.len();
        self.lanes.push(Lane::new(id));
        self.done.push(0);
        lane
    }

    pub(crate) fn stream(&self, lane: usize) -> StreamId {
        self.lanes[lane].id
    }

    pub(crate) fn streams(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn define(&mut self, id: StreamId, device: DeviceId, kind: StreamKind) {
        let lane = self.lane(id);
        (self.lanes[lane].device, self.lanes[lane].kind) = (Some(device), kind);
        self.legacy |= kind == StreamKind::Legacy;
    }

    /// The stream has come this far.
    pub(crate) fn advance(&mut self, at: Place) {
        let lane = &mut self.lanes[at.lane];
        lane.is_complete &= at.seq <= lane.head;
        lane.head = lane.head.max(at.seq);
    }

    pub(crate) fn head(&self, lane: usize) -> u64 {
        self.lanes[lane].head
    }

    /// The latest position of every stream that is known to be of a device.
    pub(crate) fn heads(&self, of: DeviceId) -> impl Iterator<Item = Place> {
        let lanes = self.lanes.iter().enumerate().filter(move |(_, lane)| lane.device == Some(of));
        lanes.map(|(lane, l)| Place { lane, seq: l.head })
    }

    /// What stood before a position, the position itself included.
    fn clock_at(&self, at: Place) -> Vec<u64> {
        let lane = &self.lanes[at.lane];
        let kept = lane.past.iter().rev().find(|(from, _)| *from <= at.seq);
        let oldest = lane.past.front().filter(|_| lane.past.len() == PAST);
        let mut clock = kept.or(oldest).map_or(Vec::new(), |(_, clock)| clock.clone());
        raise(&mut clock, at);
        clock
    }

    fn join(&mut self, lane: usize, seq: u64, known: &[u64]) {
        let lane = &mut self.lanes[lane];
        if known.iter().enumerate().all(|(t, seq)| entry(&lane.clock, t) >= *seq) {
            return;
        }
        join(&mut lane.clock, known);
        lane.is_complete = false;
        if lane.past.len() == PAST {
            lane.past.pop_front();
        }
        lane.past.push_back((lane.head.max(seq), lane.clock.clone()));
    }

    /// What the default streams add to an action on a stream.
    fn implied_by(&self, lane: usize) -> Vec<usize> {
        let me = &self.lanes[lane];
        let blocking = |kind| matches!(kind, StreamKind::Blocking | StreamKind::PerThread);
        let other = |l: &Lane| match me.kind {
            StreamKind::NonBlocking => false,
            StreamKind::Blocking | StreamKind::PerThread => l.kind == StreamKind::Legacy,
            StreamKind::Legacy => blocking(l.kind),
        };
        if !self.legacy {
            return Vec::new();
        }
        let same = |l: &Lane| l.device == me.device;
        self.lanes.iter().enumerate().filter(|(at, l)| *at != lane && same(l) && other(l)).map(|(at, _)| at).collect()
    }

    /// The clock of an action at a position. With default streams the stream comes after what the action implied.
    fn action(&mut self, at: Place) -> Vec<u64> {
        let mut clock = self.clock_at(at);
        let implied = self.implied_by(at.lane);
        for other in &implied {
            join(&mut clock, &self.lanes[*other].clock);
            raise(&mut clock, Place { lane: *other, seq: self.lanes[*other].head });
        }
        if !implied.is_empty() {
            self.join(at.lane, at.seq, &clock);
        }
        clock
    }

    pub(crate) fn record(&mut self, event: EventId, at: Place, number: u64) {
        let clock = self.action(at);
        self.events.insert(event, Stored { number, at, clock });
    }

    /// It stands for nothing any more; waits keep what they took.
    pub(crate) fn forget_event(&mut self, event: EventId) {
        self.events.remove(&event);
    }

    /// The recording that the event stands for, if it is that one: where it was recorded again in the meantime, nobody
    /// can say which of the two a call in flight met.
    fn stands_for(&self, event: EventId, number: u64) -> Option<&Stored> {
        self.events.get(&event).filter(|stored| stored.number == number)
    }

    pub(crate) fn latest(&self, event: EventId) -> Option<u64> {
        self.events.get(&event).map(|stored| stored.number)
    }

    pub(crate) fn wait(&mut self, at: Place, event: EventId, number: u64) {
        if let Some(stored) = self.stands_for(event, number) {
            let clock = stored.clock.clone();
            self.join(at.lane, at.seq, &clock);
        }
    }

    pub(crate) fn lay(&mut self, marker: u32, at: Place) {
        let clock = self.action(at);
        self.markers.insert(marker, Stored { number: 0, at, clock });
    }

    /// A wait that the pool inserted. Where the log lacks the marker, it is taken at its word.
    pub(crate) fn wait_marker(&mut self, at: Place, marker: u32, on: Place) {
        let clock = match self.markers.get(&marker) {
            Some(stored) => stored.clock.clone(),
            None => self.clock_at(on),
        };
        self.join(at.lane, at.seq, &clock);
    }

    /// Whether the marker stands for the position.
    pub(crate) fn covers(&self, marker: u32, on: Place) -> bool {
        self.markers.get(&marker).is_none_or(|stored| stored.at.lane == on.lane && on.seq <= stored.at.seq)
    }

    /// Everything up to this position is complete, and so is what it came after.
    pub(crate) fn complete(&mut self, at: Place) {
        let clock = self.clock_at(at);
        join(&mut self.done, &clock);
    }

    pub(crate) fn complete_event(&mut self, event: EventId, number: u64) {
        if let Some(stored) = self.stands_for(event, number) {
            let clock = stored.clock.clone();
            join(&mut self.done, &clock);
        }
    }

    /// O(streams) for each stream on which something was done since.
    pub(crate) fn complete_device(&mut self, device: DeviceId) {
        for lane in 0..self.lanes.len() {
            let known = &mut self.lanes[lane];
            if known.device.is_none_or(|d| d == device) && !std::mem::replace(&mut known.is_complete, true) {
                self.complete(Place { lane, seq: self.lanes[lane].head });
            }
        }
    }

    pub(crate) fn settled(&self, place: Place) -> bool {
        place.seq <= self.done[place.lane]
    }

    /// Whether what the stream does next comes after `place`.
    pub(crate) fn reached(&self, lane: usize, place: Place) -> bool {
        let knows = |lane: usize| lane == place.lane || place.seq <= entry(&self.lanes[lane].clock, place.lane);
        knows(lane) || self.settled(place) || self.implied_by(lane).into_iter().any(knows)
    }
}

fn entry(clock: &[u64], lane: usize) -> u64 {
    clock.get(lane).copied().unwrap_or(0)
}

fn raise(clock: &mut Vec<u64>, at: Place) {
    if clock.len() <= at.lane {
        clock.resize(at.lane + 1, 0);
    }
    clock[at.lane] = clock[at.lane].max(at.seq);
}

fn join(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: EventId = EventId::from_raw(1 << 32);

    fn order(kinds: &[StreamKind]) -> Order {
        let mut order = Order::default();
        for (n, kind) in kinds.iter().enumerate() {
            order.define(StreamId::from_raw((1 << 32) | n as u64), DeviceId(0), *kind);
        }
        order
    }

    fn at(lane: usize, seq: u64) -> Place {
        Place { lane, seq }
    }

    #[test]
    fn waits_are_transitive_and_recordings_replace() {
        let mut o = order(&[StreamKind::NonBlocking; 3]);
        o.record(EVENT, at(0, 2), 1);
        o.wait(at(1, 1), EVENT, 1);
        o.record(EVENT, at(1, 2), 2);
        o.wait(at(2, 1), EVENT, 2);
        assert!(o.reached(2, at(0, 2)) && !o.reached(2, at(0, 3)));
        o.wait(at(0, 3), EVENT, 1);
        assert!(!o.reached(0, at(1, 1)), "recording 1 was replaced");
    }

    #[test]
    fn a_recording_knows_what_was_waited_for_before_its_own_position_only() {
        let mut o = order(&[StreamKind::NonBlocking; 3]);
        let late = EventId::from_raw((1 << 32) | 1);
        o.record(EVENT, at(0, 5), 1);
        // On stream 1 a recording at 3 was in flight when the wait at 4 was queued.
        o.wait(at(1, 4), EVENT, 1);
        o.record(late, at(1, 3), 1);
        o.wait(at(2, 1), late, 1);
        assert!(o.reached(2, at(1, 3)) && !o.reached(2, at(0, 5)));
    }

    #[test]
    fn the_host_learns_what_the_completed_came_after() {
        let mut o = order(&[StreamKind::NonBlocking; 3]);
        o.record(EVENT, at(0, 5), 1);
        o.wait(at(1, 4), EVENT, 1);
        o.complete(at(1, 3));
        assert!(!o.settled(at(0, 5)), "the wait is at 4");
        o.complete(at(1, 4));
        assert!(o.settled(at(0, 5)) && !o.settled(at(0, 6)));
    }

    #[test]
    fn a_synchronisation_takes_what_was_done_since_the_last_one() {
        let mut o = order(&[StreamKind::NonBlocking; 2]);
        o.lanes[0].device = Some(DeviceId(1));
        o.record(EVENT, at(0, 5), 1);
        o.advance(at(1, 4));
        o.complete_device(DeviceId(0));
        // On its way since before: its position is not past the head, and what it waited for is new.
        o.wait(at(1, 3), EVENT, 1);
        assert!(o.settled(at(1, 4)) && !o.settled(at(0, 5)));
        o.complete_device(DeviceId(0));
        assert!(o.settled(at(0, 5)) && !o.settled(at(1, 5)));
        o.advance(at(1, 5));
        o.complete_device(DeviceId(0));
        assert!(o.settled(at(1, 5)));
    }

    #[test]
    fn the_legacy_stream_comes_after_blocking_ones_and_before_their_next() {
        let mut o = order(&[StreamKind::Legacy, StreamKind::Blocking, StreamKind::NonBlocking]);
        o.advance(at(1, 9));
        o.advance(at(2, 9));
        assert!(o.reached(0, at(1, 9)) && !o.reached(0, at(2, 9)));
        o.advance(at(0, 3));
        assert!(o.reached(1, at(0, 3)) && !o.reached(2, at(0, 3)));
    }

    #[test]
    fn a_slot_is_given_away_when_its_stream_is_complete() {
        let mut o = order(&[StreamKind::NonBlocking; 2]);
        o.advance(at(1, 9));
        let next = o.lane(StreamId::from_raw((2 << 32) | 1));
        assert!(o.reached(0, at(1, 9)));
        assert_eq!((next, o.head(next), o.streams()), (1, 9, 3), "in the same lane, behind its positions");
    }
}
