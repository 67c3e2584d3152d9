//! A runtime on a device with real bytes, and the programs of the core's corpus on it, while calls of the device's fail.

use super::corpus::Program;
use super::op::{At, Op, Shape};
use std::collections::BTreeMap;
use weir::driver::{Driver, NativeStream, Target};
use weir::error::{FreeError, MallocError, OrderError, PoolError, UseError};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Release, Tuning};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, DevicePtr};
use weir::{BlockInfo, Capacities, Local, StreamConfig};
use weir_ffi::arenas::HeapArenas;

const DEVICE: DeviceId = DeviceId(0);

/// A driver of one device whose calls can be made to fail, and whose kernels write and check bytes.
pub(crate) trait Bench: Driver {
    /// The size of a granule.
    fn granule(&self) -> u64;
    /// Makes a stream.
    fn stream(&self) -> NativeStream;
    /// Queues a kernel that writes what belongs to `value`.
    fn write(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64);
    /// Queues a kernel that expects it.
    fn expect(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64);
    /// Queues work without memory.
    fn work(&self, on: NativeStream);
    /// The device does everything that is queued.
    fn run(&self);
    /// After `after` more calls, `times` of them fail with this code.
    fn fail(&self, after: u64, times: u64, code: i32);
    /// How many calls were made so far, and those that failed.
    fn calls(&self) -> u64;
    /// How many granules there are.
    fn granules(&self) -> u64;
    /// How many ranges of addresses there are.
    fn ranges(&self) -> u64;
    /// Panics where something was done wrong so far.
    fn inspect(&self, context: &str);
}

/// Which of the device's calls fail, and with which code: counted from 0, from the program's first op on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Nothing,
    One(u64, i32),
    /// From that call on until the program's op returns.
    UntilReturn(u64, i32),
}

impl Plan {
    fn code(self) -> Option<i32> {
        match self {
            Self::Nothing => None,
            Self::One(_, code) | Self::UntilReturn(_, code) => Some(code),
        }
    }
}

/// What many runs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    runs: u64,
    /// Ops that were refused because of a failure.
    pub(crate) refused: u64,
    /// Runs whose failure no op was refused for.
    pub(crate) rescued: u64,
    /// Ops that found no memory until a synchronisation, since an earlier failure withheld some.
    short: u64,
    /// Mallocs by where their memory came from, of pools that the program did not end itself.
    pub(crate) by_source: [u64; Source::ALL.len()],
    /// Granules that were unmapped and mapped again.
    pub(crate) moved: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.refused += other.refused;
        self.rescued += other.rescued;
        self.short += other.short;
        self.moved += other.moved;
        self.by_source.iter_mut().zip(other.by_source).for_each(|(all, one)| *all += one);
    }
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Malloc(MallocError),
    Free(FreeError),
    Use(UseError),
    Order(OrderError),
    Pool(PoolError),
}

