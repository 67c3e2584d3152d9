//! RAPIDS RMM's CSV.

use super::csv::Csv;
use super::ordered::{ordered, ranges};
use super::table::Cells;
use super::waits::Waits;
use super::{device, pools_by_id, refused, streams_by_id};
use crate::import::{RMM_BESIDE, RMM_COLUMNS, WITH_POOL};
use crate::model::{EventIx, Life, LifeIx, Model, Payload, PoolIx, StreamIx};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::io::{Result, Write};
use std::ops::Range;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::trace::Record;

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// RMM's.
    Own,
    /// Those, and the ones that order streams; with columns for what RMM's have no room for.
    WithOrder,
}

pub(super) fn write(model: &Model, rows: Rows, out: &mut impl Write) -> Result<()> {
    let beside: &[&str] = if rows == Rows::WithOrder { &RMM_BESIDE } else { &[] };
    let mut heading = Csv::default();
    RMM_COLUMNS.iter().chain(beside).for_each(|column| heading.text(Some(column)));
    heading.end();
    out.write_all(&heading.finish()?)?;
    let story = Story {
        model,
        rows,
        first: if model.events.is_empty() { 0 } else { model.events.time(EventIx(0)) },
        bases: bases(model),
        pools: pools_by_id(model),
        streams: streams_by_id(model),
        waits: Waits::of(model),
        ended: model.ended_with(),
    };
    let pieces = ranges(model.events.len(), Csv::ROWS);
    ordered(pieces, |piece| story.piece(piece), |piece| out.write_all(&piece.finish()?))
}

/// The cells of a row; blank where nothing is to be said.
struct Row {
    action: &'static str,
    pointer: String,
    size: String,
    stream: String,
    device: String,
    pool: String,
    given: String,
    ends: String,
}

impl Row {
    fn new(action: &'static str, pointer: String, stream: String) -> Self {
        let [device, pool, given, ends] = [const { String::new() }; 4];
        Self { action, pointer, size: "0".into(), stream, device, pool, given, ends }
    }
}

struct Story<'m> {
    model: &'m Model,
    rows: Rows,
    /// When the log begins.
    first: u64,
    bases: Vec<u64>,
    pools: HashMap<PoolId, PoolIx>,
    streams: HashMap<StreamId, StreamIx>,
    waits: Waits,
    ended: HashMap<EventIx, Vec<LifeIx>>,
}

