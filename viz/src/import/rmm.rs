//! Reads CSV files with the header of RAPIDS RMM's log, row by row.

use super::recording::{Happening, NO_POOL, Recording, What};
use super::row::{Action, Beside, ImportError, Row, Spot, StreamKey, quoted};
use crate::model::{Fact, Unrecorded};
use csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator, Trim};
use std::io::{Chain, Read};

/// The columns, in the order of RMM's own files.
pub(crate) const COLUMNS: [&str; 6] = ["Thread", "Time", "Action", "Pointer", "Size", "Stream"];
const TIME: usize = 1;
const ACTION: usize = 2;
const POINTER: usize = 3;
const SIZE: usize = 4;
const STREAM: usize = 5;

/// Further columns of weir's own files.
pub(crate) const BESIDE: [&str; 4] = ["Device", "Pool", "Given", "Ends"];
/// What stands in the last of these in a free that is the end of the block's pool.
pub(crate) const WITH_POOL: &str = "pool";

const ACTIONS: [(&str, Action); 7] = [
    ("allocate", Action::Allocate),
    ("free", Action::Free),
    ("allocate failure", Action::AllocateFailure),
    ("record", Action::Record),
    ("wait", Action::Wait),
    ("sync", Action::Sync),
    ("mark", Action::Mark),
];

/// What is read: the file, and a line end, so that its last line has one.
type Lines<R> = Chain<R, &'static [u8]>;

/// The rows of a log.
pub(crate) struct Rows<R> {
    reader: csv::Reader<Lines<R>>,
    record: StringRecord,
    places: [usize; 6],
    beside: [Option<usize>; 4],
}

impl<R: Read> Rows<R> {
    /// Reads the header.
    pub(crate) fn new(input: R) -> Result<Self, ImportError> {
        let mut builder = ReaderBuilder::new();
        // Lines end with the line feed alone, or those of files with carriage returns would be counted wrongly.
        builder.flexible(true).trim(Trim::All).terminator(Terminator::Any(b'\n'));
        let mut reader = builder.from_reader(input.chain(b"\n".as_slice()));
        let header = reader.headers().map_err(unreadable)?;
        let beside = BESIDE.map(|column| place(header, column));
        let places = places(header)?;
        Ok(Self { reader, record: StringRecord::new(), places, beside })
    }

    /// Whether the rows say which pool they are of: then weir wrote them.
    const fn tells_pools(&self) -> bool {
        self.beside[1].is_some()
    }

    fn read(&mut self) -> Result<Option<Row>, ImportError> {
        let blank = |record: &StringRecord| record.iter().all(str::is_empty);
        loop {
            if !self.reader.read_record(&mut self.record).map_err(unreadable)? {
                return Ok(None);
            }
            if !blank(&self.record) {
                break;
            }
        }
        // The record's own position is that of the empty lines before it.
        let line = self.reader.position().line().saturating_sub(1);
        let fields = Fields { record: &self.record, places: &self.places, beside: &self.beside, line };
        fields.row().map(Some)
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Row, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// What a log recorded. Its times of day go on after midnight.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let unrecorded = Unrecorded::of(&[Fact::Source, Fact::Order, Fact::Reserved, Fact::Rounding, Fact::Limit]);
    let rows = Rows::new(bytes)?;
    // The rows order the program's streams; what the pools waited for on their own stands in none.
    let tells_pools = rows.tells_pools();
    let mut recording = Recording::of_rows("RMM's CSV", unrecorded, rows);
    let ordered =
        |happening: &Happening| matches!(happening.what, What::Record { .. } | What::Wait { .. } | What::Sync);
    if !tells_pools && recording.happenings.iter().any(ordered) {
        recording.unrecorded = recording.unrecorded.but(Fact::Order);
    }
    if recording.overlaps() {
        recording.unrecorded = recording.unrecorded.and(Fact::Addresses);
        recording.happenings.iter_mut().for_each(Happening::forget_address);
        recording.notes.push("live blocks overlap: the pointers are names, and no addresses".to_owned());
    }
    let (mut last, mut days) = (0, 0);
    for time in recording.happenings.iter_mut().filter_map(|happening| happening.time.as_mut()) {
        // Threads write their rows a little late; half a day late is the next day.
        days += u64::from(time.saturating_add(DAY / 2) < last && last < DAY);
        last = *time;
        *time = time.saturating_add(days * DAY);
    }
    Ok(recording)
}

/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

/// Whether a line is a header of this kind, if perhaps not a whole one.
pub(super) fn is_header(line: &str) -> bool {
    let names = line.trim_start_matches('\u{feff}').split(',').map(str::trim);
    names.filter(|name| COLUMNS.iter().any(|column| column.eq_ignore_ascii_case(name))).count() > 1
}

/// Where a column stands in this file.
fn place(header: &StringRecord, column: &str) -> Option<usize> {
    header.iter().position(|name| name.trim_start_matches('\u{feff}').eq_ignore_ascii_case(column))
}

/// Where each column stands that there must be.
fn places(header: &StringRecord) -> Result<[usize; 6], ImportError> {
    let mut places = [0; 6];
    for (found, column) in places.iter_mut().zip(COLUMNS) {
        *found = place(header, column).ok_or_else(|| ImportError {
            at: Spot::Line(1),
            column: Some(column),
            found: match header.is_empty() {
                true => "an empty file".into(),
                false => format!("the header {}", quoted(&header.iter().collect::<Vec<_>>().join(","))),
            },
            expected: format!("the header {}", COLUMNS.join(",")),
        })?;
    }
    Ok(places)
}

struct Fields<'a> {
    record: &'a StringRecord,
    places: &'a [usize; 6],
    beside: &'a [Option<usize>; 4],
    line: u64,
}

