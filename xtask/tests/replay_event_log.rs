//! `replay` of weir's own logs: the program that a log was written from is the program that is read from it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{TempDir, tempdir};

fn replay(file: &Path, options: &str, log: Option<&Path>) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("replay").arg(file).args(options.split_whitespace()).arg("--json");
    if let Some(log) = log {
        command.arg("--log").arg(log);
    }
    let output = command.output().expect("xtask runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/producer_consumer.csv")
}

/// The event log of a replay of the trace, in this folder.
fn logged(folder: &TempDir, options: &str) -> (PathBuf, Value) {
    let log = folder.path().join("a.log");
    let value = replay(&trace(), options, Some(&log));
    (log, value)
}

const NUMBERS: [&str; 6] = ["mallocs", "refused", "peak_used_bytes", "peak_reserved_bytes", "waits_inserted", "reuse"];

#[test]
fn under_the_same_settings_the_same_comes_of_it() {
    let folder = tempdir().expect("a folder");
    let (log, first) = logged(&folder, "--policy internal --lag 100 --limit 400MiB");
    // What is not said is as logged.
    let second = replay(&log, "--lag 100", None);
    for name in NUMBERS {
        assert_eq!(second[name], first[name], "{name}");
        assert_eq!(second["recorded"][name], first[name], "{name} as logged");
    }
    assert_eq!(second["policy"], "internal");
    assert_eq!(
        (&second["recorded"]["limit_bytes"], &second["recorded"]["switches"]),
        (&(400_u64 << 20).into(), &5.into())
    );
}

/// What the log's program does under other settings is what the trace does under them.
#[test]
fn under_other_settings_it_is_as_if_the_trace_had_them() {
    let folder = tempdir().expect("a folder");
    let (log, _) = logged(&folder, "--policy all --lag 50");
    for options in [
        "--policy same --lag 100",
        "--policy event --lag 0 --limit 280MiB",
        "--policy internal --lag none --limit 120MiB --prefer wait",
        "--policy all --lag 30 --alignment 4096",
        "--policy event --lag 20 --threshold 64MiB",
    ] {
        let (what_if, direct) = (replay(&log, options, None), replay(&trace(), options, None));
        for name in NUMBERS {
            assert_eq!(what_if[name], direct[name], "{options}: {name}");
        }
    }
}

#[test]
fn the_table_stands_beside_the_original() {
    let folder = tempdir().expect("a folder");
    let (log, first) = logged(&folder, "--policy all --lag 50");
    let text = |options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("replay").arg(&log).args(options).output();
        String::from_utf8(output.expect("xtask runs").stdout).expect("text")
    };
    let table = text(&["--policy", "same"]);
    let line = table.lines().find(|line| line.starts_with("reuse: event")).expect("a row");
    assert_eq!(line.split_whitespace().nth(2), first["reuse"]["event"].as_u64().map(|n| n.to_string()).as_deref());
    assert!(table.contains("as logged") && table.contains("sim, same"), "{table}");
    for wrong in [["--alignment", "100"], ["--threshold", "much"], ["--prefer", "neither"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("replay").arg(&log).args(wrong).output();
        assert_eq!(output.expect("xtask runs").status.code(), Some(2), "{wrong:?}");
    }
}

/// The trace's rows are counted in its text.
#[test]
fn what_the_log_refused_is_tried_again() {
    let rows = std::fs::read_to_string(trace()).expect("is there").matches(",allocate,").count() as u64;
    let folder = tempdir().expect("a folder");
    let (log, first) = logged(&folder, "--policy event --lag 100 --limit 280MiB");
    let refused = first["refused"].as_u64().expect("a number");
    assert!(refused > 0 && first["mallocs"].as_u64() == Some(rows - refused), "{first}");
    let same = replay(&log, "--lag 100", None);
    assert_eq!((&same["refused"], &same["mallocs"]), (&first["refused"], &first["mallocs"]));
    let roomy = replay(&log, "--lag 100 --limit 4GiB", None);
    assert_eq!((roomy["refused"].as_u64(), roomy["mallocs"].as_u64()), (Some(0), Some(rows)));
}
