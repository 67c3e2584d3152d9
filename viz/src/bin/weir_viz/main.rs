//! `weir-viz FILE`: opens a window on an event log. With `--screenshot OUT` it writes the picture instead.

mod app;
mod check;
mod command;
#[cfg(all(test, feature = "drive"))]
mod drive;
mod input;
#[cfg(target_os = "linux")]
mod measure;
mod overlay;
mod paint;
#[cfg(test)]
mod tests;

use app::App;
use eframe::egui;
use std::path::Path;
use std::process::ExitCode;
use weir_viz::cli::{self, Command, Picture};
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
        Ok(Command::Show { file, screenshot: Some(out), picture }) => screenshot(&file, &out, &picture),
        Ok(Command::Show { file, picture, .. }) => window(&file, &picture),
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

fn screenshot(file: &Path, out: &Path, picture: &Picture) -> ExitCode {
    let progress = Progress::default();
    terminal::show(&progress, When::Terminal);
    terminal::stop_cleanly();
    let drawn = cli::screenshot(file, out, picture, &progress);
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

fn window(file: &Path, picture: &Picture) -> ExitCode {
    let progress = Progress::default();
    let opened = source::load_part(file, &picture.part, &progress)
        .and_then(|bytes| Ok((source::read_file(file, &bytes, &progress)?, bytes)));
    let readable = opened.is_ok();
    match &opened {
        Ok((opened, _)) => opened.summary().iter().for_each(|d| eprintln!("weir-viz: {}: {d}", opened.name)),
        Err(error) => eprintln!("weir-viz: {error}"),
    }
    if !has_display() {
        return if readable { no_display(file) } else { ExitCode::from(UNREADABLE) };
    }
    let mut app = match opened {
        Err(error) => App::failed(error, picture),
        Ok((opened, bytes)) => match App::new(opened, bytes, picture) {
            Ok(mut app) => {
                app.write_beside(file);
                app
            }
            Err(error) => return fail(UNREADABLE, &error),
        },
    };
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title(format!("{} - weir", file.display()))
            .with_inner_size([picture.size.w, picture.size.h + app::BAR])
            .with_min_inner_size([SMALLEST.w, SMALLEST.h + app::BAR]),
        ..eframe::NativeOptions::default()
    };
    let start = |made: &eframe::CreationContext<'_>| {
        app.start_check(&made.egui_ctx);
        Ok(Box::new(app) as Box<dyn eframe::App>)
    };
    match eframe::run_native("weir-viz", options, Box::new(start)) {
        Ok(()) if readable => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(UNREADABLE),
        Err(_) if readable => no_display(file),
        Err(error) => fail(NO_DISPLAY, &error),
    }
}

/// Whether a window could open at all; asked first, because the window library's own answer is a page long.
fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !cfg!(target_os = "linux") || set("DISPLAY")
}

fn no_display(file: &Path) -> ExitCode {
    let file = file.display();
    eprintln!(
        "weir-viz: no display to open a window on; `--screenshot OUT.png {file}` writes the picture, and \
         `cargo xtask report {file}` the report"
    );
    ExitCode::from(NO_DISPLAY)
}
