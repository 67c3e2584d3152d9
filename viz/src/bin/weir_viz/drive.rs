//! The window as a person uses it: widgets by their accessible names, and keys. Nothing is rendered.

use crate::app::App;
use crate::document::Document;
use crate::tests::{app, log};
use eframe::egui::{Event, Key, Modifiers, Role, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use weir_viz::cli::Picture;
use weir_viz::model::LifeIx;
use weir_viz::scene::{Page, Selection, Theme};

/// Before a window.
pub(crate) struct Person(pub(crate) Harness<'static, App>);

impl Person {
    /// At a window on a log of this name.
    pub(crate) fn new(file: &Path) -> Self {
        Self::at(app(log(), Vec::new(), file, &Picture::default()))
    }

    /// At this window.
    pub(crate) fn at(app: App) -> Self {
        let builder = Harness::builder().with_size(vec2(1400.0, 900.0));
        let mut person = Self(builder.build_ui_state(|ui, app: &mut App| app.show(ui), app));
        person.wait();
        person
    }

    /// Some frames.
    pub(crate) fn wait(&mut self) {
        self.0.run_steps(12);
    }

    pub(crate) fn app(&self) -> &Document {
        self.0.state().document().expect("a log")
    }

    pub(crate) fn click(&mut self, name: &str) {
        self.0.get_by_label(name).click();
        self.wait();
    }

    pub(crate) fn press(&mut self, key: Key) {
        self.0.key_press(key);
        self.wait();
    }

    pub(crate) fn control(&mut self, key: Key) {
        self.0.key_press_modifiers(Modifiers::COMMAND, key);
        self.wait();
    }

    /// Until what the selection asks is answered.
    pub(crate) fn wait_for_answer(&mut self) {
        if let Some(document) = self.0.state_mut().document_mut() {
            document.asking.wait();
        }
        self.wait();
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.0.event(Event::Text(text.to_owned()));
        self.wait();
    }

    /// Whether something with this name is there.
    pub(crate) fn sees(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }
}

pub(crate) fn anywhere() -> PathBuf {
    PathBuf::from("test.log")
}

#[test]
fn every_page_is_reached_by_its_name_and_by_its_key() {
    let mut person = Person::new(&anywhere());
    for page in Page::ALL.iter().rev() {
        person.click(page.title());
        assert_eq!(person.app().view.page, *page);
        assert!(person.sees(&format!("{}: 82 of 82 records in sight", page.title())), "{page:?}");
    }
    let keys = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8];
    for (key, page) in keys.into_iter().zip(Page::ALL) {
        person.press(key);
        assert_eq!(person.app().view.page, *page);
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
    assert_eq!(person.app().view.page, Page::Flows);
    assert!(!person.sees("Show the reuse flows"), "it closes");
    person.control(Key::P);
    person.write("l");
    assert_eq!(person.app().view.theme, Theme::Light, "typing is no command");
    person.press(Key::Escape);
    assert!(!person.sees("Show all commands"));
}

#[test]
fn find_selects_goes_on_and_narrows_tables_down() {
    let mut person = Person::new(&anywhere());
    person.control(Key::F);
    person.write("17");
    person.press(Key::Enter);
    assert_eq!(person.app().view.selection, Selection::Life(LifeIx(16)));
    assert!(person.sees("selected: #17"), "who does not see it is told");
    let table = Page::Allocations.table().unwrap();
    person.click("Allocations");
    let rows = |person: &Person| person.app().view.listing.rows(person.app().model(), table).len();
    assert_eq!(rows(&person), 1);
    // Ctrl+F takes all of it for the next one to take its place.
    person.control(Key::F);
    person.write("3");
    assert_eq!((person.app().view.listing.query.as_str(), rows(&person)), ("3", 1));
    // Esc in the box empties it, and nothing else; the next one selects nothing.
    person.press(Key::Escape);
    assert_eq!((person.app().view.listing.query.as_str(), rows(&person)), ("", 40));
    assert_eq!(person.app().view.selection, Selection::Life(LifeIx(16)));
    person.press(Key::Escape);
    assert_eq!(person.app().view.selection, Selection::Nothing);
    person.press(Key::Num1);
    assert_eq!(person.app().view.page, Page::Addresses, "keys are commands again");
}

#[test]
fn a_query_that_makes_no_sense_leaves_the_last_rows() {
    let mut person = Person::new(&anywhere());
    person.press(Key::Num5);
    person.control(Key::F);
    person.write("17");
    person.control(Key::F);
    person.write("size:9");
    person.press(Key::Enter);
    let listing = &person.app().view.listing;
    assert_eq!((listing.query.as_str(), listing.in_force()), ("size:9", "17"));
    assert_eq!(listing.rows(person.app().model(), Page::Allocations.table().unwrap()).len(), 1);
    let told = "`size:9`: expected";
    assert_eq!(person.0.query_all_by_label_contains(told).count(), 1, "told once");
    let (scene, _) = weir_viz::scene::build(person.app().model(), &person.app().view);
    let texts = scene.shapes.iter().filter_map(|shape| match shape {
        weir_viz::scene::Shape::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.filter(|text| text.contains("size:9")).collect();
    assert!(texts.len() == 1 && texts[0].ends_with("1 row matching `17`"), "{texts:?}");
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
    let whole = person.app().view.x;
    person.press(Key::W);
    let zoomed = person.app().view.x;
    assert_ne!(zoomed, whole);
    person.0.run_steps(60);
    person.press(Key::D);
    assert_ne!(person.app().view.x, zoomed);
    person.press(Key::Backspace);
    assert_eq!(person.app().view.x, zoomed);
    person.press(Key::Backspace);
    assert_eq!(person.app().view.x, whole);
}

#[test]
fn commas_and_points_step_and_escape_clears() {
    let mut person = Person::new(&anywhere());
    person.press(Key::Period);
    let first = person.app().view.selected_event(person.app().model());
    person.press(Key::Period);
    assert_ne!(person.app().view.selected_event(person.app().model()), first);
    person.press(Key::Comma);
    assert_eq!(person.app().view.selected_event(person.app().model()), first);
    person.press(Key::Escape);
    assert_eq!(person.app().view.selection, Selection::Nothing);
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
fn the_sheets_use_the_height_that_is_there() {
    for (w, h) in [(1400.0, 1000.0), (700.0, 500.0), (480.0, 424.0)] {
        let mut person = Person::new(&anywhere());
        person.0.set_size(vec2(w, h));
        person.wait();
        for (title, key) in [("Commands", Key::P), ("Keys", Key::Questionmark)] {
            if key == Key::P {
                person.control(key)
            } else {
                person.press(key)
            }
            person.wait();
            let sheet = person.0.get_by_role_and_label(Role::Window, title).rect();
            assert!(sheet.bottom() <= h, "{title} at {h}: {sheet:?}");
            let last = person.0.get_by_label_contains("Close, or select nothing").rect().bottom();
            // To the window's end, or with all of its rows.
            assert!(sheet.bottom() > h - 40.0 || last < sheet.bottom(), "{title} at {h}: {sheet:?}, {last}");
            if (title, w) == ("Keys", 1400.0) {
                assert!(last < sheet.bottom() - 4.0, "every key is in sight: {last}");
                assert!(person.0.query_by_label("W, +").is_some(), "no key twice");
            }
            person.press(Key::Escape);
        }
    }
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
    assert_eq!(person.app().view.theme, Theme::Dark);
    person.click("Light or dark (L)");
    assert_eq!(person.app().view.theme, Theme::Light);
}

#[test]
fn marks_are_set_listed_stepped_and_deleted_by_keys() {
    let mut person = Person::new(&anywhere());
    person.press(Key::M);
    assert!(person.sees("select a record"));
    for (id, name) in [("17", "peak"), ("3", "warm-up")] {
        person.control(Key::F);
        person.write(id);
        person.press(Key::Enter);
        person.press(Key::Escape);
        // Out of the search box.
        person.0.ctx.memory_mut(|memory| memory.stop_text_input());
        let life = person.app().model().life_of_id(id.parse().unwrap()).unwrap();
        let born = person.app().model().life(life).born().unwrap();
        person.0.state_mut().document_mut().unwrap().go_to(born);
        person.press(Key::M);
        person.write(name);
        person.press(Key::Enter);
    }
    let names = |person: &Person| person.app().view.marks.iter().map(|mark| mark.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&person), ["warm-up", "peak"], "in the order of the log");
    person.press(Key::Num0);
    let at = |person: &Person| person.app().view.selected_event(person.app().model());
    person.press(Key::CloseBracket);
    let peak = at(&person);
    person.press(Key::CloseBracket);
    assert_ne!(at(&person), peak, "around the end");
    person.press(Key::OpenBracket);
    assert_eq!(at(&person), peak);
    person.control(Key::M);
    assert!(person.sees(" warm-up") && person.sees("Delete peak"));
    person.click("Delete peak");
    assert_eq!(names(&person), ["warm-up"]);
    person.press(Key::Enter);
    assert!(!person.sees("Delete warm-up"), "Enter goes to the first");
    person.press(Key::Delete);
    assert_eq!(names(&person), [] as [String; 0]);
}
