//! The window as a person uses it: widgets by their accessible names, and keys. Nothing is rendered.

mod beside;
mod files;
mod finding;
mod following;
mod looks;
mod marks;
mod pages;
mod sessions;
mod sheets;

use crate::app::App;
use crate::document::Document;
use crate::failure::Outcome;
use crate::recent::Recent;
use crate::tests::{app, log};
use eframe::egui::{DroppedFile, Event, Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weir::trace::text;
use weir_viz::cli::{Picture, Sessions};

/// Before a window.
struct Person(Harness<'static, App>);

impl Person {
    /// At a window on a log of this name.
    fn new(file: &Path) -> Self {
        Self::at(app(log(), Vec::new(), file, &Picture::default()))
    }

    /// At this window.
    fn at(app: App) -> Self {
        let builder = Harness::builder().with_size(vec2(1400.0, 900.0));
        let mut person = Self(builder.build_ui_state(|ui, app: &mut App| app.show(ui), app));
        person.wait();
        person
    }

    /// Before a window without a log.
    fn nowhere(recent: Recent) -> Self {
        Self::at(App::new(Picture::default(), Sessions::Kept, recent, Outcome::default()))
    }

    /// Until what is being read is there.
    fn read(&mut self) {
        self.0.state_mut().wait_for_loading();
        self.wait();
    }

    fn records(&self) -> usize {
        self.app().model().events.len()
    }

    fn drop(&mut self, log: &Path) {
        self.0.input_mut().dropped_files.push(Arc::new(Dropped(log.to_owned())));
        self.0.step();
        self.0.input_mut().dropped_files.clear();
        self.read();
    }

    /// Some frames.
    fn wait(&mut self) {
        self.0.run_steps(12);
    }

    fn app(&self) -> &Document {
        self.0.state().document().expect("a log")
    }

    fn click(&mut self, name: &str) {
        self.0.get_by_label(name).click();
        self.wait();
    }

    fn press(&mut self, key: Key) {
        self.0.key_press(key);
        self.wait();
    }

    fn control(&mut self, key: Key) {
        self.0.key_press_modifiers(Modifiers::COMMAND, key);
        self.wait();
    }

    /// Until what the selection asks is answered.
    fn wait_for_answer(&mut self) {
        if let Some(document) = self.0.state_mut().document_mut() {
            document.asking.wait();
        }
        self.wait();
    }

    fn write(&mut self, text: &str) {
        self.0.event(Event::Text(text.to_owned()));
        self.wait();
    }

    /// Whether something with this name is there.
    fn sees(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

/// A log of so many marks, in a folder.
fn log_of_marks(folder: &Path, name: &str, marks: u64) -> PathBuf {
    let mut lines = format!("{}\n", text::HEADER);
    for number in 0..marks {
        lines += &format!("number={number} time={number} record=mark label=0 length=1 name=m\n");
    }
    let log = folder.join(name);
    std::fs::write(&log, lines).unwrap();
    log
}

/// A log that is in no folder.
fn anywhere() -> PathBuf {
    PathBuf::from("test.log")
}
