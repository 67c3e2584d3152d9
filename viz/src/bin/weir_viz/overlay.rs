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

/// From this width on, the keys stand in two columns.
const TWO_COLUMNS: f32 = 1000.0;
/// What is left free above a window within the window.
const TOP: f32 = 60.0;
/// The height of its title and edges, and of what is left free below it.
const BAR: f32 = 64.0;

/// A window within the window.
pub(crate) fn window(title: &'static str) -> egui::Window<'static> {
    egui::Window::new(title).collapsible(false).resizable(false).anchor(Align2::CENTER_TOP, vec2(0.0, TOP))
}

fn words(command: &Command) -> String {
    // Two keys may be called the same: `+`, with and without Shift.
    let mut keys: Vec<String> = command.keys.iter().map(|keys| keys.words()).collect();
    keys.dedup();
    keys.join(", ")
}

/// As high as the window allows for, with a scroll bar that is seen where that is not enough. What stands above it and
/// below in the window within the window is `beside` points high.
pub(crate) fn scrolled<T>(ui: &mut Ui, beside: f32, show: impl FnOnce(&mut Ui) -> T) -> T {
    let room = (ui.ctx().content_rect().height() - TOP - BAR - beside).max(60.0);
    ui.spacing_mut().scroll = egui::style::ScrollStyle::solid();
    let area = egui::ScrollArea::vertical().max_height(room).min_scrolled_height(room);
    area.show(ui, show).inner
}

/// What the mouse does.
const MOUSE: [(&str, &str); 5] = [
    ("wheel", "zoom at the pointer; with Alt the addresses, with Shift aside"),
    ("wheel over a list", "scroll it"),
    ("drag", "move"),
    ("click", "select"),
    ("double click", "show all"),
];

/// All of them, in two columns where there is room.
fn keys(ui: &mut Ui) {
    let commands = COMMANDS.iter().filter(|command| !command.keys.is_empty());
    let mut rows: Vec<(String, &str)> = commands.map(|command| (words(command), command.name)).collect();
    rows.extend(MOUSE.map(|(what, does)| (what.to_owned(), does)));
    let columns = if ui.ctx().content_rect().width() >= TWO_COLUMNS { 2 } else { 1 };
    scrolled(ui, 0.0, |ui| {
        ui.horizontal_top(|ui| {
            for (at, rows) in rows.chunks(rows.len().div_ceil(columns)).enumerate() {
                egui::Grid::new(("keys", at)).num_columns(2).spacing([24.0, 4.0]).show(ui, |ui| {
                    for (keys, does) in rows {
                        ui.strong(keys);
                        ui.label(*does);
                        ui.end_row();
                    }
                });
                ui.add_space(24.0);
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
    scrolled(ui, 26.0, |ui| {
        for command in matching {
            let button = egui::Button::new(command.name).shortcut_text(words(command)).frame(false);
            if ui.add_sized([360.0, 20.0], button).clicked() {
                chosen = Some(command.does);
            }
        }
    });
    chosen
}
