//! What a user does, and what the view makes of it.

mod common;

use common::{Random, Tape, training};
use weir::trace::{Record, Source};
use weir_viz::check::{Checker, Told};
use weir_viz::model::{Axis, Kind, LifeIx, Model};
use weir_viz::scene::{self, Along, Frame, Input, Page, Parts, Pos, ROW, Rect, Selection, Shape, Size, View, pos};

fn shown(model: &Model) -> (View, Frame) {
    let mut view = View::whole(model, Size { w: 1400.0, h: 900.0 });
    view.parts = Parts::WithList;
    let frame = scene::build(model, &view).1;
    (view, frame)
}

fn middle(rect: &Rect) -> Pos {
    pos(rect.x + rect.w / 2.0, rect.y + rect.h / 2.0)
}

#[test]
fn zooming_keeps_the_value_under_the_pointer() {
    let model = Model::of(training(1, 8, 40));
    let mut random = Random(3);
    for _ in 0..60 {
        let (mut view, frame) = shown(&model);
        let area = frame.map.area;
        let at = pos(
            area.x + 1.0 + random.below(area.w as u64 - 2) as f32,
            area.y + 1.0 + random.below(area.h as u64 - 2) as f32,
        );
        let (x, y) = (frame.map.x.value(at.x), frame.map.y.value(at.y));
        for along in [Along::X, Along::Y] {
            view.apply(&model, &frame, Input::Zoom { at, factor: 0.5, along });
        }
        let frame = scene::build(&model, &view).1;
        for (value, now, pixel) in [
            (x, frame.map.x.value(at.x), frame.map.x.per_pixel()),
            (y, frame.map.y.value(at.y), frame.map.y.per_pixel()),
        ] {
            assert!((value - now).abs() < pixel * 0.01, "{value} became {now}");
        }
        // Out again twice as far: never beyond the log.
        for along in [Along::X, Along::Y] {
            view.apply(&model, &frame, Input::Zoom { at, factor: 4.0, along });
        }
        assert_eq!((view.x, view.y), (shown(&model).0.x, shown(&model).0.y));
    }
}

#[test]
fn whatever_is_done_the_range_stays_inside_the_log() {
    let records = training(2, 4, 25);
    let mut model = Model::of(records.iter().copied());
    let mut checker = Checker::new(Told::Accept);
    records.iter().for_each(|record| checker.push(record));
    model.take_findings(checker.finish());
    assert!(model.findings.total() > 20, "a toy's log has much to be found");
    let mut random = Random(11);
    let (mut view, mut frame) = shown(&model);
    for step in 0..300 {
        let at = pos(random.below(1400) as f32, random.below(900) as f32);
        let factor = [0.01, 0.5, 0.9, 1.3, 50.0][random.below(5) as usize];
        let along = if random.below(2) == 0 { Along::X } else { Along::Y };
        let by = pos(random.below(900) as f32 - 450.0, random.below(900) as f32 - 450.0);
        let input = match random.below(19) {
            0 | 1 => Input::Zoom { at, factor, along },
            2 => Input::Drag { from: at, by },
            3 => Input::Move { x: f64::from(by.x) / 100.0, y: f64::from(by.y) / 100.0 },
            4 => Input::Closer { factor },
            5 => Input::Click(at),
            6 => Input::FitSelection,
            7 => Input::Scroll(f64::from(by.y)),
            8 => Input::Step(by.x as i64),
            9 => Input::SwitchAxis,
            10 => Input::SwitchTheme,
            11 => Input::StepFinding(by.x as i64),
            12 => Input::ScrollFindings(f64::from(by.y)),
            13 => Input::NextStack,
            14 => Input::NextColor,
            15 => Input::Go,
            16 => Input::Show(Page::ALL[random.below(Page::ALL.len() as u64) as usize]),
            17 => Input::ScrollTable(f64::from(by.y)),
            _ => [Input::Fit, Input::Clear, Input::NextPool][random.below(3) as usize],
        };
        view.apply(&model, &frame, input);
        let built = scene::build(&model, &view);
        frame = built.1;
        let extent = model.events.extent(view.axis) as f64;
        assert!(view.x.from >= 0.0 && view.x.to <= extent + 1e-6, "step {step}: {:?} after {input:?}", view.x);
        assert!(view.x.from < view.x.to && view.y.from < view.y.to, "step {step}: {view:?} after {input:?}");
        assert!(view.y.from >= 0.0 && view.y.to <= frame.map.addresses.length() + 1e-6);
        assert!(view.top < model.events.len() && view.top_finding < model.findings.flags().len());
    }
}

