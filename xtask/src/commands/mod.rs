//! The subcommands, one file each. A new one is a file and a line in [`ALL`].

mod bench;
mod bindgen;
mod check;
mod ci;
mod demo;
mod explore;
mod export;
mod fuzz;
mod latency;
mod libs;
mod replay;
mod sanitize;
mod sim;
mod size;
mod test;
mod viz;

pub(crate) use replay::read as read_log;
pub use replay::replay_text;

use crate::failure::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// A subcommand: how it is called and what it does.
struct Entry {
    parser: fn() -> Command,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

const ALL: [Entry; 16] = [
    Entry { parser: demo::parser, run: demo::run },
    Entry { parser: replay::parser, run: replay::run },
    Entry { parser: viz::parser, run: viz::run },
    Entry { parser: check::parser, run: check::run },
    Entry { parser: export::parser, run: export::run },
    Entry { parser: sim::parser, run: sim::run },
    Entry { parser: explore::parser, run: explore::run },
    Entry { parser: fuzz::parser, run: fuzz::run },
    Entry { parser: sanitize::parser, run: sanitize::run },
    Entry { parser: latency::parser, run: latency::run },
    Entry { parser: bench::parser, run: bench::run },
    Entry { parser: size::parser, run: size::run },
    Entry { parser: test::parser, run: test::run },
    Entry { parser: ci::parser, run: ci::run },
    Entry { parser: libs::parser, run: libs::run },
    Entry { parser: bindgen::parser, run: bindgen::run },
];

/// The whole command line.
pub(crate) fn parser() -> Command {
    Command::new("xtask")
        .bin_name("cargo xtask")
        .about("weir's commands. Start with `cargo xtask demo`.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(ALL.iter().map(|entry| (entry.parser)()))
}

/// Runs the subcommand that the command line names.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Err(Failure::Failed("no command given; try `cargo xtask --help`".into()));
    };
    for entry in &ALL {
        if (entry.parser)().get_name() == name {
            return (entry.run)(arguments);
        }
    }
    Err(Failure::Failed(format!("no command `{name}`")))
}

/// The option that several commands share.
fn no_install() -> Arg {
    Arg::new("no-install")
        .long("no-install")
        .action(ArgAction::SetTrue)
        .help("Install no system package, even as root on Debian; what lacks one is skipped by name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        parser().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_that_it_accepts() {
        for entry in &ALL {
            let mut command = (entry.parser)();
            let help = command.render_long_help().to_string();
            let example = help
                .lines()
                .find_map(|line| line.trim().strip_prefix("cargo "))
                .unwrap_or_else(|| panic!("no example in the help of {}", command.get_name()));
            let words = example.split_whitespace();
            parser().try_get_matches_from(words).unwrap_or_else(|error| panic!("`cargo {example}`: {error}"));
        }
    }
}
