//! One run of a program: the pool, and what its threads do, judged after every call.

use super::driver::{Turnstile, Windowed};
use super::oracle::Oracle;
use super::turns;
use std::sync::atomic::{AtomicU64, Ordering};
use weir::driver::NativeStream;
use weir::error::{FreeError, MallocError, OrderError, Unusable};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig, Preference, Reuse};
use weir::sim::{Access, DeviceConfig, Progress, Sim, SimArenas, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Arenas, PoolStats, Runtime, State, Storage, StreamConfig};

const DEVICE: DeviceId = DeviceId(0);
pub const GRANULE: Bytes = Bytes::mib(2);
pub const LIMIT: Bytes = Bytes::mib(4);

/// 4 streams, 2 events, 8 markers, 1 pool, 32 blocks, 16 granules.
pub type Space = Storage<4, 2, 8, 1, 32, 16, 0, 0>;
pub type SimSpace = SimStorage<1, 2, 16, 4, 10, 64, 512>;

/// A call of a thread. Streams are counted from 0; there is one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A malloc of so many granules, and work on the stream that writes it.
    Malloc(usize, u64),
    /// A free of the thread's latest block, on the stream that works on it.
    Free,
    Record(usize),
    Wait(usize),
    Query,
    SyncEvent,
    SyncStream(usize),
    SyncDevice,
    Trim,
    /// The event is destroyed, and another one made in its place.
    NewEvent,
    /// The stream is destroyed, and made known anew.
    NewStream(usize),
}

/// What a program may rely on, and when the device works.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub reuse: Reuse,
    pub preference: Preference,
    pub progress: Progress,
}

/// A live block.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    stream: usize,
    ptr: DevicePtr,
    bytes: Bytes,
}

pub struct World<'a> {
    rt: Runtime<'a, Windowed<'a>, NullSink, Turnstile<State<'a>>>,
    pool: PoolId,
    natives: [NativeStream; 2],
    streams: [AtomicU64; 2],
    event: AtomicU64,
}

