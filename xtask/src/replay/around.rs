//! What `demo` adds around the log: a copy stream that brings in data, and a communication stream that sends some out.
//!
//! A round: *copy* allocates and fills an input and records; *compute* waits, reads it, frees it and records;
//! *communication* waits, sums the largest live block into a bucket, frees the bucket and records; *compute* waits for that
//! a round later.

use super::run::{Lane, Run, failed};
use super::venue::{Span, Venue};
use crate::failure::Failure;
use weir::id::{EventId, LabelId};
use weir::policy::UseUntil;
use weir::units::{Bytes, DevicePtr};

/// Rows of the log between two rounds.
const ROWS: usize = 500;
const INPUT: Bytes = Bytes::mib(4);
const BUCKET: Bytes = Bytes::mib(8);
/// Seeds of inputs begin here, apart from those of the log's blocks.
const SEEDS: u64 = 1 << 32;

/// The two streams, and the events that tie them to compute.
pub(crate) struct Around {
    copy: Lane,
    communication: Lane,
    copied: EventId,
    computed: EventId,
    sent: EventId,
    input: LabelId,
    bucket: LabelId,
    rounds: u64,
}

impl Around {
    pub(crate) fn new<V: Venue>(run: &Run<'_, V>) -> Result<Self, Failure> {
        let event = || run.runtime.create_event().map_err(failed("creating an event"));
        let label = |name| run.runtime.label(name).map_err(failed("writing a label"));
        Ok(Self {
            copy: run.add_stream()?,
            communication: run.add_stream()?,
            copied: event()?,
            computed: event()?,
            sent: event()?,
            input: label("input")?,
            bucket: label("bucket")?,
            rounds: 0,
        })
    }

    /// After a row of the log: a round, if one is due.
    pub(crate) fn after<V: Venue>(&mut self, row: usize, run: &mut Run<'_, V>) -> Result<(), Failure> {
        if (row + 1).is_multiple_of(ROWS) {
            self.round(run)?;
        }
        Ok(())
    }

    fn round<V: Venue>(&mut self, run: &mut Run<'_, V>) -> Result<(), Failure> {
        let Some(compute) = run.lanes().first().copied() else {
            return Ok(());
        };
        self.rounds += 1;
        let name = format!("round {}", self.rounds);
        run.runtime.mark(&name).map_err(failed("writing a mark"))?;
        // What communication sent a round ago: nothing in the first round, which is legal.
        self.wait(run, compute, self.sent)?;
        let input = self.bring(run)?;
        self.consume(run, compute, input)?;
        self.send(run)?;
        run.added(11, 2, 2);
        Ok(())
    }

    fn seed(&self) -> u64 {
        SEEDS + self.rounds
    }

    /// Copy allocates an input, fills it and records.
    fn bring<V: Venue>(&self, run: &Run<'_, V>) -> Result<DevicePtr, Failure> {
        let input = self.allocate(run, self.copy, INPUT, self.input)?;
        run.venue.fill(self.copy.native, input, INPUT, self.seed())?;
        self.record(run, self.copied, self.copy)?;
        Ok(input)
    }

    /// Compute waits, reads the input, frees it and records.
    fn consume<V: Venue>(&self, run: &Run<'_, V>, compute: Lane, input: DevicePtr) -> Result<(), Failure> {
        self.wait(run, compute, self.copied)?;
        run.venue.check(compute.native, input, INPUT, self.seed())?;
        run.runtime.free_async(input, compute.id).map_err(failed("freeing an input"))?;
        self.record(run, self.computed, compute)
    }

    /// Communication waits, sums the largest live block into a bucket, frees the bucket and records.
    fn send<V: Venue>(&self, run: &Run<'_, V>) -> Result<(), Failure> {
        let lane = self.communication;
        self.wait(run, lane, self.computed)?;
        let bucket = self.allocate(run, lane, BUCKET, self.bucket)?;
        if let Some(block) = run.largest() {
            let bucket = Span { at: bucket, bytes: BUCKET };
            let from = Span { at: block.at, bytes: block.bytes };
            run.venue.sum(lane.native, from, block.seed, bucket)?;
            // Compute may free the block before the sum is done: it must not come back before that.
            let used = run.runtime.record_use(block.at, lane.id, UseUntil::Now);
            used.map_err(failed("recording a use"))?;
        }
        run.runtime.free_async(bucket, lane.id).map_err(failed("freeing a bucket"))?;
        self.record(run, self.sent, lane)
    }

    fn allocate<V: Venue>(
        &self,
        run: &Run<'_, V>,
        lane: Lane,
        size: Bytes,
        label: LabelId,
    ) -> Result<DevicePtr, Failure> {
        let allocated = run.runtime.malloc_labelled(run.pool, size, lane.id, label);
        allocated.map_err(failed("allocating around the log"))
    }

    fn record<V: Venue>(&self, run: &Run<'_, V>, event: EventId, lane: Lane) -> Result<(), Failure> {
        run.runtime.record(event, lane.id).map_err(failed("recording an event"))
    }

    fn wait<V: Venue>(&self, run: &Run<'_, V>, lane: Lane, event: EventId) -> Result<(), Failure> {
        run.runtime.wait(lane.id, event).map_err(failed("waiting for an event"))
    }

    /// Destroys what [`new`](Self::new) made; work may be unfinished.
    pub(crate) fn end<V: Venue>(self, run: &Run<'_, V>) -> Result<(), Failure> {
        for event in [self.copied, self.computed, self.sent] {
            run.runtime.destroy_event(event).map_err(failed("destroying an event"))?;
        }
        for lane in [self.copy, self.communication] {
            run.runtime.destroy_stream(lane.id).map_err(failed("destroying a stream"))?;
        }
        Ok(())
    }
}
