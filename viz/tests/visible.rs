//! Nothing disappears: one spike, one small hole, one refusal, one short allocation among thousands of records has its
//! pixels at any zoom, in random logs and random views, against a walk over the records.

mod common;

use common::{GRANULE, POOL, Random, Tape, stream};
use proptest::prelude::*;
use weir::trace::{Record, Refusal, Source, Stamped, UnmapReason, Verb};
use weir::units::{Bytes, GIB, Seq};
use weir_viz::model::{Axis, EventIx, Lane, Model};
use weir_viz::scene::{self, Color, Frame, Page, Range, Rect, Scene, Shape, Size, Theme, View, pos};

/// The stream that allocates once only.
const ONCE: u64 = 7;

/// What is planted in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    /// Much memory for one record.
    Spike,
    /// One granule without memory for one record.
    Hole,
    /// A malloc that was refused.
    Refused,
    /// A few bytes for one record, on a stream of its own.
    Short,
}

const PLANTS: [Plant; 4] = [Plant::Spike, Plant::Hole, Plant::Refused, Plant::Short];

/// A log of allocations that come and go, with a plant somewhere, or with other records in its place.
struct Log {
    tape: Tape,
    /// The plant's record, by its number.
    at: u64,
}

impl Log {
    fn new(seed: u64, rounds: u64, plant: Option<Plant>, place: u64) -> Self {
        let mut log = Self { tape: Tape::begin(64 * GIB, 0, 8), at: 0 };
        let (mut random, mut live) = (Random(seed), std::collections::VecDeque::new());
        log.tape.map(0, 64);
        for round in 0..rounds {
            log.tape.time += random.below(2000);
            let (id, on) = (round + 10, random.below(3));
            // Slots of a stream each, so that nothing overlaps.
            let slot = round % 24;
            if live.len() == 24 {
                let (id, on, at): (u64, u64, u64) = live.pop_front().unwrap();
                log.tape.free(id, on, at, 65536);
            }
            log.tape.malloc(id, on, slot * 131_072, 65536, Source::SameStream);
            live.push_back((id, on, slot * 131_072));
            if round == place {
                log.plant(plant);
            }
        }
        log
    }

    fn plant(&mut self, plant: Option<Plant>) {
        self.at = self.tape.records.last().unwrap().number + 1;
        let filler = |tape: &mut Tape| tape.push(Record::StreamSynchronized { stream: stream(0), seq: Seq(1) });
        match plant {
            Some(Plant::Spike) => {
                self.tape.malloc(1, 0, 40 * GRANULE, 20 * GRANULE, Source::Grow);
                self.tape.free(1, 0, 40 * GRANULE, 20 * GRANULE);
            }
            Some(Plant::Hole) => {
                self.tape.unmap(30 * GRANULE, 1, UnmapReason::Trim);
                self.tape.map(30 * GRANULE, 1);
            }
            Some(Plant::Short) => {
                self.tape.malloc(2, ONCE, 20 * GRANULE, 512, Source::Grow);
                self.tape.free(2, ONCE, 20 * GRANULE, 512);
            }
            Some(Plant::Refused) => {
                let (size, reason) = (Bytes(9 * GIB), Refusal::AboveLimit(Bytes(4 * GIB)));
                let (pool, stream) = (Some(POOL), Some(stream(1)));
                self.tape.push(Record::Refused { verb: Verb::Malloc, pool, stream, size, reason });
                filler(&mut self.tape);
            }
            None => (0..2).for_each(|_| filler(&mut self.tape)),
        }
    }

    fn records(&self) -> Vec<Stamped<'static>> {
        self.tape.records.clone()
    }
}

