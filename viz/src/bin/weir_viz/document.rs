//! A log in the window: what is being looked at of it, and the picture of that.

use crate::asking::Asking;
use crate::check::Check;
use crate::command;
use crate::input;
use crate::loading::Loaded;
use crate::paint::{self, Piece};
use crate::theme;
use eframe::egui::{self, Context, Sense, Ui, Vec2};
use std::path::PathBuf;
use std::sync::Arc;
use weir_viz::check::Report;
use weir_viz::cli::{self, Picture, PictureError};
use weir_viz::model::{EventIx, Model};
use weir_viz::scene::{self, Answer, Frame, History, Input, Parts, Pos, Scene, Size, Theme, View, pos};
use weir_viz::search::QueryError;
use weir_viz::session::{Look, Session};
use weir_viz::source::Opened;

/// A log, what is being looked at, and the picture of that.
pub(crate) struct Document {
    pub(crate) opened: Arc<Opened>,
    pub(crate) view: View,
    pub(crate) check: Check,
    /// How it was asked to look.
    pub(crate) picture: Picture,
    /// Its file; what is written is named after it, and lies beside it.
    pub(crate) file: PathBuf,
    pub(crate) history: History,
    drawn: Option<Drawn>,
    /// What is worked out beside the window.
    pub(crate) asking: Asking,
    /// What the check found, until it can be put into the log.
    report: Option<Report>,
    /// Where the pointer is on the picture.
    pointer: Option<Pos>,
    /// The part of a row that the wheel has turned over a list.
    wheel: f64,
    session: Option<Kept>,
    /// The view as the frame began.
    before: View,
}

/// The session, and since when something is to be written to it.
struct Kept {
    session: Session,
    since: Option<f64>,
}

/// So many seconds nothing changes before the session is written.
const CALM: f64 = 1.0;

/// What a picture tells of the place under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// What is there.
    Hover,
    /// Nothing, as something lies over it.
    Nothing,
}

/// A picture, kept until the view changes.
struct Drawn {
    view: View,
    /// The log is another one than that of the picture.
    stale: bool,
    scene: Scene,
    frame: Frame,
    /// It in words, for who does not see it.
    words: String,
    /// The scene for egui, with the canvas's corner that it was made for.
    pieces: Option<(Vec2, Vec<Piece>)>,
}

impl Document {
    /// A log that was read from a file, which is not checked yet.
    pub(crate) fn new(loaded: Loaded, file: PathBuf, picture: Picture) -> Result<Self, PictureError> {
        let view = cli::view(&loaded.opened, &picture)?;
        Ok(Self {
            opened: Arc::new(loaded.opened),
            before: view.clone(),
            view,
            check: Check::Due(loaded.bytes),
            picture,
            file,
            history: History::default(),
            drawn: None,
            asking: Asking::default(),
            report: None,
            pointer: None,
            wheel: 0.0,
            session: None,
        })
    }

    /// The log as it has grown. Its view stays where it is; what was shown whole, or to its end, is so again.
    pub(crate) fn grow(&mut self, opened: Opened) -> Result<(), PictureError> {
        let mut view = cli::view(&opened, &Picture { title: self.picture.title.clone(), ..Picture::default() })?;
        view.size = self.view.size;
        view.look_as(&opened.model, &self.view, &self.opened.model);
        (self.view, self.opened) = (view, Arc::new(opened));
        self.redraw();
        self.asking.grow();
        Ok(())
    }

    /// The log.
    pub(crate) fn model(&self) -> &Model {
        &self.opened.model
    }

    /// Looks at the log as its session says, and keeps it. Answers what is wrong with the session.
    pub(crate) fn keep_session(&mut self) -> Option<String> {
        // A part of a log has other records at its beginning.
        if !self.picture.part.is_whole() {
            return None;
        }
        let mut session = Session::beside(&self.file);
        let mut look = self.look();
        let wrong = session.read(&mut look, &self.opened.model, &self.picture.given);
        (self.view, self.picture.follows_system) = (look.view, look.follows_system);
        self.session = Some(Kept { session, since: None });
        wrong
    }

    fn look(&self) -> Look {
        Look { view: self.view.clone(), follows_system: self.picture.follows_system }
    }

    /// Writes the session, if there is something to write. Where that cannot be, as in a folder that cannot be written to,
    /// nothing is kept.
    pub(crate) fn write_session(&mut self) {
        let look = self.look();
        if let Some(kept) = &mut self.session
            && kept.since.take().is_some()
        {
            let _ = kept.session.write(&look, &self.opened.model);
        }
    }