impl Fields<'_> {
    fn row(&self) -> Result<Row, ImportError> {
        let action = self.action()?;
        if action == Action::Mark {
            return Ok(self.mark());
        }
        let time = self.time()?;
        let sized = matches!(action, Action::Allocate | Action::AllocateFailure);
        Ok(Row {
            at: Spot::Line(self.line),
            time: Some(time),
            action,
            pointer: match (action, self.text(POINTER)?) {
                (Action::Sync, "") => 0,
                _ => self.number(POINTER, parse_address, "an address or event id, such as 0x7f00 or 17")?,
            },
            size: match (sized, self.text(SIZE)?) {
                (false, "") => None,
                _ => Some(self.number(SIZE, |text| text.parse().ok(), "a count of bytes, such as 4096")?),
            },
            stream: self.stream(action)?,
            name: None,
            beside: self.beside()?,
        })
    }

    /// A mark says nothing but that it is there, and perhaps its name: its other columns are free, or left out.
    fn mark(&self) -> Row {
        let text = self.text(POINTER).unwrap_or_default();
        let name = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Row {
            at: Spot::Line(self.line),
            time: self.time().ok(),
            action: Action::Mark,
            pointer: 0,
            size: None,
            stream: StreamKey::One(0),
            name: Some(name).filter(|_| !is_no_name(text)),
            beside: Beside::default(),
        }
    }

    /// What the further columns say; nothing where they are blank, or not there.
    fn beside(&self) -> Result<Beside, ImportError> {
        let text = |at: usize| self.beside[at].and_then(|place| self.record.get(place)).filter(|text| !text.is_empty());
        let number = |at: usize, below: u64, expected: &str| {
            let parse = |text: &str| text.parse::<u64>().ok().filter(|number| *number < below);
            let refuse = |text| ImportError {
                at: Spot::Line(self.line),
                column: Some(BESIDE[at]),
                found: quoted(text),
                expected: expected.to_owned(),
            };
            text(at).map(|text| parse(text).ok_or_else(|| refuse(text))).transpose()
        };
        let place = |at| Ok(number(at, NO_POOL.into(), "a number from 0 on")?.map(|number| number as u32));
        Ok(Beside {
            device: place(0)?,
            pool: place(1)?,
            given: number(2, u64::MAX, "a count of bytes, such as 4096")?,
            with_pool: text(3) == Some(WITH_POOL),
        })
    }

    fn text(&self, column: usize) -> Result<&str, ImportError> {
        let place = self.places.get(column).copied().unwrap_or(column);
        self.record.get(place).ok_or_else(|| ImportError {
            at: Spot::Line(self.line),
            column: COLUMNS.get(column).copied(),
            found: format!("a row of {} fields", self.record.len()),
            expected: format!("one field for each of {}", COLUMNS.join(",")),
        })
    }

    fn refuse(&self, column: usize, text: &str, expected: &str) -> ImportError {
        ImportError {
            at: Spot::Line(self.line),
            column: COLUMNS.get(column).copied(),
            found: quoted(text),
            expected: expected.to_owned(),
        }
    }

    fn number(&self, column: usize, parse: fn(&str) -> Option<u64>, expected: &str) -> Result<u64, ImportError> {
        let text = self.text(column)?;
        parse(text).ok_or_else(|| self.refuse(column, text, expected))
    }

    fn action(&self) -> Result<Action, ImportError> {
        let text = self.text(ACTION)?;
        let known = ACTIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, action)| *action).ok_or_else(|| {
            let names: Vec<_> = ACTIONS.iter().map(|(name, _)| *name).collect();
            self.refuse(ACTION, text, &format!("one of {}", names.join(", ")))
        })
    }

    /// In nanoseconds: of the day, or what the number says in microseconds.
    fn time(&self) -> Result<u64, ImportError> {
        let text = self.text(TIME)?;
        parse_time(text).ok_or_else(|| self.refuse(TIME, text, "a number, or HH:MM:SS.ffffff"))
    }

    fn stream(&self, action: Action) -> Result<StreamKey, ImportError> {
        let text = self.text(STREAM)?;
        match (action, text) {
            (Action::Sync, "-1") => Ok(StreamKey::Device),
            _ => parse_address(text).map(StreamKey::One).ok_or_else(|| {
                let device = if action == Action::Sync { ", or -1 for the device" } else { "" };
                self.refuse(STREAM, text, &format!("a stream in decimal or hexadecimal{device}"))
            }),
        }
    }
}