#[test]
fn clicking_an_allocation_selects_it_and_shows_it_in_the_list() {
    let model = Model::of(training(1, 8, 40));
    let mut tried = 0;
    for life in (0..model.lives.len() as u32).step_by(11).map(LifeIx) {
        let (mut view, frame) = shown(&model);
        let rect = frame.life_rect(&model, &view, life);
        let Some(rect) = rect.clip(&frame.map.area).filter(|r| r.w > 3.0 && r.h > 3.0) else {
            continue;
        };
        tried += 1;
        view.apply(&model, &frame, Input::Click(middle(&rect)));
        assert_eq!(view.selection, Selection::Life(life));
        let (_, frame) = scene::build(&model, &view);
        let row = model.life(life).born().unwrap().at();
        assert!((view.top..view.top + frame.rows()).contains(&row));
        let details = scene::details(&model, view.selection);
        let all: String = details.iter().map(|l| format!("{}={}\n", l.key, l.value)).collect();
        let id = model.life(life).id;
        assert!(all.starts_with(&format!("allocation=#{id}\n")), "{all}");
        for link in model.came_from(life).iter().chain(model.went_to(life)).take(3) {
            assert!(all.contains(&format!("#{} (", model.life(link.life).id)), "{all}");
        }
        view.apply(&model, &frame, Input::Clear);
        assert_eq!(view.selection, Selection::Nothing);
    }
    assert!(tried > 20, "only {tried} were large enough");
}

#[test]
fn clicking_a_row_selects_its_record() {
    let model = Model::of(training(3, 3, 20));
    let (mut view, frame) = shown(&model);
    let list = frame.list.unwrap();
    for row in 0..frame.rows() {
        view.apply(&model, &frame, Input::Click(pos(list.x + 40.0, list.y + (row as f32 + 0.5) * ROW)));
        let event = weir_viz::model::EventIx(row as u32);
        match model.life_at(event) {
            Some(life) => assert_eq!(view.selection, Selection::Life(life)),
            None => assert_eq!(view.selection, Selection::Event(event)),
        }
        view.apply(&model, &frame, Input::Clear);
    }
    view.apply(&model, &frame, Input::Scroll(7.0));
    assert_eq!(view.top, 7);
}

#[test]
fn stepping_visits_every_record_in_order() {
    let model = Model::of(training(3, 1, 6));
    let (mut view, frame) = shown(&model);
    let mut seen = Vec::new();
    for _ in 0..model.events.len() {
        view.apply(&model, &frame, Input::Step(1));
        seen.push(view.selected_event(&model).unwrap().0);
    }
    assert_eq!(seen, (0..model.events.len() as u32).collect::<Vec<_>>());
    view.apply(&model, &frame, Input::Step(-1));
    assert_eq!(view.selected_event(&model).unwrap().0, model.events.len() as u32 - 2);
}

#[test]
fn switching_the_axis_keeps_the_records_in_sight() {
    let model = Model::of(training(5, 8, 30));
    let (mut view, frame) = shown(&model);
    let whole = view.x;
    view.apply(&model, &frame, Input::SwitchAxis);
    assert_eq!((view.axis, view.x.from, view.x.to), (Axis::Time, 0.0, model.events.extent(Axis::Time) as f64));
    view.apply(&model, &frame, Input::SwitchAxis);
    assert_eq!(view.x, whole);
    view.x = scene::Range { from: 500.0, to: 900.0 };
    view.apply(&model, &frame, Input::SwitchAxis);
    view.apply(&model, &frame, Input::SwitchAxis);
    assert!((view.x.from - 500.0).abs() <= 2.0 && (view.x.to - 900.0).abs() <= 4.0, "{:?}", view.x);
}

#[test]
fn dragging_moves_what_is_under_the_pointer() {
    let model = Model::of(training(1, 8, 40));
    let (mut view, frame) = shown(&model);
    view.x = scene::Range { from: 1000.0, to: 1500.0 };
    let frame_zoomed = scene::build(&model, &view).1;
    let from = middle(&frame.map.area);
    let value = frame_zoomed.map.x.value(from.x);
    view.apply(&model, &frame_zoomed, Input::Drag { from, by: pos(60.0, 0.0) });
    let moved = scene::build(&model, &view).1.map.x.value(from.x + 60.0);
    assert!((value - moved).abs() < 0.01, "{value} {moved}");
}

