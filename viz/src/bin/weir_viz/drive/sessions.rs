//! What is kept beside a log.

use super::{Person, log_of_marks};
use crate::recent::Recent;
use eframe::egui::Key;
use tempfile::tempdir;
use weir_viz::scene::Page;

#[test]
fn a_session_is_kept_beside_the_log() {
    let folder = tempdir().unwrap();
    let log = log_of_marks(folder.path(), "a.log", 50);
    let file = folder.path().join("a.log.weir-session.json");
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    assert!(!file.exists(), "nothing changed yet");
    person.press(Key::Period);
    person.press(Key::M);
    person.write("here");
    person.press(Key::Enter);
    person.press(Key::Num5);
    person.press(Key::W);
    person.press(Key::L);
    let before = person.app().view.clone();
    // Written once nothing changes any more.
    person.0.run_steps(90);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"here\""));
    drop(person);
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    let now = &person.app().view;
    assert_eq!((now.page, now.x, now.theme, &now.marks), (before.page, before.x, before.theme, &before.marks));
    // A damaged one is told, and put aside when there is another one.
    std::fs::write(&file, "{\"page\": \"lanes\", \"marks\": 7}").unwrap();
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    assert!(person.sees("`marks` makes no sense"));
    assert_eq!(person.app().view.page, Page::Lanes, "the rest of it holds");
    person.press(Key::W);
    drop(person);
    let aside = folder.path().join("a.log.weir-session.json.damaged-1");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"page\": \"lanes\", \"marks\": 7}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"marks\": []"));
}
