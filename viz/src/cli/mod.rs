//! The command line of the viewer.

mod picture;
mod value;

pub use picture::{
    Picture, PictureError, draw, export, export_beside, go_to_finding, screenshot, screenshot_beside, view,
};

use crate::follow::Feed;
use crate::part::Place;
use crate::progress::Progress;
use crate::scene::Parts;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// What the command takes.
pub const USAGE: &str = "\
usage: weir-viz [FILE] [--screenshot OUT.png|OUT.svg|OUT.csv] [options]

FILE is an event log of weir, binary or text, or another allocator's log; `-` is standard input. Without --screenshot a
window opens; without FILE, too, one to open a log in.

  --screenshot OUT   write the picture to OUT instead (PNG or SVG, by its ending; a table as CSV, too); needs no display
  --size WxH         size of the picture or window in points (default 1600x1000)
  --scale N          pixels to a point, PNG only (default 1)
  --axis WHAT        what runs along x: record (default) or time
  --select ID        select allocation ID: its details, why it got what it got, who got its memory next
  --record N         select record N; of a refused call, why it was refused
  --free ADDRESS@N   select the free block at ADDRESS from the pool's base after record N: who could have had it, and when
  --finding N        go to the Nth finding, from 1 on: both operations, what is missing between them
  --pool N           show the Nth pool of the log, from 1 on (default: the one with most allocations)
  --from PLACE       load the log from here on: a record's number, a time since the first (20ms), or a mark's name
  --to PLACE         load it up to here
  --view WHICH       what the large panel shows: map (default), lanes, flows, state, allocations,
                     decisions, refusals or findings
  --stack WHICH      the used bytes of the chart, stacked by label, stream or size (the largest seven, and the others)
  --color WHICH      what blocks of the map are coloured by: stream (default), label, age or source
  --find QUERY       in a table or list: only what matches, such as `stream:1 >2MiB`, an address, `#17`, a label
  --theme WHICH      light or dark; else a picture is light, and a window as the system's
  --beside OTHER     show another log beside this one, aligned on marks of the same names
  --follow           follow FILE while it still grows; tcp:PORT is whoever connects to that port
                     of this machine
  --no-session       neither read nor write FILE.weir-session.json, which keeps range, page, filters and marks
  --panels           without the list of records and the details
  -h, --help         this text";

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Show the usage.
    Help,
    /// Open a window.
    Window(Box<Asked>),
    /// Write a picture of this log to this file.
    Screenshot {
        /// The log.
        log: PathBuf,
        /// Where the picture goes.
        out: PathBuf,
        /// How it is to look.
        asked: Box<Asked>,
    },
}

/// What is to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The log; `None`: a window to open one in.
    pub file: Option<PathBuf>,
    /// Another log to show beside it.
    pub beside: Option<PathBuf>,
    /// The log grows yet.
    pub follow: Option<Feed>,
    /// What becomes of its session.
    pub session: Sessions,
    /// How it is to look.
    pub picture: Picture,
}

/// What becomes of the files that keep how logs were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// They are read and written.
    #[default]
    Kept,
    /// They are not.
    Ignored,
}

/// A command line that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; `--help` lists what can be given", self.0)
    }
}

impl std::error::Error for UsageError {}

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

impl Asked {
    /// Writes the picture of a log, or of two side by side. Answers what was damaged, a few lines.
    ///
    /// # Errors
    /// As [`screenshot`] and [`screenshot_beside`].
    pub fn screenshot(&self, log: &Path, out: &Path, progress: &Progress) -> Result<Vec<String>, PictureError> {
        match &self.beside {
            None => screenshot(log, out, &self.picture, progress),
            Some(other) => screenshot_beside([log, other], out, &self.picture, progress),
        }
    }
}

impl Command {
    /// Reads the arguments, without the program's name.
    ///
    /// # Errors
    /// Says which argument is wrong.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        use lexopt::prelude::*;
        let mut screenshot = None;
        let mut asked = Asked::default();
        let mut follow = false;
        let mut parser = lexopt::Parser::from_args(args);
        while let Some(arg) = parser.next()? {
            let picture = &mut asked.picture;
            if let Long(name) = &arg {
                picture.given.push((*name).to_owned());
            }
            match arg {
                Short('h') | Long("help") => return Ok(Self::Help),
                Long("screenshot") => screenshot = Some(value::drawable(PathBuf::from(parser.value()?))?),
                Long("size") => picture.size = value::size(&parser.value()?.string()?)?,
                Long("scale") => picture.scale = value::scale(&parser.value()?.string()?)?,
                Long("axis") => picture.axis = value::axis(&parser.value()?.string()?)?,
                Long("view") => picture.page = value::page(&parser.value()?.string()?)?,
                Long("find") => picture.find = value::query(parser.value()?.string()?)?,
                Long("stack") => picture.stack = Some(value::stack(&parser.value()?.string()?)?),
                Long("color") => picture.color = value::color(&parser.value()?.string()?)?,
                Long("theme") => {
                    picture.theme = value::theme(&parser.value()?.string()?)?;
                    picture.follows_system = false;
                }
                Long("select") => picture.select = Some(parser.value()?.parse()?),
                Long("record") => picture.record = Some(parser.value()?.parse()?),
                Long("free") => picture.free = Some(value::free(&parser.value()?.string()?)?),
                Long("finding") => picture.finding = Some(parser.value()?.parse()?),
                Long("pool") => picture.pool = Some(parser.value()?.parse()?),
                Long("from") => picture.part.from = Some(Place::parse(&parser.value()?.string()?)),
                Long("to") => picture.part.to = Some(Place::parse(&parser.value()?.string()?)),
                Long("beside") => asked.beside = Some(PathBuf::from(parser.value()?)),
                Long("follow") => follow = true,
                Long("no-session") => asked.session = Sessions::Ignored,
                Long("panels") => picture.parts = Parts::Panels,
                Value(value) if asked.file.is_none() => asked.file = Some(PathBuf::from(value)),
                other => return Err(other.unexpected().into()),
            }
        }
        if follow {
            let file = asked.file.take().ok_or_else(|| UsageError("no log to follow was named".to_owned()))?;
            if screenshot.is_some() || !asked.picture.part.is_whole() {
                let what =
                    "--follow opens a window on the whole log: it goes with neither --screenshot nor --from and --to";
                return Err(UsageError(what.to_owned()));
            }
            asked.follow = Some(Feed::parse(file.as_os_str()).map_err(UsageError)?);
        }
        if asked.beside.is_some() && asked.file.is_none() && asked.follow.is_none() {
            return Err(UsageError("--beside: no log was named beside which to show it".to_owned()));
        }
        let asked = Box::new(asked);
        let Some(out) = screenshot else { return Ok(Self::Window(asked)) };
        let log = asked.file.clone().ok_or_else(|| UsageError("no log was named".to_owned()))?;
        Ok(Self::Screenshot { log, out, asked })
    }
}
