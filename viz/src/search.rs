//! What the search box and the filter of a table understand.
//!
//! Words apart by spaces, all of which must hold: `0x7f0000` an address, inside of a block as well; `123` an allocation's
//! id, or an address; `#123` a record; `2MiB`, `>2MiB`, `<=64KiB`, `1MiB..2MiB` a size; `stream:1`, `pool:0`, `label:x`;
//! any other word a part of a label, or of what the record is called.

use crate::model::{EventIx, Life, LifeIx, Model, Payload, StreamIx};
use crate::scene::{headline, source_words};
use std::fmt;
use weir::trace::Record;

/// A part of the log that can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// An allocation.
    Life(LifeIx),
    /// A record.
    Event(EventIx),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// Inside of the block, by address or by offset.
    Address(u64),
    /// The allocation's id, or inside of the block by address.
    Number(u64),
    Record(u64),
    Size(u64, u64),
    Stream(String),
    Pool(String),
    Label(String),
    Word(String),
}

/// A query that was understood. The empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<Term>);

/// A word that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    word: String,
    expected: &'static str,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: expected {}", self.word, self.expected)
    }
}

impl std::error::Error for QueryError {}

const UNITS: [(&str, u64); 9] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("b", 1),
];

/// A size with its unit, such as `1.5MiB`. `None` without a unit.
fn size(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let (number, unit) = UNITS.iter().find_map(|(name, bytes)| Some((word.strip_suffix(name)?, *bytes)))?;
    let number: f64 = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    Some((number * unit as f64) as u64)
}

/// As a size is shown: three figures, so that what is read in the window finds what it was read of.
fn about(bytes: u64) -> Term {
    Term::Size(bytes - bytes / 200, bytes.saturating_add(bytes / 200))
}

fn sizes(word: &str) -> Option<Term> {
    if let Some((from, to)) = word.split_once("..") {
        return Some(Term::Size(size(from)?, size(to)?));
    }
    let least = |w: &str| size(w).map(|from| Term::Size(from, u64::MAX));
    let most = |w: &str| size(w).map(|to| Term::Size(0, to));
    None.or_else(|| least(word.strip_prefix(">=")?))
        .or_else(|| most(word.strip_prefix("<=")?))
        .or_else(|| Some(Term::Size(size(word.strip_prefix('>')?)?.saturating_add(1), u64::MAX)))
        .or_else(|| Some(Term::Size(0, size(word.strip_prefix('<')?)?.checked_sub(1)?)))
        .or_else(|| size(word).map(about))
}

impl Term {
    fn parse(word: &str) -> Result<Self, QueryError> {
        let bad = |expected| QueryError { word: word.to_owned(), expected };
        if let Some((key, value)) = word.split_once(':') {
            let value = value.to_lowercase();
            return match key {
                "stream" => Ok(Self::Stream(value)),
                "pool" => Ok(Self::Pool(value)),
                "label" => Ok(Self::Label(value)),
                _ => Err(bad("stream:, pool: or label:")),
            };
        }
        if let Some(number) = word.strip_prefix('#') {
            return number.parse().map(Self::Record).map_err(|_| bad("a record's number after #"));
        }
        if let Some(hex) = word.strip_prefix("0x") {
            return u64::from_str_radix(hex, 16).map(Self::Address).map_err(|_| bad("a hexadecimal address"));
        }
        if let Some(term) = sizes(word) {
            return Ok(term);
        }
        if word.starts_with(['<', '>']) {
            return Err(bad("a size with a unit, such as >2MiB"));
        }
        Ok(word.parse().map_or_else(|_| Self::Word(word.to_lowercase()), Self::Number))
    }

    fn holds(&self, model: &Model, row: Row) -> bool {
        match row {
            Row::Life(life) => self.holds_for_life(model, model.life(life)),
            Row::Event(event) => self.holds_for_event(model, event),
        }
    }

