//! A program's places and what is in them; performs one step at a time and looks at everything after it.

use crate::bench::{DEVICE, GRANULE, Pool, Surroundings};
use crate::failure::{Failure, Kind};
use crate::op::{self, BLOCKS, EVENTS, Live, Op, POOLS, STREAMS, Shape};
use crate::oracle;
use crate::order::Point;
use crate::set::{OPERATIONS, Set};
use weir::driver::NativeStream;
use weir::error::{OrderError, PoolError};
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Reuse, StreamKind};
use weir::units::{Bytes, DevicePtr};
use weir::{PoolStats, StreamConfig};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) native: NativeStream,
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolPlace {
    pub(crate) id: PoolId,
    pub(crate) base: u64,
    pub(crate) limit: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) pool: u8,
    pub(crate) owner: u8,
    pub(crate) ptr: DevicePtr,
    pub(crate) given: Bytes,
    /// What was written, if it was.
    pub(crate) tag: Option<u64>,
    pub(crate) malloc: Point,
    /// The malloc, and kernels, by place of their stream: a free must come after them, or they must be told.
    pub(crate) open: Vec<(u8, Point)>,
    /// Told uses.
    pub(crate) told: Vec<Point>,
    /// Places and numbers of streams that may use it until it is freed.
    pub(crate) until: Vec<(u8, u32)>,
    /// Numbers of streams of which uses were told.
    pub(crate) users: Vec<u32>,
    /// The pool may keep it longer than the oracle can tell: a stream of `until` is gone, and the pool may wait for the
    /// next one in its place; or the legacy default stream's rules played a part.
    pub(crate) crowded: bool,
}

/// What happened, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps performed, those that did nothing among them.
    pub steps: u64,
    /// Programs begun.
    pub programs: u64,
    /// Successful mallocs.
    pub mallocs: u64,
    /// Refused mallocs.
    pub refused: u64,
    /// Mallocs that relied on an order of the device: same stream, settled, event, opportunistic, internal; and those
    /// that grew.
    pub by_source: [u64; 6],
    /// Kernels queued.
    pub kernels: u64,
    /// Refusals, growths, waits and questions that the oracle found justified.
    pub justified: u64,
    /// Driver calls that failed on demand.
    pub faults: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.programs += other.programs;
        self.mallocs += other.mallocs;
        self.refused += other.refused;
        self.kernels += other.kernels;
        self.justified += other.justified;
        self.faults += other.faults;
        for (mine, theirs) in self.by_source.iter_mut().zip(other.by_source) {
            *mine += theirs;
        }
    }
}

pub(crate) struct World<'a> {
    pub(crate) rt: Pool<'a>,
    pub(crate) streams: [Option<Stream>; STREAMS],
    pub(crate) events: [Option<EventId>; EVENTS],
    pub(crate) pools: [Option<PoolPlace>; POOLS],
    pub(crate) blocks: [Option<Block>; BLOCKS],
    pub(crate) tally: Tally,
    pub(crate) faults: bool,
    /// Physical bytes of the device.
    pub(crate) total: u64,
    pub(crate) tags: u64,
}

/// Operations that one step may add at most.
const ROOM: usize = 160;

pub(crate) type Done = Result<(), Failure>;

pub(crate) fn refusal<T: std::fmt::Debug>(what: &str, error: T) -> Failure {
    Failure::new(Kind::Refusal, format!("{what}: {error:?}"))
}

impl<'a> World<'a> {
    pub(crate) fn new(rt: Pool<'a>, surroundings: &Surroundings) -> Self {
        Self {
            rt,
            streams: [None; STREAMS],
            events: [None; EVENTS],
            pools: [None; POOLS],
            blocks: [const { None }; BLOCKS],
            tally: Tally { programs: 1, ..Tally::default() },
            faults: surroundings.faults > 0,
            total: u64::from(surroundings.granules) * GRANULE,
            tags: 0,
        }
    }

