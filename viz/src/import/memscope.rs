//! msMemScope's `memscope_dump_*.csv` and the table of that name in its database: events of allocators on an NPU, one layer
//! above the other. The layer with most allocations is taken; the others would count the same memory again.

use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey, quoted};
use super::sqlite::{self, Database, Value};
use super::table::{Table, names, whole};
use crate::model::{Fact, Unrecorded};
use std::collections::BTreeMap;

/// Layers that keep memory of their own, and the driver's; memory of the host is no device's.
const DRIVER: &str = "HAL";
const HOST: &str = "HOST";
/// The database's table, today and before.
const TABLES: [&str; 2] = ["memscope_dump", "leaks_dump"];

/// Whether a line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    let names = names(line);
    ["event", "event type", "timestamp(ns)", "attr"].iter().all(|name| names.iter().any(|found| found == name))
}

/// A row as its texts, whichever file it is from. What is blank is not there.
struct Told<'a> {
    at: Spot,
    event: &'a str,
    kind: &'a str,
    name: Option<&'a str>,
    time: Option<u64>,
    device: Option<&'a str>,
    pointer: Option<&'a str>,
    attributes: &'a str,
}

/// The columns, in the order of [`Told`]'s fields.
const COLUMNS: [&str; 7] = ["Event", "Event Type", "Name", "Timestamp(ns)", "Device Id", "Ptr", "Attr"];

/// A row that is about memory, with its layer; marks have none.
type Row = (Option<String>, Happening);

/// What such a file recorded.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut table = Table::new(bytes)?;
    let [event, kind, name, time, device, pointer, attributes] = COLUMNS;
    let needed = [event, kind, time, attributes].map(|column| table.column(&[column]));
    let [event, kind, time, attributes] = needed;
    let [event, kind, time, attributes] = [event?, kind?, time?, attributes?];
    let [name, device, pointer] = [name, device, pointer].map(|column| table.find(&[column]));
    let (mut rows, mut damages) = (Vec::new(), Vec::new());
    while let Some(cells) = table.next() {
        let told = cells.and_then(|cells| {
            let text = |column| cells.text(Some(column)).unwrap_or_default();
            rows_of(&Told {
                at: Spot::Line(cells.line),
                event: text(event),
                kind: text(kind),
                name: cells.text(name),
                time: cells.time(Some(time), 1.0)?,
                device: cells.text(device),
                pointer: cells.text(pointer),
                attributes: text(attributes),
            })
        });
        match told {
            Ok(more) => rows.extend(more),
            Err(error) => damages.push(error),
        }
    }
    Ok(of_rows("msMemScope's CSV", rows, damages))
}

/// What msMemScope's database recorded; `None` where it has no such table.
pub(super) fn of_database(database: &Database<'_>, tables: &[sqlite::Table]) -> Option<Recording> {
    let table = tables.iter().find(|table| TABLES.iter().any(|name| table.name.eq_ignore_ascii_case(name)))?;
    let places = COLUMNS.map(|column| table.column(column));
    let (all, mut damages) = database.rows(table);
    let mut rows = Vec::new();
    for (number, row) in all.iter().enumerate() {
        let cells = places.map(|place| place.and_then(|place| row.get(place)).and_then(Value::shown));
        let cell = |at: usize| cells[at].as_deref().filter(|text| !text.is_empty() && *text != "N/A");
        let told = rows_of(&Told {
            at: Spot::Entry(number as u64),
            event: cell(0).unwrap_or_default(),
            kind: cell(1).unwrap_or_default(),
            name: cell(2),
            time: cell(3).and_then(whole),
            device: cell(4),
            pointer: cell(5),
            attributes: cell(6).unwrap_or_default(),
        });
        match told {
            Ok(more) => rows.extend(more),
            Err(error) => damages.push(error),
        }
    }
    Some(of_rows("msMemScope's database", rows, damages))
}

