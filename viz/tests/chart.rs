//! The memory chart: its lines are where what they show holds.

mod common;

use common::{BASE, Tape, stream};
use weir::id::{DeviceId, PoolId};
use weir::policy::PoolConfig;
use weir::trace::{MapReason, Record};
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
