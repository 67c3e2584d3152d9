//! The window: opens logs, shows what is opened, and hands what the user does to it.

use crate::bars;
use crate::chooser::Chooser;
use crate::command;
use crate::desk::Desk;
use crate::document::{Document, Told};
use crate::failure::{Failure, Outcome};
use crate::following::Following;
use crate::loading::Loading;
use crate::overlay::{self, Around, Overlay};
use crate::paint;
use crate::recent::Recent;
use crate::start;
use crate::theme;
use eframe::egui::{self, Ui};
use std::path::PathBuf;
use weir_viz::cli::{Picture, Sessions};
use weir_viz::scene::Theme;

/// The window's state.
pub(crate) struct App {
    /// How logs are to look that are opened from here on.
    pub(crate) picture: Picture,
    pub(crate) desk: Desk,
    pub(crate) loading: Option<Loading>,
    /// What is to be shown beside that.
    pub(crate) next: Option<PathBuf>,
    pub(crate) following: Option<Following>,
    pub(crate) failure: Option<Failure>,
    pub(crate) recent: Recent,
    pub(crate) overlay: Overlay,
    /// What the file that is being read was chosen in: it comes back if that cannot be shown.
    pub(crate) chooser: Option<Chooser>,
    /// What the last command had to say.
    pub(crate) said: String,
    /// The search box is to be typed into.
    search: bool,
    /// The search box had the keys in the last frame.
    searching: bool,
    /// The colours of the last frame.
    pub(crate) theme: Theme,
    pub(crate) outcome: Outcome,
    pub(crate) sessions: Sessions,
}

impl App {
    /// A window without a log.
    pub(crate) fn new(picture: Picture, sessions: Sessions, recent: Recent, outcome: Outcome) -> Self {
        Self {
            picture,
            desk: Desk::default(),
            next: None,
            loading: None,
            following: None,
            failure: None,
            recent,
            overlay: Overlay::None,
            chooser: None,
            said: String::new(),
            search: false,
            searching: false,
            theme: Theme::default(),
            outcome,
            sessions,
        }
    }

    /// A window on this log.
    #[cfg(any(test, target_os = "linux"))]
    pub(crate) fn with(document: Document, recent: Recent) -> Self {
        let picture = document.picture.clone();
        let mut app = Self::new(picture, Sessions::Ignored, recent, Outcome::default());
        app.desk.put(document);
        app
    }

    /// What is shown.
    pub(crate) fn document(&self) -> Option<&Document> {
        self.desk.document()
    }

    /// What is shown.
    pub(crate) fn document_mut(&mut self) -> Option<&mut Document> {
        self.desk.document_mut()
    }

    /// What the last command had to say.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Says this from now on.
    pub(crate) fn say(&mut self, words: String) {
        self.said = words;
    }

    /// The search box is to be typed into.
    pub(crate) const fn search(&mut self) {
        self.search = true;
    }

    /// Whether the search box is to be typed into; asked once.
    pub(crate) const fn take_search(&mut self) -> bool {
        std::mem::replace(&mut self.search, false)
    }

    /// Whether the search box has the keys.
    pub(crate) const fn note_searching(&mut self, searching: bool) {
        self.searching = searching;
    }

    /// Empties the search box, if it has the keys. Answers whether there was something in it.
    pub(crate) fn clear_search(&mut self) -> bool {
        let searching = self.searching;
        let Some(document) = self.desk.document_mut().filter(|_| searching) else { return false };
        document.view.listing.clear()
    }

    /// One frame.
    pub(crate) fn show(&mut self, ui: &mut Ui) {
        self.take_loaded(ui.ctx());
        self.take_grown(ui.ctx());
        self.take_dropped(ui.ctx());
        self.desk.begin_frame(ui);
        let typing = ui.ctx().egui_wants_keyboard_input();
        for does in ui.input(|i| command::pressed(i, typing)) {
            if self.overlay == Overlay::None || does.is_of_sheets() {
                self.perform(does, ui.ctx());
            }
        }
        self.theme = self.theme_now(ui);
        theme::apply(ui, self.theme);
        self.panels(ui);
        let around = Around { logs: self.recent.logs(), document: self.desk.document() };
        if let Some(act) = self.overlay.show(ui.ctx(), around) {
            self.act(act, ui.ctx());
            ui.ctx().request_repaint();
        }
        self.notes(ui);
        self.desk.end_frame(ui);
        if ui.input(|i| i.viewport().close_requested()) {
            // Before the window is gone: what comes then need not end well.
            self.desk.write_sessions();
        }
    }

    fn theme_now(&self, ui: &Ui) -> Theme {
        match self.desk.document() {
            Some(document) => document.view.theme,
            None if self.picture.follows_system => theme::of_system(ui),
            None => self.picture.theme,
        }
    }

    fn panels(&mut self, ui: &mut Ui) {
        let fill = paint::color(self.theme.palette().ground);
        let middle = egui::CentralPanel::default().frame(egui::Frame::new().fill(fill));
        if self.desk.len() == 0 {
            let failure = self.failure.as_ref();
            let waiting = self.following.as_ref().map(Following::waiting);
            let act = middle.show(ui, |ui| start::show(ui, failure, waiting, self.recent.logs())).inner;
            if let Some(act) = act {
                self.act(act, ui.ctx());
            }
            return;
        }
        let bar = egui::Frame::new().fill(fill).inner_margin(egui::Margin::symmetric(20, 4));
        egui::Panel::bottom("bar").frame(bar).exact_size(bars::HEIGHT).show(ui, |ui| self.bars(ui));
        let told = if self.is_covered() { Told::Nothing } else { Told::Hover };
        middle.show(ui, |ui| self.desk.canvases(ui, told));
    }

    /// Whether something lies over the picture: then the picture tells nothing.
    fn is_covered(&self) -> bool {
        self.overlay != Overlay::None || self.loading.is_some() || self.failure.is_some()
    }

    /// What lies over the picture for a while: what went wrong, what is being read, what will be dropped.
    fn notes(&mut self, ui: &Ui) {
        if let Some(failure) = self.failure.as_ref().filter(|_| self.desk.len() > 0) {
            let close = overlay::window("What went wrong").show(ui.ctx(), |ui| {
                ui.set_max_width(620.0);
                start::failure(ui, failure);
                ui.button("Close (Esc)").clicked()
            });
            if close.and_then(|shown| shown.inner) == Some(true) {
                self.failure = None;
            }
        }
        if let Some(loading) = &self.loading {
            let stop = overlay::window("Reading").show(ui.ctx(), |ui| loading.show(ui));
            if stop.and_then(|shown| shown.inner) == Some(true) {
                self.stop_loading();
            }
        }
        if ui.input(|i| !i.raw.hovered_files.is_empty()) {
            overlay::window("Open").show(ui.ctx(), |ui| ui.label("Drop the log to open it"));
        }
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.show(ui);
    }
}