#[test]
fn the_pointer_tells_what_is_under_it() {
    let mut tape = Tape::begin(1 << 30, 0, 1);
    tape.map(0, 2);
    tape.malloc(1, 0, 0, common::GRANULE, Source::Grow);
    tape.malloc(2, 0, common::GRANULE, common::GRANULE, Source::Settled);
    tape.push(Record::DeviceSynchronized { device: weir::id::DeviceId(0) });
    let model = Model::of(tape.records.iter().copied());
    let (view, frame) = shown(&model);
    let life = model.life_of_id(2).unwrap();
    let at = middle(&frame.life_rect(&model, &view, life));
    let texts = scene::hover(&model, &view, &frame, at).into_iter().filter_map(|s| match s {
        Shape::Text(text) => Some(text.text),
        _ => None,
    });
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts[0], "#2  2 MiB  stream 0");
    assert!(texts.iter().any(|t| t == "source: settled"), "{texts:?}");
    assert!(texts.iter().any(|t| t == "used 4 MiB, reserved 4 MiB"), "{texts:?}");
}

fn texts(scene: &scene::Scene) -> Vec<scene::Text> {
    let text = |shape: &Shape| if let Shape::Text(text) = shape { Some(text.clone()) } else { None };
    scene.shapes.iter().filter_map(text).collect()
}

/// Blocks of one size, a granule apart, far from the pool's base.
#[test]
fn two_free_blocks_never_have_the_same_address_in_words() {
    let mut tape = Tape::begin(64 << 30, 0, 1);
    let place = |at: u64| (15 << 30) + 2 * at * common::GRANULE;
    (0..4).for_each(|at| tape.map(place(at), 1));
    (0..4).for_each(|at| tape.malloc(at, 0, place(at), common::GRANULE, Source::Grow));
    (0..4).for_each(|at| tape.free(at, 0, place(at), common::GRANULE));
    let model = Model::of(tape.records.iter().copied());
    let (mut view, _) = shown(&model);
    view.page = Page::State;
    view.selection = Selection::Event(weir_viz::model::EventIx(model.events.len() as u32 - 1));
    let texts = texts(&scene::build(&model, &view).0);
    for place in ["+15 GiB,", "+15,364 MiB,", "+15,368 MiB,", "+15,372 MiB,"] {
        let rows = texts.iter().filter(|text| text.text.starts_with(&format!("2 MiB at {place}")));
        assert_eq!(rows.count(), 1, "{place}");
    }
}

/// In a part of a log the numbers are longer than the part.
#[test]
fn the_numbers_of_records_stay_inside_the_list() {
    let mut records = training(2, 4, 20);
    records.iter_mut().for_each(|stamped| stamped.number += 9_000_000_000);
    let model = Model::of(records.iter().copied());
    let (view, frame) = shown(&model);
    let list = frame.list.unwrap();
    let texts = texts(&scene::build(&model, &view).0);
    let numbers: Vec<_> = texts.iter().filter(|text| text.text.starts_with("9,000,000,0")).collect();
    let listed = numbers.iter().filter(|text| text.anchor == scene::Anchor::End && text.at.x > list.x);
    let left = |text: &scene::Text| text.at.x - weir_viz::font::width(&text.text, text.size);
    assert!(listed.clone().count() > 9 && listed.clone().all(|text| left(text) >= list.x), "{numbers:?}");
}

#[test]
fn every_kind_of_record_is_described() {
    let model = Model::of(training(2, 4, 20));
    for event in (0..model.events.len() as u32).map(weir_viz::model::EventIx) {
        let words = scene::headline(&model, event);
        assert!(!words.is_empty(), "{:?}", model.record(event));
        let details = scene::details(&model, Selection::Event(event));
        assert!(details.iter().any(|l| l.key == "fields"), "{details:?}");
    }
    let kinds = (0..model.events.len() as u32).map(|e| model.events.kind(weir_viz::model::EventIx(e)));
    let kinds: std::collections::BTreeSet<Kind> = kinds.collect();
    assert!(kinds.len() >= 9, "{kinds:?}");
}
