//! CSV files whose columns are found by name, as profilers write them: with byte order marks, trailing tabs, blank cells
//! and numbers that a spreadsheet has rewritten.

use super::row::{ImportError, Spot, quoted};
use csv::{ReaderBuilder, StringRecord, Terminator, Trim};

/// The names of a header's columns, in lower case.
pub(super) fn names(line: &str) -> Vec<String> {
    let around = |c: char| c.is_whitespace() || c == '"' || c == '\u{feff}';
    line.split(',').map(|name| name.trim_matches(around).to_ascii_lowercase()).collect()
}

/// The rows of a file.
pub(super) struct Table<'a> {
    reader: csv::Reader<&'a [u8]>,
    names: Vec<String>,
    record: StringRecord,
}

/// Where a column stands, and its name for messages.
#[derive(Clone, Copy)]
pub(super) struct Column {
    place: usize,
    name: &'static str,
}

/// One row.
pub(super) struct Cells<'t> {
    record: &'t StringRecord,
    pub(super) line: u64,
}

impl<'a> Table<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, ImportError> {
        let mut builder = ReaderBuilder::new();
        builder.flexible(true).trim(Trim::All).terminator(Terminator::Any(b'\n'));
        let mut reader = builder.from_reader(bytes);
        let header = reader.headers().map_err(|error| unreadable(&error))?;
        let names = header.iter().flat_map(names).collect();
        Ok(Self { reader, names, record: StringRecord::new() })
    }

    /// The first column of one of these names.
    pub(super) fn find(&self, known: &[&'static str]) -> Option<Column> {
        known.iter().find_map(|name| {
            let place = self.names.iter().position(|found| found.eq_ignore_ascii_case(name))?;
            Some(Column { place, name })
        })
    }

    /// As [`find`](Self::find), of a column that the file must have.
    pub(super) fn column(&self, known: &[&'static str]) -> Result<Column, ImportError> {
        self.find(known).ok_or_else(|| ImportError {
            at: Spot::Line(1),
            column: known.first().copied(),
            found: format!("the header {}", quoted(&self.names.join(","))),
            expected: format!("a column {}", known.join(" or ")),
        })
    }

    /// The next row that is not blank.
    pub(super) fn next(&mut self) -> Option<Result<Cells<'_>, ImportError>> {
        loop {
            match self.reader.read_record(&mut self.record) {
                Ok(false) => return None,
                Ok(true) if self.record.iter().all(str::is_empty) => {}
                Ok(true) => break,
                Err(error) => return Some(Err(unreadable(&error))),
            }
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        Some(Ok(Cells { record: &self.record, line }))
    }
}

impl<'t> Cells<'t> {
    /// The cell; nothing where it is blank or says that there is nothing.
    pub(super) fn text(&self, column: Option<Column>) -> Option<&'t str> {
        let text = self.record.get(column?.place)?;
        (!text.is_empty() && !text.eq_ignore_ascii_case("n/a")).then_some(text)
    }

    /// The number in a cell that may be blank.
    pub(super) fn number(&self, column: Option<Column>) -> Result<Option<f64>, ImportError> {
        let Some(text) = self.text(column) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.refuse(column, text, "a number")),
        }
    }

    /// The number in a cell that must have one.
    pub(super) fn needed(&self, column: Column) -> Result<f64, ImportError> {
        self.number(Some(column))?.ok_or_else(|| self.refuse(Some(column), "", "a number"))
    }

    /// A count of units of so many bytes. Negative ones are legal here and there; so is none.
    pub(super) fn bytes(&self, column: Option<Column>, unit: f64) -> Result<Option<i64>, ImportError> {
        Ok(self.number(column)?.map(|number| (number * unit).round() as i64))
    }

    /// A time in nanoseconds, from one in units of so many.
    pub(super) fn time(&self, column: Option<Column>, unit: f64) -> Result<Option<u64>, ImportError> {
        let Some(text) = self.text(column) else { return Ok(None) };
        Ok(match text.parse::<u64>() {
            // Exactly, where it is a whole number: times since 1970 have more digits than floating point keeps.
            Ok(whole) => Some(whole.saturating_mul(unit as u64)),
            Err(_) => match text.split_once('.') {
                Some((whole, part)) if unit == 1e3 && digits(whole) && digits(part) => {
                    let part: String = part.chars().chain("000".chars()).take(3).collect();
                    let whole = whole.parse::<u64>().ok();
                    whole.map(|whole| whole.saturating_mul(1000).saturating_add(part.parse().unwrap_or(0)))
                }
                _ => self.number(column)?.map(|number| (number * unit) as u64),
            },
        })
    }

    pub(super) fn refuse(&self, column: Option<Column>, found: &str, expected: &str) -> ImportError {
        ImportError {
            at: Spot::Line(self.line),
            column: column.map(|column| column.name),
            found: quoted(found),
            expected: expected.to_owned(),
        }
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A whole number in decimal, or in hexadecimal behind `0x`.
pub(super) fn whole(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn unreadable(error: &csv::Error) -> ImportError {
    ImportError {
        at: Spot::Line(error.position().map_or(1, csv::Position::line)),
        column: None,
        found: match error.kind() {
            csv::ErrorKind::Utf8 { .. } => "bytes that are no UTF-8 text".to_owned(),
            _ => error.to_string(),
        },
        expected: "a row of a CSV file".to_owned(),
    }
}
