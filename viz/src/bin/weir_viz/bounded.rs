//! What a picture costs is bounded by its pixels: logs made to be dear, on every page, from all of it to a few records.

use crate::app::App;
use crate::document::Document;
use crate::loading::Loaded;
use crate::measure::Window;
use crate::recent::Recent;
use common::{GRANULE, POOL, Random, Tape, event, stream};
use eframe::egui::{Vec2, vec2};
use std::path::Path;
use weir::error::Point;
use weir::id::DeviceId;
use weir::policy::UseUntil;
use weir::trace::{MapReason, Record, Refusal, Source, Stamped, UnmapReason, Verb, text};
use weir::units::{Bytes, GIB, Seq};
use weir_viz::check::{self, Report, Told};
use weir_viz::cli::Picture;
use weir_viz::model::{Axis, By, EventIx};
use weir_viz::progress::Progress;
use weir_viz::scene::{ColorBy, Page, Range, Selection};
use weir_viz::source;

#[path = "../../../tests/common/mod.rs"]
mod common;

/// What a frame of an ordinary window may have: a quad is two triangles.
const MOST_QUADS: usize = 20_000;
/// And its vertices, in bytes.
const MOST_BYTES: usize = 3_000_000;
/// Parts of a log that are in sight.
const PARTS: [f64; 3] = [1.0, 0.05, 0.001];
const ORDINARY: Vec2 = vec2(1400.0, 900.0);
const LARGE: Vec2 = vec2(2560.0, 1440.0);

/// How the log is looked at: the colours of the map, the stacks of the chart.
type Look = (ColorBy, Option<By>);

const PLAIN: Look = (ColorBy::Stream, None);

