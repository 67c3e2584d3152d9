//! CSV files of the Ascend profilers: `operator_memory.csv`, the allocations of operators without their addresses, and
//! `memory_record.csv`, sums over time. The profilers' names are of no account: the columns say which it is.

use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use super::table::{Cells, Column, Table, names, whole};
use crate::model::{Fact, Unrecorded};
use std::collections::BTreeMap;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;
/// Nanoseconds in a microsecond.
const MICRO: f64 = 1e3;

/// Whether a line is the header of operators' allocations.
pub(super) fn is_operators(line: &str) -> bool {
    let names = names(line);
    ["name", "size(kb)", "allocation time(us)"].iter().all(|name| names.iter().any(|found| found == name))
}

/// Whether a line is the header of sums.
pub(super) fn is_sums(line: &str) -> bool {
    let names = names(line);
    let has = |start: &str| names.iter().any(|name| name.starts_with(start));
    has("component") && has("timestamp(us)") && has("total reserved(")
}

/// Columns of sums, in megabytes or, in msprof's files, kilobytes.
#[derive(Clone, Copy)]
struct Sum(Option<(Column, f64)>);

impl Sum {
    fn find(table: &Table<'_>, mib: &'static str, kib: &'static str) -> Self {
        let mib = table.find(&[mib]).map(|column| (column, MIB));
        Self(mib.or_else(|| table.find(&[kib]).map(|column| (column, KIB))))
    }

    fn of(self, cells: &Cells<'_>) -> Result<Option<u64>, ImportError> {
        let Some((column, unit)) = self.0 else { return Ok(None) };
        Ok(cells.bytes(Some(column), unit)?.map(|bytes| u64::try_from(bytes).unwrap_or(0)))
    }
}

/// The device and stream columns, which both files have.
#[derive(Clone, Copy)]
struct Place {
    device: Option<Column>,
    stream: Option<Column>,
}

impl Place {
    fn find(table: &Table<'_>) -> Self {
        let device = table.find(&["Device Type", "Device_id", "Device Id", "Device"]);
        Self { device, stream: table.find(&["Stream Ptr"]) }
    }

    /// `NPU:0`, or a number.
    fn device(self, cells: &Cells<'_>) -> Result<u32, ImportError> {
        let Some(text) = cells.text(self.device) else { return Ok(0) };
        let number = text.rsplit(':').next().unwrap_or(text).trim();
        number.parse().map_err(|_| cells.refuse(self.device, text, "a device, such as NPU:0"))
    }

    fn stream(self, cells: &Cells<'_>) -> Option<u64> {
        cells.text(self.stream).and_then(whole)
    }
}

/// The columns of `operator_memory.csv`.
struct Operators {
    name: Option<Column>,
    size: Column,
    allocated: Column,
    /// When it could be used again, where that is recorded, or when it was given back.
    released: [Option<Column>; 2],
    allocation: [Sum; 2],
    release: [Sum; 2],
    place: Place,
}

/// What `operator_memory.csv` recorded.
pub(super) fn operators(bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut table = Table::new(bytes)?;
    let columns = Operators {
        name: table.find(&["Name"]),
        size: table.column(&["Size(KB)"])?,
        allocated: table.column(&["Allocation Time(us)"])?,
        released: [table.find(&["Active Release Time(us)"]), table.find(&["Release Time(us)"])],
        allocation: [
            Sum::find(&table, "Allocation Total Allocated(MB)", "Allocation Total Allocated(KB)"),
            Sum::find(&table, "Allocation Total Reserved(MB)", "Allocation Total Reserved(KB)"),
        ],
        release: [
            Sum::find(&table, "Release Total Allocated(MB)", "Release Total Allocated(KB)"),
            Sum::find(&table, "Release Total Reserved(MB)", "Release Total Reserved(KB)"),
        ],
        place: Place::find(&table),
    };
    let unrecorded = Unrecorded::of(&[Fact::Source, Fact::Order, Fact::Addresses, Fact::Rounding, Fact::Limit]);
    let mut recording = Recording::new("the Ascend profiler's operator_memory.csv", unrecorded);
    let (mut block, mut outside, mut streams) = (0, 0, false);
    while let Some(cells) = table.next() {
        block += 1;
        match cells.and_then(|cells| columns.row(&cells, block)) {
            Ok(row) => {
                streams |= row.stream.is_some();
                outside += u64::from(row.outside);
                recording.happenings.extend(row.happenings);
            }
            Err(error) => recording.damage(error),
        }
    }
    recording.sort();
    if outside > 0 {
        recording.notes.push(format!("{outside} rows are about blocks that were allocated before the recording"));
    }
    let sums = |what: &What| matches!(what, What::Sums { reserved: Some(_), .. });
    if !recording.happenings.iter().any(|happening| sums(&happening.what)) {
        recording.unrecorded = recording.unrecorded.and(Fact::Reserved);
    }
    if !streams {
        recording.unrecorded = recording.unrecorded.and(Fact::Streams);
    }
    Ok(recording)
}