macro_rules! refusals {
    ($($error:ident => $variant:ident),+) => {
        $(impl From<$error> for Refusal {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}
refusals!(MallocError => Malloc, FreeError => Free, UseError => Use, OrderError => Order, PoolError => Pool);

impl Refusal {
    /// Memory is missing, or a slot for a stream, since an ended one is not known to be complete.
    fn is_shortage(self) -> bool {
        matches!(self, Self::Malloc(MallocError::OutOfMemory(_)) | Self::Order(OrderError::ArenaFull(_)))
    }

    /// The code of a driver call that failed.
    fn code(self) -> Option<i32> {
        match self {
            Self::Malloc(MallocError::Driver(error))
            | Self::Order(OrderError::Driver(error))
            | Self::Pool(PoolError::Driver(error)) => Some(error.code),
            _ => None,
        }
    }
}

/// A live block of the program's, and the byte that it is full of.
#[derive(Clone, Copy)]
struct Held {
    ptr: DevicePtr,
    bytes: Bytes,
    pool: usize,
    value: u64,
}

/// What must not change where a call is refused.
#[derive(Debug, PartialEq, Eq)]
struct Picture {
    pools: Vec<(usize, Bytes, Bytes, u64)>,
    blocks: Vec<(usize, Option<BlockInfo>)>,
    ranges: u64,
}

struct World<'a, D: Bench> {
    rt: Local<'a, D, NullSink>,
    streams: BTreeMap<usize, (StreamId, NativeStream)>,
    events: BTreeMap<usize, EventId>,
    pools: BTreeMap<usize, PoolId>,
    blocks: BTreeMap<usize, Held>,
    /// Pools were destroyed: what is left of them is in no statistics.
    buried: bool,
    mallocs: u64,
    tally: Tally,
}

/// Runs a program under a plan, on a device that nobody has used and that has the program's memory; answers how many calls
/// of the device's it took.
pub(crate) fn run<D: Bench>(device: D, program: &Program, plan: Plan) -> (u64, Tally) {
    let capacities =
        Capacities { streams: 4, events: 4, markers: 6, pools: 4, blocks: 64, granules: 64, labels: 4, pages: 0 };
    let mut arenas = HeapArenas::new(capacities);
    let rt = Local::new(arenas.lend(), device, NullSink);
    let (streams, events, pools, blocks) = Default::default();
    let tally = Tally::default();
    let mut world = World { rt, streams, events, pools, blocks, buried: false, mallocs: 0, tally };
    let before = world.rt.driver().calls();
    match plan {
        Plan::Nothing => {}
        Plan::One(k, code) => world.rt.driver().fail(k, 1, code),
        Plan::UntilReturn(k, code) => world.rt.driver().fail(k, u64::MAX, code),
    }
    for op in &program.ops {
        world.step(op, plan, before);
    }
    let calls = world.rt.driver().calls() - before;
    world.rt.driver().fail(0, 0, 0);
    world.finish();
    let mut tally = world.tally;
    let counters = world.rt.counters();
    tally.moved = counters.unmap.saturating_sub(counters.destroy);
    tally.runs = 1;
    tally.rescued = u64::from(plan != Plan::Nothing && tally.refused == 0);
    (calls, tally)
}

impl<D: Bench> World<'_, D> {
    /// One op: tried until it succeeds, which the first attempt without a failure must, but for want of what an earlier
    /// failure withheld.
    fn step(&mut self, op: &Op, plan: Plan, start: u64) {
        let expected = matches!(op, Op::Refused(_));
        for _ in 0..6 {
            let (picture, first) = (self.picture(), self.rt.driver().calls() - start);
            let outcome = self.perform(op);
            let last = self.rt.driver().calls() - start;
            let hit = match plan {
                Plan::Nothing => false,
                Plan::One(k, _) | Plan::UntilReturn(k, _) => (first..last).contains(&k),
            };
            if hit {
                self.rt.driver().fail(0, 0, 0);
            }
            let context = format!("{op:?}, {}failure in it: {outcome:?}", if hit { "a " } else { "no " });
            self.rt.driver().inspect(&context);
            self.rt.verify().unwrap_or_else(|broken| panic!("{context}: {broken:?}"));
            self.count_memory(&context);
            let Err(refusal) = outcome else { return };
            assert_eq!(self.picture(), picture, "{context}: not as before");
            if hit {
                let shown = refusal.code() == plan.code() || refusal.is_shortage() || expected;
                assert!(shown, "{context}: not the error of that failure");
                self.tally.refused += 1;
            } else if expected {
                return;
            } else {
                let withheld = matches!(plan, Plan::One(k, _) | Plan::UntilReturn(k, _) if k < first);
                assert!(withheld && refusal.is_shortage(), "{context}");
                self.tally.short += 1;
                self.rt.synchronize_device(DEVICE).expect("nothing fails any more");
            }
        }
        panic!("{op:?} is refused for ever");
    }

    fn picture(&self) -> Picture {
        let stats = |(&n, &pool): (&usize, &PoolId)| {
            let stats = self.rt.stats(pool).expect("a pool of the program's is live");
            (n, stats.used, stats.requested, stats.live_blocks)
        };
        Picture {
            pools: self.pools.iter().map(stats).collect(),
            blocks: self.blocks.iter().map(|(&n, held)| (n, self.rt.block_at(held.ptr))).collect(),
            ranges: self.rt.driver().ranges(),
        }
    }

    /// What the pools say that they hold is what the device has given out.
    fn count_memory(&self, context: &str) {
        let mut ids: Vec<_> = self.pools.values().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let reserved: u64 = ids.iter().map(|&id| self.rt.stats(id).expect("it is live").reserved.0).sum();
        let created = self.rt.driver().granules() * self.granule();
        assert!(
            reserved == created || (self.buried && reserved < created),
            "{context}: {reserved} bytes reserved, {created} created"
        );
    }

    /// One call. What it made or ended is noted only where it succeeded; what names something that is not there is
    /// left out.
    fn perform(&mut self, op: &Op) -> Result<(), Refusal> {
        match *op {
            Op::Refused(op) => return self.perform(op),
            Op::Stream(n) => {
                let native = self.rt.driver().stream();
                let id = self.rt.create_stream(StreamConfig::new(DEVICE, native))?;
                self.streams.insert(n, (id, native));
            }
            Op::DropStream(n) => {
                if let Some(&(id, _)) = self.streams.get(&n) {
                    self.rt.destroy_stream(id)?;
                    self.streams.remove(&n);
                }
            }
            Op::Event(n) => {
                self.events.insert(n, self.rt.create_event()?);
            }
            Op::DropEvent(n) => {
                if let Some(event) = self.events.remove(&n) {
                    self.rt.destroy_event(event)?;
                }
            }
            Op::Pool(n, shape) => {
                self.pools.insert(n, self.rt.create_pool(config(shape, self.granule()))?);
            }
            Op::Default(n) => {
                self.pools.insert(n, self.rt.default_pool(DEVICE)?);
            }
            Op::Drop(n, how) => self.drop_pool(n, how)?,
            Op::Malloc(block, pool, parts, stream) => self.malloc(block, pool, parts, stream)?,
            Op::Free(block, stream) => self.free(block, stream)?,
            Op::Use(block, stream, until) => {
                if let (Some(&held), Some(&(id, native))) = (self.blocks.get(&block), self.streams.get(&stream)) {
                    self.expect_content(held, native);
                    self.rt.record_use(held.ptr, id, until)?;
                }
            }
            Op::Set(n, attribute, at) => {
                if let Some(&pool) = self.pools.get(&n) {
                    self.rt.set_attribute(pool, attribute, self.number(at))?;
                }
            }
            Op::Trim(n, keep) => {
                if let Some(&pool) = self.pools.get(&n) {
                    let trimmed = self.rt.trim_to(pool, Bytes(keep * self.granule()))?;
                    assert_eq!(trimmed.reserved, self.rt.stats(pool)?.reserved, "a trim says what it reached");
                }
            }
            _ => self.order(op)?,
        }
        Ok(())
    }

    /// The calls about order, and the device's own doing.
    fn order(&mut self, op: &Op) -> Result<(), OrderError> {
        let stream = |n| self.streams.get(n).copied();
        let event = |n| self.events.get(n).copied();
        match op {
            Op::Record(e, s) => match (event(e), stream(s)) {
                (Some(event), Some((stream, _))) => self.rt.record(event, stream),
                _ => Ok(()),
            },
            Op::Wait(s, e) => match (event(e), stream(s)) {
                (Some(event), Some((stream, _))) => self.rt.wait(stream, event),
                _ => Ok(()),
            },
            Op::Query(e) => event(e).map_or(Ok(()), |event| self.rt.query(event).map(drop)),
            Op::SyncStream(s) => stream(s).map_or(Ok(()), |(stream, _)| self.rt.synchronize_stream(stream)),
            Op::SyncEvent(e) => event(e).map_or(Ok(()), |event| self.rt.synchronize_event(event)),
            Op::SyncDevice => self.rt.synchronize_device(DEVICE),
            Op::Work(s) => {
                if let Some((_, native)) = stream(s) {
                    self.rt.driver().work(native);
                }
                Ok(())
            }
            Op::Run => {
                self.rt.driver().run();
                Ok(())
            }
            // What is not run is late enough.
            Op::Pause(_) | Op::Resume(_) => Ok(()),
            _ => unreachable!("performed above"),
        }
    }

    fn malloc(&mut self, block: usize, pool: usize, parts: u64, stream: usize) -> Result<(), MallocError> {
        let (Some(&id), Some(&(stream, native))) = (self.pools.get(&pool), self.streams.get(&stream)) else {
            return Ok(());
        };
        if self.blocks.contains_key(&block) {
            // A call that should have been refused found memory that an earlier failure left.
            return Ok(());
        }
        let bytes = Bytes(parts * (self.granule() / 64));
        let ptr = self.rt.malloc_async(id, bytes, stream)?;
        self.mallocs += 1;
        self.rt.driver().write(native, ptr, bytes, self.mallocs);
        self.blocks.insert(block, Held { ptr, bytes, pool, value: self.mallocs });
        Ok(())
    }

    fn free(&mut self, block: usize, stream: usize) -> Result<(), FreeError> {
        let (Some(&held), Some(&(stream, native))) = (self.blocks.get(&block), self.streams.get(&stream)) else {
            return Ok(());
        };
        self.expect_content(held, native);
        self.rt.free_async(held.ptr, stream)?;
        self.blocks.remove(&block);
        Ok(())
    }

    /// Queues a kernel that finds what the block's owner wrote.
    fn expect_content(&self, held: Held, native: NativeStream) {
        self.rt.driver().expect(native, held.ptr, held.bytes, held.value);
    }

    fn drop_pool(&mut self, n: usize, how: Destroy) -> Result<(), PoolError> {
        let Some(&pool) = self.pools.get(&n) else { return Ok(()) };
        self.rt.destroy_pool(pool, how)?;
        // Two numbers may name the default pool.
        self.pools.retain(|_, &mut id| id != pool);
        self.blocks.retain(|_, held| held.pool != n);
        self.buried = true;
        Ok(())
    }

    /// The vendor works again: everything can be given back, and is.
    fn finish(&mut self) {
        self.rt.synchronize_device(DEVICE).expect("the device works");
        if self.streams.is_empty() {
            self.perform(&Op::Stream(0)).expect("there is room for one stream");
        }
        let (stream, native) = *self.streams.values().next().expect("one stream at least");
        for held in std::mem::take(&mut self.blocks).into_values() {
            self.expect_content(held, native);
            self.rt.free_async(held.ptr, stream).expect("the block is live");
        }
        for &pool in self.pools.values() {
            self.rt.set_attribute(pool, Attribute::ReleaseThreshold, 0).expect("the pool is live");
        }
        self.rt.synchronize_device(DEVICE).expect("the device works");
        assert_eq!(self.rt.driver().granules(), 0, "memory is left behind");
        while let Some((n, &pool)) = self.pools.first_key_value() {
            let by_source = self.rt.stats(pool).expect("the pool is live").by_source;
            self.tally.add(Tally { by_source, ..Tally::default() });
            self.drop_pool(*n, Destroy::IfEmpty).expect("the pool is empty");
        }
        for event in std::mem::take(&mut self.events).into_values() {
            self.rt.destroy_event(event).expect("the event is live");
        }
        for (stream, _) in std::mem::take(&mut self.streams).into_values() {
            self.rt.destroy_stream(stream).expect("the stream is live");
        }
        self.rt.driver().synchronise(Target::Device(DEVICE)).expect("the device works");
        self.rt.verify().expect("every invariant holds");
        self.rt.driver().inspect("at the end");
        assert_eq!(self.rt.driver().ranges(), 0, "addresses are left behind");
    }

    fn granule(&self) -> u64 {
        self.rt.driver().granule()
    }

    fn number(&self, at: At) -> u64 {
        match at {
            At::Granules(n) => n * self.granule(),
            At::Number(n) => n,
        }
    }
}

fn config(shape: Shape, granule: u64) -> PoolConfig {
    let Shape { limit, reuse, preference, threshold } = shape;
    let limit = Bytes(limit * granule);
    // So that in the end nothing is left.
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    PoolConfig { limit, reuse, preference, threshold: Bytes(threshold), tuning, ..PoolConfig::new(DEVICE) }
}
