//! A log that grows.

use super::{Person, log_of_marks};
use crate::recent::Recent;
use eframe::egui::Key;
use std::path::Path;
use tempfile::tempdir;
use weir::trace::text;
use weir_viz::follow::Feed;

/// Frames until this holds; what is followed comes when it comes.
fn until(person: &mut Person, holds: impl Fn(&Person) -> bool) {
    for _ in 0..2000 {
        person.0.step();
        if holds(person) {
            return person.wait();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("it never came");
}

fn append(log: &Path, from: u64, to: u64) {
    let lines: String =
        (from..to).map(|n| format!("number={n} time={n} record=mark label=0 length=1 name=m\n")).collect();
    std::io::Write::write_all(&mut std::fs::File::options().append(true).open(log).unwrap(), lines.as_bytes()).unwrap();
}

#[test]
fn a_log_is_followed_as_it_grows_and_pauses() {
    let folder = tempdir().unwrap();
    let log = log_of_marks(folder.path(), "a.log", 0);
    let mut person = Person::nowhere(Recent::default());
    let context = person.0.ctx.clone();
    person.0.state_mut().follow(Feed::File(log.clone()), &context);
    person.wait();
    assert!(person.sees("no record came yet"));
    append(&log, 0, 10);
    let has =
        |records: usize| move |p: &Person| p.0.state().document().is_some_and(|d| d.model().events.len() == records);
    until(&mut person, has(10));
    assert_eq!(person.app().view.x.to, 10.0, "all of it is shown");
    append(&log, 10, 30);
    until(&mut person, has(30));
    assert_eq!(person.app().view.x.to, 30.0, "and stays so");
    person.press(Key::W);
    person.press(Key::G);
    assert!(person.sees("paused: "));
    append(&log, 30, 40);
    let before = person.app().view.x;
    std::thread::sleep(std::time::Duration::from_millis(300));
    person.wait();
    assert_eq!(person.records(), 30);
    person.press(Key::G);
    until(&mut person, has(40));
    assert_eq!(person.app().view.x, before, "a range in the middle stays");
    assert!(person.sees("following "));
    // Cut, and written anew.
    log_of_marks(folder.path(), "a.log", 5);
    until(&mut person, has(5));
    // What is shown can be followed, too.
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    person.press(Key::G);
    append(&log, 5, 9);
    until(&mut person, has(9));
}

#[test]
fn bytes_that_are_no_log_are_told_while_it_is_followed() {
    let mut person = Person::nowhere(Recent::default());
    let context = person.0.ctx.clone();
    person.0.state_mut().follow(Feed::Tcp(0), &context);
    person.wait();
    let name = person.0.state().following().unwrap().name.clone();
    let send = |bytes: &str| {
        let mut stream = std::net::TcpStream::connect(&name).unwrap();
        std::io::Write::write_all(&mut stream, bytes.as_bytes()).unwrap();
        stream
    };
    let told = "what came is not an event log of weir; it begins with `GET / HTTP/1.1";
    let open = send("GET / HTTP/1.1\n\n");
    until(&mut person, |p| p.sees(told));
    // The next connection is a log, and what comes behind its records is none.
    drop(open);
    let lines = format!("{}\nnumber=0 time=0 record=mark label=0 length=1 name=m\nnumber=1 ti", text::HEADER);
    let mut open = send(&lines);
    until(&mut person, |p| p.0.state().document().is_some());
    assert!(!person.sees("is not an event log"));
    std::io::Write::write_all(&mut open, b"hello\n").unwrap();
    until(&mut person, |p| {
        p.sees("what came after the last record is not an event log of weir; it begins with `number=1 tihello`")
    });
    assert_eq!(person.records(), 1, "what was read is shown yet");
}

#[test]
fn what_cannot_be_followed_is_told() {
    let folder = tempdir().unwrap();
    let log = folder.path().join("a.csv");
    std::fs::write(&log, "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000000,allocate,0x1000,512,0\n").unwrap();
    let mut person = Person::nowhere(Recent::default());
    let context = person.0.ctx.clone();
    person.0.state_mut().follow(Feed::File(log), &context);
    until(&mut person, |p| p.sees("another allocator's log"));
    person.0.state_mut().follow(Feed::File(folder.path().join("none.log")), &context);
    person.wait();
    assert!(person.sees("cannot be read"));
}
