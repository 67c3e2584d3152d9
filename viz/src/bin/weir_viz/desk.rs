//! The logs in the window: none, one, or two side by side, of which one is worked on and the other follows.

use crate::document::{Document, Told};
use crate::paint;
use eframe::egui::{self, Ui, UiBuilder, pos2};
use std::path::Path;
use weir_viz::cli::{self, PictureError};
use weir_viz::compare::Link;

/// Two narrower ones are shown without their lists.
const NARROW: f32 = 1100.0;

/// The logs in the window.
#[derive(Default)]
pub(crate) struct Desk {
    /// Two at most.
    documents: Vec<Document>,
    /// Which one is worked on.
    active: usize,
    /// What ties the two.
    link: Option<Link>,
}

impl Desk {
    /// The one that is worked on.
    pub(crate) fn document(&self) -> Option<&Document> {
        self.documents.get(self.active)
    }

    /// The one that is worked on.
    pub(crate) fn document_mut(&mut self) -> Option<&mut Document> {
        self.documents.get_mut(self.active)
    }

    /// The log of this file.
    pub(crate) fn of_file(&mut self, file: &Path) -> Option<&mut Document> {
        self.documents.iter_mut().find(|document| document.file == file)
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.documents.len()
    }

    /// Takes away the one that is worked on; another is to be put there.
    pub(crate) fn take(&mut self) -> Option<Document> {
        (self.active < self.documents.len()).then(|| self.documents.remove(self.active))
    }

    /// Puts one where the last one was taken away.
    pub(crate) fn put(&mut self, document: Document) {
        let at = self.active.min(self.documents.len());
        self.documents.insert(at, document);
        self.active = at;
        self.tie();
    }

    /// Puts one beside the one that is worked on, in place of another.
    pub(crate) fn put_beside(&mut self, document: Document) {
        self.close_other();
        self.documents.push(document);
        self.tie();
    }

    /// Takes the one away that is not worked on. Answers whether there was one.
    pub(crate) fn close_other(&mut self) -> bool {
        let two = self.documents.len() == 2;
        if two {
            self.documents.remove(1 - self.active);
        }
        (self.active, self.link) = (0, None);
        two
    }

    /// Works on the other one. Answers whether there is one.
    pub(crate) fn switch(&mut self) -> bool {
        let two = self.documents.len() == 2;
        if two {
            self.active = 1 - self.active;
        }
        two
    }

    /// Changes their sides. Answers whether there are two.
    pub(crate) fn swap(&mut self) -> bool {
        let two = self.switch();
        self.documents.reverse();
        if two {
            self.tie();
        }
        two
    }

    /// One of them is another one, or has grown.
    pub(crate) fn tie(&mut self) {
        if let [one, other] = &self.documents[..] {
            self.link = Some(Link::of([one.model(), other.model()]));
            self.lead(self.active);
        }
    }

    /// The other one follows this one.
    fn lead(&mut self, from: usize) {
        let ([one, other], Some(link)) = (&mut self.documents[..], &self.link) else { return };
        let models = [&one.opened.model, &other.opened.model];
        let (leader, follower) = if from == 0 { (&one.view, &mut other.view) } else { (&other.view, &mut one.view) };
        link.follow(models, from, leader, follower);
        let follower = if from == 0 { &mut *other } else { &mut *one };
        follower.show_in_list();
        let follows_system = [one.picture.follows_system, other.picture.follows_system][from];
        (one.picture.follows_system, other.picture.follows_system) = (follows_system, follows_system);
    }

    /// A frame begins.
    pub(crate) fn begin_frame(&mut self, ui: &Ui) {
        self.documents.iter_mut().for_each(|document| document.begin_frame(ui));
    }

    /// The frame's changes are done: the other log follows.
    pub(crate) fn end_frame(&mut self, ui: &Ui) {
        let sides = [self.active, 1 - self.active.min(1)];
        let changed = |side: &usize| self.documents.get(*side).is_some_and(Document::is_changed);
        if let Some(side) = sides.into_iter().find(changed) {
            self.lead(side);
        }
        self.documents.iter_mut().for_each(|document| document.end_frame(ui));
    }

    /// Writes what is to be kept of each log.
    pub(crate) fn write_sessions(&mut self) {
        self.documents.iter_mut().for_each(Document::write_session);
    }

    /// The pictures. Whichever the pointer works on is worked on from then on.
    pub(crate) fn canvases(&mut self, ui: &mut Ui, told: Told) {
        let whole = ui.available_rect_before_wrap();
        let count = self.documents.len().max(1) as f32;
        let wide = (whole.width() / count).floor();
        let mut touched = None;
        for (side, document) in self.documents.iter_mut().enumerate() {
            let left = whole.left() + side as f32 * wide;
            let area = egui::Rect::from_min_max(pos2(left, whole.top()), pos2(left + wide, whole.bottom()));
            document.lists(count < 2.0 || wide >= NARROW);
            let used =
                ui.scope_builder(UiBuilder::new().id_salt(side).max_rect(area), |ui| document.canvas(ui, told)).inner;
            if used {
                touched = Some(side);
            }
            if count > 1.0 && side == self.active {
                let line = egui::Rect::from_min_size(area.min, egui::vec2(wide, 3.0));
                ui.painter().rect_filled(line, 0.0, paint::color(document.view.theme.palette().used));
            }
        }
        self.active = touched.unwrap_or(self.active);
    }

    /// Writes the picture of both under a name beside the first log's, or that of the only one. Answers what to say.
    pub(crate) fn export(&self, ending: &str) -> String {
        let both = match &self.documents[..] {
            [one, other] if ending != "csv" => Some([one, other]),
            _ => None,
        };
        let Some(document) = both.map_or(self.document(), |[one, _]| Some(one)) else {
            return "there is nothing to write".to_owned();
        };
        let Some(out) = document.free_name(ending, if both.is_some() { "beside" } else { "" }) else {
            return format!("every name for it beside {} is taken", document.file.display());
        };
        let scale = document.picture.scale;
        let written: Result<(), PictureError> = match both {
            Some(both) => cli::export_beside(both.map(|one| (&*one.opened, &one.view)), &out, scale),
            None => cli::export(&document.opened, &document.view, &out, scale),
        };
        match written {
            Ok(()) => format!("wrote {}", out.display()),
            Err(error) => error.to_string(),
        }
    }
}
