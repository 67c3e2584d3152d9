//! The window: paints the scene of its view, and hands what the user does to the view.

use crate::check::Check;
use crate::command::{self, Does};
use crate::input;
use crate::overlay::Overlay;
use crate::paint::{self, Piece};
use eframe::egui::{self, Sense, Ui, Vec2};
use std::path::{Path, PathBuf};
use weir_viz::cli::{self, Picture, PictureError};
use weir_viz::model::Axis;
use weir_viz::scene::{self, Frame, History, Input, Page, Scene, Selection, Size, Theme, View, pos};
use weir_viz::source::{Opened, SourceError};

/// Height of the bars with the buttons.
pub(crate) const BAR: f32 = 64.0;
/// Width of the search box.
const SEARCH: f32 = 220.0;

/// The window's state.
pub(crate) enum App {
    /// A log that could be read.
    Log(Box<LogApp>),
    /// None.
    Failed {
        /// Why.
        error: SourceError,
        /// The colours.
        theme: Theme,
        /// They are the system's instead.
        follows_system: bool,
    },
}

/// A log, what is being looked at, and the picture of that.
pub(crate) struct LogApp {
    opened: Opened,
    view: View,
    drawn: Option<Drawn>,
    check: Check,
    picture: Picture,
    history: History,
    overlay: Overlay,
    /// What the last command had to say.
    said: String,
    /// The search box is to be typed into.
    search: bool,
    /// What is written is named after this file, and lies beside it.
    file: PathBuf,
}

/// A picture, kept until the view changes.
struct Drawn {
    view: View,
    scene: Scene,
    frame: Frame,
    /// The scene for egui, with the canvas's corner that it was made for.
    pieces: Option<(Vec2, Vec<Piece>)>,
}

impl App {
    /// A window on a log and its bytes, which are not checked yet.
    pub(crate) fn new(opened: Opened, bytes: Vec<u8>, picture: &Picture) -> Result<Self, PictureError> {
        let view = cli::view(&opened, picture)?;
        let (check, picture) = (Check::Due(bytes), picture.clone());
        let file = PathBuf::from(&opened.name);
        Ok(Self::Log(Box::new(LogApp {
            opened,
            view,
            drawn: None,
            check,
            picture,
            history: History::default(),
            overlay: Overlay::None,
            said: String::new(),
            search: false,
            file,
        })))
    }

    /// Pictures and tables are written beside this file.
    pub(crate) fn write_beside(&mut self, file: &Path) {
        if let Self::Log(app) = self {
            app.file = file.to_owned();
        }
    }

    /// Begins to check the log, beside the window: the first picture does not wait for it.
    pub(crate) fn start_check(&mut self, context: &egui::Context) {
        if let Self::Log(app) = self {
            app.check.start(&app.opened.name, context);
        }
    }

    /// A window that says why there is nothing to see.
    pub(crate) fn failed(error: SourceError, picture: &Picture) -> Self {
        Self::Failed { error, theme: picture.theme, follows_system: picture.follows_system }
    }

    /// The log that is shown.
    #[cfg(target_os = "linux")]
    pub(crate) fn log(&self) -> Option<&weir_viz::model::Model> {
        match self {
            Self::Log(app) => Some(&app.opened.model),
            Self::Failed { .. } => None,
        }
    }

    /// Shows a page, as its button does.
    #[cfg(target_os = "linux")]
    pub(crate) fn show_page(&mut self, page: Page) {
        if let Self::Log(app) = self {
            app.perform(Does::View(Input::Show(page)));
        }
    }

    /// Waits until the check is over.
    #[cfg(test)]
    pub(crate) fn wait_for_check(&mut self) {
        if let Self::Log(app) = self {
            app.check.wait();
        }
    }

    /// One frame.
    pub(crate) fn show(&mut self, ui: &mut Ui) {
        match self {
            Self::Log(app) => app.show(ui),
            Self::Failed { error, theme, follows_system } => {
                failed(ui, error, if *follows_system { system_theme(ui) } else { *theme });
            }
        }
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.show(ui);
    }
}

/// What the desktop prefers; light where it does not say.
fn system_theme(ui: &Ui) -> Theme {
    match ui.ctx().system_theme() {
        Some(egui::Theme::Dark) => Theme::Dark,
        Some(egui::Theme::Light) | None => Theme::Light,
    }
}

fn style(ui: &Ui, theme: Theme) {
    let visuals = match theme {
        Theme::Light => egui::Visuals::light(),
        Theme::Dark => egui::Visuals::dark(),
    };
    ui.ctx().set_visuals(visuals);
}

