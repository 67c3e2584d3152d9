//! The command line.

#[cfg(feature = "plant")]
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};
use std::time::Duration;

/// A part of what can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What users of other allocators reported.
    Cases,
    /// The core's corpus.
    Corpus,
    /// The corpus while calls of the driver fail.
    Faults,
    /// Random programs on eight threads.
    Storms,
    /// weir beside `cudaMallocAsync`.
    Measure,
}

impl Part {
    /// All of them, in the order in which they are done.
    pub(crate) const ALL: [Self; 5] = [Self::Cases, Self::Corpus, Self::Faults, Self::Storms, Self::Measure];

    /// The name on the command line and in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Corpus => "corpus",
            Self::Faults => "faults",
            Self::Storms => "storms",
            Self::Measure => "measure",
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) parts: Vec<Part>,
    pub(crate) seconds: Duration,
    pub(crate) seed: u64,
    pub(crate) json: bool,
}

fn parser() -> Command {
    let command = Command::new("weir-gpu")
        .about("Run weir on an NVIDIA GPU: programs whose kernels write and check bytes, and measurements")
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("PARTS")
                .value_delimiter(',')
                .value_parser(Part::ALL.map(Part::name))
                .help("Do these parts alone [default: all]"),
        )
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("N")
                .default_value("30")
                .value_parser(value_parser!(u64).range(0..=86_400))
                .help("Run random programs for so long; each kind of pool has its turn at least once"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("The first random program's seed"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one object instead of tables"))
        .after_help(
            "WEIR_CUDA_LIBRARY names another library than libcuda.so.1: an absolute path or a plain file name.\n\n\
             Exit status: 0; 1 where something is wrong; 77 where there is no GPU.",
        );
    #[cfg(feature = "plant")]
    let command = command.arg(
        Arg::new("plant")
            .long("plant")
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(weir::plant::Plant::ALL.iter().map(|plant| plant.name())))
            .help("Break the pool in this way"),
    );
    command
}

/// Reads the command line; where it is wrong or asks for help, says so and ends.
pub(crate) fn read() -> Arguments {
    let matches = parser().get_matches();
    let wanted: Option<Vec<&String>> = matches.get_many("only").map(Iterator::collect);
    let is_wanted = |part: &Part| wanted.as_ref().is_none_or(|names| names.iter().any(|name| *name == part.name()));
    #[cfg(feature = "plant")]
    weir::plant::set(matches.get_one::<String>("plant").and_then(|name| weir::plant::Plant::named(name)));
    Arguments {
        parts: Part::ALL.into_iter().filter(is_wanted).collect(),
        seconds: Duration::from_secs(matches.get_one("seconds").copied().unwrap_or(0)),
        seed: matches.get_one("seed").copied().unwrap_or(1),
        json: matches.get_flag("json"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::parser().debug_assert();
    }
}