/// The recording of the layer with most allocations.
fn of_rows(format: &'static str, rows: Vec<Row>, damages: Vec<ImportError>) -> Recording {
    let facts = [Fact::Source, Fact::Order, Fact::Rounding, Fact::Limit, Fact::Streams];
    let mut recording = Recording::new(format, Unrecorded::of(&facts));
    damages.into_iter().for_each(|damage| recording.damage(damage));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (layer, happening) in &rows {
        if let (Some(layer), What::Allocate { .. }) = (layer, &happening.what) {
            *counts.entry(layer).or_default() += 1;
        }
    }
    let rank = |(layer, count): &(&&str, &u64)| (**layer != HOST, **layer != DRIVER, **count);
    let chosen = counts.iter().max_by_key(rank).map(|(layer, _)| (*layer).to_owned());
    for (layer, count) in counts.iter().filter(|(layer, _)| Some(**layer) != chosen.as_deref()) {
        recording
            .notes
            .push(format!("{count} allocations of {layer} are left out; this is {}", chosen.as_deref().unwrap_or("")));
    }
    let of_layer = rows.into_iter().filter(|(layer, _)| layer.is_none() || *layer == chosen);
    recording.happenings = of_layer.map(|(_, happening)| happening).collect();
    recording.sort();
    if !recording.happenings.iter().any(|happening| matches!(happening.what, What::Sums { reserved: Some(_), .. })) {
        recording.unrecorded = recording.unrecorded.and(Fact::Reserved);
    }
    recording
}

fn rows_of(told: &Told<'_>) -> Result<Vec<Row>, ImportError> {
    match told.event {
        "MALLOC" | "FREE" => told.memory(),
        "MSTX" if told.kind.eq_ignore_ascii_case("mark") || told.kind.eq_ignore_ascii_case("range_start") => {
            let name = told.name.map(str::to_owned);
            Ok(vec![(None, told.happening(What::Mark { name }))])
        }
        // What accesses memory, and what runs; a log of calls has no place for it.
        _ => Ok(Vec::new()),
    }
}

impl Told<'_> {
    fn happening(&self, what: What) -> Happening {
        let device = self.device.and_then(|text| text.parse().ok()).unwrap_or(0);
        Happening { at: self.at, time: self.time, device, stream: StreamKey::One(0), what }
    }

    fn memory(&self) -> Result<Vec<Row>, ImportError> {
        let attribute = |key| attribute(self.attributes, key);
        let refuse = |column, found: &str, expected: &str| ImportError {
            at: self.at,
            column: Some(column),
            found: quoted(found),
            expected: expected.to_owned(),
        };
        let pointer = self.pointer.or_else(|| attribute("addr"));
        let block = pointer.and_then(whole);
        let block = block.ok_or_else(|| refuse("Ptr", pointer.unwrap_or(""), "an address"))?;
        let size = attribute("size").and_then(|text| whole(text.trim_start_matches('-')));
        let expected = "attributes with the size, such as {size:512}";
        let size = size.ok_or_else(|| refuse("Attr", self.attributes, expected))?;
        let label = attribute("owner").filter(|owner| !owner.is_empty()).map(str::to_owned);
        let what = match self.event {
            "MALLOC" => What::Allocate { block, address: Some(block), asked: size, given: None, label },
            _ => What::Free { block, size: Some(size) },
        };
        let layer = Some(self.kind.to_owned());
        let (used, reserved) = (attribute("used").and_then(whole), attribute("total").and_then(whole));
        let sums = (used.is_some() || reserved.is_some()).then_some(What::Sums { used, reserved });
        Ok(sums.into_iter().chain([what]).map(|what| (layer.clone(), self.happening(what))).collect())
    }
}

/// A value of `{key:value,key:value}`, with or without quotes.
fn attribute<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let quote = |c: char| c.is_whitespace() || c == '"' || c == '\'';
    let inside = text.trim().trim_start_matches('{').trim_end_matches('}');
    inside.split([',', ';']).find_map(|pair| {
        let (name, value) = pair.split_once(':')?;
        (name.trim_matches(quote) == key).then(|| value.trim_matches(quote))
    })
}
