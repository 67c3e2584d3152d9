//! The page of findings: what check and report say, in rows that lead to their places.

mod common;

use common::{GRANULE, POOL, Tape, stream};
use weir::error::Point;
use weir::id::LabelId;
use weir::policy::UseUntil;
use weir::trace::{Record, Refusal, Source, Verb};
use weir::units::{Bytes, GIB, Seq};
use weir_viz::check::{Checker, Told};
use weir_viz::model::{EventIx, LifeIx, Model, PoolIx};
use weir_viz::report::{self, Notable, Place};
use weir_viz::scene::{self, Frame, Input, Page, Parts, ROW, Selection, Shape, Size, View, pos};

/// A log with something of each kind: two peaks, a block freed late, thrash, two refusals, an inserted wait, a leak.
fn log() -> (Model, Tape) {
    let mut tape = Tape::begin(4 * GIB, 0, 2);
    tape.map(0, 8);
    tape.malloc(1, 0, 0, GRANULE, Source::Grow);
    let id = weir::id::AllocId(1);
    tape.time = 5_000;
    tape.push(Record::Use { pool: POOL, id, stream: stream(1), seq: Seq(1), until: UseUntil::Now });
    tape.time = 25_000;
    tape.malloc(2, 1, GRANULE, 3 * GRANULE, Source::Grow);
    tape.push(Record::Kept { pool: POOL, kept: Bytes(GRANULE), thrash: Bytes(GRANULE) });
    tape.push(Record::Kept { pool: POOL, kept: Bytes(GRANULE), thrash: Bytes(2 * GRANULE) });
    tape.push(Record::Kept { pool: POOL, kept: Bytes(GRANULE), thrash: Bytes(2 * GRANULE) });
    for _ in 0..2 {
        tape.push(Record::Refused {
            verb: Verb::Malloc,
            pool: Some(POOL),
            stream: Some(stream(0)),
            size: Bytes(9 * GIB),
            reason: Refusal::AboveLimit(Bytes(4 * GIB)),
        });
    }
    let on = Point { stream: stream(1), seq: Seq(1) };
    tape.push(Record::WaitInserted { stream: stream(0), seq: Seq(3), marker: 1, on });
    tape.free(1, 0, 0, GRANULE);
    tape.push(Record::Mark { label: LabelId::NONE, name: weir_viz::check::END_OF_PROGRAM });
    let mut checker = Checker::new(Told::Accept);
    tape.records.iter().for_each(|record| checker.push(record));
    let mut model = Model::of(tape.records.iter().copied());
    model.take_findings(checker.finish());
    (model, tape)
}

fn of_kind(list: &[Notable], kind: &str) -> Vec<(Place, String)> {
    list.iter().filter(|n| n.kind == kind).map(|n| (n.place, n.words.clone())).collect()
}

fn event(model: &Model, number: u64) -> Place {
    let found = (0..model.events.len() as u32).map(EventIx).find(|e| model.events.number(*e) == number);
    Place::Event(found.unwrap())
}

#[test]
fn what_check_and_report_say_is_listed_with_its_place() {
    let (model, _) = log();
    let list = report::notable(&model);
    // Begin, pool and streams are records 0 to 3, then: 4 map, 5 malloc, 6 use, 7 malloc, 8 to 10 kept, 11 and 12 refused,
    // 13 the wait, 14 the free, 15 the mark.
    let (used, reserved) = (of_kind(&list, "peak used"), of_kind(&list, "peak reserved"));
    assert_eq!(used.len(), 1);
    assert_eq!(used[0].0, event(&model, 7));
    assert!(used[0].1.starts_with("8 MiB; most of it: 6 MiB in 1 blocks"), "{}", used[0].1);
    assert_eq!(reserved, [(event(&model, 4), "16 MiB".to_owned())]);
    let idle = of_kind(&list, "idle");
    assert_eq!(idle, [(Place::Life(LifeIx(0)), "#1, 2 MiB: allocated 5.000 µs early, freed 20.00 µs late".to_owned())]);
    let thrash = of_kind(&list, "thrash");
    assert_eq!(thrash.len(), 1);
    assert_eq!(thrash[0].0, event(&model, 9), "the first that tells of all of it");
    assert!(thrash[0].1.starts_with("4 MiB"));
    let refused = of_kind(&list, "refused");
    assert_eq!(refused[0].0, event(&model, 11));
    assert!(refused[0].1.starts_with("2 x malloc, above limit; first: 9 GiB"), "{}", refused[0].1);
    let waits = of_kind(&list, "inserted wait");
    assert_eq!(waits[0].0, event(&model, 13));
    assert!(waits[0].1.starts_with("1 x stream 0 for stream 1"), "{}", waits[0].1);
    let live = of_kind(&list, "live at end");
    assert_eq!(live, [(Place::Life(LifeIx(1)), "6 MiB in 1 blocks, the largest #2".to_owned())]);
    let leak = of_kind(&list, "leak");
    assert_eq!(leak.len(), 1, "{list:?}");
    let Place::Finding(at) = leak[0].0 else { panic!("{leak:?}") };
    assert_eq!(model.findings.flag(at).unwrap().finding.allocation, Some(weir::id::AllocId(2)));
    assert!(list.first().unwrap().is_wrong(), "what is wrong comes first");
}

