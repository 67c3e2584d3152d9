//! A runtime, the simulated device under it, and the objects that a program made.

use super::driver::Faulty;
use super::op::{At, Op, Shape};
use std::collections::BTreeMap;
use weir::driver::NativeStream;
use weir::error::{FreeError, MallocError, OrderError, PoolError, UseError};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Release, Tuning};
use weir::sim::{Access, Sim, SimStorage};
use weir::trace::{Sink, SinkError};
use weir::units::{Bytes, DevicePtr, Nanos};
use weir::{BlockInfo, Local, PoolStats, Storage, StreamConfig};

pub const DEVICE: DeviceId = DeviceId(0);
pub const GRANULE: u64 = 2 << 20;

/// 4 streams, 4 events, 6 markers, 4 pools, 64 blocks, 64 granules.
pub type Space = Storage<4, EVENTS, 6, 4, 64, 64, 4, 4>;
pub type SimSpace = SimStorage<1, 6, 64, 12, 10, 400, 800>;
pub const EVENTS: usize = 4;

/// Keeps the whole log.
#[derive(Default)]
pub struct Kept(pub Vec<u8>);

impl Sink for Kept {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        self.0.extend_from_slice(page);
        Ok(())
    }
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
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

/// What a call came to.
pub type Outcome = Result<Done, Refusal>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Yes,
    /// It names something that an earlier, refused call should have made.
    Skipped,
}

/// A live block of the program.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub ptr: DevicePtr,
    pub bytes: Bytes,
    pub pool: usize,
    pub tag: u64,
}

/// What must not change where a call is refused.
#[derive(Clone, Debug)]
pub struct Picture {
    pub pools: BTreeMap<usize, PoolStats>,
    pub blocks: Vec<(usize, Option<BlockInfo>)>,
    pub failed: u64,
    pub ranges: usize,
}

pub struct World<'a> {
    pub rt: Local<'a, Faulty<'a>, Kept>,
    pub streams: BTreeMap<usize, (StreamId, NativeStream)>,
    pub events: BTreeMap<usize, EventId>,
    pub pools: BTreeMap<usize, PoolId>,
    pub blocks: BTreeMap<usize, Held>,
    /// Pools were destroyed: what is left of them is not in any statistics.
    pub buried: bool,
    tags: u64,
}

impl<'a> World<'a> {
    pub fn new(rt: Local<'a, Faulty<'a>, Kept>) -> Self {
        let (streams, events, pools, blocks) = Default::default();
        Self { rt, streams, events, pools, blocks, buried: false, tags: 0 }
    }

