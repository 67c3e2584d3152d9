//! A replay in progress: one pool, the log's streams and events, and the blocks that are live.

use super::Options;
use super::sink::LogSink;
use super::summary::{Calls, Measured, Summary};
use super::venue::{Edge, Venue};
use crate::failure::Failure;
use crate::size;
use std::fmt::Debug;
use std::time::Instant;
use weir::driver::{Driver, NativeStream};
use weir::error::MallocError;
use weir::id::{DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig, StreamKind, UseUntil};
use weir::trace::MAX_NAME;
use weir::units::{Bytes, DevicePtr};
use weir::{Arenas, Local, StreamConfig};
use weir_viz::import::{Block, Op, Program, Tie};

/// The one device of a replay.
pub(crate) const DEVICE: DeviceId = DeviceId(0);

/// A stream on both sides: weir's id and the driver's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) id: StreamId,
    pub(crate) native: NativeStream,
}

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) at: DevicePtr,
    pub(crate) bytes: Bytes,
    pub(crate) seed: u64,
    /// The stream that allocated it.
    stream: usize,
    tie: Tie,
}

/// What a replay runs on.
pub(crate) type Pool<'a, V> = Local<'a, &'a <V as Venue>::Driver, LogSink>;

/// A replay in progress.
pub(crate) struct Run<'a, V: Venue> {
    pub(crate) venue: &'a V,
    pub(crate) runtime: Pool<'a, V>,
    pub(crate) pool: PoolId,
    program: &'a Program,
    policy: &'static str,
    lanes: Vec<Lane>,
    events: Vec<Option<EventId>>,
    held: Vec<Option<Held>>,
    /// By the program's number of the label, counted from 1.
    labels: Vec<Option<LabelId>>,
    /// Rows, and what was added to them.
    done: u64,
    mallocs: u64,
    frees: u64,
    refused: u64,
    /// Frees of blocks whose allocation was refused.
    skipped: u64,
    limit: Option<Bytes>,
    /// The last mark, or the log's begin.
    from: Start,
    /// The middle row.
    half: Start,
}

/// Where measuring began.
#[derive(Clone, Copy)]
struct Start {
    time: Instant,
    done: u64,
    calls: Calls,
}

impl<'a, V: Venue> Run<'a, V> {
    /// Creates the pool and the log's streams.
    pub(crate) fn new(
        venue: &'a V,
        arenas: Arenas<'a>,
        program: &'a Program,
        options: &Options,
        sink: LogSink,
    ) -> Result<Self, Failure> {
        let runtime = Local::new(arenas, venue.driver(), sink);
        let config = PoolConfig {
            limit: options.limit.unwrap_or(Bytes::ZERO),
            reuse: options.reuse,
            preference: options.preference,
            threshold: options.threshold,
            small_limit: options.small_limit,
            tuning: options.tuning,
            ..PoolConfig::new(DEVICE)
        };
        let pool = runtime.create_pool(config).map_err(failed("creating the pool"))?;
        let begun = Start { time: Instant::now(), done: 0, calls: Calls::default() };
        let mut run = Self {
            venue,
            runtime,
            pool,
            program,
            policy: options.policy,
            lanes: Vec::new(),
            events: vec![None; program.events],
            held: vec![None; program.blocks.len()],
            labels: Vec::new(),
            done: 0,
            mallocs: 0,
            frees: 0,
            refused: 0,
            skipped: 0,
            limit: options.limit,
            from: begun,
            half: begun,
        };
        for _ in &program.streams {
            let lane = run.add_stream()?;
            run.lanes.push(lane);
        }
        run.from = run.start();
        run.half = run.from;
        Ok(run)
    }

    /// One more stream.
    pub(crate) fn add_stream(&self) -> Result<Lane, Failure> {
        let native = self.venue.stream()?;
        let config = StreamConfig { device: DEVICE, native, kind: StreamKind::NonBlocking, context: 0 };
        let id = self.runtime.create_stream(config).map_err(failed("creating a stream"))?;
        Ok(Lane { id, native })
    }

    /// The log's streams.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// How many allocations the pool has refused.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Counts something that was added to the log.
    pub(crate) fn added(&mut self, events: u64, mallocs: u64, frees: u64) {
        self.done += events;
        self.mallocs += mallocs;
        self.frees += frees;
    }

    /// The largest live block of the log.
    pub(crate) fn largest(&self) -> Option<Held> {
        self.held.iter().flatten().max_by_key(|held| held.bytes).copied()
    }

    /// Replays one row.
    pub(crate) fn row(&mut self, row: usize) -> Result<(), Failure> {
        let Some(op) = self.program.ops.get(row) else {
            return Ok(());
        };
        if row == self.program.measured_from {
            self.from = self.start();
        }
        if row == self.program.ops.len() / 2 {
            self.half = self.start();
        }
        self.venue.row(row, Edge::Begin);
        self.op(*op)?;
        self.venue.row(row, Edge::End);
        self.done += 1;
        Ok(())
    }

