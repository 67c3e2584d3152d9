//! `replay` from the outside: what a script sees. The right numbers of the logs were counted by a few lines of Python
//! that know nothing of pools.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::{TempDir, tempdir};

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
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("in.csv");
    std::fs::write(&file, rows.join("\n")).expect("a file");
    let value = json(file.to_str().expect("a name"), "--driver host");
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
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("bad.csv");
    std::fs::write(&file, "Thread,Time,Action,Pointer,Size,Stream\n1,1,free,0x9,8,0\n").expect("a file");
    let output = replay(file.to_str().expect("a name"), "--json");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("bad.csv: line 2, column Pointer: found 0x9"), "{text}");
    assert!(output.stdout.is_empty());
    assert_eq!(replay("no-such-file.csv", "").status.code(), Some(2));
}

/// As `report` reads them: the log began in the middle, a free is missing, and one row is none.
#[test]
fn rows_that_make_no_sense_are_left_out_and_named() {
    let folder = tempdir().expect("a folder");
    let file = log(
        &folder,
        "1,1,free,0x9,8,0\n1,1,allocate,0x1,100,0\n1,1,allocate,soon,7,0\n1,1,allocate,0x1,200,0\n1,1,free,0x1,200,0\n",
    );
    let value = json(&file, "");
    assert_eq!(["mallocs", "frees"].map(|key| number(&value, key)), [2, 2]);
    let text = String::from_utf8_lossy(&replay(&file, "").stdout).into_owned();
    for note in [
        "note: left out: line 2, column Pointer: found 0x9; expected an address that an earlier row allocated",
        "note: left out: line 4, column Pointer: found \"soon\"; expected an address",
        "note: 1 blocks end where their address is allocated again: no row frees them",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
    let report =
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(["report", &file, "--json"]).output().expect("xtask runs");
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["peak_used_bytes"], value["peak_requested_bytes"]);
}

/// A log with these rows, in a folder.
fn log(folder: &TempDir, rows: &str) -> String {
    let file = folder.path().join("in.csv");
    std::fs::write(&file, format!("Thread,Time,Action,Pointer,Size,Stream\n{rows}")).expect("a file");
    file.to_str().expect("a name").to_owned()
}

/// What a folder holds.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_the_event_log_is_written_where_asked() {
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("trace.log");
    let output = replay("producer_consumer.csv", &format!("--log {}", file.display()));
    assert!(output.status.success(), "{}", told(&output));
    let log = std::fs::read(&file).expect("was written");
    assert!(log.len() > 10_000, "{} bytes", log.len());
    assert_eq!(names(&folder), ["trace.log"]);
}

#[test]
fn an_event_log_that_cannot_be_written_is_status_1_and_makes_no_folder() {
    let folder = tempdir().expect("a folder");
    let out = folder.path().join("a/b/trace.log");
    let output = replay("producer_consumer.csv", &format!("--log {}", out.display()));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains(&format!("there is no folder {}", folder.path().join("a/b").display())),
        "{output:?}"
    );
    assert!(names(&folder).is_empty());
    let output = replay("producer_consumer.csv", &format!("--log {}", folder.path().display()));
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).starts_with("error: cannot write the event log "), "{output:?}");
}

#[test]
fn the_log_that_is_read_is_not_written_over() {
    let folder = tempdir().expect("a folder");
    let file = log(&folder, "1,1,allocate,0x1,8,0\n");
    let before = std::fs::read(&file).expect("is there");
    let output = replay(&file, &format!("--log {file}"));
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("that is the log to be replayed"), "{output:?}");
    assert_eq!(std::fs::read(&file).expect("is there"), before);
}

const HUGE: &str = "1,1,allocate,0x1,18446744073709551615,0\n1,2,allocate,0x2,18446744073709551000,0\n\
                    1,3,allocate,0x3,100,0\n1,4,free,0x1,18446744073709551615,0\n1,5,free,0x3,100,0\n";

