//! `sanitize`: the threads' tests where every access is watched: for races, for memory errors, and by an interpreter that
//! knows the language's rules.

use crate::commands::no_install;
use crate::failure::Failure;
use crate::packages::{Permission, System};
use crate::{project, step};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::process;

/// A tool, and the tests that it watches.
struct Tool {
    name: &'static str,
    what: &'static str,
    /// Components of the nightly toolchain that it needs.
    components: &'static [&'static str],
    /// Whether it runs on this machine at all.
    here: bool,
    command: fn() -> process::Command,
}

/// Where the compiler has the sanitizers' run-time libraries, and the host driver runs.
const SANITIZERS_HERE: bool =
    cfg!(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")));

const TOOLS: [Tool; 3] = [
    Tool {
        name: "asan",
        what: "AddressSanitizer: the host driver, and 8 threads and 8 streams on it",
        components: &[],
        here: SANITIZERS_HERE,
        command: address,
    },
    Tool {
        name: "tsan",
        what: "ThreadSanitizer: 8 threads and 8 streams on the host driver",
        components: &["rust-src"],
        here: SANITIZERS_HERE,
        command: threads,
    },
    Tool {
        name: "miri",
        what: "Miri: the core's threads on the simulated device",
        components: &["miri", "rust-src"],
        here: true,
        command: interpreted,
    },
];

pub(crate) fn parser() -> Command {
    Command::new("sanitize")
        .about("Run the tests of the threads under AddressSanitizer, ThreadSanitizer and Miri")
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("TOOL")
                .action(ArgAction::Append)
                .value_parser(PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.name)))
                .help("Run only this tool; may be given several times"),
        )
        .arg(no_install())
        .after_help(
            "Example:\n  cargo xtask sanitize --only tsan\n\n\
             What a tool needs of the nightly toolchain is added with rustup. A tool that cannot be had is skipped, and \
             the last lines say why.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let only: Vec<&String> = arguments.get_many("only").unwrap_or_default().collect();
    let system = System::new(Permission::of(arguments));
    let mut chosen = TOOLS.iter().filter(|tool| only.is_empty() || only.iter().any(|name| *name == tool.name));
    chosen.try_for_each(|tool| watch(tool, &system))?;
    step::say_skipped();
    Ok(())
}

/// What `ci` can afford; Miri takes longer than all else together.
const IN_CI: [&str; 2] = ["asan", "tsan"];

/// A part of `ci`.
pub(crate) fn affordable(system: &System) -> Result<(), Failure> {
    TOOLS.iter().filter(|tool| IN_CI.contains(&tool.name)).try_for_each(|tool| watch(tool, system))
}

fn watch(tool: &Tool, system: &System) -> Result<(), Failure> {
    if !tool.here {
        step::skip(tool.what, "the compiler has no such sanitizer for this machine");
        return Ok(());
    }
    match system.ensure_nightly(tool.components) {
        Err(reason) => {
            step::skip(tool.what, &reason);
            Ok(())
        }
        Ok(()) => step::run(tool.what, &mut (tool.command)()),
    }
}

/// Builds into a folder of its own: the flags are others. With a target that is named, they are not for build scripts.
fn apart(mut command: process::Command, name: &str) -> process::Command {
    command.arg("--target-dir").arg(project::output("sanitize").join(name)).args(["--target", "host-tuple"]);
    command
}

fn address() -> process::Command {
    let mut command = apart(project::cargo(["test", "--package", "weir-ffi"]), "asan");
    command.args(["--test", "pool_on_host", "--test", "host", "--test", "host_endings"]);
    // The flag is hidden in stable compilers, not absent.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    command
}

fn threads() -> process::Command {
    // The standard library too: without its accesses, each hand-over through it looks like a race.
    let mut command = apart(project::nightly(["test", "-Zbuild-std", "--package", "weir-ffi"]), "tsan");
    command.args(["--test", "pool_on_host"]).env("RUSTFLAGS", "-Zsanitizer=thread");
    command
}

fn interpreted() -> process::Command {
    let mut command = project::nightly(["miri", "test", "--package", "weir", "--features", "sim"]);
    command.args(["--test", "pool_threads"]);
    // The tests lend their arenas for ever.
    command.env("MIRIFLAGS", "-Zmiri-ignore-leaks");
    command.arg("--target-dir").arg(project::output("sanitize").join("miri"));
    // Ten runtimes, one after the other, take most of the time and show nothing new.
    command.args(["--", "--skip", "nobody_waits"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_is_there() {
        for (tool, folder) in TOOLS.iter().zip(["ffi/tests", "ffi/tests", "core/tests"]) {
            let command = (tool.command)();
            let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            let tests: Vec<_> = words.windows(2).filter(|pair| pair[0] == "--test").map(|pair| &pair[1]).collect();
            assert!(!tests.is_empty(), "{}", tool.name);
            for test in tests {
                assert!(project::root().join(folder).join(format!("{test}.rs")).is_file(), "{}: {test}", tool.name);
            }
        }
    }
}