/// `0x7f00`, `7f00`, `17`, or what C libraries print for a null pointer. Digits alone are decimal.
fn parse_address(text: &str) -> Option<u64> {
    if text == "(nil)" {
        return Some(0);
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return from_hex(digits);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    from_hex(text)
}

/// Whether this is what logs have where there is no name: nothing, a number or an address. Words of the letters a to f
/// are names.
fn is_no_name(text: &str) -> bool {
    let address = text.starts_with("0x") || text.starts_with("0X") || text == "(nil)";
    let number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    text.is_empty() || (address && parse_address(text).is_some()) || (number && text.parse::<f64>().is_ok())
}

/// The library's own reading takes a sign, which no address has.
fn from_hex(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

/// A number, or a time of day. Some versions of RMM put a colon before the fraction.
fn parse_time(text: &str) -> Option<u64> {
    if text.contains(':') {
        return time_of_day(text);
    }
    // Numbers below zero are taken for the beginning; too large ones for the end of time.
    text.parse::<f64>().ok().filter(|time| time.is_finite()).map(|micros| (micros * 1e3) as u64)
}

fn time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, ':');
    let below = |part: &str, limit: u64| {
        let number = part.parse::<u8>().ok().map(u64::from);
        number.filter(|number| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) && *number < limit)
    };
    let hours = below(parts.next()?, 24)?;
    let minutes = below(parts.next()?, 60)?;
    let rest = parts.next()?;
    let (seconds, fraction) = match rest.split_once(['.', ':']) {
        Some((seconds, fraction)) => (seconds, fraction),
        None => (rest, "0"),
    };
    // 60 is a leap second.
    let seconds = below(seconds, 61)?;
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let nanos = format!("{fraction:0<9}").get(..9).and_then(|nine| nine.parse::<u64>().ok()).filter(|_| digits)?;
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

