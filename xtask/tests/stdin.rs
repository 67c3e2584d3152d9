//! Every command that takes a log takes the standard input, and says the same of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const LOG: &str = "weir-log version=1
number=0 time=0 record=begin version=0.1.0 policy=1 streams=4 events=4 markers=4 pools=1 blocks=64 granules=64
number=1 time=10 record=device_def device=0 granularity=2097152 alignment=512 total=67108864 capabilities=-
number=1 time=10 record=pool_def pool=0 base=0x10000000 range=67108864 device=0 limit=8388608 threshold=0 reuse=event preference=grow_first small_limit=-
number=1 time=10 record=pool_created pool=0
number=2 time=20 record=stream_def stream=0 device=0 kind=non_blocking
number=2 time=20 record=stream_created stream=0
number=3 time=50 record=grow_planned pool=0 stream=0 call=1 offset=0 granules=1
number=4 time=60 record=mapped pool=0 offset=0 granules=1 reason=grow
number=5 time=60 record=malloc pool=0 stream=0 seq=1 id=1 asked=512 given=512 offset=0 source=grow label=0 points=- epoch=0
number=6 time=70 record=free pool=0 stream=0 seq=2 id=1 offset=0 given=512
";

fn run(words: &[&str], input: Option<&str>) -> Output {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let command = command.args(words).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("xtask runs");
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A command that refuses reads nothing.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().expect("ends")
}

fn text(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An object without how long it took.
fn timeless(said: &str) -> serde_json::Value {
    let mut object: serde_json::Value = serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"));
    object["seconds"] = serde_json::Value::Null;
    object
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("weir-stdin-{}-{name}", std::process::id()))
}

#[test]
fn what_is_said_of_it_is_what_is_said_of_a_file() {
    let file = place("a.log");
    std::fs::write(&file, LOG).expect("a temporary file");
    let path = file.display().to_string();
    for words in [
        ["check", "LOG", "--json"].as_slice(),
        &["check", "LOG", "--follow", "--json"],
        &["report", "LOG", "--json"],
        &["explain", "LOG", "--alloc", "1", "--json"],
        &["replay", "LOG", "--json"],
        &["compare", "LOG", &path, "--json"],
        &["compare", &path, "LOG", "--json"],
    ] {
        let with = |name: &str| -> Vec<String> {
            words.iter().map(|word| if *word == "LOG" { name } else { word }.to_owned()).collect()
        };
        let (there, here) = (with(&path), with("-"));
        let words = |all: &[String]| run(&all.iter().map(String::as_str).collect::<Vec<_>>(), Some(LOG));
        // A file that is followed has no end of its own.
        let of_file =
            if there.contains(&"--follow".to_owned()) { run(&["check", &path, "--json"], None) } else { words(&there) };
        let (of_file, of_input) = (text(&of_file), text(&words(&here)));
        let named =
            |said: &str| said.replace(&path, "-").replace(&file.file_name().unwrap().display().to_string(), "-");
        assert_eq!(of_input.0, Some(0), "{here:?}: {of_input:?}");
        assert_eq!(timeless(&named(&of_input.1)), timeless(&named(&of_file.1)), "{here:?}");
    }
    std::fs::remove_file(file).expect("it is there");
}

#[test]
fn what_is_written_of_it_is_what_is_written_of_a_file() {
    let (file, out) = (place("b.log"), place("b.out"));
    std::fs::write(&file, LOG).expect("a temporary file");
    let written = |words: &[&str], input| {
        let output = run(words, input);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let made = std::fs::read(&out).unwrap_or_default();
        let _ = std::fs::remove_file(&out);
        assert!(!made.is_empty());
        made
    };
    let (path, to) = (file.display().to_string(), out.display().to_string());
    let words = |log| ["export", log, "--format", "perfetto", &to];
    assert_eq!(written(&words("-"), Some(LOG)), written(&words(&path), None));
    std::fs::remove_file(file).expect("it is there");
    let picture = out.with_extension("svg");
    let svg = run(&["viz", "-", "--screenshot", &picture.display().to_string()], Some(LOG));
    assert!(svg.status.success(), "{}", String::from_utf8_lossy(&svg.stderr));
    std::fs::remove_file(picture).expect("was written");
}

#[test]
fn what_is_no_log_is_named() {
    for (input, what) in [("", "-: "), ("a,b\n1,2\n", "-: ")] {
        let output = run(&["report", "-"], Some(input));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(what), "{said}");
    }
}

#[test]
fn the_standard_input_is_no_two_logs() {
    let output = run(&["compare", "-", "-"], Some(LOG));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("can be read once"), "{said}");
}

/// What is damaged in a log that is followed stands in the object, as elsewhere.
#[test]
fn damage_of_a_log_that_grows_is_told_at_its_end() {
    let output = run(&["check", "-", "--follow", "--json"], Some(&LOG.replace("record=free", "record=fee")));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(object["damages"].as_array().map(Vec::len), Some(1), "{object}");
}

/// The folder of manual pages need not be there.
#[test]
fn manual_pages_are_written_into_a_new_folder() {
    let folder = place("man").join("man1");
    let output = run(&["man", "--out", &folder.display().to_string()], None);
    assert!(output.status.success() && folder.join("weir-report.1").exists(), "{output:?}");
    std::fs::remove_dir_all(folder.parent().unwrap_or(Path::new(""))).expect("it is there");
}
