//! `check` finds nothing in the logs of random programs that the log itself is to blame for, and finds it where one field of
//! one record is another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use weir::trace::text;
use weir_viz::check::{self, Fault, Told};

const SAID_BY_THE_LOG: [Fault; 4] = [Fault::NotThere, Fault::OutOfStep, Fault::WrongFigures, Fault::NotHeld];

fn log(seed: u64, steps: u64, faults: u16) -> Vec<u8> {
    let path: PathBuf = std::env::temp_dir().join(format!("weir-contradictions-{}-{seed}.log", std::process::id()));
    let plan = weir_sim_run::Plan {
        seed,
        steps,
        streams: None,
        faults,
        judge: weir_sim_run::Judge::Simulation,
        log: Some(path.clone()),
    };
    assert!(weir_sim_run::run(&plan).is_ok(), "seed {seed}");
    let bytes = std::fs::read(&path).expect("was written");
    std::fs::remove_file(path).expect("it is there");
    bytes
}

fn found(bytes: &[u8]) -> BTreeMap<Fault, u64> {
    check::read("", bytes, Told::Accept).expect("a log").by_fault
}

/// Whether more is found than in the log as it was, or a line of it cannot be read.
fn is_worse(bytes: &[u8], before: &BTreeMap<Fault, u64>) -> bool {
    let report = check::read("", bytes, Told::Accept).expect("a log");
    let more = |(fault, count): (&Fault, &u64)| before.get(fault).is_none_or(|known| count > known);
    !report.damages.is_empty() || report.by_fault.iter().any(more)
}

#[test]
fn random_programs_contradict_nothing() {
    for seed in 1..=40 {
        let found = found(&log(seed, if seed == 40 { 100_000 } else { 1_500 }, [0, 30, 200][seed as usize % 3]));
        assert!(SAID_BY_THE_LOG.iter().all(|fault| !found.contains_key(fault)), "seed {seed}: {found:?}");
    }
}

/// The lines of a log in text.
fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines = vec![text::HEADER.to_owned()];
    for stamped in weir::trace::Reader::new(bytes) {
        let mut line = String::new();
        text::write(&stamped.expect("whole"), &mut line).expect("room");
        lines.push(line);
    }
    lines
}

/// Other values for a field, as large as a bit that is wrong makes them and as small as a mistake.
fn others(key: &str, value: &str) -> Vec<String> {
    let Ok(number) = value.parse::<u64>() else {
        return match (key, value) {
            ("points" | "on", "-") => Vec::new(),
            ("points" | "on", _) => vec!["0@99999999".into()],
            ("pool" | "stream" | "event", _) => vec!["77".into()],
            _ => Vec::new(),
        };
    };
    match key {
        "pool" | "stream" | "event" => vec!["77".into()],
        "granules" => vec!["0".into(), (number ^ (1 << 20)).to_string()],
        "seq" | "number" => vec![(number ^ (1 << 20)).to_string()],
        _ => vec![(number ^ 512).to_string(), (number ^ (1 << 50)).to_string()],
    }
}

/// Fields that no check can hold against the log, by record, and why.
const FREE: &[(&str, &[&str], &str)] = &[
    (
        "begin",
        &["policy", "streams", "events", "markers", "pools", "blocks", "granules"],
        "what was lent to the runtime",
    ),
    ("pool_def", &["pool", "device", "range", "limit", "threshold", "small_limit"], "settings, told once"),
    ("stream_def", &["stream", "device"], "told once, of a stream that nothing is done on"),
    ("device_def", &["device", "total", "alignment", "granularity"], "told once; what is not there yet has no memory"),
    ("pool_tuned", &["growth"], "a setting"),
    ("attribute_set", &["value"], "a setting"),
    ("malloc", &["epoch", "label"], "counted by the pool; names are told of some only"),
    ("grow_planned", &["call"], "counted by the pool; its outcome is found by the offset"),
    ("marker_laid", &["marker"], "one of the pool's, which may be laid anew"),
    ("device_synchronized", &["device"], "no definition stands before it: it may have neither pools nor streams"),
    (
        "trimmed",
        &["target", "reached", "pending", "partial"],
        "asked for; and what a release of another thread changes",
    ),
    ("out_of_memory", &["requested", "reserved", "largest_usable", "pending"], "the same"),
    ("trim_pending", &["bytes", "streams"], "of the blocks' points, which the log does not have"),
    ("kept", &["kept", "thrash"], "of the pool's demand"),
    (
        "refused",
        &["pool", "stream", "size", "capacity", "ptr", "start", "value", "range", "owner"],
        "what the call said",
    ),
    ("driver_failed", &["code"], "what the driver said"),
    ("quarantined", &["granules"], "where driver calls fail"),
    ("undestroyed", &["granules"], "where driver calls fail"),
    ("pressed", &["bytes"], "what the call said"),
];

#[test]
fn a_record_that_is_another_is_found() {
    (101..=103).map(|seed| log(seed, 1_500, 0)).for_each(|log| find_all(&lines(&log)));
}

/// Changes the first and the middle one of each field of each kind of record.
fn find_all(lines: &[String]) {
    let whole = found(lines.join("\n").as_bytes());
    let mut places: BTreeMap<(String, String), Vec<(usize, usize)>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let words: Vec<&str> = line.split(' ').collect();
        let Some(record) = words.get(2).and_then(|word| word.strip_prefix("record=")) else { continue };
        for (word, pair) in words.iter().enumerate().skip(3) {
            let key = pair.split_once('=').map_or("", |(key, _)| key);
            places.entry((record.to_owned(), key.to_owned())).or_default().push((at, word));
        }
    }
    let mut missed: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for ((record, key), places) in places {
        for (at, word) in [places[0], places[places.len() / 2]] {
            let mut words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
            let value = words[word].split_once('=').map_or(String::new(), |(_, value)| value.to_owned());
            for other in others(&key, &value) {
                words[word] = format!("{key}={other}");
                let mut changed = lines.to_vec();
                changed[at] = words.join(" ");
                if !is_worse(changed.join("\n").as_bytes(), &whole) {
                    missed.entry((record.clone(), key.clone())).or_default().push(format!("{value} -> {other}"));
                }
            }
        }
    }
    let free = |(record, key): &(String, String)| {
        FREE.iter().any(|(known, keys, _)| known == record && keys.contains(&key.as_str()))
    };
    missed.retain(|field, _| !free(field));
    assert!(missed.is_empty(), "{missed:#?}");
}
