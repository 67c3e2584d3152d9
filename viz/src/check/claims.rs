//! Holds what a record says against the records before it: what it names is there, its stream has got that far, and its
//! figures are what those come to.
//!
//! Judged where a log is whole from its beginning on, and only what holds however many threads were on the way: a call that
//! waits for the driver has a position, and memory, that are logged when it is over.

use super::finding::{Fault, Memory, What};
use super::judge::Checker;
use super::memory::Ended;
use crate::model::Kind;
use foldhash::{HashMap, HashSet};
use std::hash::Hash;
use weir::driver::Properties;
use weir::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::StreamKind;
use weir::trace::{Points, Record, Refusal, Source, Stamped, UnmapReason};
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

/// So many calls are never on the way on one stream at once.
const IN_FLIGHT: u64 = 1 << 10;

/// So many calls on one stream are never over while one is on its way.
const OVERTAKEN: u64 = 1 << 20;

/// The clock is read with the record's number. It may be another core's, but never that far behind.
const BEHIND: Nanos = Nanos(1_000_000_000);

/// What there is, of what is made and destroyed.
#[derive(Debug)]
struct There<T> {
    now: HashSet<T>,
    /// One was made: then a log tells of each.
    told: bool,
    gone: HashSet<T>,
}

impl<T> Default for There<T> {
    fn default() -> Self {
        Self { now: HashSet::default(), told: false, gone: HashSet::default() }
    }
}

impl<T: Eq + Hash> There<T> {
    /// It is made; false where that was before.
    fn make(&mut self, id: T) -> bool {
        self.told = true;
        !self.gone.contains(&id) && self.now.insert(id)
    }

    /// It is destroyed; false where it was not there.
    fn destroy(&mut self, id: T) -> bool {
        let known = self.now.remove(&id) || !self.told;
        self.gone.insert(id) && known
    }

    fn has(&self, id: &T) -> bool {
        !self.gone.contains(id) && (!self.told || self.now.contains(id))
    }

    /// Whether it is there, or was.
    fn had(&self, id: &T) -> bool {
        self.gone.contains(id) || self.has(id)
    }
}

/// The positions of a stream's latest calls: how far it is, and which of the last 64 up to there are taken, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Positions {
    head: u64,
    taken: u64,
}

impl Positions {
    /// A call takes a position; false where another one has it.
    fn take(&mut self, seq: u64) -> bool {
        if seq > self.head {
            let by = seq - self.head;
            self.taken = self.taken.checked_shl(u32::try_from(by).unwrap_or(u32::MAX)).unwrap_or(0) | 1;
            self.head = seq;
            return true;
        }
        let bit = u32::try_from(self.head - seq).ok().and_then(|behind| 1_u64.checked_shl(behind)).unwrap_or(0);
        let free = self.taken & bit == 0;
        self.taken |= bit;
        free
    }
}

/// What the records so far come to, beside what the rest of the checker keeps.
#[derive(Debug, Default)]
pub(super) struct Claims {
    streams: There<StreamId>,
    events: There<EventId>,
    pools: There<PoolId>,
    /// By slot: a stream goes on where the one before it in its slot ended.
    positions: HashMap<u32, Positions>,
    /// The latest recording of each slot's events: they are counted on from one event to the next.
    recordings: HashMap<u32, u64>,
    devices: HashMap<DeviceId, Properties>,
    extents: HashMap<PoolId, (DevicePtr, Bytes, DeviceId, Bytes)>,
    homes: HashMap<StreamId, (DeviceId, StreamKind)>,
    labels: HashSet<LabelId>,
    /// How many there are; `None` before the log's beginning.
    markers: Option<u32>,
    /// A definition since the last record does not agree with an earlier one.
    redefined: bool,
    /// There are streams that come after each other without events.
    tied: bool,
    /// Growths that have begun, by the number of their call.
    growing: HashSet<u64>,
    /// The latest reading of the clock.
    time: Nanos,
}

impl Claims {
    /// Definitions are repeated, and stay what they were. What is wrong is told with the record that they stand before.
    pub(super) fn define(&mut self, record: &Record<'_>) {
        let agrees = match *record {
            Record::DeviceDef { device, properties } => same(&mut self.devices, device, properties),
            Record::StreamDef { stream, device, kind } => {
                self.tied |= kind != StreamKind::NonBlocking;
                same(&mut self.homes, stream, (device, kind)) && is_known(&self.devices, &device)
            }
            Record::PoolDef { pool, base, range, config } => {
                let fixed = (base, range, config.device, config.limit);
                same(&mut self.extents, pool, fixed) && is_known(&self.devices, &config.device)
            }
            Record::LabelDef { label, .. } => {
                self.labels.insert(label);
                true
            }
            _ => true,
        };
        self.redefined |= !agrees;
    }

