//! `sim`: random programs on the simulated device, judged after every step. Runs the package `weir-sim-run`.

use crate::failure::Failure;
use crate::project;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::path::PathBuf;

/// The most streams that a program can have.
const MAX_STREAMS: u64 = 8;

pub(crate) fn parser() -> Command {
    Command::new("sim")
        .about("Run random programs on the simulated device, and judge every step by an independent oracle")
        .arg(number("seed", "1", "Seed of the first program; the others follow from it"))
        .arg(number("steps", "100000", "Steps of all programs together; a step is one call, or work of the device"))
        .arg(
            Arg::new("streams")
                .long("streams")
                .value_name("N")
                .value_parser(clap::value_parser!(u64).range(1..=MAX_STREAMS))
                .help("Streams of every program [default: each draws its own number]"),
        )
        .arg(
            Arg::new("faults")
                .long("faults")
                .value_name("RATE")
                .value_parser(rate)
                .help("The share of driver calls that fail, such as 0.03; what the pool overlooks is not judged then"),
        )
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("OUT")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Write an event log: of the shrunk program that fails, else of the last program"),
        )
        .arg(
            Arg::new("no-oracle")
                .long("no-oracle")
                .action(ArgAction::SetTrue)
                .help("Judge by the simulation alone, all steps in one program: for large logs"),
        )
        .arg(
            Arg::new("plant")
                .long("plant")
                .value_name("NAME")
                .help("Break the pool on purpose; the run must end with exit status 1"),
        )
        .arg(
            Arg::new("plants")
                .long("plants")
                .action(ArgAction::SetTrue)
                .help("List what can be broken, and do nothing"),
        )
        .after_help(
            "Examples:\n  cargo xtask sim --seed 1 --steps 2000000\n  \
             cargo xtask sim --seed 1 --steps 200000 --plant remainder-without-points\n\n\
             Exit status: 0; 1 where a program fails, which is named by its seed and shown in few steps.",
        )
}

fn number(name: &'static str, default: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("N").default_value(default).value_parser(clap::value_parser!(u64)).help(help)
}

fn rate(text: &str) -> Result<String, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(text.to_owned()),
        _ => Err("expected a share from 0 to 1, such as 0.03".into()),
    }
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let status = command(arguments).status();
    let status = status.map_err(|error| Failure::Failed(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Said(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Failed(format!("the simulation ended: {status}"))),
    }
}

/// The command that builds and runs the simulation: the core as it is shipped, unless it is to be broken.
fn command(arguments: &ArgMatches) -> std::process::Command {
    let mut command = project::cargo(["run", "--quiet", "--release", "--package", "weir-sim-run"]);
    if arguments.contains_id("plant") || arguments.get_flag("plants") {
        command.args(["--features", "plant"]);
    }
    command.arg("--");
    for name in ["seed", "steps", "streams"] {
        if let Some(value) = arguments.get_one::<u64>(name) {
            command.arg(format!("--{name}")).arg(value.to_string());
        }
    }
    for name in ["faults", "plant"] {
        if let Some(value) = arguments.get_one::<String>(name) {
            command.arg(format!("--{name}")).arg(value);
        }
    }
    if let Some(log) = arguments.get_one::<PathBuf>("log") {
        // Cargo runs in the root, the caller perhaps elsewhere.
        command.arg("--log").arg(std::path::absolute(log).unwrap_or_else(|_| log.clone()));
    }
    for name in ["no-oracle", "plants"] {
        if arguments.get_flag(name) {
            command.arg(format!("--{name}"));
        }
    }
    command
}

/// Runs a fixed number of steps, as a part of `ci`.
pub(crate) fn steps(seed: u64, steps: u64) -> std::process::Command {
    let words = ["sim", "--seed", &seed.to_string(), "--steps", &steps.to_string()].map(str::to_owned);
    command(&parser().get_matches_from(words))
}

/// Runs a fixed number of steps in one program, judged by the simulation alone, and writes their log: a long one.
pub(crate) fn logged(seed: u64, steps: u64, log: &std::path::Path) -> std::process::Command {
    let words = ["sim", "--no-oracle", "--seed", &seed.to_string(), "--steps", &steps.to_string()].map(OsString::from);
    let log = [OsString::from("--log"), log.into()];
    command(&parser().get_matches_from(words.into_iter().chain(log)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step;

    fn typed(words: &str) -> String {
        let words = std::iter::once("sim").chain(words.split_whitespace());
        let matches = parser().try_get_matches_from(words).expect("parses");
        step::typed(&command(&matches))
    }

    #[test]
    fn what_runs_is_the_core_as_it_is_shipped_unless_it_is_to_be_broken() {
        let plain = "cargo run --quiet --release --package weir-sim-run -- --seed 1 --steps 100000";
        assert_eq!(typed(""), plain);
        assert_eq!(
            typed("--seed 7 --steps 5 --streams 3 --faults 0.03 --plant lost-use"),
            "cargo run --quiet --release --package weir-sim-run --features plant -- --seed 7 --steps 5 --streams 3 \
             --faults 0.03 --plant lost-use"
        );
        assert!(typed("--plants").contains("--features plant"));
        assert_eq!(step::typed(&steps(1, 2_000_000)), plain.replace("100000", "2000000"));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for words in ["--streams 0", "--streams 9", "--faults 2", "--faults some", "--seed x", "--steps -1"] {
            let words = std::iter::once("sim").chain(words.split_whitespace());
            assert!(parser().try_get_matches_from(words).is_err());
        }
    }

    #[test]
    fn a_log_is_written_where_the_caller_is() {
        let here = std::env::current_dir().expect("there is one");
        assert!(typed("--log x.log").contains(&here.join("x.log").display().to_string()));
    }
}