fn shown(model: &Model) -> (View, Frame) {
    let mut view = View::whole(model, Size { w: 1400.0, h: 900.0 });
    (view.parts, view.page) = (Parts::WithList, Page::Findings);
    let frame = scene::build(model, &view).1;
    (view, frame)
}

#[test]
fn a_click_on_each_row_goes_to_its_place() {
    let (model, _) = log();
    let list = report::notable(&model);
    for (row, notable) in list.iter().enumerate() {
        let (mut view, frame) = shown(&model);
        let area = frame.map.area;
        view.apply(&model, &frame, Input::Click(pos(area.x + 40.0, area.y + (row as f32 + 1.5) * ROW)));
        match notable.place {
            Place::Finding(at) => assert_eq!(view.selection, Selection::Finding(at)),
            Place::Life(at) => assert_eq!(view.selection, Selection::Life(at)),
            Place::Event(at) => assert_eq!(view.selection, Selection::Event(at)),
        }
        let place = f64::from(notable.event(&model).unwrap().0);
        assert!(view.x.from <= place && place <= view.x.to, "row {row}: {:?}", view.x);
        assert_eq!((view.page, view.pool), (Page::Findings, PoolIx(0)));
        view.apply(&model, &frame, Input::Go);
        assert_eq!(view.page, Page::Addresses, "Enter shows it there");
    }
}

#[test]
fn steps_go_from_row_to_row_and_the_search_narrows_them_down() {
    let (model, _) = log();
    let (mut view, frame) = shown(&model);
    let rows = report::notable(&model).len();
    for row in 0..rows + 2 {
        view.apply(&model, &frame, Input::Step(1));
        assert_eq!(view.notes.chosen, Some(row.min(rows - 1)));
    }
    view.apply(&model, &frame, Input::Step(-1));
    assert_eq!(view.notes.chosen, Some(rows - 2));
    view.listing.query = "Peak 8".to_owned();
    let (scene, _) = scene::build(&model, &view);
    let texts = |part: &str| {
        let has = |shape: &&Shape| matches!(shape, Shape::Text(text) if text.text == part);
        scene.shapes.iter().filter(has).count()
    };
    assert_eq!(
        (texts("peak used") + texts("peak reserved"), texts("inserted wait")),
        (1, 1),
        "the strip has a row of that"
    );
}

#[test]
fn a_long_list_scrolls() {
    let mut tape = Tape::begin(4 * GIB, 0, 1);
    tape.map(0, 1000);
    for id in 1..200 {
        tape.malloc(id, 0, id * GRANULE, GRANULE, Source::Grow);
        tape.free(id, 0, id * GRANULE, GRANULE);
        tape.free(id, 0, id * GRANULE, GRANULE);
    }
    let mut checker = Checker::new(Told::Accept);
    tape.records.iter().for_each(|record| checker.push(record));
    let mut model = Model::of(tape.records.iter().copied());
    model.take_findings(checker.finish());
    let (mut view, frame) = shown(&model);
    view.apply(&model, &frame, Input::ScrollTable(50.0));
    assert_eq!(view.listing.top, 50);
    let frame = scene::build(&model, &view).1;
    let area = frame.map.area;
    view.apply(&model, &frame, Input::Click(pos(area.x + 40.0, area.y + 1.5 * ROW)));
    assert_eq!(view.notes.chosen, Some(50));
    view.apply(&model, &frame, Input::ScrollTable(1e9));
    assert!(view.listing.top < report::notable(&model).len());
}
