//! `follow`: a log that still grows, in figures or record by record.

use crate::failure::Failure;
use crate::follow::{self, News};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use weir::trace::text;
use weir_viz::follow::Figures;

const HELP: &str = "\
Figures are printed when they changed, once a second at most, and once more at the end. A page or a line that is half written
waits for its rest; a file that is cut or replaced is read from its beginning. The memory is that of the live blocks.

Example:
  cargo xtask follow target/demo/trace.log

Exit status: 0 followed to its end, or until Ctrl-C, 2 a feed that cannot be read.";

pub(crate) fn parser() -> Command {
    Command::new("follow")
        .about("Follow an event log that still grows: its figures, or its records, as they come")
        .arg(
            Arg::new("feed").value_name("FEED").required(true).value_parser(clap::value_parser!(OsString)).help(
                "The event log; `-` for standard input, tcp:PORT for whoever connects to that port of this machine",
            ),
        )
        .arg(
            Arg::new("records")
                .long("records")
                .action(ArgAction::SetTrue)
                .help("Print each record, as a line of the text form, instead of figures"),
        )
        .after_help(HELP)
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let feed = follow::feed(arguments, "feed")?;
    let mut shown = Shown { records: arguments.get_flag("records"), ..Shown::default() };
    follow::each(&feed, |news| shown.take(news))
}

/// What was printed, and what was not yet.
#[derive(Default)]
struct Shown {
    records: bool,
    figures: Figures,
    /// Records in the figures that were printed.
    printed: u64,
    last: Option<Instant>,
    begun: bool,
}

impl Shown {
    fn take(&mut self, news: News<'_>) {
        match news {
            News::Read(Ok(stamped)) => {
                self.figures.push(&stamped);
                if self.records {
                    self.record(&stamped);
                }
                self.now_and_then();
            }
            News::Read(Err(damage)) => tell!("note: {damage}"),
            News::Pause => self.now_and_then(),
            News::End => {
                let figures = std::mem::take(&mut self.figures);
                match self.records {
                    true => tell!("{figures}"),
                    false => say!("{figures}"),
                }
                (self.printed, self.begun) = (0, false);
            }
        }
    }

    fn record(&mut self, stamped: &weir::trace::Stamped<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            say!("{}", text::HEADER);
        }
        let mut line = String::new();
        if text::write(stamped, &mut line).is_ok() {
            say!("{line}");
        }
    }

    fn now_and_then(&mut self) {
        let early = self.last.get_or_insert_with(Instant::now).elapsed() < Duration::from_secs(1);
        if !self.records && !early && self.figures.records > self.printed {
            say!("{}", self.figures);
            (self.printed, self.last) = (self.figures.records, Some(Instant::now()));
        }
    }
}
