//! The Ascend profilers' databases (SQLite): `OP_MEMORY`, the allocations of operators without their addresses, and
//! `MEMORY_RECORD`, sums over time. Times are nanoseconds, sizes bytes.

use super::ascend::chosen;
use super::nsight::{Named, strings};
use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use super::sqlite::{Database, Table};
use crate::model::{Fact, Unrecorded};
use std::collections::{BTreeMap, HashMap};

const OPERATORS: &str = "OP_MEMORY";
const SUMS: &str = "MEMORY_RECORD";
const NAMES: &str = "STRING_IDS";

/// What such a file recorded; `None` where it has neither table.
pub(super) fn record(database: &Database<'_>, tables: &[Table]) -> Option<Recording> {
    let find = |name: &str| tables.iter().find(|table| table.name == name);
    let names = find(NAMES).map(|table| strings(database, table)).unwrap_or_default();
    // Those of operators say more, if there are any.
    let operators = find(OPERATORS).map(|table| operators(database, table, &names));
    operators
        .filter(|recording| !recording.happenings.is_empty())
        .or_else(|| find(SUMS).map(|table| sums(database, table, &names)))
}

fn rows(
    database: &Database<'_>,
    table: &Table,
    recording: &mut Recording,
    mut take: impl FnMut(&mut Recording, &Named<'_>) -> Result<(), ImportError>,
) {
    let (rows, damages) = database.rows(table);
    damages.into_iter().for_each(|damage| recording.damage(damage));
    for (number, row) in rows.iter().enumerate() {
        let row = Named { table, row, at: Spot::Entry(number as u64) };
        if let Err(error) = take(recording, &row) {
            recording.damage(error);
        }
    }
}

fn device(row: &Named<'_>) -> u32 {
    row.get("deviceId").and_then(|device| u32::try_from(device).ok()).unwrap_or(0)
}

fn operators(database: &Database<'_>, table: &Table, names: &HashMap<u64, String>) -> Recording {
    let facts = [Fact::Source, Fact::Order, Fact::Addresses, Fact::Rounding, Fact::Limit];
    let mut recording = Recording::new("the Ascend profiler's OP_MEMORY", Unrecorded::of(&facts));
    let (mut block, mut outside, mut streams) = (0, 0_u64, false);
    rows(database, table, &mut recording, |recording, row| {
        block += 1;
        let (device, stream) = (device(row), row.get("streamPtr"));
        streams |= stream.is_some();
        let size = row.needed("size")?.cast_signed();
        let asked = u64::try_from(size).unwrap_or(0);
        // A time of 0 is none: the other end lies outside of the recording.
        let time = |column| row.get(column).filter(|time| *time > 0);
        let at = |time, what| {
            let stream = StreamKey::One(stream.unwrap_or(0));
            Happening { at: row.at, time: Some(time), device, stream, what }
        };
        let sums = |used, reserved| {
            let (used, reserved) = (row.get(used), row.get(reserved));
            (used.is_some() || reserved.is_some()).then_some(What::Sums { used, reserved })
        };
        let Some(allocated) = time("allocationTime").filter(|_| asked > 0) else {
            outside += 1;
            return Ok(());
        };
        let label = row.get("name").and_then(|name| names.get(&name)).cloned();
        let stated = sums("allocationTotalAllocated", "allocationTotalReserved");
        recording.happenings.extend(stated.map(|what| at(allocated, what)));
        recording.happenings.push(at(allocated, What::Allocate { block, address: None, asked, given: None, label }));
        if let Some(released) = time("activeReleaseTime").or_else(|| time("releaseTime")) {
            let stated = sums("releaseTotalAllocated", "releaseTotalReserved");
            recording.happenings.extend(stated.map(|what| at(released, what)));
            recording.happenings.push(at(released, What::Free { block, size: Some(asked) }));
        }
        Ok(())
    });
    recording.sort();
    if outside > 0 {
        recording.notes.push(format!("{outside} rows are about blocks that were allocated before the recording"));
    }
    let reserved = |happening: &Happening| matches!(happening.what, What::Sums { reserved: Some(_), .. });
    if !recording.happenings.iter().any(reserved) {
        recording.unrecorded = recording.unrecorded.and(Fact::Reserved);
    }
    if !streams {
        recording.unrecorded = recording.unrecorded.and(Fact::Streams);
    }
    recording
}

fn sums(database: &Database<'_>, table: &Table, names: &HashMap<u64, String>) -> Recording {
    let facts = [Fact::Source, Fact::Order, Fact::Addresses, Fact::Rounding, Fact::Limit, Fact::Blocks, Fact::Streams];
    let mut recording = Recording::new("the Ascend profiler's MEMORY_RECORD", Unrecorded::of(&facts));
    let mut components: BTreeMap<String, Vec<Happening>> = BTreeMap::new();
    rows(database, table, &mut recording, |_, row| {
        let component = row.get("component").and_then(|name| names.get(&name)).cloned().unwrap_or_default();
        let what = What::Sums { used: row.get("totalAllocated"), reserved: row.get("totalReserved") };
        let time = Some(row.needed("timestamp")?);
        let happening = Happening { at: row.at, time, device: device(row), stream: StreamKey::One(0), what };
        components.entry(component).or_default().push(happening);
        Ok(())
    });
    chosen(&mut recording, components);
    recording
}
