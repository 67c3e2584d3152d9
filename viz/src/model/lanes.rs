//! What each stream did, and what orders one after another: the happens-before graph of the log, ready to be drawn.
//!
//! Every list is in the log's order, so that a range of records is found by searching and not by walking.

use super::{EventIx, Kind, Model, Payload, StreamIx};
use std::collections::{BTreeMap, HashMap};
use weir::id::{EventId, StreamId};
use weir::trace::{Record, Source};

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The host, and what belongs to no stream.
    Host,
    /// A stream.
    Stream(StreamIx),
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// A malloc.
    Malloc,
    /// A free.
    Free,
    /// A use of another stream's block.
    Use,
    /// An event is recorded.
    Record,
    /// A wait of the program's.
    Wait,
    /// A wait that the pool inserted.
    Inserted,
    /// A marker of the pool's.
    Marker,
    /// The host waits for a stream or event, or learns that it is complete.
    Sync,
    /// The host waits for a whole device.
    SyncDevice,
    /// Something was refused or failed.
    Refused,
}

impl Act {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Malloc,
        Self::Free,
        Self::Use,
        Self::Record,
        Self::Wait,
        Self::Inserted,
        Self::Marker,
        Self::Sync,
        Self::SyncDevice,
        Self::Refused,
    ];

    /// What a record of this kind does; `None` where it is no lane's.
    #[must_use]
    pub const fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Malloc => Self::Malloc,
            Kind::Free => Self::Free,
            Kind::Use => Self::Use,
            Kind::Recorded => Self::Record,
            Kind::Waited => Self::Wait,
            Kind::WaitInserted => Self::Inserted,
            Kind::MarkerLaid => Self::Marker,
            Kind::StreamSynchronized | Kind::EventSynchronized | Kind::Queried | Kind::Asked | Kind::Blocked => {
                Self::Sync
            }
            Kind::DeviceSynchronized => Self::SyncDevice,
            Kind::OutOfMemory | Kind::Refused | Kind::DriverFailed => Self::Refused,
            _ => return None,
        })
    }
}

/// What ties two lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// Memory: freed there, allocated here, for this reason.
    Reuse(Source),
    /// The host came after a stream.
    Sync,
    /// A recorded event was waited for.
    Wait,
    /// The pool made one stream wait for another.
    Inserted,
}

/// The arrows of one kind from one lane to another, by the record that they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrows {
    from: Vec<EventIx>,
    to: Vec<EventIx>,
    /// Bytes of all arrows before this one.
    before: Vec<u64>,
    bytes: u64,
}

impl Arrows {
    fn push(&mut self, from: EventIx, to: EventIx, bytes: u64) {
        self.from.push(from);
        self.to.push(to);
        self.before.push(self.bytes);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Both ends of one.
    #[must_use]
    pub fn ends(&self, at: usize) -> (EventIx, EventIx) {
        (self.from[at], self.to[at])
    }

    /// The first one that leads to this record or a later one. O(log n).
    #[must_use]
    pub fn first_to(&self, event: EventIx) -> usize {
        self.to.partition_point(|e| *e < event)
    }

    /// How many lead to the records of a range, and the bytes that they carry. O(log n).
    #[must_use]
    pub fn carried(&self, from: EventIx, to: EventIx) -> (usize, u64) {
        let (first, past) = (self.first_to(from), self.first_to(to));
        let before = |at: usize| self.before.get(at).copied().unwrap_or(self.bytes);
        (past - first, before(past) - before(first))
    }
}

/// The lanes of a log.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    acts: BTreeMap<(Lane, Act), Vec<EventIx>>,
    arrows: BTreeMap<(Tie, Lane, Lane), Arrows>,
}

impl Lanes {
    /// What each lane did, by kind.
    pub fn acts(&self) -> impl Iterator<Item = (Lane, Act, &[EventIx])> {
        self.acts.iter().map(|((lane, act), events)| (*lane, *act, events.as_slice()))
    }

    /// The records of this kind on this lane.
    #[must_use]
    pub fn of(&self, lane: Lane, act: Act) -> &[EventIx] {
        self.acts.get(&(lane, act)).map_or(&[], Vec::as_slice)
    }

    /// The arrows by kind and lanes.
    pub fn arrows(&self) -> impl Iterator<Item = (Tie, Lane, Lane, &Arrows)> {
        self.arrows.iter().map(|((tie, from, to), arrows)| (*tie, *from, *to, arrows))
    }

    /// The record of a lane that is nearest to this one, before or after. O(log n).
    #[must_use]
    pub fn around(&self, lane: Lane, event: EventIx) -> [Option<EventIx>; 2] {
        let of_lane = || Act::ALL.iter().map(|act| self.of(lane, *act));
        let before = of_lane().filter_map(|events| events[..events.partition_point(|e| *e <= event)].last());
        let after = of_lane().filter_map(|events| events.get(events.partition_point(|e| *e <= event)));
        [before.max().copied(), after.min().copied()]
    }