    fn op(&mut self, op: Op) -> Result<(), Failure> {
        match op {
            Op::Allocate { block } => self.allocate(block),
            Op::Free { block, stream } => self.free(block, stream),
            Op::Record { event, stream } => {
                let (event, lane) = (self.event(event)?, self.lane(stream)?);
                self.runtime.record(event, lane.id).map_err(failed("recording an event"))
            }
            Op::Wait { stream, event } => {
                let (event, lane) = (self.event(event)?, self.lane(stream)?);
                self.runtime.wait(lane.id, event).map_err(failed("waiting for an event"))
            }
            Op::SyncStream { stream } => {
                let lane = self.lane(stream)?;
                self.runtime.synchronize_stream(lane.id).map_err(failed("synchronising a stream"))
            }
            Op::SyncEvent { event } => {
                let event = self.event(event)?;
                self.runtime.synchronize_event(event).map_err(failed("synchronising an event"))
            }
            Op::Use { block, stream, until } => self.announce(block, stream, until),
            Op::SyncDevice => self.runtime.synchronize_device(DEVICE).map_err(failed("synchronising the device")),
            Op::Mark { number } => {
                let name = self.program.marks.get(number - 1).cloned().flatten();
                let name = name.unwrap_or_else(|| format!("mark {number}"));
                let name = name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or(&name);
                self.runtime.mark(name).map_err(failed("writing a mark"))
            }
            Op::Nothing => Ok(()),
        }
    }

    /// Tells the pool of another stream's use; what that stream does with the block is in no log.
    fn announce(&self, block: usize, stream: usize, until: UseUntil) -> Result<(), Failure> {
        let Some(held) = self.held.get(block).copied().flatten() else { return Ok(()) };
        let lane = self.lane(stream)?;
        self.runtime.record_use(held.at, lane.id, until).map_err(failed("announcing a use"))
    }

    /// The label of a block, in the runtime.
    fn label(&mut self, block: usize) -> Result<LabelId, Failure> {
        let number = self.program.labelled.get(block).copied().unwrap_or(0) as usize;
        let Some(name) = number.checked_sub(1).and_then(|at| self.program.labels.get(at)) else {
            return Ok(LabelId::NONE);
        };
        if let Some(known) = self.labels.get(number).copied().flatten() {
            return Ok(known);
        }
        let label = self.runtime.label(name).map_err(failed("naming a label"))?;
        self.labels.resize(self.labels.len().max(number + 1), None);
        if let Some(place) = self.labels.get_mut(number) {
            *place = Some(label);
        }
        Ok(label)
    }

    fn allocate(&mut self, block: usize) -> Result<(), Failure> {
        let Some(Block { size, stream, tie }) = self.program.blocks.get(block).copied() else {
            return Ok(());
        };
        let lane = self.lane(stream)?;
        let label = self.label(block)?;
        let at = match self.runtime.malloc_labelled(self.pool, Bytes(size), lane.id, label) {
            Ok(at) => at,
            Err(
                MallocError::OutOfMemory(_)
                | MallocError::AboveLimit { .. }
                | MallocError::NoAddressRange { .. }
                | MallocError::Overflow { .. },
            ) => {
                self.refused += 1;
                return Ok(());
            }
            Err(error) => return Err(failed("allocating")(error)),
        };
        self.mallocs += 1;
        let held = Held { at, bytes: Bytes(size), seed: block as u64 + 1, stream, tie };
        self.venue.fill(lane.native, at, held.bytes, held.seed)?;
        if let Some(place) = self.held.get_mut(block) {
            *place = Some(held);
        }
        Ok(())
    }

    fn free(&mut self, block: usize, stream: usize) -> Result<(), Failure> {
        // A block whose allocation was refused has nothing to free.
        let Some(held) = self.held.get_mut(block).and_then(Option::take) else {
            self.skipped += 1;
            return Ok(());
        };
        let lane = self.lane(stream)?;
        self.release(held, lane)?;
        self.frees += 1;
        Ok(())
    }

    fn release(&self, held: Held, lane: Lane) -> Result<(), Failure> {
        if held.tie == Tie::Assumed {
            // The device gets the order that the log leaves unsaid; the pool, as in the program, never hears of it.
            self.venue.order(self.lane(held.stream)?.native, lane.native)?;
        }
        self.venue.check(lane.native, held.at, held.bytes, held.seed)?;
        self.runtime.free_async(held.at, lane.id).map_err(failed("freeing"))
    }

    fn lane(&self, stream: usize) -> Result<Lane, Failure> {
        let lane = self.lanes.get(stream).copied();
        lane.ok_or_else(|| Failure::Failed(format!("the log has no stream {stream}")))
    }