    /// The record that a mark is set at: the selected one, or the one under the pointer.
    pub(crate) fn cursor(&self) -> Option<EventIx> {
        self.view.selected_event(self.model()).or_else(|| {
            let frame = &self.drawn.as_ref()?.frame;
            let at = self.pointer.filter(|at| frame.is_plot(*at))?;
            frame.event_at(self.model(), &self.view, at)
        })
    }

    /// Goes to a record.
    pub(crate) fn go_to(&mut self, event: EventIx) {
        if let Some(drawn) = &self.drawn {
            self.view.go_to(&self.opened.model, &drawn.frame, event);
        }
    }

    /// Looks at this log as another document does at its own.
    pub(crate) fn look_as(&mut self, old: &Self) {
        self.view.look_as(&self.opened.model, &old.view, &old.opened.model);
        self.history = old.history.clone();
    }

    /// Begins to check the log, beside the window: the first picture does not wait for it.
    pub(crate) fn start_check(&mut self, context: &Context) {
        self.check.start(&self.opened.name, context);
    }

    /// Takes over what the check found, once that is there.
    fn take_findings(&mut self) {
        self.report = self.report.take().or_else(|| self.check.take());
        // While an answer is being worked out, the log is not changed.
        let (Some(opened), true) = (Arc::get_mut(&mut self.opened), self.report.is_some()) else {
            return;
        };
        opened.model.take_findings(self.report.take().unwrap_or_default());
        self.redraw();
        if let Err(error) = cli::go_to_finding(&mut self.view, &self.opened, &self.picture) {
            self.view.notices.push(error.to_string());
        }
    }

    /// A frame begins: what changes from here on is one step.
    pub(crate) fn begin_frame(&mut self, ui: &Ui) {
        self.take_findings();
        if self.drawn.is_some() {
            self.asking.rest(&self.opened, ui.ctx());
        }
        if self.report.is_none() {
            self.asking.step(&self.opened, &mut self.view, ui.ctx());
            self.asking.notes(&self.opened, &mut self.view, ui.ctx());
        }
        if self.check.is_over() && self.report.is_none() && self.asking.pending(&self.opened, ui.ctx()) {
            self.redraw();
        }
        if self.picture.follows_system {
            self.view.theme = theme::of_system(ui);
        }
        self.before = self.view.clone();
    }

    /// The frame's changes are done.
    pub(crate) fn end_frame(&mut self, ui: &Ui) {
        let seconds = ui.input(|i| i.time);
        self.history.note(&self.before, &self.view, seconds);
        let changed = self.is_changed();
        let Some(kept) = &mut self.session else { return };
        if changed {
            kept.since = Some(seconds);
        }
        let Some(rest) = kept.since.map(|since| since + CALM - seconds) else { return };
        if rest > 0.0 {
            // Asked for again until it is over: a frame may come a little before its time.
            ui.ctx().request_repaint_after_secs(rest as f32);
        } else {
            self.write_session();
        }
    }

    /// Does this to the view.
    pub(crate) fn apply(&mut self, input: Input) {
        if input == Input::SwitchTheme {
            // From now on as the user wants it.
            self.picture.follows_system = false;
        }
        let Some(drawn) = &self.drawn else { return };
        self.view.apply(&self.opened.model, &drawn.frame, input);
    }

    /// Scrolls the lists to what is selected.
    pub(crate) fn show_in_list(&mut self) {
        if let Some(drawn) = &self.drawn {
            self.view.show_in_list(&self.opened.model, &drawn.frame);
        }
    }

    /// Steps by what the list shows.
    pub(crate) fn page(&mut self, by: i64) {
        if let Some(drawn) = &self.drawn {
            self.apply(command::page_of(&drawn.frame, by));
        }
    }

    /// Goes to the next (1) or previous (-1) match. What makes no sense is told by the table itself where there is one.
    pub(crate) fn find(&mut self, by: i64) -> Result<(), String> {
        let Some(drawn) = &self.drawn else { return Ok(()) };
        if self.table_tells().is_some() {
            return Ok(());
        }
        self.view.find(&self.opened.model, &drawn.frame, by)
    }

    /// Why what is looked for makes no sense, where a table says so.
    fn table_tells(&self) -> Option<QueryError> {
        self.view.page.table().and_then(|_| self.view.listing.wrong())
    }

    /// Back to where the view was.
    pub(crate) fn undo(&mut self) {
        self.history.undo(&mut self.view);
    }

    /// A name beside the log that is not taken.
    pub(crate) fn free_name(&self, ending: &str, what: &str) -> Option<PathBuf> {
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let page = if what.is_empty() { self.view.page.name() } else { what };
        let named = |n: u32| self.file.with_file_name(format!("{stem}-{page}-{n}.{ending}"));
        (1..10_000).map(named).find(|out| !out.exists())
    }

