//! The synchronous baseline of CANN's page on memory pools: allocate, work, synchronise the stream, free, without a pool.
//!
//! Each allocation reserves addresses and maps physical memory of its own, whole granules; each free waits for its stream
//! first. The same kernels run on the same streams as in a replay.

use super::run::{DEVICE, failed};
use super::summary::Calls;
use super::venue::Venue;
use crate::failure::Failure;
use std::time::Instant;
use weir::driver::{Driver, DriverError, GranuleHandle, NativeStream, Target};
use weir::units::{Bytes, DevicePtr};
use weir_viz::import::{Block, Op, Program};

/// What the baseline cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Baseline {
    /// Rows of the log.
    pub(crate) events: u64,
    pub(crate) mallocs: u64,
    pub(crate) frees: u64,
    pub(crate) peak_used: u64,
    pub(crate) peak_reserved: u64,
    pub(crate) calls: Calls,
    /// Address ranges reserved and released; a pool makes one of each.
    pub(crate) ranges: u64,
    pub(crate) bytes_checked: u64,
    pub(crate) seconds: f64,
}

impl Baseline {
    /// Reserved bytes for each used one, at the peaks.
    pub(crate) fn ratio(&self) -> f64 {
        if self.peak_used == 0 { 0.0 } else { self.peak_reserved as f64 / self.peak_used as f64 }
    }

    /// All driver calls.
    pub(crate) fn total_calls(&self) -> u64 {
        self.calls.total() + self.ranges
    }
}

/// Memory of one allocation.
struct Mapped {
    at: DevicePtr,
    bytes: Bytes,
    granules: Vec<GranuleHandle>,
    seed: u64,
    stream: usize,
}

struct Machine<'a, V: Venue> {
    venue: &'a V,
    streams: Vec<NativeStream>,
    granularity: u64,
    outcome: Baseline,
    used: u64,
    reserved: u64,
}

/// Runs the rows of the log, then frees what is live.
pub(crate) fn run<V: Venue>(venue: &V, program: &Program) -> Result<Baseline, Failure> {
    let mut machine = Machine::new(venue, program)?;
    let mut live: Vec<Option<Mapped>> = program.blocks.iter().map(|_| None).collect();
    let begun = Instant::now();
    for op in &program.ops {
        match *op {
            Op::Allocate { block } => {
                let (Some(place), Some(what)) = (live.get_mut(block), program.blocks.get(block)) else {
                    continue;
                };
                *place = Some(machine.allocate(*what, block as u64 + 1)?);
            }
            Op::Free { block, stream } => {
                if let Some(mapped) = live.get_mut(block).and_then(Option::take) {
                    machine.free(&mapped, stream)?;
                }
            }
            // A device that stands still at every free needs no events.
            Op::Record { .. }
            | Op::Wait { .. }
            | Op::SyncStream { .. }
            | Op::SyncDevice
            | Op::SyncEvent { .. }
            | Op::Use { .. }
            | Op::Mark { .. }
            | Op::Nothing => {}
        }
    }
    for mapped in live.iter().flatten() {
        machine.free(mapped, mapped.stream)?;
    }
    machine.outcome.seconds = begun.elapsed().as_secs_f64();
    machine.outcome.events = program.ops.len() as u64;
    machine.outcome.bytes_checked = venue.verdict()?.0;
    Ok(machine.outcome)
}

impl<'a, V: Venue> Machine<'a, V> {
    fn new(venue: &'a V, program: &Program) -> Result<Self, Failure> {
        let streams = program.streams.iter().map(|_| venue.stream()).collect::<Result<_, _>>()?;
        let properties = venue.driver().properties(DEVICE).map_err(failed("asking the driver"))?;
        Ok(Self {
            venue,
            streams,
            granularity: properties.granularity.0,
            outcome: Baseline::default(),
            used: 0,
            reserved: 0,
        })
    }

    fn stream(&self, stream: usize) -> Result<NativeStream, Failure> {
        let found = self.streams.get(stream).copied();
        found.ok_or_else(|| Failure::Failed(format!("the log has no stream {stream}")))
    }

    fn allocate(&mut self, block: Block, seed: u64) -> Result<Mapped, Failure> {
        let mapped = self.map(block, seed).map_err(failed("allocating without a pool"))?;
        self.outcome.mallocs += 1;
        self.used += block.size;
        self.reserved += self.whole(block.size);
        self.outcome.peak_used = self.outcome.peak_used.max(self.used);
        self.outcome.peak_reserved = self.outcome.peak_reserved.max(self.reserved);
        self.venue.fill(self.stream(block.stream)?, mapped.at, mapped.bytes, seed)?;
        Ok(mapped)
    }

    fn whole(&self, size: u64) -> u64 {
        size.div_ceil(self.granularity) * self.granularity
    }

    fn map(&mut self, block: Block, seed: u64) -> Result<Mapped, DriverError> {
        let driver = self.venue.driver();
        let whole = self.whole(block.size);
        let at = driver.reserve(DEVICE, Bytes(whole))?;
        self.outcome.ranges += 1;
        let mut granules = Vec::new();
        for place in (at.0..at.0 + whole).step_by(usize::try_from(self.granularity).unwrap_or(usize::MAX)) {
            let granule = driver.create(DEVICE)?;
            driver.map(DEVICE, DevicePtr(place), granule, None)?;
            granules.push(granule);
        }
        self.outcome.calls.create += granules.len() as u64;
        self.outcome.calls.map += granules.len() as u64;
        Ok(Mapped { at, bytes: Bytes(block.size), granules, seed, stream: block.stream })
    }

    fn free(&mut self, mapped: &Mapped, stream: usize) -> Result<(), Failure> {
        let (stream, own) = (self.stream(stream)?, self.stream(mapped.stream)?);
        if stream != own {
            // Whatever orders the two in the log, nothing does here.
            self.venue.order(own, stream)?;
        }
        self.venue.check(stream, mapped.at, mapped.bytes, mapped.seed)?;
        self.unmap(mapped, stream).map_err(failed("freeing without a pool"))?;
        self.outcome.frees += 1;
        self.used -= mapped.bytes.0;
        self.reserved -= self.whole(mapped.bytes.0);
        Ok(())
    }

    fn unmap(&mut self, mapped: &Mapped, stream: NativeStream) -> Result<(), DriverError> {
        let driver = self.venue.driver();
        driver.synchronise(Target::Stream(stream))?;
        let places = (mapped.at.0..).step_by(usize::try_from(self.granularity).unwrap_or(usize::MAX));
        for (place, granule) in places.zip(&mapped.granules) {
            driver.unmap(DEVICE, DevicePtr(place), None)?;
            driver.destroy(DEVICE, *granule)?;
        }
        driver.release(DEVICE, mapped.at, Bytes(self.whole(mapped.bytes.0)))?;
        self.outcome.ranges += 1;
        self.outcome.calls.synchronise += 1;
        self.outcome.calls.unmap += mapped.granules.len() as u64;
        self.outcome.calls.destroy += mapped.granules.len() as u64;
        Ok(())
    }
}
