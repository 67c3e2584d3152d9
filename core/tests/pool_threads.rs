//! One shared runtime, several threads: the lock is never held over a driver call or a sink, and all adds up.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{DEVICE, MIB};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use weir::driver::{Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target};
use weir::error::{FreeError, Unusable};
use weir::id::{DeviceId, StreamId};
use weir::policy::{Destroy, PoolConfig};
use weir::sim::{Access, DeviceConfig, Progress, Sim, SimStorage};
use weir::trace::{Sink, SinkError};
use weir::units::{Bytes, DevicePtr, Nanos};
use weir::{Shared, Storage, StreamConfig};

type Space = Storage<16, 16, 32, 4, 2000, 600, 16, 4>;
type SimSpace = SimStorage<1, 16, 700, 32, 60, 4000, 20000>;
type Rt = Shared<'static, Watched, Watching>;

static RUNTIME: OnceLock<Rt> = OnceLock::new();
static LOOKS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicU64 = AtomicU64::new(0);

/// Looks whether the state's lock can be had. Other threads hold it for moments: only a lock that stays taken counts.
fn look() {
    let Some(rt) = RUNTIME.get() else { return };
    LOOKS.fetch_add(1, Ordering::Relaxed);
    let busy = || rt.try_free_async(DevicePtr(8), StreamId::from_raw(0)) == Err(FreeError::Unusable(Unusable::Busy));
    let patience = 20_000_000;
    if (0..patience).all(|_| busy()) {
        HELD.fetch_add(1, Ordering::Relaxed);
    }
}

/// The simulated device, looking at the lock in every call.
struct Watched(Sim<'static>);

impl Driver for Watched {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        look();
        self.0.properties(device)
    }
    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        look();
        self.0.reserve(device, bytes)
    }
    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        look();
        self.0.release(device, base, bytes)
    }
    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        look();
        self.0.create(device)
    }
    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        look();
        self.0.destroy(device, granule)
    }
    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        look();
        self.0.map(device, at, granule, stream)
    }
    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        look();
        self.0.unmap(device, at, stream)
    }
    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        look();
        self.0.lay(marker, stream)
    }
    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        look();
        self.0.query(what)
    }
    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        look();
        self.0.wait(stream, marker)
    }
    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        look();
        self.0.synchronise(what)
    }
    fn now(&self) -> Nanos {
        self.0.now()
    }
}

/// A sink that looks as well, and counts pages.
struct Watching(u64);

impl Sink for Watching {
    fn page(&mut self, _: &[u8]) -> Result<(), SinkError> {
        look();
        self.0 += 1;
        Ok(())
    }
}

fn leak<T>(make: fn() -> T) -> &'static mut T {
    Box::leak(Box::new(make()))
}

fn work(rt: &Rt, pool: weir::id::PoolId, seed: u64) {
    let native = rt.driver().0.create_stream(DEVICE).unwrap();
    let stream = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
    let event = rt.create_event().unwrap();
    let mut state = seed;
    let mut live = Vec::new();
    for _ in 0..2000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let draw = state >> 33;
        if live.len() < 12 && draw % 5 < 3 {
            let size = [700, 5000, MIB, 3 * MIB][(draw / 8 % 4) as usize];
            let Ok(ptr) = rt.malloc_async(pool, Bytes(size), stream) else { continue };
            let given = rt.block_at(ptr).unwrap().given;
            rt.driver().0.access(native, ptr, given, Access::Write).unwrap();
            live.push(ptr);
        } else if !live.is_empty() {
            let at = (draw / 8) as usize % live.len();
            rt.free_async(live.swap_remove(at), stream).unwrap();
        }
        match draw % 97 {
            0 => rt.synchronize_stream(stream).unwrap(),
            1 => drop(rt.trim_to(pool, Bytes::mib(16)).unwrap()),
            2 => rt.record(event, stream).unwrap(),
            3 => rt.synchronize_event(event).unwrap(),
            4 => rt.synchronize_device(DEVICE).unwrap(),
            _ => {}
        }
    }
    live.into_iter().for_each(|ptr| rt.free_async(ptr, stream).unwrap());
    rt.destroy_event(event).unwrap();
    rt.destroy_stream(stream).unwrap();
}

#[test]
fn threads_share_a_pool_and_nobody_calls_out_under_the_lock() {
    let sim = Sim::new(leak(SimSpace::new).arenas(), &[DeviceConfig::new(Bytes::mib(512))], 1).unwrap();
    sim.set_progress(Progress::Immediate);
    let rt = RUNTIME.get_or_init(|| Shared::new(leak(Space::new).arenas(), Watched(sim), Watching(0)));
    let pool = rt.create_pool(PoolConfig { limit: Bytes::mib(64), ..PoolConfig::new(DEVICE) }).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || work(rt, pool, seed));
        }
    });
    rt.verify().unwrap();
    rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    rt.synchronize_device(DEVICE).unwrap();
    rt.verify().unwrap();
    assert_eq!(rt.driver().0.violation(), None);
    assert_eq!(rt.driver().0.created(DEVICE), Bytes::ZERO);
    assert!(LOOKS.load(Ordering::Relaxed) > 1000);
    assert_eq!(HELD.load(Ordering::Relaxed), 0, "the lock was held over a call");
    assert!(rt.with_sink(|sink| sink.0) > 10);
    assert_eq!(rt.counters().records_lost, 0);
}

/// One granule for four threads: while one thread's synchronisation releases it, the others find nothing, but there is
/// memory as soon as that is done.
#[test]
fn memory_in_transit_is_waited_for_rather_than_refused() {
    let sim = Sim::new(leak(SimSpace::new).arenas(), &[DeviceConfig::new(Bytes::mib(512))], 1).unwrap();
    sim.set_progress(Progress::Immediate);
    let rt: &Shared<'_, Sim<'_>, weir::trace::NullSink> =
        Box::leak(Box::new(Shared::new(leak(Space::new).arenas(), sim, weir::trace::NullSink)));
    let pool = rt.create_pool(PoolConfig { limit: Bytes::mib(2), ..PoolConfig::new(DEVICE) }).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let native = rt.driver().create_stream(DEVICE).unwrap();
                let stream = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
                for _ in 0..2000 {
                    let ptr = rt.malloc_async(pool, Bytes(512), stream).unwrap();
                    rt.free_async(ptr, stream).unwrap();
                    rt.synchronize_stream(stream).unwrap();
                }
            });
        }
    });
    rt.verify().unwrap();
    assert_eq!(rt.stats(pool).unwrap().refused, 0);
    assert!(rt.counters().destroy > 1, "granules were released in between");
}