#[test]
fn a_huge_allocation_is_refused_and_its_free_skipped() {
    let folder = tempdir().expect("a folder");
    let file = log(&folder, HUGE);
    for options in ["", "--limit 1GB", "--limit 18446744073709551615", "--limit 1GB --driver host"] {
        if cfg!(not(target_os = "linux")) && options.contains("host") {
            continue;
        }
        let value = json(&file, options);
        let counts = ["events", "mallocs", "refused", "frees", "skipped_frees", "freed_at_end"];
        assert_eq!(counts.map(|key| number(&value, key)), [5, 1, 2, 1, 1, 0], "{options}");
        assert_eq!(number(&value, "peak_requested_bytes"), 100, "{options}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_the_machine_cannot_hold_is_not_begun_on_real_memory() {
    let folder = tempdir().expect("a folder");
    let output = replay(&log(&folder, HUGE), "--driver host");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("the log's peak is 18446744073709551615 bytes, "), "{output:?}");
}

#[test]
fn nothing_is_dropped_silently() {
    let folder = tempdir().expect("a folder");
    let file = log(
        &folder,
        "1,1,allocate,0x1,0,0\n1,1,allocate,0x2,100,0\n1,1,allocate failure,(nil),7,0\n\
         1,1,free,0x1,0,0\n1,1,free,(nil),0,0\n1,1,free,0x2,99,0\n",
    );
    let value = json(&file, "");
    let counts = ["events", "mallocs", "refused", "zero_sized", "failed_in_log", "frees", "skipped_frees"];
    assert_eq!(counts.map(|key| number(&value, key)), [6, 1, 0, 1, 1, 1, 2]);
    assert_eq!(number(&value, "missized_frees"), 1);
    let output = replay(&file, "");
    let text = String::from_utf8_lossy(&output.stdout);
    for note in [
        "note: 1 allocations of zero bytes were left out",
        "note: 1 allocations had failed in the logged program",
        "note: 2 frees were skipped",
        "note: 1 frees name another size than their allocation, whose size holds; the first in line 7",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
}

/// Stream 5 frees what stream 0 allocated, and the log has nothing between the two. The program must have had it: else
/// what stream 5 gets next, in the same place, races with what stream 0 did there before, whatever the pool does.
#[test]
fn an_order_that_the_log_leaves_unsaid_is_given_to_the_device() {
    let folder = tempdir().expect("a folder");
    let file = log(
        &folder,
        "1,1,allocate,0x1,100,0\n1,1,free,0x1,100,0\n1,1,allocate,0x2,100,0\n1,1,free,0x2,100,5\n\
         1,1,allocate,0x3,100,5\n1,1,free,0x3,100,5\n",
    );
    let drivers = if cfg!(target_os = "linux") { ["sim", "host"].as_slice() } else { &["sim"] };
    for driver in drivers {
        for policy in ["same", "event", "opportunistic", "internal", "all"] {
            for lag in ["0", "1", "none"] {
                let lag = if *driver == "sim" { format!("--lag {lag}") } else { String::new() };
                let value = json(&file, &format!("--driver {driver} --policy {policy} {lag}"));
                let counts = ["mallocs", "frees", "assumed_order", "bytes_checked"];
                assert_eq!(counts.map(|key| number(&value, key)), [3, 3, 1, 300], "{driver}, {policy} {lag}");
                assert_eq!(number(&value["reuse"], "same_stream"), 2, "{driver}, {policy} {lag}: the place came back");
            }
        }
    }
}

#[test]
fn a_mark_may_have_a_name() {
    let folder = tempdir().expect("a folder");
    // The event log takes 64 bytes of a name.
    let file = log(&folder, &format!("1,1,mark,warm-up,many,all\n1,1,mark,,,\n1,1,mark,{},0,0\n", "é".repeat(70)));
    let log = folder.path().join("trace.log");
    let output = replay(&file, &format!("--log {}", log.display()));
    assert!(output.status.success(), "{}", told(&output));
    let log = std::fs::read(&log).expect("was written");
    let has = |name: &str| log.windows(name.len()).any(|window| window == name.as_bytes());
    assert!(has("warm-up") && has("mark 2") && has(&"é".repeat(32)));
    assert!(!has("mark 1") && !has(&"é".repeat(33)));
}

#[test]
fn more_streams_than_weir_has_are_refused_before_anything_is_made() {
    let rows: String = (0..65_536).map(|stream| format!("1,1,allocate,{},8,{stream}\n", stream + 1)).collect();
    let folder = tempdir().expect("a folder");
    let output = replay(&log(&folder, &rows), "");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("streams; weir has 65536 at most"), "{output:?}");
}

/// A device that takes nothing.
#[cfg(target_os = "linux")]
fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").expect("is there")
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let trace = traces("producer_consumer.csv");
    let trace = trace.to_str().expect("a name");
    for words in [&["replay", trace][..], &["replay", trace, "--json"], &["--help"], &["viz", "--help"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let output = command.args(words).stdout(full()).output().expect("xtask runs");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let text = told(&output);
        assert!(text.contains("error: cannot write to standard output: ") && !text.contains("panicked"), "{text}");
    }
    // Without a place for errors the status says what there is to say.
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.args(["replay", trace, "--json"]).stderr(full()).output().expect("xtask runs");
    assert!(output.status.success());
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.args(["replay", "no-such-file.csv"]).stderr(full()).output().expect("xtask runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_reader_that_went_away_ends_it_quietly() {
    for words in [&["replay", "-"][..], &["replay", "-", "--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("xtask runs");
        // Closed before the input ends, so before anything is printed.
        drop(child.stdout.take());
        let rows = "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x7f00,1000,0x0\n";
        child.stdin.take().expect("a pipe").write_all(rows.as_bytes()).expect("is read");
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{output:?}");
        assert!(!told(&output).contains("error") && !told(&output).contains("panicked"), "{output:?}");
    }
}

#[test]
fn wrong_arguments_are_status_2() {
    for options in ["--lag -1", "--limit -1", "--policy most", "--driver host --lag 3", "--unknown"] {
        let output = replay("producer_consumer.csv", options);
        assert_eq!(output.status.code(), Some(2), "{options}: {}", told(&output));
        let name = options.rsplit("--").next().and_then(|option| option.split(' ').next()).expect("an option");
        assert!(told(&output).contains(&format!("--{name}")), "{options}: {}", told(&output));
    }
}