fn unreadable(error: csv::Error) -> ImportError {
    let line = error.position().map_or(1, csv::Position::line);
    let found = match error.kind() {
        ErrorKind::Utf8 { .. } => "bytes that are no UTF-8 text".to_owned(),
        ErrorKind::Io(error) => format!("an input error ({error})"),
        _ => error.to_string(),
    };
    ImportError {
        at: Spot::Line(line),
        column: None,
        found,
        expected: format!("a CSV file with the header {}", COLUMNS.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Row>, ImportError> {
        Rows::new(text.as_bytes())?.collect()
    }

    fn message(text: &str) -> String {
        read(text).expect_err("was read").to_string()
    }

    const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

    #[test]
    fn rmm_rows_and_our_rows() {
        let text = "Thread,Time,Action,Pointer,Size,Stream\n\
            1,10:32:01.123456,allocate,0x7f00,4096,0x0\n\
            1,10:32:01:123460,allocate failure,(nil),99,7f11aa\n\
            1,2.5,free,0x7f00,4096,0\r\n\
            \n\
            \r\n\
            1,3,record,1,0,12\n\
            1,4,sync,0,0,-1\n\
            1,5,mark,,,";
        let rows = read(text).expect("is readable");
        let (actions, streams): (Vec<_>, Vec<_>) = rows.iter().map(|row| (row.action, row.stream)).unzip();
        assert_eq!(
            actions,
            [Action::Allocate, Action::AllocateFailure, Action::Free, Action::Record, Action::Sync, Action::Mark]
        );
        use StreamKey::{Device, One};
        assert_eq!(streams, [One(0), One(0x7f_11aa), One(0), One(12), Device, One(0)]);
        assert_eq!((rows[0].pointer, rows[0].size, rows[0].at), (0x7f00, Some(4096), Spot::Line(2)));
        assert_eq!((rows[2].at, rows[3].at), (Spot::Line(4), Spot::Line(7)), "empty lines count as lines");
        assert_eq!(rows[5].at, Spot::Line(9), "the last line may lack its end");
    }

    #[test]
    fn columns_are_found_by_name() {
        let rows = read("\u{feff}stream,size,pointer,action,time,thread,note\n3,8,0x10,allocate,1,1,hello\n");
        let rows = rows.expect("is readable");
        assert_eq!((rows[0].size, rows[0].stream), (Some(8), StreamKey::One(3)));
    }

    #[test]
    fn the_columns_of_a_mark_are_free() {
        for (row, name) in [
            ("1,1,mark,warm-up,0,0", Some("warm-up")),
            ("1,1,mark,\"step 2, backward\",0,0", Some("step 2, backward")),
            ("1,1,mark,facade,0,0", Some("facade")),
            ("1,1,mark,two\twords,0,0", Some("two words")),
            ("1,1,mark,0x,0,0", Some("0x")),
            ("1,1,mark,7,0,0", None),
            ("1,1,mark,-1.5,0,0", None),
            ("1,1,mark,0x7f00,0,0", None),
            ("1,1,mark,(nil),0,0", None),
            ("1,1,mark,,,-1", None),
            ("main,noon,mark,,many,all", None),
            ("1,1,mark", None),
            (",,mark,end", Some("end")),
        ] {
            let rows = read(&format!("{HEADER}{row}\n")).expect(row);
            assert_eq!((rows[0].action, rows[0].name.as_deref()), (Action::Mark, name), "{row}");
        }
    }

    #[test]
    fn a_wrong_header_is_named() {
        assert_eq!(
            message("a,b,c\n1,2,3\n"),
            "line 1, column Thread: found the header \"a,b,c\"; \
             expected the header Thread,Time,Action,Pointer,Size,Stream"
        );
        assert!(message("").contains("found an empty file"), "{}", message(""));
        assert!(message("Thread,Time,Action,Pointer,Size\n").contains("column Stream"));
    }

    #[test]
    fn a_wrong_field_is_named_with_line_and_column() {
        for (row, expected) in [
            ("1,1,malloc,0x1,8,0", "line 2, column Action: found \"malloc\"; expected one of allocate, free"),
            ("1,1,allocate,zz,8,0", "line 2, column Pointer: found \"zz\"; expected an address"),
            ("1,1,allocate,0x1,-8,0", "line 2, column Size: found \"-8\"; expected a count of bytes"),
            ("1,1,allocate,0x1,,0", "line 2, column Size: found \"\""),
            ("1,1,allocate,0x1,8,-1", "line 2, column Stream: found \"-1\""),
            ("1,noon,allocate,0x1,8,0", "line 2, column Time: found \"noon\"; expected a number, or HH:MM:SS.ffffff"),
            ("1,25:00:00.0,allocate,0x1,8,0", "line 2, column Time"),
            ("1,1,allocate,0x1,8", "line 2, column Stream: found a row of 5 fields"),
            ("1,1,allocate,0x+1,8,0", "line 2, column Pointer"),
        ] {
            let text = message(&format!("{HEADER}{row}\n"));
            assert!(text.starts_with(expected), "{row}: {text}");
        }
    }

    #[test]
    fn other_files_are_refused_without_a_panic() {
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe".as_slice();
        let error = Rows::new(picture).map(|_| ()).expect_err("is no log");
        assert!(error.to_string().contains("Thread,Time,Action"), "{error}");
    }
}
