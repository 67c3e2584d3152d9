//! What each stream did, and what orders one after another: the happens-before graph of the log, ready to be drawn.
//!
//! A range of records is looked up in blocks of several sizes, so that a picture costs what it shows, and not what the
//! log holds: there may be a hundred thousand streams.

use super::arrows::{Arrows, Tie};
use super::presence::Presence;
use super::{EventIx, Kind, Model, Payload, PoolIx, StreamIx};
use foldhash::HashMap;
use weir::id::{EventId, PoolId, StreamId};
use weir::trace::Record;

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
    /// As one bit of many acts.
    #[must_use]
    pub const fn bit(self) -> u16 {
        1 << self as u16
    }

    fn bit_of(kind: Kind) -> u16 {
        Self::of(kind).map_or(0, Self::bit)
    }

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

impl Lane {
    /// In a column of numbers. 0 is no lane.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Host => 1,
            Self::Stream(stream) => stream.0.saturating_add(2),
        }
    }

    pub(super) const fn of_code(code: u32) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::Host),
            stream => Some(Self::Stream(StreamIx(stream - 2))),
        }
    }
}

/// The pool that something is about, and the lane on which it was done; what orders streams is about no pool.
type Part = (Option<PoolIx>, Lane);

/// The lanes of a log.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The part of each record by its place in the list and 1; 0: it is no lane's.
    of: Vec<u32>,
    /// In their order: those of a pool are neighbours.
    parts: Vec<Part>,
    /// Who did what in which records.
    acts: Presence,
    /// All lanes on which anything was done.
    lanes: Vec<Lane>,
    arrows: [Arrows; 4],
}

impl Lanes {
    /// The lanes on which anything was done: the host, then the streams by their ids.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Who acts in the record; `None` where it is no lane's.
    #[must_use]
    pub fn lane(&self, event: EventIx) -> Option<Lane> {
        self.part(self.of[event.at()]).map(|part| part.1)
    }

    fn part(&self, code: u32) -> Option<Part> {
        self.parts.get((code as usize).checked_sub(1)?).copied()
    }

    /// Whether the record is about this pool, or about none.
    #[must_use]
    pub fn concerns(&self, event: EventIx, pool: PoolIx) -> bool {
        self.part(self.of[event.at()]).is_some_and(|part| part.0.is_none_or(|of| of == pool))
    }

    /// Tells who did what with a pool in the records `from..to`, and what orders the streams: lanes, and their acts as bits
    /// (see [`Act::bit`]). A lane may be told several times. O(log n) times the lanes in a block.
    pub fn each_in(
        &self,
        model: &Model,
        pool: PoolIx,
        (from, to): (EventIx, EventIx),
        mut tell: impl FnMut(Lane, u16),
    ) {
        let single = |at: usize| (self.of[at], Act::bit_of(model.events.kind(EventIx::next_of(at))));
        let wanted = [None, Some(pool)].map(|pool| self.codes(|of| *of < pool)..self.codes(|of| *of <= pool));
        self.acts.each_in((from.at(), to.at()), &wanted, single, |code, acts| {
            if let Some((_, lane)) = self.part(code) {
                tell(lane, acts);
            }
        });
    }

    /// The code behind those of the pools before.
    fn codes(&self, before: impl Fn(&Option<PoolIx>) -> bool) -> u32 {
        u32::try_from(self.parts.partition_point(|part| before(&part.0)) + 1).unwrap_or(u32::MAX)
    }

    /// The arrows of a kind. Memory that stays on its stream, and new memory, has none.
    #[must_use]
    pub const fn arrows(&self, tie: Tie) -> &Arrows {
        &self.arrows[tie as usize]
    }

    /// The records of a lane that are nearest to this one, before (or this one) and after: those about the pool, and those
    /// about none. O(log n).
    pub fn around(&self, lane: Lane, pool: PoolIx, event: EventIx) -> impl Iterator<Item = EventIx> {
        let past = (event.at() + 1).min(self.of.len());
        let places = [None, Some(pool)].into_iter().filter_map(move |of| self.parts.binary_search(&(of, lane)).ok());
        places.flat_map(move |place| {
            let code = u32::try_from(place + 1).unwrap_or(u32::MAX);
            let is = |at: usize| self.of[at] == code;
            let found = [self.acts.last_before(code, past, is), self.acts.first_from(code, past, is)];
            found.into_iter().flatten().map(EventIx::next_of)
        })
    }

    pub(super) fn build(model: &Model) -> Self {
        let count = model.events.len();
        let mut making = Making {
            streams: HashMap::default(),
            recorded: HashMap::default(),
            markers: HashMap::default(),
            pools: HashMap::default(),
            codes: HashMap::default(),
            lanes: Self { of: Vec::with_capacity(count), ..Self::default() },
        };
        for (at, stream) in model.streams.iter().enumerate() {
            making.streams.insert(stream.id, StreamIx::next_of(at));
        }
        for (at, pool) in model.pools.iter().enumerate() {
            making.pools.insert(pool.id, PoolIx::next_of(at));
        }
        for at in 0..count {
            let event = EventIx::next_of(at);
            let code = making.lane_of(model, event).map_or(0, |lane| making.code(lane, making.pool_of(model, event)));
            making.lanes.of.push(code);
        }
        let mut lanes = making.lanes;
        lanes.sort_parts();
        let bit = |at: usize| Act::bit_of(model.events.kind(EventIx::next_of(at)));
        lanes.acts = Presence::build(&lanes.of, bit);
        lanes.list(model);
        lanes
    }

