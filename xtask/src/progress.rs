//! How far long work is: one handle for the work of a command, and the option that says when it is shown.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use weir_viz::progress::Progress;
use weir_viz::terminal::{self, When};

/// `--progress`.
pub(crate) fn argument() -> Arg {
    Arg::new("progress")
        .long("progress")
        .value_name("WHEN")
        .default_value("auto")
        .value_parser(PossibleValuesParser::new(When::ALL.map(|(name, _)| name)))
        .help("Say on the standard error stream how far long work is; auto: where that is a terminal")
}

/// A handle for the command's work, shown as the command line says.
pub(crate) fn handle(arguments: &ArgMatches) -> Progress {
    let name = arguments.get_one::<String>("progress");
    shown(
        When::ALL.into_iter().find(|(known, _)| name.is_some_and(|name| name == known)).map_or(When::Never, |(_, w)| w),
    )
}

/// A handle for work that is shown then.
pub(crate) fn shown(when: When) -> Progress {
    let progress = Progress::default();
    terminal::show(&progress, when);
    progress
}
