//! What `replay` takes.

use crate::failure::Failure;
use crate::progress;
use crate::replay::{ALIGNMENT, Lag, Maps, On, Options, Simulated};
use crate::size;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;
use weir::policy::{Preference, Reuse};
use weir::units::{Bytes, MIB};
use weir_viz::import::Recorded;

/// Names of policies: which switches are on.
const POLICIES: [(&str, Reuse); 5] = [
    ("same", Reuse::empty()),
    ("event", Reuse::EVENT),
    ("opportunistic", Reuse::EVENT.union(Reuse::OPPORTUNISTIC)),
    ("internal", Reuse::EVENT.union(Reuse::INTERNAL)),
    ("all", Reuse::all()),
];

/// Names of what comes first.
const PREFERENCES: [(&str, Preference); 2] = [("grow", Preference::GrowFirst), ("wait", Preference::WaitFirst)];

/// Names of when a simulated device maps.
const MAPS: [(&str, Maps); 2] = [("at-once", Maps::AtOnce), ("ordered", Maps::InStreamOrder)];

const HELP: &str = "\
Examples:
  cargo xtask replay examples/traces/producer_consumer.csv --policy event --lag 100 --json
  cargo xtask replay examples/traces/producer_consumer.csv --min-capacity --lag none
  cargo xtask replay target/demo/trace.log --policy event --threshold 1GiB --log target/demo/what-if.log

FILE is found out by its content: CSV with RMM's header, and record, wait, sync, mark among its actions; CSV of
lifetimes (id,lower,upper,size), as MiniMalloc has them; what PyTorch's _dump_snapshot wrote; or weir's own event log.

Of an event log the program's calls are replayed, on a pool of the settings that the log's pool had where the command line
does not say others, and the table shows both. When the first program's device had finished what is in no log: --lag says
when this one has.

--min-capacity prints the smallest limit at which nothing is refused, to half a percent or a granule, beside the peak
of used bytes and the ordered floor: the largest total of allocations of which no two are ordered free-before-malloc,
which no allocator can beat that adds no waits and does not ask the device.

Output: the table and its notes go to standard output; with --json they go to standard error, and one object to the
last line of standard output. The only file that is written is OUT of --log.
Calls per 1000 are per 1000 rows behind the last mark. Those of the second half are of the log's later half of the
rows, whatever its marks: the first half is taken to warm the pool up.
`mallocs`, `refused` and `zero_sized` add up to the log's `allocate` rows, `frees` and `skipped_frees` to its `free`
rows.

Exit status:
  0  done, whatever the pool refused
  1  could not be run, or not to its end: too little memory, an output that cannot be written, a fault
  2  unreadable input or wrong arguments";

pub(crate) fn parser() -> Command {
    Command::new("replay")
        .about("Replay a log on a pool of other settings: RMM CSV, PyTorch memory snapshot, lifetimes, or weir's own")
        .args(what())
        .args(pool())
        .args(venue())
        .args(output())
        .after_help(HELP)
}

/// What is replayed, and what for.
fn what() -> [Arg; 4] {
    [
        Arg::new("file")
            .value_name("FILE")
            .required(true)
            .value_parser(clap::value_parser!(PathBuf))
            .help("The log; - for standard input"),
        Arg::new("device")
            .long("device")
            .value_name("N")
            .allow_hyphen_values(true)
            .value_parser(clap::value_parser!(usize))
            .help("Which device of a snapshot of several, from 0 on [default: the one that did most]"),
        Arg::new("min-capacity")
            .long("min-capacity")
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["limit", "log"])
            .help("Search the smallest limit at which nothing is refused, beside what no pool can do without"),
        Arg::new("compare")
            .long("compare")
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["limit", "log", "policy", "min-capacity"])
            .help("One table of the log under other rules: what each of them costs and buys"),
    ]
}

/// The pool.
fn pool() -> [Arg; 4] {
    [
        Arg::new("policy")
            .long("policy")
            .allow_hyphen_values(true)
            .default_value("all")
            .value_parser(POLICIES.map(|(name, _)| name))
            .help("Reuse switches: none; 1; 1 and 2; 1 and 3; all [of an event log: as logged]"),
        Arg::new("limit").long("limit").value_name("BYTES").allow_hyphen_values(true).value_parser(limit).help(
            "The pool's limit, such as 14GB, 512MiB or a number of bytes [default: none; of an event log: as logged]",
        ),
        Arg::new("threshold")
            .long("threshold")
            .value_name("BYTES")
            .allow_hyphen_values(true)
            .value_parser(size::parse)
            .help("What stays reserved at a synchronisation [default: 0; of an event log: as logged]"),
        Arg::new("prefer")
            .long("prefer")
            .allow_hyphen_values(true)
            .value_parser(PREFERENCES.map(|(name, _)| name))
            .help("What comes first where nothing is usable at once [default: grow; of an event log: as logged]"),
    ]
}

