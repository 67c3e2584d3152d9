//! What lies over the picture: the palette of all commands, the sheet of keys, and what a file is chosen in.

use crate::chooser::Chooser;
use crate::command::{COMMANDS, Command, Does};
use crate::document::Document;
use crate::loading::Purpose;
use crate::marks::{self, Naming};
use eframe::egui::{self, Align2, Context, Key, TextEdit, Ui, vec2};
use std::path::{Path, PathBuf};
use weir_viz::model::EventIx;

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// A command.
    Does(Does),
    /// A file to open.
    Open(PathBuf, Purpose),
    /// A record's name; empty: none.
    SetMark(EventIx, String),
    /// A record to go to.
    GoTo(EventIx),
}

/// What the lists are of.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// Logs that were opened before.
    pub(crate) logs: &'a [PathBuf],
    /// The log, if one is open.
    pub(crate) document: Option<&'a Document>,
}

/// Which one is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// None.
    #[default]
    None,
    /// All commands, with what was typed to find one.
    Palette(String),
    /// The keys.
    Keys,
    /// A file.
    Choose(Chooser),
    /// The logs that were opened before.
    Recent,
    /// A mark to be named.
    NameMark(Naming),
    /// The marks.
    Marks,
}

impl Overlay {
    /// A file to be chosen, at first in this folder.
    pub(crate) fn choose(purpose: Purpose, folder: &Path) -> Self {
        Self::Choose(Chooser::new(purpose, folder))
    }

    /// Shows it; answers what was chosen.
    pub(crate) fn show(&mut self, context: &Context, around: Around<'_>) -> Option<Act> {
        match self {
            Self::None => None,
            Self::Choose(chooser) => {
                let shown = window(chooser.purpose.title()).show(context, |ui| chooser.show(ui));
                let chosen = shown.and_then(|shown| shown.inner).flatten();
                chosen.map(|file| Act::Open(file, chooser.purpose))
            }
            Self::NameMark(naming) => {
                let shown = window("Mark").show(context, |ui| naming.show(ui));
                shown.and_then(|shown| shown.inner).flatten()
            }
            Self::Marks => {
                let all = around.document.map(marks::listed).unwrap_or_default();
                let shown = window("Marks").show(context, |ui| marks::list(ui, &all));
                shown.and_then(|shown| shown.inner).flatten()
            }
            Self::Recent => {
                let shown = window("Opened before").show(context, |ui| recent(ui, around.logs));
                shown.and_then(|shown| shown.inner).flatten()
            }
            Self::Keys => {
                window("Keys").show(context, keys);
                None
            }
            Self::Palette(typed) => {
                let shown = window("Commands").show(context, |ui| palette(ui, typed));
                let chosen = shown.and_then(|shown| shown.inner).flatten();
                if chosen.is_some() {
                    *self = Self::None;
                }
                chosen.map(Act::Does)
            }
        }
    }
}

/// A window within the window.
pub(crate) fn window(title: &'static str) -> egui::Window<'static> {
    egui::Window::new(title).collapsible(false).resizable(false).anchor(Align2::CENTER_TOP, vec2(0.0, 60.0))
}

fn words(command: &Command) -> String {
    let keys: Vec<String> = command.keys.iter().map(|keys| keys.words()).collect();
    keys.join(", ")
}

fn keys(ui: &mut Ui) {
    egui::ScrollArea::vertical().max_height(560.0).show(ui, |ui| {
        egui::Grid::new("keys").num_columns(2).spacing([24.0, 4.0]).show(ui, |ui| {
            for command in COMMANDS.iter().filter(|command| !command.keys.is_empty()) {
                ui.strong(words(command));
                ui.label(command.name);
                ui.end_row();
            }
            for (what, does) in [
                ("wheel", "zoom at the pointer; with Alt the addresses, with Shift aside"),
                ("drag", "move"),
                ("click", "select"),
                ("double click", "show all"),
            ] {
                ui.strong(what);
                ui.label(does);
                ui.end_row();
            }
        });
    });
}

/// The first one has the focus, so that Enter takes it and Tab goes on.
fn recent(ui: &mut Ui, logs: &[PathBuf]) -> Option<Act> {
    if logs.is_empty() {
        ui.label("No log was opened yet.");
    }
    let mut chosen = None;
    for (at, log) in logs.iter().enumerate() {
        let button = ui.button(log.display().to_string());
        if at == 0 && ui.memory(|memory| memory.focused().is_none()) {
            button.request_focus();
        }
        if button.clicked() {
            chosen = Some(Act::Open(log.clone(), Purpose::Open));
        }
    }
    chosen
}

/// A box to type into, and the commands that match below it. Enter takes the first.
fn palette(ui: &mut Ui, typed: &mut String) -> Option<Does> {
    let label = ui.label("Command");
    let typing = ui.add(TextEdit::singleline(typed).desired_width(360.0)).labelled_by(label.id);
    let enter = ui.input(|input| input.key_pressed(Key::Enter));
    if !typing.has_focus() && !enter {
        typing.request_focus();
    }
    let wanted = typed.to_lowercase();
    let matching: Vec<&Command> =
        COMMANDS.iter().filter(|c| wanted.split_whitespace().all(|w| c.name.to_lowercase().contains(w))).collect();
    if enter {
        return matching.first().map(|command| command.does);
    }
    let mut chosen = None;
    egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
        for command in matching {
            let button = egui::Button::new(command.name).shortcut_text(words(command)).frame(false);
            if ui.add_sized([360.0, 20.0], button).clicked() {
                chosen = Some(command.does);
            }
        }
    });
    chosen
}
