//! `replay`: runs the program of an allocation log on a pool.

mod arguments;

pub(crate) use arguments::parser;

use crate::failure::Failure;
use crate::replay::{Capacity, Comparison, Options, Summary, beside, compare, least, replay, table};
use arguments::{as_recorded, options};
use clap::ArgMatches;
use std::fs::File;
use std::path::{Path, PathBuf};
use weir_viz::import::{self, Program};
use weir_viz::output;

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let options = options(arguments)?;
    let file = arguments.get_one::<PathBuf>("file").map_or(Path::new("-"), PathBuf::as_path);
    spare(file, options.log.as_deref())?;
    let program = read(file, arguments.get_one("device").copied())?;
    let options = adopted(&program, options, arguments);
    let outcome = outcome(&program, &options, arguments)?;
    if arguments.get_flag("json") {
        crate::say::aside(format_args!("{}", outcome.text));
        say!("{}", outcome.json);
    } else {
        crate::say::text(&outcome.text);
    }
    Ok(())
}

/// What `cargo xtask replay - OPTIONS` prints for a log on its standard input.
///
/// # Errors
/// What it would say instead.
pub fn replay_text(log: &[u8], options: &[&str]) -> Result<String, String> {
    let words = ["replay", "-"].iter().chain(options);
    let arguments = parser().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let options = self::options(&arguments).map_err(|failure| failure.to_string())?;
    let program = import::read(log, arguments.get_one("device").copied()).map_err(|error| error.to_string())?;
    let options = adopted(&program, options, &arguments);
    let outcome = outcome(&program, &options, &arguments).map_err(|failure| failure.to_string())?;
    Ok(if arguments.get_flag("json") { outcome.json.to_string() } else { outcome.text })
}

/// The options, as far as they are not said those of the log's own pool.
fn adopted(program: &Program, options: Options, arguments: &ArgMatches) -> Options {
    match &program.recorded {
        Some(recorded) => as_recorded(arguments, options, recorded),
        None => options,
    }
}

/// Refuses to write the event log over the log that is read.
fn spare(file: &Path, log: Option<&Path>) -> Result<(), Failure> {
    match log {
        Some(log) if output::is_same(file, log) => {
            let text = format!("--log {}: that is the log to be replayed; name another file", log.display());
            Err(Failure::Unreadable(text))
        }
        _ => Ok(()),
    }
}

/// Reads a log. What is wrong with it names the file, the line and the column.
pub(crate) fn read(file: &Path, device: Option<usize>) -> Result<Program, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| Failure::Unreadable(format!("{}: {error}", file.display()));
    if file == Path::new("-") {
        return import::read(std::io::stdin().lock(), device).map_err(|error| unreadable(&error));
    }
    if file.is_dir() {
        return Err(unreadable(&"is a folder; expected a file"));
    }
    let input = File::open(file).map_err(|error| unreadable(&error))?;
    import::read(input, device).map_err(|error| unreadable(&error))
}

/// What a replay says: text for people, and an object for scripts.
struct Said {
    text: String,
    json: serde_json::Value,
}

/// Does what is asked for with a log.
fn outcome(program: &Program, options: &Options, arguments: &ArgMatches) -> Result<Said, Failure> {
    if arguments.get_flag("min-capacity") {
        let capacity = least(program, options)?;
        let text = table(&Capacity::HEADING, &capacity.rows()) + &noted(&capacity.free.notes());
        return Ok(Said { text, json: capacity.json() });
    }
    if arguments.get_flag("compare") {
        let comparison = compare(program, options)?;
        let text = table(&Comparison::HEADING, &comparison.rows()) + &noted(&comparison.notes());
        return Ok(Said { text, json: comparison.json() });
    }
    let summary = replay(program, options)?;
    let mut json = summary.json();
    if let (Some(recorded), Some(object)) = (&program.recorded, json.as_object_mut()) {
        object.insert("recorded".to_owned(), beside::json(recorded));
    }
    Ok(Said { text: text(&summary, options, program), json })
}

/// Notes, a line each.
fn noted(notes: &[String]) -> String {
    notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// The table of a replay and its notes.
fn text(summary: &Summary, options: &Options, program: &Program) -> String {
    let name = format!("{}, {}", summary.driver, summary.policy);
    let mut text = match &program.recorded {
        Some(recorded) => table(&["", "as logged", &name], &beside::rows(recorded, summary)),
        None => plain(summary, &name),
    };
    text += &noted(&summary.notes());
    if let Some(log) = &options.log {
        text += &format!("the event log: cargo xtask viz {}\n", log.display());
    }
    text
}

fn plain(summary: &Summary, name: &str) -> String {
    let rows: Vec<Vec<String>> = summary.lines().into_iter().map(|(name, value)| vec![name, value]).collect();
    table(&["", name], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_status_2() {
        for file in ["/no/such/file.csv", "/"] {
            let failure = read(Path::new(file), None).expect_err("was read");
            assert!(matches!(failure, Failure::Unreadable(_)), "{failure}");
            assert!(failure.to_string().starts_with(file), "{failure}");
        }
    }
}
