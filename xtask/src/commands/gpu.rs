//! `gpu`: programs and measurements on an NVIDIA GPU, or the binary for a machine that has one.

use crate::failure::Failure;
use crate::project;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;

const PACKAGE: &str = "weir-gpu";

pub(crate) fn parser() -> Command {
    Command::new("gpu")
        .about("Run the suite with real kernels on an NVIDIA GPU, and measure weir beside cudaMallocAsync")
        .arg(Arg::new("build").long("build").action(ArgAction::SetTrue).conflicts_with("arguments").help(
            "Run nothing, but make target/weir/weir-gpu, one file that runs alone on a machine without cargo or network",
        ))
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENTS")
                .num_args(0..)
                .last(true)
                .help("What weir-gpu is told; `cargo xtask gpu -- --help` lists it"),
        )
        .after_help(
            "Example:\n  cargo xtask gpu -- --seconds 60\n\n\
             Exit status: 0; 1 where something is wrong; 77 where there is no GPU.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    if arguments.get_flag("build") {
        return build();
    }
    let mut command = project::cargo(["run", "--quiet", "--release", "--package", PACKAGE, "--"]);
    command.args(arguments.get_many::<String>("arguments").into_iter().flatten());
    let status = command.status().map_err(|error| Failure::Failed(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Said(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Failed(format!("{PACKAGE} ended by force: {status}"))),
    }
}

fn build() -> Result<(), Failure> {
    let files = project::built(&mut project::cargo(["build", "--release", "--package", PACKAGE]))?;
    let is_program = |file: &&PathBuf| file.file_stem().is_some_and(|name| name == PACKAGE) && file.is_file();
    let from = files.iter().find(is_program).ok_or_else(|| Failure::Failed(format!("cargo built no {PACKAGE}")))?;
    let to = project::output("weir").join(PACKAGE);
    project::copy(from, &to)?;
    say!("{}: copy it to a machine with an NVIDIA driver and run it; --help says how", project::shown(&to));
    Ok(())
}
