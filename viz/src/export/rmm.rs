//! RAPIDS RMM's CSV.

use super::{base, pools_by_id, records, refused};
use crate::model::{Model, Payload, PoolIx};
use foldhash::HashMap;
use std::io::{Result, Write};
use weir::id::{PoolId, StreamId};
use weir::trace::Record;

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// RMM's.
    Own,
    /// Those, and the ones that order streams.
    WithOrder,
}

pub(super) fn write(model: &Model, rows: Rows, out: &mut impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["Thread", "Time", "Action", "Pointer", "Size", "Stream"])?;
    let first = records(model).next().map_or(0, |(_, stamped)| stamped.time.0);
    let pools = pools_by_id(model);
    for (event, stamped) in records(model) {
        let life = match model.events.payload(event) {
            Payload::Life(life) => Some(model.life(life)),
            Payload::Other(_) => None,
        };
        let address = |life: &crate::model::Life| base(model, life.pool).wrapping_add(life.offset.0);
        let row = match (stamped.record, life) {
            (Record::Malloc { asked, stream, .. }, Some(life)) => {
                Some(("allocate", hex(address(life)), asked.0.to_string(), key(stream)))
            }
            // As the allocation states it, which RMM's frees do.
            (Record::Free { stream, given, .. }, Some(life)) => {
                Some(("free", hex(address(life)), life.asked().unwrap_or(given).0.to_string(), key(stream)))
            }
            (record, _) => other(&pools, rows, &record),
        };
        if let Some((action, pointer, size, stream)) = row {
            let time = time_of_day(stamped.time.0.saturating_sub(first));
            writer.write_record(["0", &time, action, &pointer, &size, &stream])?;
        }
    }
    writer.flush()
}

type Row = (&'static str, String, String, String);

fn other(pools: &HashMap<PoolId, PoolIx>, rows: Rows, record: &Record<'_>) -> Option<Row> {
    if let Some((pool, stream, size)) = refused(record) {
        // Of a pool that the log defines, or it is no allocation that a replay could try.
        pools.get(&pool?)?;
        return Some(("allocate failure", "(nil)".into(), size.to_string(), stream.map_or("0".into(), key)));
    }
    if rows == Rows::Own {
        return None;
    }
    let none = || "0".to_owned();
    match *record {
        Record::Recorded { event, stream, .. } => {
            Some(("record", (event.raw() & MASK).to_string(), none(), key(stream)))
        }
        Record::Waited { event, stream, .. } => Some(("wait", (event.raw() & MASK).to_string(), none(), key(stream))),
        Record::StreamSynchronized { stream, .. } => Some(("sync", none(), none(), key(stream))),
        Record::DeviceSynchronized { .. } => Some(("sync", none(), none(), "-1".into())),
        Record::Mark { name, .. } => Some(("mark", name.to_owned(), none(), none())),
        _ => None,
    }
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
