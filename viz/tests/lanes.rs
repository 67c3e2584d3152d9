//! The stream lanes and the reuse flows: all that happened is there, in bounded space, and counted as it was.

mod common;

use common::{POOL, Random, Tape, event, stream, training};
use std::collections::{BTreeMap, BTreeSet};
use weir::error::Point;
use weir::id::DeviceId;
use weir::trace::{Record, Refusal, Source, Verb};
use weir::units::{Bytes, MIB, Seq};
use weir_viz::model::{Act, EventIx, Lane, Model, Party, PoolIx, StreamIx, Tie};
use weir_viz::scene::{self, Frame, Page, Scene, Selection, Shape, Size, View, pos};

fn picture(model: &Model, page: Page, change: impl FnOnce(&mut View)) -> (Scene, Frame, View) {
    let mut view = View::whole(model, Size { w: 1400.0, h: 900.0 });
    view.page = page;
    change(&mut view);
    let (scene, frame) = scene::build(model, &view);
    (scene, frame, view)
}

/// The records of each lane by what they do, from a walk over all.
fn acts(model: &Model) -> BTreeMap<(Lane, Act), Vec<EventIx>> {
    let mut acts = BTreeMap::<(Lane, Act), Vec<EventIx>>::new();
    for event in (0..model.events.len() as u32).map(EventIx) {
        if let (Some(lane), Some(act)) = (model.lanes().lane(event), Act::of(model.events.kind(event))) {
            acts.entry((lane, act)).or_default().push(event);
        }
    }
    acts
}

/// A record, a wait for it on another stream, and memory that goes the same way.
fn hand_over() -> Model {
    let mut tape = Tape::begin(1 << 30, 0, 2);
    tape.map(0, 1);
    tape.malloc(1, 0, 0, MIB, Source::Grow);
    tape.free(1, 0, 0, MIB);
    tape.push(Record::Recorded { event: event(0), stream: stream(0), seq: Seq(9), number: 1 });
    tape.push(Record::Waited { stream: stream(1), seq: Seq(1), event: event(0), number: 1 });
    tape.malloc(2, 1, 0, MIB / 2, Source::Event);
    tape.malloc(3, 1, MIB / 2, MIB / 2, Source::Event);
    tape.push(Record::MarkerLaid { marker: 7, stream: stream(1), seq: Seq(20) });
    tape.push(Record::WaitInserted {
        stream: stream(0),
        seq: Seq(21),
        marker: 7,
        on: Point { stream: stream(1), seq: Seq(20) },
    });
    tape.push(Record::StreamSynchronized { stream: stream(1), seq: Seq(20) });
    tape.push(Record::EventSynchronized { event: event(0), number: 1 });
    tape.push(Record::DeviceSynchronized { device: DeviceId(0) });
    Model::of(tape.records)
}

#[test]
fn arrows_lead_from_where_order_comes_to_where_it_goes() {
    let model = hand_over();
    let (a, b) = (Lane::Stream(StreamIx(0)), Lane::Stream(StreamIx(1)));
    let kind = |e: EventIx| model.events.kind(e).name();
    let mut found = BTreeSet::new();
    for tie in Tie::ALL {
        let arrows = model.lanes().arrows(tie);
        for arrow in (0..arrows.len()).map(|at| arrows.get(at)) {
            let to = model.lanes().lane(arrow.to).unwrap();
            found.insert((format!("{tie:?}"), arrow.from_lane, to, kind(arrow.from), kind(arrow.to)));
        }
    }
    let want = [
        ("Reuse", a, b, "free", "malloc"),
        ("Wait", a, b, "record", "wait"),
        ("Inserted", b, a, "marker", "wait inserted"),
        ("Sync", b, Lane::Host, "sync stream", "sync stream"),
        ("Sync", a, Lane::Host, "record", "sync event"),
    ];
    assert_eq!(found, want.map(|w| (w.0.to_owned(), w.1, w.2, w.3, w.4)).into());
    assert_eq!(acts(&model)[&(Lane::Host, Act::SyncDevice)].len(), 1);
}

#[test]
fn a_wait_for_an_earlier_recording_has_no_arrow_from_a_later_one() {
    let mut tape = Tape::begin(1 << 30, 0, 2);
    tape.push(Record::Recorded { event: event(0), stream: stream(0), seq: Seq(1), number: 2 });
    tape.push(Record::Waited { stream: stream(1), seq: Seq(1), event: event(0), number: 1 });
    let model = Model::of(tape.records);
    assert!(Tie::ALL.iter().all(|tie| model.lanes().arrows(*tie).is_empty()));
}

