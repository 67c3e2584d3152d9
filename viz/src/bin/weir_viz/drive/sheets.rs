//! What lies over the picture: the palette, the keys, the lists.

use super::{Person, anywhere};
use crate::command::COMMANDS;
use crate::overlay::Overlay;
use eframe::egui::{Key, Role, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use weir_viz::model::By;
use weir_viz::scene::{Page, Theme};

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

/// What a key does to the picture it does not do through a sheet.
#[test]
fn keys_stop_at_the_sheet_that_lies_over_the_picture() {
    let mut person = Person::new(&anywhere());
    person.press(Key::Period);
    let sheets =
        [(Key::Questionmark, false), (Key::P, true), (Key::O, true), (Key::O, false), (Key::M, true), (Key::M, false)];
    for (key, with_ctrl) in sheets {
        if with_ctrl {
            person.control(key)
        } else {
            person.press(key)
        }
        assert_ne!(person.0.state().overlay, Overlay::None, "{key:?}");
        let before = person.app().view.clone();
        for key in
            [Key::K, Key::C, Key::Num2, Key::W, Key::D, Key::ArrowDown, Key::PageDown, Key::L, Key::F3, Key::Home]
        {
            person.press(key);
        }
        for key in [Key::F, Key::PageDown, Key::W] {
            person.control(key);
        }
        assert_eq!(person.app().view, before, "{key:?}");
        person.press(Key::Escape);
        assert_eq!(person.0.state().overlay, Overlay::None, "{key:?}");
    }
    person.press(Key::K);
    assert_eq!(person.app().view.stack, Some(By::Label), "and the keys are the picture's again");
}

/// In a window that is too low for all of it, as for the palette.
#[test]
fn the_sheet_of_keys_is_scrolled_by_keys() {
    let mut person = Person::new(&anywhere());
    person.0.set_size(vec2(480.0, 424.0));
    person.press(Key::Questionmark);
    let sheet = person.0.get_by_role_and_label(Role::Window, "Keys").rect();
    let top = |person: &Person, words: &str| person.0.get_by_label(words).rect().top();
    let (first, last) = ("Show the address map", "show all");
    let begin = top(&person, first);
    assert!(top(&person, last) > sheet.bottom());
    person.press(Key::ArrowDown);
    let step = begin - top(&person, first);
    assert!(step > 10.0 && step < 60.0, "{step}");
    person.press(Key::PageDown);
    assert!(begin - top(&person, first) > 200.0);
    person.press(Key::End);
    person.0.run_steps(30);
    assert!(top(&person, last) < sheet.bottom());
    person.press(Key::Home);
    person.0.run_steps(30);
    assert!((top(&person, first) - begin).abs() < 1.0);
}

#[test]
fn the_palette_is_walked_by_arrows_and_what_is_chosen_is_in_sight() {
    let mut person = Person::new(&anywhere());
    person.0.set_size(vec2(480.0, 424.0));
    person.control(Key::P);
    let sheet = person.0.get_by_role_and_label(Role::Window, "Commands").rect();
    for _ in 0..40 {
        person.0.key_press(Key::ArrowDown);
        person.0.step();
    }
    person.0.run_steps(30);
    let chosen = person.0.get_by_label_contains(COMMANDS[40].name).rect();
    assert!(sheet.contains_rect(chosen), "{chosen:?} in {sheet:?}");
    person.press(Key::ArrowUp);
    person.write("show the");
    for key in [Key::ArrowDown, Key::ArrowDown, Key::ArrowUp, Key::Enter] {
        person.press(key);
    }
    assert_eq!(person.app().view.page, Page::Lanes, "the second that matches");
}

/// Those on the screen that have no name for who does not see them, and how many there are in all.
fn unnamed(person: &Person) -> (Vec<String>, usize) {
    let roles = [
        Role::Button,
        Role::CheckBox,
        Role::RadioButton,
        Role::ComboBox,
        Role::TextInput,
        Role::MultilineTextInput,
        Role::SpinButton,
        Role::Slider,
        Role::Link,
        Role::Image,
        Role::ProgressIndicator,
        Role::Window,
    ];
    let nodes = person.0.root().children_recursive().map(|node| node.accesskit_node());
    let controls: Vec<_> = nodes.filter(|node| roles.contains(&node.role()) && node.parent().is_some()).collect();
    let name = |node: &egui_kittest::kittest::AccessKitNode<'_>| node.label().unwrap_or_default();
    let bare = controls.iter().filter(|node| name(node).trim().is_empty());
    (bare.map(|node| format!("{:?} at {:?}", node.role(), node.bounding_box())).collect(), controls.len())
}

#[test]
fn every_control_has_a_name() {
    let mut person = Person::new(&anywhere());
    let pages = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8];
    assert_eq!(pages.len(), Page::ALL.len());
    for (key, page) in pages.into_iter().zip(Page::ALL) {
        person.press(key);
        assert_eq!(person.app().view.page, *page);
        let (bare, controls) = unnamed(&person);
        assert!(bare.is_empty() && controls > 3, "{}: {bare:?} of {controls}", page.name());
    }
    for (key, with_ctrl) in
        [(Key::Questionmark, false), (Key::P, true), (Key::O, true), (Key::O, false), (Key::M, true), (Key::M, false)]
    {
        if with_ctrl {
            person.control(key)
        } else {
            person.press(key)
        }
        let (bare, controls) = unnamed(&person);
        assert!(bare.is_empty() && controls > 3, "{key:?}: {bare:?} of {controls}");
        person.press(Key::Escape);
    }
}
