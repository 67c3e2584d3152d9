//! Tables of what a log says: allocations, decisions, refusals; filtered, sorted, as data and as CSV.

use crate::model::{EventIx, Kind, LifeIx, Model};
use crate::scene::{headline, source_words};
use crate::search::{Query, Row};
use std::sync::Arc;

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

/// Records whose rows are counted together.
const BLOCK: usize = 1024;

/// The rows of a table.
#[derive(Clone, Debug)]
pub enum Rows {
    /// All allocations.
    Lives(usize),
    /// All records of a table, with how many there are before each block of records.
    Events(Table, Arc<[u32]>),
    /// These.
    Listed(Arc<[Row]>),
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Lives(count) => *count,
            Self::Events(_, before) => before.last().map_or(0, |count| *count as usize),
            Self::Listed(rows) => rows.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them, by its place. O(log n).
    #[must_use]
    pub fn get(&self, model: &Model, at: usize) -> Option<Row> {
        match self {
            Self::Lives(count) => (at < *count).then(|| Row::Life(LifeIx::next_of(at))),
            Self::Listed(rows) => rows.get(at).copied(),
            Self::Events(table, before) => {
                let block = before.partition_point(|count| *count as usize <= at).checked_sub(1)?;
                let kinds = model.events.kinds().get(block * BLOCK..)?.iter().enumerate();
                let mut here = kinds.filter(|(_, kind)| table.has(**kind));
                let (within, _) = here.nth(at - before[block] as usize)?;
                Some(Row::Event(EventIx::next_of(block * BLOCK + within)))
            }
        }
    }

    /// All of them.
    pub fn iter<'m>(&'m self, model: &'m Model) -> Box<dyn Iterator<Item = Row> + 'm> {
        match self {
            Self::Events(table, _) => {
                let events = model.events.kinds().iter().enumerate().filter(|(_, kind)| table.has(**kind));
                Box::new(events.map(|(at, _)| Row::Event(EventIx::next_of(at))))
            }
            _ => Box::new((0..self.len()).filter_map(|at| self.get(model, at))),
        }
    }
}

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
                    | Undestroyed
                    | Kept
                    | Blocked
                    | Pressed
                    | Trimmed
                    | TrimPending
            ),
            Self::Refusals => matches!(kind, OutOfMemory | Refused | DriverFailed | Lost),
        }
    }

    /// The rows that match, in the log's order or sorted. O(n log n); O(1) memory where all are shown as in the log.
    #[must_use]
    pub fn rows(self, model: &Model, query: &Query, sort: Option<Sort>) -> Rows {
        let sort = sort.and_then(|sort| Some((sort, self.columns().get(sort.column)?)));
        if query.is_empty() && sort.is_none() {
            return self.all(model);
        }
        let all = self.all(model);
        let mut rows: Vec<Row> = all.iter(model).filter(|row| query.matches(model, *row)).collect();
        if let Some((sort, column)) = sort {
            match column.numeric {
                true => rows.sort_by_key(|row| amount(model, *row, sort.column)),
                false => rows.sort_by_cached_key(|row| self.cell(model, *row, sort.column)),
            }
            if sort.descending {
                rows.reverse();
            }
        }
        Rows::Listed(rows.into())
    }

    fn all(self, model: &Model) -> Rows {
        if self == Self::Allocations {
            return Rows::Lives(model.lives.len());
        }
        let mut is = [false; 256];
        Kind::ALL.iter().for_each(|kind| is[*kind as usize] = self.has(*kind));
        let mut before = vec![0_u32];
        let mut count = 0;
        for kinds in model.events.kinds().chunks(BLOCK) {
            count += kinds.iter().map(|kind| u32::from(is[*kind as usize])).sum::<u32>();
            before.push(count);
        }
        Rows::Events(self, before.into())
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
    pub fn csv(self, model: &Model, rows: &Rows) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let columns = self.columns();
        // Writing to memory does not fail.
        let _ = out.write_record(columns.iter().map(|c| c.name));
        for row in rows.iter(model) {
            let _ = out.write_record((0..columns.len()).map(|column| self.cell(model, row, column)));
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
                2 => life.asked().map(|b| b.0),
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
