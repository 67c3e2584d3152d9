//! The window as a person uses it: widgets by their accessible names, and keys. Nothing is rendered.

use crate::app::{App, LogApp};
use crate::tests::log;
use eframe::egui::{Event, Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use weir_viz::cli::Picture;
use weir_viz::model::LifeIx;
use weir_viz::scene::{Page, Selection, Theme};

struct Person(Harness<'static, App>);

impl Person {
    fn new(file: &Path) -> Self {
        let mut app = App::new(log(), Vec::new(), &Picture::default()).unwrap();
        app.write_beside(file);
        let builder = Harness::builder().with_size(vec2(1400.0, 900.0));
        let mut person = Self(builder.build_ui_state(|ui, app: &mut App| app.show(ui), app));
        person.wait();
        person
    }

    fn wait(&mut self) {
        self.0.run_steps(12);
    }

    fn app(&self) -> &LogApp {
        match self.0.state() {
            App::Log(app) => app,
            App::Failed { .. } => panic!("no log"),
        }
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

    fn write(&mut self, text: &str) {
        self.0.event(Event::Text(text.to_owned()));
        self.wait();
    }

    /// Whether something with this name is there.
    fn sees(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }
}

fn anywhere() -> PathBuf {
    PathBuf::from("test.log")
}

#[test]
fn every_page_is_reached_by_its_name_and_by_its_key() {
    let mut person = Person::new(&anywhere());
    for page in Page::ALL.iter().rev() {
        person.click(page.title());
        assert_eq!(person.app().view().page, *page);
        assert!(person.sees(&format!("{}: 82 of 82 records in sight", page.title())), "{page:?}");
    }
    let keys = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7];
    for (key, page) in keys.into_iter().zip(Page::ALL) {
        person.press(key);
        assert_eq!(person.app().view().page, *page);
    }
}

#[test]
fn the_palette_runs_what_was_typed() {
    let mut person = Person::new(&anywhere());
    person.control(Key::P);
    assert!(person.sees("Write a picture as SVG"));
    person.write("reuse");
    assert!(!person.sees("Write a picture as SVG"));
    person.press(Key::Enter);
    assert_eq!(person.app().view().page, Page::Flows);
    assert!(!person.sees("Show the reuse flows"), "it closes");
    person.control(Key::P);
    person.write("l");
    assert_eq!(person.app().view().theme, Theme::Light, "typing is no command");
    person.press(Key::Escape);
    assert!(!person.sees("Show all commands"));
}

#[test]
fn find_selects_goes_on_and_narrows_tables_down() {
    let mut person = Person::new(&anywhere());
    person.control(Key::F);
    person.write("17");
    person.press(Key::Enter);
    assert_eq!(person.app().view().selection, Selection::Life(LifeIx(16)));
    assert!(person.sees("selected: #17"), "who does not see it is told");
    person.press(Key::Escape);
    person.press(Key::Num5);
    let table = Page::Allocations.table().unwrap();
    // The focus is in the box yet, so that the key was typed.
    let query = person.app().view().listing.query.clone();
    assert!(query.starts_with("17"), "{query}");
    assert_eq!(person.app().view().listing.rows(person.app().model(), table).len(), 1);
}

#[test]
fn a_search_for_nothing_says_so() {
    let mut person = Person::new(&anywhere());
    person.control(Key::F);
    person.write("colour:red");
    person.press(Key::Enter);
    assert!(person.sees("`colour:red`: expected stream:, pool: or label:"));
}

#[test]
fn a_zoom_is_undone() {
    let mut person = Person::new(&anywhere());
    let whole = person.app().view().x;
    person.press(Key::W);
    let zoomed = person.app().view().x;
    assert_ne!(zoomed, whole);
    person.0.run_steps(60);
    person.press(Key::D);
    assert_ne!(person.app().view().x, zoomed);
    person.press(Key::Backspace);
    assert_eq!(person.app().view().x, zoomed);
    person.press(Key::Backspace);
    assert_eq!(person.app().view().x, whole);
}

#[test]
fn commas_and_points_step_and_escape_clears() {
    let mut person = Person::new(&anywhere());
    person.press(Key::Period);
    let first = person.app().view().selected_event(person.app().model());
    person.press(Key::Period);
    assert_ne!(person.app().view().selected_event(person.app().model()), first);
    person.press(Key::Comma);
    assert_eq!(person.app().view().selected_event(person.app().model()), first);
    person.press(Key::Escape);
    assert_eq!(person.app().view().selection, Selection::Nothing);
}

#[test]
fn the_keys_are_shown_and_go() {
    let mut person = Person::new(&anywhere());
    person.press(Key::Questionmark);
    assert!(person.sees("Undo a zoom") && person.sees("zoom at the pointer"));
    person.press(Key::Escape);
    assert!(!person.sees("Undo a zoom"));
}

#[test]
fn pictures_and_tables_are_written_beside_the_log() {
    let folder = std::env::temp_dir().join(format!("weir-viz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut person = Person::new(&folder.join("some.log"));
    person.press(Key::Num2);
    person.control(Key::E);
    person.control(Key::E);
    let png = std::fs::read(folder.join("some-lanes-2.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    assert!(person.sees("some-lanes-2.png"), "it says where");
    for (page, words) in [(Key::Num2, "is no table"), (Key::Num5, "wrote ")] {
        person.press(page);
        person.control(Key::P);
        person.write("csv");
        person.press(Key::Enter);
        assert!(person.sees(words), "{words}");
    }
    let csv = std::fs::read_to_string(folder.join("some-allocations-1.csv")).unwrap();
    assert_eq!(csv.lines().count(), 41);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_theme_is_the_systems_until_it_is_chosen() {
    let mut person = Person::new(&anywhere());
    person.0.input_mut().system_theme = Some(eframe::egui::Theme::Dark);
    person.wait();
    assert_eq!(person.app().view().theme, Theme::Dark);
    person.click("Light or dark (L)");
    assert_eq!(person.app().view().theme, Theme::Light);
}
