//! Chrome's trace format, as Kineto (PyTorch's profiler) writes it: of all its events those named `[memory]`, one at a time,
//! so that a trace of any length needs no more than its allocations.

use super::recording::{Happening, NO_POOL, Recording, What};
use super::row::{Beside, ImportError, Spot, StreamKey};
use crate::model::{Fact, Unrecorded};
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;

/// The events' name.
pub(crate) const MEMORY: &str = "[memory]";
/// The categories of marks, and of what a pool holds and what happens to it, in traces of weir's own.
pub(crate) const MARK: &str = "mark";
pub(crate) const POOL: &str = "pool";
/// Where a trace says what else there is to know of it, and there in traces of weir's own: which part of a log it is.
pub(crate) const OTHER: &str = "otherData";
pub(crate) const PART: &str = "part";
/// What weir says beside in its own: which pool, what a block takes, and whether it ends with its pool.
pub(crate) const BESIDE: [&str; 3] = ["Pool", "Given", "Ends With Pool"];

/// Whether a file begins like a trace: an object with the list, or the bare list.
pub(super) fn is_trace(beginning: &[u8]) -> bool {
    let has = |word: &[u8]| beginning.windows(word.len()).any(|window| window == word);
    matches!(beginning.trim_ascii_start().first(), Some(b'{' | b'['))
        && (has(b"\"traceEvents\"") || has(b"\"ph\"") || has(b"\"schemaVersion\""))
}

/// One event.
struct Memory {
    number: u64,
    time: u64,
    /// 0 is the host.
    kind: i64,
    device: u32,
    bytes: i64,
    address: Option<u64>,
    used: Option<u64>,
    reserved: Option<u64>,
    stream: Option<u64>,
    beside: Beside,
}

/// What a trace recorded.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let facts = [Fact::Source, Fact::Order, Fact::Rounding, Fact::Limit];
    let mut recording = Recording::new("the [memory] events of a Chrome trace", Unrecorded::of(&facts));
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    if let Err(error) = found.read(&mut reader) {
        recording.damage(ImportError {
            at: Spot::Line(error.line() as u64),
            column: None,
            found: format!("{error}"),
            expected: "a trace in JSON".to_owned(),
        });
    }
    found.bad.drain(..).for_each(|error| recording.damage(error));
    if found.memory.is_empty() {
        let found = match recording.damages.first() {
            Some(damage) => format!("no {MEMORY} event ({damage})"),
            None => format!("{} events, none of them named {MEMORY}", found.events),
        };
        let expected = "a trace that was recorded with profile_memory=True".to_owned();
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    let Found { memory, counters, marks, part, .. } = found;
    recording.part = part;
    let pools: BTreeSet<Option<u32>> = memory.iter().map(|event| event.beside.pool).collect();
    tell(&mut recording, memory);
    // They say after every record what the others say after calls.
    let counters: Vec<Happening> = counters.into_iter().filter(|sums| pools.contains(&Some(sums.device))).collect();
    if !counters.is_empty() {
        recording.happenings.retain(|happening| !matches!(happening.what, What::Sums { .. }));
    }
    recording.happenings.extend(counters.into_iter().chain(marks));
    recording.happenings.sort_by_key(|happening| (happening.time, happening.at));
    Ok(recording)
}

/// What the events tell, in the order of time.
fn tell(recording: &mut Recording, mut memory: Vec<Memory>) {
    let on_device = memory.iter().filter(|event| event.kind != 0).count();
    if on_device > 0 && on_device < memory.len() {
        recording.notes.push(format!("{} events about the host's memory are left out", memory.len() - on_device));
        memory.retain(|event| event.kind != 0);
    }
    memory.sort_by_key(|event| event.time);
    let placed = memory.iter().all(|event| event.address.is_some());
    let mut lacks = |fact, has: bool| {
        if !has {
            recording.unrecorded = recording.unrecorded.and(fact);
        }
    };
    lacks(Fact::Addresses, placed);
    lacks(Fact::Reserved, memory.iter().any(|event| event.reserved.is_some()));
    lacks(Fact::Streams, memory.iter().any(|event| event.stream.is_some()));
    if !placed {
        recording.notes.push("frees are matched with allocations by their sizes, the oldest first".to_owned());
    }
    let mut blocks = Blocks { placed, ..Blocks::default() };
    for event in memory {
        let size = event.bytes.unsigned_abs();
        let what = match event.bytes {
            0 => What::Nothing,
            1.. => blocks.allocate(&event, size),
            _ => blocks.free(&event, size),
        };
        let stream = StreamKey::One(event.stream.unwrap_or(0));
        let (at, time) = (Spot::Entry(event.number), Some(event.time));
        let device = event.beside.pool.map_or(event.device, |pool| recording.place(Some(pool), Some(event.device)));
        if event.used.is_some() || event.reserved.is_some() {
            let what = What::Sums { used: event.used, reserved: event.reserved };
            recording.happenings.push(Happening { at, time, device, stream, what });
        }
        if event.beside.with_pool {
            recording.happenings.push(Happening { at, time, device, stream, what: What::PoolEnds });
        }
        recording.happenings.push(Happening { at, time, device, stream, what });
    }
}

/// Names for blocks: their addresses, or numbers where some event lacks those.
#[derive(Default)]
struct Blocks {
    placed: bool,
    next: u64,
    live: HashMap<(u32, u64), VecDeque<u64>>,
}

