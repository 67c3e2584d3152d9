//! RAPIDS RMM's CSV.

use super::{device, pools_by_id, records, refused, streams_by_id};
use crate::import::{RMM_BESIDE, RMM_COLUMNS, WITH_POOL};
use crate::model::{Life, Model, Payload, PoolIx, StreamIx};
use foldhash::HashMap;
use std::io::{Result, Write};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::trace::Record;
use weir::units::Nanos;

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// RMM's.
    Own,
    /// Those, and the ones that order streams; with columns for what RMM's have no room for.
    WithOrder,
}

pub(super) fn write(model: &Model, rows: Rows, out: &mut impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let beside: &[&str] = if rows == Rows::WithOrder { &RMM_BESIDE } else { &[] };
    writer.write_record(RMM_COLUMNS.iter().chain(beside))?;
    let first = records(model).next().map_or(Nanos(0), |(_, stamped)| stamped.time);
    let mut story = Story {
        model,
        rows,
        bases: bases(model),
        pools: pools_by_id(model),
        streams: streams_by_id(model),
        recorded: HashMap::default(),
    };
    let mut ended = model.ended_with();
    for (event, stamped) in records(model) {
        let with_pool = ended.remove(&event).into_iter().flatten().map(|life| story.end(model.life(life)));
        let life = match model.events.payload(event) {
            Payload::Life(life) => Some(model.life(life)),
            Payload::Other(_) => None,
        };
        for row in with_pool.collect::<Vec<_>>().into_iter().chain(story.row(&stamped.record, life)) {
            let time = time_of_day(stamped.time.0.saturating_sub(first.0));
            let own = ["0", &time, row.action, &row.pointer, &row.size, &row.stream];
            let beside = [row.device, row.pool, row.given, row.ends];
            let beside = beside.iter().map(String::as_str).take(if rows == Rows::WithOrder { 4 } else { 0 });
            writer.write_record(own.into_iter().chain(beside))?;
        }
    }
    writer.flush()
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
    bases: Vec<u64>,
    pools: HashMap<PoolId, PoolIx>,
    streams: HashMap<StreamId, StreamIx>,
    /// The latest recording of each event.
    recorded: HashMap<EventId, u64>,
}

impl Story<'_> {
    fn row(&mut self, record: &Record<'_>, life: Option<&Life>) -> Option<Row> {
        match (*record, life) {
            (Record::Malloc { stream, .. }, Some(life)) => Some(self.block("allocate", life, stream)),
            (Record::Free { stream, .. }, Some(life)) => Some(self.block("free", life, stream)),
            _ => self.failure(record).or_else(|| self.order(record)),
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

    fn order(&mut self, record: &Record<'_>) -> Option<Row> {
        if self.rows == Rows::Own {
            return None;
        }
        let event = |event: EventId| (event.raw() & MASK).to_string();
        match *record {
            Record::Recorded { event: id, stream, number, .. } => {
                self.recorded.insert(id, number);
                Some(self.on_stream("record", event(id), stream))
            }
            // One that waits for nothing adds none.
            Record::Waited { event: id, stream, number, .. } if self.recorded.get(&id) == Some(&number) => {
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
fn bases(model: &Model) -> Vec<u64> {
    let pools = || (0..model.pools.len()).map(PoolIx::next_of);
    let lives = |pool: PoolIx| model.pool(pool).lives.iter().map(|life| model.life(*life));
    let lengths: Vec<u64> = pools().map(|pool| lives(pool).map(Life::end).max().unwrap_or(0)).collect();
    let length = |pool: PoolIx| lengths[pool.at()];
    let mut behind = pools().map(|pool| super::base(model, pool).saturating_add(length(pool))).max().unwrap_or(0);
    let mut bases: Vec<u64> = Vec::new();
    for pool in pools() {
        let (mut base, bytes, since) = (super::base(model, pool), length(pool), lives(pool).map(Life::since).min());
        let in_the_way = |(other, start): (PoolIx, &u64)| {
            let over = model.pool(other).destroyed.zip(since).is_some_and(|(destroyed, since)| destroyed <= since);
            !over && *start < base.saturating_add(bytes) && base < start.saturating_add(length(other))
        };
        if pools().zip(&bases).any(in_the_way) {
            base = behind;
            behind = behind.saturating_add(bytes);
        }
        bases.push(base);
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