fn canvas(ui: &mut Ui, theme: Theme) -> (egui::Response, egui::Painter) {
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    painter.rect_filled(response.rect, 0.0, paint::color(theme.palette().ground));
    (response, painter)
}

fn size_of(response: &egui::Response) -> Size {
    Size { w: response.rect.width(), h: response.rect.height() }
}

fn failed(ui: &mut Ui, error: &SourceError, theme: Theme) {
    style(ui, theme);
    let fill = paint::color(theme.palette().ground);
    egui::CentralPanel::default().frame(egui::Frame::new().fill(fill)).show(ui, |ui| {
        let (response, painter) = canvas(ui, theme);
        let lines = [error.what.clone(), error.advice.clone()];
        let heading = format!("Cannot show {}", error.name);
        let scene = scene::message(size_of(&response), theme, &heading, &lines);
        let corner = response.rect.min.to_vec2();
        paint::paint(&painter, &paint::pieces(&scene.shapes, corner), corner);
    });
}

impl LogApp {
    /// What is being looked at.
    #[cfg(test)]
    pub(crate) const fn view(&self) -> &View {
        &self.view
    }

    /// The log.
    #[cfg(test)]
    pub(crate) const fn model(&self) -> &weir_viz::model::Model {
        &self.opened.model
    }

    /// Takes over what the check found, once that is there.
    fn take_findings(&mut self) {
        let Some(report) = self.check.take() else {
            return;
        };
        self.opened.model.take_findings(report);
        self.drawn = None;
        if let Err(error) = cli::go_to_finding(&mut self.view, &self.opened, &self.picture) {
            self.view.notices.push(error.to_string());
        }
    }

    fn show(&mut self, ui: &mut Ui) {
        self.take_findings();
        if self.picture.follows_system {
            self.view.theme = system_theme(ui);
        }
        let typing = ui.ctx().egui_wants_keyboard_input();
        let before = self.view.clone();
        for does in ui.input(|i| command::pressed(i, typing)) {
            self.perform(does);
        }
        style(ui, self.view.theme);
        let fill = paint::color(self.view.theme.palette().ground);
        let bar = egui::Frame::new().fill(fill).inner_margin(egui::Margin::symmetric(20, 4));
        egui::Panel::bottom("bar").frame(bar).exact_size(BAR).show(ui, |ui| self.bars(ui));
        egui::CentralPanel::default().frame(egui::Frame::new().fill(fill)).show(ui, |ui| self.canvas(ui));
        if let Some(does) = self.overlay.show(ui.ctx()) {
            self.perform(does);
            ui.ctx().request_repaint();
        }
        self.history.note(&before, &self.view, ui.input(|i| i.time));
    }

    /// Does what a command says.
    fn perform(&mut self, does: Does) {
        self.said.clear();
        match does {
            Does::View(input) => {
                if input == Input::SwitchTheme {
                    // From now on as the user wants it.
                    self.picture.follows_system = false;
                }
                self.apply(&[input]);
            }
            Does::Page(by) => {
                if let Some(drawn) = &self.drawn {
                    self.apply(&[command::page_of(&drawn.frame, by)]);
                }
            }
            Does::Search => self.search = true,
            Does::Find(by) => self.find(by),
            Does::Undo => self.history.undo(&mut self.view),
            Does::Escape if self.overlay != Overlay::None => self.overlay = Overlay::None,
            Does::Escape => self.apply(&[Input::Clear]),
            Does::Palette => self.toggle(Overlay::Palette(String::new())),
            Does::Keys => self.toggle(Overlay::Keys),
            Does::Export(ending) => self.export(ending),
        }
    }

    fn toggle(&mut self, overlay: Overlay) {
        let is_open = std::mem::discriminant(&self.overlay) == std::mem::discriminant(&overlay);
        self.overlay = if is_open { Overlay::None } else { overlay };
    }

    fn find(&mut self, by: i64) {
        let Some(drawn) = &self.drawn else { return };
        if let Err(error) = self.view.find(&self.opened.model, &drawn.frame, by) {
            self.said = error;
        }
    }

    /// Writes what is shown beside the log, under a name that is not taken.
    fn export(&mut self, ending: &str) {
        let page = self.view.page.name();
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let named = |n: u32| self.file.with_file_name(format!("{stem}-{page}-{n}.{ending}"));
        let Some(out) = (1..10_000).map(named).find(|out| !out.exists()) else {
            self.said = format!("every name from {} on is taken", named(1).display());
            return;
        };
        self.said = match cli::export(&self.opened, &self.view, &out, self.picture.scale) {
            Ok(()) => format!("wrote {}", out.display()),
            Err(error) => error.to_string(),
        };
    }

