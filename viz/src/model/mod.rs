//! The model: what a log says, as tables and curves. Knows no files and no pictures.

mod arrows;
mod blocks;
mod build;
mod curve;
mod events;
mod findings;
mod flows;
mod groups;
mod index;
mod lanes;
mod later;
mod life;
mod moves;
mod owned;
mod owners;
mod packed;
mod pool;
mod presence;
#[cfg(test)]
mod scale;
mod settle;
mod stated;
mod stays;
mod summary;
mod times;
mod unrecorded;

pub use arrows::{Arrow, Arrows, Tie};
pub use blocks::FreeBlock;
pub use build::Builder;
pub use curve::Curve;
pub use events::{Axis, Events, Kind, Payload};
pub use findings::{Findings, Flag};
pub use flows::{Amount, Handed, Party, relied_on};
pub use groups::{By, Group, Groups, Held, MOST_GROUPS, Span, total};
pub use index::{EventIx, FindingIx, LifeIx, NameIx, PoolIx, StreamIx};
pub use lanes::{Act, Lane, Lanes};
use later::Later;
pub use life::{Birth, Death, Life, WaitedFor};
pub use moves::Move;
pub use owners::Link;
pub(crate) use owners::Spans;
pub use pool::{Definition, Hole, Pool, Run, Signs, State};
pub use summary::{Part, Patch, Summed};
pub use unrecorded::{Fact, Unrecorded};

use foldhash::HashMap;
use std::ops::Range;
use std::sync::OnceLock;
use weir::driver::Properties;
use weir::error::Point;
use weir::id::{DeviceId, StreamId};
use weir::policy::StreamKind;
use weir::trace::{Points, Record, Stamped};
use weir::units::Nanos;

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its id.
    pub id: StreamId,
    /// Its device and kind, where the log has its definition.
    pub definition: Option<(DeviceId, StreamKind)>,
    /// Its place among all streams by id: what colours go by.
    pub rank: usize,
    /// Its successful mallocs.
    pub mallocs: usize,
}

/// A user's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkAt {
    /// Its record.
    pub event: EventIx,
    /// Its name.
    pub name: NameIx,
}

/// Something in the log that does not fit together; what follows from it is marked "not recorded".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// The record where it was noticed.
    pub event: EventIx,
    /// What it is.
    pub what: String,
}

/// A place where records are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first record after it; the one before that is the last before it.
    pub event: EventIx,
    /// How many are missing.
    pub records: u64,
}

/// What a log says.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Its records.
    pub events: Events,
    /// Its allocations, in the order in which their first record stands in the log.
    pub lives: Vec<Life>,
    /// Its pools, in the order of their first record.
    pub pools: Vec<Pool>,
    /// Its streams, in the order of their first record.
    pub streams: Vec<Stream>,
    /// Its devices.
    pub devices: Vec<(DeviceId, Properties)>,
    /// The user's marks.
    pub marks: Vec<MarkAt>,
    /// Where records are missing, in their order.
    pub gaps: Vec<Gap>,
    /// What does not fit together; the first ones, where there are very many.
    pub oddities: Vec<Oddity>,
    /// How many places there are that do not fit together.
    pub odd: u64,
    /// What is wrong, once the log was checked.
    pub findings: Findings,
    /// What the log lacks throughout: it was translated from another allocator's.
    pub unrecorded: Unrecorded,
    /// The version that wrote the log.
    pub version: Option<(u16, u16, u16)>,
    lanes: OnceLock<Lanes>,
    flows: OnceLock<flows::Flows>,
    names: Vec<String>,
    points: Vec<Point>,
    /// Of the lives that waited for more points than fit: the epochs.
    epochs: Vec<(LifeIx, u64)>,
    links: Vec<Link>,
    later: OnceLock<Later>,
    uses: Vec<(LifeIx, EventIx)>,
    /// The same by record.
    used_at: Vec<(EventIx, LifeIx)>,
    /// The streams that allocated, by their ids.
    allocating: Vec<StreamIx>,
    /// Synchronisations, which concern every pool.
    syncs: Vec<EventIx>,
    /// Refusals and failures of the driver that name no pool.
    refusals: Vec<EventIx>,
    /// Of each pool, once they were worked out.
    pending: OnceLock<Vec<Curve>>,
    /// When each pool may hold memory.
    held: OnceLock<Vec<Range<EventIx>>>,
}