    pub fn driver(&self) -> &Faulty<'a> {
        self.rt.driver()
    }

    pub fn sim(&self) -> &Sim<'a> {
        &self.driver().sim
    }

    pub fn picture(&self) -> Picture {
        let stats = |&pool: &PoolId| self.rt.stats(pool).expect("a pool of the program is live");
        Picture {
            pools: self.pools.iter().map(|(&n, pool)| (n, stats(pool))).collect(),
            blocks: self.blocks.iter().map(|(&n, held)| (n, self.rt.block_at(held.ptr))).collect(),
            failed: self.rt.counters().failed,
            ranges: self.driver().ranges(),
        }
    }

    /// One call. What it made or ended is noted only where it succeeded.
    pub fn perform(&mut self, op: &Op) -> Outcome {
        let done = match *op {
            Op::Refused(op) => return self.perform(op),
            Op::Stream(n) => self.make_stream(n)?,
            Op::DropStream(n) => self.drop_stream(n)?,
            Op::Event(n) => {
                self.events.insert(n, self.rt.create_event()?);
                Some(())
            }
            Op::Pool(n, shape) => {
                self.pools.insert(n, self.rt.create_pool(config(shape))?);
                Some(())
            }
            Op::Default(n) => {
                self.pools.insert(n, self.rt.default_pool(DEVICE)?);
                Some(())
            }
            Op::Malloc(block, pool, parts, stream) => self.malloc(block, pool, parts, stream)?,
            Op::Free(block, stream) => self.free(block, stream)?,
            Op::Run => {
                self.sim().run_all();
                Some(())
            }
            Op::SyncDevice => Some(self.rt.synchronize_device(DEVICE)?),
            _ => self.perform_on(op)?,
        };
        Ok(if done.is_some() { Done::Yes } else { Done::Skipped })
    }

    /// Calls on what is there already.
    fn perform_on(&mut self, op: &Op) -> Result<Option<()>, Refusal> {
        let stream = |n| self.streams.get(&n).copied();
        let event = |n| self.events.get(&n).copied();
        let pool = |n| self.pools.get(&n).copied();
        Ok(match *op {
            Op::DropEvent(n) => match self.events.remove(&n) {
                Some(event) => Some(self.rt.destroy_event(event)?),
                None => None,
            },
            Op::Use(block, s, until) => match (self.blocks.get(&block), stream(s)) {
                (Some(held), Some((id, native))) => {
                    let read = self.sim().access(native, held.ptr, held.bytes, Access::Read);
                    read.expect("the program orders its uses");
                    Some(self.rt.record_use(held.ptr, id, until)?)
                }
                _ => None,
            },
            Op::Record(e, s) => match (event(e), stream(s)) {
                (Some(e), Some((s, _))) => Some(self.rt.record(e, s)?),
                _ => None,
            },
            Op::Wait(s, e) => match (event(e), stream(s)) {
                (Some(e), Some((s, _))) => Some(self.rt.wait(s, e)?),
                _ => None,
            },
            Op::Query(e) => match event(e) {
                Some(e) => Some(self.rt.query(e).map(|_| ())?),
                None => None,
            },
            Op::SyncStream(s) => match stream(s) {
                Some((s, _)) => Some(self.rt.synchronize_stream(s)?),
                None => None,
            },
            Op::SyncEvent(e) => match event(e) {
                Some(e) => Some(self.rt.synchronize_event(e)?),
                None => None,
            },
            Op::Trim(n, keep) => match pool(n) {
                Some(pool) => {
                    let trimmed = self.rt.trim_to(pool, Bytes(keep * GRANULE))?;
                    assert_eq!(trimmed.reserved, self.rt.stats(pool)?.reserved, "a trim says what it reached");
                    Some(())
                }
                None => None,
            },
            Op::Set(n, attribute, at) => match pool(n) {
                Some(pool) => Some(self.rt.set_attribute(pool, attribute, number(at))?),
                None => None,
            },
            Op::Drop(n, how) => return self.drop_pool(n, how),
            Op::Work(s) => stream(s).map(|(_, native)| {
                self.sim().work(native, Nanos(1000)).expect("the queue has room");
            }),
            Op::Pause(s) => stream(s).map(|(_, native)| self.sim().pause(native).expect("the stream is there")),
            Op::Resume(s) => stream(s).map(|(_, native)| self.sim().resume(native).expect("the stream is there")),
            _ => unreachable!("performed above"),
        })
    }

    fn make_stream(&mut self, n: usize) -> Result<Option<()>, OrderError> {
        let native = self.sim().create_stream(DEVICE).expect("the device has streams left");
        match self.rt.create_stream(StreamConfig::new(DEVICE, native)) {
            Ok(id) => {
                self.streams.insert(n, (id, native));
                Ok(Some(()))
            }
            Err(error) => {
                self.sim().destroy_stream(native).expect("it was just made");
                Err(error)
            }
        }
    }

    fn drop_stream(&mut self, n: usize) -> Result<Option<()>, OrderError> {
        let Some(&(id, native)) = self.streams.get(&n) else { return Ok(None) };
        self.rt.destroy_stream(id)?;
        self.sim().destroy_stream(native).expect("the stream is there");
        self.streams.remove(&n);
        Ok(Some(()))
    }

    fn drop_pool(&mut self, n: usize, how: Destroy) -> Result<Option<()>, Refusal> {
        let Some(&pool) = self.pools.get(&n) else { return Ok(None) };
        self.rt.destroy_pool(pool, how)?;
        // Two numbers may name the default pool.
        self.pools.retain(|_, &mut id| id != pool);
        self.blocks.retain(|_, held| held.pool != n);
        self.buried = true;
        Ok(Some(()))
    }

    fn malloc(&mut self, block: usize, pool: usize, parts: u64, stream: usize) -> Result<Option<()>, MallocError> {
        let (Some(&id), Some(&(stream, native))) = (self.pools.get(&pool), self.streams.get(&stream)) else {
            return Ok(None);
        };
        if self.blocks.contains_key(&block) {
            // A call that should have been refused found memory that an earlier failure left.
            return Ok(None);
        }
        let bytes = Bytes(parts * (GRANULE / 64));
        let ptr = self.rt.malloc_async(id, bytes, stream)?;
        self.tags += 1;
        let held = Held { ptr, bytes, pool, tag: self.tags };
        self.sim().access_write_tag(native, ptr, bytes, self.tags).expect("nobody else uses the block");
        self.blocks.insert(block, held);
        Ok(Some(()))
    }

    fn free(&mut self, block: usize, stream: usize) -> Result<Option<()>, FreeError> {
        let (Some(&held), Some(&(stream, native))) = (self.blocks.get(&block), self.streams.get(&stream)) else {
            return Ok(None);
        };
        self.expect_content(held, native);
        self.rt.free_async(held.ptr, stream)?;
        self.blocks.remove(&block);
        Ok(Some(()))
    }

    /// Queues a read that finds what the block's owner wrote.
    pub fn expect_content(&self, held: Held, native: NativeStream) {
        let read = self.sim().access_read_expect(native, held.ptr, held.bytes, held.tag);
        read.expect("the block is its owner's");
    }

    /// Nothing is held back any more.
    pub fn resume_all(&self) {
        for &(_, native) in self.streams.values() {
            self.sim().resume(native).expect("the stream is there");
        }
    }

    /// Frees and ends everything, on a device that works again.
    pub fn end(&mut self) -> Result<(), Refusal> {
        self.resume_all();
        self.rt.synchronize_device(DEVICE)?;
        if self.streams.is_empty() {
            self.make_stream(0)?;
        }
        let (stream, native) = *self.streams.values().next().expect("one stream at least");
        for held in std::mem::take(&mut self.blocks).into_values() {
            self.expect_content(held, native);
            self.rt.free_async(held.ptr, stream)?;
        }
        for &pool in self.pools.values() {
            self.rt.set_attribute(pool, Attribute::ReleaseThreshold, 0)?;
        }
        Ok(self.rt.synchronize_device(DEVICE)?)
    }

    /// Ends pools, events and streams.
    pub fn bury(&mut self) -> Result<(), Refusal> {
        let mut ended = Vec::new();
        for pool in std::mem::take(&mut self.pools).into_values() {
            if !ended.contains(&pool) {
                self.rt.destroy_pool(pool, Destroy::IfEmpty)?;
                ended.push(pool);
            }
        }
        for event in std::mem::take(&mut self.events).into_values() {
            self.rt.destroy_event(event)?;
        }
        for (stream, _) in std::mem::take(&mut self.streams).into_values() {
            self.rt.destroy_stream(stream)?;
        }
        Ok(self.rt.synchronize_device(DEVICE)?)
    }
}

fn config(shape: Shape) -> PoolConfig {
    let Shape { limit, reuse, preference, threshold } = shape;
    let limit = Bytes(limit * GRANULE);
    // So that in the end nothing is left.
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    PoolConfig { limit, reuse, preference, threshold: Bytes(threshold), tuning, ..PoolConfig::new(DEVICE) }
}

fn number(at: At) -> u64 {
    match at {
        At::Granules(n) => n * GRANULE,
        At::Number(n) => n,
    }
}