    fn bars(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            for page in Page::ALL {
                if ui.selectable_label(self.view.page == *page, page.title()).clicked() {
                    self.perform(Does::View(Input::Show(*page)));
                }
            }
            ui.separator();
            self.search_box(ui);
            ui.label(&self.said);
        });
        ui.horizontal(|ui| self.bar(ui));
    }

    fn search_box(&mut self, ui: &mut Ui) {
        let label = ui.label("Find");
        let hint = "address, #record, label, >2MiB, stream:1";
        let edit = egui::TextEdit::singleline(&mut self.view.listing.query).desired_width(SEARCH).hint_text(hint);
        let edit = ui.add(edit).labelled_by(label.id);
        if std::mem::take(&mut self.search) {
            edit.request_focus();
        }
        if edit.changed() {
            self.view.listing.top = 0;
            self.said.clear();
        }
        if edit.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter)) {
            self.perform(Does::Find(1));
            // Enter again goes on to the next.
            self.search = true;
        }
    }

    fn bar(&mut self, ui: &mut Ui) {
        let mut chosen = None;
        let axis = match self.view.axis {
            Axis::Record => "Along x: records (T)",
            Axis::Time => "Along x: time (T)",
        };
        let mut button = |ui: &mut Ui, text: &str, does: Does| {
            if ui.button(text).clicked() {
                chosen = Some(does);
            }
        };
        button(ui, axis, Does::View(Input::SwitchAxis));
        if self.opened.model.pools.len() > 1 {
            button(ui, "Next pool (P)", Does::View(Input::NextPool));
        }
        button(ui, "Light or dark (L)", Does::View(Input::SwitchTheme));
        button(ui, "Show all (0)", Does::View(Input::Fit));
        if !self.history.is_empty() {
            button(ui, "Back (Backspace)", Does::Undo);
        }
        if !self.opened.model.findings.flags().is_empty() {
            button(ui, "Next finding (N)", Does::View(Input::StepFinding(1)));
        }
        if self.view.selection != Selection::Nothing {
            button(ui, "Show selection (F)", Does::View(Input::FitSelection));
            button(ui, "Clear (Esc)", Does::Escape);
        }
        button(ui, "Commands (Ctrl+P)", Does::Palette);
        button(ui, "Keys (?)", Does::Keys);
        ui.weak(self.check.words(self.opened.model.findings.total()));
        if let Some(does) = chosen {
            self.perform(does);
        }
    }

    fn canvas(&mut self, ui: &mut Ui) {
        let (response, painter) = canvas(ui, self.view.theme);
        let words = self.in_words();
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &words));
        self.view.size = size_of(&response);
        let corner = response.rect.min.to_vec2();
        self.draw();
        let Some(drawn) = &self.drawn else { return };
        let pointer = input::Pointer::of(&response);
        let inputs = ui.input(|i| pointer.inputs(i, &self.view, &drawn.frame, corner));
        self.apply(&inputs);
        self.draw();
        self.paint(&painter, corner);
        if let (Some(at), Some(drawn)) = (response.hover_pos(), &self.drawn) {
            let at = pos(at.x - corner.x, at.y - corner.y);
            let over = scene::hover(&self.opened.model, &self.view, &drawn.frame, at);
            paint::paint(&painter, &paint::pieces(&over, corner), corner);
        }
    }

    /// The picture for who does not see it: the page, the range, what is selected.
    fn in_words(&self) -> String {
        let (model, view) = (&self.opened.model, &self.view);
        let first = model.events.first_from(view.axis, view.x.from).0;
        let past = model.events.first_from(view.axis, view.x.to).0;
        let selected = scene::details(model, view.selection).into_iter().take(3).map(|line| line.value);
        let selected: Vec<String> = selected.collect();
        let selected = if selected.is_empty() { "nothing".to_owned() } else { selected.join(", ") };
        format!(
            "{}: {} of {} records in sight; selected: {selected}",
            view.page.title(),
            past - first,
            model.events.len()
        )
    }

    fn apply(&mut self, inputs: &[Input]) {
        let Some(drawn) = &self.drawn else { return };
        for input in inputs {
            self.view.apply(&self.opened.model, &drawn.frame, *input);
        }
    }

    /// Lays the scene out again if the view is another than before.
    fn draw(&mut self) {
        if self.drawn.as_ref().is_some_and(|d| d.view == self.view) {
            return;
        }
        self.view.keep_listing(&self.opened.model);
        let (scene, frame) = scene::build(&self.opened.model, &self.view);
        self.drawn = Some(Drawn { view: self.view.clone(), scene, frame, pieces: None });
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