    /// Until here they stand in the order in which they came.
    fn sort_parts(&mut self) {
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_unstable_by_key(|at| self.parts[*at]);
        let mut codes = vec![0; self.parts.len() + 1];
        for (code, at) in (1..).zip(&order) {
            codes[at + 1] = code;
        }
        self.of.iter_mut().for_each(|code| *code = codes[*code as usize]);
        self.parts.sort_unstable();
    }

    fn list(&mut self, model: &Model) {
        self.lanes = self.parts.iter().map(|part| part.1).collect();
        self.lanes.sort_unstable();
        self.lanes.dedup();
        model.sort_lanes(&mut self.lanes);
    }
}

struct Making {
    streams: HashMap<StreamId, StreamIx>,
    /// The latest recording of each event: its number, its record, its lane.
    recorded: HashMap<EventId, (u64, EventIx, Lane)>,
    markers: HashMap<u32, (EventIx, Lane)>,
    pools: HashMap<PoolId, PoolIx>,
    codes: HashMap<Part, u32>,
    lanes: Lanes,
}

impl Making {
    fn lane(&self, stream: StreamId) -> Lane {
        self.streams.get(&stream).map_or(Lane::Host, |at| Lane::Stream(*at))
    }

    fn code(&mut self, lane: Lane, pool: Option<PoolIx>) -> u32 {
        let parts = &mut self.lanes.parts;
        *self.codes.entry((pool, lane)).or_insert_with(|| {
            parts.push((pool, lane));
            u32::try_from(parts.len()).unwrap_or(u32::MAX)
        })
    }

    /// The pool that a record is about, if it is about one.
    fn pool_of(&self, model: &Model, event: EventIx) -> Option<PoolIx> {
        match model.events.payload(event) {
            Payload::Life(life) => Some(model.life(life).pool),
            Payload::Other(
                Record::Use { pool, .. } | Record::OutOfMemory { pool, .. } | Record::Refused { pool: Some(pool), .. },
            ) => self.pools.get(&pool).copied(),
            Payload::Other(_) => None,
        }
    }

    fn tie(&mut self, tie: Tie, from: (EventIx, Lane), to: EventIx) {
        self.lanes.arrows[tie as usize].push(from.0, from.1, to);
    }

    /// Whose the record is; its arrows are drawn.
    fn lane_of(&mut self, model: &Model, event: EventIx) -> Option<Lane> {
        let act = Act::of(model.events.kind(event))?;
        Some(match model.events.payload(event) {
            Payload::Life(life) if act == Act::Malloc => {
                self.reuse(model, life, event);
                Lane::Stream(model.life(life).stream)
            }
            Payload::Life(life) => Lane::Stream(model.freed_on(life)),
            Payload::Other(record) => self.order(event, &record),
        })
    }

    /// Where the bytes of a malloc came from, if that was another stream.
    fn reuse(&mut self, model: &Model, at: super::LifeIx, event: EventIx) {
        let life = model.life(at);
        if life.source.is_none() {
            return;
        }
        for link in model.came_from(at) {
            let (earlier, freed_on) = (model.life(link.life), model.freed_on(link.life));
            if let Some(died) = earlier.died().filter(|_| freed_on != life.stream) {
                self.tie(Tie::Reuse, (died, Lane::Stream(freed_on)), event);
            }
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
                self.after(Tie::Wait, id, number, event);
                self.lane(stream)
            }
            Record::MarkerLaid { marker, stream, .. } => {
                let lane = self.lane(stream);
                self.markers.insert(marker, (event, lane));
                lane
            }
            Record::WaitInserted { stream, marker, .. } => {
                if let Some(laid) = self.markers.get(&marker).copied() {
                    self.tie(Tie::Inserted, laid, event);
                }
                self.lane(stream)
            }
            Record::OutOfMemory { stream, .. } | Record::Refused { stream: Some(stream), .. } => self.lane(stream),
            _ => self.host(event, record),
        }
    }

    /// The host learns that something is complete.
    fn host(&mut self, event: EventIx, record: &Record<'_>) -> Lane {
        match *record {
            Record::StreamSynchronized { stream, .. }
            | Record::Asked { stream, complete: true, .. }
            | Record::Blocked { on: weir::error::Point { stream, .. }, .. } => {
                self.tie(Tie::Sync, (event, self.lane(stream)), event);
            }
            Record::EventSynchronized { event: id, number } | Record::Queried { event: id, number, complete: true } => {
                self.after(Tie::Sync, id, number, event);
            }
            _ => {}
        }
        Lane::Host
    }

    /// An arrow from a recording, if it is the one that the log has last.
    fn after(&mut self, tie: Tie, id: EventId, number: u64, to: EventIx) {
        if let Some((latest, from, lane)) = self.recorded.get(&id).copied()
            && latest == number
        {
            self.tie(tie, (from, lane), to);
        }
    }
}

impl Model {
    /// Puts the host first, then the streams by their ids.
    pub fn sort_lanes(&self, lanes: &mut [Lane]) {
        lanes.sort_unstable_by_key(|lane| match lane {
            Lane::Host => None,
            Lane::Stream(stream) => Some(self.stream(*stream).rank),
        });
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