    /// Whether all that a record names is there; makes and destroys what the record says.
    fn are_there(&mut self, record: &Record<'_>) -> bool {
        match *record {
            Record::PoolCreated { pool } => self.pools.make(pool) && is_known(&self.extents, &pool),
            Record::StreamCreated { stream } => self.streams.make(stream) && is_known(&self.homes, &stream),
            Record::EventCreated { event } => self.events.make(event),
            Record::PoolDestroyed { pool, .. } => self.pools.destroy(pool),
            Record::StreamDestroyed { stream } => self.streams.destroy(stream),
            Record::EventDestroyed { event } => self.events.destroy(event),
            Record::Malloc { pool, stream, label, .. } => {
                let labelled = label == LabelId::NONE || self.labels.is_empty() || self.labels.contains(&label);
                self.pools.has(&pool) && self.streams.has(&stream) && labelled
            }
            Record::Free { pool, stream, .. }
            | Record::Use { pool, stream, .. }
            | Record::OutOfMemory { pool, stream, .. }
            | Record::Blocked { pool, stream, .. }
            | Record::MappedInOrder { pool, stream, .. }
            | Record::GrowPlanned { pool, stream, .. } => self.pools.has(&pool) && self.streams.has(&stream),
            // What is mapped goes when its pool is gone, too.
            Record::UnmappedInOrder { pool, stream, .. } => self.pools.had(&pool) && self.streams.has(&stream),
            Record::Unmapped { pool, reason: UnmapReason::Destroy, .. } => {
                self.pools.had(&pool) && !self.pools.has(&pool)
            }
            Record::Unmapped { pool, .. } => self.pools.had(&pool),
            Record::Recorded { event, stream, .. } | Record::Waited { event, stream, .. } => {
                self.events.has(&event) && self.streams.has(&stream)
            }
            Record::MarkerLaid { marker, stream, .. } | Record::WaitInserted { marker, stream, .. } => {
                self.streams.has(&stream) && self.markers.is_none_or(|markers| marker < markers)
            }
            // What a stream did is asked when it is destroyed, too.
            Record::Asked { stream, .. } | Record::StreamSynchronized { stream, .. } => self.streams.had(&stream),
            Record::Queried { event, .. } | Record::EventSynchronized { event, .. } | Record::EventReset { event } => {
                self.events.has(&event)
            }
            Record::Mapped { pool, .. }
            | Record::AttributeSet { pool, .. }
            | Record::PoolTuned { pool, .. }
            | Record::GrowAborted { pool, .. }
            | Record::Pressed { pool, .. }
            | Record::Kept { pool, .. }
            | Record::Trimmed { pool, .. }
            | Record::TrimPending { pool, .. } => self.pools.has(&pool),
            _ => true,
        }
    }

    /// Whether the stream can be where the record says, and whether what the record names has been.
    fn is_in_step(&mut self, record: &Record<'_>) -> bool {
        let is_own = self.take_position(record);
        let known = |positions: &HashMap<u32, Positions>, stream: StreamId, seq: Seq| {
            let head = positions.get(&(stream.raw() as u32)).map_or(0, |positions| positions.head);
            seq.0 <= head.saturating_add(IN_FLIGHT)
        };
        let named = match *record {
            Record::Malloc { points, .. } => {
                points.list.iter().flatten().all(|point| known(&self.positions, point.stream, point.seq))
            }
            Record::Asked { stream, seq, .. } | Record::StreamSynchronized { stream, seq } => {
                known(&self.positions, stream, seq)
            }
            Record::Blocked { on, .. } | Record::TrimPending { on, .. } => known(&self.positions, on.stream, on.seq),
            // It has the position of the malloc that it is for.
            Record::WaitInserted { stream, seq, on, .. } => {
                known(&self.positions, stream, seq) && known(&self.positions, on.stream, on.seq)
            }
            Record::Recorded { event, number, .. } => {
                let latest = self.recordings.entry(event.raw() as u32).or_default();
                let new = number != *latest && number <= latest.saturating_add(IN_FLIGHT);
                *latest = number.max(*latest);
                new
            }
            Record::Waited { event, number, .. }
            | Record::Queried { event, number, .. }
            | Record::EventSynchronized { event, number } => {
                number <= self.recordings.get(&(event.raw() as u32)).copied().unwrap_or(0).saturating_add(IN_FLIGHT)
            }
            Record::GrowPlanned { call, .. } => self.growing.insert(call),
            Record::GrowAborted { call, .. } => self.growing.remove(&call),
            _ => true,
        };
        is_own && named
    }

