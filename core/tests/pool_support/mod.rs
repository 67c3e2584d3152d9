//! A runtime on the simulated device, with streams that are known to both.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use weir::driver::NativeStream;
use weir::error::MallocError;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{PoolConfig, Release, Reuse, StreamKind, Tuning};
use weir::sim::{Access, DeviceConfig, Sim, SimStorage};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, DevicePtr, Nanos};
use weir::{Local, Storage, StreamConfig};

pub const DEVICE: DeviceId = DeviceId(0);
pub const MIB: u64 = 1 << 20;

/// 12 streams, 16 events, 16 markers, 6 pools, 2,000 blocks, 600 granules.
type Space = Storage<12, 16, 16, 6, 2000, 600, 16, 0>;
type SimSpace = SimStorage<2, 16, 700, 24, 40, 4000, 20000>;

/// The runtime under test; the simulated device is `rt.driver()`.
pub struct Bench {
    pub rt: Local<'static, Sim<'static>, NullSink>,
}

/// Boxes a value that is too large for the stack, and keeps it for ever.
fn leak<T>(make: fn() -> T) -> &'static mut T {
    Box::leak(Box::new(make()))
}

impl Bench {
    pub fn new(seed: u64) -> Self {
        Self::on(seed, &[DeviceConfig::new(Bytes::mib(1024)), DeviceConfig::new(Bytes::mib(1024))])
    }

    pub fn on(seed: u64, devices: &[DeviceConfig]) -> Self {
        let sim = Sim::new(leak(SimSpace::new).arenas(), devices, seed).expect("the storage is large enough");
        Self { rt: Local::new(leak(Space::new).arenas(), sim, NullSink) }
    }

    pub fn sim(&self) -> &Sim<'static> {
        self.rt.driver()
    }

    pub fn stream(&self) -> StreamId {
        self.stream_of(StreamKind::NonBlocking)
    }

    pub fn stream_of(&self, kind: StreamKind) -> StreamId {
        let native = self.sim().create_stream_of_kind(DEVICE, kind).expect("a stream is left");
        self.rt.create_stream(StreamConfig { kind, ..StreamConfig::new(DEVICE, native) }).expect("a slot is left")
    }

    /// The simulator's handle: streams are registered in the order in which they are made, one runtime a simulator.
    pub fn native(&self, stream: StreamId) -> NativeStream {
        self.rt.native_stream(stream).expect("the stream is live")
    }

    pub fn event(&self) -> EventId {
        self.rt.create_event().expect("an event is left")
    }

    pub fn pool(&self, limit: u64, reuse: Reuse) -> PoolId {
        let config = PoolConfig { limit: Bytes(limit), reuse, ..PoolConfig::new(DEVICE) };
        self.rt.create_pool(config).expect("the pool fits")
    }

    /// A pool that releases at every synchronisation, as CUDA's and CANN's do.
    pub fn releasing_pool(&self, limit: u64, reuse: Reuse) -> PoolId {
        let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
        let config = PoolConfig { limit: Bytes(limit), reuse, tuning, ..PoolConfig::new(DEVICE) };
        self.rt.create_pool(config).expect("the pool fits")
    }

    /// A malloc, a write on the stream by it, and the checks that follow every step.
    pub fn malloc(&self, pool: PoolId, size: u64, stream: StreamId) -> DevicePtr {
        let ptr = self.try_malloc(pool, size, stream).expect("there is room");
        self.write(ptr, stream);
        ptr
    }

    pub fn try_malloc(&self, pool: PoolId, size: u64, stream: StreamId) -> Result<DevicePtr, MallocError> {
        let result = self.rt.malloc_async(pool, Bytes(size), stream);
        self.check();
        result
    }

    /// Work on a stream that uses the whole block.
    pub fn write(&self, ptr: DevicePtr, stream: StreamId) {
        let block = self.rt.block_at(ptr).expect("the block is live");
        self.sim().access(self.native(stream), ptr, block.given, Access::Write).expect("nobody else uses the block");
    }

    pub fn free(&self, ptr: DevicePtr, stream: StreamId) {
        self.rt.free_async(ptr, stream).expect("the block is live");
        self.check();
    }

    pub fn work(&self, stream: StreamId) {
        self.sim().work(self.native(stream), Nanos(1000)).expect("the queue has room");
    }

    /// Holds a stream's work back.
    pub fn pause(&self, stream: StreamId) {
        self.sim().pause(self.native(stream)).expect("the stream is there");
    }

    pub fn resume(&self, stream: StreamId) {
        self.sim().resume(self.native(stream)).expect("the stream is there");
    }

    pub fn check(&self) {
        self.rt.verify().expect("every invariant holds");
        assert_eq!(self.sim().violation(), None);
    }

    /// Mallocs by what they relied on.
    pub fn sources(&self, pool: PoolId, source: Source) -> u64 {
        self.rt.stats(pool).expect("the pool is live").by_source[source as usize]
    }

    pub fn reserved(&self, pool: PoolId) -> u64 {
        self.rt.stats(pool).expect("the pool is live").reserved.get()
    }

    pub fn used(&self, pool: PoolId) -> u64 {
        self.rt.stats(pool).expect("the pool is live").used.get()
    }
}
