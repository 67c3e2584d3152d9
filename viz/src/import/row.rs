//! What the readers of all formats give: rows, one for each thing that happened, and the errors that say where a file
//! is not what it should be.

use std::fmt;

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Allocate,
    Free,
    AllocateFailure,
    Record,
    Wait,
    Sync,
    Mark,
}

/// A stream as the log names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StreamKey {
    One(u64),
    /// -1, in `sync` rows: every stream of the device.
    Device,
}

/// One row of the log. `pointer` is the event's id in `record` and `wait` rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at: Spot,
    /// Nanoseconds, where that is recorded.
    pub(crate) time: Option<u64>,
    pub(crate) action: Action,
    pub(crate) pointer: u64,
    /// None where the column is blank, as it may be where nothing is allocated.
    pub(crate) size: Option<u64>,
    pub(crate) stream: StreamKey,
    /// What a `mark` row has in place of a pointer, if that is text.
    pub(crate) name: Option<String>,
    pub(crate) beside: Beside,
}

/// What weir's own exports say of an allocation beside what their formats have room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    /// The pool's number, counted from 0 over all devices.
    pub(crate) pool: Option<u32>,
    /// The device; not written where the format has a place for it.
    pub(crate) device: Option<u32>,
    /// What the block takes, where that is more than was asked for.
    pub(crate) given: Option<u64>,
    /// A free that stands for the end of the block's pool, with which the block ends.
    pub(crate) with_pool: bool,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// A line, from 1 on.
    Line(u64),
    /// An entry of a list, from 0 on, as programs count them.
    Entry(u64),
    /// A record of the log that weir exported.
    Record(u64),
    /// A byte, from 0 on.
    Byte(u64),
    /// What a recording says was there before it.
    Before,
    /// The file as a whole.
    File,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Entry(entry) => write!(f, "entry {entry}"),
            Self::Record(record) => write!(f, "record {record}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Before => f.write_str("before the recording"),
            Self::File => f.write_str("the file"),
        }
    }
}

/// Why a log cannot be read: where, what stands there, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Where.
    pub at: Spot,
    /// Which column or key, if it is about one.
    pub column: Option<&'static str>,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.at)?;
        if let Some(column) = self.column {
            let kind = if matches!(self.at, Spot::Line(_)) { "column" } else { "key" };
            write!(f, ", {kind} {column}")?;
        }
        write!(f, ": found {}; expected {}", self.found, self.expected)
    }
}

impl std::error::Error for ImportError {}

/// Long or odd text, cut and made printable.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
