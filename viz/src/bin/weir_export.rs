//! Writes a log in a format that takes long to build: what `cargo xtask export` runs for Parquet.
//!
//! usage: `weir-export LOG FORMAT OUT [FROM [TO [PROGRESS]]]`; an empty FROM or TO is the log's beginning or end.

use std::path::Path;
use std::process::ExitCode;
use weir_viz::export::{self, ExportError, Format};
use weir_viz::part::{Part, Place};
use weir_viz::progress::Progress;
use weir_viz::terminal::{self, When};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let place = |at: usize| words.get(at).filter(|words| !words.is_empty()).map(|words| Place::parse(words));
    let [log, format, out, ..] = words.as_slice() else {
        eprintln!("weir-export: expected LOG FORMAT OUT [FROM [TO]]");
        return ExitCode::from(2);
    };
    let Some(format) = Format::of_name(format) else {
        eprintln!("weir-export: {format} is no format");
        return ExitCode::from(2);
    };
    let when = When::ALL.into_iter().find(|(name, _)| words.get(5).is_some_and(|word| word == name));
    let progress = Progress::default();
    terminal::show(&progress, when.map_or(When::default(), |(_, when)| when));
    terminal::stop_cleanly();
    let written =
        export::file(Path::new(log), &Part { from: place(3), to: place(4) }, format, Path::new(out), &progress);
    terminal::clear();
    match written {
        Ok(told) => {
            told.iter().for_each(|line| eprintln!("note: {line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, ExportError::Write(..)) { 1 } else { 2 })
        }
    }
}
