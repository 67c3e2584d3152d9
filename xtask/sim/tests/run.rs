//! The runner as a program: clean seeds pass, every plant is found, what is found is small, and all of it is repeatable.

use std::process::{Command, Output};

fn run(words: &str) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_weir-sim-run"))
        .args(words.split_whitespace())
        .output()
        .expect("the program can be run");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code(), text)
}

/// Without optimisation a step takes twenty times as long.
const SHARE: u64 = if cfg!(debug_assertions) { 10 } else { 1 };

fn passes(words: &str) -> String {
    let (code, text) = run(words);
    assert_eq!(code, Some(0), "{words}: {text}");
    text
}

fn digest(text: &str) -> &str {
    text.split("digest ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a digest")
}

#[test]
fn clean_seeds_pass() {
    for seed in 1..=4 {
        passes(&format!("--seed {seed} --steps {}", 50_000 / SHARE));
    }
}

#[test]
fn clean_seeds_pass_where_the_driver_fails() {
    for rate in ["0.01", "0.2"] {
        passes(&format!("--seed 5 --steps {} --faults {rate}", 50_000 / SHARE));
    }
}

#[test]
fn every_number_of_streams_passes() {
    for streams in 1..=8 {
        passes(&format!("--seed 11 --steps {} --streams {streams}", 20_000 / SHARE));
    }
}

/// What one stream freed is one block once it took memory beside it; the oracle took the piece known to be complete for a block
/// of its own.
#[test]
fn what_became_one_block_is_no_closer_fit() {
    passes("--seed 16568325171961025156 --steps 139 --streams 4");
    passes("--seed 18405336622393896084 --steps 946 --streams 8");
}

#[test]
fn the_same_seed_does_the_same() {
    let words = "--seed 3 --steps 5000";
    let first = passes(words);
    assert_eq!(digest(&first), digest(&passes(words)));
    assert_ne!(digest(&first), digest(&passes("--seed 4 --steps 5000")));
}

#[test]
fn a_log_without_the_oracle_is_one_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("a.log");
    let text = passes(&format!("--seed 9 --steps 20000 --no-oracle --log {}", log.display()));
    assert!(text.contains("20000 steps in 1 programs"), "{text}");
    let bytes = std::fs::read(&log).expect("the log was written");
    assert!(bytes.len() > 100_000, "{} bytes", bytes.len());
}

#[test]
fn bad_arguments_are_named() {
    for (words, named) in
        [("--streams 9", "--streams 9"), ("--seed many", "many"), ("--fault", "--fault"), ("--log", "--log")]
    {
        let (code, text) = run(words);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(named), "{text}");
    }
}

#[cfg(feature = "plant")]
mod plants {
    use super::*;

    /// What is planted is found within 200,000 steps, named by its seed, and shown in few steps; the seed that is
    /// named finds it again.
    #[test]
    fn every_plant_is_found() {
        let list = passes("--plants");
        let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(names.len() >= 8, "{list}");
        for name in names {
            let (code, text) = run(&format!("--seed 1 --steps 200000 --plant {name}"));
            assert_eq!(code, Some(1), "{name}: {text}");
            assert!(text.contains("FAILED: seed "), "{name}: {text}");
            let steps = text.lines().find_map(|line| line.strip_prefix("in ")?.strip_suffix(" steps:"));
            let steps: usize = steps.and_then(|n| n.parse().ok()).expect("the shrunk program's length");
            assert!(steps <= 60, "{name} took {steps} steps: {text}");
            let again =
                text.lines().find_map(|line| line.strip_prefix("again: cargo xtask sim ")).expect("how to repeat");
            let (code, text) = run(&format!("{again} --plant {name}"));
            assert_eq!(code, Some(1), "{name} again: {text}");
        }
    }

    #[test]
    fn a_plant_that_is_not_there_is_named() {
        let (code, text) = run("--plant weeds");
        assert_eq!(code, Some(2));
        assert!(text.contains("weeds"), "{text}");
    }
}
