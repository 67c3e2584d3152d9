//! Granules that were unmapped at one address and mapped at another, in one call.

mod common;

use common::{GRANULE, POOL, Tape};
use weir::trace::{MapReason, Record, Source, UnmapReason};
use weir::units::{Bytes, GIB};
use weir_viz::model::{EventIx, Model, Move, PoolIx};
use weir_viz::scene::{self, Pos, Shape, Size, View};

fn remap(tape: &mut Tape, granule: u64) {
    let reason = MapReason::Remap;
    tape.push(Record::Mapped { pool: POOL, offset: Bytes(granule * GRANULE), granules: 1, reason });
}

/// Granules 1 and 2 go to 8 and 9; another call takes 3, fails, and a later one moves 4 to 12.
fn log() -> Model {
    let mut tape = Tape::begin(4 * GIB, 0, 1);
    tape.map(0, 8);
    tape.malloc(1, 0, 0, GRANULE, Source::Grow);
    for taken in [1, 2] {
        tape.unmap(taken * GRANULE, 1, UnmapReason::Remap);
    }
    remap(&mut tape, 8);
    remap(&mut tape, 9);
    tape.malloc(2, 0, 8 * GRANULE, 2 * GRANULE, Source::Grow);
    tape.unmap(3 * GRANULE, 1, UnmapReason::Remap);
    tape.push(Record::GrowAborted { pool: POOL, call: 7 });
    tape.unmap(6 * GRANULE, 1, UnmapReason::Threshold);
    tape.unmap(4 * GRANULE, 1, UnmapReason::Remap);
    remap(&mut tape, 12);
    tape.malloc(3, 0, 12 * GRANULE, GRANULE, Source::Grow);
    Model::of(tape.records.iter().copied())
}

fn move_of(number: u64, from: u64, to: u64, model: &Model) -> Move {
    let event = (0..model.events.len() as u32).map(EventIx).find(|e| model.events.number(*e) == number).unwrap();
    Move { event, from: from * GRANULE, to: to * GRANULE, bytes: GRANULE }
}

#[test]
fn what_a_call_unmapped_it_mapped_in_that_order() {
    let model = log();
    // Begin, pool and stream are records 0 to 2; the mapping is 3, the malloc 4.
    let want = [move_of(7, 1, 8, &model), move_of(8, 2, 9, &model), move_of(14, 4, 12, &model)];
    assert_eq!(model.moves(PoolIx(0)), want);
}

fn arrows(model: &Model, set: impl FnOnce(&mut View)) -> (Vec<[Pos; 2]>, scene::Frame) {
    let mut view = View::whole(model, Size { w: 1000.0, h: 700.0 });
    set(&mut view);
    let (scene, frame) = scene::build(model, &view);
    let ink = view.theme.palette().ink;
    let arrows = scene.shapes.iter().find_map(|shape| match shape {
        Shape::Segments { stroke, ends } if stroke.color == ink && stroke.width == 1.2 => Some(ends.clone()),
        _ => None,
    });
    (arrows.unwrap_or_default(), frame)
}

#[test]
fn a_move_is_an_arrow_from_the_one_address_to_the_other() {
    let model = log();
    let (arrows, frame) = arrows(&model, |_| {});
    let middle = |granule: u64| frame.map.y.pixel(frame.map.addresses.place(granule * GRANULE + GRANULE / 2));
    let want = [(7.0, 1, 8), (8.0, 2, 9), (14.0, 4, 12)];
    assert_eq!(arrows.len(), want.len());
    for ([from, to], (place, was, went)) in arrows.iter().zip(want) {
        let x = frame.map.x.pixel(place);
        assert_eq!((from.x, to.x, from.y, to.y), (x, x, middle(was), middle(went)));
    }
}

#[test]
fn thousands_of_moves_are_as_many_arrows_as_there_is_room_for() {
    let mut tape = Tape::begin(64 * GIB, 0, 1);
    tape.map(0, 1);
    for step in 0..5000_u64 {
        tape.unmap(step % 50 * GRANULE, 1, UnmapReason::Remap);
        remap(&mut tape, (step + 1) % 50);
    }
    let model = Model::of(tape.records.iter().copied());
    assert_eq!(model.moves(PoolIx(0)).len(), 5000);
    let (all, frame) = arrows(&model, |_| {});
    assert!(all.len() <= 300 && all.len() > 50, "{}", all.len());
    // From the highest address to the lowest: none is longer, and none of its column is left out.
    let longest = all.iter().map(|[from, to]| (from.y - to.y).abs()).fold(0.0, f32::max);
    let place = |granule: u64| frame.map.y.pixel(frame.map.addresses.place(granule * GRANULE + GRANULE / 2));
    assert!((longest - (place(0) - place(49))).abs() < 0.01);
}
