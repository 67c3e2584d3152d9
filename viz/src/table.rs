//! Tables of what a log says: allocations, decisions, refusals; filtered, sorted, as data and as CSV.

use crate::model::{EventIx, Kind, LifeIx, Model};
use crate::scene::{headline, source_words};
use crate::search::{Query, Row};

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Each allocation.
    Allocations,
    /// Each choice of the pool's: where memory came from, what was mapped, asked, waited for, released.
    Decisions,
    /// Each call that failed.
    Refusals,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// The part of the width that it takes, in arbitrary units.
    pub width: f32,
    /// Whether it is sorted by amount.
    pub numeric: bool,
}

/// By which column, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub column: usize,
    /// The largest first.
    pub descending: bool,
}

const fn number(name: &'static str, width: f32) -> Column {
    Column { name, width, numeric: true }
}

const fn text(name: &'static str, width: f32) -> Column {
    Column { name, width, numeric: false }
}

const LIVES: [Column; 10] = [
    number("id", 1.0),
    number("bytes", 1.4),
    number("asked", 1.4),
    number("offset", 1.7),
    text("stream", 1.0),
    text("pool", 0.7),
    text("source", 1.4),
    number("malloc", 1.0),
    number("free", 1.0),
    text("label", 1.6),
];

const EVENTS: [Column; 4] = [number("record", 1.0), number("time ns", 1.5), text("kind", 1.6), text("what", 7.0)];

impl Table {
    /// Its columns.
    #[must_use]
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Allocations => &LIVES,
            Self::Decisions | Self::Refusals => &EVENTS,
        }
    }

    const fn has(self, kind: Kind) -> bool {
        use Kind::*;
        match self {
            Self::Allocations => false,
            Self::Decisions => matches!(
                kind,
                Malloc
                    | Asked
                    | WaitInserted
                    | GrowPlanned
                    | GrowAborted
                    | Mapped
                    | MappedInOrder
                    | Unmapped
                    | UnmappedInOrder
                    | Quarantined
                    | Kept
                    | Blocked
                    | Pressed
                    | Trimmed
                    | TrimPending
            ),
            Self::Refusals => matches!(kind, OutOfMemory | Refused | DriverFailed | Lost),
        }
    }

    /// The rows that match, in the log's order or sorted. O(n log n).
    #[must_use]
    pub fn rows(self, model: &Model, query: &Query, sort: Option<Sort>) -> Vec<Row> {
        let all: Box<dyn Iterator<Item = Row>> = match self {
            Self::Allocations => Box::new((0..model.lives.len()).map(|at| Row::Life(LifeIx::next_of(at)))),
            _ => {
                let events = (0..model.events.len()).map(EventIx::next_of);
                Box::new(events.filter(move |e| self.has(model.events.kind(*e))).map(Row::Event))
            }
        };
        let mut rows: Vec<Row> = all.filter(|row| query.matches(model, *row)).collect();
        if let Some((sort, column)) = sort.and_then(|sort| Some((sort, self.columns().get(sort.column)?))) {
            match column.numeric {
                true => rows.sort_by_key(|row| amount(model, *row, sort.column)),
                false => rows.sort_by_cached_key(|row| self.cell(model, *row, sort.column)),
            }
            if sort.descending {
                rows.reverse();
            }
        }
        rows
    }

    /// What stands in a cell; empty where the log does not say.
    #[must_use]
    pub fn cell(self, model: &Model, row: Row, column: usize) -> String {
        let amount = || amount(model, row, column).map_or(String::new(), |n| n.to_string());
        match (row, column) {
            (Row::Life(life), 4) => model.stream(model.life(life).stream).id.to_string(),
            (Row::Life(life), 5) => model.pool(model.life(life).pool).id.to_string(),
            (Row::Life(life), 6) => model.life(life).source.map_or(String::new(), |s| source_words(s).to_owned()),
            (Row::Life(life), 9) => model.name(model.life(life).name).to_owned(),
            (Row::Event(event), 2) => model.events.kind(event).name().to_owned(),
            (Row::Event(event), 3) => headline(model, event),
            _ => amount(),
        }
    }

    /// The rows as CSV with a heading.
    #[must_use]
    pub fn csv(self, model: &Model, rows: &[Row]) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let columns = self.columns();
        // Writing to memory does not fail.
        let _ = out.write_record(columns.iter().map(|c| c.name));
        for row in rows {
            let _ = out.write_record((0..columns.len()).map(|column| self.cell(model, *row, column)));
        }
        out.into_inner().unwrap_or_default()
    }
}

/// What a numeric column holds.
fn amount(model: &Model, row: Row, column: usize) -> Option<u64> {
    let number = |event: EventIx| model.events.number(event);
    match row {
        Row::Life(at) => {
            let life = model.life(at);
            match column {
                0 => Some(life.id.0),
                1 => Some(life.given.0),
                2 => life.asked.map(|b| b.0),
                3 => Some(life.offset.0),
                7 => life.born().map(number),
                8 => life.died().map(number),
                _ => None,
            }
        }
        Row::Event(event) => match column {
            0 => Some(number(event)),
            1 => Some(model.events.time(event)),
            _ => None,
        },
    }
}