/// A refusal in every column: mallocs and frees keep theirs.
#[test]
fn refusals_leave_what_else_was_done_in_sight() {
    let mut tape = Tape::begin(1 << 30, 0, 1);
    tape.map(0, 1);
    for id in 1..20_000 {
        tape.malloc(id, 0, 0, MIB, Source::SameStream);
        tape.free(id, 0, 0, MIB);
        let reason = Refusal::AboveLimit(Bytes(MIB));
        let (pool, stream, size) = (Some(POOL), Some(stream(0)), Bytes(MIB));
        tape.push(Record::Refused { verb: Verb::Malloc, pool, stream, size, reason });
    }
    let model = Model::of(tape.records);
    let (scene, frame, view) = picture(&model, Page::Lanes, |_| {});
    let lane = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Rects { fill, rects } => Some((*fill, rects.iter().filter(|r| r.w > 0.9 * frame.map.area.w))),
        _ => None,
    });
    let alarm = view.theme.palette().alarm;
    let (mut red, mut other) = (0.0_f32, 0.0_f32);
    for (fill, rects) in lane {
        for rect in rects.filter(|r| r.y > frame.map.area.y && r.h < 131.0) {
            *(if fill == alarm { &mut red } else { &mut other }) += rect.h;
        }
    }
    assert!(red > 3.0 && other > 8.0 * red, "{red} of {other}");
}

/// Whatever is in sight colours its column of its lane, at any zoom.
#[test]
fn nothing_that_a_stream_did_disappears() {
    let model = Model::of(training(5, 8, 60));
    let mut random = Random(9);
    for round in 0..12 {
        let (scene, frame, view) = picture(&model, Page::Lanes, |view| {
            let whole = view.x.to;
            if round > 0 {
                let from = random.below(whole as u64) as f64 * 0.9;
                view.x = scene::Range { from, to: (from + 20.0 + random.below(2000) as f64).min(whole) };
            }
        });
        let rects: Vec<scene::Rect> = scene.shapes.iter().flat_map(rects_of).collect();
        let lanes = model.lanes().lanes();
        let high = (frame.map.area.h / lanes.len() as f32).min(130.0);
        for ((lane, act), events) in acts(&model) {
            let top = frame.map.area.y + lanes.iter().position(|l| *l == lane).unwrap() as f32 * high;
            let seen = |x: f32| {
                let at =
                    |r: &&scene::Rect| r.h < high && r.y >= top && r.bottom() <= top + high && r.w < frame.map.area.w;
                rects.iter().filter(at).any(|r| r.x - 1.01 <= x && x <= r.right() + 1.01)
            };
            for event in &events {
                let place = model.events.position(view.axis, *event) as f64;
                if place >= view.x.from && place < view.x.to {
                    assert!(seen(frame.map.x.pixel(place)), "{act:?} of {lane:?} at record {}", event.0);
                }
            }
        }
    }
}

fn rects_of(shape: &Shape) -> Vec<scene::Rect> {
    match shape {
        Shape::Rects { rects, .. } => rects.clone(),
        _ => Vec::new(),
    }
}

#[test]
fn a_picture_of_many_records_is_bounded() {
    let mut tape = Tape::begin(1 << 30, 0, 12);
    let mut random = Random(4);
    for number in 1..60_000 {
        let (from, to, e) = (random.below(12), random.below(12), random.below(40));
        tape.push(Record::Recorded { event: event(e), stream: stream(from), seq: Seq(number), number });
        tape.push(Record::Waited { stream: stream(to), seq: Seq(number), event: event(e), number });
    }
    let model = Model::of(tape.records);
    let (scene, ..) = picture(&model, Page::Lanes, |_| {});
    let count: usize = scene.shapes.iter().map(Shape::primitives).sum();
    assert!(count < 20_000, "{count} primitives");
}

#[test]
fn a_click_on_a_lane_selects_what_happened_there() {
    let model = hand_over();
    let (_, frame, mut view) = picture(&model, Page::Lanes, |_| {});
    let waited = (0..model.events.len() as u32).map(EventIx).find(|e| model.events.kind(*e).name() == "wait").unwrap();
    let high = (frame.map.area.h / 3.0).min(130.0);
    let x = frame.map.x.pixel(model.events.position(view.axis, waited) as f64);
    view.apply(&model, &frame, scene::Input::Click(pos(x + 1.0, frame.map.area.y + 2.5 * high)));
    assert_eq!(view.selection, Selection::Event(waited));
}

