//! A log as tables: its events, its allocations, its decisions. The schema is in `tables.md` beside this file.

use super::ordered::{ordered, ranges};
use super::{device, pools_by_id, refused};
use crate::model::{Death, EventIx, Fact, Kind, LifeIx, Model, PoolIx};
use crate::report::refusal_reason;
use foldhash::HashMap;
use std::fmt::Write as _;
use std::io::Result;
use weir::id::{LabelId, PoolId, StreamId};
use weir::trace::{Reader, Record, Stamped, text};

/// The largest number of a table: engines' numbers have a sign. Addresses and sizes stay below on any device.
pub(super) const MOST_NUMBER: u64 = i64::MAX as u64;

/// What a row of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A record.
    Events,
    /// An allocation.
    Allocations,
    /// A malloc that was granted or refused.
    Decisions,
}

impl Rows {
    #[cfg(feature = "parquet")]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Allocations => "allocations",
            Self::Decisions => "decisions",
        }
    }
}

/// Of what type a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Text,
}
use Type::{Number, Text};

/// Takes rows, cell by cell in the order of the [`schema`]; `None` is a blank.
pub(super) trait Cells: Send {
    /// Rows that are made at once.
    const ROWS: usize;

    fn number(&mut self, number: Option<u64>);
    fn text(&mut self, text: Option<&str>);
    /// The row is complete.
    fn end(&mut self);
}

/// The names and types of the columns.
pub(super) const fn schema(rows: Rows) -> &'static [(&'static str, Type)] {
    match rows {
        Rows::Events => &EVENTS,
        Rows::Allocations => &ALLOCATIONS,
        Rows::Decisions => &DECISIONS,
    }
}

/// Makes all rows in pieces, and gives these to `take` in order.
pub(super) fn each<C: Cells>(
    rows: Rows,
    model: &Model,
    bytes: &[u8],
    new: impl Fn() -> C + Sync,
    take: impl FnMut(C) -> Result<()>,
) -> Result<()> {
    let filled = |fill: &dyn Fn(&mut C)| {
        let mut cells = new();
        fill(&mut cells);
        cells
    };
    match rows {
        Rows::Events => {
            ordered(Events::of(bytes, C::ROWS), |piece| filled(&|cells| events(model, &piece, cells)), take)
        }
        Rows::Allocations => {
            let row = |at, cells: &mut C| allocation(model, LifeIx::next_of(at), cells);
            let pieces = ranges(model.lives.len(), C::ROWS);
            ordered(pieces, |piece| filled(&|cells| piece.clone().for_each(|at| row(at, cells))), take)
        }
        Rows::Decisions => {
            let pools = pools_by_id(model);
            let row = |at, cells: &mut C| decision(model, &pools, EventIx::next_of(at), cells);
            let pieces = ranges(model.events.len(), C::ROWS);
            ordered(pieces, |piece| filled(&|cells| piece.clone().for_each(|at| row(at, cells))), take)
        }
    }
}

const EVENTS: [(&str, Type); 14] = [
    ("number", Number),
    ("time_ns", Number),
    ("record", Text),
    ("pool", Text),
    ("stream", Text),
    ("seq", Number),
    ("allocation", Number),
    ("label", Text),
    ("asked", Number),
    ("given", Number),
    ("offset", Number),
    ("source", Text),
    ("points", Text),
    ("other", Text),
];

/// Keys of the text form that a row has a column for, in the order of those from `pool` on.
const KEYS: [&str; 10] = ["pool", "stream", "seq", "id", "label", "asked", "given", "offset", "source", "points"];

/// The records of a log, definitions not among them, each with the name of its label.
struct Events<'a> {
    reader: Reader<'a>,
    labels: HashMap<LabelId, &'a str>,
    rows: usize,
}

impl<'a> Events<'a> {
    fn of(bytes: &'a [u8], rows: usize) -> Self {
        Self { reader: Reader::new(bytes), labels: HashMap::default(), rows }
    }

