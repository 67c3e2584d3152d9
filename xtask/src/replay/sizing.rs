//! How much of everything a replay of a log needs, so that nothing runs out but the pool's own limit.

use weir::Capacities;
use weir::driver::MarkerSlot;
use weir::units::{Bytes, GIB};
use weir_viz::import::{Op, Program};

/// Room for what is around the log: other streams, their events and blocks.
const AROUND: usize = 64;
/// Streams of it. Few: the memory for clocks grows with streams times events.
const STREAMS_AROUND: usize = 3;
const MARKERS: usize = 1_024;
/// So many blocks are no matter for a machine.
const BLOCKS: usize = 1 << 18;
const TIB: u64 = GIB << 10;

/// Numbers of things that a log needs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizing {
    /// Memory that even a pool which reuses little does not need.
    pub(crate) memory: Bytes,
    pub(crate) streams: usize,
    pub(crate) events: usize,
    pub(crate) markers: usize,
    pub(crate) mallocs: usize,
    pub(crate) rows: usize,
    /// Blocks that are live at once.
    pub(crate) live: usize,
    pub(crate) labels: usize,
}

impl Sizing {
    /// For a pool of this limit.
    pub(crate) fn of(program: &Program, limit: Bytes, alignment: Bytes) -> Self {
        let streams = program.streams.len() + STREAMS_AROUND;
        let mallocs = program.blocks.len() + AROUND;
        // What a pool holds that reuses nothing at all; beyond a TiB, what it holds if every stream keeps its own peak
        // twice. Rounding included.
        let rounding = alignment.0.saturating_mul(mallocs as u64);
        let all = program.total_within(limit.0).saturating_add(rounding);
        let each = program
            .peak_within(limit.0)
            .saturating_add(rounding)
            .saturating_mul(2 * (program.streams.len() as u64 + 1));
        Self {
            memory: Bytes(all.min(each.max(TIB)).saturating_add(GIB)),
            streams,
            events: program.events + AROUND,
            markers: MARKERS,
            mallocs,
            rows: program.ops.len(),
            live: live(program) + AROUND,
            labels: program.labels.len() + program.marks.len() + AROUND,
        }
    }

    /// The first marker slot behind those of the runtime's [`capacities`](Self::capacities).
    pub(crate) fn spare(&self) -> MarkerSlot {
        MarkerSlot(u32::try_from(self.events + self.markers).unwrap_or(u32::MAX))
    }

    /// The runtime's arenas for a device of so many granules.
    pub(crate) fn capacities(&self, granules: usize) -> Capacities {
        // A free block or a hole lies beside each live one at most, unless unfinished work keeps neighbours apart.
        let apart = self.live.saturating_mul(16).max(BLOCKS).min(self.mallocs.saturating_mul(2));
        Capacities {
            streams: self.streams,
            events: self.events,
            markers: self.markers,
            pools: 2,
            blocks: apart + self.live * 2 + granules.min(1 << 16) + 1_024,
            granules,
            labels: self.labels.max(1_024),
            pages: 64,
        }
    }
}

fn live(program: &Program) -> usize {
    let mut now = 0_usize;
    let mut most = 0;
    for op in &program.ops {
        match op {
            Op::Allocate { .. } => now += 1,
            Op::Free { .. } => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// The number of granules in so many bytes, the last one rounded up.
pub(crate) fn granules(memory: Bytes, granularity: Bytes) -> usize {
    usize::try_from(memory.0.div_ceil(granularity.0.max(1))).unwrap_or(usize::MAX)
}
