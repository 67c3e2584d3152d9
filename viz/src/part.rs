//! A part of a log, from one place to another, as a log of its own: what to load of one that is too long to look at as a
//! whole.

use crate::origin::Origin;
use std::fmt;
use weir::trace::{Reader, Record, Stamped, text};
use weir::units::Nanos;

/// A place in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The record of this number.
    Record(u64),
    /// So many nanoseconds after the log's first record.
    Time(u64),
    /// The first mark of this name.
    Mark(String),
}

/// From one place to another, both included; nothing named is the log's beginning or end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The first.
    pub from: Option<Place>,
    /// The last.
    pub to: Option<Place>,
}

/// What cannot be taken out of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError(String);

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PartError {}

const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

impl Place {
    /// A number is a record's, one with a unit (`ns`, `us`, `ms`, `s`) a time; everything else is a mark's name, and so is
    /// what stands behind `mark:`.
    #[must_use]
    pub fn parse(words: &str) -> Self {
        if let Some(name) = words.strip_prefix("mark:") {
            return Self::Mark(name.to_owned());
        }
        if let Ok(number) = words.parse() {
            return Self::Record(number);
        }
        let timed = UNITS.iter().find_map(|(unit, nanos)| {
            let number: f64 = words.strip_suffix(unit)?.trim_end().parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(Self::Time((number * *nanos as f64) as u64))
        });
        timed.unwrap_or_else(|| Self::Mark(words.to_owned()))
    }
}

impl Place {
    /// That a log does not come to it.
    fn missing(&self) -> String {
        match self {
            Self::Mark(name)
                if name.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                format!(
                    "the log has no mark `{name}`; records and times are counted from the log's beginning, from 0 on"
                )
            }
            place => format!("the log does not come to {place}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(number) => write!(f, "record {number}"),
            Self::Time(nanos) => write!(f, "{nanos} ns"),
            Self::Mark(name) => write!(f, "the mark `{name}`"),
        }
    }
}

impl Part {
    /// Whether it is all of a log.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The part of a log, in text form. Definitions that it uses are there; what was live before it is known by its free
    /// only.
    ///
    /// # Errors
    /// There is no such mark, or nothing between the places.
    pub fn of(&self, log: &[u8]) -> Result<Vec<u8>, PartError> {
        let mut out = Taken { lines: String::new(), definitions: Vec::new(), records: 0 };
        let (mut first, mut began, mut ended, mut damages) = (None, self.from.is_none(), false, Vec::new());
        // Whether the end stands before the beginning.
        let mut early = self.is_reversed();
        let mut labels = std::collections::HashMap::new();
        for read in Reader::new(log) {
            let stamped = match read {
                Ok(stamped) => stamped,
                Err(damage) => {
                    if began && !ended {
                        damages.push(damage.to_string());
                    }
                    continue;
                }
            };
            if let Record::LabelDef { label, name } = stamped.record {
                labels.insert(label, name.to_owned());
            }
            if stamped.record.is_definition() {
                out.define(&stamped);
                continue;
            }
            let start = *first.get_or_insert(stamped.time);
            let name = |record: &Record<'_>| match record {
                Record::Mark { label, name } => labels.get(label).cloned().or_else(|| Some((*name).to_owned())),
                _ => None,
            };
            let (at, mark) = (elapsed(start, stamped.time), name(&stamped.record));
            began |= self.from.as_ref().is_some_and(|from| reached(from, &stamped, at, mark.as_deref()));
            let past = self.to.as_ref().is_some_and(|to| after(to, &stamped, at));
            let last = matches!(&self.to, Some(Place::Mark(to)) if mark.as_ref() == Some(to));
            if !began {
                // Where it begins is still looked for, to know what is wrong.
                ended |= past;
                early |= self.to.as_ref().is_some_and(|to| reached(to, &stamped, at, mark.as_deref()));
                continue;
            }
            if past || early && ended {
                ended = true;
                break;
            }
            out.take(&stamped);
            if last {
                ended = true;
                break;
            }
        }
        self.judge(began, ended, early, out.records)?;
        let origin = Origin { part: self.to_string(), damages, ..Origin::of(log) };
        Ok(format!("{}\n{origin}{}", text::HEADER, out.lines).into_bytes())
    }

    /// Whether both are numbers of a kind, and the end is the lower one.
    const fn is_reversed(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(Place::Record(from)), Some(Place::Record(to))) | (Some(Place::Time(from)), Some(Place::Time(to))) => {
                *to < *from
            }
            _ => false,
        }
    }

    fn judge(&self, began: bool, ended: bool, early: bool, records: u64) -> Result<(), PartError> {
        let error = |words: String| Err(PartError(words));
        match (&self.from, &self.to) {
            (Some(from), _) if !began => error(from.missing()),
            (Some(from), Some(to)) if early && (!ended || records == 0) => error(format!(
                "{to} comes before {from}, so that nothing lies between: name the earlier one with --from"
            )),
            (_, Some(to @ Place::Mark(_))) if !ended => error(to.missing()),
            _ if records == 0 => error(format!("the log has no record {self}")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (None, None) => f.write_str("all"),
            (Some(from), None) => write!(f, "from {from} on"),
            (None, Some(to)) => write!(f, "up to {to}"),
            (Some(from), Some(to)) => write!(f, "from {from} to {to}"),
        }
    }
}

const fn elapsed(start: Nanos, now: Nanos) -> u64 {
    now.0.saturating_sub(start.0)
}

