//! `bindgen`: the Rust side of the C headers.

use crate::commands::no_install;
use crate::failure::Failure;
use crate::packages::{LIBCLANG, Permission, System};
use crate::project;
use crate::step;
use clap::{Arg, ArgAction, ArgMatches, Command};

pub(crate) fn parser() -> Command {
    Command::new("bindgen")
        .about("Generate the Rust side of the headers in ffi/include")
        .arg(
            Arg::new("check")
                .long("check")
                .action(ArgAction::SetTrue)
                .help("Write nothing; fail if a committed file is not what would be generated"),
        )
        .arg(no_install())
        .after_help("Example:\n  cargo xtask bindgen --check")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let system = System::new(Permission::of(arguments));
    system.ensure(&[LIBCLANG]).map_err(Failure::Failed)?;
    step::run("bindings", &mut generator(arguments.get_flag("check").then_some("--check")))
}

/// The command that generates, in a package of its own: bindgen takes a minute to build, and nothing else needs it.
pub(crate) fn generator(mode: Option<&str>) -> std::process::Command {
    let mut command = project::cargo(["run", "--quiet", "--package", "weir-bindgen", "--"]);
    command.args(mode);
    command
}
