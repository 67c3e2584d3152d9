//! The user's marks: one is named in a box, all stand in a list.

use crate::document::Document;
use crate::overlay::{self, Act};
use eframe::egui::{Key, TextEdit, Ui};
use weir_viz::model::EventIx;

/// A mark as the list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    event: EventIx,
    /// Its record's number.
    number: u64,
    name: String,
    /// The user set it.
    own: bool,
}

/// All marks of a log and of its user, in the order of their records.
pub(crate) fn listed(document: &Document) -> Vec<Listed> {
    let model = document.model();
    let line = |event: EventIx, name: &str, own| Listed {
        event,
        number: model.events.number(event),
        name: name.to_owned(),
        own,
    };
    let mut all: Vec<Listed> = model.marks.iter().map(|mark| line(mark.event, model.name(mark.name), false)).collect();
    all.extend(document.view.marks.iter().map(|mark| line(mark.event, &mark.name, true)));
    all.sort_by_key(|mark| (mark.event, mark.own));
    all
}

/// A mark that is being named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Naming {
    event: EventIx,
    number: u64,
    name: String,
}

impl Naming {
    /// Of this record.
    pub(crate) fn of(document: &Document, event: EventIx) -> Self {
        let name = document.view.mark_at(event).map(|mark| mark.name.clone()).unwrap_or_default();
        Self { event, number: document.model().events.number(event), name }
    }

    /// A box to type into. Enter answers the name.
    pub(crate) fn show(&mut self, ui: &mut Ui) -> Option<Act> {
        let label = ui.label(format!("Name of the mark at #{}", self.number));
        let typing = ui.add(TextEdit::singleline(&mut self.name).desired_width(320.0)).labelled_by(label.id);
        let enter = ui.input(|input| input.key_pressed(Key::Enter));
        if !typing.has_focus() && !enter {
            typing.request_focus();
        }
        ui.weak("Enter sets it; an empty name takes it away");
        enter.then(|| Act::SetMark(self.event, self.name.clone()))
    }
}

/// The list. A name leads to its mark; those that the user set can be deleted.
pub(crate) fn list(ui: &mut Ui, marks: &[Listed]) -> Option<Act> {
    if marks.is_empty() {
        ui.label("There is no mark yet: M sets one at the cursor.");
    }
    let mut act = None;
    overlay::scrolled(ui, 0.0, |ui| {
        for (at, mark) in marks.iter().enumerate() {
            ui.horizontal(|ui| {
                let button = ui.button(format!("#{} {}", mark.number, mark.name));
                if at == 0 && ui.memory(|memory| memory.focused().is_none()) {
                    button.request_focus();
                }
                if button.clicked() {
                    act = Some(Act::GoTo(mark.event));
                }
                if mark.own && ui.button(format!("Delete {}", mark.name)).clicked() {
                    act = Some(Act::SetMark(mark.event, String::new()));
                }
            });
        }
    });
    act
}