    fn named(&mut self, stamped: Stamped<'a>) -> Option<(Stamped<'a>, Option<&'a str>)> {
        let label = match stamped.record {
            Record::LabelDef { label, name } => {
                self.labels.insert(label, name);
                None
            }
            Record::Mark { name, .. } if !name.is_empty() => Some(name),
            Record::Mark { label, .. } | Record::Malloc { label, .. } => self.labels.get(&label).copied(),
            _ => None,
        };
        Kind::of(&stamped.record).map(|_| (stamped, label))
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Vec<(Stamped<'a>, Option<&'a str>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = Vec::with_capacity(self.rows);
        while piece.len() < self.rows {
            match self.reader.next() {
                Some(read) => piece.extend(read.ok().and_then(|stamped| self.named(stamped))),
                None => break,
            }
        }
        (!piece.is_empty()).then_some(piece)
    }
}

fn events(model: &Model, piece: &[(Stamped<'_>, Option<&str>)], cells: &mut impl Cells) {
    let (mut line, mut other) = (String::new(), String::new());
    for (stamped, label) in piece {
        line.clear();
        // Writing to a string cannot fail.
        let _ = text::write(stamped, &mut line);
        event(model, stamped, &line, *label, &mut other, cells);
    }
}

/// One row, from the record's line. `other` is room for its last column.
fn event(
    model: &Model,
    stamped: &Stamped<'_>,
    line: &str,
    label: Option<&str>,
    other: &mut String,
    cells: &mut impl Cells,
) {
    let mut found: [Option<&str>; 10] = [None; 10];
    let mut word = "";
    let mut rest = line;
    other.clear();
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
            _ => {
                let between = if other.is_empty() { "" } else { " " };
                let _ = write!(other, "{between}{pair}");
            }
        }
    }
    let lacks = |fact| model.unrecorded.has(fact);
    let [pool, stream, seq, id, _, asked, given, offset, source, points] = found;
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let unless = |fact, value: Option<_>| value.filter(|_| !lacks(fact));
    // What a free states is what was asked for.
    let asked = asked.or(given.filter(|_| lacks(Fact::Rounding)));
    cells.number(Some(stamped.number));
    cells.number(Some(stamped.time.0).filter(|_| !lacks(Fact::Times)));
    cells.text(Some(word));
    cells.text(pool);
    cells.text(unless(Fact::Streams, stream));
    cells.number(number(unless(Fact::Streams, seq)));
    cells.number(number(id));
    cells.text(label);
    cells.number(number(asked));
    cells.number(number(unless(Fact::Rounding, given)));
    cells.number(number(unless(Fact::Addresses, offset)));
    cells.text(unless(Fact::Source, source));
    cells.text(unless(Fact::Source, points));
    cells.text(Some(other.as_str()).filter(|text| !text.is_empty()));
    cells.end();
}

const ALLOCATIONS: [(&str, Type); 16] = [
    ("allocation", Number),
    ("device", Number),
    ("pool", Text),
    ("stream", Text),
    ("label", Text),
    ("asked", Number),
    ("given", Number),
    ("offset", Number),
    ("source", Text),
    ("malloc_number", Number),
    ("malloc_time_ns", Number),
    ("free_number", Number),
    ("free_time_ns", Number),
    ("free_stream", Text),
    ("end", Text),
    ("came_from", Text),
];

/// One row an allocation, in the order of their first records.
fn allocation(model: &Model, at: LifeIx, cells: &mut impl Cells) {
    let life = model.life(at);
    let lacks = |fact| model.unrecorded.has(fact);
    let time = |event| (!lacks(Fact::Times)).then(|| model.events.time(event));
    let name = |id: StreamId| (!lacks(Fact::Streams)).then(|| id.to_string());
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
    let from = model.came_from(at).iter().map(|link| model.life(link.life).id);
    cells.number(Some(life.id.0));
    cells.number(Some(u64::from(device(model, life.pool))));
    cells.text(Some(&model.pool(life.pool).id.to_string()));
    cells.text(name(model.stream(life.stream).id).as_deref());
    cells.text(Some(model.name(life.name)).filter(|label| !label.is_empty()));
    cells.number(life.asked().map(|asked| asked.0));
    cells.number(Some(life.given.0).filter(|_| !lacks(Fact::Rounding)));
    cells.number(Some(life.offset.0).filter(|_| !lacks(Fact::Addresses)));
    cells.text(life.source.map(weir::trace::Source::name));
    cells.number(life.born().map(|event| model.events.number(event)));
    cells.number(life.born().and_then(time));
    cells.number(freed.map(|(event, _)| model.events.number(event)));
    cells.number(freed.and_then(|(event, _)| time(event)));
    cells.text(freed.and_then(|(_, stream)| name(stream)).as_deref());
    cells.text(Some(end));
    cells.text(Some(joined(from)).filter(|from| !from.is_empty() && !lacks(Fact::Addresses)).as_deref());
    cells.end();
}

/// With commas.
fn joined(all: impl Iterator<Item = impl std::fmt::Display>) -> String {
    let mut words = String::new();
    for one in all {
        let between = if words.is_empty() { "" } else { "," };
        let _ = write!(words, "{between}{one}");
    }
    words
}

const DECISIONS: [(&str, Type); 14] = [
    ("number", Number),
    ("time_ns", Number),
    ("device", Number),
    ("pool", Text),
    ("stream", Text),
    ("granted", Number),
    ("allocation", Number),
    ("asked", Number),
    ("given", Number),
    ("source", Text),
    ("points", Text),
    ("used_after", Number),
    ("reserved_after", Number),
    ("reason", Text),
];

/// One row a malloc that was granted or refused, with what the pool held after it.
fn decision(model: &Model, pools: &HashMap<PoolId, PoolIx>, event: EventIx, cells: &mut impl Cells) {
    type Asked = (Option<PoolId>, Option<StreamId>, u64);
    if !matches!(model.events.kind(event), Kind::Malloc | Kind::OutOfMemory | Kind::Refused) {
        return;
    }
    let stamped = model.record(event);
    let (asked, granted): (Asked, _) = match stamped.record {
        Record::Malloc { pool, stream, asked, .. } => ((Some(pool), Some(stream), asked.0), model.life_at(event)),
        record => match refused(&record) {
            Some(asked) => (asked, None),
            None => return,
        },
    };
    let (pool, stream, asked) = asked;
    let lacks = |fact| model.unrecorded.has(fact);
    let known = pool.and_then(|pool| pools.get(&pool).copied());
    let life = granted.map(|life| model.life(life));
    let points = granted.filter(|_| !lacks(Fact::Source)).map(|life| {
        let points = model.waited_for(life).points.iter();
        joined(points.map(|point| format!("{}@{}", point.stream, point.seq)))
    });
    cells.number(Some(stamped.number));
    cells.number(Some(stamped.time.0).filter(|_| !lacks(Fact::Times)));
    cells.number(known.map(|pool| u64::from(device(model, pool))));
    cells.text(pool.map(|pool| pool.to_string()).as_deref());
    cells.text(stream.filter(|_| !lacks(Fact::Streams)).map(|stream| stream.to_string()).as_deref());
    cells.number(Some(u64::from(granted.is_some())));
    cells.number(life.map(|life| life.id.0));
    cells.number(Some(asked));
    cells.number(life.filter(|_| !lacks(Fact::Rounding)).map(|life| life.given.0));
    cells.text(life.and_then(|life| life.source).map(weir::trace::Source::name));
    cells.text(points.filter(|points| !points.is_empty()).as_deref());
    cells.number(known.map(|pool| model.pool(pool).used.after(event)));
    cells.number(known.filter(|_| !lacks(Fact::Reserved)).map(|pool| model.pool(pool).reserved.after(event)));
    // What other programs' logs do not say.
    cells.text(refusal_reason(&stamped.record).filter(|_| model.unrecorded.is_empty()));
    cells.end();
}
