//! `completions`: what a shell needs to complete the command line of the installed program.

use super::{Name, parser as whole};
use crate::failure::Failure;
use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;

pub(crate) fn parser() -> Command {
    Command::new("completions")
        .about("Print the completions of the installed program `weir` for a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(clap::value_parser!(Shell))
                .help("The shell"),
        )
        .after_help(
            "Example:\n  cargo xtask completions bash\n\n\
             Put what it prints where the shell looks for it, such as\n\
             ~/.local/share/bash-completion/completions/weir.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let shell = arguments.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut whole(Name::Weir), Name::Weir.word(), &mut text);
    crate::say::text(&String::from_utf8_lossy(&text));
    Ok(())
}
