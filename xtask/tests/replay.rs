//! `replay` from the outside: what a script sees. The right numbers of the logs were counted by a few lines of Python
//! that know nothing of pools.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn traces(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/traces").join(name)
}

fn replay(file: &str, options: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("replay").arg(traces(file)).args(options.split_whitespace());
    command.output().expect("xtask runs")
}

/// The JSON object, which must be the last line of standard output and, here, the only one.
fn json(file: &str, options: &str) -> Value {
    let output = replay(file, &format!("{options} --json"));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

fn reuse(value: &Value) -> u64 {
    value["reuse"].as_object().expect("an object").values().filter_map(Value::as_u64).sum()
}

/// What holds for every replay without a limit, whatever the policy.
fn holds(value: &Value, [events, mallocs, frees, live, peak, rounded]: [u64; 6]) {
    assert_eq!(number(value, "events"), events);
    assert_eq!(number(value, "mallocs"), mallocs);
    assert_eq!(number(value, "frees"), frees);
    assert_eq!(number(value, "freed_at_end"), live);
    assert_eq!(number(value, "refused"), 0);
    assert_eq!(number(value, "peak_requested_bytes"), peak);
    assert_eq!(number(value, "peak_used_bytes"), rounded);
    let (reserved, granule) = (number(value, "peak_reserved_bytes"), number(value, "granule_bytes"));
    assert!(reserved >= rounded && reserved.is_multiple_of(granule), "{reserved}");
    assert_eq!(reuse(value), mallocs, "each malloc has one source");
    let calls = &value["driver_calls"];
    assert_eq!(calls["create"], calls["destroy"], "all memory went back");
    assert_eq!(calls["map"], calls["unmap"]);
    assert!(number(calls, "create") * granule >= reserved);
}

const PRODUCER: [u64; 6] = [11_990, 4_800, 4_792, 8, 279_710_773, 279_714_816];
const TRANSFORMER: [u64; 6] = [34_905, 16_864, 15_704, 1_160, 18_192_379_776, 18_192_420_352];
const RESNET: [u64; 6] = [26_348, 13_335, 13_013, 322, 714_256_192, 714_267_648];

#[test]
fn the_numbers_of_a_log_hold_under_every_policy() {
    for policy in ["same", "event", "opportunistic", "internal", "all"] {
        for lag in ["0", "none"] {
            let value = json("producer_consumer.csv", &format!("--policy {policy} --lag {lag}"));
            holds(&value, PRODUCER);
        }
    }
}

#[test]
fn the_numbers_of_the_transformer_hold() {
    holds(&json("two_streams_transformer.csv", "--lag 100"), TRANSFORMER);
}

#[test]
fn the_numbers_of_the_real_log_hold() {
    holds(&json("resnet50_train.csv", ""), RESNET);
}

#[test]
fn switches_decide_which_reuse_there_is() {
    let kinds = |policy: &str, lag: &str| {
        let value = json("producer_consumer.csv", &format!("--policy {policy} --lag {lag}"));
        let kind = |name: &str| number(&value["reuse"], name);
        [kind("event"), kind("opportunistic"), kind("internal"), number(&value, "waits_inserted")]
    };
    // Nothing is known to be complete: only the log's own events make memory free for the other stream.
    assert_eq!(kinds("same", "none"), [0, 0, 0, 0]);
    let [event, opportunistic, internal, waits] = kinds("event", "none");
    assert!(event > 3_000 && opportunistic + internal + waits == 0, "{event}");
}

#[test]
fn order_along_events_saves_memory() {
    let reserved = |policy: &str| {
        let value = json("producer_consumer.csv", &format!("--policy {policy} --lag none"));
        number(&value, "peak_reserved_bytes")
    };
    let (same, event) = (reserved("same"), reserved("event"));
    assert!(event * 2 < same, "{event} {same}");
}

#[test]
fn real_bytes_are_written_and_checked() {
    // The beginning of a log: all of it is too much for a build without optimisation.
    let text = std::fs::read_to_string(traces("producer_consumer.csv")).expect("is there");
    let rows: Vec<&str> = text.lines().take(121).collect();
    let file = std::env::temp_dir().join(format!("weir-bytes-{}.csv", std::process::id()));
    std::fs::write(&file, rows.join("\n")).expect("a file");
    let value = json(file.to_str().expect("a name"), "--driver host");
    std::fs::remove_file(&file).expect("removable");
    let field = |row: &str, place: usize| row.split(',').nth(place).expect("a field").to_owned();
    let allocated = rows.iter().filter(|row| field(row, 2) == "allocate");
    let bytes: u64 = allocated.clone().map(|row| field(row, 4).parse::<u64>().expect("a size")).sum();
    // The log orders every free behind its allocation, so every byte is checked once.
    assert_eq!(number(&value, "bytes_checked"), bytes);
    assert_eq!(number(&value, "mallocs"), allocated.count() as u64);
    assert_eq!(number(&value, "refused"), 0);
}

#[test]
fn a_limit_refuses_and_the_rest_goes_on() {
    let value = json("producer_consumer.csv", "--limit 128MiB --policy all");
    assert!(number(&value, "refused") > 0);
    assert_eq!(number(&value, "refused") + number(&value, "mallocs"), 4_800);
    assert!(number(&value, "peak_reserved_bytes") <= 128 << 20);
}

#[test]
fn a_limit_need_not_be_whole_granules() {
    // 14 GB are 6,675 granules and a part of one.
    holds(&json("producer_consumer.csv", "--limit 14GB"), PRODUCER);
}

#[test]
fn a_log_can_be_piped_in() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["replay", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("xtask runs");
    let rows = "Thread,Time,Action,Pointer,Size,Stream\n1,00:00:01.5,allocate,0x7f00,1000,0x0\n";
    child.stdin.take().expect("a pipe").write_all(rows.as_bytes()).expect("is read");
    let output = child.wait_with_output().expect("ends");
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    holds(&value, [1, 1, 0, 1, 1_000, 1_024]);
}

#[test]
fn an_unreadable_file_is_status_2_and_says_where() {
    let folder = std::env::temp_dir().join(format!("weir-replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("bad.csv");
    std::fs::write(&file, "Thread,Time,Action,Pointer,Size,Stream\n1,1,free,0x9,8,0\n").expect("a file");
    let output = replay(file.to_str().expect("a name"), "--json");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("bad.csv: line 2, column Pointer: found 0x9"), "{text}");
    assert!(output.stdout.is_empty());
    assert_eq!(replay("no-such-file.csv", "").status.code(), Some(2));
    std::fs::remove_dir_all(&folder).expect("removable");
}

#[test]
fn the_event_log_is_written_where_asked() {
    let file = std::env::temp_dir().join(format!("weir-log-{}/trace.log", std::process::id()));
    let output = replay("producer_consumer.csv", &format!("--log {}", file.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = std::fs::read(&file).expect("was written");
    assert!(log.len() > 10_000, "{} bytes", log.len());
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("removable");
}
