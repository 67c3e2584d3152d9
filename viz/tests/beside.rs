//! Two logs side by side: what stands where in the other, and their picture.

mod common;

use common::{Tape, training};
use std::path::Path;
use weir::trace::{Record, Source, Stamped, text};
use weir_viz::cli::{self, Picture, PictureError};
use weir_viz::compare::Link;
use weir_viz::model::{Axis, EventIx, Model};
use weir_viz::progress::Progress;
use weir_viz::report;
use weir_viz::scene::{Page, Range, Selection, Size, Theme, View};

/// The same program, whose second log has records put in between that move everything behind them.
fn logs() -> [Vec<Stamped<'static>>; 2] {
    let one = training(1, 2, 12);
    let mut other = Vec::new();
    for stamped in &one {
        if matches!(stamped.record, Record::Mark { .. }) && other.len() > 3 {
            for _ in 0..40 {
                let record = Record::DeviceSynchronized { device: weir::id::DeviceId(0) };
                other.push(Stamped { record, ..*stamped });
            }
        }
        other.push(*stamped);
    }
    let mut number = 0;
    for stamped in &mut other {
        stamped.number = number;
        number += u64::from(!stamped.record.is_definition());
    }
    [one, other]
}

#[test]
fn marks_stand_at_marks_and_ends_at_ends() {
    let logs = logs();
    let [one, other] = logs.map(Model::of);
    let (models, link) = ([&one, &other], Link::of([&one, &other]));
    assert_eq!(link.marks(), 2);
    for axis in [Axis::Record, Axis::Time] {
        for (a, b) in one.marks.iter().zip(&other.marks) {
            let place = |model: &Model, mark: &weir_viz::model::MarkAt| model.events.position(axis, mark.event) as f64;
            assert_eq!(link.place(models, axis, 0, place(&one, a)), place(&other, b));
            assert_eq!(link.place(models, axis, 1, place(&other, b)), place(&one, a));
        }
        let ends = models.map(|model| model.events.extent(axis) as f64);
        assert_eq!(link.place(models, axis, 0, ends[0]), ends[1]);
        assert_eq!(link.place(models, axis, 1, 0.0), 0.0);
        // Never backwards.
        let places: Vec<f64> = (0..100).map(|n| link.place(models, axis, 0, ends[0] * f64::from(n) / 100.0)).collect();
        assert!(places.is_sorted());
    }
}

#[test]
fn the_other_view_follows_in_what_both_have() {
    let logs = logs();
    let [one, other] = logs.map(Model::of);
    let (models, link) = ([&one, &other], Link::of([&one, &other]));
    let size = Size { w: 800.0, h: 600.0 };
    let (mut leader, mut follower) = (View::whole(&one, size), View::whole(&other, size));
    link.follow(models, 0, &leader, &mut follower);
    assert_eq!(follower.x, View::whole(&other, size).x, "whole is whole");
    let from = one.events.position(Axis::Record, one.marks[1].event) as f64;
    leader.x = Range { from, to: from + 10.0 };
    (leader.page, leader.theme) = (Page::Allocations, Theme::Dark);
    leader.listing.query = "stream:1".to_owned();
    link.follow(models, 0, &leader, &mut follower);
    assert_eq!(follower.x.from, other.events.position(Axis::Record, other.marks[1].event) as f64);
    assert_eq!(
        (follower.page, follower.theme, follower.listing.query.as_str()),
        (Page::Allocations, Theme::Dark, "stream:1")
    );
    // Every allocation of the one is in the other, under the same id.
    for at in 0..one.lives.len() {
        let life = weir_viz::model::LifeIx::next_of(at);
        leader.selection = Selection::Life(life);
        link.follow(models, 0, &leader, &mut follower);
        let Selection::Life(there) = follower.selection else { panic!("{life:?} is not there") };
        assert_eq!(other.life(there).id, one.life(life).id);
        assert_eq!(link.life(models, 1, there), Some(life), "and back");
    }
}

/// The second log uses most near its end: each shows its own peak, with who holds it.
#[test]
fn the_peak_of_one_leads_to_the_peak_of_the_other() {
    let [one, mut other] = logs();
    let late = other.len() - 20;
    let mut tape = Tape::default();
    tape.time = other[late].time.0;
    tape.malloc(9_999, 1, 1 << 34, 1 << 33, Source::Grow);
    tape.free(9_999, 1, 1 << 34, 1 << 33);
    other.splice(late..late, tape.records);
    let [one, other] = [one, other].map(Model::of);
    let (models, link) = ([&one, &other], Link::of([&one, &other]));
    let peaks = models.map(|model| model.pools[0].used.peak().1.unwrap());
    let size = Size { w: 1400.0, h: 800.0 };
    let mut views = models.map(|model| View::whole(model, size));
    for (view, model) in views.iter_mut().zip(models) {
        view.page = Page::Findings;
        view.notes.give(model.findings.total(), report::notable(model).into());
    }
    let [leader, follower] = &mut views;
    let row = leader.notes.rows(&one, "").iter().position(|note| note.kind == "peak used").unwrap();
    leader.notes.chosen = Some(row);
    leader.selection = Selection::Event(peaks[0]);
    let at = |model: &Model, event| model.events.position(Axis::Record, event) as f64;
    leader.x = Range { from: at(&one, peaks[0]) - 5.0, to: at(&one, peaks[0]) + 5.0 };
    link.follow(models, 0, leader, follower);
    let aligned = link.place(models, Axis::Record, 0, at(&one, peaks[0]));
    assert!((aligned - at(&other, peaks[1])).abs() > 10.0, "what stands there is not the peak");
    assert_eq!(follower.selection, Selection::Event(peaks[1]));
    assert!((follower.x.from..follower.x.to).contains(&at(&other, peaks[1])));
    let words = |view: &View, model: &Model| view.chosen_note(model).unwrap().words;
    assert!(words(follower, &other).contains("; most of it: ") && words(follower, &other) != words(leader, &one));
    // In the map, too; until something else is selected.
    leader.page = Page::Addresses;
    link.follow(models, 0, leader, follower);
    assert_eq!(follower.selection, Selection::Event(peaks[1]));
    leader.selection = Selection::Event(EventIx(3));
    link.follow(models, 0, leader, follower);
    assert_ne!(follower.selection, Selection::Event(peaks[1]));
}

fn write(name: &str, records: &[Stamped<'_>]) -> std::path::PathBuf {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in records {
        text::write(stamped, &mut lines).unwrap();
        lines.push('\n');
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, lines).unwrap();
    path
}

#[test]
fn one_picture_shows_both() {
    let [one, other] = logs();
    let logs = [write("beside-one.log", &one), write("beside-other.log", &other)];
    let paths = [logs[0].as_path(), logs[1].as_path()];
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside.svg");
    let picture = Picture { size: Size { w: 1600.0, h: 700.0 }, select: Some(3), ..Picture::default() };
    let damages = cli::screenshot_beside(paths, &out, &picture, &Progress::default()).unwrap();
    assert!(damages.is_empty(), "{damages:?}");
    let svg = std::fs::read_to_string(&out).unwrap();
    assert!(svg.contains("beside-one.log") && svg.contains("beside-other.log"));
    assert!(svg.contains("width=\"1600\""), "{}", &svg[..200]);
    let csv = cli::screenshot_beside(paths, Path::new("x.csv"), &picture, &Progress::default()).unwrap_err();
    assert!(matches!(csv, PictureError::TwoTables));
    let missing =
        cli::screenshot_beside([paths[0], Path::new("none.log")], &out, &picture, &Progress::default()).unwrap_err();
    assert!(missing.to_string().contains("none.log"));
}