    /// Whether the frame changed what is looked at.
    pub(crate) fn is_changed(&self) -> bool {
        // The window's size is no change.
        self.before != View { size: self.before.size, parts: self.before.parts, ..self.view.clone() }
    }

    /// With the lists at the right, if they were asked for, or without.
    pub(crate) fn lists(&mut self, wanted: bool) {
        self.view.parts = if wanted { self.picture.parts } else { Parts::Panels };
    }

    /// The picture, and what the pointer does on it. Answers whether that did something.
    pub(crate) fn canvas(&mut self, ui: &mut Ui, told: Told) -> bool {
        let (response, painter) = canvas(ui, self.view.theme);
        self.view.size = Size { w: response.rect.width(), h: response.rect.height() };
        let corner = response.rect.min.to_vec2();
        self.draw(ui.ctx());
        let Some(drawn) = &self.drawn else { return false };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &drawn.words));
        self.pointer = response.hover_pos().map(|at| pos(at.x - corner.x, at.y - corner.y));
        let pointer = input::Pointer::of(&response);
        let inputs = ui.input(|i| pointer.inputs(i, (&self.view, &drawn.frame), corner, &mut self.wheel));
        let used = !inputs.is_empty();
        inputs.into_iter().for_each(|input| self.apply(input));
        self.draw(ui.ctx());
        self.paint(&painter, corner);
        if let (Some(at), Some(drawn), Told::Hover) = (self.pointer, &self.drawn, told) {
            let mut over = scene::hover(&self.opened.model, &drawn.view, &drawn.frame, at);
            if over.is_empty() {
                over = scene::meaning(&drawn.scene, &drawn.view, &drawn.frame, at);
            }
            paint::paint(&painter, &paint::pieces(&over, corner), corner);
        }
        used
    }

    /// A picture for who does not see it: the page, the range, what is selected.
    fn in_words(&self, view: &View) -> String {
        let model = &self.opened.model;
        let first = model.events.first_from(view.axis, view.x.from).0;
        let past = model.events.first_from(view.axis, view.x.to).0;
        let selected = scene::details(model, view.selection).into_iter().take(3).map(|line| line.value);
        let selected: Vec<String> = selected.collect();
        let selected = if selected.is_empty() { "nothing".to_owned() } else { selected.join(", ") };
        let told = match &view.answer {
            Some((_, Answer::Told(told))) => told.lines.first().map(|line| format!("; {}", line.value)),
            Some((_, Answer::Working)) | None => None,
        };
        let wrong = self.table_tells().map(|error| format!("; {error}"));
        format!(
            "{}: {} of {} records in sight; selected: {selected}{}{}",
            view.page.title(),
            past - first,
            model.events.len(),
            told.unwrap_or_default(),
            wrong.unwrap_or_default()
        )
    }

    /// The view of the picture.
    #[cfg(all(test, feature = "drive"))]
    pub(crate) fn shown(&self) -> Option<&View> {
        self.drawn.as_ref().map(|drawn| &drawn.view)
    }

    /// The picture is no longer that of the log.
    fn redraw(&mut self) {
        self.drawn.iter_mut().for_each(|drawn| drawn.stale = true);
    }

    /// Lays the scene out again if the view is another than before. What needs a walk over a long log is worked out beside
    /// the window: until then, the last picture stays, or the first one is without it.
    fn draw(&mut self, context: &Context) {
        if self.drawn.as_ref().is_some_and(|d| d.view == self.view && !d.stale) {
            return;
        }
        self.view.keep_listing(&self.opened.model);
        let view = match (self.asking.is_ready(&self.opened, &self.view, context), &self.drawn) {
            (true, _) => self.view.clone(),
            (false, Some(_)) => return,
            (false, None) => self.view.at_once(),
        };
        let (scene, frame) = scene::build(&self.opened.model, &view);
        let words = self.in_words(&view);
        self.drawn = Some(Drawn { view, stale: false, scene, frame, words, pieces: None });
    }

    fn paint(&mut self, painter: &egui::Painter, corner: Vec2) {
        let Some(drawn) = &mut self.drawn else { return };
        if drawn.pieces.as_ref().is_none_or(|p| p.0 != corner) {
            drawn.pieces = Some((corner, paint::pieces(&drawn.scene.shapes, corner)));
        }
        if let Some((_, pieces)) = &drawn.pieces {
            paint::paint(painter, pieces, corner);
        }
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        self.write_session();
    }
}

fn canvas(ui: &mut Ui, theme: Theme) -> (egui::Response, egui::Painter) {
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    painter.rect_filled(response.rect, 0.0, paint::color(theme.palette().ground));
    (response, painter)
}
