//! A log as tables: its events, its allocations, its decisions. The schema is in `tables.md` beside this file.

use super::{device, pools_by_id, records, refused};
use crate::model::{Death, Fact, Kind, Model};
use crate::report::refusal_reason;
use std::collections::BTreeMap;
use weir::id::{PoolId, StreamId};
use weir::trace::{Reader, Record, Stamped, text};

/// Values of one column, with blanks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Number(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) values: Values,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Values {
    /// The value of a row as text; empty for a blank.
    pub(super) fn text(&self, row: usize) -> String {
        match self {
            Self::Number(all) => all.get(row).copied().flatten().map_or_else(String::new, |number| number.to_string()),
            Self::Text(all) => all.get(row).cloned().flatten().unwrap_or_default(),
        }
    }
}

/// One value.
pub(super) enum Cell {
    Number(Option<u64>),
    Text(Option<String>),
}

impl Table {
    fn new(columns: &[(&'static str, bool)]) -> Self {
        let column = |(name, number): &(&'static str, bool)| Column {
            name,
            values: if *number { Values::Number(Vec::new()) } else { Values::Text(Vec::new()) },
        };
        Self { columns: columns.iter().map(column).collect(), rows: 0 }
    }

    fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows += 1;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (&mut column.values, cell) {
                // Parquet's numbers have a sign; addresses and sizes stay below 2^63 on any device.
                (Values::Number(all), Cell::Number(number)) => {
                    all.push(number.map(|n| i64::try_from(n).unwrap_or(i64::MAX)))
                }
                (Values::Text(all), Cell::Text(text)) => all.push(text),
                (Values::Number(all), Cell::Text(_)) => all.push(None),
                (Values::Text(all), Cell::Number(_)) => all.push(None),
            }
        }
    }
}

fn number(number: impl Into<Option<u64>>) -> Cell {
    Cell::Number(number.into())
}

fn words(text: impl Into<Option<String>>) -> Cell {
    Cell::Text(text.into())
}

const NUMBER: bool = true;
const TEXT: bool = false;

const EVENTS: [(&str, bool); 14] = [
    ("number", NUMBER),
    ("time_ns", NUMBER),
    ("record", TEXT),
    ("pool", TEXT),
    ("stream", TEXT),
    ("seq", NUMBER),
    ("allocation", NUMBER),
    ("label", TEXT),
    ("asked", NUMBER),
    ("given", NUMBER),
    ("offset", NUMBER),
    ("source", TEXT),
    ("points", TEXT),
    ("other", TEXT),
];

/// Keys of the text form that a row has a column for, in the order of those from `pool` on.
const KEYS: [&str; 10] = ["pool", "stream", "seq", "id", "label", "asked", "given", "offset", "source", "points"];

/// The records, definitions not among them.
pub(super) fn events(model: &Model, bytes: &[u8]) -> Table {
    let mut table = Table::new(&EVENTS);
    let mut labels = BTreeMap::new();
    let mut line = String::new();
    for stamped in Reader::new(bytes).filter_map(Result::ok) {
        if let Record::LabelDef { label, name } = stamped.record {
            labels.insert(label.0.to_string(), name.to_owned());
        }
        if Kind::of(&stamped.record).is_none() {
            continue;
        }
        line.clear();
        // Writing to a string cannot fail.
        let _ = text::write(&stamped, &mut line);
        table.push(event(model, &stamped, &line, &labels));
    }
    table
}

fn event(model: &Model, stamped: &Stamped<'_>, line: &str, labels: &BTreeMap<String, String>) -> Vec<Cell> {
    let mut found: [Option<&str>; 10] = [None; 10];
    let (mut word, mut other) = ("", Vec::new());
    let mut rest = line;
    while !rest.is_empty() {
        // A name stands last and may hold anything.
        let (pair, after) =
            if rest.starts_with("name=") { (rest, "") } else { rest.split_once(' ').unwrap_or((rest, "")) };
        rest = after;
        let Some((key, value)) = pair.split_once('=') else { continue };
        match (key, KEYS.iter().position(|known| *known == key)) {
            ("record", _) => word = value,
            // Those of the row itself; the second `number` counts an event's recordings.
            ("number" | "time", _) if word.is_empty() => {}
            ("length" | "name", _) | ("epoch", _) if key != "epoch" || value == "0" => {}
            (_, Some(at)) => found[at] = Some(value).filter(|value| *value != "-"),
            _ => other.push(pair),
        }
    }
    let lacks = |fact| model.unrecorded.has(fact);
    let [pool, stream, seq, id, label, asked, given, offset, source, points] = found;
    let count = |text: Option<&str>| number(text.and_then(|text| text.parse().ok()));
    let unless = |fact, value| if lacks(fact) { None } else { value };
    // What a free states is what was asked for.
    let asked = asked.or(given.filter(|_| lacks(Fact::Rounding)));
    let label = match stamped.record {
        Record::Mark { name, .. } if !name.is_empty() => Some(name.to_owned()),
        _ => label.and_then(|label| labels.get(label).cloned()),
    };
    vec![
        number(stamped.number),
        number(if lacks(Fact::Times) { None } else { Some(stamped.time.0) }),
        words(word.to_owned()),
        words(pool.map(str::to_owned)),
        words(unless(Fact::Streams, stream).map(str::to_owned)),
        count(unless(Fact::Streams, seq)),
        count(id),
        words(label),
        count(asked),
        count(unless(Fact::Rounding, given)),
        count(unless(Fact::Addresses, offset)),
        words(unless(Fact::Source, source).map(str::to_owned)),
        words(unless(Fact::Source, points).map(str::to_owned)),
        words(Some(other.join(" ")).filter(|text| !text.is_empty())),
    ]
}

