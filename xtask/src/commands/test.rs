//! `test`: every test of the workspace.

use crate::commands::{firmware, no_install, pictures};
use crate::failure::Failure;
use crate::packages::{BROWSER, C_COMPILER, CXX_COMPILER, DISPLAY, Need, Permission, READERS, System, WINDOW};
use crate::project;
use crate::step;
use clap::{ArgMatches, Command};

/// Parts of the names of tests that need a C++ compiler.
const CXX_TESTS: [&str; 2] = ["cpp", "both_languages"];

pub(crate) fn parser() -> Command {
    Command::new("test")
        .about("Run every test: Rust, documentation, C and C++ examples, the window, firmware images in QEMU")
        .arg(no_install())
        .after_help("Example:\n  cargo xtask test --no-install")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    all(&System::new(Permission::of(arguments)))
}

/// Runs the tests. The workspace's come last, so that the output ends with the runner's own summary.
pub(crate) fn all(system: &System) -> Result<(), Failure> {
    let c = part(system, &[C_COMPILER], "the C programs of ffi/tests, and the stand-in for a GPU");
    let cxx = part(system, &[CXX_COMPILER], "the C programs compiled as C++");
    // The test itself finds out again; here it is only told.
    let _ = part(&System::new(Permission::Forbidden), &[BROWSER], "a browser's look at the report");
    for reader in READERS {
        let _ = part(&System::new(Permission::Forbidden), &[reader], &format!("what {} reads of exports", reader.what));
    }
    let window: Vec<Need> = WINDOW.into_iter().chain([DISPLAY]).collect();
    // The test finds out again whether there is one.
    let _ = part(system, &window, "a look at the viewer's window on a display without a screen");
    // With its window, most of which is tested without one.
    let mut command = project::cargo(["test", "--package", "weir-viz", "--features", "drive,parquet"]);
    step::run("tests of the viewer", &mut command)?;
    step::header("pictures of the README");
    pictures::draw_all(&project::output("pictures"))?;
    if c == Part::Skip {
        let mut command = project::cargo(["test", "--package", "weir-ffi", "--lib"]);
        step::run("tests of the drivers that need no C compiler", &mut command)?;
    }
    let mut command = project::cargo(["test", "--workspace", "--doc", "--exclude", "weir-viz"]);
    step::run("examples in the documentation", &mut command)?;
    firmware::every(system)?;
    step::say_skipped();
    step::last("tests of the workspace", &mut workspace(Runner::found(), c, cxx))
}

/// What runs the tests that are no documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Cargo,
    /// Ends with one line that counts all tests, and runs those of different files at the same time.
    Nextest,
}

impl Runner {
    fn found() -> Self {
        match project::first_line("cargo", &["nextest", "--version"]) {
            Some(_) => Self::Nextest,
            None => Self::Cargo,
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"],
            Self::Nextest => &["nextest", "run", "--workspace", "--no-fail-fast"],
        }
    }
}

/// Whether a part of the tests runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Run,
    Skip,
}

/// Runs a part if what it needs is there or can be had; else says that it is left out.
fn part(system: &System, needs: &[Need], name: &str) -> Part {
    match system.ensure(needs) {
        Ok(()) => Part::Run,
        Err(reason) => {
            step::skip(name, &reason);
            Part::Skip
        }
    }
}

fn workspace(runner: Runner, c: Part, cxx: Part) -> std::process::Command {
    let mut command = project::cargo(runner.words());
    // Done by a step before.
    command.args(["--exclude", "weir-viz"]);
    if c == Part::Skip {
        command.args(["--exclude", "weir-ffi", "--exclude", "weir-gpu"]);
    }
    if cxx == Part::Skip {
        command.arg("--");
        command.args(CXX_TESTS.iter().flat_map(|name| ["--skip", *name]));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_skipped_without_a_cxx_compiler_name_tests() {
        let file = project::root().join("ffi/tests/c_programs.rs");
        let text = std::fs::read_to_string(file).expect("is there");
        let tests: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("fn ")).collect();
        for name in CXX_TESTS {
            assert!(tests.iter().any(|test| test.contains(name)), "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_left_out() {
        assert_eq!(
            step::typed(&workspace(Runner::Nextest, Part::Run, Part::Run)),
            "cargo nextest run --workspace --no-fail-fast --exclude weir-viz"
        );
        assert_eq!(
            step::typed(&workspace(Runner::Cargo, Part::Skip, Part::Skip)),
            "cargo test --workspace --lib --bins --tests --no-fail-fast --exclude weir-viz --exclude weir-ffi --exclude weir-gpu -- --skip cpp --skip both_languages"
        );
    }
}
