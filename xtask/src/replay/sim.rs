//! Replays in virtual time: no bytes, but the simulation knows every access and its order.

use super::available::Available;
use super::job::Job;
use super::run::{DEVICE, failed};
use super::sizing::{Sizing, granules};
use super::venue::{Edge, Span, Venue};
use super::{Lag, Maps, Options, Simulated};
use crate::failure::Failure;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use weir::driver::{Capabilities, MarkerSlot, NativeStream};
use weir::sim::{DeviceConfig, Issue, Sim};
use weir::units::{Bytes, DevicePtr, GIB};
use weir_heap::{HeapArenas, HeapSim, SimCapacities};
use weir_viz::import::Program;

const SEED: u64 = 1;

/// What the simulated device must hold.
fn held_by_device(sizing: &Sizing, granules: usize) -> SimCapacities {
    SimCapacities {
        devices: 1,
        ranges: 4,
        // Addresses that were unmapped in stream order keep an entry until the host learns of it; a pool has up to
        // 1 + log2(granules) / 2 times as many addresses as granules.
        pages: granules * 12 + 16,
        granules,
        streams: sizing.streams,
        markers: sizing.spare().0 as usize + 1,
        // A row queues a kernel, markers and waits.
        ops: (sizing.rows * 32 + (1 << 12)).min(1 << 20),
        // An access leaves a piece in each granule that it touches, and a tag.
        pieces: (granules * 8).clamp(1 << 16, 1 << 24) + sizing.live * 16,
    }
}

/// The simulation as a venue.
struct SimVenue<'a> {
    sim: Sim<'a>,
    spare: MarkerSlot,
    lag: Lag,
    /// Where the work of the rows begins that may be unfinished, the oldest first.
    begun: RefCell<VecDeque<Issue>>,
    checked: Cell<u64>,
}

impl<'a> Venue for SimVenue<'a> {
    type Driver = Sim<'a>;

    fn driver(&self) -> &Sim<'a> {
        &self.sim
    }

    fn name(&self) -> &'static str {
        "sim"
    }

    fn spare(&self) -> MarkerSlot {
        self.spare
    }

    fn stream(&self) -> Result<NativeStream, Failure> {
        self.sim.create_stream(DEVICE).map_err(failed("creating a stream"))
    }

    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure> {
        let issue = self.sim.access_write_tag(on, at, bytes, seed);
        issue.map(drop).map_err(failed("a kernel that writes a block"))
    }

    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure> {
        let issue = self.sim.access_read_expect(on, at, bytes, seed);
        self.checked.set(self.checked.get() + bytes.0);
        issue.map(drop).map_err(failed("a kernel that checks a block"))
    }

    fn sum(&self, on: NativeStream, block: Span, seed: u64, bucket: Span) -> Result<(), Failure> {
        self.check(on, block.at, block.bytes, seed)?;
        self.fill(on, bucket.at, bucket.bytes, !seed)?;
        self.check(on, bucket.at, bucket.bytes, !seed)
    }

    /// The device finishes a row's work when the row that many rows later has been queued.
    fn row(&self, _: usize, edge: Edge) {
        let Lag::Rows(lag) = self.lag else { return };
        let mut begun = self.begun.borrow_mut();
        if edge == Edge::Begin {
            begun.push_back(self.sim.issued());
            return;
        }
        while begun.len() > lag {
            begun.pop_front();
        }
        let limit = begun.front().copied().unwrap_or_else(|| self.sim.issued());
        self.sim.complete_issued_before(limit);
    }

    fn verdict(&self) -> Result<Bytes, Failure> {
        self.sim.run_all();
        if let Some(violation) = self.sim.violation() {
            return Err(Failure::Failed(format!("the simulation found a violation: {violation:?}")));
        }
        if self.sim.unchecked() > 0 {
            tell!("note: {} accesses could not be checked for want of storage", self.sim.unchecked());
        }
        Ok(Bytes(self.checked.get()))
    }
}

/// Above this, addresses are as many as bytes: the simulation has 64 TiB of them.
const SPARSE_UP_TO: Bytes = Bytes::gib(4 << 10);

/// The largest device that is simulated; its pool refuses what it has no room for.
const MOST: Bytes = Bytes::gib(8 << 10);

/// Makes a simulated device and does a job on it.
pub(super) fn perform<J: Job>(
    program: &Program,
    options: &Options,
    how: Simulated,
    job: J,
) -> Result<J::Output, Failure> {
    let sizing = Sizing::of(program, options.limit.unwrap_or(MOST).min(MOST), options.alignment);
    let memory = sizing.memory.min(MOST);
    // A limit that the log cannot meet is as good as none.
    let options = Options { limit: options.limit.filter(|limit| *limit < memory), ..options.clone() };
    let unlimited = if program.peak_within(u64::MAX) > MOST.0 { MOST } else { memory };
    let total = options.limit.unwrap_or(unlimited).max(Bytes(GIB));
    let mut device = DeviceConfig::new(total);
    // Whole granules, as the pool rounds its limit.
    let total = total.round_up(device.properties.granularity).unwrap_or(total);
    device.properties.total = total;
    device.properties.alignment = options.alignment;
    if total > SPARSE_UP_TO {
        device.properties.capabilities.remove(Capabilities::SPARSE_ADDRESSES);
    }
    if how.maps == Maps::InStreamOrder {
        device.properties.capabilities.insert(Capabilities::MAP_IN_STREAM_ORDER);
    }
    let count = granules(total.min(memory), device.properties.granularity) + 1;
    let capacities = sizing.capacities(count);
    Available::now().admit_arenas(&capacities).map_err(Failure::Failed)?;
    let mut simulated = HeapSim::new(held_by_device(&sizing, count));
    let sim = Sim::new(simulated.lend(), &[device], SEED).map_err(failed("making the simulated device"))?;
    let venue = SimVenue { sim, spare: sizing.spare(), lag: how.lag, begun: RefCell::default(), checked: Cell::new(0) };
    let mut arenas = HeapArenas::new(capacities);
    job.run(&venue, arenas.lend(), program, &options)
}
