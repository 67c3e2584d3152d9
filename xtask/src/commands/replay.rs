//! `replay`: runs the program of an allocation log on a pool.

use crate::failure::Failure;
use crate::log::Program;
use crate::replay::{Lag, On, Options, Summary, replay, table};
use crate::size;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::fs::File;
use std::path::{Path, PathBuf};
use weir::policy::Reuse;
use weir::units::Bytes;

/// Names of policies: which switches are on.
const POLICIES: [(&str, Reuse); 5] = [
    ("same", Reuse::empty()),
    ("event", Reuse::EVENT),
    ("opportunistic", Reuse::EVENT.union(Reuse::OPPORTUNISTIC)),
    ("internal", Reuse::EVENT.union(Reuse::INTERNAL)),
    ("all", Reuse::all()),
];

pub(crate) fn parser() -> Command {
    let policies = POLICIES.map(|(name, _)| name);
    Command::new("replay")
        .about("Replay an allocation log (CSV with RMM's header, and record, wait, sync, mark) on a pool")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("The log; - for standard input"),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .allow_hyphen_values(true)
                .default_value("all")
                .value_parser(policies)
                .help("Reuse switches: none; 1; 1 and 2; 1 and 3; all"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("BYTES")
                .allow_hyphen_values(true)
                .value_parser(limit)
                .help("The pool's limit, such as 14GB, 512MiB or a number of bytes [default: none]"),
        )
        .arg(
            Arg::new("driver")
                .long("driver")
                .allow_hyphen_values(true)
                .default_value("sim")
                .value_parser(["sim", "host"])
                .help("sim: virtual time, every access checked; host: real memory, threads and bytes"),
        )
        .arg(
            Arg::new("lag")
                .long("lag")
                .value_name("N")
                .default_value("0")
                .allow_hyphen_values(true)
                .value_parser(lag)
                .help("sim: a row's work is finished N rows later; none: only `sync` rows finish work"),
        )
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("OUT")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Write the event log, for `cargo xtask viz OUT`; its folder must exist"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print one JSON object on the last line of standard output, all else on standard error"),
        )
        .after_help(
            "Example:\n  cargo xtask replay examples/traces/producer_consumer.csv --policy event --lag 100 --json\n\n\
             Output: the table and its notes go to standard output; with --json they go to standard error, and one\n\
             object to the last line of standard output. The only file that is written is OUT of --log.\n\
             `mallocs`, `refused` and `zero_sized` add up to the log's `allocate` rows, `frees` and `skipped_frees`\n\
             to its `free` rows.\n\n\
             Exit status:\n  \
             0  done, whatever the pool refused\n  \
             1  could not be run, or not to its end: too little memory, an output that cannot be written, a fault\n  \
             2  unreadable input or wrong arguments",
        )
}

fn limit(text: &str) -> Result<Bytes, String> {
    match size::parse(text)? {
        Bytes::ZERO => Err("a limit of 0 leaves room for nothing; leave --limit out for none".into()),
        bytes => Ok(bytes),
    }
}

fn lag(text: &str) -> Result<Lag, String> {
    match text {
        "none" => Ok(Lag::Never),
        _ => text.parse().map(Lag::Rows).map_err(|_| "expected a number of rows, or none".to_owned()),
    }
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let options = options(arguments)?;
    let file = arguments.get_one::<PathBuf>("file").map_or(Path::new("-"), PathBuf::as_path);
    spare(file, options.log.as_deref())?;
    let program = read(file)?;
    let summary = replay(&program, &options)?;
    say(&summary, &options, arguments.get_flag("json"));
    Ok(())
}

/// Refuses to write the event log over the log that is read.
fn spare(file: &Path, log: Option<&Path>) -> Result<(), Failure> {
    let place = |path: &Path| path.canonicalize().ok();
    match (place(file), log.and_then(place)) {
        (Some(file), Some(log)) if file == log => {
            let text = format!("--log {}: that is the log to be replayed; name another file", log.display());
            Err(Failure::Unreadable(text))
        }
        _ => Ok(()),
    }
}

