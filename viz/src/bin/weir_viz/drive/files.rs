//! Files as a person opens them and reads them again.

use super::{Person, anywhere, log_of_marks};
use crate::command::Does;
use crate::recent::Recent;
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use tempfile::tempdir;

#[test]
fn without_a_log_the_window_says_how_to_open_one() {
    let folder = tempdir().unwrap();
    let (log, list) = (log_of_marks(folder.path(), "a.log", 3), folder.path().join("recent.json"));
    let mut person = Person::nowhere(Recent::at(list.clone()));
    assert!(person.sees("Drop a log on this window") && !person.sees("Opened before"));
    for key in [Key::L, Key::W, Key::M, Key::Escape] {
        person.press(key);
    }
    person.drop(&log);
    assert_eq!(person.records(), 3);
    // Another window offers it.
    let mut person = Person::nowhere(Recent::at(list));
    person.click(&log.display().to_string());
    person.read();
    assert_eq!(person.records(), 3);
}

#[test]
fn a_file_is_chosen_by_keys() {
    let folder = tempdir().unwrap();
    std::fs::create_dir(folder.path().join("deeper")).unwrap();
    log_of_marks(folder.path(), "deeper/one.log", 3);
    log_of_marks(folder.path(), "deeper/other.log", 4);
    let mut person = Person::new(&log_of_marks(folder.path(), "first.log", 1));
    person.control(Key::O);
    assert!(person.sees("first.log") && person.sees("deeper/"));
    person.write("deep");
    assert!(!person.sees("first.log"));
    person.press(Key::Enter);
    assert!(person.sees("one.log") && person.sees("other.log"));
    person.press(Key::ArrowDown);
    person.press(Key::ArrowDown);
    person.press(Key::Enter);
    person.read();
    assert_eq!(person.records(), 4);
    person.press(Key::O);
    assert!(person.sees("Opened before") && person.sees("other.log"));
    person.press(Key::Escape);
    person.control(Key::O);
    person.write("no such folder/x");
    assert!(person.sees("No such file or directory"));
    person.press(Key::Escape);
    assert!(!person.sees("Up and Down choose"));
}

#[test]
fn an_absolute_path_takes_the_folders_place_and_stays_when_it_cannot_be_opened() {
    let folder = tempdir().unwrap();
    let mut person = Person::new(&log_of_marks(folder.path(), "first.log", 1));
    let gone = folder.path().join("gone.log");
    person.control(Key::O);
    person.write(&gone.display().to_string());
    person.press(Key::Enter);
    person.read();
    assert!(person.sees("Open a log") && person.sees("there is no such file"));
    let heading = format!("Cannot show {}", gone.display());
    assert_eq!(person.0.query_all_by_label_contains(&heading).count(), 1, "told once, with the path as it was typed");
    assert_eq!(person.0.get_by_label("File").value().as_deref(), gone.to_str(), "it can be corrected");
    log_of_marks(folder.path(), "gone.log", 7);
    person.press(Key::Enter);
    person.read();
    assert_eq!(person.records(), 7);
    assert!(!person.sees("Open a log beside") && !person.sees("Cannot show"));
}

#[test]
fn what_cannot_be_opened_leaves_what_is_shown() {
    let folder = tempdir().unwrap();
    let bad = folder.path().join("bad.log");
    std::fs::write(&bad, "no log at all").unwrap();
    let mut person = Person::new(&anywhere());
    person.press(Key::W);
    let before = person.app().view.x;
    person.drop(&bad);
    assert!(person.sees("Cannot show") && person.sees("this is not an event log of weir"));
    assert!(person.sees("Expected: pages that begin with"), "it says what to do");
    assert_eq!((person.records(), person.app().view.x), (82, before));
    person.press(Key::Escape);
    assert!(!person.sees("Cannot show"));
    person.drop(&bad);
    person.click("Close (Esc)");
    assert!(!person.sees("Cannot show"));
}

#[test]
fn a_log_is_read_again_and_the_view_stays() {
    let folder = tempdir().unwrap();
    let log = log_of_marks(folder.path(), "a.log", 100);
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    person.press(Key::Num2);
    person.press(Key::W);
    person.press(Key::L);
    let before = person.app().view.clone();
    log_of_marks(folder.path(), "a.log", 120);
    person.press(Key::F5);
    person.read();
    let now = &person.app().view;
    assert_eq!(person.records(), 120);
    assert_eq!((now.page, now.x, now.theme), (before.page, before.x, before.theme));
    std::fs::remove_file(&log).unwrap();
    person.control(Key::R);
    person.read();
    assert!(person.sees("there is no such file"));
    assert_eq!(person.records(), 120);
}

#[test]
fn reading_is_stopped() {
    let folder = tempdir().unwrap();
    let log = log_of_marks(folder.path(), "a.log", 9);
    let mut person = Person::new(&anywhere());
    let context = person.0.ctx.clone();
    person.0.state_mut().open(log, &context);
    // Before a frame could take what was read.
    person.0.state_mut().perform(Does::Escape, &context);
    person.wait();
    assert_eq!(person.records(), 82, "what was shown is shown yet");
    assert!(person.sees("stopped reading") && !person.sees("Stop (Esc)"));
}