fn text(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

/// A refusal is an answer. That the runtime is unusable is not.
fn usable<E: Unusual>(error: E) -> Result<(), String> {
    error.unusable().map_or(Ok(()), |unusable| Err(text(unusable)))
}

trait Unusual {
    fn unusable(&self) -> Option<Unusable>;
}

macro_rules! unusual {
    ($($error:ident)+) => {
        $(impl Unusual for $error {
            fn unusable(&self) -> Option<Unusable> {
                match self {
                    Self::Unusable(unusable) => Some(*unusable),
                    _ => None,
                }
            }
        })+
    };
}
unusual!(MallocError FreeError OrderError);

impl<'a> World<'a> {
    pub fn new(arenas: Arenas<'a>, device: SimArenas<'a>, setting: Setting) -> Result<Self, String> {
        let sim = Sim::new(device, &[DeviceConfig::new(Bytes::mib(16))], 1).map_err(text)?;
        sim.set_progress(setting.progress);
        let first = sim.create_stream(DEVICE).map_err(text)?;
        let natives = [first, sim.create_stream(DEVICE).map_err(text)?];
        let rt = Runtime::new(arenas, Windowed::new(sim, Oracle::new(GRANULE)), NullSink);
        let Setting { reuse, preference, .. } = setting;
        let config = PoolConfig { limit: LIMIT, threshold: LIMIT, reuse, preference, ..PoolConfig::new(DEVICE) };
        let pool = rt.create_pool(config).map_err(text)?;
        let make = |native| rt.create_stream(StreamConfig::new(DEVICE, native)).map_err(text);
        let streams = [make(natives[0])?, make(natives[1])?].map(|stream| AtomicU64::new(stream.raw()));
        let event = AtomicU64::new(rt.create_event().map_err(text)?.raw());
        Ok(Self { rt, pool, natives, streams, event })
    }

    fn stream(&self, stream: usize) -> StreamId {
        StreamId::from_raw(self.streams[stream].load(Ordering::Relaxed))
    }

    fn event(&self) -> EventId {
        EventId::from_raw(self.event.load(Ordering::Relaxed))
    }

    /// One call of a thread that holds these blocks, and the checks behind it.
    pub fn call(&self, op: Op, held: &mut Vec<Held>) -> Result<(), String> {
        match op {
            Op::Malloc(stream, granules) => self.malloc(stream, Bytes(granules * GRANULE.0), held)?,
            Op::Free => self.free(held)?,
            Op::Record(stream) => self.ordered(self.rt.record(self.event(), self.stream(stream)))?,
            Op::Wait(stream) => self.ordered(self.rt.wait(self.stream(stream), self.event()))?,
            Op::Query => self.ordered(self.rt.query(self.event()).map(|_| ()))?,
            Op::SyncEvent => self.ordered(self.rt.synchronize_event(self.event()))?,
            Op::SyncStream(stream) => self.ordered(self.rt.synchronize_stream(self.stream(stream)))?,
            Op::SyncDevice => self.ordered(self.rt.synchronize_device(DEVICE))?,
            Op::Trim => self.rt.trim_to(self.pool, Bytes::ZERO).map(|_| ()).map_err(text)?,
            Op::NewEvent => self.new_event()?,
            Op::NewStream(stream) => self.new_stream(stream)?,
        }
        self.check()
    }

    fn ordered(&self, result: Result<(), OrderError>) -> Result<(), String> {
        result.or_else(usable)
    }

    fn malloc(&self, stream: usize, bytes: Bytes, held: &mut Vec<Held>) -> Result<(), String> {
        let native = self.natives[stream];
        let ptr = match self.rt.malloc_async(self.pool, bytes, self.stream(stream)) {
            Ok(ptr) => ptr,
            Err(error) => return usable(error),
        };
        self.rt.driver().oracle().grant(native.0, ptr, bytes)?;
        held.push(Held { stream, ptr, bytes });
        turns::point("work");
        self.rt.driver().sim.access(native, ptr, bytes, Access::Write).map_err(text)?;
        self.rt.driver().oracle().act(native.0, ptr, bytes);
        Ok(())
    }

    fn free(&self, held: &mut Vec<Held>) -> Result<(), String> {
        let Some(block) = held.pop() else { return Ok(()) };
        match self.rt.free_async(block.ptr, self.stream(block.stream)) {
            Ok(()) => {
                self.rt.driver().oracle().free(self.natives[block.stream].0, block.ptr, block.bytes);
                Ok(())
            }
            Err(error) => {
                held.push(block);
                usable(error)
            }
        }
    }

    fn new_event(&self) -> Result<(), String> {
        self.ordered(self.rt.destroy_event(self.event()))?;
        let event = self.rt.create_event().map_err(text)?;
        self.event.store(event.raw(), Ordering::Relaxed);
        Ok(())
    }

    fn new_stream(&self, stream: usize) -> Result<(), String> {
        self.ordered(self.rt.destroy_stream(self.stream(stream)))?;
        match self.rt.create_stream(StreamConfig::new(DEVICE, self.natives[stream])) {
            Ok(new) => self.streams[stream].store(new.raw(), Ordering::Relaxed),
            Err(error) => usable(error)?,
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        turns::uninterrupted(|| self.rt.verify().map_err(text))?;
        match self.rt.driver().sim.violation() {
            Some(violation) => Err(text(violation)),
            None => Ok(()),
        }
    }

    /// The end of the program: nothing is left in transit, pinned or mapped, and all memory is there again.
    pub fn end(self, mut held: Vec<Held>) -> Result<PoolStats, String> {
        while !held.is_empty() {
            self.call(Op::Free, &mut held)?;
        }
        self.call(Op::SyncDevice, &mut held)?;
        let stats = self.rt.stats(self.pool).map_err(text)?;
        self.call(Op::Malloc(0, LIMIT.0 / GRANULE.0), &mut held)?;
        if held.is_empty() {
            return Err("memory is lost".into());
        }
        self.call(Op::Free, &mut held)?;
        self.rt.synchronize_device(DEVICE).map_err(text)?;
        self.check()?;
        self.rt.destroy_event(self.event()).map_err(text)?;
        for stream in 0..2 {
            self.rt.destroy_stream(self.stream(stream)).map_err(text)?;
        }
        self.rt.destroy_pool(self.pool, Destroy::IfEmpty).map_err(text)?;
        let sim = &self.rt.driver().sim;
        match (sim.created(DEVICE), sim.unchecked(), sim.arena_full()) {
            (Bytes::ZERO, 0, None) => Ok(stats),
            left => Err(format!("created, unchecked, full: {left:?}")),
        }
    }
}
