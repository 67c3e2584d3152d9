//! `replay --min-capacity` and `--compare` from the outside, and files of other formats.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::NamedTempFile;

fn trace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces").join(name)
}

fn snapshot() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../viz/tests/data/snapshot.4.pickle")
}

fn replay(file: &Path, options: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("replay").arg(file).args(options.split_whitespace());
    command.output().expect("xtask runs")
}

fn json(file: &Path, options: &str) -> Value {
    let output = replay(file, &format!("{options} --json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

/// A log that is gone at the end.
fn log(text: &str) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("is written");
    file
}

const LEAST: [&str; 4] = ["min_capacity_bytes", "peak_used_bytes", "ordered_floor_bytes", "granule_bytes"];

#[test]
fn the_smallest_limit_fits_and_a_little_less_does_not() {
    // All of the log takes a build without optimisation minutes.
    let text = std::fs::read_to_string(trace("producer_consumer.csv")).expect("is there");
    let log = log(&text.lines().take(1_501).map(|row| format!("{row}\n")).collect::<String>());
    let file = log.path();
    for options in ["--lag 0", "--lag none", "--lag none --maps ordered"] {
        let found = json(file, &format!("{options} --min-capacity"));
        let [least, used, floor, granule] = LEAST.map(|key| number(&found, key));
        // Found by a few lines of Python: between two streams the heaviest cut is a sliding maximum.
        assert_eq!((used, floor, granule), (267_370_496, 329_123_840, 2 << 20), "{options}");
        assert_eq!(found["ordered_floor_is"], "exact");
        assert!(least.is_multiple_of(granule) && least >= used, "{options}: {least}");
        let refused = |limit: u64| number(&json(file, &format!("{options} --limit {limit}")), "refused");
        assert_eq!(refused(least), 0, "{options}: {least}");
        let step = (least / 200 / granule).max(1) * granule;
        assert!(refused(least - step) > 0, "{options}: {least} is not the least");
    }
}

#[test]
fn a_limit_below_what_is_live_says_so() {
    let log = log("Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,1,4194304,0\n1,1,allocate,2,4194304,0\n");
    let table = |options| String::from_utf8_lossy(&replay(log.path(), options).stdout).into_owned();
    let note = "note: the log has 8.0 MiB live at once, the limit is 6.0 MiB: no pool can hold it";
    assert!(table("--limit 6MiB").contains(note), "{}", table("--limit 6MiB"));
    assert!(!table("--limit 8MiB").contains("no pool"), "{}", table("--limit 8MiB"));
}

/// Two streams that know nothing of each other: one has a mebibyte, then the other.
const APART: &str = "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,1,8388608,0\n1,2,free,1,8388608,0\n\
                     1,3,allocate,2,8388608,1\n1,4,free,2,8388608,1\n";

#[test]
fn the_floor_is_what_the_program_orders_not_what_the_device_has_done() {
    let log = log(APART);
    for (options, least) in [("--lag 0", 8 << 20), ("--lag none --policy event", 16 << 20)] {
        let found = json(log.path(), &format!("{options} --min-capacity"));
        assert_eq!(LEAST.map(|key| number(&found, key)), [least, 8 << 20, 16 << 20, 2 << 20], "{options}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let file = trace("producer_consumer.csv");
    for (options, what) in [
        ("--min-capacity --limit 1GB", "--limit"),
        ("--min-capacity --compare", "--compare"),
        ("--compare --policy event", "--policy"),
        ("--min-capacity --driver host", "--min-capacity is for --driver sim"),
        ("--compare --driver host", "--compare is for --driver sim"),
        ("--maps ordered --driver host", "--maps is for --driver sim"),
        ("--device 0", "no --device for CSV files"),
    ] {
        let output = replay(&file, options);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {told}");
        assert!(told.contains(what), "{options}: {told}");
    }
}

#[test]
fn rules_stand_beside_each_other() {
    // Weir knows that the first stream is past the free from what it does next.
    let log = log(&APART.replace("1,3,allocate", "1,2,record,9,0,0\n1,3,allocate"));
    let found = json(log.path(), "--compare --lag none");
    let rules = found["rules"].as_array().expect("a list");
    let of = |name: &str| {
        let rule = rules.iter().find(|rule| rule["rule"] == name).unwrap_or_else(|| panic!("no {name} in {found}"));
        ["peak_reserved_bytes", "min_capacity_bytes"].map(|key| number(rule, key) >> 20)
    };
    // Without a wait each stream needs its own.
    assert_eq!(of("switches: 1"), [16, 16]);
    assert_eq!(of("weir"), [16, 8]);
    assert_eq!(of("wait before growing"), [8, 8]);
    assert_eq!(of("model: best fit, no remap"), [16, 16]);
    let grown = |rule: &Value| number(&rule["reuse"], "grow");
    assert!(rules.iter().all(|rule| grown(rule) >= 1 && rule["model"].is_boolean()), "{found}");
}

#[test]
fn models_do_what_their_names_say() {
    // Free runs of 10, 6 and 20 granules between blocks that stay, then 5 granules are asked for, and 18, and 9.
    let mut text = "Thread,Time,Action,Pointer,Size,Stream\n".to_owned();
    let granules = [10, 1, 6, 1, 20, 1];
    for (number, size) in granules.iter().enumerate() {
        text += &format!("1,1,allocate,{},{},0\n", number + 1, size * (2 << 20));
    }
    text += "1,1,free,1,,0\n1,1,free,3,,0\n1,1,free,5,,0\n";
    for (number, size) in [5, 18, 9].iter().enumerate() {
        text += &format!("1,1,allocate,{},{},0\n", number + 10, size * (2 << 20));
    }
    let log = log(&text);
    let found = json(log.path(), "--compare");
    let of = |name: &str| {
        let rules = found["rules"].as_array().expect("a list");
        let rule = rules.iter().find(|rule| rule["rule"] == format!("model: {name}, no remap"));
        number(rule.unwrap_or_else(|| panic!("no {name}")), "peak_reserved_bytes") >> 21
    };
    // Best fit takes 6, 20 and 10; first fit takes 10 and 20, and 9 are new; worst fit takes 20, so 18 are new.
    assert_eq!([of("best fit"), of("first fit"), of("worst fit")], [39, 48, 57]);
}

#[test]
fn a_snapshot_is_replayed_and_what_it_lacks_is_said() {
    let output = replay(&snapshot(), "");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("note: 2 blocks were live before the recording began"), "{table}");
    assert!(table.contains("note: this is device 0; device 1 has 1 entries: --device 1"), "{table}");
    let value = json(&snapshot(), "");
    assert_eq!(["mallocs", "frees", "failed_in_log"].map(|key| number(&value, key)), [6, 3, 1]);
    let other = json(&snapshot(), "--device 1");
    assert_eq!(number(&other, "peak_requested_bytes"), 2 << 20);
}

#[test]
fn lifetimes_are_replayed() {
    let log = log("id,lower,upper,size\na,0,3,4194304\nb,3,9,4194304\nc,0,9,4194304\n");
    let found = json(log.path(), "--min-capacity");
    assert_eq!(LEAST.map(|key| number(&found, key)), [8 << 20, 8 << 20, 8 << 20, 2 << 20]);
}