/// What it is replayed on.
fn venue() -> [Arg; 4] {
    [
        Arg::new("driver")
            .long("driver")
            .allow_hyphen_values(true)
            .default_value("sim")
            .value_parser(["sim", "host"])
            .help("sim: virtual time, every access checked; host: real memory, threads and bytes"),
        Arg::new("lag")
            .long("lag")
            .value_name("N")
            .default_value("0")
            .allow_hyphen_values(true)
            .value_parser(lag)
            .help("sim: a row's work is finished N rows later; none: only `sync` rows finish work"),
        Arg::new("alignment")
            .long("alignment")
            .value_name("BYTES")
            .allow_hyphen_values(true)
            .value_parser(alignment)
            .help("sim: what blocks are rounded up to, a power of two [default: 512; of an event log: as logged]"),
        Arg::new("maps").long("maps").allow_hyphen_values(true).value_parser(MAPS.map(|(name, _)| name)).help(
            "sim: when maps and unmaps take effect; ordered: in the order of the stream that they name \
                 [default: ordered with --lag none, where else nothing could be moved; at-once otherwise]",
        ),
    ]
}

/// What comes of it.
fn output() -> [Arg; 3] {
    [
        progress::argument(),
        Arg::new("log")
            .long("log")
            .value_name("OUT")
            .value_parser(clap::value_parser!(PathBuf))
            .help("Write the event log, for `cargo xtask viz OUT`; its folder must exist"),
        Arg::new("json")
            .long("json")
            .action(ArgAction::SetTrue)
            .help("Print one JSON object on the last line of standard output, all else on standard error"),
    ]
}

fn limit(text: &str) -> Result<Bytes, String> {
    match size::parse(text)? {
        Bytes::ZERO => Err("a limit of 0 leaves room for nothing; leave --limit out for none".into()),
        bytes => Ok(bytes),
    }
}

fn alignment(text: &str) -> Result<Bytes, String> {
    let bytes = size::parse(text)?;
    match is_alignment(bytes) {
        true => Ok(bytes),
        false => Err("expected a power of two up to 2 MiB".into()),
    }
}

const fn is_alignment(bytes: Bytes) -> bool {
    bytes.0.is_power_of_two() && bytes.0 <= 2 * MIB
}

fn lag(text: &str) -> Result<Lag, String> {
    match text {
        "none" => Ok(Lag::Never),
        _ => text.parse().map(Lag::Rows).map_err(|_| "expected a number of rows, or none".to_owned()),
    }
}

pub(super) fn options(arguments: &ArgMatches) -> Result<Options, Failure> {
    let name = arguments.get_one::<String>("policy").map_or("all", String::as_str);
    let (policy, reuse) = POLICIES.into_iter().find(|(known, _)| *known == name).unwrap_or(("all", Reuse::all()));
    let host = arguments.get_one::<String>("driver").is_some_and(|driver| driver == "host");
    if host {
        refuse_for_host(arguments)?;
    }
    let lag = arguments.get_one("lag").copied().unwrap_or(Lag::Rows(0));
    let named = arguments.get_one::<String>("maps");
    let named = named.and_then(|name| MAPS.into_iter().find(|(known, _)| known == name));
    let usual = if lag == Lag::Never { Maps::InStreamOrder } else { Maps::AtOnce };
    let maps = named.map_or(usual, |(_, maps)| maps);
    let on = if host { On::Host } else { On::Sim(Simulated { lag, maps }) };
    Ok(Options {
        policy,
        reuse,
        limit: arguments.get_one("limit").copied(),
        threshold: arguments.get_one("threshold").copied().unwrap_or(Bytes::ZERO),
        preference: preference(arguments).unwrap_or_default(),
        alignment: arguments.get_one("alignment").copied().unwrap_or(ALIGNMENT),
        log: arguments.get_one::<PathBuf>("log").cloned(),
        progress: progress::handle(arguments),
        ..Options::new(on)
    })
}

fn preference(arguments: &ArgMatches) -> Option<Preference> {
    let named = arguments.get_one::<String>("prefer")?;
    PREFERENCES.into_iter().find(|(known, _)| known == named).map(|(_, preference)| preference)
}