struct Row {
    happenings: Vec<Happening>,
    stream: Option<u64>,
    outside: bool,
}

impl Operators {
    fn row(&self, cells: &Cells<'_>, block: u64) -> Result<Row, ImportError> {
        let (device, stream) = (self.place.device(cells)?, self.place.stream(cells));
        let bytes = cells.bytes(Some(self.size), KIB)?;
        let bytes = bytes.ok_or_else(|| cells.refuse(Some(self.size), "", "a size in KB"))?;
        let at = |time, what| {
            let (at, stream) = (Spot::Line(cells.line), StreamKey::One(stream.unwrap_or(0)));
            Happening { at, time, device, stream, what }
        };
        let [active, plain] = self.released;
        let allocated = cells.time(Some(self.allocated), MICRO)?;
        let released = match cells.time(active, MICRO)? {
            Some(time) => Some(time),
            None => cells.time(plain, MICRO)?,
        };
        let mut happenings = Vec::new();
        let asked = u64::try_from(bytes).unwrap_or(0);
        let inside = asked > 0 && allocated.is_some();
        if let (Some(time), true) = (allocated, inside) {
            let label = cells.text(self.name).map(str::to_owned);
            happenings.extend(self.sums(cells, &self.allocation)?.map(|what| at(Some(time), what)));
            happenings.push(at(Some(time), What::Allocate { block, address: None, asked, given: None, label }));
        }
        if let Some(time) = released {
            happenings.extend(self.sums(cells, &self.release)?.map(|what| at(Some(time), what)));
            if inside {
                happenings.push(at(Some(time), What::Free { block, size: Some(asked) }));
            }
        }
        Ok(Row { happenings, stream, outside: !inside })
    }

    fn sums(&self, cells: &Cells<'_>, [used, reserved]: &[Sum; 2]) -> Result<Option<What>, ImportError> {
        let (used, reserved) = (used.of(cells)?, reserved.of(cells)?);
        Ok((used.is_some() || reserved.is_some()).then_some(What::Sums { used, reserved }))
    }
}

/// Which component is shown where a file has several, best first: the whole of the framework's and the graph engine's.
const COMPONENTS: [&str; 4] = ["PTA+GE", "PTA", "GE", "APP"];

/// What `memory_record.csv` recorded.
pub(super) fn sums(bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut table = Table::new(bytes)?;
    let (component, time) = (table.column(&["Component"])?, table.column(&["Timestamp(us)"])?);
    let used = Sum::find(&table, "Total Allocated(MB)", "Total Allocated(KB)");
    let reserved = Sum::find(&table, "Total Reserved(MB)", "Total Reserved(KB)");
    let place = Place::find(&table);
    let facts = [Fact::Source, Fact::Order, Fact::Addresses, Fact::Rounding, Fact::Limit, Fact::Blocks, Fact::Streams];
    let mut recording = Recording::new("the Ascend profiler's memory_record.csv", Unrecorded::of(&facts));
    let mut components: BTreeMap<String, Vec<Happening>> = BTreeMap::new();
    while let Some(cells) = table.next() {
        let row = cells.and_then(|cells| {
            let what = What::Sums { used: used.of(&cells)?, reserved: reserved.of(&cells)? };
            // Not a bare number of any size: a row without a time says nothing.
            cells.needed(time)?;
            let (at, stream) = (Spot::Line(cells.line), StreamKey::One(0));
            let time = cells.time(Some(time), MICRO)?;
            let happening = Happening { at, time, device: place.device(&cells)?, stream, what };
            Ok((cells.text(Some(component)).unwrap_or_default().to_owned(), happening))
        });
        match row {
            Ok((component, happening)) => components.entry(component).or_default().push(happening),
            Err(error) => recording.damage(error),
        }
    }
    chosen(&mut recording, components);
    Ok(recording)
}

/// Of several components' sums one is shown, and the others are counted.
pub(super) fn chosen(recording: &mut Recording, mut components: BTreeMap<String, Vec<Happening>>) {
    let known = COMPONENTS.iter().find(|known| components.contains_key(**known)).map(|known| (*known).to_owned());
    if let Some(chosen) = known.or_else(|| components.keys().next().cloned()) {
        recording.happenings = components.remove(&chosen).unwrap_or_default();
        recording.notes.push(format!("component {chosen}"));
        let left =
            components.iter().map(|(name, rows)| format!("{} rows of component {name} are left out", rows.len()));
        recording.notes.extend(left);
    }
    recording.sort();
}
