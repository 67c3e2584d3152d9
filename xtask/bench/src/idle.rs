//! A device that does nothing and answers at once, so that what is measured is the decision alone.

use std::sync::atomic::{AtomicU64, Ordering};
use weir::driver::{
    Capabilities, Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, MIB, Nanos};

/// Size of a granule, as most devices have it.
pub(crate) const GRANULE: u64 = 2 * MIB;

/// Where the first range begins. The same in each run, so that hashes of addresses are.
const BASE: u64 = 1 << 40;

/// The one device.
pub(crate) const DEVICE: DeviceId = DeviceId(0);

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Idle {
    reserved: AtomicU64,
    created: AtomicU64,
    time: AtomicU64,
    /// By how much the clock advances whenever it is read, in nanoseconds.
    tick: u64,
    /// What queries are answered.
    answer: Completion,
}

impl Default for Idle {
    fn default() -> Self {
        Self {
            reserved: AtomicU64::new(BASE),
            created: AtomicU64::new(0),
            time: AtomicU64::new(0),
            tick: 0,
            answer: Completion::Pending,
        }
    }
}

impl Idle {
    /// A device whose clock goes on by `tick` nanoseconds whenever it is read.
    pub(crate) fn ticking(tick: u64) -> Self {
        Self { tick, ..Self::default() }
    }

    /// A device that is never behind.
    pub(crate) fn done() -> Self {
        Self { answer: Completion::Complete, ..Self::default() }
    }
}

impl Driver for Idle {
    fn properties(&self, _: DeviceId) -> Result<Properties, DriverError> {
        Ok(Properties {
            granularity: Bytes(GRANULE),
            alignment: Bytes(512),
            total: Bytes(1 << 50),
            capabilities: Capabilities::SPARSE_ADDRESSES,
        })
    }

    fn reserve(&self, _: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        Ok(DevicePtr(self.reserved.fetch_add(bytes.0, Ordering::Relaxed)))
    }

    fn release(&self, _: DeviceId, _: DevicePtr, _: Bytes) -> Result<(), DriverError> {
        Ok(())
    }

    fn create(&self, _: DeviceId) -> Result<GranuleHandle, DriverError> {
        Ok(GranuleHandle(self.created.fetch_add(1, Ordering::Relaxed)))
    }

    fn destroy(&self, _: DeviceId, _: GranuleHandle) -> Result<(), DriverError> {
        Ok(())
    }

    fn map(&self, _: DeviceId, _: DevicePtr, _: GranuleHandle, _: Option<NativeStream>) -> Result<(), DriverError> {
        Ok(())
    }

    fn unmap(&self, _: DeviceId, _: DevicePtr, _: Option<NativeStream>) -> Result<(), DriverError> {
        Ok(())
    }

    fn lay(&self, _: MarkerSlot, _: NativeStream) -> Result<(), DriverError> {
        Ok(())
    }

    fn query(&self, _: Target) -> Result<Completion, DriverError> {
        Ok(self.answer)
    }

    fn wait(&self, _: NativeStream, _: MarkerSlot) -> Result<(), DriverError> {
        Ok(())
    }

    fn synchronise(&self, _: Target) -> Result<(), DriverError> {
        Ok(())
    }

    fn now(&self) -> Nanos {
        if self.tick == 0 {
            return Nanos(0);
        }
        Nanos(self.time.fetch_add(self.tick, Ordering::Relaxed))
    }
}
