//! Lifetimes, as MiniMalloc, idealloc and dumps of MindSpore's SOMAS have them: `id,lower,upper,size`, times in steps of a
//! schedule, without addresses and streams.
//!
//! A lifetime ends before its upper bound. Files of the older kind name the columns `start` and `end`; there the end is
//! the last step. Gaps in a lifetime are no free: the block keeps its memory.

use super::row::{Action, Beside, ImportError, Row, Spot, StreamKey};
use csv::{ReaderBuilder, StringRecord, Trim};
use std::io::Read;

/// What else the columns are called.
const LOWER: [&str; 3] = ["lower", "start", "begin"];
const UPPER: [&str; 2] = ["upper", "end"];
const SIZE: [&str; 1] = ["size"];

const HEADER: &str = "id,lower,upper,size";

/// Where the columns stand.
struct Columns {
    lower: usize,
    upper: usize,
    size: usize,
    /// What is added to an upper bound: 1 where it is the last step.
    last: i64,
}

/// One end of a lifetime. The first field decides the order in time, the second that frees come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    step: i64,
    action: u8,
    number: usize,
    line: u64,
    size: u64,
}

const FREE: u8 = 0;
const ALLOCATE: u8 = 1;

/// Whether a header is of this kind.
pub(super) fn is_header(line: &str) -> bool {
    columns(&StringRecord::from(line.split(',').map(str::trim).collect::<Vec<_>>())).is_some()
}

/// The lifetimes as the rows of one stream, and what is wrong with those that cannot be read.
pub(super) fn salvage(input: impl Read) -> Result<(Vec<Row>, Vec<ImportError>), ImportError> {
    let mut reader = ReaderBuilder::new().flexible(true).trim(Trim::All).from_reader(input);
    let header = reader.headers().map_err(|error| unreadable(&error))?;
    let columns = columns(header).ok_or_else(|| ImportError {
        at: Spot::Line(1),
        column: None,
        found: format!("the header {:?}", header.iter().collect::<Vec<_>>().join(",")),
        expected: format!("the header {HEADER}"),
    })?;
    let (mut ends, mut damages) = (Vec::new(), Vec::new());
    for (number, record) in reader.records().enumerate() {
        let found = record.map_err(|error| unreadable(&error)).and_then(|record| {
            let line = record.position().map_or(1, csv::Position::line);
            columns.ends(&record, line, number)
        });
        match found {
            Ok(both) => ends.extend(both),
            Err(error) => damages.push(error),
        }
    }
    ends.sort_unstable();
    Ok((ends.into_iter().map(End::row).collect(), damages))
}

fn columns(header: &StringRecord) -> Option<Columns> {
    let clean = |name: &str| name.trim_start_matches('\u{feff}').to_ascii_lowercase();
    let names: Vec<String> = header.iter().map(clean).collect();
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let (lower, upper, size) = (find(&LOWER)?, find(&UPPER)?, find(&SIZE)?);
    let last = i64::from(names.get(upper).is_some_and(|name| name == "end"));
    Some(Columns { lower, upper, size, last })
}

impl Columns {
    fn ends(&self, record: &StringRecord, line: u64, number: usize) -> Result<[End; 2], ImportError> {
        let text = |place: usize| record.get(place).unwrap_or_default();
        let refuse = |column, place: usize, expected: &str| ImportError {
            at: Spot::Line(line),
            column: Some(column),
            found: format!("{:?}", text(place)),
            expected: expected.to_owned(),
        };
        let step = |column, place| text(place).parse().map_err(|_| refuse(column, place, "a whole number of steps"));
        let lower: i64 = step("lower", self.lower)?;
        let upper = step("upper", self.upper)?.saturating_add(self.last);
        let size = text(self.size).parse();
        let size = size.map_err(|_| refuse("size", self.size, "a count of bytes, such as 4096"))?;
        if lower >= upper {
            return Err(refuse("upper", self.upper, &format!("a step after the lower one, {lower}")));
        }
        let end = |step, action| End { step, action, number, line, size };
        Ok([end(lower, ALLOCATE), end(upper, FREE)])
    }
}

impl End {
    /// Addresses are numbers of lines: none is used twice.
    fn row(self) -> Row {
        Row {
            at: Spot::Line(self.line),
            time: None,
            action: if self.action == FREE { Action::Free } else { Action::Allocate },
            pointer: self.number as u64 + 1,
            size: Some(self.size),
            stream: StreamKey::One(0),
            name: None,
            beside: Beside::default(),
        }
    }
}

fn unreadable(error: &csv::Error) -> ImportError {
    ImportError {
        at: Spot::Line(error.position().map_or(1, csv::Position::line)),
        column: None,
        found: error.to_string(),
        expected: format!("a CSV file with the header {HEADER}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<(Action, u64, u64)>, ImportError> {
        let (rows, damages) = salvage(text.as_bytes())?;
        if let Some(first) = damages.into_iter().next() {
            return Err(first);
        }
        Ok(rows.into_iter().map(|row| (row.action, row.pointer, row.size.unwrap_or(0))).collect())
    }

    use Action::{Allocate, Free};

    #[test]
    fn a_lifetime_ends_before_the_next_begins() {
        let rows = read_text("id,lower,upper,size\nb1,0,3,4\nb2,3,9,5\nb3,-1,9,6\n").expect("is readable");
        let right = [(Allocate, 3, 6), (Allocate, 1, 4), (Free, 1, 4), (Allocate, 2, 5), (Free, 2, 5), (Free, 3, 6)];
        assert_eq!(rows, right);
    }

    #[test]
    fn in_older_files_the_end_belongs_to_it() {
        let rows = read_text("buffer_id, start, end, size, gaps\n1,0,3,4,\n2,4,9,5,6-7\n").expect("is readable");
        assert_eq!(rows, [(Allocate, 1, 4), (Free, 1, 4), (Allocate, 2, 5), (Free, 2, 5)]);
        let both = read_text("id,start,end,size\n1,0,3,4\n2,3,9,5\n").expect("is readable");
        assert_eq!(both[..2], [(Allocate, 1, 4), (Allocate, 2, 5)]);
        assert!(read_text("id,start,end,size\n1,3,3,4\n").is_ok(), "one step");
    }

    #[test]
    fn the_rows_around_a_wrong_one_are_read() {
        let text = "id,lower,upper,size\n0,0,3,4\n1,9,2,8\n2,1,\n3,1,2,16\n";
        let (rows, damages) = salvage(text.as_bytes()).expect("has the header");
        let rows: Vec<_> = rows.iter().map(|row| (row.action, row.pointer)).collect();
        assert_eq!(rows, [(Allocate, 1), (Allocate, 4), (Free, 4), (Free, 1)]);
        let lines: Vec<_> = damages.iter().map(|damage| damage.at).collect();
        assert_eq!(lines, [Spot::Line(3), Spot::Line(4)]);
    }

    #[test]
    fn a_wrong_field_is_named_with_line_and_column() {
        for (row, expected) in [
            ("1,2,2,8", "line 3, column upper: found \"2\"; expected a step after the lower one, 2"),
            ("1,soon,2,8", "line 3, column lower: found \"soon\"; expected a whole number of steps"),
            ("1,0,2,-8", "line 3, column size: found \"-8\"; expected a count of bytes"),
            ("1,0", "line 3, column upper: found \"\""),
        ] {
            let text = read_text(&format!("id,lower,upper,size\n0,0,1,1\n{row}\n")).expect_err(row).to_string();
            assert!(text.starts_with(expected), "{row}: {text}");
        }
    }
}
