//! The installed program: its help's examples work as they are typed, and its completions and manual pages are there.

use std::path::Path;
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

fn weir() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder like the project's, with a log where the demo leaves its own.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let folder = tempdir().expect("a folder");
        let root = folder.path();
        let traces = root.join("examples/traces");
        std::fs::create_dir_all(&traces).expect("a folder");
        std::fs::create_dir_all(root.join("target/demo")).expect("a folder");
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/producer_consumer.csv");
        std::fs::copy(trace, traces.join("producer_consumer.csv")).expect("a copy");
        let checkout = Self(folder);
        let line = "weir replay examples/traces/producer_consumer.csv --lag 100 --log target/demo/trace.log";
        assert!(checkout.run(line).status.success());
        checkout
    }

    /// Runs a line in the folder, as a person types it.
    fn run(&self, line: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_weir"));
        let path = std::env::join_paths(
            program
                .parent()
                .map(Path::to_path_buf)
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.0.path()).env("PATH", path.expect("a path"));
        command.output().expect("sh runs")
    }
}

/// Commands that need nothing but a log. The others build or measure something; that their examples are accepted is
/// tested with the command line.
const COMMANDS: [&str; 9] = ["replay", "viz", "check", "export", "report", "explain", "compare", "completions", "man"];

#[cfg(unix)]
#[test]
fn the_examples_of_the_help_work_as_they_are_typed() {
    let checkout = Checkout::new();
    for command in COMMANDS {
        let help = text(&weir().args([command, "--help"]).output().expect("weir runs"));
        let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let examples = examples.into_iter().filter(|line| line.starts_with("weir "));
        let mut count = 0;
        for line in examples {
            let output = checkout.run(line);
            // A condition that holds is no failure of the example.
            let fine = [Some(0), Some(1)].contains(&output.status.code());
            assert!(
                output.status.success() || (line.contains("--fail-if") && fine),
                "{line}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(!output.stdout.is_empty(), "{line} prints nothing");
            count += 1;
        }
        assert!(count > 0, "no example in the help of {command}");
    }
    for made in
        ["target/demo/what-if.log", "target/demo/report.html", "target/demo/timeline.png", "target/demo/trace.json"]
    {
        assert!(checkout.0.path().join(made).metadata().is_ok_and(|file| file.len() > 1_000), "{made}");
    }
}

#[test]
fn every_command_says_what_it_is_for() {
    let help = text(&weir().arg("--help").output().expect("weir runs"));
    for command in COMMANDS {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{command} ")));
        assert!(line.is_some_and(|line| line.split_whitespace().count() > 5), "{command}: {help}");
    }
    let wrong = weir().arg("reprot").output().expect("weir runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("report"), "it says what was meant");
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = weir().args(["completions", shell]).output().expect("weir runs");
        let script = text(&output);
        for word in ["weir", "report", "fail-if", "explain", "compare"] {
            assert!(output.status.success() && script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(weir().args(["completions", "sh"]).output().expect("weir runs").status.code(), Some(2));
}

#[test]
fn manual_pages_are_made_for_each_command() {
    let page = text(&weir().args(["man", "report"]).output().expect("weir runs"));
    for words in [".TH weir-report 1", ".SH SYNOPSIS", "weir report target/demo/trace.log", "condition of"] {
        assert!(page.replace("\\-", "-").contains(words), "{words}: {page}");
    }
    let folder = tempdir().expect("a folder");
    let folder = folder.path();
    let output = weir().args(["man", "--out"]).arg(folder).output().expect("weir runs");
    assert!(output.status.success());
    for name in COMMANDS {
        assert!(folder.join(format!("weir-{name}.1")).is_file(), "{name}");
    }
    assert!(folder.join("weir.1").is_file());
    assert_eq!(weir().args(["man", "nothing"]).output().expect("weir runs").status.code(), Some(2));
}
