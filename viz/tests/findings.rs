//! What the detector finds is in the picture: marked at its time and addresses, listed, and each entry leads there.

mod check_support;
mod common;

use check_support::{A, B, Hand, KIB, event, ptr, stream};
use weir::id::{AllocId, EventId, LabelId, PoolId};
use weir::policy::UseUntil;
use weir::trace::{Record, Refusal, Stamped, Verb, text};
use weir::units::{Bytes, DevicePtr, MIB, Seq};
use weir_viz::check::{Checker, Fault, Report, Told};
use weir_viz::cli::{self, Picture, PictureError};
use weir_viz::model::{Axis, FindingIx, Flag, Model, PoolIx};
use weir_viz::progress::Progress;
use weir_viz::scene::{self, Anchor, Frame, Input, Parts, Pos, ROW, Scene, Selection, Shape, Size, View, pos};
use weir_viz::{font, source, svg};

fn report(records: &[Stamped<'_>]) -> Report {
    let mut checker = Checker::new(Told::Accept);
    records.iter().for_each(|record| checker.push(record));
    checker.finish()
}

/// The model of a log that was checked.
fn checked(records: &[Stamped<'_>]) -> Model {
    let mut model = Model::of(records.iter().copied());
    model.take_findings(report(records));
    model
}

fn whole(model: &Model) -> (View, Scene, Frame) {
    let mut view = View::whole(model, Size { w: 1400.0, h: 900.0 });
    view.parts = Parts::WithList;
    let (scene, frame) = scene::build(model, &view);
    (view, scene, frame)
}

fn texts(scene: &Scene) -> Vec<&str> {
    let texts = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

type Plant = fn(&mut Hand) -> u64;

/// One thing that is wrong in each.
const PLANTS: [(Fault, Plant); 12] = [
    (Fault::UseBeforeMalloc, |log| log.used(1, B, UseUntil::Now)),
    (Fault::UseAfterFree, |log| (log.free(1, A), log.used(1, A, UseUntil::Now)).1),
    (Fault::FreeBeforeUse, |log| (log.hand_over(A, B), log.free(1, A), log.used(1, B, UseUntil::Now)).2),
    (Fault::FreeBeforeMalloc, |log| log.free(1, B)),
    (Fault::DoubleFree, |log| (log.free(1, A), log.refuse(Verb::Free, A, Refusal::AlreadyFree(ptr(KIB), None))).1),
    (Fault::Leak, |log| log.destroy_pool(KIB)),
    (Fault::ReuseBeforeFree, |log| (log.free(1, A), log.malloc_at(2, B, KIB)).1),
    (Fault::GivenTwice, |log| log.malloc_at(2, A, KIB)),
    (Fault::UnmappedInUse, |log| log.unmap(0, 1)),
    (Fault::InsideBlock, |log| log.refuse(Verb::Free, A, Refusal::Interior(ptr(KIB + 8), ptr(KIB)))),
    (Fault::NotABlock, |log| log.refuse(Verb::Free, A, Refusal::BadPointer(DevicePtr(64)))),
    (Fault::StaleId, |log| log.refuse(Verb::Wait, A, Refusal::Stale)),
];

/// A log with that in its middle.
fn planted(plant: Plant) -> Hand {
    let mut log = Hand::new();
    log.malloc(1, A);
    plant(&mut log);
    let ended = matches!(log.records.last().map(|stamped| stamped.record), Some(Record::PoolDestroyed { .. }));
    for id in 20..30 {
        match ended {
            true => log.push(Record::Mark { label: LabelId::NONE, name: "on" }),
            false => log.malloc_at(id, A, 3 * MIB + id * KIB),
        };
    }
    log
}

/// Where the mark of a finding is to be: its record along x, the middle of its memory in the map.
fn expected(model: &Model, frame: &Frame, flag: &Flag) -> (f32, Option<Pos>) {
    let place = model.events.position(Axis::Record, flag.second) as f64;
    let x = frame.map.x.pixel(place);
    let middle = flag.finding.memory.map(|memory| {
        let (from, to) = (memory.offset.0, memory.offset.0 + memory.bytes.0);
        let range = frame.map.pixels(place, place, from, to);
        pos(x, range.y + range.h / 2.0)
    });
    (x, middle)
}

#[test]
fn each_kind_of_fault_is_marked_and_listed_where_it_is() {
    for (fault, plant) in PLANTS {
        let log = planted(plant);
        let model = checked(&log.records);
        let [flag] = model.findings.flags() else { panic!("{fault:?}: {}", report(&log.records)) };
        assert_eq!(flag.finding.fault, fault);
        assert_eq!(model.events.number(flag.second), flag.finding.second.record);
        assert_eq!(flag.first.map(|e| model.events.number(e)), flag.finding.first.map(|op| op.record));
        assert_eq!(model.pool(PoolIx(0)).findings, [flag.second]);
        let (view, scene, frame) = whole(&model);
        let (x, in_map) = expected(&model, &frame, flag);
        let alarm = view.theme.palette().alarm;
        let foot = frame.chart.bottom();
        let triangle = |s: &Shape| matches!(s, Shape::Area { fill, points, base } if *fill == alarm && *base == foot && points[1].x == x);
        assert!(scene.shapes.iter().any(triangle), "{fault:?}: at {x}");
        let all = texts(&scene);
        for text in ["1 finding", "Findings", fault.name()] {
            assert!(all.contains(&text), "{fault:?}: {text} in {all:?}");
        }
        assert_eq!(frame.finding_at(&model, &view, pos(x, foot - 3.0)), Some(FindingIx(0)));
        if let Some(at) = in_map.filter(|at| frame.map.area.contains(*at)) {
            assert_eq!(frame.finding_at(&model, &view, at), Some(FindingIx(0)), "{fault:?}: at {at:?}");
            let crossed = |s: &Shape| matches!(s, Shape::Segments { stroke, ends } if stroke.color == alarm && (ends[0][0].x + 4.0 - at.x).abs() < 0.01);
            assert!(scene.shapes.iter().any(crossed), "{fault:?}: at {at:?}");
        }
    }
}

#[test]
fn the_list_leads_to_time_address_and_rows() {
    for (fault, plant) in PLANTS {
        let log = planted(plant);
        let model = checked(&log.records);
        let (mut view, _, frame) = whole(&model);
        let list = frame.findings.expect("a list");
        view.apply(&model, &frame, Input::Click(pos(list.x + 40.0, list.y + ROW / 2.0)));
        assert_eq!(view.selection, Selection::Finding(FindingIx(0)));
        let flag = &model.findings.flags()[0];
        for event in [flag.first, Some(flag.second)].into_iter().flatten() {
            let place = model.events.position(view.axis, event) as f64;
            assert!(view.x.from <= place && place <= view.x.to, "{fault:?}: {place} in {:?}", view.x);
        }
        let (scene, frame) = scene::build(&model, &view);
        let (_, in_map) = expected(&model, &frame, flag);
        if let Some(at) = in_map {
            assert!(frame.map.area.contains(at), "{fault:?}: {at:?} in {:?}", frame.map.area);
        }
        let row = flag.second.at();
        assert!((view.top..view.top + frame.rows()).contains(&row), "{fault:?}");
        let words = texts(&scene).into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        let operations = flag.finding.first.iter().chain([&flag.finding.second]).map(ToString::to_string);
        let told = operations.chain(flag.finding.missing.iter().map(ToString::to_string));
        // Long lines are wrapped.
        for told in told {
            assert!(words.contains(&told), "{fault:?}: {told} in {words}");
        }
    }
}

#[test]
fn a_finding_names_the_event_that_is_missing() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    log.record(3, A);
    log.malloc_at(2, B, KIB);
    let model = checked(&log.records);
    let details = scene::details(&model, Selection::Finding(FindingIx(0)));
    let value = |key: &str| details.iter().find(|line| line.key == key).map_or("", |line| line.value.as_str());
    assert!(value("first").contains("free of allocation 1 on stream 0 at seq 2"), "{details:?}");
    assert!(value("then").contains("malloc of allocation 2 on stream 1 at seq 1"), "{details:?}");
    assert!(
        value("missing").contains("an event recorded on stream 0 behind seq 2, and stream 1 waiting"),
        "{details:?}"
    );
    assert!(value("note").contains("records event 3 on stream 0"), "{details:?}");
    let (view, _, frame) = whole(&model);
    let (x, _) = expected(&model, &frame, &model.findings.flags()[0]);
    let told = scene::hover(&model, &view, &frame, pos(x, frame.chart.bottom() - 3.0));
    let told: Vec<String> =
        told.into_iter().filter_map(|s| if let Shape::Text(t) = s { Some(t.text) } else { None }).collect();
    assert!(told.join(" ").contains("reuse_before_free: memory is given to a stream"), "{told:?}");
}

#[test]
fn where_nothing_is_wrong_the_picture_is_as_if_it_had_not_been_checked() {
    let mut log = Hand::new();
    for id in 1..30 {
        log.malloc(id, A);
        log.hand_over(A, B);
        log.free(id, B);
        log.hand_over(B, A);
    }
    let (before, after) = (Model::of(log.records.iter().copied()), checked(&log.records));
    assert_eq!(after.findings.total(), 0);
    assert_eq!(whole(&before).1, whole(&after).1);
    assert_eq!(whole(&after).2.findings, None);
}

#[test]
fn a_finding_in_another_pool_leads_to_that_pool() {
    let other = PoolId::from_raw((1 << 32) | 1);
    let mut log = Hand::new();
    for id in 1..20 {
        log.malloc(id, A);
    }
    log.pool(other, 0x1_0000_0000);
    let seq = log.tick(A);
    let (pool, id, size) = (other, AllocId(50), Bytes(512));
    log.push(Record::Mapped { pool, offset: Bytes(0), granules: 1, reason: weir::trace::MapReason::Grow });
    log.push(Record::Malloc {
        pool,
        stream: stream(A),
        seq,
        id,
        asked: size,
        given: size,
        offset: Bytes(0),
        source: weir::trace::Source::Grow,
        label: weir::id::LabelId::NONE,
        points: weir::trace::Points::default(),
    });
    log.push(Record::Free { pool, stream: stream(B), seq: Seq(1), id, offset: Bytes(0), given: size });
    let model = checked(&log.records);
    let (mut view, _, frame) = whole(&model);
    assert_eq!((view.pool, model.findings.flags()[0].pool), (PoolIx(0), Some(PoolIx(1))));
    assert!(model.pool(PoolIx(0)).findings.is_empty() && model.pool(PoolIx(1)).findings.len() == 1);
    view.apply(&model, &frame, Input::StepFinding(1));
    assert_eq!((view.pool, view.selection), (PoolIx(1), Selection::Finding(FindingIx(0))));
}

#[test]
fn in_a_log_that_begins_again_a_finding_is_in_its_own_run() {
    let wrong = planted(PLANTS[6].1);
    let mut right = Hand::new();
    right.malloc(1, A);
    right.free(1, A);
    let records: Vec<_> = right.records.iter().chain(&wrong.records).copied().collect();
    let model = checked(&records);
    let [flag] = model.findings.flags() else { panic!("{}", report(&records)) };
    let first_run = Model::of(right.records.iter().copied()).events.len();
    assert_eq!(flag.second.at() - first_run, checked(&wrong.records).findings.flags()[0].second.at());
    assert_eq!(flag.pool, Some(PoolIx(1)));
}

/// Twenty uses after the free of as many blocks.
fn many() -> Hand {
    let mut log = Hand::new();
    for id in 1..21 {
        log.malloc(id, A);
        log.free(id, A);
        log.used(id, A, UseUntil::Now);
    }
    log
}

#[test]
fn stepping_visits_every_finding_and_the_list_follows() {
    let model = checked(&many().records);
    let (mut view, _, mut frame) = whole(&model);
    assert!(frame.finding_rows() < 20, "a list that scrolls");
    for at in (0..20).chain([0]) {
        view.apply(&model, &frame, Input::StepFinding(1));
        assert_eq!(view.selection, Selection::Finding(FindingIx(at)));
        frame = scene::build(&model, &view).1;
        let rows = view.top_finding..view.top_finding + frame.finding_rows();
        assert!(rows.contains(&(at as usize)), "{at} in {rows:?}");
    }
    view.apply(&model, &frame, Input::StepFinding(-1));
    assert_eq!(view.selection, Selection::Finding(FindingIx(19)));
    view.apply(&model, &frame, Input::ScrollFindings(-100.0));
    assert_eq!(view.top_finding, 0);
    view.apply(&model, &frame, Input::ScrollFindings(100.0));
    assert_eq!(view.top_finding, 20 - frame.finding_rows());
}

#[test]
fn more_findings_than_are_listed_are_counted() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    for _ in 0..1200 {
        log.used(1, A, UseUntil::Now);
    }
    let model = checked(&log.records);
    let (_, scene, _) = whole(&model);
    let all = texts(&scene);
    assert!(all.contains(&"1,200 findings") && all.contains(&"the first 1,000 of 1,200"), "{all:?}");
}

#[test]
fn pictures_with_findings_have_no_text_outside() {
    let model = checked(&many().records);
    for (w, h) in [(480.0, 360.0), (640.0, 400.0), (800.0, 360.0), (820.0, 500.0), (1200.0, 700.0)] {
        for selection in [Selection::Nothing, Selection::Finding(FindingIx(19))] {
            let (mut view, ..) = whole(&model);
            (view.size, view.selection) = (Size { w, h }, selection);
            let (scene, frame) = scene::build(&model, &view);
            let right = frame.list.map_or(w, |l| l.x);
            for shape in &scene.shapes {
                let Shape::Text(text) = shape else { continue };
                let wide = font::width(&text.text, text.size);
                let left = match text.anchor {
                    Anchor::Start => text.at.x,
                    Anchor::Middle => text.at.x - wide / 2.0,
                    Anchor::End => text.at.x - wide,
                };
                assert!(left >= 0.0 && left + wide <= w && text.at.y <= h, "{w}x{h}: {text:?} is {wide} wide");
                assert!(left >= right || left + wide <= right, "{w}x{h}: {text:?} runs under the list");
            }
            if let (Some(found), Some(list), Some(details)) = (frame.findings, frame.list, frame.details) {
                assert!(found.bottom() < list.y && list.bottom() < details.y && frame.rows() > 0, "{w}x{h}");
            }
        }
    }
}

#[test]
fn a_screenshot_shows_the_findings_and_goes_to_the_one_that_is_asked_for() {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in &many().records {
        text::write(stamped, &mut lines).expect("room");
        lines.push('\n');
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [log, out] = ["a.log", "a.svg"].map(|name| folder.path().join(name));
    std::fs::write(&log, &lines).expect("written");
    let shot = |finding| cli::screenshot(&log, &out, &Picture { finding, ..Picture::default() }, &Progress::default());
    shot(Some(20)).expect("a picture");
    let drawn = std::fs::read_to_string(&out).expect("it was written");
    assert!(drawn.contains("20 findings") && drawn.contains("20 of 20: use_after_free"));
    assert!(matches!(shot(Some(21)), Err(PictureError::NoFinding { asked: 21, findings: 20 })));
    assert!(matches!(shot(Some(0)), Err(PictureError::NoFinding { asked: 0, .. })));
    // A log that is only opened is not checked.
    let opened = source::read("a.log", lines.as_bytes()).expect("a log");
    let plain = svg::write(&cli::draw(&opened, &Picture::default()).expect("a picture"));
    assert!(!plain.contains("findings"));
}

#[test]
fn resets_of_events_and_captures_are_told_in_words() {
    let mut log = Hand::new();
    log.push(Record::EventReset { event: event(2) });
    log.push(Record::CaptureSet { stream: stream(A), capture: weir::policy::Capture::Active });
    log.push(Record::CaptureSet { stream: stream(A), capture: weir::policy::Capture::None });
    let model = Model::of(log.records.iter().copied());
    let last = model.events.len() as u32;
    let words = |at| scene::headline(&model, weir_viz::model::EventIx(at));
    assert_eq!(words(last - 3), format!("event {}", EventId::from_raw((1 << 32) | 2)));
    assert_eq!((words(last - 2), words(last - 1)), ("stream 0 is captured".into(), "stream 0 runs again".into()));
}

#[test]
fn what_a_pools_settings_bring_about_is_told_in_words() {
    use weir::policy::{Blocking, Growth, Release, Tuning};
    use weir::trace::{MapReason, UnmapReason};
    let (pool, granules) = (check_support::POOL, 2);
    let tuning = Tuning {
        growth: Growth::Eager(Bytes::mib(64)),
        release: Release::Always,
        blocking: Blocking::WhenExhausted,
        addresses: Some(3),
    };
    let (a, b, seq) = (stream(A), stream(B), Seq(9));
    let on = weir::error::Point { stream: a, seq };
    let (map, unmap) = (MapReason::Remap, UnmapReason::Remap);
    let told = [
        (Record::PoolTuned { pool, tuning }, "grows by 64 MiB, always releases, may block, addresses 3 × its limit"),
        (
            Record::Kept { pool, kept: Bytes::mib(34), thrash: Bytes::mib(96) },
            "up to 34 MiB beyond the threshold; thrash so far 96 MiB",
        ),
        (Record::Blocked { pool, stream: b, on }, "for stream 0 at 9, so that stream 1 gets memory"),
        (
            Record::Pressed { pool, bytes: Bytes::mib(6), relieved: true },
            "6 MiB asked of the program: some was given back",
        ),
        (
            Record::Pressed { pool, bytes: Bytes::mib(6), relieved: false },
            "6 MiB asked of the program: nothing was given back",
        ),
        (
            Record::UnmappedInOrder { pool, stream: a, seq, offset: Bytes(0), granules, reason: unmap },
            "2 granules at base, needed elsewhere",
        ),
        (
            Record::MappedInOrder { pool, stream: a, seq, offset: Bytes(0), granules, reason: map },
            "2 granules at base, moved here",
        ),
        (
            Record::Trimmed {
                pool,
                target: Bytes(0),
                reached: Bytes::mib(9),
                live: Bytes::mib(2),
                pending: Bytes::mib(6),
                partial: Bytes(0),
            },
            "to 0 B, reached 9 MiB: 2 MiB live, 6 MiB pending",
        ),
        (Record::TrimPending { pool, on, bytes: Bytes::mib(6), streams: 1 }, "6 MiB on stream 0 up to 9"),
        (Record::TrimPending { pool, on, bytes: Bytes::mib(4), streams: 5 }, "4 MiB on stream 0 up to 9, one of 5"),
    ];
    let mut log = Hand::new();
    for (record, _) in told {
        log.push(record);
    }
    let model = Model::of(log.records.iter().copied());
    let first = model.events.len() - told.len();
    for (at, (record, words)) in told.iter().enumerate() {
        let event = weir_viz::model::EventIx((first + at) as u32);
        assert_eq!(scene::headline(&model, event), *words, "{record:?}");
    }
    let of_pool = model.pool(PoolIx(0));
    assert_eq!(of_pool.definition.expect("it is defined").config.tuning, tuning);
    assert_eq!(model.syncs(PoolIx(0)).len(), 1, "the host's wait is shown where synchronisations are");
    assert!(model.oddities.is_empty(), "{:?}", model.oddities);
    assert_eq!(
        of_pool.runs.iter().filter(|run| run.start == 0).count(),
        2,
        "before the unmapping and after the mapping"
    );
}
