//! The text form: one record a line, `key=value`, for people and grep.
//!
//! The first line is [`HEADER`]. Every other line is `number=N time=N record=WORD` and the record's fields in the order
//! of [the format's table](super#records). Empty lines, and lines that begin with `#`, are skipped. A name stands last in
//! its line, after its length in bytes: nothing in it is escaped, and it may hold spaces, `=` and even a line break.

use super::field::Field;
use super::line::{Line, split_line};
use super::wire::Bad;
use super::{Record, Stamped};
use crate::units::Nanos;
use core::fmt::{self, Write};

/// The first line of a text.
pub const HEADER: &str = "weir-log version=1";

/// What the first line begins with in every version.
pub(super) const HEADER_WORD: &str = "weir-log ";

/// How every record's line begins.
pub(super) const NUMBER: &[u8] = b"number=";

/// Writes a record as a line, without the line's end.
///
/// # Errors
/// Those of `out`.
pub fn write<W: Write + ?Sized>(stamped: &Stamped<'_>, out: &mut W) -> fmt::Result {
    write!(out, "number={} time={}", stamped.number, stamped.time.0)?;
    stamped.record.show("record", out)
}

/// Reads one line that [`write()`] wrote. The names in the record are those in the line.
///
/// # Errors
/// Which key is wrong, and what was expected.
pub fn parse(line: &str) -> Result<Stamped<'_>, BadLine> {
    let mut rest = Line::new(line.as_bytes());
    let stamped = take(&mut rest)?;
    if rest.left() != 0 {
        return Err(ONE_LINE.into());
    }
    Ok(stamped)
}

const ONE_LINE: Bad = Bad { key: "", what: "one line" };

/// A line could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BadLine {
    /// The key that was read; empty for the line's end.
    pub key: &'static str,
    /// What was expected of it.
    pub expected: &'static str,
}

impl From<Bad> for BadLine {
    fn from(bad: Bad) -> Self {
        Self { key: bad.key, expected: bad.what }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "key `{}`: ", self.key)?;
        }
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for BadLine {}

/// Takes one record and its line's end.
pub(super) fn take<'a>(line: &mut Line<'a>) -> Result<Stamped<'a>, Bad> {
    let stamped = Stamped {
        number: u64::parse("number", line)?,
        time: Nanos(u64::parse("time", line)?),
        record: Record::parse("record", line)?,
    };
    line.end()?;
    Ok(stamped)
}

/// The version that a header line states; `None` where it is no header line.
pub(super) fn header_version(text: &[u8]) -> Option<u16> {
    let (line, _) = split_line(text);
    let mut line = Line::new(line.strip_prefix(HEADER_WORD.as_bytes())?);
    Some(u16::parse("version", &mut line).unwrap_or(0))
}
