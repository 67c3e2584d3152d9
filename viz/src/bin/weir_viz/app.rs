//! The window: paints the scene of its view, and hands what the user does to the view.

use crate::check::Check;
use crate::input;
use crate::paint::{self, Piece};
use eframe::egui::{self, Sense, Ui, Vec2};
use weir_viz::cli::{self, Picture, PictureError};
use weir_viz::model::Axis;
use weir_viz::scene::{self, Frame, Input, Page, Scene, Selection, Size, Theme, View, pos};
use weir_viz::source::{Opened, SourceError};

/// Height of the bar with the buttons.
pub(crate) const BAR: f32 = 32.0;

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
    },
}

/// A log, what is being looked at, and the picture of that.
pub(crate) struct LogApp {
    opened: Opened,
    view: View,
    drawn: Option<Drawn>,
    check: Check,
    picture: Picture,
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
        Ok(Self::Log(Box::new(LogApp { opened, view, drawn: None, check, picture })))
    }

    /// Begins to check the log, beside the window: the first picture does not wait for it.
    pub(crate) fn start_check(&mut self, context: &egui::Context) {
        if let Self::Log(app) = self {
            app.check.start(&app.opened.name, context);
        }
    }

    /// A window that says why there is nothing to see.
    pub(crate) fn failed(error: SourceError, picture: &Picture) -> Self {
        Self::Failed { error, theme: picture.theme }
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
            Self::Failed { error, theme } => failed(ui, error, *theme),
        }
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.show(ui);
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
        style(ui, self.view.theme);
        let fill = paint::color(self.view.theme.palette().ground);
        let bar = egui::Frame::new().fill(fill).inner_margin(egui::Margin::symmetric(20, 4));
        egui::Panel::bottom("bar").frame(bar).exact_size(BAR).show(ui, |ui| self.bar(ui));
        egui::CentralPanel::default().frame(egui::Frame::new().fill(fill)).show(ui, |ui| self.canvas(ui));
    }

    fn bar(&mut self, ui: &mut Ui) {
        let mut input = None;
        ui.horizontal_centered(|ui| {
            let axis = match self.view.axis {
                Axis::Record => "Along x: records (T)",
                Axis::Time => "Along x: time (T)",
            };
            for page in Page::ALL {
                if ui.selectable_label(self.view.page == *page, page.title()).clicked() {
                    input = Some(Input::Show(*page));
                }
            }
            ui.separator();
            let mut button = |ui: &mut Ui, text: &str, then: Input| {
                if ui.button(text).clicked() {
                    input = Some(then);
                }
            };
            button(ui, axis, Input::SwitchAxis);
            if self.opened.model.pools.len() > 1 {
                button(ui, "Next pool (P)", Input::NextPool);
            }
            button(ui, "Light or dark (L)", Input::SwitchTheme);
            button(ui, "Show all (0)", Input::Fit);
            if !self.opened.model.findings.flags().is_empty() {
                button(ui, "Next finding (N)", Input::StepFinding(1));
            }
            if self.view.selection != Selection::Nothing {
                button(ui, "Show selection (F)", Input::FitSelection);
                button(ui, "Clear (Esc)", Input::Clear);
            }
            ui.weak(self.check.words(self.opened.model.findings.total()));
            ui.weak("wheel: zoom · Alt+wheel: zoom addresses · drag: move · click: details · double click: show all");
        });
        if let Some(input) = input {
            self.apply(&[input]);
        }
    }

    fn canvas(&mut self, ui: &mut Ui) {
        let (response, painter) = canvas(ui, self.view.theme);
        self.view.size = size_of(&response);
        let corner = response.rect.min.to_vec2();
        self.draw();
        let Some(drawn) = &self.drawn else { return };
        let pointer = input::Pointer::of(&response);
        let inputs = ui.input(|i| {
            let mut inputs = pointer.inputs(i, &self.view, &drawn.frame, corner);
            inputs.extend(input::keys(i, &drawn.frame));
            inputs
        });
        self.apply(&inputs);
        self.draw();
        self.paint(&painter, corner);
        if let (Some(at), Some(drawn)) = (response.hover_pos(), &self.drawn) {
            let at = pos(at.x - corner.x, at.y - corner.y);
            let over = scene::hover(&self.opened.model, &self.view, &drawn.frame, at);
            paint::paint(&painter, &paint::pieces(&over, corner), corner);
        }
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
