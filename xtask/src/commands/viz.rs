//! `viz`: the viewer, as a window or as a picture.

use crate::commands::no_install;
use crate::failure::Failure;
use crate::packages::{Permission, System, WINDOW};
use crate::progress;
use crate::project;
use crate::step;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use weir_viz::cli::{self, Picture};
use weir_viz::terminal::When;

const NO_INSTALL: &str = "--no-install";

pub(crate) fn parser() -> Command {
    // The viewer's library reads its own arguments: window and picture take the same ones.
    let options = cli::USAGE.split_once("\n\n").map_or(cli::USAGE, |(_, rest)| rest);
    Command::new("viz")
        .about("Show an event log: used and reserved over time, address map, events")
        .override_usage("cargo xtask viz [--no-install] [FILE] [--screenshot OUT.png|OUT.svg] [options]")
        .arg(
            Arg::new("arguments")
                .value_name("FILE")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(clap::value_parser!(OsString))
                .help("The event log, binary or text, and how to show it"),
        )
        .arg(no_install())
        .after_help(format!(
            "{options}\n\nExample:\n  cargo xtask viz target/demo/trace.log --screenshot target/demo/timeline.png"
        ))
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let words: Vec<OsString> = arguments.get_many("arguments").unwrap_or_default().cloned().collect();
    let (ours, theirs): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word == NO_INSTALL);
    let permission = if ours.is_empty() { Permission::of(arguments) } else { Permission::Forbidden };
    match cli::Command::parse(theirs.clone()).map_err(|error| Failure::Unreadable(error.to_string()))? {
        cli::Command::Help => {
            say!("{}", cli::USAGE);
            Ok(())
        }
        cli::Command::Screenshot { log, out, asked } => {
            written(&out, asked.screenshot(&log, &out, &progress::shown(When::Terminal)))
        }
        cli::Command::Window(asked) => {
            let files: Vec<&Path> = [&asked.file, &asked.beside].into_iter().flatten().map(PathBuf::as_path).collect();
            open(&System::new(permission), &files, &theirs)
        }
    }
}

/// Writes a picture. What was damaged in the log is said; the picture shows the rest.
pub(crate) fn draw(log: &Path, out: &Path, picture: &Picture) -> Result<(), Failure> {
    written(out, cli::screenshot(log, out, picture, &progress::shown(When::Terminal)))
}

fn written(out: &Path, outcome: Result<Vec<String>, cli::PictureError>) -> Result<(), Failure> {
    let damages = outcome.map_err(|error| match error {
        cli::PictureError::Source(error) => Failure::Unreadable(error.to_string()),
        error => Failure::Failed(error.to_string()),
    })?;
    damages.iter().for_each(|damage| tell!("note: {damage}"));
    say!("picture: {}", project::shown(out));
    Ok(())
}

/// Opens the window with these arguments, the log's name among them; builds it first.
pub(crate) fn open(system: &System, files: &[&Path], arguments: &[OsString]) -> Result<(), Failure> {
    // With a display the window says what is wrong with the log, too; it is built for that even if it takes minutes.
    if !has_display() {
        for file in files {
            weir_viz::source::open(file).map_err(|error| Failure::Unreadable(error.to_string()))?;
        }
        tell!("no display for a window: write a picture with `--screenshot out.png`, or a page with `report`");
        return Err(Failure::Said(3));
    }
    if let Err(reason) = system.ensure(&WINDOW) {
        step::skip("the window", &reason);
        return Err(Failure::Said(1));
    }
    say!("building the window; the first time this takes minutes");
    let mut command = project::cargo(["run", "--release", "--package", "weir-viz", "--features", "window", "--"]);
    // Cargo runs in the root, the caller perhaps elsewhere.
    command.args(arguments.iter().map(|word| match files.iter().find(|file| word == **file) {
        Some(file) => absolute(file).into_os_string(),
        None => word.clone(),
    }));
    let status = command.status().map_err(|error| Failure::Failed(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Said(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Failed(format!("the window ended: {status}"))),
    }
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
}

fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
