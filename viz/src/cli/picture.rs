//! Pictures of a log, without a window.

use crate::answer;
use crate::check::{self, Told};
use crate::compare::Link;
use crate::model::{Axis, By, EventIx, FindingIx, Model};
use crate::output;
use crate::part::Part;
use crate::png::{self, PngError};
use crate::progress::{Progress, Unit};
use crate::reach;
use crate::report::notable;
use crate::scene::{self, ColorBy, Page, Parts, Scene, Selection, Size, Theme, View};
use crate::source::{self, Opened, SourceError};
use crate::svg;
use std::fmt;
use std::path::{Path, PathBuf};

/// How a picture is to look.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its size in points.
    pub size: Size,
    /// Pixels to a point; PNG only.
    pub scale: f32,
    /// Its parts.
    pub parts: Parts,
    /// Its colours.
    pub theme: Theme,
    /// A window's colours are as the system's instead.
    pub follows_system: bool,
    /// What runs along x.
    pub axis: Axis,
    /// What the large panel shows.
    pub page: Page,
    /// What is looked for.
    pub find: String,
    /// What the used bytes are stacked by.
    pub stack: Option<By>,
    /// What the blocks of the map are coloured by.
    pub color: ColorBy,
    /// The id of the allocation to select.
    pub select: Option<u64>,
    /// The number of the record to select.
    pub record: Option<u64>,
    /// The free memory to select: an address from the pool's base, and the number of the record after which it is free.
    pub free: Option<(u64, u64)>,
    /// Which finding to go to, counted from 1.
    pub finding: Option<usize>,
    /// Which pool to show, counted from 1.
    pub pool: Option<usize>,
    /// Which part of the log.
    pub part: Part,
    /// The heading; the file's name where there is none.
    pub title: Option<String>,
    /// Names of the options that were given: they go before what a session says.
    pub given: Vec<String>,
}

impl Default for Picture {
    fn default() -> Self {
        Self {
            size: Size { w: 1600.0, h: 1000.0 },
            scale: 1.0,
            parts: Parts::WithList,
            theme: Theme::Light,
            follows_system: true,
            axis: Axis::Record,
            page: Page::default(),
            find: String::new(),
            stack: None,
            color: ColorBy::default(),
            select: None,
            record: None,
            free: None,
            finding: None,
            pool: None,
            part: Part::default(),
            title: None,
            given: Vec::new(),
        }
    }
}

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Png,
    Svg,
    /// A table.
    Csv,
}

impl Form {
    /// By the name's ending.
    pub(super) fn of(out: &Path) -> Result<Self, PictureError> {
        let ends = |with: &str| out.extension().is_some_and(|e| e.eq_ignore_ascii_case(with));
        match () {
            () if ends("png") => Ok(Self::Png),
            () if ends("svg") => Ok(Self::Svg),
            () if ends("csv") => Ok(Self::Csv),
            () => Err(PictureError::Ending(out.to_owned())),
        }
    }
}

