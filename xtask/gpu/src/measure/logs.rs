//! The most memory that each has on the logs of `examples/traces`, which are part of the program.

use super::{Kind, Needs, Plan, Row, Side, peaks, refused, scale, scaled};
use weir_bench::replay::Replay;
use weir_gpu_device::{Gpu, GpuError};
use weir_viz::import::{self, Program};

const LOGS: [(&str, &[u8]); 3] = [
    ("producer_consumer", include_bytes!("../../../../examples/traces/producer_consumer.csv")),
    ("resnet50_train", include_bytes!("../../../../examples/traces/resnet50_train.csv")),
    ("two_streams_transformer", include_bytes!("../../../../examples/traces/two_streams_transformer.csv")),
];

/// A log, and by what its sizes are divided.
pub(super) struct Log {
    program: Program,
    scale: u64,
}

pub(super) fn peak<S: Side>(gpu: &'static Gpu, name: &str, log: &Log) -> Result<u64, GpuError> {
    let Log { program, scale } = log;
    let needs = Needs { streams: program.streams.len(), events: program.events, blocks: program.blocks.len() };
    let mut replay = Replay::new(S::new(gpu, needs)?, program, *scale);
    replay.through().map_err(refused::<S>(name))?;
    gpu.synchronise()?;
    replay.peak().ok_or_else(|| refused::<S>(name)(weir_bench::churn::Refused))
}

pub(super) fn rows(gpu: &'static Gpu, room: u64, has_vendor: bool) -> Result<Vec<Row>, GpuError> {
    let mut rows = Vec::new();
    for (name, text) in LOGS {
        let program = import::read(text, None).map_err(|error| GpuError::Failed(format!("{name}: {error}")))?;
        // Half as much again for what lies between blocks, and for work that is behind.
        let peak = program.peak_within(u64::MAX);
        let by = scale(peak + peak / 2, room);
        let log = Log { program, scale: by };
        let plan = Plan { name: scaled(name, by), live: peak / by, kind: Kind::Log(&log) };
        rows.push(peaks(gpu, has_vendor, &plan)?);
    }
    Ok(rows)
}
