//! `firmware`: the image for bare metal, built and booted.

use crate::commands::{no_install, viz};
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::firmware::capture::{Capture, Ending};
use crate::firmware::image::Frames;
use crate::firmware::{BOARDS, Board, image, in_c, qemu};
use crate::packages::{Need, Permission, System};
use crate::project;
use crate::step;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};
use weir_viz::check::{self, Told};
use weir_viz::cli::Picture;
use weir_viz::output;
use weir_viz::part::Part;
use weir_viz::progress::Progress;

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
        .arg(
            Arg::new("defmt")
                .long("defmt")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["target", "c"])
                .help("The image for thumbv7em-none-eabihf that sends its log through defmt too; a run compares the two"),
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
    let kind = match (arguments.get_flag("c"), arguments.get_flag("defmt")) {
        (true, _) => Kind::InC,
        (false, true) => Kind::Defmt,
        (false, false) => Kind::Plain,
    };
    // The others are for one machine.
    let target = if kind == Kind::Plain { chosen } else { in_c::TARGET };
    let board = Board::of(target).ok_or_else(|| Failure::Failed(format!("no machine of target {target}")))?;
    let compiler = Compiler::find(&system, target).map_err(Failure::Failed)?;
    system.ensure(kind.needs()).map_err(Failure::Failed)?;
    let image = kind.build(board, &compiler)?;
    say!("image: {}", project::shown(&image));
    if !arguments.get_flag("run") {
        return Ok(());
    }
    system.ensure(&[board.need]).map_err(Failure::Failed)?;
    boot(board, &image, kind)
}

/// Which image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The one in C.
    InC,
    /// The one that sends its log through defmt as well.
    Defmt,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "the firmware image",
            Self::InC => "the firmware image in C",
            Self::Defmt => "the firmware image with defmt",
        }
    }

    const fn needs(self) -> &'static [Need] {
        match self {
            Self::Plain | Self::Defmt => &[],
            Self::InC => &[in_c::COMPILER],
        }
    }

    fn build(self, board: &Board, compiler: &Compiler) -> Result<PathBuf, Failure> {
        match self {
            Self::Plain => image::build(board, compiler, Frames::None),
            Self::Defmt => image::build(board, compiler, Frames::Defmt),
            Self::InC => in_c::build(compiler),
        }
    }
}

/// All images, one after the other; those that cannot be had are skipped by name.
pub(crate) fn every(system: &System) -> Result<(), Failure> {
    step::header("firmware images");
    let others = BOARDS.iter().filter(|board| board.target == in_c::TARGET);
    let others = others.flat_map(|board| [(Kind::InC, board), (Kind::Defmt, board)]);
    for (kind, board) in BOARDS.iter().map(|board| (Kind::Plain, board)).chain(others) {
        let had = Compiler::find(system, board.target).and_then(|compiler| {
            system.ensure(&[board.need])?;
            system.ensure(kind.needs())?;
            Ok(compiler)
        });
        match had {
            Err(reason) => step::skip(&format!("{} for {}", kind.name(), board.target), &reason),
            Ok(compiler) => boot(board, &kind.build(board, &compiler)?, kind)?,
        }
    }
    Ok(())
}

/// Boots an image and judges what it says and the log that it sends.
fn boot(board: &Board, image: &Path, kind: Kind) -> Result<(), Failure> {
    let folder = project::output("firmware");
    let frames = (kind == Kind::Defmt).then(|| folder.join("defmt.frames"));
    let run = qemu::boot(board, image, frames.as_deref())?;
    let raw = folder.join(image.file_stem().unwrap_or_default()).with_extension("serial");
    output::bytes(&raw, &run.serial).map_err(|(path, error)| Failure::file("write", &path, error))?;
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
    output::bytes(&log, &capture.log).map_err(|(path, error)| Failure::file("write", &path, error))?;
    judge(&log, capture.pages)?;
    if let Some(frames) = frames {
        let mut command = project::cargo(["run", "--quiet", "--release", "--package", "weir-defmt", "--"]);
        step::last("what came through defmt", command.arg(image).arg(&frames).arg(&log))?;
    }
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
    let report = check::open(log, &Part::default(), Told::Accept, &Progress::default())
        .map_err(|error| Failure::Unreadable(error.to_string()))?;
    say!("event log: {} ({pages} pages)", project::shown(log));
    say!("{report}");
    if report.is_clean() && report.damages.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("the log is not clean; repeat it with: cargo xtask check {}", project::shown(log))))
}
