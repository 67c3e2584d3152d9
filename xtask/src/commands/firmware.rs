//! `firmware`: the image for bare metal, built and booted.

use crate::commands::{no_install, viz};
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::firmware::capture::{Capture, Ending};
use crate::firmware::{BOARDS, Board, image, in_c, qemu};
use crate::packages::{Need, Permission, System};
use crate::project;
use crate::step;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};
use weir_viz::check::{self, Told};
use weir_viz::cli::Picture;

pub(crate) fn parser() -> Command {
    Command::new("firmware")
        .about("Build the firmware image for bare metal; boot it in QEMU")
        .arg(
            Arg::new("target")
                .long("target")
                .value_name("TARGET")
                .default_value(BOARDS[0].target)
                .value_parser(PossibleValuesParser::new(BOARDS.iter().map(|board| board.target)))
                .help("The machine"),
        )
        .arg(
            Arg::new("c")
                .long("c")
                .action(ArgAction::SetTrue)
                .conflicts_with("target")
                .help("The image in C instead, for thumbv7em-none-eabihf: examples/c/firmware with libweir.a"),
        )
        .arg(Arg::new("run").long("run").action(ArgAction::SetTrue).help("Boot it, and check the log that it sends"))
        .arg(no_install())
        .after_help(
            "The image is target/firmware/TARGET.elf. A run leaves what came along the serial line in\n\
             target/firmware/TARGET.serial (c.elf and c.serial for the one in C) and the log in it in target/firmware/trace.log.\n\n\
             Example:\n  cargo xtask firmware --target aarch64-unknown-none --run",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let system = System::new(Permission::of(arguments));
    let chosen = arguments.get_one::<String>("target").map_or(BOARDS[0].target, String::as_str);
    let language = if arguments.get_flag("c") { Language::C } else { Language::Rust };
    let target = if language == Language::C { in_c::TARGET } else { chosen };
    let board = Board::of(target).ok_or_else(|| Failure::Failed(format!("no machine of target {target}")))?;
    let compiler = Compiler::find(&system, target).map_err(Failure::Failed)?;
    system.ensure(language.needs()).map_err(Failure::Failed)?;
    let image = language.build(board, &compiler)?;
    say!("image: {}", project::shown(&image));
    if !arguments.get_flag("run") {
        return Ok(());
    }
    system.ensure(&[board.need]).map_err(Failure::Failed)?;
    boot(board, &image)
}

/// What an image is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    C,
}

impl Language {
    const fn needs(self) -> &'static [Need] {
        match self {
            Self::Rust => &[],
            Self::C => &[in_c::COMPILER],
        }
    }

    fn build(self, board: &Board, compiler: &Compiler) -> Result<PathBuf, Failure> {
        match self {
            Self::Rust => image::build(board, compiler),
            Self::C => in_c::build(compiler),
        }
    }
}

/// All machines, one after the other; those that cannot be had are skipped by name.
pub(crate) fn every(system: &System) -> Result<(), Failure> {
    step::header("firmware images");
    let in_c = BOARDS.iter().filter(|board| board.target == in_c::TARGET).map(|board| (Language::C, board));
    for (language, board) in BOARDS.iter().map(|board| (Language::Rust, board)).chain(in_c) {
        let had = Compiler::find(system, board.target).and_then(|compiler| {
            system.ensure(&[board.need])?;
            system.ensure(language.needs())?;
            Ok(compiler)
        });
        match had {
            Err(reason) => step::skip(&format!("the firmware image in {language:?} for {}", board.target), &reason),
            Ok(compiler) => boot(board, &language.build(board, &compiler)?)?,
        }
    }
    Ok(())
}

/// Boots an image and judges what it says and the log that it sends.
fn boot(board: &Board, image: &Path) -> Result<(), Failure> {
    let folder = project::output("firmware");
    let run = qemu::boot(board, image)?;
    let raw = folder.join(image.file_stem().unwrap_or_default()).with_extension("serial");
    std::fs::write(&raw, &run.serial).map_err(|error| Failure::file("write", &raw, error))?;
    let capture = Capture::read(&run.serial);
    let ending = capture.ending();
    let mut lines: Vec<&str> = capture.lines().collect();
    if ending.is_some() {
        lines.pop();
    }
    lines.iter().for_each(|line| say!("    {line}"));
    let Some(Ending { made, failed }) = ending.filter(|_| run.status.success()) else {
        let text = format!("the image for {} ended with {}", board.target, run.status);
        return Err(Failure::Failed(format!("{text}\nrepeat it with: {}", run.typed)));
    };
    let log = folder.join("trace.log");
    std::fs::write(&log, &capture.log).map_err(|error| Failure::file("write", &log, error))?;
    judge(&log, capture.pages)?;
    viz::draw(&log, &folder.join("timeline.png"), &Picture::default())?;
    say!("look at it: cargo xtask viz {}", project::shown(&log));
    if made == 0 || failed > 0 {
        return Err(Failure::Failed(format!("{failed} of {made} checks failed on {}", board.target)));
    }
    say!("weir: {made} checks, {failed} failed");
    Ok(())
}

/// Checks the log.
fn judge(log: &Path, pages: usize) -> Result<(), Failure> {
    let report = check::open(log, Told::Accept).map_err(|error| Failure::Unreadable(error.to_string()))?;
    say!("event log: {} ({pages} pages)", project::shown(log));
    say!("{report}");
    if report.is_clean() && report.damages.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("the log is not clean; repeat it with: cargo xtask check {}", project::shown(log))))
}
