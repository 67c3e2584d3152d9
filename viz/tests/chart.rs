//! The memory chart: its lines are where what they show holds.

mod common;

use common::{BASE, Tape, stream};
use weir::id::{DeviceId, PoolId};
use weir::policy::PoolConfig;
use weir::trace::{MapReason, Record, Source};
use weir::units::{Bytes, DevicePtr, GIB, MIB, Seq};
use weir_viz::model::{EventIx, Model, PoolIx};
use weir_viz::scene::{self, Pos, Shape, Size, View};

/// Records that say nothing about pools.
fn pass(tape: &mut Tape, records: u64) {
    (0..records).for_each(|_| tape.push(Record::StreamSynchronized { stream: stream(0), seq: Seq(1) }));
}

#[test]
fn threshold_and_limit_are_drawn_while_there_is_a_pool() {
    let mut tape = Tape::begin(GIB, 0, 1);
    let pool = PoolId::from_raw(2 << 32 | 1);
    let mut config = PoolConfig::new(DeviceId(0));
    (config.limit, config.threshold) = (Bytes(8 * MIB), Bytes(4 * MIB));
    pass(&mut tape, 300);
    tape.push(Record::PoolDef { pool, base: DevicePtr(BASE + 64 * GIB), range: Bytes(GIB), config });
    tape.push(Record::PoolCreated { pool });
    tape.push(Record::Mapped { pool, offset: Bytes(0), granules: 4, reason: MapReason::Grow });
    pass(&mut tape, 300);
    tape.push(Record::PoolDestroyed { pool, leaked: Bytes(0) });
    pass(&mut tape, 300);
    let model = Model::of(tape.records);
    let mut view = View::whole(&model, Size { w: 1400.0, h: 900.0 });
    view.pool = PoolIx(1);
    let (scene, frame) = scene::build(&model, &view);
    let at = |kind: &str| {
        let mut events = (0..model.events.len() as u32).map(EventIx).filter(|e| model.events.kind(*e).name() == kind);
        frame.map.x.pixel(model.events.position(view.axis, events.next_back().unwrap()) as f64)
    };
    let (from, to) = (at("pool created"), at("pool destroyed"));
    let palette = view.theme.palette();
    for color in [palette.threshold, palette.alarm] {
        let lines = scene.shapes.iter().filter_map(|shape| match shape {
            Shape::Line { stroke, points } if stroke.color == color && points[0].y > frame.chart.y => Some(points),
            _ => None,
        });
        let points: Vec<Pos> = lines.flatten().copied().collect();
        let (left, right) = (points[0].x, points[points.len() - 1].x);
        assert!((left - from).abs() <= 1.0 && (right - to).abs() <= 1.0, "{left} to {right}, not {from} to {to}");
    }
}

/// The peak lies just before records that are lost: its words are painted after the band over those.
#[test]
fn the_peak_is_told_over_the_band_of_lost_records() {
    let mut tape = Tape::begin(GIB, 0, 1);
    tape.map(0, 4);
    pass(&mut tape, 100);
    tape.malloc(1, 0, 0, 7 * MIB, Source::Grow);
    tape.free(1, 0, 0, 7 * MIB);
    let before = tape.records.len();
    pass(&mut tape, 60);
    tape.records[before..].iter_mut().for_each(|stamped| stamped.number += 50);
    let model = Model::of(tape.records);
    let view = View::whole(&model, Size { w: 1400.0, h: 900.0 });
    let (scene, _) = scene::build(&model, &view);
    let notice = view.theme.palette().notice;
    let band = |shape: &Shape| matches!(shape, Shape::Rects { fill, .. } if *fill == notice);
    let peak = |shape: &Shape| matches!(shape, Shape::Text(text) if text.text == "peak 7 MiB");
    let (band, peak) = (scene.shapes.iter().rposition(band), scene.shapes.iter().position(peak));
    assert!(band.unwrap() < peak.unwrap(), "{band:?} {peak:?}");
}

/// The highest address of the map may be at its upper edge, where the caption is.
#[test]
fn no_address_is_written_over_the_caption_of_the_map() {
    let mut tape = Tape::begin(64 * GIB, 0, 1);
    tape.map(0, 1024);
    pass(&mut tape, 10);
    let model = Model::of(tape.records);
    let view = View::whole(&model, Size { w: 1400.0, h: 900.0 });
    let (scene, frame) = scene::build(&model, &view);
    let texts = scene.shapes.iter().filter_map(|shape| if let Shape::Text(text) = shape { Some(text) } else { None });
    let addresses: Vec<_> = texts.filter(|text| text.text.starts_with('+')).collect();
    // A line of text reaches 9 above its base; the caption's ends 5 above the map.
    assert!(
        addresses.len() > 3 && addresses.iter().all(|text| text.at.y - 9.0 >= frame.map.area.y - 5.0),
        "{addresses:?}"
    );
}
