//! The driver of a runtime that C made: one of two.

use crate::host::HostDriver;
use crate::table::TableDriver;
use weir::driver::{Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};

/// The host driver, or a table of the program's.
#[derive(Debug)]
pub(crate) enum AnyDriver {
    Host(Box<HostDriver>),
    Table(TableDriver),
}

impl AnyDriver {
    fn inner(&self) -> &dyn Driver {
        match self {
            Self::Host(host) => &**host,
            Self::Table(table) => table,
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
}