/// Whether a record is at or behind a place.
fn reached(place: &Place, stamped: &Stamped<'_>, at: u64, mark: Option<&str>) -> bool {
    match place {
        Place::Record(number) => stamped.number >= *number,
        Place::Time(time) => at >= *time,
        Place::Mark(name) => mark == Some(name),
    }
}

/// Whether a record is behind a place.
fn after(place: &Place, stamped: &Stamped<'_>, at: u64) -> bool {
    match place {
        Place::Record(number) => stamped.number > *number,
        Place::Time(time) => at > *time,
        Place::Mark(_) => false,
    }
}

/// What was taken.
struct Taken {
    lines: String,
    /// Those from before the part, each what it last was: its key, and its line without number and time.
    definitions: Vec<(String, String)>,
    records: u64,
}

impl Taken {
    fn define(&mut self, stamped: &Stamped<'_>) {
        let mut line = String::new();
        let _ = text::write(stamped, &mut line);
        if self.records > 0 {
            self.lines += &line;
            self.lines.push('\n');
            return;
        }
        let body = line.split_once("record=").map_or("", |(_, body)| body);
        // The word and the id: `pool_def pool=0`.
        let key: Vec<&str> = body.split(' ').take(2).collect();
        let (key, body) = (key.join(" "), body.to_owned());
        match self.definitions.iter_mut().find(|known| known.0 == key) {
            Some(known) => known.1 = body,
            None => self.definitions.push((key, body)),
        }
    }

    fn take(&mut self, stamped: &Stamped<'_>) {
        for (_, body) in self.definitions.drain(..) {
            self.lines += &format!("number={} time={} record={body}\n", stamped.number, stamped.time.0);
        }
        // Writing to a string cannot fail.
        let _ = text::write(stamped, &mut self.lines);
        self.lines.push('\n');
        self.records += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "weir-log version=1\n\
        number=0 time=100 record=pool_def pool=0 base=0x1000 range=4096 device=0 limit=0 threshold=0 reuse=- preference=grow_first small_limit=-\n\
        number=0 time=100 record=mark label=0 length=5 name=begin\n\
        number=1 time=1100 record=malloc pool=0 stream=0 seq=1 id=1 asked=9 given=512 offset=0 source=grow label=0 points=- epoch=0\n\
        number=2 time=2100 record=label_def label=3 length=3 name=mid\n\
        number=2 time=2100 record=mark label=3 length=0 name=\n\
        number=3 time=3100 record=free pool=0 stream=0 seq=2 id=1 offset=0 given=512\n\
        number=4 time=4100 record=mark label=0 length=3 name=end\n";

    fn numbers(from: &str, to: &str) -> Result<Vec<u64>, String> {
        let place = |words: &str| (!words.is_empty()).then(|| Place::parse(words));
        let part = Part { from: place(from), to: place(to) };
        let log = part.of(LOG.as_bytes()).map_err(|error| error.to_string())?;
        assert_eq!(Origin::of(&log).part, part.to_string());
        let records = Reader::new(&log).filter_map(Result::ok).filter(|stamped| !stamped.record.is_definition());
        let numbers = records.map(|stamped| stamped.number).collect();
        let text = String::from_utf8(log).expect("is text");
        assert!(text.contains("pool_def pool=0 base=0x1000"), "definitions from before are there");
        Ok(numbers)
    }

    #[test]
    fn places_are_records_times_and_marks() {
        for (words, place) in [
            ("17", Place::Record(17)),
            ("1.5us", Place::Time(1500)),
            ("2 ms", Place::Time(2_000_000)),
            ("0s", Place::Time(0)),
            ("warm-up", Place::Mark("warm-up".into())),
            ("mark:17", Place::Mark("17".into())),
            ("-3s", Place::Mark("-3s".into())),
        ] {
            assert_eq!(Place::parse(words), place, "{words}");
        }
    }

    #[test]
    fn both_ends_are_included() {
        assert_eq!(numbers("1", "3"), Ok(vec![1, 2, 3]));
        assert_eq!(numbers("", "1us"), Ok(vec![0, 1]));
        assert_eq!(numbers("1001ns", ""), Ok(vec![2, 3, 4]));
        assert_eq!(numbers("mid", "end"), Ok(vec![2, 3, 4]));
        assert_eq!(numbers("begin", "mark:mid"), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(numbers("nowhere", ""), Err("the log does not come to the mark `nowhere`".into()));
        assert_eq!(numbers("", "nowhere"), Err("the log does not come to the mark `nowhere`".into()));
        assert_eq!(numbers("9", ""), Err("the log does not come to record 9".into()));
        let below = "the log has no mark `-5`; records and times are counted from the log's beginning, from 0 on";
        assert_eq!(numbers("-5", ""), Err(below.into()));
    }

    #[test]
    fn an_end_before_the_beginning_is_told_as_that() {
        for (from, to, words) in [
            ("3", "2", "record 2 comes before record 3"),
            ("end", "mid", "the mark `mid` comes before the mark `end`"),
            ("2us", "1", "record 1 comes before 2000 ns"),
            ("end", "1us", "1000 ns comes before the mark `end`"),
        ] {
            let error = numbers(from, to).expect_err("nothing lies between");
            assert_eq!(error, format!("{words}, so that nothing lies between: name the earlier one with --from"));
        }
        assert_eq!(numbers("nowhere", "1"), Err("the log does not come to the mark `nowhere`".into()));
        assert_eq!(numbers("9", "mid"), Err("the log does not come to record 9".into()));
        assert_eq!(numbers("mid", "mid"), Ok(vec![2]));
    }
}
