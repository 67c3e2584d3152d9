//! The export for Perfetto and Chrome against the trace-event format's own rules, which their readers forgive in part:
//! phases and their keys, slices that nest, flows in pairs inside slices, counters of numbers that go on in time.

mod common;

use common::training;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use weir_viz::export::{self, Format};
use weir_viz::source;

type Place = (u64, u64);

/// Keys that each phase must have beside `ph`, `pid` and `name`.
const NEEDED: [(&str, &[&str]); 8] = [
    ("M", &["args"]),
    ("C", &["ts", "args"]),
    ("X", &["ts", "dur", "tid"]),
    ("i", &["ts", "s"]),
    ("b", &["ts", "cat", "id"]),
    ("e", &["ts", "cat", "id"]),
    ("s", &["ts", "cat", "id", "tid"]),
    ("f", &["ts", "cat", "id", "tid", "bp"]),
];

fn exported(bytes: &[u8]) -> Vec<Value> {
    let opened = source::read("x", bytes).expect("a log");
    let mut out = Vec::new();
    export::write(Format::of_name("perfetto").expect("a format"), &opened, bytes, &mut out).expect("into memory");
    let mut file: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(file["displayTimeUnit"], "ns");
    match file["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("no list: {other}"),
    }
}

/// Nanoseconds.
fn time(event: &Value, key: &str) -> i64 {
    (event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}")) * 1e3).round() as i64
}

fn place(event: &Value) -> Place {
    (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().unwrap_or(0))
}

/// Panics where a rule is broken; answers how many events of each phase there are.
fn judge(events: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        let phase = event["ph"].as_str().unwrap_or_default();
        let (_, needed) =
            NEEDED.iter().find(|(known, _)| *known == phase).unwrap_or_else(|| panic!("phase of {event}"));
        assert!(event["name"].is_string() && event["pid"].is_u64(), "{event}");
        needed.iter().for_each(|key| assert!(!event[*key].is_null(), "{key} of {event}"));
        *counts.entry(phase.to_owned()).or_insert(0) += 1;
    }
    names_are_given(events);
    counters_go_on(events);
    let slices = slices(events);
    flows_are_in_pairs(events, &slices);
    lifetimes_end_once(events);
    counts
}

fn of<'e>(events: &'e [Value], phase: &'static str) -> impl Iterator<Item = &'e Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

fn names_are_given(events: &[Value]) {
    let named =
        |name: &str| -> HashSet<Place> { of(events, "M").filter(|event| event["name"] == name).map(place).collect() };
    let (processes, threads) = (named("process_name"), named("thread_name"));
    for event in events {
        assert!(processes.contains(&(place(event).0, 0)), "the process of {event}");
    }
    of(events, "X").for_each(|event| assert!(threads.contains(&place(event)), "the thread of {event}"));
}

fn counters_go_on(events: &[Value]) {
    let mut last: HashMap<(Place, &str), i64> = HashMap::new();
    for event in of(events, "C") {
        let args = event["args"].as_object().expect("an object");
        assert!(!args.is_empty() && args.values().all(Value::is_number), "{event}");
        let before = last.insert((place(event), event["name"].as_str().unwrap_or_default()), time(event, "ts"));
        assert!(before.is_none_or(|before| before <= time(event, "ts")), "{event}");
    }
}

/// Slices of a thread: from and to. None overlaps another, unless it holds it.
fn slices(events: &[Value]) -> HashMap<Place, Vec<(i64, i64)>> {
    let mut slices: HashMap<Place, Vec<(i64, i64)>> = HashMap::new();
    for event in of(events, "X") {
        let (from, length) = (time(event, "ts"), time(event, "dur"));
        assert!(length > 0, "{event}");
        slices.entry(place(event)).or_default().push((from, from + length));
    }
    for (thread, slices) in &mut slices {
        slices.sort_by_key(|(from, to)| (*from, -to));
        let mut open: Vec<i64> = Vec::new();
        for (from, to) in slices.iter() {
            while open.last().is_some_and(|end| end <= from) {
                open.pop();
            }
            assert!(open.last().is_none_or(|end| to <= end), "{from}..{to} of {thread:?} overlaps");
            open.push(*to);
        }
    }
    slices
}

fn flows_are_in_pairs(events: &[Value], slices: &HashMap<Place, Vec<(i64, i64)>>) {
    let key = |event: &Value| (event["cat"].to_string(), event["name"].to_string(), event["id"].to_string());
    let mut open = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "s" || event["ph"] == "f") {
        let at = time(event, "ts");
        let inside = slices.get(&place(event)).is_some_and(|all| all.iter().any(|(from, to)| *from <= at && at < *to));
        assert!(inside, "{event} is in no slice");
        if event["ph"] == "s" {
            assert!(open.insert(key(event), at).is_none(), "{event} begins once more");
        } else {
            let from = open.remove(&key(event)).unwrap_or_else(|| panic!("{event} has no beginning"));
            assert!(from <= at, "{event} ends before it begins");
        }
    }
    assert!(open.is_empty(), "without an end: {open:?}");
}

fn lifetimes_end_once(events: &[Value]) {
    let mut open = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "b" || event["ph"] == "e") {
        let key = (event["pid"].to_string(), event["cat"].to_string(), event["id"].to_string());
        if event["ph"] == "b" {
            assert!(open.insert(key, (event["name"].clone(), time(event, "ts"))).is_none(), "{event} begins once more");
        } else {
            let (name, from) = open.remove(&key).unwrap_or_else(|| panic!("{event} has no beginning"));
            assert!(name == event["name"] && from <= time(event, "ts"), "{event}");
        }
    }
}

/// A training log in text; `clock` makes its times.
fn text(seed: u64, clock: impl Fn(u64) -> u64) -> String {
    let mut text = "weir-log version=1\n".to_owned();
    for mut record in training(seed, 3, 6) {
        record.time = weir::units::Nanos(clock(record.time.0));
        weir::trace::text::write(&record, &mut text).expect("a string takes all");
        text.push('\n');
    }
    text
}

#[test]
fn the_export_keeps_the_format_s_rules() {
    for seed in 0..8 {
        let counts = judge(&exported(text(seed, |time| time).as_bytes()));
        for phase in ["M", "C", "X", "i", "b", "e", "s", "f"] {
            assert!(counts.contains_key(phase), "no {phase} with seed {seed}: {counts:?}");
        }
    }
}

/// A clock that stands still, one that counts in milliseconds.
#[test]
fn it_does_whatever_the_clock() {
    for seed in 0..4 {
        judge(&exported(text(seed, |_| 0).as_bytes()));
        judge(&exported(text(seed, |time| time - time % 1_000_000).as_bytes()));
    }
}

#[test]
fn streams_that_are_not_recorded_have_no_number() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfetto-lifetimes.csv");
    std::fs::write(&path, "id,lower,upper,size\n1,0,9,1000\n2,1,5,500\n").expect("a temporary file");
    let bytes = source::load(&path, &weir_viz::progress::Progress::default()).expect("lifetimes");
    let events = exported(&bytes);
    judge(&events);
    let names: Vec<_> = of(&events, "M").filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(names.len(), 1);
    assert_eq!(names[0]["args"]["name"], "stream not recorded");
    assert!(of(&events, "b").all(|event| event["args"]["stream"].is_null()));
}