/// As a file.
fn bytes(records: &[Stamped<'_>]) -> Vec<u8> {
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in records {
        text::write(stamped, &mut lines).unwrap();
        lines.push('\n');
    }
    lines.into_bytes()
}

/// Goes through all pages, and holds every frame to the bounds.
fn holds(records: &[Stamped<'_>], look: Look, marks: usize) {
    holds_in(ORDINARY, records, look, marks, Report::default());
}

/// A larger window has more, by its pixels.
fn holds_in(size: Vec2, records: &[Stamped<'_>], look: Look, marks: usize, report: Report) {
    let mut opened = source::read("crowd.log", &bytes(records)).unwrap();
    opened.model.take_findings(report);
    let events = opened.model.events.len();
    let loaded = Loaded { opened, bytes: Vec::new() };
    let mut document = Document::new(loaded, Path::new("crowd.log").to_owned(), Picture::default()).unwrap();
    (document.view.color, document.view.stack) = look;
    for mark in 0..marks {
        document.view.set_mark(EventIx((mark * events / marks) as u32), &format!("mark {mark}"));
    }
    let mut window = Window::new(App::with(document, Recent::default()), size);
    window.look(|_| {});
    let more = f64::from((size.x * size.y) / (ORDINARY.x * ORDINARY.y));
    for (page, axis) in Page::ALL.iter().flat_map(|page| [(page, Axis::Record), (page, Axis::Time)]) {
        for part in PARTS {
            let (quads, bytes) = window.look(|document| part_of(document, *page, axis, part));
            let what = format!("{page:?} along {axis:?}, {part} of it");
            assert!(quads as f64 <= MOST_QUADS as f64 * more, "{what}: {quads} quads");
            assert!(bytes as f64 <= MOST_BYTES as f64 * more, "{what}: {bytes} bytes");
        }
    }
}

/// A part of a page, with something in it selected.
fn part_of(document: &mut Document, page: Page, axis: Axis, part: f64) {
    let (model, view) = (&document.opened.model, &mut document.view);
    (view.page, view.axis) = (page, axis);
    view.fit(model);
    let whole = view.x.to;
    view.x = Range { from: whole * 0.4, to: whole * (0.4 + part) }.within(whole);
    let middle = model.events.last_until(axis, (view.x.from + view.x.to) / 2.0);
    let life = middle.and_then(|event| model.life_at(event));
    view.selection = life.map_or(Selection::Nothing, Selection::Life);
}

/// What streams can do, one after another, and all of them at all times. Every wait is for an event that was recorded, so
/// that there are arrows of all kinds.
fn act(tape: &mut Tape, random: &mut Random, on: u64, number: u64) {
    let seq = Seq(number + 10);
    let on = stream(on);
    let other = Point { stream: stream(random.below(3)), seq: Seq(1) };
    // Five in a row are of one event and one marker.
    let (of, marker) = (event(number / 5 % 40), number as u32 / 5 % 64);
    tape.push(match if number % 5 < 3 { number % 5 } else { 3 + random.below(6) } {
        0 => Record::Recorded { event: of, stream: on, seq, number: number / 5 },
        1 => Record::Waited { stream: on, seq, event: of, number: number / 5 },
        2 => Record::MarkerLaid { marker, stream: on, seq },
        3 => Record::WaitInserted { stream: on, seq, marker, on: other },
        4 => Record::StreamSynchronized { stream: on, seq },
        5 => Record::DeviceSynchronized { device: DeviceId(0) },
        6 => Record::Use { pool: POOL, stream: on, seq, id: weir::id::AllocId(1), until: UseUntil::Now },
        7 => refused(on),
        _ => Record::Asked { stream: on, seq, complete: true },
    });
}

fn refused(on: weir::id::StreamId) -> Record<'static> {
    let (pool, stream, size) = (Some(POOL), Some(on), Bytes(9 * GIB));
    Record::Refused { verb: Verb::Malloc, pool, stream, size, reason: Refusal::AboveLimit(Bytes(4 * GIB)) }
}

/// So many streams do everything. `step`: nanoseconds between two records; 0: many happen at once.
fn streams(count: u64, records: u64, step: u64) -> Vec<Stamped<'static>> {
    let (mut tape, mut random) = (Tape::begin(64 * GIB, 0, count), Random(count));
    tape.map(0, 8);
    tape.malloc(1, 0, 0, 65536, Source::Grow);
    for number in 0..records {
        let on = random.below(count);
        tape.time += if step > 0 { step } else { u64::from(number % 2_000 == 0) };
        act(&mut tape, &mut random, on, number);
        if number % 3 == 0 {
            let (id, offset) = (number + 10, GRANULE + number % 24 * 524_288);
            tape.malloc(id, on, offset, 65536, Source::ALL[random.below(6) as usize]);
            tape.free(id, random.below(count), offset, 65536);
        }
    }
    tape.records
}

#[test]
fn of_few_streams_and_many_acts() {
    holds(&streams(3, 8_000, 700), PLAIN, 0);
    holds(&streams(60, 8_000, 700), PLAIN, 0);
}

#[test]
fn of_thousands_of_streams() {
    holds_in(LARGE, &streams(400, 8_000, 700), PLAIN, 0, Report::default());
    holds(&streams(3_000, 8_000, 700), (ColorBy::Age, Some(By::Stream)), 0);
}

/// There is no zooming in on what happened at the same moment.
#[test]
fn of_thousands_of_acts_at_once() {
    holds(&streams(40, 8_000, 0), PLAIN, 0);
    holds(&streams(3_000, 8_000, 0), PLAIN, 0);
}

/// Marks of the program and of the user, and places where records are missing.
#[test]
fn of_marks_and_of_records_that_were_lost() {
    let (mut tape, mut random) = (Tape::begin(64 * GIB, 0, 4), Random(3));
    for number in 0..8_000_u64 {
        tape.time += 500;
        act(&mut tape, &mut random, number % 4, number);
        match number % 7 {
            0 => tape.push(Record::Mark { label: weir::id::LabelId::NONE, name: "a step of the training" }),
            3 => tape.push(Record::Lost { records: 2 }),
            _ => {}
        }
    }
    let every = |most: usize| {
        let step = tape.records.len() / most;
        let plain = |record: &Record<'_>| !matches!(record, Record::Mark { .. } | Record::Lost { .. });
        let kept = tape.records.iter().enumerate().filter(|(at, r)| at % step == 0 || plain(&r.record));
        kept.map(|(_, stamped)| *stamped).collect::<Vec<_>>()
    };
    for most in [100, 1_000] {
        holds(&every(most), PLAIN, most.min(4_000));
    }
}

/// Every block is used after its free, all over the addresses.
#[test]
fn of_thousands_of_findings() {
    let (mut tape, mut random) = (Tape::begin(64 * GIB, 0, 2), Random(11));
    tape.map(0, 2_000);
    for id in 1..5_000 {
        tape.time += 500;
        let offset = random.below(2_000) * GRANULE;
        tape.malloc(id, 0, offset, 65536, Source::SameStream);
        tape.free(id, 0, offset, 65536);
        let (id, seq) = (weir::id::AllocId(id), Seq(id * 2 + 1));
        tape.push(Record::Use { pool: POOL, stream: stream(1), seq, id, until: UseUntil::Now });
    }
    let bytes = bytes(&tape.records);
    let report = check::read_with("crowd.log", &bytes, Told::Accept, &Progress::default()).unwrap();
    assert!(report.total() > 3_000);
    holds_in(ORDINARY, &tape.records, PLAIN, 0, report);
}

/// Blocks of every size, length, stream and source between each other, granules that come, go and move.
#[test]
fn of_a_chequered_map() {
    holds(&chequered(1_500), PLAIN, 0);
    let many = chequered(4_000);
    for look in [PLAIN, (ColorBy::Age, Some(By::Size)), (ColorBy::Source, Some(By::Stream))] {
        holds(&many, look, 0);
    }
}

fn chequered(blocks: u64) -> Vec<Stamped<'static>> {
    let (mut tape, mut random) = (Tape::begin(64 * GIB, 0, 50), Random(blocks));
    tape.map(0, 400);
    let mut live = std::collections::VecDeque::new();
    for id in 1..blocks {
        tape.time += random.below(900);
        let (on, offset) = (random.below(50), random.below(400) * GRANULE);
        let size = (512 << random.below(13)).min(GRANULE);
        tape.malloc(id, on, offset, size, Source::ALL[random.below(6) as usize]);
        live.push_back((id, on, offset, size));
        while live.len() as u64 > 20 + random.below(200) {
            let (id, on, offset, size) = live.pop_front().unwrap();
            tape.free(id, on, offset, size);
        }
        if id % 3 == 0 {
            let (from, to) = (400 + random.below(90), 500 + random.below(90));
            tape.unmap(from * GRANULE, 1, UnmapReason::Remap);
            let reason = MapReason::Remap;
            tape.push(Record::Mapped { pool: POOL, offset: Bytes(to * GRANULE), granules: 1, reason });
            tape.unmap(to * GRANULE, 1, UnmapReason::Threshold);
            tape.map(from * GRANULE, 1);
        }
    }
    tape.records
}
