//! Long work says how far it is, and where it is stopped nothing half written stays.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/resnet50_train.csv")
}

fn xtask(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(words.split_whitespace());
    command
}

/// What a folder holds.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// What a replay of many replays says, which takes many looks.
fn said(progress: &str) -> String {
    let output = xtask("replay --min-capacity --lag 300").arg(trace()).arg(progress).output().expect("xtask runs");
    assert!(output.status.success() && !output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn long_work_says_how_far_it_is_where_that_is_asked_for() {
    let lines = said("--progress=always");
    assert!(lines.lines().any(|line| line.starts_with("replaying ") && line.contains(" %, ")), "{lines}");
    assert_eq!(said("--progress=auto"), "", "no terminal");
}

/// Stopped while it writes, once the old log is there and once none is: by the signal that asks a process to end, since
/// whoever runs the tests may have them ignore that of Ctrl-C, which is handled in one way with it.
#[cfg(unix)]
#[test]
fn a_replay_that_is_stopped_leaves_what_was_there() {
    use std::os::unix::process::ExitStatusExt;
    for old in [None, Some(&b"old"[..])] {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("out.log");
        if let Some(old) = old {
            std::fs::write(&log, old).expect("is written");
        }
        let before = names(folder.path());
        let mut replay =
            xtask("replay --lag 300 --log").arg(&log).arg(trace()).stdout(Stdio::null()).spawn().expect("runs");
        // Its second name is there as soon as it writes.
        while !names(folder.path()).iter().any(|name| name.ends_with(".part")) {
            assert!(replay.try_wait().expect("is a child").is_none(), "it ended before anything was seen of it");
            std::thread::yield_now();
        }
        let id = replay.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
        let status = replay.wait().expect("is a child");
        assert_eq!(status.signal(), Some(15), "{status}");
        assert_eq!(names(folder.path()), before);
        assert_eq!(std::fs::read(&log).ok().as_deref(), old);
    }
}
