//! `man`: the manual pages of the installed program.

use super::{Name, parser as whole};
use crate::failure::Failure;
use crate::project;
use clap::{Arg, ArgMatches, Command};
use clap_mangen::Man;
use std::path::PathBuf;

pub(crate) fn parser() -> Command {
    Command::new("man")
        .about("Print the manual page of the installed program `weir` or of one of its commands")
        .arg(Arg::new("command").value_name("COMMAND").help("The command [default: the page of `weir`]"))
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FOLDER")
                .conflicts_with("command")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Write all pages into this folder instead, which is made if need be: weir.1, weir-report.1, ..."),
        )
        .after_help("Examples:\n  cargo xtask man report\n  cargo xtask man --out target\n\nRead one with: weir man report | man -l -")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let mut whole = whole(Name::Weir).disable_help_subcommand(true);
    whole.build();
    if let Some(out) = arguments.get_one::<PathBuf>("out") {
        std::fs::create_dir_all(out).map_err(|error| Failure::file("create", out, error))?;
        clap_mangen::generate_to(whole, out).map_err(|error| Failure::file("write manual pages into", out, error))?;
        say!("{}", project::shown(out));
        return Ok(());
    }
    let page = match arguments.get_one::<String>("command") {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(Failure::Unreadable(format!("there is no command `{name}`"))),
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(|error| Failure::Failed(format!("no manual page: {error}")))?;
    crate::say::text(&String::from_utf8_lossy(&text));
    Ok(())
}