impl Blocks {
    fn allocate(&mut self, event: &Memory, asked: u64) -> What {
        let address = event.address.filter(|_| self.placed);
        let block = address.unwrap_or_else(|| {
            self.next += 1;
            self.live.entry((event.device, asked)).or_default().push_back(self.next);
            self.next
        });
        What::Allocate { block, address, asked, given: event.beside.given, label: None }
    }

    fn free(&mut self, event: &Memory, size: u64) -> What {
        if let (true, Some(block)) = (self.placed, event.address) {
            return What::Free { block, size: Some(size) };
        }
        let oldest = self.live.get_mut(&(event.device, size)).and_then(VecDeque::pop_front);
        match oldest {
            Some(block) => What::Free { block, size: Some(size) },
            // Allocated before the recording: no block of the recording.
            None => What::Free { block: u64::MAX, size: None },
        }
    }
}

/// The events of a file as they are read.
#[derive(Default)]
struct Found {
    events: u64,
    memory: Vec<Memory>,
    /// What pools hold and marks, as weir writes them.
    counters: Vec<Happening>,
    marks: Vec<Happening>,
    part: String,
    bad: Vec<ImportError>,
}

impl Found {
    fn read(&mut self, reader: &mut serde_json::Deserializer<serde_json::de::SliceRead<'_>>) -> serde_json::Result<()> {
        reader.deserialize_any(Top(self))
    }

    fn take(&mut self, event: &BTreeMap<String, Value>) {
        let number = self.events;
        self.events += 1;
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        let (at, time, stream) = (Spot::Entry(number), event.get("ts").and_then(micros), StreamKey::One(0));
        match (text("ph"), text("cat")) {
            (Some("i"), Some(MARK)) => {
                let what = What::Mark { name: text("name").map(str::to_owned) };
                self.marks.push(Happening { at, time, device: NO_POOL, stream, what });
            }
            (Some("C"), Some(POOL)) => {
                self.counters.extend(counter(event).map(|(device, what)| Happening { at, time, device, stream, what }))
            }
            _ => {}
        }
        if text("name") != Some(MEMORY) {
            return;
        }
        match memory(number, event) {
            Ok(memory) => self.memory.push(memory),
            Err(error) => self.bad.push(error),
        }
    }
}

/// A pool and what it holds. Pools are processes, counted from 1.
fn counter(event: &BTreeMap<String, Value>) -> Option<(u32, What)> {
    let pool = event.get("pid").and_then(Value::as_u64)?.checked_sub(1)?;
    let pool = u32::try_from(pool).ok().filter(|pool| *pool < NO_POOL)?;
    let count = |key| event.get("args").and_then(|args| args.get(key)).and_then(Value::as_u64);
    Some((pool, What::Sums { used: count("used"), reserved: count("reserved") }))
}

fn memory(number: u64, event: &BTreeMap<String, Value>) -> Result<Memory, ImportError> {
    let args = event.get("args");
    let argument = |key: &str| args.and_then(|args| args.get(key));
    let refuse = |key: &'static str, found: Option<&Value>| ImportError {
        at: Spot::Entry(number),
        column: Some(key),
        found: found.map_or("nothing".to_owned(), Value::to_string),
        expected: "a number".to_owned(),
    };
    let bytes = argument("Bytes").and_then(integer).ok_or_else(|| refuse("Bytes", argument("Bytes")))?;
    let time = event.get("ts").and_then(micros).ok_or_else(|| refuse("ts", event.get("ts")))?;
    let count = |key| argument(key).and_then(integer).and_then(|number| u64::try_from(number).ok());
    Ok(Memory {
        number,
        time,
        kind: argument("Device Type").and_then(integer).unwrap_or(1),
        device: count("Device Id").and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
        bytes,
        address: argument("Addr").and_then(address),
        used: count("Total Allocated"),
        reserved: count("Total Reserved"),
        stream: count("Stream"),
        beside: Beside {
            pool: count(BESIDE[0]).and_then(|pool| u32::try_from(pool).ok()).filter(|pool| *pool < NO_POOL),
            device: None,
            given: count(BESIDE[1]),
            with_pool: argument(BESIDE[2]).and_then(Value::as_bool) == Some(true),
        },
    })
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

fn address(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str().and_then(super::table::whole))
}

/// Nanoseconds of a time in microseconds, which may be a text.
fn micros(value: &Value) -> Option<u64> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return text.parse::<f64>().ok().map(|micros| (micros * 1e3) as u64);
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    Some(whole.parse::<u64>().ok()?.saturating_mul(1000).saturating_add(part.parse().ok()?))
}

/// The file: an object with the list, or the list.
struct Top<'f>(&'f mut Found);

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with traceEvents, or a list of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => map.next_value_seed(Events(self.0))?,
                OTHER => {
                    let other: Value = map.next_value()?;
                    self.0.part = other.get(PART).and_then(Value::as_str).unwrap_or_default().to_owned();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(seq)
    }
}

/// The list.
struct Events<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element::<Value>()? {
            let Value::Object(event) = event else {
                return Err(A::Error::custom("an event that is no object"));
            };
            self.0.take(&event.into_iter().collect());
        }
        Ok(())
    }
}