    /// The clock does not go back far.
    fn is_in_time(&mut self, time: Nanos) -> bool {
        let ahead = time.0.saturating_add(BEHIND.0) >= self.time.0;
        self.time = self.time.max(time);
        ahead
    }

    /// The position that the record's call takes is nobody else's. Frees and uses wait for no driver call: each comes after
    /// all that is logged.
    fn take_position(&mut self, record: &Record<'_>) -> bool {
        let (stream, seq, at_once) = match *record {
            Record::Free { stream, seq, .. } | Record::Use { stream, seq, .. } => (stream, seq, true),
            Record::Malloc { stream, seq, .. }
            | Record::Recorded { stream, seq, .. }
            | Record::Waited { stream, seq, .. }
            | Record::MarkerLaid { stream, seq, .. }
            | Record::MappedInOrder { stream, seq, .. }
            | Record::UnmappedInOrder { stream, seq, .. } => (stream, seq, false),
            _ => return true,
        };
        let positions = self.positions.entry(stream.raw() as u32).or_default();
        let ahead = seq.0 > positions.head;
        let near =
            seq.0 <= positions.head.saturating_add(IN_FLIGHT) && seq.0.saturating_add(OVERTAKEN) >= positions.head;
        positions.take(seq.0) && near && (ahead || !at_once)
    }
}

/// Keeps what is told of something first; false where it is something else now.
fn same<K: Eq + Hash, V: PartialEq>(known: &mut HashMap<K, V>, key: K, told: V) -> bool {
    match known.get(&key) {
        Some(before) => *before == told,
        None => known.insert(key, told).is_none(),
    }
}

/// Whether it is defined, where the log defines any.
fn is_known<K: Eq + Hash, V>(known: &HashMap<K, V>, key: &K) -> bool {
    known.is_empty() || known.contains_key(key)
}

impl Checker {
    /// Judges what a record says, before it takes effect.
    pub(super) fn judge_claims(&mut self, stamped: &Stamped<'_>) {
        if let Record::Begin { markers, .. } = stamped.record {
            self.claims.markers = Some(markers);
        }
        let there = self.claims.are_there(&stamped.record) && self.is_laid(&stamped.record);
        let in_step = self.claims.is_in_step(&stamped.record) & self.claims.is_in_time(stamped.time);
        if !self.whole() {
            return;
        }
        let fault = match (there, in_step) {
            (false, _) => Some(Fault::NotThere),
            (true, false) => Some(Fault::OutOfStep),
            (true, true) => {
                let agrees = !std::mem::take(&mut self.claims.redefined);
                (!(self.adds_up(&stamped.record) && agrees)).then_some(Fault::WrongFigures)
            }
        };
        if let (Some(fault), Some(kind)) = (fault, Kind::of(&stamped.record)) {
            let op = self.op(stamped, What::Record(kind), None);
            self.accuse(fault, None, None, op, None);
        }
    }

    /// Whether the marker that a stream is made to wait for is there.
    fn is_laid(&self, record: &Record<'_>) -> bool {
        !matches!(record, Record::WaitInserted { marker, .. } if !self.markers.contains_key(marker))
    }

    /// Whether a record's figures agree with each other, and with what those before it come to.
    fn adds_up(&mut self, record: &Record<'_>) -> bool {
        match *record {
            Record::Malloc { .. } => self.malloc_adds_up(record),
            Record::Free { pool, id, offset, given, .. } => self.is_block(id, pool).is_none_or(|memory| {
                // Of another pool, it is no block of this one's.
                (memory.pool, memory.offset, memory.bytes) == (pool, offset, given)
            }),
            Record::Use { pool, id, .. } => self.is_block(id, pool).is_none_or(|memory| memory.pool == pool),
            Record::OutOfMemory { pool, requested, used, reserved, limit, largest_usable, pending, .. } => {
                let limits = self.limit(pool).is_none_or(|known| known == limit);
                let free = reserved.0.saturating_sub(used.0);
                let parts = largest_usable.0 <= free && pending.0 <= free && requested.0 > 0 && requested <= limit;
                limits && parts && used.0 == self.used(pool) && used <= reserved && reserved <= limit
            }
            Record::Refused { pool: Some(pool), size, reason: Refusal::AboveLimit(limit), .. } => {
                size > limit && self.limit(pool).is_none_or(|known| known == limit)
            }
            Record::Trimmed { pool, reached, live, pending, partial, .. } => {
                let held = live.0.saturating_add(pending.0).saturating_add(partial.0);
                let limit = self.limit(pool).is_none_or(|limit| reached <= limit);
                live.0 == self.used(pool) && held <= reached.0 && limit
            }
            // Where none is known to be live, a leak is told.
            Record::PoolDestroyed { pool, leaked } => {
                let used = self.used(pool);
                leaked.0 == used || used == 0
            }
            Record::Refused { pool: Some(pool), reason: Refusal::LiveBlocks(count, bytes), .. } => {
                let at = self.pool(pool);
                (self.pools[at].live.len() as u64, self.pools[at].used) == (count, bytes.0)
            }
            Record::GrowPlanned { pool, offset, granules, .. } => self.is_granules(pool, offset, granules),
            Record::Mapped { pool, offset, granules, .. }
            | Record::Unmapped { pool, offset, granules, .. }
            | Record::MappedInOrder { pool, offset, granules, .. }
            | Record::UnmappedInOrder { pool, offset, granules, .. } => self.is_granules(pool, offset, granules),
            _ => true,
        }
    }