    /// The event, created when it is first named: waiting for one never recorded is legal and adds nothing.
    fn event(&mut self, event: usize) -> Result<EventId, Failure> {
        let runtime = &self.runtime;
        match self.events.get_mut(event) {
            Some(Some(id)) => Ok(*id),
            Some(place) => {
                let id = runtime.create_event().map_err(failed("creating an event"))?;
                *place = Some(id);
                Ok(id)
            }
            None => Err(Failure::Failed(format!("the log has no event {event}"))),
        }
    }

    fn start(&self) -> Start {
        Start { time: Instant::now(), done: self.done, calls: self.calls() }
    }

    fn since(&self, start: &Start) -> Measured {
        let calls = self.calls();
        Measured {
            events: self.done - start.done,
            seconds: start.time.elapsed().as_secs_f64(),
            calls: calls.total() - start.calls.total(),
            maps: calls.maps() - start.calls.maps(),
            waits: calls.wait - start.calls.wait,
        }
    }

    fn calls(&self) -> Calls {
        let counters = self.runtime.counters();
        Calls {
            create: counters.create,
            destroy: counters.destroy,
            map: counters.map,
            unmap: counters.unmap,
            mark: counters.mark,
            query: counters.query,
            wait: counters.wait,
            synchronise: counters.synchronise,
        }
    }

    /// Frees what is live, waits for everything, destroys everything, and sums up.
    pub(crate) fn finish(mut self) -> Result<Summary, Failure> {
        let mut summary = self.summary()?;
        self.runtime.mark("end of input").map_err(failed("writing a mark"))?;
        summary.freed_at_end = self.free_all()?;
        let synchronized = self.runtime.synchronize_device(DEVICE);
        summary.measured.seconds = self.from.time.elapsed().as_secs_f64();
        // First: it says more than that the device does not answer any more.
        summary.bytes_checked = self.venue.verdict()?.0;
        synchronized.map_err(failed("synchronising the device"))?;
        self.runtime.verify().map_err(failed("verifying the bookkeeping"))?;
        self.destroy_all()?;
        summary.calls = self.calls();
        summary.waits_inserted = summary.calls.wait;
        summary.lost_records = self.runtime.counters().records_lost;
        self.runtime.with_sink(LogSink::finish)?;
        Ok(summary)
    }

    /// What is known when the log ends.
    fn summary(&self) -> Result<Summary, Failure> {
        let stats = self.runtime.stats(self.pool).map_err(failed("reading the pool's numbers"))?;
        let properties = self.venue.driver().properties(DEVICE).map_err(failed("asking the driver"))?;
        let assumed = self.program.blocks.iter().filter(|block| block.tie == Tie::Assumed);
        Ok(Summary {
            driver: self.venue.name(),
            policy: self.policy.to_owned(),
            events: self.done,
            mallocs: self.mallocs,
            frees: self.frees,
            refused: self.refused,
            device: self.limit.is_none().then_some(properties.total.0),
            skipped_frees: self.skipped + self.program.aside.frees,
            aside: self.program.aside,
            from_log: self.program.notes.iter().cloned().chain(self.beyond()).collect(),
            assumed: assumed.count() as u64,
            peak_used: stats.used_high.0,
            peak_requested: stats.requested_high.0,
            peak_reserved: stats.reserved_high.0,
            granule: properties.granularity.0,
            reuse: stats.by_source,
            measured: self.since(&self.from),
            second_half: self.since(&self.half),
            ..Summary::default()
        })
    }

    /// What to say where the log cannot fit.
    fn beyond(&self) -> Option<String> {
        let (limit, peak) = (self.limit?, self.program.peak_within(u64::MAX));
        let (given, needed) = (size::shown(limit.0), size::shown(peak));
        (peak > limit.0)
            .then(|| format!("the log has {needed} live at once, the limit is {given}: no pool can hold it"))
    }

    fn free_all(&mut self) -> Result<u64, Failure> {
        let live: Vec<Held> = self.held.iter_mut().filter_map(Option::take).collect();
        for held in &live {
            let lane = self.lane(held.stream)?;
            self.release(*held, lane)?;
        }
        Ok(live.len() as u64)
    }

    fn destroy_all(&mut self) -> Result<(), Failure> {
        self.runtime.destroy_pool(self.pool, Destroy::IfEmpty).map_err(failed("destroying the pool"))?;
        for event in self.events.iter_mut().filter_map(Option::take) {
            self.runtime.destroy_event(event).map_err(failed("destroying an event"))?;
        }
        for lane in self.lanes.drain(..) {
            self.runtime.destroy_stream(lane.id).map_err(failed("destroying a stream"))?;
        }
        Ok(())
    }
}

/// An error of weir's as a failure that says during what.
pub(crate) fn failed<E: Debug>(during: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::Failed(format!("{during}: {error:?}"))
}