    fn holds_for_life(&self, model: &Model, life: &Life) -> bool {
        let label = || model.name(life.name).to_lowercase();
        match self {
            Self::Address(address) => is_inside(model, life, *address),
            Self::Number(number) => {
                // Small numbers are ids; who means an offset writes it as hexadecimal.
                let base = model.pool(life.pool).definition.map_or(u64::MAX, |pool| pool.base.0);
                life.id.0 == *number || (*number >= base && is_inside(model, life, *number))
            }
            Self::Record(number) => {
                [life.born(), life.died()].into_iter().flatten().any(|e| model.events.number(e) == *number)
            }
            Self::Size(from, to) => (*from..=*to).contains(&life.given.0),
            Self::Stream(stream) => names(model, life.stream, stream),
            Self::Pool(pool) => model.pool(life.pool).id.to_string() == *pool,
            Self::Label(part) => label().contains(part),
            Self::Word(part) => label().contains(part) || life.source.is_some_and(|s| source_words(s).contains(part)),
        }
    }

    fn holds_for_event(&self, model: &Model, event: EventIx) -> bool {
        if let Self::Record(number) = self {
            return model.events.number(event) == *number;
        }
        let record = match model.events.payload(event) {
            Payload::Life(life) => {
                let kind = matches!(self, Self::Word(part) if model.events.kind(event).name().contains(part));
                return kind || self.holds_for_life(model, model.life(life));
            }
            Payload::Other(record) => record,
        };
        match self {
            Self::Size(from, to) => asked(&record).is_some_and(|bytes| (*from..=*to).contains(&bytes)),
            Self::Stream(stream) => headline(model, event).contains(&format!("stream {stream}")),
            Self::Pool(pool) => pool_of(&record).is_some_and(|at| at == *pool),
            Self::Word(part) => {
                model.events.kind(event).name().contains(part) || headline(model, event).to_lowercase().contains(part)
            }
            Self::Address(_) | Self::Number(_) | Self::Label(_) | Self::Record(_) => false,
        }
    }
}

fn names(model: &Model, stream: StreamIx, name: &str) -> bool {
    model.stream(stream).id.to_string() == name
}

/// Whether the address, or the offset from the pool's base, is inside.
fn is_inside(model: &Model, life: &Life, address: u64) -> bool {
    let base = model.pool(life.pool).definition.map_or(0, |pool| pool.base.0);
    let offset = if base > 0 && address >= base { address - base } else { address };
    (life.offset.0..life.end()).contains(&offset)
}

/// What was asked for in vain.
fn asked(record: &Record<'_>) -> Option<u64> {
    match record {
        Record::OutOfMemory { requested, .. } => Some(requested.0),
        Record::Refused { size, .. } => Some(size.0),
        _ => None,
    }
}

fn pool_of(record: &Record<'_>) -> Option<String> {
    match record {
        Record::OutOfMemory { pool, .. }
        | Record::Refused { pool: Some(pool), .. }
        | Record::Mapped { pool, .. }
        | Record::Unmapped { pool, .. }
        | Record::Trimmed { pool, .. } => Some(pool.to_string()),
        _ => None,
    }
}

impl Query {
    /// Understands the text.
    ///
    /// # Errors
    /// Names the word that makes no sense, and what was expected.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        text.split_whitespace().map(Term::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether everything matches.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the row is what was asked for.
    #[must_use]
    pub fn matches(&self, model: &Model, row: Row) -> bool {
        self.0.iter().all(|term| term.holds(model, row))
    }

    /// The next match after a record (or before it, backwards), around the ends: an allocation stands at its malloc,
    /// and other records for themselves.
    #[must_use]
    pub fn next(&self, model: &Model, after: Option<EventIx>, by: i64) -> Option<Row> {
        if let [Term::Record(number)] = self.0[..] {
            let at = (0..model.events.len()).map(EventIx::next_of).find(|e| model.events.number(*e) == number)?;
            return Some(Row::Event(at));
        }
        let count = model.events.len();
        let start = after.map_or(if by > 0 { count.saturating_sub(1) } else { 0 }, EventIx::at);
        let place = |step: usize| if by > 0 { (start + step) % count } else { (start + count - step % count) % count };
        (1..=count).map(|step| self.row_at(model, EventIx::next_of(place(step)))).find_map(|row| row)
    }

    fn row_at(&self, model: &Model, event: EventIx) -> Option<Row> {
        let row = match model.life_at(event) {
            Some(life) if model.life(life).since() == event || model.life(life).born().is_none() => Row::Life(life),
            Some(_) => return None,
            None => Row::Event(event),
        };
        (!self.is_empty() && self.matches(model, row)).then_some(row)
    }
}
