//! The marks of the user.

use super::{Person, anywhere};
use eframe::egui::Key;

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
