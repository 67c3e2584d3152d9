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
    /// All commands.
    Palette(Palette),
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
                let chosen = sheet(context, chooser.purpose.title(), |ui| chooser.show(ui)).flatten();
                chosen.map(|file| Act::Open(file, chooser.purpose))
            }
            Self::NameMark(naming) => sheet(context, "Mark", |ui| naming.show(ui)).flatten(),
            Self::Marks => {
                let all = around.document.map(marks::listed).unwrap_or_default();
                sheet(context, "Marks", |ui| marks::list(ui, &all)).flatten()
            }
            Self::Recent => sheet(context, "Opened before", |ui| recent(ui, around.logs)).flatten(),
            Self::Keys => {
                sheet(context, "Keys", keys);
                None
            }
            Self::Palette(palette) => {
                let chosen = sheet(context, "Commands", |ui| palette.show(ui)).flatten();
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
/// What an arrow scrolls by.
const LINE: f32 = 24.0;
/// Further than any list is long.
const FAR: f32 = 1e6;

/// A window within the window.
pub(crate) fn window(title: &'static str) -> egui::Window<'static> {
    egui::Window::new(title).collapsible(false).resizable(false).anchor(Align2::CENTER_TOP, vec2(0.0, TOP))
}

/// One that has the mouse and the keys for itself.
fn sheet<T>(context: &Context, title: &'static str, show: impl FnOnce(&mut Ui) -> T) -> Option<T> {
    let shown = window(title).show(context, show)?;
    context.memory_mut(|memory| memory.set_modal_layer(shown.response.layer_id));
    shown.inner
}

fn words(command: &Command) -> String {
    // Two keys may be called the same: `+`, with and without Shift.
    let mut keys: Vec<String> = command.keys.iter().map(|keys| keys.words()).collect();
    keys.dedup();
    keys.join(", ")
}

/// As high as the window allows for, with a scroll bar that is seen where that is not enough; keys scroll it, and what has
/// the focus is in sight. What stands above it and below in the window within the window is `beside` points high.
pub(crate) fn scrolled<T>(ui: &mut Ui, beside: f32, show: impl FnOnce(&mut Ui) -> T) -> T {
    let room = (ui.ctx().content_rect().height() - TOP - BAR - beside).max(60.0);
    ui.spacing_mut().scroll = egui::style::ScrollStyle::solid();
    let area = egui::ScrollArea::vertical().max_height(room).min_scrolled_height(room);
    area.show(ui, |ui| {
        let focused = ui.memory(|memory| memory.focused());
        let by = ui.input(|input| scrolls(input, room, focused.is_some()));
        if by != 0.0 {
            ui.scroll_with_delta(vec2(0.0, -by));
        }
        let shown = show(ui);
        let gained = focused.and_then(|id| ui.ctx().read_response(id)).filter(egui::Response::gained_focus);
        if let Some(gained) = gained.filter(|gained| gained.layer_id == ui.layer_id()) {
            ui.scroll_to_rect(gained.rect, None);
        }
        shown
    })
    .inner
}

/// How far the keys scroll down. What has the focus has the arrows and the ends for itself.
fn scrolls(input: &egui::InputState, room: f32, focused: bool) -> f32 {
    let keys =
        [(Key::PageDown, Key::PageUp, room - LINE), (Key::ArrowDown, Key::ArrowUp, LINE), (Key::End, Key::Home, FAR)];
    let of = if focused { 1 } else { keys.len() };
    let pressed = |key: Key| input.num_presses(key) as f32;
    keys[..of].iter().map(|(down, up, by)| (pressed(*down) - pressed(*up)) * by).sum()
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

/// A box to type into, and the commands that match below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Palette {
    typed: String,
    /// Which one Enter takes.
    chosen: usize,
}

impl Palette {
    fn show(&mut self, ui: &mut Ui) -> Option<Does> {
        let label = ui.label("Command");
        let typing = ui.add(TextEdit::singleline(&mut self.typed).desired_width(360.0)).labelled_by(label.id);
        let enter = ui.input(|input| input.key_pressed(Key::Enter));
        if !typing.has_focus() && !enter {
            typing.request_focus();
        }
        let wanted = self.typed.to_lowercase();
        let fits = |command: &&Command| wanted.split_whitespace().all(|w| command.name.to_lowercase().contains(w));
        let matching: Vec<&Command> = COMMANDS.iter().filter(fits).collect();
        let (down, up) = ui.input(|i| (i.num_presses(Key::ArrowDown), i.num_presses(Key::ArrowUp)));
        let now = if typing.changed() { 0 } else { self.chosen + down };
        self.chosen = now.min(matching.len().saturating_sub(1)).saturating_sub(up);
        if enter {
            return matching.get(self.chosen).map(|command| command.does);
        }
        let mut clicked = None;
        scrolled(ui, 26.0, |ui| {
            for (at, command) in matching.iter().enumerate() {
                let button = egui::Button::selectable(at == self.chosen, command.name).shortcut_text(words(command));
                let button = ui.add_sized([360.0, 20.0], button);
                if at == self.chosen && down + up > 0 {
                    button.scroll_to_me(None);
                }
                if button.clicked() {
                    clicked = Some(command.does);
                }
            }
        });
        clicked
    }
}