    pub(super) fn build(model: &Model) -> Self {
        let mut making = Making {
            streams: HashMap::new(),
            recorded: HashMap::new(),
            markers: HashMap::new(),
            lanes: Self::default(),
        };
        for (at, stream) in model.streams.iter().enumerate() {
            making.streams.insert(stream.id, StreamIx::next_of(at));
        }
        for at in 0..model.events.len() {
            making.push(model, EventIx::next_of(at));
        }
        making.lanes
    }
}

struct Making {
    streams: HashMap<StreamId, StreamIx>,
    /// The latest recording of each event: its number, its record, its lane.
    recorded: HashMap<EventId, (u64, EventIx, Lane)>,
    markers: HashMap<u32, (EventIx, Lane)>,
    lanes: Lanes,
}

impl Making {
    fn lane(&self, stream: StreamId) -> Lane {
        self.streams.get(&stream).map_or(Lane::Host, |at| Lane::Stream(*at))
    }

    fn tie(&mut self, tie: Tie, from: (EventIx, Lane), to: (EventIx, Lane), bytes: u64) {
        self.lanes.arrows.entry((tie, from.1, to.1)).or_default().push(from.0, to.0, bytes);
    }

    fn push(&mut self, model: &Model, event: EventIx) {
        let Some(act) = Act::of(model.events.kind(event)) else {
            return;
        };
        let lane = match model.events.payload(event) {
            Payload::Life(life) if act == Act::Malloc => {
                self.reuse(model, life, event);
                Lane::Stream(model.life(life).stream)
            }
            Payload::Life(life) => Lane::Stream(model.freed_on(life)),
            Payload::Other(record) => self.order(event, &record),
        };
        self.lanes.acts.entry((lane, act)).or_default().push(event);
    }

    /// Where the bytes of a malloc came from. What nobody had before is new.
    fn reuse(&mut self, model: &Model, at: super::LifeIx, event: EventIx) {
        let life = model.life(at);
        let Some(source) = life.source else {
            return;
        };
        let here = (event, Lane::Stream(life.stream));
        let mut known = 0_u64;
        for link in model.came_from(at) {
            let earlier = model.life(link.life);
            let Some(died) = earlier.died() else { continue };
            known = link.bytes.saturating_add(known);
            self.tie(Tie::Reuse(source), (died, Lane::Stream(model.freed_on(link.life))), here, link.bytes);
        }
        if known < life.given.0 {
            self.tie(Tie::Reuse(source), (event, Lane::Host), here, life.given.0 - known);
        }
    }

    /// The lane of a record that is no malloc or free; its arrows are drawn.
    fn order(&mut self, event: EventIx, record: &Record<'_>) -> Lane {
        match *record {
            Record::Use { stream, .. } => self.lane(stream),
            Record::Recorded { event: id, stream, number, .. } => {
                let lane = self.lane(stream);
                self.recorded.insert(id, (number, event, lane));
                lane
            }
            Record::Waited { stream, event: id, number, .. } => {
                let lane = self.lane(stream);
                self.after(Tie::Wait, id, number, (event, lane));
                lane
            }
            Record::MarkerLaid { marker, stream, .. } => {
                let lane = self.lane(stream);
                self.markers.insert(marker, (event, lane));
                lane
            }
            Record::WaitInserted { stream, marker, .. } => {
                let here = (event, self.lane(stream));
                if let Some(laid) = self.markers.get(&marker).copied() {
                    self.tie(Tie::Inserted, laid, here, 0);
                }
                here.1
            }
            Record::OutOfMemory { stream, .. } | Record::Refused { stream: Some(stream), .. } => self.lane(stream),
            _ => self.host(event, record),
        }
    }

    /// The host learns that something is complete.
    fn host(&mut self, event: EventIx, record: &Record<'_>) -> Lane {
        let here = (event, Lane::Host);
        match *record {
            Record::StreamSynchronized { stream, .. }
            | Record::Asked { stream, complete: true, .. }
            | Record::Blocked { on: weir::error::Point { stream, .. }, .. } => {
                let there = (event, self.lane(stream));
                self.tie(Tie::Sync, there, here, 0);
            }
            Record::EventSynchronized { event: id, number } | Record::Queried { event: id, number, complete: true } => {
                self.after(Tie::Sync, id, number, here);
            }
            _ => {}
        }
        Lane::Host
    }

    /// An arrow from a recording, if it is the one that the log has last.
    fn after(&mut self, tie: Tie, id: EventId, number: u64, to: (EventIx, Lane)) {
        if let Some((latest, from, lane)) = self.recorded.get(&id).copied()
            && latest == number
        {
            self.tie(tie, (from, lane), to, 0);
        }
    }
}

impl Model {
    /// The stream that freed the life; the one that allocated it where the free is not recorded.
    #[must_use]
    pub fn freed_on(&self, life: super::LifeIx) -> StreamIx {
        let life = self.life(life);
        match life.death {
            super::Death::Free { stream, .. } => stream,
            _ => life.stream,
        }
    }
}
