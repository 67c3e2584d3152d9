//! What is drawn and told, as a person asks for it: stacks, colours, findings, explanations. By keys and names.

use super::Person;
use crate::tests::app;
use eframe::egui::Key;
use std::path::Path;
use std::sync::Arc;
use weir::trace::text;
use weir_viz::cli::Picture;
use weir_viz::model::{By, LifeIx};
use weir_viz::scene::{Answer, ColorBy, Page, Selection, View};
use weir_viz::source;

#[path = "../../../../tests/runtime/mod.rs"]
mod runtime;

/// At the log of a real runtime.
fn person() -> Person {
    let bytes = runtime::bytes();
    let opened = source::read("answer.log", &bytes).expect("a log");
    Person::at(app(opened, bytes, Path::new("answer.log"), &Picture::default()))
}

#[test]
fn keys_go_through_the_stacks_and_colours() {
    let mut person = person();
    for stack in [Some(By::Label), Some(By::Stream), Some(By::Size), None] {
        person.press(Key::K);
        assert_eq!(person.app().view.stack, stack);
    }
    for color in [ColorBy::Label, ColorBy::Age, ColorBy::Source, ColorBy::Stream] {
        person.press(Key::C);
        assert_eq!(person.app().view.color, color);
    }
}

#[test]
fn the_palette_has_every_stack_and_colour_by_name() {
    let mut person = person();
    for (typed, stack, color) in [
        ("stack by size", Some(By::Size), ColorBy::Stream),
        ("colour by age", Some(By::Size), ColorBy::Age),
        ("stack by stream", Some(By::Stream), ColorBy::Age),
        ("stack by label", Some(By::Label), ColorBy::Age),
        ("not stack", None, ColorBy::Age),
        ("colour by source", None, ColorBy::Source),
        ("colour by label", None, ColorBy::Label),
        ("colour by stream", None, ColorBy::Stream),
    ] {
        person.control(Key::P);
        person.write(typed);
        person.press(Key::Enter);
        assert_eq!((person.app().view.stack, person.app().view.color), (stack, color), "{typed}");
    }
}

#[test]
fn the_keys_are_in_the_sheet() {
    let mut person = person();
    person.press(Key::Questionmark);
    for name in ["Next way to stack the chart", "Next colouring of the map", "Show the findings"] {
        assert!(person.sees(name), "{name}");
    }
}

#[test]
fn the_findings_are_walked_through_by_keys_and_enter_shows_the_place() {
    let mut person = person();
    person.press(Key::Num8);
    assert_eq!(person.app().view.page, Page::Findings);
    person.wait_for_answer();
    person.press(Key::ArrowDown);
    assert_eq!(person.app().view.notes.chosen, Some(0));
    let first = person.app().view.selection;
    assert_ne!(first, Selection::Nothing);
    person.press(Key::ArrowDown);
    assert_ne!(person.app().view.selection, first);
    person.press(Key::Enter);
    assert_eq!(person.app().view.page, Page::Addresses);
}

/// From the search box to the explanation, without a mouse.
#[test]
fn a_malloc_that_was_found_is_explained() {
    let mut person = person();
    person.control(Key::F);
    person.write("2");
    person.press(Key::Enter);
    assert_eq!(person.app().view.selection, Selection::Life(LifeIx(1)));
    person.wait_for_answer();
    assert!(matches!(person.app().view.answer, Some((_, Answer::Told(_)))));
    assert!(person.sees("stream order: a block of 4 MiB is free"), "who does not see it is told");
    // Asked again, it is known at once.
    person.press(Key::Escape);
    person.press(Key::Escape);
    assert_eq!(person.app().view.answer, None);
}

/// A log that is too long to be summed up between two frames: until that is done beside the window, the last picture stays.
#[test]
fn a_long_log_is_summed_up_beside_the_window() {
    let lines: String =
        (0..100_100).map(|n| format!("number={n} time={n} record=mark label=0 length=1 name=m\n")).collect();
    let pool = "number=0 time=0 record=pool_created pool=0\n";
    let opened = source::read("long.log", format!("{}\n{pool}{lines}", text::HEADER).as_bytes()).expect("a log");
    let mut person = Person::at(app(opened, Vec::new(), Path::new("long.log"), &Picture::default()));
    let look = View { stack: Some(By::Size), color: ColorBy::Age, ..person.app().view.clone() };
    let (context, opened) = (person.0.ctx.clone(), Arc::clone(&person.app().opened));
    let asking = &mut person.0.state_mut().document_mut().unwrap().asking;
    assert!(!asking.is_ready(&opened, &look, &context) && asking.is_preparing());
    asking.wait();
    assert!(asking.is_ready(&opened, &look, &context) && !asking.is_preparing());
    // What is shown in the end is what was asked for.
    for key in [Key::K, Key::C] {
        person.press(key);
        person.wait_for_answer();
        assert_eq!(person.app().shown(), Some(&person.app().view), "{key:?}");
    }
    assert_eq!((person.app().view.stack, person.app().view.color), (Some(By::Label), ColorBy::Label));
}
