//! What can be wrong with a log that is read.

use core::fmt;

/// Something in a log that could not be read, or is not there. The reader goes on behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Damage {
    /// Byte of the input at which it was noticed.
    pub offset: u64,
    /// What is wrong.
    pub kind: DamageKind,
}

/// Kinds of [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DamageKind {
    /// No bytes, or nothing but zeros.
    Empty,
    /// Neither a page nor a line of a log anywhere.
    Foreign,
    /// A page or a text of a format that this version does not read.
    UnknownVersion {
        /// The format version that it states.
        version: u16,
    },
    /// The input ends inside a page.
    Cut {
        /// Bytes of the page.
        needs: u64,
        /// Bytes that are left.
        has: u64,
    },
    /// A page states a length that no page has.
    BadLength {
        /// The length.
        length: u16,
    },
    /// A page's bytes do not match its checksum.
    BadCrc {
        /// The checksum that the page states.
        stated: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// Bytes that belong to no page.
    Noise {
        /// How many.
        bytes: u64,
    },
    /// A record that makes no sense, in a page whose checksum is right. The rest of the page is not read.
    BadRecord {
        /// The page's number.
        page: u64,
        /// The field that was read.
        field: &'static str,
        /// What was expected of it.
        expected: &'static str,
    },
    /// A line that makes no sense.
    BadLine {
        /// The line, counted from 1.
        line: u64,
        /// The key that was read; empty for the line's end.
        key: &'static str,
        /// What was expected of it.
        expected: &'static str,
    },
    /// Records that are not in the input: lost when the log was written, or their page is damaged or missing.
    Missing {
        /// Number of the first of them.
        first: u64,
        /// How many.
        records: u64,
    },
    /// Records of a smaller number than those before: pages out of order, or another log behind the first.
    OutOfOrder {
        /// The number that comes next.
        number: u64,
        /// The number that was expected.
        expected: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DamageKind::Empty => write!(f, "the log is empty: nothing was logged, or the log was never flushed"),
            DamageKind::Foreign => write!(
                f,
                "not a log of weir: neither a page nor a line of one was found; give the file that the log sink wrote"
            ),
            kind => write!(f, "byte {}: {kind}", self.offset),
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => write!(f, "empty"),
            Self::Foreign => write!(f, "not a log of weir"),
            Self::UnknownVersion { version } => {
                write!(f, "format version {version} is not known here; read it with a newer weir")
            }
            Self::Cut { needs, has } => {
                write!(f, "the input ends inside a page: {has} of its {needs} bytes are there")
            }
            Self::BadLength { length } => write!(f, "a page states the impossible length {length}; skipped"),
            Self::BadCrc { stated, found } => {
                write!(f, "a page's bytes have checksum {found:#010x} where {stated:#010x} was expected; page skipped")
            }
            Self::Noise { bytes } => write!(f, "{bytes} bytes that belong to no page; skipped"),
            Self::BadRecord { page, field, expected } => {
                write!(f, "in page {page}, field `{field}`: expected {expected}; the page's other records are skipped")
            }
            Self::BadLine { line, key: "", expected } => write!(f, "line {line}: expected {expected}; line skipped"),
            Self::BadLine { line, key, expected } => {
                write!(f, "line {line}, key `{key}`: expected {expected}; line skipped")
            }
            Self::Missing { first, records } => {
                let last = first.saturating_add(records).saturating_sub(1);
                write!(f, "{records} records are missing: numbers {first} to {last}")
            }
            Self::OutOfOrder { number, expected } => write!(
                f,
                "record {number} comes where {expected} was expected: pages out of order, or another log begins"
            ),
        }
    }
}

impl core::error::Error for Damage {}