/// The sums of any range equal those of a walk over all allocations.
#[test]
fn the_flows_of_a_range_equal_a_count_of_its_mallocs() {
    let model = Model::of(training(3, 6, 30));
    let mut random = Random(2);
    for _ in 0..20 {
        let all = model.events.len() as u64;
        let (a, b) = (random.below(all) as u32, random.below(all) as u32);
        let (from, to) = (EventIx(a.min(b)), EventIx(a.max(b)));
        let mut plain: BTreeMap<String, (usize, u64)> = BTreeMap::new();
        for (at, life) in model.lives.iter().enumerate() {
            let at = weir_viz::model::LifeIx(at as u32);
            let Some(born) = life.born().filter(|born| (from..to).contains(born)) else { continue };
            let mut fresh = life.given.0;
            for link in model.came_from(at) {
                fresh -= link.bytes;
                let from = model.freed_on(link.life);
                let own = Some(Source::SameStream).filter(|_| from == life.stream);
                add(&mut plain, (own.or(others(life.source)), Some(from), life.stream), link.bytes);
            }
            if fresh > 0 {
                add(&mut plain, (others(life.source), None, life.stream), fresh);
            }
            assert_eq!(model.events.kind(born).name(), "malloc");
        }
        let mut told = BTreeMap::new();
        for ((source, to), by) in model.handed(PoolIx(0), from, to) {
            let one = |party: Party| model.streams_of(party).first().copied();
            for (kind, amount) in by {
                let key = format!("{:?}", (Some(kind), one(source), one(to).unwrap()));
                told.insert(key, (amount.hand_overs, amount.bytes));
            }
        }
        assert_eq!(told, plain);
    }
}

/// What a malloc relied on for memory of others than its stream.
fn others(source: Option<Source>) -> Option<Source> {
    source.map(|source| if source == Source::SameStream { Source::Settled } else { source })
}

/// The report and the page count the same.
#[test]
fn the_report_s_pairs_are_the_flows_of_the_whole_log() {
    let model = Model::of(training(3, 6, 30));
    let id = |stream: &StreamIx| model.stream(*stream).id;
    let mut told = BTreeMap::new();
    for ((from, to), by) in model.handed(PoolIx(0), EventIx(0), model.events.end()) {
        for (source, amount) in by {
            told.insert((model.streams_of(from).first().map(id), id(&model.streams_of(to)[0]), source), amount.bytes);
        }
    }
    let pairs = weir_viz::report::pairs(&model, PoolIx(0));
    assert!(pairs.len() > 6 && model.pools.len() == 1);
    assert_eq!(pairs.iter().map(|p| ((p.from, p.to, p.source), p.reused.bytes)).collect::<BTreeMap<_, _>>(), told);
}

fn add(plain: &mut BTreeMap<String, (usize, u64)>, key: (Option<Source>, Option<StreamIx>, StreamIx), bytes: u64) {
    let sum = plain.entry(format!("{key:?}")).or_default();
    (sum.0, sum.1) = (sum.0 + 1, sum.1 + bytes);
}

/// One malloc of 3 MiB: 1 MiB that stream 0 freed, 1 MiB that stream 1 freed, and 1 MiB that nobody had.
#[test]
fn each_byte_is_handed_over_once_by_the_stream_that_freed_it_last() {
    let mut tape = Tape::begin(1 << 30, 0, 3);
    tape.map(0, 2);
    tape.malloc(1, 0, 0, MIB, Source::Grow);
    tape.malloc(2, 0, MIB, MIB, Source::Grow);
    tape.free(1, 0, 0, MIB);
    tape.free(2, 1, MIB, MIB);
    tape.malloc(3, 2, 0, 3 * MIB, Source::Event);
    let model = Model::of(tape.records);
    let taker = model.life_of_id(3).unwrap();
    let told: Vec<_> =
        model.hand_overs(taker).map(|(from, bytes)| (from.map(|stream| model.stream(stream).id), bytes)).collect();
    assert_eq!(told, [(Some(stream(0)), MIB), (Some(stream(1)), MIB), (None, MIB)]);
}

#[test]
fn the_matrix_says_who_got_how_much() {
    let model = hand_over();
    let (scene, ..) = picture(&model, Page::Flows, |_| {});
    let texts: Vec<&str> = scene
        .shapes
        .iter()
        .filter_map(|s| if let Shape::Text(text) = s { Some(text.text.as_str()) } else { None })
        .collect();
    for text in ["1 MiB in 2 pieces", "event 1 MiB", "1 MiB in 1 piece", "grow 1 MiB", "nobody before"] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
}

