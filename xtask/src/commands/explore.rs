//! `explore`: every small program.

use crate::failure::Failure;
use crate::{project, step};
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;

/// What `ci` runs: about a minute on two cores, all families together.
pub(crate) const CI_DEPTH: &str = "7";

pub(crate) fn parser() -> Command {
    Command::new("explore")
        .about("Run every program of up to N operations on 3 streams, 2 events and 2 blocks, under all switches")
        .arg(Arg::new("family").long("family").value_name("NAME").value_parser(["plain", "streams", "faults"]).help(
            "One family only: plain; streams, in which they are destroyed and others take their places; faults, \
                     in which driver calls fail [default: all, the last two with one operation less]",
        ))
        .arg(
            Arg::new("depth")
                .long("depth")
                .value_name("N")
                .default_value(CI_DEPTH)
                .value_parser(clap::value_parser!(u8).range(1..=12))
                .help("Operations of the longest programs; each more takes about 9 times as long"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .value_parser(clap::value_parser!(u16).range(1..=1024))
                .help("Threads that run programs [default: one a core]"),
        )
        .after_help(
            "Example:\n  cargo xtask explore --depth 6\n\n\
             Exit status: 0, or 1 where a program shows something wrong; it is printed.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let depth = arguments.get_one::<u8>("depth").copied().unwrap_or(1);
    let mut command = explorer(&depth.to_string());
    if let Some(family) = arguments.get_one::<String>("family") {
        command.args(["--family", family]);
    }
    if let Some(threads) = arguments.get_one::<u16>("threads") {
        command.args(["--threads".into(), OsString::from(threads.to_string())]);
    }
    step::last("exploration", &mut command)
}

/// The command that explores, in a package of its own.
pub(crate) fn explorer(depth: &str) -> std::process::Command {
    project::cargo(["run", "--quiet", "--release", "--package", "weir-explore", "--", "--depth", depth])
}
