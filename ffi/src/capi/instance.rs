//! The runtimes that C made, and what their handles mean.

use super::driver::AnyDriver;
use super::failure::{Failure, guard};
use super::sink::LogSink;
use crate::bindings::{weir_event, weir_pool, weir_runtime, weir_status as s, weir_stream};
use crate::host::HostDriver;
use crate::lock::Parking;
use crate::owned::Owned;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use weir::driver::NativeStream;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::Destroy;
use weir::{Capacities, Runtime, State};

/// A runtime as C has it.
pub(crate) type Hosted = Runtime<'static, AnyDriver, LogSink, Parking<State<'static>>>;

/// What must be undone when a runtime ends.
#[derive(Default)]
struct Known {
    pools: BTreeSet<PoolId>,
    streams: BTreeMap<StreamId, (DeviceId, NativeStream)>,
    devices: BTreeSet<DeviceId>,
}

/// A runtime with what it stands on.
pub(crate) struct Instance {
    serial: u64,
    runtime: Owned<AnyDriver, LogSink>,
    known: Mutex<Known>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);
static ALL: RwLock<BTreeMap<u64, Arc<Instance>>> = RwLock::new(BTreeMap::new());

/// Slots of one kind that a handle can name; the bits above tell the runtimes apart.
pub(super) const MAX_SLOTS: usize = 1 << TAG_SHIFT;
const TAG_SHIFT: u32 = 20;
const TAG_MASK: u64 = 0xfff;

/// Makes a runtime and its handle.
pub(super) fn open(capacities: Capacities, driver: AnyDriver, sink: LogSink) -> weir_runtime {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let runtime = Owned::new(capacities, driver, sink);
    let instance = Instance { serial: id, runtime, known: Mutex::default() };
    ALL.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(instance));
    weir_runtime { id }
}

/// The runtime of a handle.
pub(crate) fn find(runtime: weir_runtime) -> Result<Arc<Instance>, Failure> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    all.get(&runtime.id).cloned().ok_or_else(|| missing(runtime.id))
}

fn missing(id: u64) -> Failure {
    let was = (1..NEXT.load(Ordering::Relaxed)).contains(&id);
    let what = if was { "was destroyed" } else { "was never created" };
    Failure::new(s::WEIR_BAD_HANDLE, format!("runtime {id} {what}"))
}

/// Takes the runtime of a handle out: it is gone for all later calls.
pub(super) fn take(runtime: weir_runtime) -> Result<Arc<Instance>, Failure> {
    let taken = ALL.write().unwrap_or_else(PoisonError::into_inner).remove(&runtime.id);
    taken.ok_or_else(|| missing(runtime.id))
}

/// The body of a function about a runtime.
pub(crate) fn call(runtime: weir_runtime, work: impl FnOnce(&Instance) -> Result<(), Failure>) -> c_int {
    guard(|| work(&*find(runtime)?))
}

impl Instance {
    pub(crate) fn runtime(&self) -> &Hosted {
        &self.runtime
    }

    pub(crate) fn host(&self) -> Result<&HostDriver, Failure> {
        match self.runtime.driver() {
            AnyDriver::Host(host) => Ok(host),
            AnyDriver::Table(_) => {
                let text = "this call needs the host driver, and the runtime was made with a table of functions";
                Err(Failure::new(s::WEIR_NOT_HOST, text))
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of an id of this runtime's.
    fn give(&self, raw: u64) -> u64 {
        raw | ((self.serial & TAG_MASK) << TAG_SHIFT)
    }

    /// The id of a handle, if it is of this runtime.
    fn accept(&self, handle: u64, kind: &str) -> Result<u64, Failure> {
        if handle == 0 {
            return Err(Failure::new(s::WEIR_BAD_HANDLE, format!("the {kind} handle is 0, which names nothing")));
        }
        if (handle >> TAG_SHIFT) & TAG_MASK != self.serial & TAG_MASK {
            let text = format!("the {kind} handle {handle:#x} is not of runtime {}", self.serial);
            return Err(Failure::new(s::WEIR_BAD_HANDLE, text));
        }
        Ok(handle & !(TAG_MASK << TAG_SHIFT))
    }

    pub(super) fn pool(&self, pool: weir_pool) -> Result<PoolId, Failure> {
        self.accept(pool.id, "pool").map(PoolId::from_raw)
    }

    pub(super) fn stream(&self, stream: weir_stream) -> Result<StreamId, Failure> {
        self.accept(stream.id, "stream").map(StreamId::from_raw)
    }

    pub(super) fn event(&self, event: weir_event) -> Result<EventId, Failure> {
        self.accept(event.id, "event").map(EventId::from_raw)
    }

    pub(super) fn give_pool(&self, pool: PoolId) -> weir_pool {
        weir_pool { id: self.give(pool.raw()) }
    }

    pub(super) fn give_stream(&self, stream: StreamId) -> weir_stream {
        weir_stream { id: self.give(stream.raw()) }
    }

    pub(super) fn give_event(&self, event: EventId) -> weir_event {
        weir_event { id: self.give(event.raw()) }
    }

    pub(super) fn add_pool(&self, device: DeviceId, pool: PoolId) -> weir_pool {
        let mut known = self.known();
        known.pools.insert(pool);
        known.devices.insert(device);
        self.give_pool(pool)
    }

    pub(super) fn drop_pool(&self, pool: PoolId) {
        self.known().pools.remove(&pool);
    }

    pub(super) fn add_stream(&self, device: DeviceId, native: NativeStream, stream: StreamId) -> weir_stream {
        let mut known = self.known();
        known.streams.insert(stream, (device, native));
        known.devices.insert(device);
        self.give_stream(stream)
    }

    /// What the driver calls a stream.
    pub(super) fn native(&self, stream: weir_stream) -> Result<NativeStream, Failure> {
        let id = self.stream(stream)?;
        let found = self.known().streams.get(&id).map(|(_, native)| *native);
        found.ok_or_else(|| Failure::new(s::WEIR_BAD_HANDLE, format!("stream {id} does not exist (any more)")))
    }

    /// Ends a stream, and its thread where it has one.
    pub(super) fn end_stream(&self, stream: StreamId) -> Result<(), Failure> {
        self.runtime.destroy_stream(stream)?;
        let known = self.known().streams.remove(&stream);
        if let (Some((_, native)), AnyDriver::Host(host)) = (known, self.runtime.driver()) {
            host.destroy_stream(native)?;
        }
        Ok(())
    }

    /// Gives everything back, as far as that goes; answers the first failure.
    pub(super) fn close(&self) -> Result<(), Failure> {
        let Known { pools, streams, devices } = core::mem::take(&mut *self.known());
        let mut first = Ok(());
        let mut note = |outcome: Result<(), Failure>| {
            if first.is_ok() {
                first = outcome;
            }
        };
        for device in &devices {
            note(self.runtime.synchronize_device(*device).map_err(Failure::from));
        }
        for pool in pools {
            note(self.runtime.destroy_pool(pool, Destroy::WithLiveBlocks).map_err(Failure::from));
        }
        for device in devices {
            note(self.runtime.synchronize_device(device).map_err(Failure::from));
        }
        self.known().streams.extend(streams.clone());
        for stream in streams.into_keys() {
            note(self.end_stream(stream));
        }
        self.runtime.flush();
        first
    }
}
