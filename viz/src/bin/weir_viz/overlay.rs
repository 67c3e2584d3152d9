//! What lies over the picture: the palette of all commands, and the sheet of keys.

use crate::command::{COMMANDS, Command, Does};
use eframe::egui::{self, Align2, Context, Key, TextEdit, Ui, vec2};

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
}

impl Overlay {
    /// Shows it; answers the command that was chosen.
    pub(crate) fn show(&mut self, context: &Context) -> Option<Does> {
        match self {
            Self::None => None,
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
                chosen
            }
        }
    }
}

fn window(title: &'static str) -> egui::Window<'static> {
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