const ALLOCATIONS: [(&str, bool); 16] = [
    ("allocation", NUMBER),
    ("device", NUMBER),
    ("pool", TEXT),
    ("stream", TEXT),
    ("label", TEXT),
    ("asked", NUMBER),
    ("given", NUMBER),
    ("offset", NUMBER),
    ("source", TEXT),
    ("malloc_number", NUMBER),
    ("malloc_time_ns", NUMBER),
    ("free_number", NUMBER),
    ("free_time_ns", NUMBER),
    ("free_stream", TEXT),
    ("end", TEXT),
    ("came_from", TEXT),
];

/// One row an allocation, in the order of their first records.
pub(super) fn allocations(model: &Model) -> Table {
    let mut table = Table::new(&ALLOCATIONS);
    let lacks = |fact| model.unrecorded.has(fact);
    let time = |event| if lacks(Fact::Times) { None } else { Some(model.events.time(event)) };
    let name = |id: StreamId| (!lacks(Fact::Streams)).then(|| id.to_string());
    for (at, life) in model.lives.iter().enumerate() {
        let freed = match life.death {
            Death::Free { event, stream, .. } => Some((event, model.stream(stream).id)),
            _ => None,
        };
        let end = match life.death {
            Death::Live => "live",
            Death::Free { .. } => "freed",
            Death::Destroyed(_) => "destroyed",
            Death::NotRecorded(_) => "not_recorded",
        };
        let label = model.name(life.name);
        let from: Vec<String> = model
            .came_from(crate::model::LifeIx::next_of(at))
            .iter()
            .map(|link| model.life(link.life).id.to_string())
            .collect();
        let from = Some(from.join(",")).filter(|from| !from.is_empty() && !lacks(Fact::Addresses));
        table.push([
            number(life.id.0),
            number(u64::from(device(model, life.pool))),
            words(model.pool(life.pool).id.to_string()),
            words(name(model.stream(life.stream).id)),
            words(Some(label.to_owned()).filter(|label| !label.is_empty())),
            number(life.asked().map(|asked| asked.0)),
            number(if lacks(Fact::Rounding) { None } else { Some(life.given.0) }),
            number(if lacks(Fact::Addresses) { None } else { Some(life.offset.0) }),
            words(life.source.map(|source| source.name().to_owned())),
            number(life.born().map(|event| model.events.number(event))),
            number(life.born().and_then(time)),
            number(freed.map(|(event, _)| model.events.number(event))),
            number(freed.and_then(|(event, _)| time(event))),
            words(freed.and_then(|(_, stream)| name(stream))),
            words(end.to_owned()),
            words(from),
        ]);
    }
    table
}

const DECISIONS: [(&str, bool); 14] = [
    ("number", NUMBER),
    ("time_ns", NUMBER),
    ("device", NUMBER),
    ("pool", TEXT),
    ("stream", TEXT),
    ("granted", NUMBER),
    ("allocation", NUMBER),
    ("asked", NUMBER),
    ("given", NUMBER),
    ("source", TEXT),
    ("points", TEXT),
    ("used_after", NUMBER),
    ("reserved_after", NUMBER),
    ("reason", TEXT),
];

/// One row a malloc that was granted or refused, with what the pool held after it.
pub(super) fn decisions(model: &Model) -> Table {
    let mut table = Table::new(&DECISIONS);
    let pools = pools_by_id(model);
    let lacks = |fact| model.unrecorded.has(fact);
    for (event, stamped) in records(model) {
        type Asked = (Option<PoolId>, Option<StreamId>, u64);
        let (asked, granted): (Asked, _) = match stamped.record {
            Record::Malloc { pool, stream, asked, .. } => ((Some(pool), Some(stream), asked.0), model.life_at(event)),
            record => match refused(&record) {
                Some(asked) => (asked, None),
                None => continue,
            },
        };
        let (pool, stream, asked) = asked;
        let known = pool.and_then(|pool| pools.get(&pool).copied());
        let life = granted.map(|life| model.life(life));
        let points = granted.filter(|_| !lacks(Fact::Source)).map(|life| {
            let points = model.waited_for(life).points.iter();
            points.map(|point| format!("{}@{}", point.stream, point.seq)).collect::<Vec<_>>().join(",")
        });
        table.push([
            number(stamped.number),
            number(if lacks(Fact::Times) { None } else { Some(stamped.time.0) }),
            number(known.map(|pool| u64::from(device(model, pool)))),
            words(pool.map(|pool| pool.to_string())),
            words(stream.filter(|_| !lacks(Fact::Streams)).map(|stream| stream.to_string())),
            number(u64::from(granted.is_some())),
            number(life.map(|life| life.id.0)),
            number(asked),
            number(life.filter(|_| !lacks(Fact::Rounding)).map(|life| life.given.0)),
            words(life.and_then(|life| life.source).map(|source| source.name().to_owned())),
            words(points.filter(|points| !points.is_empty())),
            number(known.map(|pool| model.pool(pool).used.after(event))),
            number(known.filter(|_| !lacks(Fact::Reserved)).map(|pool| model.pool(pool).reserved.after(event))),
            // What other programs' logs do not say.
            words(refusal_reason(&stamped.record).filter(|_| model.unrecorded.is_empty()).map(str::to_owned)),
        ]);
    }
    table
}
