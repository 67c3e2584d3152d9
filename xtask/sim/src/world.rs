//! A program's places and what is in them; performs one step at a time and looks at everything after it.

use crate::bench::{GRANULE, Pool, Surroundings};
use crate::failure::{Failure, Kind};
use crate::op::{BLOCKS, EVENTS, Live, Op, POOLS, STREAMS};
use crate::oracle;
use crate::order::Point;
use crate::set::{OPERATIONS, Set};
use weir::PoolStats;
use weir::driver::NativeStream;
use weir::error::OrderError;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Attribute, Reuse};
use weir::units::{Bytes, DevicePtr};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) native: NativeStream,
    pub(crate) number: u32,
    pub(crate) device: DeviceId,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolPlace {
    pub(crate) id: PoolId,
    pub(crate) device: DeviceId,
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
    /// next one in its place.
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
    pub(crate) devices: u8,
    /// Physical bytes of each device.
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
            devices: surroundings.devices,
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

    pub(crate) fn event(&self, place: u8) -> Option<EventId> {
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
        self.oracle().note_common();
        self.oracle().looks = 0;
        let done = self.perform(op);
        // What the device or the oracle saw says more than a refusal that followed.
        self.look()?;
        done?;
        self.count()
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
            Op::CreateStream { stream, device, kind } => self.create_stream(stream, device, kind),
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
            Op::RecordAround { event, stream, meanwhile, driver_first } => {
                self.record_around((event, stream), meanwhile, driver_first)
            }
            Op::Wait { stream, event } => self.on(event, stream, |w, event, stream| w.rt.wait(stream, event)),
            Op::Query { event } => match self.event(event) {
                Some(event) => self.allow("query", self.rt.query(event).map(drop)),
                None => Ok(()),
            },
            Op::SyncStream { .. } | Op::SyncEvent { .. } | Op::SyncDevice { .. } => self.synchronise(op),
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
    pub(crate) fn allow(&self, what: &str, result: Result<(), OrderError>) -> Done {
        match result {
            Ok(()) => Ok(()),
            Err(OrderError::Driver(_)) if self.faults => Ok(()),
            Err(error) => Err(refusal(what, error)),
        }
    }

    fn synchronise(&self, op: Op) -> Done {
        let (device, result) = match op {
            Op::SyncStream { stream } => match self.stream(stream) {
                Some(stream) => (stream.device, self.rt.synchronize_stream(stream.id)),
                None => return Ok(()),
            },
            Op::SyncEvent { event } => match self.event(event) {
                Some(event) => return self.allow("synchronise", self.rt.synchronize_event(event)),
                None => return Ok(()),
            },
            Op::SyncDevice { device } if device < self.devices => {
                let device = DeviceId(u32::from(device));
                (device, self.rt.synchronize_device(device))
            }
            _ => return Ok(()),
        };
        self.allow("synchronise", result)?;
        if result.is_ok() {
            for pool in self.pools.iter().flatten().filter(|pool| pool.device == device) {
                // What it keeps beyond that, since releasing did not pay, it says.
                let keep = self.threshold(*pool).saturating_add(self.stats(pool.id)?.kept.get());
                self.judge_release(*pool, keep)?;
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
            for device in 0..self.devices {
                let synchronised = self.rt.synchronize_device(DeviceId(u32::from(device)));
                synchronised.map_err(|error| refusal("the last synchronisation", error))?;
            }
        }
        self.look()?;
        self.verify()?;
        let created: u64 = (0..self.devices).map(|device| self.sim().created(DeviceId(u32::from(device))).get()).sum();
        if created != 0 || self.sim().unchecked() != 0 {
            let unchecked = self.sim().unchecked();
            let text = format!("{created} bytes of physical memory are left; {unchecked} accesses were not checked");
            return Err(Failure::new(Kind::Leak, text));
        }
        Ok(())
    }

    pub(crate) fn digest(&self) -> u64 {
        self.sim().digest()
    }
}
