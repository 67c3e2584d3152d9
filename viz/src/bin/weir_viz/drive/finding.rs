//! What is looked for.

use super::{Person, anywhere};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use weir_viz::model::LifeIx;
use weir_viz::scene::{Page, Selection};

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
