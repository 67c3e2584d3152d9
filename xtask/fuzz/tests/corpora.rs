//! Every input that fuzzing kept, through its target again.

use std::fs;
use std::path::{Path, PathBuf};
use weir_fuzz::TARGETS;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The files of one target.
fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = corpora().join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.map(|file| file.expect("can be listed").path()).collect()
}

fn replay(target: &str) {
    let target = TARGETS.iter().find(|known| known.name == target).expect("is a target");
    let inputs = inputs(target.name);
    assert!(inputs.len() >= 10, "a corpus of {} files", inputs.len());
    for input in inputs {
        let bytes = fs::read(&input).expect("can be read");
        // What fails says by itself what is wrong; this says where.
        let outcome = std::panic::catch_unwind(|| (target.run)(&bytes));
        assert!(outcome.is_ok(), "{}", input.display());
    }
}

#[test]
fn binary_logs() {
    replay("binary_log");
}

#[test]
fn text_logs() {
    replay("text_log");
}

#[test]
fn allocation_logs() {
    replay("replay_csv");
}

#[test]
#[cfg(target_os = "linux")]
fn programs_of_c_calls() {
    replay("c_calls");
}

#[test]
#[cfg(target_os = "linux")]
fn every_folder_is_a_targets_and_all_together_are_small() {
    let mut bytes = 0;
    for folder in fs::read_dir(corpora()).expect("is there") {
        let name = folder.expect("can be listed").file_name().into_string().expect("is text");
        assert!(TARGETS.iter().any(|target| target.name == name), "{name}");
        bytes += inputs(&name).iter().map(|file| fs::metadata(file).expect("is there").len()).sum::<u64>();
    }
    assert!(bytes < 1 << 20, "{bytes} bytes; `cargo xtask fuzz --minimise` makes them smaller");
}
