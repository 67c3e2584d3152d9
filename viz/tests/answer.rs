//! What a selection asks, and the answer as it is shown: in the details and on the map. The log is a real runtime's.

mod runtime;

use runtime::bytes;
use weir::trace::Record;
use weir::units::{Bytes, MIB};
use weir_viz::answer::answer;
use weir_viz::model::{EventIx, FreeBlock, Kind, LifeIx, Model, Payload, PoolIx};
use weir_viz::scene::{self, Answer, Frame, Input, Page, Parts, Question, Scene, Selection, Shape, Size, View, pos};
use weir_viz::{reach, source};

fn log() -> Model {
    source::read("answer.log", &bytes()).expect("a log").model
}

fn view(model: &Model, selection: Selection) -> View {
    let mut view = View::whole(model, Size { w: 1400.0, h: 900.0 });
    (view.parts, view.selection) = (Parts::WithList, selection);
    view
}

/// As it is once the question was answered.
fn answered(model: &Model, selection: Selection) -> (Scene, Frame, View) {
    let mut view = view(model, selection);
    let question = view.question(model).expect("it asks something");
    view.answer = Some((question, answer(model, question)));
    let (scene, frame) = scene::build(model, &view);
    (scene, frame, view)
}

fn texts(scene: &Scene) -> String {
    let text = |shape: &Shape| if let Shape::Text(text) = shape { Some(text.text.clone()) } else { None };
    scene.shapes.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

/// The addresses that are outlined in the answer's colour, by their upper and lower edges.
fn lit(scene: &Scene, view: &View) -> Vec<(f32, f32)> {
    let alarm = view.theme.palette().alarm;
    let outline = |shape: &Shape| match shape {
        Shape::Outline { stroke, rect } if stroke.color == alarm => Some((rect.y.round(), rect.bottom().round())),
        _ => None,
    };
    scene.shapes.iter().filter_map(outline).collect()
}

fn edges(frame: &Frame, start: u64, end: u64) -> (f32, f32) {
    let rect = frame.map.pixels(0.0, 0.0, start, end);
    (rect.y.round(), rect.bottom().round())
}

fn of_kind(model: &Model, kind: Kind) -> EventIx {
    (0..model.events.len() as u32).map(EventIx).find(|event| model.events.kind(*event) == kind).expect("one")
}

#[test]
fn a_malloc_shows_why_it_got_what_it_got_and_lights_the_candidates() {
    let model = log();
    let (scene, frame, view) = answered(&model, Selection::Life(LifeIx(1)));
    let words = texts(&scene);
    assert!(words.contains("stream order: a block of 4 MiB is free, but the stream does not come after"), "{words}");
    assert!(words.contains("the core decides the same"), "{words}");
    assert!(lit(&scene, &view).contains(&edges(&frame, 0, 4 * MIB)), "{:?}", lit(&scene, &view));
    // Nothing is said of what was asked before.
    let mut later = view.clone();
    later.selection = Selection::Life(LifeIx(0));
    let (scene, _) = scene::build(&model, &later);
    assert!(!texts(&scene).contains("stream order") && lit(&scene, &later).is_empty());
}

#[test]
fn a_refused_call_is_explained_too() {
    let model = log();
    let event = of_kind(&model, Kind::OutOfMemory);
    let (scene, ..) = answered(&model, Selection::Event(event));
    let words = texts(&scene);
    assert!(
        words.contains("real demand") || words.contains("stream order") || words.contains("fragmentation"),
        "{words}"
    );
}

#[test]
fn the_pending_bytes_are_those_that_the_runtime_itself_names() {
    let model = log();
    let event = of_kind(&model, Kind::OutOfMemory);
    let Payload::Other(Record::OutOfMemory { pending, .. }) = model.events.payload(event) else { unreachable!() };
    assert_eq!(pending, Bytes::mib(4), "the first block");
    let curve = reach::pending(&model).unwrap().remove(0);
    assert_eq!((curve.before(event), curve.last()), (pending.0, 0));
}

#[test]
fn a_click_on_free_memory_tells_who_could_have_had_it_and_when() {
    let model = log();
    let mut view = view(&model, Selection::Nothing);
    let frame = scene::build(&model, &view).1;
    let free = model.life(LifeIx(0)).died().unwrap();
    let area = frame.map.area;
    let middle = frame.map.pixels(0.0, 0.0, 0, 4 * MIB);
    let x = frame.map.x.pixel(f64::from(free.0) + 0.5);
    view.apply(&model, &frame, Input::Click(pos(x + 4.0_f32.min(area.w), middle.y + middle.h / 2.0)));
    let block = FreeBlock { start: 0, end: 4 * MIB, last: Some(LifeIx(0)) };
    let Selection::Free(event, found) = view.selection else { panic!("{:?}", view.selection) };
    assert_eq!(found, block);
    assert!(event >= free);
    let (scene, frame, view) = answered(&model, view.selection);
    let words = texts(&scene);
    let sync = model.events.number(of_kind(&model, Kind::DeviceSynchronized));
    let own = format!("stream 0 at once, from record {} on", model.events.number(free));
    for said in
        ["4 MiB (4,194,304 B)", "#1 (4 MiB of stream 0)", &own, &format!("stream 1 from record {sync} on: sync device")]
    {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(lit(&scene, &view).contains(&edges(&frame, 0, 4 * MIB)));
}

#[test]
fn a_row_of_the_pools_state_selects_its_block() {
    let model = log();
    let free = model.life(LifeIx(0)).died().unwrap();
    let mut view = view(&model, Selection::Event(free));
    view.page = Page::State;
    let frame = scene::build(&model, &view).1;
    let rows = (0..12).map(|row| pos(frame.map.area.x + 60.0, frame.map.area.y + 60.0 + row as f32 * 9.0));
    let mut found = None;
    for at in rows {
        let mut clicked = view.clone();
        clicked.apply(&model, &frame, Input::Click(at));
        if let Selection::Free(event, block) = clicked.selection {
            found = Some((event, block, clicked));
            break;
        }
    }
    let (event, block, clicked) = found.expect("a row of a block");
    assert_eq!((event, block.bytes()), (free, 4 * MIB));
    assert_eq!(clicked.question(&model), Some(Question::Whose(PoolIx(0), free, block)));
    let (_, frame) = scene::build(&model, &clicked);
    let again = scene::build(&model, &view).1;
    assert_eq!(frame.map.area, again.map.area, "the rows stay where they are");
}

#[test]
fn while_it_is_worked_out_the_details_say_so() {
    let model = log();
    let mut view = view(&model, Selection::Life(LifeIx(1)));
    view.answer = view.question(&model).map(|question| (question, Answer::Working));
    assert!(texts(&scene::build(&model, &view).0).contains("working it out"));
}

/// A log without its beginning cannot be rebuilt; that is said, and nothing else is.
#[test]
fn what_is_not_recorded_is_said() {
    let model = log();
    let begin = of_kind(&model, Kind::Begin);
    let records: Vec<_> = (begin.0 + 1..model.events.len() as u32).map(|at| model.record(EventIx(at))).collect();
    let cut = Model::of(records);
    let (scene, ..) = answered(&cut, Selection::Life(LifeIx(1)));
    let words = texts(&scene);
    assert!(words.contains("not recorded: the log does not begin with the runtime"), "{words}");
}
