//! The two bars with the buttons, below the picture.

use crate::app::App;
use crate::command::Does;
use crate::loading::Purpose;
use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::{self, Ui};
use weir_viz::model::Axis;
use weir_viz::scene::{Input, Page, Selection};

/// Their height.
pub(crate) const HEIGHT: f32 = 64.0;
/// Width of the search box.
const SEARCH: f32 = 220.0;

impl App {
    /// Shows both.
    pub(crate) fn bars(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            let Some(now) = self.document().map(|document| document.view.page) else { return };
            for page in Page::ALL {
                if ui.selectable_label(now == *page, page.title()).clicked() {
                    self.perform(Does::View(Input::Show(*page)), ui.ctx());
                }
            }
            ui.separator();
            self.search_box(ui);
            ui.label(self.said());
        });
        ui.horizontal(|ui| self.buttons(ui));
    }

    fn search_box(&mut self, ui: &mut Ui) {
        let wanted = self.take_search();
        let Some(document) = self.document_mut() else { return };
        let label = ui.label("Find");
        let hint = "address, #record, label, >2MiB, stream:1";
        let listing = &mut document.view.listing;
        let edit = egui::TextEdit::singleline(&mut listing.query).desired_width(SEARCH).hint_text(hint);
        let edit = ui.add(edit).labelled_by(label.id);
        if wanted {
            edit.request_focus();
            select_all(ui, edit.id, &listing.query);
        }
        if edit.changed() {
            listing.top = 0;
            self.say(String::new());
        }
        self.note_searching(edit.has_focus());
        if edit.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter)) {
            self.perform(Does::Find(1), ui.ctx());
            // Enter again goes on to the next.
            self.search();
        }
    }

    fn buttons(&mut self, ui: &mut Ui) {
        let Some(document) = self.document() else { return };
        let mut chosen = None;
        let axis = match document.view.axis {
            Axis::Record => "Along x: records (T)",
            Axis::Time => "Along x: time (T)",
        };
        let mut button = |ui: &mut Ui, text: &str, does: Does| {
            if ui.button(text).clicked() {
                chosen = Some(does);
            }
        };
        button(ui, "Open (Ctrl+O)", Does::Open(Purpose::Open));
        button(ui, axis, Does::View(Input::SwitchAxis));
        if document.model().pools.len() > 1 {
            button(ui, "Next pool (P)", Does::View(Input::NextPool));
        }
        button(ui, "Light or dark (L)", Does::View(Input::SwitchTheme));
        button(ui, "Show all (0)", Does::View(Input::Fit));
        if !document.history.is_empty() {
            button(ui, "Back (Backspace)", Does::Undo);
        }
        let findings = &document.model().findings;
        if !findings.flags().is_empty() {
            button(ui, "Next finding (N)", Does::View(Input::StepFinding(1)));
        }
        if document.view.selection != Selection::Nothing {
            button(ui, "Show selection (F)", Does::View(Input::FitSelection));
            button(ui, "Clear (Esc)", Does::Escape);
        }
        button(ui, "Commands (Ctrl+P)", Does::Palette);
        button(ui, "Keys (?)", Does::Keys);
        if let Some(following) = self.following() {
            button(ui, "Pause or go on (G)", Does::Follow);
            ui.weak(following.words());
        }
        ui.weak(document.check.words(findings.total()));
        if document.asking.is_preparing() {
            ui.weak("summing up ...");
        }
        if let Some(does) = chosen {
            self.perform(does, ui.ctx());
        }
    }
}

/// What is typed next takes the place of all that stands in the box.
fn select_all(ui: &Ui, id: egui::Id, text: &str) {
    let mut state = egui::TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    let whole = CCursorRange::two(CCursor::default(), CCursor::new(text.chars().count()));
    state.cursor.set_char_range(Some(whole));
    state.store(ui.ctx(), id);
}
