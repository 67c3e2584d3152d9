//! The runtimes that C made, and what their handles mean.

use super::driver::{AnyDriver, Backend};
use super::failure::{Failure, guard};
use super::handle::Handles;
use super::pressure::Hook;
use crate::bindings::{weir_pool, weir_runtime, weir_status as s, weir_stream};
use crate::calls::{Call, Calls, Counted};
use crate::host::HostDriver;
use crate::lock::Parking;
use crate::log_sink::LogSink;
use crate::owned::Owned;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use weir::driver::NativeStream;
use weir::id::{DeviceId, LabelId, PoolId, StreamId};
use weir::policy::Destroy;
use weir::{Capacities, Runtime, State};

/// A runtime as C has it.
pub(crate) type Inner = Runtime<'static, AnyDriver, LogSink, Parking<State<'static>>>;

/// What must be undone when a runtime ends.
#[derive(Default)]
struct Known {
    pools: BTreeSet<PoolId>,
    streams: BTreeMap<StreamId, (DeviceId, NativeStream)>,
    devices: BTreeSet<DeviceId>,
    labels: BTreeSet<u32>,
}

/// A runtime with what it stands on.
pub(crate) struct Instance {
    serial: u64,
    calls: Calls,
    runtime: Owned<AnyDriver, LogSink>,
    known: Mutex<Known>,
}

impl Handles for Instance {
    fn serial(&self) -> u64 {
        self.serial
    }
}

impl Counted for Instance {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);
static ALL: RwLock<BTreeMap<u64, Arc<Instance>>> = RwLock::new(BTreeMap::new());

/// Makes a runtime and its handle.
pub(super) fn open(capacities: Capacities, backend: Backend, sink: LogSink) -> weir_runtime {
    let handle = weir_runtime { id: NEXT.fetch_add(1, Ordering::Relaxed) };
    let runtime = Owned::new(capacities, AnyDriver { backend, pressure: Hook::new(handle) }, sink);
    let instance = Instance { serial: handle.id, calls: Calls::default(), runtime, known: Mutex::default() };
    ALL.write().unwrap_or_else(PoisonError::into_inner).insert(handle.id, Arc::new(instance));
    handle
}

/// Begins a call about the runtime of a handle.
pub(super) fn enter(runtime: weir_runtime) -> Result<Call<Instance>, Failure> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    all.get(&runtime.id).map(Call::begin).ok_or_else(|| missing(runtime.id))
}

fn missing(id: u64) -> Failure {
    let was = (1..NEXT.load(Ordering::Relaxed)).contains(&id);
    let what = if was { "was destroyed" } else { "was never created" };
    Failure::new(s::WEIR_BAD_HANDLE, format!("runtime {id} {what}"))
}

/// Ends the runtime of a handle: it is gone for all later calls, and those in flight end first.
pub(super) fn end(runtime: weir_runtime) -> Result<(), Failure> {
    let instance = take(runtime)?;
    instance.calls.wait();
    instance.close().map_err(|failure| instance.explain(failure))
}

fn take(runtime: weir_runtime) -> Result<Arc<Instance>, Failure> {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    if all.get(&runtime.id).is_some_and(|instance| instance.calls.is_here()) {
        let text =
            format!("runtime {} cannot be destroyed from within a call about it or a kernel of its own", runtime.id);
        return Err(Failure::new(s::WEIR_BUSY, text));
    }
    all.remove(&runtime.id).ok_or_else(|| missing(runtime.id))
}

/// The body of a function about a runtime.
pub(crate) fn call(runtime: weir_runtime, work: impl FnOnce(&Instance) -> Result<(), Failure>) -> c_int {
    guard(|| within(runtime, work))
}

/// One call about a runtime.
pub(super) fn within<R>(
    runtime: weir_runtime,
    work: impl FnOnce(&Instance) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let instance = enter(runtime)?;
    work(&instance).map_err(|failure| instance.explain(failure))
}

impl Instance {
    pub(crate) fn runtime(&self) -> &Inner {
        &self.runtime
    }

    pub(crate) fn host(&self) -> Result<&HostDriver, Failure> {
        let text = "this call needs the host driver, and the runtime was made with a table of functions";
        self.runtime.driver().host().ok_or_else(|| Failure::new(s::WEIR_NOT_HOST, text))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to register streams where the driver makes them itself.
    pub(super) fn check_registers(&self) -> Result<(), Failure> {
        match self.runtime.driver().host() {
            Some(_) => Err(Failure::invalid("streams of the host driver are made by weir_stream_create")),
            None => Ok(()),
        }
    }

    /// Refuses a device that the host driver does not have, by its number. Another driver says so itself.
    pub(super) fn check_device(&self, device: DeviceId) -> Result<(), Failure> {
        match self.runtime.driver().host() {
            Some(host) => Ok(host.created(device).map(drop)?),
            None => Ok(()),
        }
    }

    /// Adds what is wrong with the host devices to a failure that it may be the reason of.
    fn explain(&self, mut failure: Failure) -> Failure {
        if let (s::WEIR_DRIVER_ERROR, Some(host)) = (failure.status, self.runtime.driver().host()) {
            for device in (0..host.config().devices).map(DeviceId) {
                if let Ok(Some(fault)) = host.fault(device) {
                    failure.text.push_str(&format!("; device {device} has a fault: {fault}"));
                }
            }
        }
        failure
    }

    pub(super) fn add_label(&self, label: LabelId) -> u32 {
        self.known().labels.insert(label.0);
        label.0
    }

    /// A label that was made, or none.
    pub(super) fn label(&self, label: u32) -> Result<LabelId, Failure> {
        if label == LabelId::NONE.0 || self.known().labels.contains(&label) {
            return Ok(LabelId(label));
        }
        Err(Failure::invalid(format!("`label` is {label}, which weir_label did not give out")))
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
        if let (Some((_, native)), Some(host)) = (known, self.runtime.driver().host()) {
            host.destroy_stream(native)?;
        }
        Ok(())
    }

    /// Gives everything back, as far as that goes; answers the first failure.
    pub(super) fn close(&self) -> Result<(), Failure> {
        let Known { pools, streams, devices, .. } = core::mem::take(&mut *self.known());
        let mut first = Ok(());
        let mut note = |outcome: Result<(), Failure>| {
            // What is gone already was destroyed while it was noted here; the runtime itself was there.
            let gone = outcome.as_ref().is_err_and(|failure| failure.status == s::WEIR_BAD_HANDLE);
            if first.is_ok() && !gone {
                first = outcome;
            }
        };
        for device in &devices {
            note(self.runtime.synchronize_device(*device).map_err(Failure::from));
        }
        for pool in pools {
            note(self.runtime.destroy_pool(pool, Destroy::WithLiveBlocks).map_err(Failure::from));
        }
        // Twice: what the driver refused to give back is tried again once.
        for device in devices.iter().chain(&devices) {
            note(self.runtime.synchronize_device(*device).map_err(Failure::from));
        }
        self.known().streams.extend(streams.clone());
        for stream in streams.into_keys() {
            note(self.end_stream(stream));
        }
        note(self.flush());
        first
    }

    /// Writes the log; an error where it is not whole.
    pub(super) fn flush(&self) -> Result<(), Failure> {
        let lost = || self.runtime.counters().records_lost;
        match self.runtime.with_sink(|sink| sink.complaint(lost())) {
            Some(text) => Err(Failure::new(s::WEIR_SYSTEM, text)),
            None => Ok(()),
        }
    }
}