impl Model {
    /// A model of these records.
    pub fn of<'a>(records: impl IntoIterator<Item = Stamped<'a>>) -> Self {
        let mut builder = Builder::default();
        for record in records {
            builder.push(&record);
        }
        builder.finish()
    }

    /// Works out what pictures are drawn from, which would be waited for once it is asked for. O(n log n).
    pub fn prepare(&self) {
        // Neither needs the other.
        std::thread::scope(|threads| {
            threads.spawn(|| {
                self.flows();
                self.later();
                let _ = self.held();
                (0..self.pools.len()).for_each(|pool| {
                    self.summary(PoolIx::next_of(pool), Summed::Stream);
                });
            });
            let _ = self.lanes();
        });
    }

    /// What each stream did, and what orders one after another.
    #[must_use]
    pub fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::build(self))
    }

    /// Whether that was done, so that nobody waits for [`lanes`](Self::lanes), [`handed`](Self::handed) and
    /// [`went_to`](Self::went_to).
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        self.lanes.get().is_some() && self.flows.get().is_some() && self.later.get().is_some()
    }

    fn held(&self) -> &[Range<EventIx>] {
        self.held.get_or_init(|| self.pools.iter().map(|pool| pool.reserved.span()).collect())
    }

    /// The pools that hold memory once the record has taken effect. O(pools), in one table.
    pub fn holding(&self, event: EventIx) -> impl Iterator<Item = PoolIx> {
        let may = self.held().iter().enumerate().filter(move |(_, span)| span.contains(&event));
        may.map(|(at, _)| PoolIx::next_of(at)).filter(move |pool| self.pool(*pool).reserved.after(event) > 0)
    }

    fn flows(&self) -> &flows::Flows {
        self.flows.get_or_init(|| flows::Flows::build(self))
    }

    fn later(&self) -> &Later {
        self.later.get_or_init(|| Later::build(self))
    }

    /// The life.
    #[must_use]
    pub fn life(&self, life: LifeIx) -> &Life {
        &self.lives[life.at()]
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self, pool: PoolIx) -> &Pool {
        &self.pools[pool.at()]
    }

    /// Synchronisations of streams, events and devices since the pool's first record, and its own waits on the host.
    #[must_use]
    pub fn syncs(&self, pool: PoolIx) -> Signs<'_> {
        let pool = self.pool(pool);
        Signs { own: &pool.waits, shared: self.syncs.get(pool.shared_from.0..).unwrap_or_default() }
    }

    /// Refused calls of the pool, out of memory among them, and those since its first record that name no pool.
    #[must_use]
    pub fn refusals(&self, pool: PoolIx) -> Signs<'_> {
        let pool = self.pool(pool);
        Signs { own: &pool.refusals, shared: self.refusals.get(pool.shared_from.1..).unwrap_or_default() }
    }

    /// Refused calls that name the pool, out of memory among them.
    #[must_use]
    pub fn refusals_of(&self, pool: PoolIx) -> Signs<'_> {
        Signs::own(&self.pool(pool).refusals)
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self, stream: StreamIx) -> &Stream {
        &self.streams[stream.at()]
    }

    /// The streams that allocated anything, by their ids.
    #[must_use]
    pub fn allocating(&self) -> &[StreamIx] {
        &self.allocating
    }

    /// The name; empty for no name.
    #[must_use]
    pub fn name(&self, name: NameIx) -> &str {
        self.names.get(name.at()).map_or("", String::as_str)
    }

    /// How many names there are, the empty one among them.
    #[must_use]
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    /// What the life's malloc waited for.
    #[must_use]
    pub fn waited_for(&self, life: LifeIx) -> WaitedFor<'_> {
        let next = self.lives.get(life.at() + 1).map_or(self.points.len(), |next| next.points as usize);
        let epoch = self.epochs.binary_search_by_key(&life, |epoch| epoch.0).map_or(0, |at| self.epochs[at].1);
        WaitedFor { points: &self.points[self.life(life).points as usize..next], epoch }
    }

    /// The allocations that had some of its bytes before, since those were last mapped; in address order.
    #[must_use]
    pub fn came_from(&self, life: LifeIx) -> &[Link] {
        let next = self.lives.get(life.at() + 1).map_or(self.links.len(), |next| next.from as usize);
        &self.links[self.life(life).from as usize..next]
    }

    /// The allocations that got some of its bytes next, in the order of their mallocs.
    #[must_use]
    pub fn went_to(&self, life: LifeIx) -> &[Link] {
        self.later().of(life)
    }

    /// The recorded uses of the life by other streams.
    pub fn uses(&self, life: LifeIx) -> impl Iterator<Item = EventIx> {
        let from = self.uses.partition_point(|u| u.0 < life);
        self.uses[from..].iter().take_while(move |u| u.0 == life).map(|u| u.1)
    }

    /// The latest allocation of this id, if there is one.
    #[must_use]
    pub fn life_of_id(&self, id: u64) -> Option<LifeIx> {
        let at = self.lives.iter().rposition(|l| l.id.0 == id)?;
        Some(LifeIx::next_of(at))
    }

    /// The life that the record belongs to.
    #[must_use]
    pub fn life_at(&self, event: EventIx) -> Option<LifeIx> {
        match self.events.payload(event) {
            Payload::Life(life) => Some(life),
            Payload::Other(Record::Use { .. }) => {
                let at = self.used_at.binary_search_by_key(&event, |used| used.0).ok()?;
                Some(self.used_at[at].1)
            }
            Payload::Other(_) => None,
        }
    }

    /// Takes the pending bytes of each pool, worked out by [`pending`](crate::reach::pending). The first ones count.
    pub fn take_pending(&self, pools: Vec<Curve>) {
        let _ = self.pending.set(pools);
    }

    /// The bytes of a pool that are free, but wait for work; `None` until they are worked out.
    #[must_use]
    pub fn pending(&self, pool: PoolIx) -> Option<&Curve> {
        self.pending.get()?.get(pool.at())
    }

    /// The pool just after the record.
    #[must_use]
    pub fn state(&self, pool: PoolIx, event: EventIx) -> State {
        let mut live = 0;
        self.each_live(pool, event, |_| live += 1);
        let pool = self.pool(pool);
        State {
            used: pool.used.after(event),
            reserved: pool.reserved.after(event),
            threshold: pool.threshold.after(event),
            live,
        }
    }

    /// The record as it stands in the log.
    #[must_use]
    pub fn record(&self, event: EventIx) -> Stamped<'_> {
        let record = match self.events.payload(event) {
            Payload::Life(life) if self.events.kind(event) == Kind::Malloc => self.malloc_record(life),
            Payload::Life(life) => self.free_record(life),
            Payload::Other(Record::Mark { label, .. }) => {
                let mark = self.marks.binary_search_by_key(&event, |m| m.event).ok().map(|at| &self.marks[at]);
                Record::Mark { label, name: mark.map_or("", |m| self.name(m.name)) }
            }
            Payload::Other(record) => record,
        };
        Stamped { number: self.events.number(event), time: Nanos(self.events.time(event)), record }
    }

    fn malloc_record(&self, at: LifeIx) -> Record<'_> {
        let life = self.life(at);
        let waited = self.waited_for(at);
        let mut points = Points { epoch: waited.epoch, ..Points::default() };
        for (slot, point) in points.list.iter_mut().zip(waited.points) {
            *slot = Some(*point);
        }
        Record::Malloc {
            pool: self.pool(life.pool).id,
            stream: self.stream(life.stream).id,
            seq: life.seq,
            id: life.id,
            asked: life.asked().unwrap_or(life.given),
            given: life.given,
            offset: life.offset,
            source: life.source.unwrap_or(weir::trace::Source::Grow),
            label: life.label,
            points,
        }
    }

    fn free_record(&self, at: LifeIx) -> Record<'_> {
        let life = self.life(at);
        let (stream, seq) = match life.death {
            Death::Free { stream, seq, .. } => (stream, seq),
            _ => (life.stream, life.seq),
        };
        Record::Free {
            pool: self.pool(life.pool).id,
            stream: self.stream(stream).id,
            seq,
            id: life.id,
            offset: life.offset,
            given: life.given,
        }
    }

    /// The blocks that end without a free of their own, with their pool or the program, by the record that ends them.
    #[must_use]
    pub fn ended_with(&self) -> HashMap<EventIx, Vec<LifeIx>> {
        let mut ended: HashMap<EventIx, Vec<LifeIx>> = HashMap::default();
        for (at, life) in self.lives.iter().enumerate() {
            if let Death::Destroyed(event) = life.death {
                ended.entry(event).or_default().push(LifeIx::next_of(at));
            }
        }
        ended
    }

    /// The pool with most allocations: what to show first.
    #[must_use]
    pub fn busiest_pool(&self) -> Option<PoolIx> {
        let busiest = |(at, pool): &(usize, &Pool)| (pool.lives.len(), std::cmp::Reverse(*at));
        let (at, _) = self.pools.iter().enumerate().max_by_key(busiest)?;
        Some(PoolIx::next_of(at))
    }
}
