//! The simulated device, whose calls are points at which a thread may be interrupted, with the oracle looking on; and a
//! lock that is such a point too.

use super::oracle::Oracle;
use super::turns;
use std::sync::{Mutex, MutexGuard, PoisonError};
use weir::Lock;
use weir::driver::{Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target};
use weir::id::DeviceId;
use weir::sim::Sim;
use weir::units::{Bytes, DevicePtr, Nanos};

/// The driver.
pub struct Windowed<'a> {
    pub sim: Sim<'a>,
    oracle: Mutex<Oracle>,
}

impl<'a> Windowed<'a> {
    pub fn new(sim: Sim<'a>, oracle: Oracle) -> Self {
        Self { sim, oracle: Mutex::new(oracle) }
    }

    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A driver call, and what the oracle makes of it if it succeeded.
    fn call<T, E>(
        &self,
        name: &'static str,
        call: impl FnOnce(&Sim<'a>) -> Result<T, E>,
        note: impl FnOnce(&mut Oracle, &T),
    ) -> Result<T, E> {
        turns::point(name);
        let result = call(&self.sim);
        if let Ok(value) = &result {
            note(&mut self.oracle(), value);
        }
        result
    }
}

impl Driver for Windowed<'_> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.call("properties", |sim| sim.properties(device), |_, _| ())
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.call("reserve", |sim| sim.reserve(device, bytes), |_, _| ())
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.call("release", |sim| sim.release(device, base, bytes), |_, ()| ())
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.call("create", |sim| sim.create(device), |oracle, granule| oracle.create(granule.0))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.call("destroy", |sim| sim.destroy(device, granule), |oracle, ()| oracle.destroy(granule.0))
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.call("map", |sim| sim.map(device, at, granule, stream), |oracle, ()| oracle.map(at.0, granule.0))
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.call("unmap", |sim| sim.unmap(device, at, stream), |oracle, ()| oracle.unmap(at.0))
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.call("lay", |sim| sim.lay(marker, stream), |oracle, ()| oracle.lay(marker.0, stream.0))
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.call(
            "query",
            |sim| sim.query(what),
            |oracle, &answer| {
                if answer == Completion::Complete {
                    oracle.learn(what);
                }
            },
        )
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.call("wait", |sim| sim.wait(stream, marker), |oracle, ()| oracle.wait(stream.0, marker.0))
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.call("synchronise", |sim| sim.synchronise(what), |oracle, ()| oracle.learn(what))
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }
}

/// The runtime's lock. Since one thread runs at a time, it must always be free.
pub struct Turnstile<T>(Mutex<T>);

impl<T> Lock<T> for Turnstile<T> {
    const SHARED: bool = true;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        turns::point("lock");
        self.try_with(f)
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.try_lock().ok().map(|mut value| f(&mut value))
    }

    fn relax() {
        turns::wait();
    }
}