/// Why there is no picture.
#[derive(Debug)]
pub enum PictureError {
    /// The log.
    Source(SourceError),
    /// There is no such allocation.
    NoAllocation(u64),
    /// There is no such record.
    NoRecord(u64),
    /// Nothing is free there then.
    NotFree(u64, u64),
    /// There is no such finding.
    NoFinding {
        /// The one that was asked for.
        asked: usize,
        /// How many there are.
        findings: usize,
    },
    /// There is no such pool.
    NoPool {
        /// The one that was asked for.
        asked: usize,
        /// How many there are.
        pools: usize,
    },
    /// The name of the file to write ends neither in `.png` nor in `.svg` nor in `.csv`.
    Ending(PathBuf),
    /// The file to write is the log itself.
    Same(output::IsLog),
    /// What is shown is no table.
    NoTable(Page),
    /// Two logs side by side are no table.
    TwoTables,
    /// The picture.
    Png(PngError),
    /// The file to write.
    Write(PathBuf, std::io::Error),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::NoAllocation(id) => write!(f, "the log has no allocation {id}; ids stand in its malloc records"),
            Self::NoRecord(number) => write!(f, "the log has no record {number}"),
            Self::NotFree(address, record) => {
                write!(
                    f,
                    "the pool has no free block at {address} after record {record}; `--view state` lists those it has"
                )
            }
            Self::NoFinding { asked, findings: 0 } => write!(f, "there is no finding {asked}: nothing was found"),
            Self::NoFinding { asked, findings } => {
                write!(f, "there is no finding {asked}: the list has {findings}, counted from 1")
            }
            Self::NoPool { asked, pools } => write!(f, "there is no pool {asked}: the log has {pools}, counted from 1"),
            Self::Same(error) => error.fmt(f),
            Self::Ending(path) => write!(f, "{}: expected a name that ends in .png, .svg or .csv", path.display()),
            Self::NoTable(page) => {
                write!(
                    f,
                    "`{}` is no table, so that it cannot be written as CSV; show `allocations`, `decisions`, `refusals` or `findings`",
                    page.name()
                )
            }
            Self::TwoTables => {
                write!(f, "two logs side by side are no table; name a .png or .svg, or write the table of each log")
            }
            Self::Png(error) => error.fmt(f),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for PictureError {}

impl From<SourceError> for PictureError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// The view of a log that these options ask for; a finding is gone to by [`go_to_finding`].
///
/// # Errors
/// The allocation or pool does not exist.
pub fn view(opened: &Opened, picture: &Picture) -> Result<View, PictureError> {
    let model = &opened.model;
    let mut view = View::whole(model, picture.size);
    view.parts = picture.parts;
    view.theme = picture.theme;
    view.axis = picture.axis;
    view.page = picture.page;
    view.listing.query.clone_from(&picture.find);
    (view.stack, view.color) = (picture.stack, picture.color);
    view.title = picture.title.clone().unwrap_or_else(|| opened.name.clone());
    view.notices = opened.first_damages(2);
    if let Some(first) = view.notices.first_mut() {
        first.push_str("; what could be read is shown");
    }
    view.notices.extend(opened.origin.sentence());
    if !opened.origin.part.is_empty() {
        view.notices.push(format!("a part of the log: {}", opened.origin.part));
    }
    if let Some(asked) = picture.pool {
        let pools = model.pools.len();
        let at = asked.checked_sub(1).filter(|at| *at < pools);
        let at = at.ok_or(PictureError::NoPool { asked, pools })?;
        view.pool = crate::model::PoolIx::next_of(at);
    }
    view.fit(model);
    if let Some(id) = picture.select {
        let life = model.life_of_id(id).ok_or(PictureError::NoAllocation(id))?;
        view.select_life(model, life);
        let (_, frame) = scene::build(model, &view);
        view.show_in_list(model, &frame);
    }
    select_record(&mut view, model, picture)?;
    Ok(view)
}

/// Selects the record or the free block that these options ask for.
fn select_record(view: &mut View, model: &Model, picture: &Picture) -> Result<(), PictureError> {
    let Some(number) = picture.free.map(|(_, record)| record).or(picture.record) else { return Ok(()) };
    let mut records = (0..model.events.len()).map(EventIx::next_of);
    let event = records.find(|event| model.events.number(*event) == number);
    let event = event.ok_or(PictureError::NoRecord(number))?;
    match picture.free {
        None => view.select_event(model, event),
        Some((address, record)) => {
            let blocks =
                if view.pool.at() < model.pools.len() { model.free_blocks(view.pool, event) } else { Vec::new() };
            let block = blocks.into_iter().find(|block| (block.start..block.end).contains(&address));
            view.selection = Selection::Free(event, block.ok_or(PictureError::NotFree(address, record))?);
        }
    }
    let (_, frame) = scene::build(model, view);
    view.show_in_list(model, &frame);
    Ok(())
}

/// Goes to the finding that these options ask for, if they do: once the log was checked.
///
/// # Errors
/// The finding does not exist.
pub fn go_to_finding(view: &mut View, opened: &Opened, picture: &Picture) -> Result<(), PictureError> {
    let model = &opened.model;
    if let Some(asked) = picture.finding {
        let findings = model.findings.flags().len();
        let at = asked.checked_sub(1).filter(|at| *at < findings);
        let at = FindingIx::next_of(at.ok_or(PictureError::NoFinding { asked, findings })?);
        // Selecting changes how the lists are laid out.
        view.select_finding(model, at);
        let (_, frame) = scene::build(model, view);
        view.go_to_finding(model, &frame, at);
    }
    Ok(())
}

/// Answers what the selection asks.
fn ask(view: &mut View, opened: &Opened) {
    let question = view.question(&opened.model);
    view.answer = question.map(|question| (question, answer::answer(&opened.model, question)));
}

/// The picture of a log.
///
/// # Errors
/// What the options ask for does not exist.
pub fn draw(opened: &Opened, picture: &Picture) -> Result<Scene, PictureError> {
    let mut view = view(opened, picture)?;
    go_to_finding(&mut view, opened, picture)?;
    ask(&mut view, opened);
    Ok(scene::build(&opened.model, &view).0)
}

/// Writes the picture of two logs side by side, each half as wide as the picture is to be; the second shows what stands
/// there in the first. Answers what was damaged in them, a few lines.
///
/// # Errors
/// As [`screenshot`]; or a table is wanted, which two logs do not have in common.
pub fn screenshot_beside(
    logs: [&Path; 2],
    out: &Path,
    picture: &Picture,
    progress: &Progress,
) -> Result<Vec<String>, PictureError> {
    if Form::of(out)? == Form::Csv {
        return Err(PictureError::TwoTables);
    }
    spare(&logs, out)?;
    let size = Size { w: (picture.size.w / 2.0).floor(), ..picture.size };
    let half = Picture { size, ..picture.clone() };
    let opened = [open_checked(logs[0], &picture.part, progress)?, open_checked(logs[1], &picture.part, progress)?];
    let mut one = view(&opened[0], &half)?;
    go_to_finding(&mut one, &opened[0], &half)?;
    // What is asked for by number is asked for of the first.
    let mut other = view(&opened[1], &Picture { select: None, record: None, free: None, pool: None, ..half })?;
    let models = [&opened[0].model, &opened[1].model];
    Link::of(models).follow(models, 0, &one, &mut other);
    let (_, frame) = scene::build(models[1], &other);
    other.show_in_list(models[1], &frame);
    ask(&mut one, &opened[0]);
    ask(&mut other, &opened[1]);
    export_beside([(&opened[0], &one), (&opened[1], &other)], out, picture.scale)?;
    Ok(opened.iter().flat_map(Opened::summary).collect())
}

/// Writes what two views show, side by side, as PNG or SVG by the name's ending.
///
/// # Errors
/// The picture cannot be made or written. Nothing is written then.
pub fn export_beside(shown: [(&Opened, &View); 2], out: &Path, scale: f32) -> Result<(), PictureError> {
    let scene = scene::beside(shown.map(|(opened, view)| scene::build(&opened.model, view).0));
    let bytes = match Form::of(out)? {
        Form::Svg => svg::write(&scene).into_bytes(),
        Form::Png => png::write(&scene, scale).map_err(PictureError::Png)?,
        Form::Csv => return Err(PictureError::TwoTables),
    };
    output::bytes(out, &bytes).map_err(|(path, error)| PictureError::Write(path, error))
}

/// Opens the log at this path and checks it. Both at once, for each reads all of it.
fn open_checked(log: &Path, part: &Part, progress: &Progress) -> Result<Opened, SourceError> {
    let (name, bytes) = (log.display().to_string(), source::load_part(log, part, progress)?);
    std::thread::scope(|threads| {
        let checked = threads.spawn(|| check::read_with(&name, &bytes, Told::Accept, progress));
        let mut opened = source::read_file(log, &bytes, progress)?;
        if let Some(pending) = reach::pending(&opened.model) {
            opened.model.take_pending(pending);
        }
        match checked.join() {
            Ok(report) => opened.model.take_findings(report?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(opened)
    })
}

/// Logs are not written over, by way of a link neither.
fn spare(logs: &[&Path], out: &Path) -> Result<(), PictureError> {
    logs.iter().try_for_each(|log| output::spare(log, out)).map_err(PictureError::Same)
}

/// Writes the picture of a log, a PNG or an SVG by the name's ending. Answers what was damaged in the log, a few lines;
/// the picture shows the rest.
///
/// # Errors
/// The log cannot be read, the options ask for what it does not have, or the picture cannot be written. Nothing is
/// written then.
pub fn screenshot(log: &Path, out: &Path, picture: &Picture, progress: &Progress) -> Result<Vec<String>, PictureError> {
    Form::of(out)?;
    spare(&[log], out)?;
    let opened = open_checked(log, &picture.part, progress)?;
    let _task = progress.begin("drawing", Unit::Nothing, None);
    let mut view = view(&opened, picture)?;
    go_to_finding(&mut view, &opened, picture)?;
    ask(&mut view, &opened);
    export(&opened, &view, out, picture.scale)?;
    Ok(opened.summary())
}

/// Writes what a view shows: its picture as PNG or SVG, or its table as CSV, by the name's ending.
///
/// # Errors
/// The picture cannot be made or written, or what is shown is no table. Nothing is written then.
pub fn export(opened: &Opened, view: &View, out: &Path, scale: f32) -> Result<(), PictureError> {
    let bytes = match Form::of(out)? {
        Form::Svg => svg::write(&scene::build(&opened.model, view).0).into_bytes(),
        Form::Png => png::write(&scene::build(&opened.model, view).0, scale).map_err(PictureError::Png)?,
        Form::Csv => {
            if view.page == Page::Findings {
                let rows = view.notes.rows(&opened.model, &view.listing.query);
                return write(out, &notable::csv(&opened.model, &rows));
            }
            let table = view.page.table().ok_or(PictureError::NoTable(view.page))?;
            table.csv(&opened.model, &view.listing.rows(&opened.model, table))
        }
    };
    write(out, &bytes)
}

fn write(out: &Path, bytes: &[u8]) -> Result<(), PictureError> {
    output::bytes(out, bytes).map_err(|(path, error)| PictureError::Write(path, error))
}