    /// The memory of a live block.
    fn is_block(&mut self, id: AllocId, pool: PoolId) -> Option<Memory> {
        let life = self.by_id.get(&id).map(|life| &self.lives[*life])?;
        let pool = self.claims.pools.has(&pool);
        (pool && matches!(life.ended, Ended::Not)).then_some(life.memory)
    }

    fn malloc_adds_up(&mut self, record: &Record<'_>) -> bool {
        let Record::Malloc { pool, stream, id, asked, given, offset, source, ref points, .. } = *record else {
            return true;
        };
        let at = self.pool(pool);
        let Some((_, range, device)) = self.pools[at].definition else { return true };
        let alignment = self.claims.devices.get(&device).map_or(1, |device| device.alignment.0.max(1));
        let fits = offset.0.checked_add(given.0).is_some_and(|end| end <= range.0);
        let rounded = asked.0.checked_next_multiple_of(alignment) == Some(given.0) && asked.0 > 0;
        let placed = offset.0.is_multiple_of(alignment);
        let home = self.claims.homes.get(&stream).is_none_or(|(home, _)| *home == device);
        fits && rounded
            && placed
            && home
            && !self.by_id.contains_key(&id)
            && (self.claims.tied || relies_on(source, stream, points))
    }

    fn limit(&self, pool: PoolId) -> Option<Bytes> {
        self.claims.extents.get(&pool).map(|(_, _, _, limit)| *limit)
    }

    /// Bytes in live blocks, as logged.
    fn used(&mut self, pool: PoolId) -> u64 {
        let at = self.pool(pool);
        self.pools[at].used
    }

    fn is_granules(&mut self, pool: PoolId, offset: Bytes, granules: u32) -> bool {
        let at = self.pool(pool);
        let Some((_, range, device)) = self.pools[at].definition else { return true };
        let granule = self.claims.devices.get(&device).map_or(1, |device| device.granularity.0.max(1));
        let bytes = granule.saturating_mul(u64::from(granules));
        granules > 0
            && offset.0.is_multiple_of(granule)
            && offset.0.checked_add(bytes).is_some_and(|end| end <= range.0)
    }
}

/// Whether the kind of a reuse agrees with what the memory had waited for.
fn relies_on(source: Source, stream: StreamId, points: &Points) -> bool {
    let own = points.epoch == 0 && points.list.iter().flatten().all(|point| point.stream == stream);
    own || source != Source::SameStream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_taken_once() {
        let mut positions = Positions::default();
        let taken: Vec<bool> = [1, 3, 2, 2, 3, 100, 36, 37, 37, 99].map(|seq| positions.take(seq)).to_vec();
        assert_eq!(taken, [true, true, true, false, false, true, true, true, false, true]);
        // What is further back than can be told.
        assert!(positions.take(1) && positions.take(1));
    }

    #[test]
    fn a_position_far_back_is_nobody_s() {
        let mut claims = Claims::default();
        let mut wait = |seq| {
            let (stream, event) = (StreamId::from_raw(1 << 32), EventId::from_raw(1 << 32));
            claims.take_position(&Record::Waited { stream, seq: Seq(seq), event, number: 0 })
        };
        assert!((1..=OVERTAKEN / IN_FLIGHT + 1).all(|step| wait(step * IN_FLIGHT)));
        assert!(wait(IN_FLIGHT + 1) && !wait(IN_FLIGHT - 1));
    }

    #[test]
    fn what_is_destroyed_does_not_come_back() {
        let mut there = There::default();
        assert!(there.has(&1), "nobody tells of any");
        assert!(there.make(1) && !there.make(1) && there.has(&1) && !there.has(&2));
        assert!(there.destroy(1) && !there.destroy(1) && !there.has(&1) && !there.make(1) && !there.destroy(2));
    }
}