/// The used bytes after each record, by adding up.
fn used(records: &[Stamped<'_>]) -> Vec<u64> {
    let events = records.iter().filter(|stamped| !stamped.record.is_definition());
    let mut now = 0;
    events
        .map(|stamped| {
            match stamped.record {
                Record::Malloc { given, .. } => now += given.0,
                Record::Free { given, .. } => now -= given.0,
                _ => {}
            }
            now
        })
        .collect()
}

fn picture(model: &Model, page: Page, axis: Axis, (from, to): (f64, f64), size: Size) -> (Scene, Frame, View) {
    let mut view = View::whole(model, size);
    (view.page, view.axis) = (page, axis);
    view.fit(model);
    let whole = view.x.to;
    view.x = Range { from: from * whole, to: to * whole };
    let (scene, frame) = scene::build(model, &view);
    (scene, frame, view)
}

/// The rectangles of this colour, however transparent.
fn rects(scene: &Scene, color: Color) -> Vec<Rect> {
    let of = |shape: &Shape| match shape {
        Shape::Rects { fill, rects } if (fill.r, fill.g, fill.b) == (color.r, color.g, color.b) => rects.clone(),
        _ => Vec::new(),
    };
    scene.shapes.iter().flat_map(of).collect()
}

/// What is painted last at a place.
fn top(scene: &Scene, x: f32, y: f32) -> Option<Color> {
    let of = |shape: &Shape| match shape {
        Shape::Rects { fill, rects } if rects.iter().any(|rect| rect.contains(pos(x, y))) => Some(*fill),
        _ => None,
    };
    scene.shapes.iter().rev().find_map(of)
}

/// Every column of the chart has the largest value in it, of all that a walk finds.
fn chart_is_complete(model: &Model, records: &[Stamped<'_>], scene: &Scene, frame: &Frame, view: &View) {
    let (all, area) = (used(records), frame.chart);
    let line = rects(scene, Theme::Light.palette().used);
    let mut largest = vec![0_u64; area.w as usize];
    for (at, used) in all.iter().enumerate() {
        let place = model.events.position(view.axis, EventIx(at as u32)) as f64;
        let column = frame.map.x.pixel(place) - area.x;
        if place >= view.x.from && place < view.x.to && (column as usize) < largest.len() {
            largest[column as usize] = largest[column as usize].max(*used);
        }
    }
    let tops: Vec<Option<f32>> = (0..largest.len())
        .map(|column| {
            let x = area.x + column as f32 + 0.5;
            // The line itself, not what is marked in its colour.
            let there = line.iter().filter(|r| r.x <= x && x < r.right() && area.contains(pos(x, r.y + 0.1)));
            there.map(|r| r.y).min_by(f32::total_cmp)
        })
        .collect();
    let (highest, most) = largest.iter().enumerate().max_by_key(|(_, value)| **value).unwrap();
    let per_byte = (area.bottom() - tops[highest].unwrap()) / *most as f32;
    for (column, value) in largest.iter().enumerate().filter(|(_, value)| **value > 0) {
        let shown = area.bottom() - tops[column].unwrap_or(area.bottom());
        assert!(shown + 1.0 >= *value as f32 * per_byte, "column {column}: {shown} of {}", *value as f32 * per_byte);
    }
}

/// Some place near the rectangle looks otherwise with the plant than without it.
fn differs(with: &Scene, without: &Scene, at: Rect, area: Rect) -> bool {
    let places = |from: f32, to: f32, low: f32, high: f32| {
        let (from, to) = ((from - 3.0).max(low), (to + 3.0).min(high));
        (0..=((to - from) * 2.0) as usize).map(move |step| from + step as f32 / 2.0)
    };
    let xs = places(at.x, at.right(), area.x, area.right());
    xs.into_iter().any(|x| {
        let mut ys = places(at.y, at.bottom(), area.y, area.bottom());
        ys.any(|y| top(with, x, y) != top(without, x, y))
    })
}

/// A view around a place, from a part of everything to all of it.
fn around(place: f64, zoom: f64) -> (f64, f64) {
    let from = (place - zoom / 2.0).clamp(0.0, 1.0 - zoom);
    (from, from + zoom)
}

fn check(seed: u64, rounds: u64, share: f64, zoom: f64, axis: Axis, size: Size) {
    let place = ((rounds as f64 * share) as u64).clamp(30, rounds - 2);
    let plain = Model::of(Log::new(seed, rounds, None, place).records());
    for plant in PLANTS {
        let log = Log::new(seed, rounds, Some(plant), place);
        let model = Model::of(log.records());
        let event = (0..model.events.len() as u32).map(EventIx).find(|e| model.events.number(*e) == log.at).unwrap();
        let position = model.events.position(axis, event) as f64;
        let range = around(position / model.events.extent(axis) as f64, zoom);
        let (scene, frame, view) = picture(&model, Page::Addresses, axis, range, size);
        let x = frame.map.x.pixel(position);
        let alarm = Theme::Light.palette().alarm;
        match plant {
            Plant::Spike => chart_is_complete(&model, &log.records(), &scene, &frame, &view),
            Plant::Refused => {
                let strip =
                    |r: &&Rect| frame.strip.contains(pos(r.x, r.y + 1.0)) && r.x <= x + 1.0 && x - 1.0 <= r.right();
                assert!(rects(&scene, alarm).iter().any(|r| strip(&r)), "no sign at {x} in the strip");
                let (lanes, frame, _) = picture(&model, Page::Lanes, axis, range, size);
                let lane =
                    model.lanes().lanes().iter().position(|lane| *lane == model.lanes().lane(event).unwrap()).unwrap();
                let high = (frame.map.area.h / model.lanes().lanes().len() as f32).min(130.0);
                let row = Rect { y: frame.map.area.y + lane as f32 * high, h: high, ..frame.map.area };
                let tick =
                    |r: &&Rect| row.contains(pos(r.x, r.y + r.h / 2.0)) && r.x <= x + 1.0 && x - 1.0 <= r.right();
                assert!(rects(&lanes, alarm).iter().any(|r| tick(&r)), "no tick at {x} in the lane");
            }
            Plant::Hole | Plant::Short => {
                let (without, ..) = picture(&plain, Page::Addresses, axis, range, size);
                let until = model.events.position(axis, EventIx(event.0 + 1)) as f64;
                let start = if plant == Plant::Hole { 30 * GRANULE } else { 20 * GRANULE };
                let end = if plant == Plant::Hole { start + GRANULE } else { start + 512 };
                let at = frame.map.pixels(position, until, start, end);
                assert!(differs(&scene, &without, at, frame.map.area), "{plant:?}: nothing at {at:?}");
            }
        }
        assert!(matches!(model.lanes().lane(event), Some(Lane::Stream(_)) | None) || plant == Plant::Hole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_planted_is_seen(
        seed in any::<u64>(),
        rounds in 100_u64..9000,
        share in 0.0..1.0_f64,
        zoom in prop_oneof![Just(1.0), 0.05..1.0_f64],
        time in any::<bool>(),
        wide in 480.0..1600.0_f32,
    ) {
        let axis = if time { Axis::Time } else { Axis::Record };
        check(seed, rounds, share, zoom, axis, Size { w: wide, h: 760.0 });
    }
}

/// Long enough for what is summed up beforehand: hundreds of records in each column.
#[test]
fn what_is_planted_among_a_hundred_thousand_records_is_seen() {
    for (axis, zoom) in [(Axis::Record, 1.0), (Axis::Time, 1.0), (Axis::Record, 0.4)] {
        check(5, 60_000, 0.61, zoom, axis, Size { w: 480.0, h: 760.0 });
    }
}

/// A pool that grew granule by granule and was released at once: no dark bars over the hatching, which show small holes.
#[test]
fn a_pool_that_was_unmapped_as_a_whole_looks_unmapped() {
    let mut tape = Tape::begin(64 * GIB, 0, 1);
    for granule in 0..2_000 {
        tape.map(granule * GRANULE, 1);
    }
    for _ in 0..2_000 {
        tape.push(Record::StreamSynchronized { stream: stream(0), seq: Seq(1) });
    }
    tape.unmap(0, 2_000, UnmapReason::Trim);
    for _ in 0..2_000 {
        tape.push(Record::StreamSynchronized { stream: stream(0), seq: Seq(1) });
    }
    let model = Model::of(tape.records);
    let (scene, frame, _) = picture(&model, Page::Addresses, Axis::Record, (0.0, 1.0), Size { w: 1400.0, h: 900.0 });
    let ground = Theme::Light.palette().panel;
    let (x, area) = (frame.map.x.pixel(5_000.0), frame.map.area);
    for step in 1..200 {
        let y = area.y + area.h * step as f32 / 200.0;
        assert_eq!(top(&scene, x, y), Some(ground), "{step}");
    }
}
