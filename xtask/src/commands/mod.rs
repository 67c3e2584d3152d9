//! The subcommands, one file each. A new one is a file and a line in [`ALL`].

mod bench;
mod bindgen;
mod check;
mod ci;
mod compare;
mod completions;
mod demo;
mod explain;
mod explore;
mod export;
mod firmware;
mod follow;
mod fuzz;
mod gpu;
mod latency;
mod libs;
mod manual;
mod name;
mod pictures;
mod replay;
mod report;
mod sanitize;
mod sim;
mod size;
mod test;
mod viz;

pub use name::Name;
pub(crate) use replay::read as read_log;
pub use replay::replay_text;
pub(crate) use sim::logged as simulate;

use crate::failure::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command};
use weir_viz::part::{Part, Place};

/// A subcommand: how it is called and what it does.
struct Entry {
    parser: fn() -> Command,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

const ALL: [Entry; 25] = [
    Entry { parser: demo::parser, run: demo::run },
    Entry { parser: replay::parser, run: replay::run },
    Entry { parser: viz::parser, run: viz::run },
    Entry { parser: check::parser, run: check::run },
    Entry { parser: follow::parser, run: follow::run },
    Entry { parser: export::parser, run: export::run },
    Entry { parser: report::parser, run: report::run },
    Entry { parser: explain::parser, run: explain::run },
    Entry { parser: compare::parser, run: compare::run },
    Entry { parser: sim::parser, run: sim::run },
    Entry { parser: explore::parser, run: explore::run },
    Entry { parser: fuzz::parser, run: fuzz::run },
    Entry { parser: sanitize::parser, run: sanitize::run },
    Entry { parser: latency::parser, run: latency::run },
    Entry { parser: bench::parser, run: bench::run },
    Entry { parser: size::parser, run: size::run },
    Entry { parser: gpu::parser, run: gpu::run },
    Entry { parser: pictures::parser, run: pictures::run },
    Entry { parser: test::parser, run: test::run },
    Entry { parser: ci::parser, run: ci::run },
    Entry { parser: libs::parser, run: libs::run },
    Entry { parser: firmware::parser, run: firmware::run },
    Entry { parser: bindgen::parser, run: bindgen::run },
    Entry { parser: completions::parser, run: completions::run },
    Entry { parser: manual::parser, run: manual::run },
];

/// `--json`, of commands that print a text otherwise.
fn json_in_place_of_text() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print one JSON object on the last line of standard output instead of text")
}

/// `--from` and `--to`: a part of a log.
fn part_of_log() -> [Arg; 2] {
    let place = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("PLACE").allow_negative_numbers(true).help(help)
    };
    [
        place("from", "Only from here on: a record's number, a time since the first one (20ms), or a mark's name"),
        place("to", "Only up to here"),
    ]
}

/// The part that the command line names.
fn part(arguments: &ArgMatches) -> Part {
    let place = |name: &str| arguments.get_one::<String>(name).map(|words| Place::parse(words));
    Part { from: place("from"), to: place("to") }
}

/// The whole command line, of the program of this name.
pub(crate) fn parser(name: Name) -> Command {
    let subcommands = ALL.iter().map(|entry| name.given_to((entry.parser)()));
    let about = match name {
        Name::Xtask => "weir's commands. Start with `cargo xtask demo`.",
        Name::Weir => {
            "A stream-ordered memory pool for accelerators: reads, checks, explains and replays its event logs"
        }
    };
    Command::new(name.word())
        .bin_name(name.typed())
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(subcommands)
        .after_help(name.in_text("Each command's --help says what it is for, with examples: cargo xtask report --help"))
}

/// Runs the subcommand that the command line names.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Err(Failure::Failed("no command given; try `--help`".into()));
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
        parser(Name::Xtask).debug_assert();
        parser(Name::Weir).debug_assert();
    }

    /// The lines of a help text that are examples, without the first word of `cargo xtask`.
    fn examples(command: &mut Command) -> Vec<String> {
        let help = command.render_long_help().to_string();
        help.lines().filter_map(|line| line.strip_prefix("  cargo ")).map(str::to_owned).collect()
    }

    #[test]
    fn every_command_shows_examples_that_it_accepts() {
        for entry in &ALL {
            let mut command = (entry.parser)();
            let examples = examples(&mut command);
            assert!(!examples.is_empty(), "no example in the help of {}", command.get_name());
            assert!(command.get_about().is_some(), "{} does not say what it is for", command.get_name());
            for example in examples {
                let words = crate::step::words(&example);
                let parsed = parser(Name::Xtask).try_get_matches_from(words);
                parsed.unwrap_or_else(|error| panic!("`cargo {example}`: {error}"));
            }
        }
    }

    #[test]
    fn the_installed_program_is_called_by_its_own_name() {
        for mut command in parser(Name::Weir).get_subcommands().cloned() {
            let help = command.render_long_help().to_string();
            assert!(!help.contains("cargo xtask"), "{help}");
            assert!(help.contains(&format!("  weir {}", command.get_name())), "{help}");
        }
    }
}
