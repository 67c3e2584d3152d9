//! msMemScope's `memscope_dump_*.csv`: events of allocators on an NPU, one layer above the other. The layer with most
//! allocations is taken; the others would count the same memory again.

use super::recording::{Happening, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use super::table::{Cells, Column, Table, names, whole};
use crate::model::{Fact, Unrecorded};
use std::collections::BTreeMap;

/// Layers that keep memory of their own, and the driver's; memory of the host is no device's.
const DRIVER: &str = "HAL";
const HOST: &str = "HOST";

/// Whether a line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    let names = names(line);
    ["event", "event type", "timestamp(ns)", "attr"].iter().all(|name| names.iter().any(|found| found == name))
}

struct Columns {
    event: Column,
    kind: Column,
    name: Option<Column>,
    time: Column,
    device: Option<Column>,
    pointer: Option<Column>,
    attributes: Column,
}

/// A row that is about memory, with its layer; marks have none.
type Row = (Option<String>, Happening);

/// What such a file recorded.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let mut table = Table::new(bytes)?;
    let columns = Columns {
        event: table.column(&["Event"])?,
        kind: table.column(&["Event Type"])?,
        name: table.find(&["Name"]),
        time: table.column(&["Timestamp(ns)"])?,
        device: table.find(&["Device Id"]),
        pointer: table.find(&["Ptr"]),
        attributes: table.column(&["Attr"])?,
    };
    let facts = [Fact::Source, Fact::Order, Fact::Rounding, Fact::Limit, Fact::Streams];
    let mut recording = Recording::new("msMemScope's CSV", Unrecorded::of(&facts));
    let mut rows: Vec<Row> = Vec::new();
    while let Some(cells) = table.next() {
        match cells.and_then(|cells| columns.rows(&cells)) {
            Ok(more) => rows.extend(more),
            Err(error) => recording.damage(error),
        }
    }
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
    Ok(recording)
}

impl Columns {
    fn rows(&self, cells: &Cells<'_>) -> Result<Vec<Row>, ImportError> {
        let event = cells.text(Some(self.event)).unwrap_or_default();
        let kind = cells.text(Some(self.kind)).unwrap_or_default();
        match event {
            "MALLOC" | "FREE" => self.memory(cells, event == "MALLOC", kind),
            "MSTX" if kind.eq_ignore_ascii_case("mark") || kind.eq_ignore_ascii_case("range_start") => {
                let name = cells.text(self.name).map(str::to_owned);
                Ok(vec![(None, self.happening(cells, What::Mark { name })?)])
            }
            // What accesses memory, and what runs; a log of calls has no place for it.
            _ => Ok(Vec::new()),
        }
    }

    fn happening(&self, cells: &Cells<'_>, what: What) -> Result<Happening, ImportError> {
        let device = cells.text(self.device).and_then(|text| text.parse().ok()).unwrap_or(0);
        let time = cells.time(Some(self.time), 1.0)?;
        Ok(Happening { at: Spot::Line(cells.line), time, device, stream: StreamKey::One(0), what })
    }

    fn memory(&self, cells: &Cells<'_>, malloc: bool, layer: &str) -> Result<Vec<Row>, ImportError> {
        let text = cells.text(Some(self.attributes)).unwrap_or_default();
        let attribute = |key| attribute(text, key);
        let pointer = cells.text(self.pointer).or_else(|| attribute("addr"));
        let block = pointer.and_then(whole);
        let block = block.ok_or_else(|| cells.refuse(self.pointer, pointer.unwrap_or(""), "an address"))?;
        let size = attribute("size").and_then(|text| whole(text.trim_start_matches('-')));
        let expected = "attributes with the size, such as {size:512}";
        let size = size.ok_or_else(|| cells.refuse(Some(self.attributes), text, expected))?;
        let label = attribute("owner").filter(|owner| !owner.is_empty()).map(str::to_owned);
        let what = match malloc {
            true => What::Allocate { block, address: Some(block), asked: size, given: None, label },
            false => What::Free { block, size: Some(size) },
        };
        let layer = Some(layer.to_owned());
        let mut rows = Vec::with_capacity(2);
        let (used, reserved) = (attribute("used").and_then(whole), attribute("total").and_then(whole));
        if used.is_some() || reserved.is_some() {
            rows.push((layer.clone(), self.happening(cells, What::Sums { used, reserved })?));
        }
        rows.push((layer, self.happening(cells, what)?));
        Ok(rows)
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
