//! Replays on memory and threads of this machine: kernels write and check real bytes.

use super::Options;
use super::available::Available;
use super::job::Job;
use super::run::{DEVICE, failed};
use super::sizing::{Sizing, granules};
use super::venue::{Edge, Span, Venue};
use crate::failure::Failure;
use crate::size;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use weir::driver::{MarkerSlot, NativeStream};
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr};
use weir_ffi::host::{DEFAULT_TOTAL, HostConfig, HostDriver, Read, Write, pattern};
use weir_heap::HeapArenas;
use weir_viz::import::Program;

/// The most memory that a device gets unasked: its addresses are a multiple of it, and the system has no more than so many.
const MOST: Bytes = Bytes::gib(4 << 10);

/// What kernels report.
#[derive(Debug, Default)]
struct Tally {
    checked: AtomicU64,
    wrong: Mutex<Option<String>>,
}

impl Tally {
    fn count(&self, bytes: u64) {
        self.checked.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Keeps the first thing that went wrong.
    fn wrong(&self, text: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.get_or_insert(text);
        }
    }
}

/// The host driver as a venue.
struct HostVenue {
    driver: HostDriver,
    spare: MarkerSlot,
    tally: Arc<Tally>,
}

impl HostVenue {
    /// A host device with `WEIR_HOST_BYTES` of memory; where that is not set, with 64 GiB or as much as the log may need.
    /// It is sparse.
    fn new(needed: Bytes, spare: MarkerSlot) -> Result<Self, Failure> {
        let total = match std::env::var("WEIR_HOST_BYTES") {
            Err(_) => DEFAULT_TOTAL.max(needed.min(MOST)),
            Ok(text) => size::parse(&text).map_err(|error| Failure::Unreadable(format!("WEIR_HOST_BYTES: {error}")))?,
        };
        let driver = HostDriver::new(HostConfig::with_total(total)).map_err(failed("making the host device"))?;
        Ok(Self { driver, spare, tally: Arc::default() })
    }
}

impl Venue for HostVenue {
    type Driver = HostDriver;

    fn driver(&self) -> &HostDriver {
        &self.driver
    }

    fn name(&self) -> &'static str {
        "host"
    }

    fn spare(&self) -> MarkerSlot {
        self.spare
    }

    fn stream(&self) -> Result<NativeStream, Failure> {
        let stream = self.driver.create_stream(DEVICE, StreamKind::NonBlocking);
        stream.map_err(failed("creating a stream"))
    }

    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure> {
        let kernel = self.driver.launch(on, Write(at, bytes), move |bytes| pattern::fill(bytes, seed));
        kernel.map_err(failed("launching a kernel"))
    }

    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure> {
        let tally = Arc::clone(&self.tally);
        let kernel = self.driver.launch(on, Read(at, bytes), move |bytes| match pattern::check(bytes, seed) {
            Ok(()) => tally.count(bytes.len() as u64),
            Err(mismatch) => tally.wrong(format!("the block of allocation {seed} at {at} was overwritten: {mismatch}")),
        });
        kernel.map_err(failed("launching a kernel"))
    }

    fn sum(&self, on: NativeStream, block: Span, seed: u64, bucket: Span) -> Result<(), Failure> {
        let total = Arc::new(AtomicU64::new(0));
        let (tally, expected) = (Arc::clone(&self.tally), Arc::clone(&total));
        let arguments = (Write(bucket.at, bucket.bytes), Read(block.at, block.bytes));
        let kernel = self.driver.launch(on, arguments, move |(bucket, block)| {
            expected.store(add(bucket, block, seed, &tally), Ordering::Relaxed);
        });
        kernel.map_err(failed("launching a kernel"))?;
        let tally = Arc::clone(&self.tally);
        let kernel = self.driver.launch(on, Read(bucket.at, bucket.bytes), move |bucket| {
            if pattern::sum(bucket) == total.load(Ordering::Relaxed) {
                tally.count(bucket.len() as u64);
            } else {
                tally.wrong("a bucket was overwritten: its words have another sum".into());
            }
        });
        kernel.map_err(failed("launching a kernel"))
    }

    fn row(&self, _: usize, _: Edge) {}

    fn verdict(&self) -> Result<Bytes, Failure> {
        if let Some(fault) = self.driver.fault(DEVICE).map_err(failed("asking the host device"))? {
            return Err(Failure::Failed(format!("the host device has a fault: {fault}")));
        }
        let wrong = self.tally.wrong.lock().ok().and_then(|mut wrong| wrong.take());
        match wrong {
            Some(text) => Err(Failure::Failed(text)),
            None => Ok(Bytes(self.tally.checked.load(Ordering::Relaxed))),
        }
    }
}

/// Checks the block, adds its words up in the bucket and returns their sum.
fn add(bucket: &mut [u8], block: &[u8], seed: u64, tally: &Tally) -> u64 {
    match pattern::check(block, seed) {
        Ok(()) => tally.count(block.len() as u64),
        Err(mismatch) => tally.wrong(format!("a reader found allocation {seed} overwritten: {mismatch}")),
    }
    bucket.fill(0);
    pattern::add(bucket, block);
    pattern::sum(block.get(..block.len() / 8 * 8).unwrap_or(block))
}

/// Makes a device and does a job on it, if the log's peak fits into the machine.
pub(super) fn perform<J: Job>(program: &Program, options: &Options, job: J) -> Result<J::Output, Failure> {
    let most = options.limit.unwrap_or(Bytes(u64::MAX));
    let available = Available::now();
    available.admit(program.peak_within(most.0)).map_err(Failure::Failed)?;
    let sizing = Sizing::of(program, most, HostConfig::default().alignment);
    let venue = HostVenue::new(sizing.memory, sizing.spare())?;
    let HostConfig { total, granularity, .. } = *venue.driver.config();
    let limit = options.limit.map_or(total, |limit| limit.round_up(granularity).unwrap_or(limit));
    if limit > total {
        return Err(Failure::Failed(format!(
            "the limit of {limit} is above the {total} of the host device; set WEIR_HOST_BYTES to more"
        )));
    }
    let capacities = sizing.capacities(granules(limit.min(sizing.memory), granularity));
    available.admit_arenas(&capacities).map_err(Failure::Failed)?;
    let mut arenas = HeapArenas::new(capacities);
    job.run(&venue, arenas.lend(), program, options)
}