/// The options for an event log: what the command line does not say is as the log's pool had it.
pub(super) fn as_recorded(arguments: &ArgMatches, options: Options, recorded: &Recorded) -> Options {
    let said = |name: &str| arguments.value_source(name) == Some(ValueSource::CommandLine);
    let (config, device) = (recorded.config, recorded.device);
    // The device's total is what a pool without a limit has.
    let limit = Some(config.limit).filter(|limit| device.is_none_or(|device| *limit < device.total));
    let name = POLICIES.into_iter().find(|(_, reuse)| *reuse == config.reuse).map_or("as logged", |(name, _)| name);
    Options {
        policy: if said("policy") { options.policy } else { name },
        reuse: if said("policy") { options.reuse } else { config.reuse },
        limit: if said("limit") { options.limit } else { limit },
        threshold: if said("threshold") { options.threshold } else { config.threshold },
        preference: if said("prefer") { options.preference } else { config.preference },
        alignment: match device {
            Some(device) if !said("alignment") && is_alignment(device.alignment) => device.alignment,
            _ => options.alignment,
        },
        small_limit: config.small_limit,
        tuning: config.tuning,
        ..options
    }
}

/// What only a simulated device can do.
fn refuse_for_host(arguments: &ArgMatches) -> Result<(), Failure> {
    for (option, why) in [
        ("lag", "the streams of the host driver are threads that finish when they finish"),
        ("maps", "the host driver maps at once"),
        ("alignment", "the host driver has its own"),
        ("min-capacity", "the search is one replay after another, in virtual time"),
        ("compare", "it is one replay after another, in virtual time"),
    ] {
        if arguments.value_source(option) == Some(ValueSource::CommandLine) {
            return Err(Failure::Unreadable(format!("--{option} is for --driver sim: {why}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        let words = std::iter::once("replay").chain(words.split_whitespace());
        let matches = parser().try_get_matches_from(words).map_err(|error| error.to_string())?;
        options(&matches).map_err(|failure| failure.to_string())
    }

    fn sim(lag: Lag, maps: Maps) -> On {
        On::Sim(Simulated { lag, maps })
    }

    #[test]
    fn defaults_are_all_sim_and_no_limit() {
        let options = parsed("x.csv").expect("parses");
        assert_eq!((options.policy, options.reuse, options.limit), ("all", Reuse::all(), None));
        assert_eq!(options.on, On::Sim(Simulated::DEFAULT));
    }

    #[test]
    fn policies_are_switches() {
        for (name, bits) in [("same", 0), ("event", 1), ("opportunistic", 3), ("internal", 5), ("all", 7)] {
            let options = parsed(&format!("x.csv --policy {name}")).expect("parses");
            assert_eq!(options.reuse.bits(), bits, "{name}");
        }
        assert!(parsed("x.csv --policy most").is_err());
    }

    #[test]
    fn lags_and_limits_are_read_or_refused() {
        assert_eq!(parsed("x.csv --lag none").expect("parses").on, sim(Lag::Never, Maps::InStreamOrder));
        let at_once = parsed("x.csv --lag none --maps at-once").expect("parses").on;
        assert_eq!(at_once, sim(Lag::Never, Maps::AtOnce));
        assert_eq!(parsed("x.csv --lag 7").expect("parses").on, sim(Lag::Rows(7), Maps::AtOnce));
        assert_eq!(parsed("x.csv --limit 14GB").expect("parses").limit, Some(Bytes(14_000_000_000)));
        for words in ["--lag -1", "--lag soon", "--limit 0", "--limit lots", "--driver cuda", "--driver host --lag 3"] {
            assert!(parsed(&format!("x.csv {words}")).is_err(), "{words}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_option_and_what_that_takes() {
        for (words, expected) in [
            ("--lag -1", "invalid value '-1' for '--lag <N>': expected a number of rows, or none"),
            ("--limit -1", "invalid value '-1' for '--limit <BYTES>': `-1` is no size below 16 EiB; expected bytes or"),
            ("--limit -1GB", "for '--limit <BYTES>': `-1GB` is no size"),
            ("--limit --json", "for '--limit <BYTES>'"),
            ("--policy -1", "invalid value '-1' for '--policy <policy>'\n  [possible values: same"),
            ("--driver -1", "invalid value '-1' for '--driver <driver>'\n  [possible values: sim"),
        ] {
            let error = parsed(&format!("x.csv {words}")).expect_err(words);
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
