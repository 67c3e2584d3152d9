//! Two logs side by side.

use super::{Dropped, Person, log_of_marks};
use eframe::egui::Key;
use std::sync::Arc;
use tempfile::tempdir;
use weir_viz::scene::Page;

#[test]
fn two_logs_are_looked_at_together() {
    let folder = tempdir().unwrap();
    let (one, other) = (log_of_marks(folder.path(), "one.log", 100), log_of_marks(folder.path(), "other.log", 200));
    let mut person = Person::new(&folder.path().join("first.log"));
    // Two that are dropped at once stand side by side.
    for log in [&one, &other] {
        person.0.input_mut().dropped_files.push(Arc::new(Dropped(log.clone())));
    }
    person.0.step();
    person.0.input_mut().dropped_files.clear();
    person.read();
    person.read();
    assert!(person.sees("100 of 100 records in sight") && person.sees("200 of 200 records in sight"));
    assert_eq!(person.records(), 100, "the first is worked on");
    person.press(Key::W);
    person.press(Key::Num2);
    let range = person.app().view.x;
    person.press(Key::X);
    assert_eq!(person.records(), 200);
    assert_eq!(person.app().view.page, Page::Lanes);
    assert!((person.app().view.x.from - range.from).abs() < 1.0, "mark for mark");
    person.press(Key::A);
    person.press(Key::X);
    assert!(person.app().view.x.from < range.from, "the first follows the second, too");
    person.control(Key::E);
    assert!(person.sees("one-beside-1.png"));
    assert!(std::fs::read(folder.path().join("one-beside-1.png")).unwrap().starts_with(b"\x89PNG"));
    person.control(Key::W);
    person.press(Key::X);
    assert!(person.sees("there is one log"));
    person.control(Key::B);
    assert!(person.sees("Open a log beside this one"));
    person.write("other.log");
    person.press(Key::Enter);
    person.read();
    assert!(person.sees("of 200 records in sight"));
}
