//! What commands do.

use crate::app::App;
use crate::command::Does;
use crate::desk::Desk;
use crate::marks::Naming;
use crate::overlay::{Act, Overlay, Palette};
use eframe::egui::Context;
use weir_viz::scene::Input;

impl App {
    /// Does what was chosen.
    pub(crate) fn act(&mut self, act: Act, context: &Context) {
        match act {
            Act::Does(does) => self.perform(does, context),
            Act::Open(file, purpose) => {
                let chosen = std::mem::take(&mut self.overlay);
                self.load(file, self.picture_now(), purpose, context);
                if let (Overlay::Choose(chooser), true) = (chosen, self.loading.is_some()) {
                    self.chooser = Some(chooser);
                }
            }
            Act::SetMark(event, name) => {
                if let Some(document) = self.desk.document_mut() {
                    document.view.set_mark(event, &name);
                }
                if matches!(self.overlay, Overlay::NameMark(_)) {
                    self.overlay = Overlay::None;
                }
            }
            Act::GoTo(event) => {
                self.overlay = Overlay::None;
                if let Some(document) = self.desk.document_mut() {
                    document.go_to(event);
                }
            }
        }
    }

    /// Does what a command says.
    pub(crate) fn perform(&mut self, does: Does, context: &Context) {
        self.said.clear();
        match does {
            Does::Open(purpose) => self.toggle(Overlay::choose(purpose, &self.folder())),
            Does::Recent => self.toggle(Overlay::Recent),
            Does::Reload => self.reload(context),
            Does::Follow => self.follow_or_pause(context),
            Does::SetMark => self.name_mark(),
            Does::DeleteMark => self.delete_mark(),
            Does::Marks => self.toggle(Overlay::Marks),
            Does::Palette => self.toggle(Overlay::Palette(Palette::default())),
            Does::Keys => self.toggle(Overlay::Keys),
            Does::Escape => self.escape(),
            Does::Search => self.search(),
            Does::Export(ending) => self.said = self.desk.export(ending),
            Does::CloseOther => self.told(Desk::close_other),
            Does::OtherLog => self.told(Desk::switch),
            Does::Swap => self.told(Desk::swap),
            Does::View(Input::SwitchTheme) if self.desk.len() == 0 => {
                (self.picture.theme, self.picture.follows_system) = (self.theme.other(), false);
            }
            Does::View(_) | Does::Page(_) | Does::Find(_) | Does::Undo => self.in_document(does),
        }
    }

    fn in_document(&mut self, does: Does) {
        let Some(document) = self.desk.document_mut() else { return };
        match does {
            Does::View(input) => document.apply(input),
            Does::Page(by) => document.page(by),
            Does::Undo => document.undo(),
            Does::Find(by) => self.said = document.find(by).err().unwrap_or_default(),
            _ => {}
        }
    }

    /// Closes what lies on top, or else empties the search box that is typed into, or else selects nothing.
    fn escape(&mut self) {
        if self.overlay != Overlay::None {
            self.overlay = Overlay::None;
        } else if self.loading.is_some() {
            self.stop_loading();
        } else if self.failure.take().is_none() && !self.clear_search() {
            self.in_document(Does::View(Input::Clear));
        }
    }

    pub(crate) fn toggle(&mut self, overlay: Overlay) {
        let is_open = std::mem::discriminant(&self.overlay) == std::mem::discriminant(&overlay);
        self.overlay = if is_open { Overlay::None } else { overlay };
    }

    fn name_mark(&mut self) {
        let Some(document) = self.desk.document() else { return };
        match document.cursor() {
            Some(event) => self.overlay = Overlay::NameMark(Naming::of(document, event)),
            None => self.said = "select a record, or point at one: the mark is set there".to_owned(),
        }
    }

    fn delete_mark(&mut self) {
        let Some(document) = self.desk.document_mut() else { return };
        match document.cursor().filter(|event| document.view.mark_at(*event).is_some()) {
            Some(event) => document.view.set_mark(event, ""),
            None => self.said = "there is no mark of yours at the cursor".to_owned(),
        }
    }

    /// Does something that takes two logs.
    fn told(&mut self, does: fn(&mut Desk) -> bool) {
        if !does(&mut self.desk) {
            self.said = "there is one log: Ctrl+B opens another one beside it".to_owned();
        }
    }
}
