//! A producer's stream hands blocks to a consumer's along events; the consumer frees them.

use super::{Kind, Needs, Plan, Row, Side, peaks, refused, scale, scaled};
use std::time::Duration;
use weir_bench::churn::Host;
use weir_gpu_device::{Gpu, GpuError};

/// How many blocks are handed over.
const ROUNDS: usize = 400;
/// How far the producer may be ahead where it waits for the consumer.
const AHEAD: usize = 4;
/// How long each of the two works on a block.
const WORK: Duration = Duration::from_micros(50);
const BLOCK: u64 = 64 << 20;
const PRODUCER: usize = 0;
const CONSUMER: usize = 1;

/// One way of doing it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Whether the producer waits for the consumer's event of [`AHEAD`] rounds before.
    waits: Waits,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    ForTheConsumer,
    ForNobody,
}

pub(super) fn peak<S: Side>(gpu: &'static Gpu, name: &str, shape: Shape) -> Result<u64, GpuError> {
    let mut side = S::new(gpu, Needs { streams: 2, events: 2 * AHEAD, blocks: ROUNDS })?;
    let refused = refused::<S>(name);
    for round in 0..ROUNDS {
        let (written, read) = (round % AHEAD, AHEAD + round % AHEAD);
        side.on(PRODUCER);
        if shape.waits == Waits::ForTheConsumer && round >= AHEAD {
            side.wait(read).map_err(&refused)?;
        }
        let block = side.malloc(shape.bytes).ok_or_else(|| refused(weir_bench::churn::Refused))?;
        gpu.spin(side.native(PRODUCER), WORK)?;
        side.record(written).map_err(&refused)?;
        side.on(CONSUMER);
        side.wait(written).map_err(&refused)?;
        gpu.spin(side.native(CONSUMER), WORK)?;
        side.free(block).map_err(&refused)?;
        side.record(read).map_err(&refused)?;
    }
    side.synchronise(Host::Device).map_err(&refused)?;
    side.peak().ok_or_else(|| refused(weir_bench::churn::Refused))
}

pub(super) fn rows(gpu: &'static Gpu, room: u64, has_vendor: bool) -> Result<Vec<Row>, GpuError> {
    // Where nobody waits, each block may be a new one.
    let by = scale(ROUNDS as u64 * BLOCK, room);
    let (bytes, block) = (BLOCK / by, |name: &str| scaled(&format!("{name}, blocks of 64 MiB"), by));
    let shapes = [
        (block("hand-over, the producer 4 ahead at most"), Waits::ForTheConsumer),
        (block("hand-over, the producer waits for nobody"), Waits::ForNobody),
    ];
    let row = |(name, waits)| {
        // Each is freed before the next one is allocated, as the host sees it.
        let plan = Plan { name, live: bytes, kind: Kind::HandOver(Shape { waits, bytes }) };
        peaks(gpu, has_vendor, &plan)
    };
    shapes.into_iter().map(row).collect()
}