impl Story<'_> {
    /// The rows of these records.
    fn piece(&self, events: Range<usize>) -> Csv {
        let mut cells = Csv::default();
        for event in events.map(EventIx::next_of) {
            for life in self.ended.get(&event).into_iter().flatten() {
                self.put(event, &self.end(self.model.life(*life)), &mut cells);
            }
            if let Some(row) = self.row(event) {
                self.put(event, &row, &mut cells);
            }
        }
        cells
    }

    fn put(&self, event: EventIx, row: &Row, cells: &mut Csv) {
        let time = time_of_day(self.model.events.time(event).saturating_sub(self.first));
        let own = ["0", &time, row.action, &row.pointer, &row.size, &row.stream];
        let beside = [&row.device, &row.pool, &row.given, &row.ends];
        let beside = beside.into_iter().map(String::as_str).filter(|_| self.rows == Rows::WithOrder);
        own.into_iter().chain(beside).for_each(|cell| cells.text(Some(cell)));
        cells.end();
    }

    fn row(&self, event: EventIx) -> Option<Row> {
        let record = self.model.record(event).record;
        match (record, self.model.events.payload(event)) {
            (Record::Malloc { stream, .. }, Payload::Life(life)) => {
                Some(self.block("allocate", self.model.life(life), stream))
            }
            (Record::Free { stream, .. }, Payload::Life(life)) => {
                Some(self.block("free", self.model.life(life), stream))
            }
            _ => self.failure(&record).or_else(|| self.order(event, &record)),
        }
    }

    /// A block that ends with its pool, on its own stream.
    fn end(&self, life: &Life) -> Row {
        Row { ends: WITH_POOL.into(), ..self.block("free", life, self.model.stream(life.stream).id) }
    }

    /// A row about a block. A free states the size as its allocation does, as in RMM.
    fn block(&self, action: &'static str, life: &Life, stream: StreamId) -> Row {
        let address = self.bases[life.pool.at()].wrapping_add(life.offset.0);
        let asked = life.asked().unwrap_or(life.given);
        let given = if asked == life.given { String::new() } else { life.given.0.to_string() };
        Row { size: asked.0.to_string(), given, ..self.of_pool(Row::new(action, hex(address), key(stream)), life.pool) }
    }

    fn of_pool(&self, row: Row, pool: PoolIx) -> Row {
        Row { device: device(self.model, pool).to_string(), pool: pool.0.to_string(), ..row }
    }

    fn failure(&self, record: &Record<'_>) -> Option<Row> {
        let (pool, stream, size) = refused(record)?;
        // Of a pool that the log defines, or it is no allocation that a replay could try.
        let pool = *self.pools.get(&pool?)?;
        let row = Row::new("allocate failure", "(nil)".into(), stream.map_or("0".into(), key));
        Some(Row { size: size.to_string(), ..self.of_pool(row, pool) })
    }

    fn order(&self, at: EventIx, record: &Record<'_>) -> Option<Row> {
        if self.rows == Rows::Own {
            return None;
        }
        let event = |event: EventId| (event.raw() & MASK).to_string();
        match *record {
            Record::Recorded { event: id, stream, .. } => Some(self.on_stream("record", event(id), stream)),
            // One that waits for nothing adds none.
            Record::Waited { event: id, stream, .. } if self.waits.at(at).is_some_and(|wait| wait.is_latest) => {
                Some(self.on_stream("wait", event(id), stream))
            }
            Record::StreamSynchronized { stream, .. } => Some(self.on_stream("sync", "0".into(), stream)),
            Record::DeviceSynchronized { device: DeviceId(device) } => {
                Some(Row { device: device.to_string(), ..Row::new("sync", "0".into(), "-1".into()) })
            }
            Record::Mark { name, .. } => Some(Row::new("mark", name.to_owned(), "0".into())),
            _ => None,
        }
    }

    fn on_stream(&self, action: &'static str, pointer: String, stream: StreamId) -> Row {
        let known = self.streams.get(&stream).map(|stream| self.model.stream(*stream));
        let device = known.and_then(|stream| stream.definition).map_or(0, |(device, _)| device.0);
        Row { device: device.to_string(), ..Row::new(action, pointer, key(stream)) }
    }
}

/// Where each pool's offsets count from: its base. Of pools that are there at once and overlap, on several devices or
/// because the log does not define them, the later one is moved behind all: a block's rows are found by its address alone.
/// O(n log n) in the pools.
fn bases(model: &Model) -> Vec<u64> {
    let pools = || (0..model.pools.len()).map(PoolIx::next_of);
    let lives = |pool: PoolIx| model.pool(pool).lives.iter().map(|life| model.life(*life));
    let lengths: Vec<u64> = pools().map(|pool| lives(pool).map(Life::end).max().unwrap_or(0)).collect();
    let mut bases: Vec<u64> = pools().map(|pool| super::base(model, pool)).collect();
    let mut behind = bases.iter().zip(&lengths).map(|(base, bytes)| base.saturating_add(*bytes)).max().unwrap_or(0);
    // By their first blocks: what is over for one of them is over for all that come after it.
    let mut order: Vec<_> = pools().filter_map(|pool| Some((lives(pool).map(Life::since).min()?, pool))).collect();
    order.sort_unstable();
    // What is taken, by its start; none overlaps another.
    let mut taken: BTreeMap<u64, PoolIx> = BTreeMap::new();
    for (since, pool) in order {
        let (base, bytes) = (bases[pool.at()], lengths[pool.at()]);
        while let Some((&start, &other)) = taken.range(..base.saturating_add(bytes)).next_back()
            && start.saturating_add(lengths[other.at()]) > base
        {
            if model.pool(other).destroyed.is_none_or(|destroyed| destroyed > since) {
                bases[pool.at()] = behind;
                behind = behind.saturating_add(bytes);
                break;
            }
            taken.remove(&start);
        }
        taken.insert(bases[pool.at()], pool);
    }
    bases
}

const MASK: u64 = u64::MAX >> 32;

/// Streams have handles there; here their numbers.
fn key(stream: StreamId) -> String {
    hex(stream.raw() & MASK)
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

/// Since the log began, as if that were midnight; days are lost.
fn time_of_day(nanos: u64) -> String {
    let micros = nanos / 1000;
    let seconds = micros / 1_000_000;
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:06}", seconds % 60, micros % 1_000_000)
}
