//! The driver of a runtime that C made: one of two, and what the program does under pressure.

use super::pressure::Hook;
use crate::host::HostDriver;
use crate::table::TableDriver;
use weir::driver::{
    Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Pressure, Properties, Relief, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};

/// The host driver, or a table of the program's.
#[derive(Debug)]
pub(crate) enum Backend {
    Host(Box<HostDriver>),
    Table(TableDriver),
}

/// The driver of a runtime.
#[derive(Debug)]
pub(crate) struct AnyDriver {
    pub(super) backend: Backend,
    pub(super) pressure: Hook,
}

impl AnyDriver {
    fn inner(&self) -> &dyn Driver {
        match &self.backend {
            Backend::Host(host) => &**host,
            Backend::Table(table) => table,
        }
    }

    /// The host driver, where it is that.
    pub(super) fn host(&self) -> Option<&HostDriver> {
        match &self.backend {
            Backend::Host(host) => Some(host),
            Backend::Table(_) => None,
        }
    }
}

impl Driver for AnyDriver {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.inner().properties(device)
    }
    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.inner().reserve(device, bytes)
    }
    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.inner().release(device, base, bytes)
    }
    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.inner().create(device)
    }
    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.inner().destroy(device, granule)
    }
    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.inner().map(device, at, granule, stream)
    }
    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.inner().unmap(device, at, stream)
    }
    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.inner().lay(marker, stream)
    }
    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.inner().query(what)
    }
    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.inner().wait(stream, marker)
    }
    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.inner().synchronise(what)
    }
    fn now(&self) -> Nanos {
        self.inner().now()
    }
    fn pressure(&self, pressure: Pressure) -> Relief {
        self.pressure.press(pressure)
    }
}