/// Reads a log. What is wrong with it names the file, the line and the column.
pub(crate) fn read(file: &Path) -> Result<Program, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| Failure::Unreadable(format!("{}: {error}", file.display()));
    if file == Path::new("-") {
        return Program::read(std::io::stdin().lock()).map_err(|error| unreadable(&error));
    }
    if file.is_dir() {
        return Err(unreadable(&"is a folder; expected a CSV file"));
    }
    let input = File::open(file).map_err(|error| unreadable(&error))?;
    Program::read(input).map_err(|error| unreadable(&error))
}

fn options(arguments: &ArgMatches) -> Result<Options, Failure> {
    let name = arguments.get_one::<String>("policy").map_or("all", String::as_str);
    let (policy, reuse) = POLICIES.into_iter().find(|(known, _)| *known == name).unwrap_or(("all", Reuse::all()));
    let host = arguments.get_one::<String>("driver").is_some_and(|driver| driver == "host");
    let given = arguments.value_source("lag") == Some(ValueSource::CommandLine);
    if host && given {
        return Err(Failure::Unreadable(
            "--lag is for --driver sim: the streams of the host driver are threads that finish when they finish".into(),
        ));
    }
    let lag = arguments.get_one("lag").copied().unwrap_or(Lag::Rows(0));
    Ok(Options {
        policy,
        reuse,
        limit: arguments.get_one("limit").copied(),
        on: if host { On::Host } else { On::Sim(lag) },
        log: arguments.get_one::<PathBuf>("log").cloned(),
    })
}

/// What `cargo xtask replay - OPTIONS` prints for a log on its standard input.
///
/// # Errors
/// What it would say instead.
pub fn replay_text(log: &[u8], options: &[&str]) -> Result<String, String> {
    let words = ["replay", "-"].iter().chain(options);
    let arguments = parser().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let options = self::options(&arguments).map_err(|failure| failure.to_string())?;
    let program = Program::read(log).map_err(|error| error.to_string())?;
    let summary = replay(&program, &options).map_err(|failure| failure.to_string())?;
    Ok(if arguments.get_flag("json") { summary.json().to_string() } else { text(&summary, &options) })
}

/// The table and its notes; with `json` on standard error, and the object alone on standard output.
fn say(summary: &Summary, options: &Options, json: bool) {
    let text = text(summary, options);
    if json {
        crate::say::aside(format_args!("{text}"));
        say!("{}", summary.json());
    } else {
        crate::say::text(&text);
    }
}

/// The table and its notes.
fn text(summary: &Summary, options: &Options) -> String {
    let rows: Vec<Vec<String>> = summary.lines().into_iter().map(|(name, value)| vec![name, value]).collect();
    let mut text = table(&["", &format!("{}, {}", summary.driver, summary.policy)], &rows);
    for note in summary.notes() {
        text += &format!("note: {note}\n");
    }
    if let Some(log) = &options.log {
        text += &format!("the event log: cargo xtask viz {}\n", log.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        let words = std::iter::once("replay").chain(words.split_whitespace());
        let matches = parser().try_get_matches_from(words).map_err(|error| error.to_string())?;
        options(&matches).map_err(|failure| failure.to_string())
    }

    #[test]
    fn defaults_are_all_sim_and_no_limit() {
        let options = parsed("x.csv").expect("parses");
        assert_eq!((options.policy, options.reuse, options.limit), ("all", Reuse::all(), None));
        assert_eq!(options.on, On::Sim(Lag::Rows(0)));
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
        assert_eq!(parsed("x.csv --lag none").expect("parses").on, On::Sim(Lag::Never));
        assert_eq!(parsed("x.csv --lag 7").expect("parses").on, On::Sim(Lag::Rows(7)));
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

    #[test]
    fn what_cannot_be_read_is_status_2() {
        for file in ["/no/such/file.csv", "/"] {
            let failure = read(Path::new(file)).expect_err("was read");
            assert!(matches!(failure, Failure::Unreadable(_)), "{failure}");
            assert!(failure.to_string().starts_with(file), "{failure}");
        }
    }
}