/// Nothing is left out of a cell without a word, and what is left out is the least.
#[test]
fn a_cell_lists_its_kinds_the_largest_first_and_says_what_it_leaves_out() {
    let mut tape = Tape::begin(1 << 30, 0, 40);
    tape.map(0, 40);
    let mut offset = 0;
    for (at, source) in (1..).zip(&Source::ALL[1..]) {
        tape.malloc(at, 0, offset, at * MIB, *source);
        offset += at * MIB;
    }
    for at in 10..24 {
        // More rows, each with little room.
        tape.malloc(at, 1, offset, MIB, Source::SameStream);
        tape.free(at, at, offset, MIB);
        tape.malloc(100 + at, 0, offset, MIB, Source::SameStream);
        offset += MIB;
    }
    let model = Model::of(tape.records);
    let of_cell = |high: f32| -> Vec<String> {
        let (scene, ..) = picture(&model, Page::Flows, |view| view.size.h = high);
        let texts = scene.shapes.iter().filter_map(|s| if let Shape::Text(text) = s { Some(&text.text) } else { None });
        let mut texts = texts.skip_while(|text| *text != "15 MiB in 5 pieces").cloned();
        texts.next();
        texts.take_while(|text| !text.contains(" in ")).collect()
    };
    let words: Vec<String> =
        (1..=5_usize).rev().map(|at| format!("{} {at} MiB", scene::source_words(Source::ALL[at]))).collect();
    assert_eq!(of_cell(3200.0), words);
    let few = of_cell(1600.0);
    let shown = few.len() - 1;
    assert!((1..4).contains(&shown), "{few:?}");
    assert_eq!(few[..shown], words[..shown]);
    let rest: usize = (1..=5 - shown).sum();
    assert_eq!(few[shown], format!("… {} more: {rest} MiB", 5 - shown));
}

#[test]
fn an_empty_log_has_every_page() {
    for page in Page::ALL {
        let (scene, ..) = picture(&Model::default(), *page, |_| {});
        assert!(!scene.shapes.is_empty());
    }
}

/// Two pools on the same streams: what is done with one is seen while that is shown, what orders streams always.
#[test]
fn lanes_and_flows_are_of_the_pool_that_is_shown() {
    let mut tape = Tape::begin(1 << 30, 0, 2);
    let other = weir::id::PoolId::from_raw((1 << 32) | 1);
    let config = weir::policy::PoolConfig::new(DeviceId(0));
    let base = weir::units::DevicePtr(1 << 44);
    tape.push(Record::PoolDef { pool: other, base, range: Bytes(1 << 30), config });
    tape.push(Record::PoolCreated { pool: other });
    tape.map(0, 1);
    tape.malloc(1, 0, 0, MIB, Source::Grow);
    tape.free(1, 0, 0, MIB);
    tape.push(Record::Recorded { event: event(0), stream: stream(0), seq: Seq(9), number: 1 });
    tape.push(Record::Waited { stream: stream(1), seq: Seq(1), event: event(0), number: 1 });
    tape.malloc(2, 1, 0, MIB, Source::Event);
    let (pool, stream, size) = (Some(other), Some(stream(1)), Bytes(MIB));
    let reason = Refusal::AboveLimit(Bytes(1));
    tape.push(Record::Refused { verb: Verb::Malloc, pool, stream, size, reason });
    let model = Model::of(tape.records);
    let all = (EventIx(0), model.events.end());
    let done = |pool| {
        let mut acts = 0;
        model.lanes().each_in(&model, PoolIx(pool), all, |_, bits| acts |= bits);
        Act::ALL.into_iter().filter(|act| acts & act.bit() != 0).collect::<Vec<_>>()
    };
    assert_eq!(done(0), [Act::Malloc, Act::Free, Act::Record, Act::Wait]);
    assert_eq!(done(1), [Act::Record, Act::Wait, Act::Refused]);
    assert_eq!([0, 1].map(|pool| model.handed(PoolIx(pool), all.0, all.1).len()), [2, 0]);
    let lane = Lane::Stream(StreamIx(1));
    let near =
        |pool| model.lanes().around(lane, PoolIx(pool), EventIx(0)).map(|e| model.events.kind(e).name()).collect();
    assert_eq!([near(0), near(1)] as [Vec<&str>; 2], [vec!["wait", "malloc"], vec!["wait", "refused"]]);
    for (page, words) in [(Page::Lanes, "Streams (pool 1)"), (Page::Flows, "who handed memory to whom (pool 1)")] {
        let (scene, ..) = picture(&model, page, |view| view.pool = PoolIx(1));
        let has = |shape: &Shape| matches!(shape, Shape::Text(text) if text.text.contains(words));
        assert!(scene.shapes.iter().any(has), "{words}");
        let alarm = View::whole(&model, Size { w: 1.0, h: 1.0 }).theme.palette().alarm;
        let red = |pool| {
            let (scene, frame, _) = picture(&model, page, |view| view.pool = PoolIx(pool));
            let of = |shape: &Shape| matches!(shape, Shape::Rects { fill, rects } if *fill == alarm && rects.iter().any(|r| r.y > frame.map.area.y));
            scene.shapes.iter().any(of)
        };
        assert_eq!([red(0), red(1)], [false, page == Page::Lanes]);
    }
}