    pub(crate) fn sim(&self) -> &weir::sim::Sim<'a> {
        &self.rt.driver().sim
    }

    pub(crate) fn oracle(&self) -> std::cell::RefMut<'_, oracle::Oracle> {
        self.rt.driver().oracle.borrow_mut()
    }

    pub(crate) fn stream(&self, place: u8) -> Option<Stream> {
        self.streams.get(usize::from(place)).copied().flatten()
    }

    fn event(&self, place: u8) -> Option<EventId> {
        self.events.get(usize::from(place)).copied().flatten()
    }

    pub(crate) fn pool(&self, place: u8) -> Option<PoolPlace> {
        self.pools.get(usize::from(place)).copied().flatten()
    }

    /// Whether a kernel on the stream would come after the block's malloc.
    pub(crate) fn may_use(&self, block: &Block, stream: Stream) -> bool {
        self.oracle().order.comes_before(block.malloc, stream.native.0)
    }

    /// One step, and what its outcome says.
    pub(crate) fn step(&mut self, op: Op) -> Done {
        self.tally.steps += 1;
        self.make_room();
        let done = self.perform(op);
        // What the device or the oracle saw says more than a refusal that followed.
        self.look()?;
        done
    }

    /// What must hold after every step, beside the pool's own invariants.
    fn look(&self) -> Done {
        if let Some(violation) = self.sim().violation() {
            return Err(Failure::new(Kind::Device, violation.to_string()));
        }
        match self.oracle().failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    pub(crate) fn verify(&self) -> Done {
        let verified = self.rt.verify();
        verified.map_err(|v| Failure::new(Kind::Invariant, format!("{} (place {})", v.what, v.place)))
    }

    /// Operations that nobody asks about make room for new ones.
    pub(crate) fn make_room(&mut self) {
        if self.oracle().order.room() >= ROOM {
            return;
        }
        let mut set = Set::NONE;
        for block in self.blocks.iter().flatten() {
            let open = block.open.iter().map(|(_, point)| point);
            open.chain(&block.told).chain([&block.malloc]).for_each(|point| set.insert(point.id));
        }
        let mut oracle = self.oracle();
        oracle.asked_about(&mut set);
        assert!(set.len() + ROOM <= OPERATIONS, "more operations than the oracle can tell apart");
        oracle.order.forget(&set);
    }

    fn perform(&mut self, op: Op) -> Done {
        match op {
            Op::CreateStream { stream, kind } => self.create_stream(stream, kind),
            Op::DestroyStream { stream } => self.destroy_stream(stream),
            Op::CreateEvent { event } => self.create_event(event),
            Op::DestroyEvent { event } => self.destroy_event(event),
            Op::CreatePool { pool, shape } => self.create_pool(pool, shape),
            Op::DestroyPool { pool, live } => self.destroy_pool(pool, live),
            Op::Malloc { block, pool, stream, bytes, write } => self.malloc(block, pool, stream, bytes, write),
            Op::Free { block, stream } => self.free(block, stream),
            Op::Kernel { block, stream } => self.kernel(block, stream),
            Op::Use { block, stream, until } => self.tell_use(block, stream, until),
            Op::Record { event, stream } => self.on(event, stream, |w, event, stream| w.rt.record(event, stream)),
            Op::Wait { stream, event } => self.on(event, stream, |w, event, stream| w.rt.wait(stream, event)),
            Op::Query { event } => match self.event(event) {
                Some(event) => self.allow("query", self.rt.query(event).map(drop)),
                None => Ok(()),
            },
            Op::SyncStream { .. } | Op::SyncEvent { .. } | Op::SyncDevice => self.synchronise(op),
            Op::Trim { pool, keep } => self.trim(pool, u64::from(keep) * GRANULE),
            Op::Switch { .. } | Op::Threshold { .. } => self.set(op),
            Op::Run { count, seed } => {
                self.sim().reseed(u64::from(seed));
                let ran = (0..count).map_while(|_| self.sim().step());
                ran.for_each(drop);
                Ok(())
            }
            Op::Finish { stream } => {
                let finished = self.stream(stream).map(|s| self.sim().run_stream(s.native));
                finished.transpose().map(drop).map_err(|error| refusal("the device cannot finish a stream", error))
            }
        }
    }

    fn on(&self, event: u8, stream: u8, act: impl Fn(&Self, EventId, StreamId) -> Result<(), OrderError>) -> Done {
        match (self.event(event), self.stream(stream)) {
            (Some(event), Some(stream)) => self.allow("record or wait", act(self, event, stream.id)),
            _ => Ok(()),
        }
    }

    /// Where the driver fails on demand, its failures are legal.
    fn allow(&self, what: &str, result: Result<(), OrderError>) -> Done {
        match result {
            Ok(()) => Ok(()),
            Err(OrderError::Driver(_)) if self.faults => Ok(()),
            Err(error) => Err(refusal(what, error)),
        }
    }

    fn create_stream(&mut self, place: u8, kind: op::Kind) -> Done {
        if self.stream(place).is_some() {
            return Ok(());
        }
        let kind = match kind {
            op::Kind::NonBlocking => StreamKind::NonBlocking,
            op::Kind::Blocking => StreamKind::Blocking,
            op::Kind::Legacy => StreamKind::Legacy,
        };
        // Full, or a second legacy stream.
        let Ok(native) = self.sim().create_stream_of_kind(DEVICE, kind) else { return Ok(()) };
        match self.rt.create_stream(StreamConfig { kind, ..StreamConfig::new(DEVICE, native) }) {
            Ok(id) => {
                let number = self.oracle().order.begin_stream(native.0, kind);
                self.streams[usize::from(place)] = Some(Stream { id, native, number });
                Ok(())
            }
            Err(error) => {
                let _ = self.sim().destroy_stream(native);
                match error {
                    OrderError::ArenaFull(_) => Ok(()),
                    error => self.allow("create stream", Err(error)),
                }
            }
        }
    }

    /// Tells first what the program still owes: kernels of this stream that no free need come after otherwise.
    fn destroy_stream(&mut self, place: u8) -> Done {
        let Some(stream) = self.stream(place) else { return Ok(()) };
        for at in 0..BLOCKS {
            let Some(block) = &self.blocks[at] else { continue };
            if block.open.iter().any(|&(on, _)| on == place) {
                self.tell_now(at, place)?;
            }
            let point = self.block_ended(at, place, stream);
            if let (Some(point), Some(block)) = (point, &mut self.blocks[at]) {
                block.told.push(point);
            }
        }
        self.rt.destroy_stream(stream.id).map_err(|error| refusal("destroy stream", error))?;
        self.sim().destroy_stream(stream.native).map_err(|error| refusal("destroy the device's stream", error))?;
        self.oracle().order.end_stream(stream.native.0);
        self.streams[usize::from(place)] = None;
        Ok(())
    }

    /// A stream that may use the block until it is freed ends: what it did counts.
    fn block_ended(&mut self, at: usize, place: u8, stream: Stream) -> Option<Point> {
        let block = self.blocks[at].as_mut()?;
        let before = block.until.len();
        block.until.retain(|&until| until != (place, stream.number));
        block.crowded |= block.until.len() < before;
        (block.until.len() < before).then(|| self.oracle().order.add(stream.native.0))
    }

    fn create_event(&mut self, place: u8) -> Done {
        if self.event(place).is_none() {
            let event = self.rt.create_event().map_err(|error| refusal("create event", error))?;
            self.events[usize::from(place)] = Some(event);
        }
        Ok(())
    }

    fn destroy_event(&mut self, place: u8) -> Done {
        match self.events[usize::from(place)].take() {
            Some(event) => self.rt.destroy_event(event).map_err(|error| refusal("destroy event", error)),
            None => Ok(()),
        }
    }

    fn create_pool(&mut self, place: u8, shape: Shape) -> Done {
        if self.pool(place).is_some() {
            return Ok(());
        }
        let limit = (u64::from(shape.limit) * GRANULE).min(self.total);
        let threshold = if shape.threshold == u8::MAX { u64::MAX } else { u64::from(shape.threshold) * GRANULE };
        let config = PoolConfig {
            limit: Bytes(limit),
            threshold: Bytes(threshold),
            reuse: Reuse::from_bits_truncate(shape.reuse),
            preference: if shape.wait_first { Preference::WaitFirst } else { Preference::GrowFirst },
            small_limit: Some(if shape.classes { Bytes(GRANULE / 8) } else { Bytes::ZERO }),
            ..PoolConfig::new(DEVICE)
        };
        match self.rt.create_pool(config) {
            Ok(id) => {
                let PoolStats { base, range, .. } = self.stats(id)?;
                self.oracle().pools.push(oracle::Pool {
                    base: base.0,
                    range: range.0,
                    limit,
                    threshold,
                    reuse: config.reuse,
                    small: if shape.classes { GRANULE / 8 } else { 0 },
                    asked: config.reuse.contains(Reuse::OPPORTUNISTIC),
                    dying: false,
                    memory: Default::default(),
                });
                self.pools[usize::from(place)] = Some(PoolPlace { id, base: base.0, limit });
                Ok(())
            }
            // Destroyed pools keep their places until their work is complete.
            Err(PoolError::ArenaFull(_)) => Ok(()),
            Err(PoolError::Driver(_)) if self.faults => Ok(()),
            Err(error) => Err(refusal("create pool", error)),
        }
    }

    pub(crate) fn stats(&self, pool: PoolId) -> Result<PoolStats, Failure> {
        self.rt.stats(pool).map_err(|error| refusal("stats", error))
    }

    fn destroy_pool(&mut self, place: u8, live: Live) -> Done {
        let Some(pool) = self.pool(place) else { return Ok(()) };
        let blocks = self.blocks.iter().flatten().filter(|block| block.pool == place).count();
        let at = self.oracle().pool_at(pool.base);
        if blocks == 0 || live == Live::Abandon {
            self.keep_counts(pool)?;
            if let Some(at) = at {
                self.oracle().end_pool(at, blocks > 0);
            }
        }
        let how = if live == Live::Abandon { Destroy::WithLiveBlocks } else { Destroy::IfEmpty };
        match self.rt.destroy_pool(pool.id, how) {
            Ok(()) => {
                self.pools[usize::from(place)] = None;
                self.blocks.iter_mut().filter(|b| b.as_ref().is_some_and(|b| b.pool == place)).for_each(|b| *b = None);
                Ok(())
            }
            Err(PoolError::LiveBlocks { count, .. }) if count == blocks as u64 && blocks > 0 => Ok(()),
            Err(error) => Err(refusal("destroy pool", error)),
        }
    }

    fn keep_counts(&mut self, pool: PoolPlace) -> Done {
        let stats = self.stats(pool.id)?;
        for (mine, theirs) in self.tally.by_source.iter_mut().zip(stats.by_source) {
            *mine += theirs;
        }
        Ok(())
    }

    fn synchronise(&mut self, op: Op) -> Done {
        let result = match op {
            Op::SyncStream { stream } => match self.stream(stream) {
                Some(stream) => self.rt.synchronize_stream(stream.id),
                None => return Ok(()),
            },
            Op::SyncEvent { event } => match self.event(event) {
                Some(event) => return self.allow("synchronise", self.rt.synchronize_event(event)),
                None => return Ok(()),
            },
            _ => self.rt.synchronize_device(DEVICE),
        };
        self.allow("synchronise", result)?;
        if result.is_ok() {
            for pool in self.pools.iter().flatten() {
                let threshold = self.threshold(*pool);
                self.judge_release(*pool, threshold)?;
            }
        }
        Ok(())
    }

    fn threshold(&self, pool: PoolPlace) -> u64 {
        let oracle = self.oracle();
        oracle.pool_at(pool.base).map_or(u64::MAX, |at| oracle.pools[at].threshold)
    }

    fn judge_release(&self, pool: PoolPlace, keep: u64) -> Done {
        let PoolStats { reserved, used, .. } = self.stats(pool.id)?;
        let mut oracle = self.oracle();
        if let Some(at) = oracle.pool_at(pool.base) {
            oracle.judge_release(at, keep, reserved.get(), used.get());
        }
        Ok(())
    }

    fn trim(&mut self, place: u8, keep: u64) -> Done {
        let Some(pool) = self.pool(place) else { return Ok(()) };
        self.rt.trim_to(pool.id, Bytes(keep)).map_err(|error| refusal("trim", error))?;
        self.judge_release(pool, keep)
    }

    fn set(&mut self, op: Op) -> Done {
        let (place, number, value) = match op {
            Op::Switch { pool, number, on } => (pool, u32::from(number), u64::from(on)),
            Op::Threshold { pool, granules } => (pool, 4, u64::from(granules) * GRANULE),
            _ => return Ok(()),
        };
        let (Some(pool), Some(attribute)) = (self.pool(place), Attribute::from_number(number)) else { return Ok(()) };
        self.rt.set_attribute(pool.id, attribute, value).map_err(|error| refusal("set attribute", error))?;
        let mut oracle = self.oracle();
        let Some(at) = oracle.pool_at(pool.base) else { return Ok(()) };
        let kept = &mut oracle.pools[at];
        match attribute.switch() {
            Some(switch) => kept.reuse.set(switch, value != 0),
            None => kept.threshold = value,
        }
        kept.asked |= kept.reuse.contains(Reuse::OPPORTUNISTIC);
        Ok(())
    }

    /// Everything is given back; nothing may be left.
    pub(crate) fn finish(&mut self) -> Done {
        self.tally.faults = self.sim().injected();
        self.sim().fail_never();
        self.faults = false;
        let justified = self.oracle().justified;
        self.tally.justified = justified;
        if let Some(first) = (0..STREAMS as u8).find(|&place| self.stream(place).is_some()) {
            for block in 0..BLOCKS as u8 {
                self.make_room();
                self.free(block, first)?;
            }
        }
        for place in 0..POOLS as u8 {
            self.make_room();
            self.destroy_pool(place, Live::Abandon)?;
        }
        // The first may be needed to try again what failed.
        for _ in 0..2 {
            let synchronised = self.rt.synchronize_device(DEVICE);
            synchronised.map_err(|error| refusal("the last synchronisation", error))?;
        }
        self.look()?;
        self.verify()?;
        let created = self.sim().created(DEVICE);
        if created != Bytes::ZERO || self.sim().unchecked() != 0 {
            let unchecked = self.sim().unchecked();
            let text = format!("{created} of physical memory are left; {unchecked} accesses were not checked");
            return Err(Failure::new(Kind::Leak, text));
        }
        Ok(())
    }

    pub(crate) fn digest(&self) -> u64 {
        self.sim().digest()
    }
}
