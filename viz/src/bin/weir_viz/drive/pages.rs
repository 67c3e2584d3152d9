//! The pages, and how one moves on them.

use super::{Person, anywhere};
use eframe::egui::Key;
use tempfile::tempdir;
use weir_viz::scene::{Page, Selection, Theme};

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
fn the_theme_is_the_systems_until_it_is_chosen() {
    let mut person = Person::new(&anywhere());
    person.0.input_mut().system_theme = Some(eframe::egui::Theme::Dark);
    person.wait();
    assert_eq!(person.app().view.theme, Theme::Dark);
    person.click("Light or dark (L)");
    assert_eq!(person.app().view.theme, Theme::Light);
}

#[test]
fn pictures_and_tables_are_written_beside_the_log() {
    let folder = tempdir().unwrap();
    let mut person = Person::new(&folder.path().join("some.log"));
    person.press(Key::Num2);
    person.control(Key::E);
    person.control(Key::E);
    let png = std::fs::read(folder.path().join("some-lanes-2.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    assert!(person.sees("some-lanes-2.png"), "it says where");
    for (page, words) in [(Key::Num2, "is no table"), (Key::Num5, "wrote ")] {
        person.press(page);
        person.control(Key::P);
        person.write("csv");
        person.press(Key::Enter);
        assert!(person.sees(words), "{words}");
    }
    let csv = std::fs::read_to_string(folder.path().join("some-allocations-1.csv")).unwrap();
    assert_eq!(csv.lines().count(), 41);
}
