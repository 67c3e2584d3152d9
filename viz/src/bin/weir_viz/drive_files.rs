//! Files as a person opens, reads again and follows them, and what is kept beside them. By keys and names.

use crate::app::App;
use crate::command::Does;
use crate::drive::{Person, anywhere};
use crate::failure::Outcome;
use crate::recent::Recent;
use eframe::egui::{DroppedFile, Key};
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weir::trace::text;
use weir_viz::cli::{Picture, Sessions};
use weir_viz::follow::Feed;
use weir_viz::scene::Page;

/// A folder of this test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("weir-viz-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// A log of so many marks.
    fn log(&self, name: &str, marks: u64) -> PathBuf {
        let mut lines = format!("{}\n", text::HEADER);
        for number in 0..marks {
            lines += &format!("number={number} time={number} record=mark label=0 length=1 name=m\n");
        }
        let log = self.0.join(name);
        std::fs::write(&log, lines).unwrap();
        log
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Person {
    /// Before a window without a log.
    fn nowhere(recent: Recent) -> Self {
        Self::at(App::new(Picture::default(), Sessions::Kept, recent, Outcome::default()))
    }

    /// Until what is being read is there.
    fn read(&mut self) {
        self.0.state_mut().wait_for_loading();
        self.wait();
    }

    fn records(&self) -> usize {
        self.app().model().events.len()
    }

    fn drop(&mut self, log: &Path) {
        self.0.input_mut().dropped_files.push(Arc::new(Dropped(log.to_owned())));
        self.0.step();
        self.0.input_mut().dropped_files.clear();
        self.read();
    }
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

#[test]
fn without_a_log_the_window_says_how_to_open_one() {
    let folder = Folder::new("start");
    let (log, list) = (folder.log("a.log", 3), folder.0.join("recent.json"));
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
    let folder = Folder::new("choose");
    std::fs::create_dir(folder.0.join("deeper")).unwrap();
    folder.log("deeper/one.log", 3);
    folder.log("deeper/other.log", 4);
    let mut person = Person::new(&folder.log("first.log", 1));
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
    let folder = Folder::new("absolute");
    let mut person = Person::new(&folder.log("first.log", 1));
    let gone = folder.0.join("gone.log");
    person.control(Key::O);
    person.write(&gone.display().to_string());
    person.press(Key::Enter);
    person.read();
    assert!(person.sees("Open a log") && person.sees("there is no such file"));
    let heading = format!("Cannot show {}", gone.display());
    assert_eq!(person.0.query_all_by_label_contains(&heading).count(), 1, "told once, with the path as it was typed");
    assert_eq!(person.0.get_by_label("File").value().as_deref(), gone.to_str(), "it can be corrected");
    folder.log("gone.log", 7);
    person.press(Key::Enter);
    person.read();
    assert_eq!(person.records(), 7);
    assert!(!person.sees("Open a log beside") && !person.sees("Cannot show"));
}

#[test]
fn what_cannot_be_opened_leaves_what_is_shown() {
    let folder = Folder::new("failure");
    let bad = folder.0.join("bad.log");
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
    let folder = Folder::new("reload");
    let log = folder.log("a.log", 100);
    let mut person = Person::nowhere(Recent::default());
    person.drop(&log);
    person.press(Key::Num2);
    person.press(Key::W);
    person.press(Key::L);
    let before = person.app().view.clone();
    folder.log("a.log", 120);
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
    let folder = Folder::new("stop");
    let log = folder.log("a.log", 9);
    let mut person = Person::new(&anywhere());
    let context = person.0.ctx.clone();
    person.0.state_mut().open(log, &context);
    // Before a frame could take what was read.
    person.0.state_mut().perform(Does::Escape, &context);
    person.wait();
    assert_eq!(person.records(), 82, "what was shown is shown yet");
    assert!(person.sees("stopped reading") && !person.sees("Stop (Esc)"));
}

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
    let folder = Folder::new("follow");
    let log = folder.log("a.log", 0);
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
    folder.log("a.log", 5);
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
    let folder = Folder::new("follow-foreign");
    let log = folder.0.join("a.csv");
    std::fs::write(&log, "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000000,allocate,0x1000,512,0\n").unwrap();
    let mut person = Person::nowhere(Recent::default());
    let context = person.0.ctx.clone();
    person.0.state_mut().follow(Feed::File(log), &context);
    until(&mut person, |p| p.sees("another allocator's log"));
    person.0.state_mut().follow(Feed::File(folder.0.join("none.log")), &context);
    person.wait();
    assert!(person.sees("cannot be read"));
}

#[test]
fn a_session_is_kept_beside_the_log() {
    let folder = Folder::new("session");
    let log = folder.log("a.log", 50);
    let file = folder.0.join("a.log.weir-session.json");
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
    let aside = folder.0.join("a.log.weir-session.json.damaged-1");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "{\"page\": \"lanes\", \"marks\": 7}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"marks\": []"));
}

#[test]
fn two_logs_are_looked_at_together() {
    let folder = Folder::new("beside");
    let (one, other) = (folder.log("one.log", 100), folder.log("other.log", 200));
    let mut person = Person::new(&folder.0.join("first.log"));
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
    assert!(std::fs::read(folder.0.join("one-beside-1.png")).unwrap().starts_with(b"\x89PNG"));
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
