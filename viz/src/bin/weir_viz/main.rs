//! `weir-viz [FILE]`: opens a window on an event log. With `--screenshot OUT` it writes the picture instead.

mod app;
mod asking;
mod bars;
#[cfg(all(test, target_os = "linux"))]
mod bounded;
mod check;
mod chooser;
mod command;
mod desk;
mod document;
#[cfg(all(test, feature = "drive"))]
mod drive;
mod failure;
mod following;
mod input;
mod loading;
mod marks;
#[cfg(target_os = "linux")]
mod measure;
mod opening;
mod overlay;
mod paint;
mod perform;
mod recent;
mod start;
#[cfg(test)]
mod tests;
mod theme;

use app::App;
use eframe::egui;
use failure::Outcome;
use recent::Recent;
use std::path::Path;
use std::process::ExitCode;
use weir_viz::cli::{self, Asked, Command};
use weir_viz::progress::Progress;
use weir_viz::scene::SMALLEST;
use weir_viz::source;
use weir_viz::terminal::{self, When};

/// The log cannot be read, or the command line makes no sense.
const UNREADABLE: u8 = 2;
/// There is no display.
const NO_DISPLAY: u8 = 3;

/// The word behind which `cargo xtask bench --viewer` names a log to measure with.
#[cfg(target_os = "linux")]
const MEASURE: &str = "--measure";

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == MEASURE) {
        return measured(std::env::args_os().nth(2).as_deref().map(Path::new));
    }
    match Command::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            println!("{}", cli::USAGE);
            ExitCode::SUCCESS
        }
        Ok(Command::Screenshot { log, out, asked }) => screenshot(&log, &out, &asked),
        Ok(Command::Window(asked)) => window(*asked),
        Err(error) => fail(UNREADABLE, &error),
    }
}

fn fail(code: u8, error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("weir-viz: {error}");
    ExitCode::from(code)
}

/// Prints figures, and on standard error how it goes.
#[cfg(target_os = "linux")]
fn measured(file: Option<&Path>) -> ExitCode {
    let Some(file) = file else {
        return fail(UNREADABLE, &format!("{MEASURE} needs a log"));
    };
    match measure::measure(file, |words| eprintln!("{words}")) {
        Ok(figures) => {
            print!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => fail(UNREADABLE, &error),
    }
}

fn screenshot(file: &Path, out: &Path, asked: &Asked) -> ExitCode {
    let progress = Progress::default();
    terminal::show(&progress, When::Terminal);
    terminal::stop_cleanly();
    let drawn = asked.screenshot(file, out, &progress);
    terminal::clear();
    match drawn {
        Ok(damages) => {
            damages.iter().for_each(|d| eprintln!("weir-viz: {}: {d}", file.display()));
            println!("{}", out.display());
            ExitCode::SUCCESS
        }
        Err(error) => fail(UNREADABLE, &error),
    }
}

fn window(asked: Asked) -> ExitCode {
    if !has_display() {
        return without_display(&asked);
    }
    let size = asked.picture.size;
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("weir")
            .with_inner_size([size.w, size.h + bars::HEIGHT])
            .with_min_inner_size([SMALLEST.w, SMALLEST.h + bars::HEIGHT]),
        ..eframe::NativeOptions::default()
    };
    let outcome = Outcome::default();
    let mut app = App::new(asked.picture.clone(), asked.session, Recent::of_user(), outcome.clone());
    let (file, beside, feed) = (asked.file.clone(), asked.beside.clone(), asked.follow.clone());
    let start = |made: &eframe::CreationContext<'_>| {
        match (file, feed) {
            (_, Some(feed)) => app.follow(feed, &made.egui_ctx),
            (Some(file), None) => app.open(file, &made.egui_ctx),
            (None, None) => {}
        }
        if let Some(beside) = beside {
            app.open_beside(beside, &made.egui_ctx);
        }
        Ok(Box::new(app) as Box<dyn eframe::App>)
    };
    match eframe::run_native("weir-viz", options, Box::new(start)) {
        Ok(()) if outcome.is_unreadable() => ExitCode::from(UNREADABLE),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-viz: {error}");
            without_display(&asked)
        }
    }
}

/// Whether a window could open at all; asked first, because the window library's own answer is a page long.
fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY")
}

/// Says what is wrong with the log, and what to do without a window.
fn without_display(asked: &Asked) -> ExitCode {
    if let Some(feed) = &asked.follow {
        let advice = format!("no display to open a window on; `cargo xtask follow {feed}` prints what comes");
        return fail(NO_DISPLAY, &advice);
    }
    let Some(file) = &asked.file else {
        return fail(NO_DISPLAY, &"no display to open a window on; `--help` says how to write a picture of a log");
    };
    let progress = Progress::default();
    terminal::show(&progress, When::Terminal);
    let opened = source::open_part(file, &asked.picture.part, &progress);
    terminal::clear();
    match opened {
        Ok(opened) => opened.summary().iter().for_each(|d| eprintln!("weir-viz: {}: {d}", opened.name)),
        Err(error) => return fail(UNREADABLE, &error),
    }
    let file = file.display();
    let advice = format!(
        "no display to open a window on; `--screenshot OUT.png {file}` writes the picture, and \
         `cargo xtask report {file}` the report"
    );
    fail(NO_DISPLAY, &advice)
}
