//! What is kept of how a log was looked at.

mod common;

use common::training;
use std::path::{Path, PathBuf};
use weir_viz::model::{Axis, EventIx, Model};
use weir_viz::scene::{Page, Range, Size, Theme, View};
use weir_viz::session::{Look, Session};

fn look(model: &Model) -> Look {
    Look { view: View::whole(model, Size { w: 800.0, h: 600.0 }), follows_system: true }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("session-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn changed(model: &Model) -> Look {
    let mut look = look(model);
    let view = &mut look.view;
    (view.axis, view.page, view.theme) = (Axis::Time, Page::Allocations, Theme::Dark);
    view.fit(model);
    view.x = Range { from: view.x.to * 0.25, to: view.x.to * 0.5 };
    view.y = Range { from: view.y.to * 0.5, to: view.y.to * 0.75 };
    view.listing.query = "stream:1".to_owned();
    view.sort_by(2);
    view.set_mark(EventIx(9), "nine");
    view.set_mark(EventIx(4), "four");
    look.follows_system = false;
    look
}

#[test]
fn what_was_kept_is_what_is_shown_again() {
    let (model, log) = (Model::of(training(1, 2, 12)), folder("kept").join("a.log"));
    let before = changed(&model);
    let mut session = Session::beside(&log);
    assert_eq!(session.file().file_name().unwrap(), "a.log.weir-session.json");
    session.write(&before, &model).unwrap();
    let mut after = look(&model);
    assert_eq!(Session::beside(&log).read(&mut after, &model, &[]), None);
    assert_eq!(after, before);
    // What the command line says goes before it.
    let mut given = look(&model);
    Session::beside(&log).read(&mut given, &model, &["view".to_owned(), "theme".to_owned()]);
    assert_eq!((given.view.page, given.view.theme, given.follows_system), (Page::Addresses, Theme::Light, true));
    assert_eq!(given.view.x, before.view.x);
}

#[test]
fn a_session_of_a_longer_log_fits_into_this_one() {
    let log = folder("longer").join("a.log");
    let long = Model::of(training(1, 2, 12));
    let short = (0..).map(|n| Model::of(training(1, 2, 12).into_iter().take(n))).find(|m| m.events.len() == 6).unwrap();
    Session::beside(&log).write(&changed(&long), &long).unwrap();
    let mut after = look(&short);
    assert_eq!(Session::beside(&log).read(&mut after, &short, &[]), None);
    assert!(after.view.x.to <= short.events.extent(Axis::Time) as f64);
    let names: Vec<&str> = after.view.marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, ["four"], "the other record is not there");
}

#[test]
fn damage_is_told_and_never_written_over() {
    let (model, folder) = (Model::of(training(1, 2, 12)), folder("damaged"));
    let log = folder.join("a.log");
    let file = Session::beside(&log).file().to_owned();
    let deep = "[".repeat(100_000);
    let texts =
        ["", "[]", "{", "\u{0}", "{\"range\": [2, 1]}", "{\"marks\": [{\"record\": -1}]}", "{\"theme\": 3}", &deep];
    for (at, text) in texts.iter().enumerate() {
        std::fs::write(&file, text).unwrap();
        let mut session = Session::beside(&log);
        let mut after = look(&model);
        let wrong = session.read(&mut after, &model, &[]).unwrap_or_else(|| panic!("{text} was taken"));
        assert!(wrong.contains("put aside"), "{wrong}");
        let written = session.write(&changed(&model), &model);
        let aside = folder.join(format!("a.log.weir-session.json.damaged-{}", at + 1));
        assert!(written.is_ok() && std::fs::read_to_string(aside).unwrap() == *text, "{written:?}");
    }
    // So many are put aside; then what is there stays.
    for _ in texts.len()..20 {
        std::fs::write(&file, "last").unwrap();
        let mut session = Session::beside(&log);
        assert!(session.read(&mut look(&model), &model, &[]).is_some());
        let _ = session.write(&changed(&model), &model);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "last");
}

#[test]
fn what_a_later_version_keeps_is_not_lost() {
    let (model, log) = (Model::of(training(1, 2, 12)), folder("later").join("a.log"));
    let mut session = Session::beside(&log);
    std::fs::write(session.file(), "{\"page\": \"lanes\", \"holograms\": {\"on\": true}}").unwrap();
    let mut after = look(&model);
    assert_eq!(session.read(&mut after, &model, &[]), None);
    after.view.page = Page::Flows;
    session.write(&after, &model).unwrap();
    let text = std::fs::read_to_string(session.file()).unwrap();
    assert!(text.contains("holograms") && text.contains("\"flows\""), "{text}");
}

#[test]
fn where_nothing_can_be_written_nothing_is() {
    let model = Model::of(training(1, 2, 12));
    let mut session = Session::beside(Path::new("/no/such/folder/a.log"));
    assert_eq!(session.read(&mut look(&model), &model, &[]), None);
    assert!(session.write(&changed(&model), &model).is_err());
}

#[test]
fn the_users_marks_are_in_the_picture_beside_the_logs_own() {
    let model = Model::of(training(1, 2, 12));
    let mut view = look(&model).view;
    let plain = weir_viz::svg::write(&weir_viz::scene::build(&model, &view).0);
    view.set_mark(EventIx(9), "the user's");
    let (scene, frame) = weir_viz::scene::build(&model, &view);
    let marked = weir_viz::svg::write(&scene);
    assert!(!plain.contains("the user") && marked.contains("the user"));
    // Its line goes from the chart to the axis, where the record stands.
    let x = frame.map.x.pixel(model.events.position(Axis::Record, EventIx(9)) as f64).round();
    let is_line = |shape: &weir_viz::scene::Shape| match shape {
        weir_viz::scene::Shape::Line { points, .. } => {
            points.len() == 2 && points.iter().all(|p| p.x == x) && points[1].y == frame.axis
        }
        _ => false,
    };
    assert!(scene.shapes.iter().any(is_line));
    view.set_mark(EventIx(9), " ");
    assert!(view.marks.is_empty());
}
