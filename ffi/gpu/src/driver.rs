//! weir's driver for the device, as programs of the suite want it: with less memory than there is, and with failures.

use crate::error::GpuError;
use crate::gpu::Gpu;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Properties,
    Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};
use weir_ffi::vendor::{Vendor, VendorDriver};

/// The code of a device that is full, as the vendor has it.
const OUT_OF_MEMORY: i32 = 2;

/// Calls of the driver that fail, without being made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// How many calls are still made before.
    pub after: u64,
    /// How many calls fail then.
    pub times: u64,
    /// With which of the vendor's codes: 2 says that the device is full.
    pub code: i32,
}

/// The driver. Streams that are made through it end with it.
pub struct GpuDriver {
    gpu: &'static Gpu,
    driver: VendorDriver,
    granule: Bytes,
    total: Bytes,
    created: AtomicU64,
    reserved: AtomicU64,
    calls: AtomicU64,
    failing: Mutex<Failing>,
    streams: Mutex<Vec<NativeStream>>,
}

impl GpuDriver {
    /// The driver, with so much of the device's memory.
    ///
    /// # Errors
    /// The vendor's driver cannot be used.
    pub fn new(gpu: &'static Gpu, total: Bytes) -> Result<Self, GpuError> {
        let driver = VendorDriver::open(Vendor::Cuda, None).map_err(|error| GpuError::Failed(error.to_string()))?;
        let properties = driver.properties(DeviceId(0)).map_err(|error| GpuError::Failed(error.to_string()))?;
        let granule = properties.granularity;
        let (created, reserved, calls, failing, streams) = Default::default();
        Ok(Self { gpu, driver, granule, total, created, reserved, calls, failing, streams })
    }

    /// The device.
    #[must_use]
    pub const fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// The size of a granule.
    #[must_use]
    pub const fn granule(&self) -> Bytes {
        self.granule
    }

    /// A stream that ends with the driver.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn stream(&self) -> Result<NativeStream, GpuError> {
        let stream = self.gpu.stream()?;
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        Ok(stream)
    }

    /// The granules that are there.
    pub fn created(&self) -> u64 {
        self.created.load(Ordering::Relaxed)
    }

    /// The ranges of addresses that are there.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// How many calls were asked for, those that failed too.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Lets calls fail from now on.
    pub fn fail(&self, failing: Failing) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = failing;
    }

    /// Counts a call, and fails it where that is wanted.
    fn begin(&self, call: DriverCall) -> Result<(), DriverError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if failing.times == 0 {
            return Ok(());
        }
        if failing.after > 0 {
            failing.after -= 1;
            return Ok(());
        }
        failing.times -= 1;
        let is_full = failing.code == OUT_OF_MEMORY;
        let kind = if is_full { DriverErrorKind::Exhausted } else { DriverErrorKind::Failed };
        Err(DriverError { call, code: failing.code, kind })
    }
}

impl Driver for GpuDriver {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.begin(DriverCall::Properties)?;
        let properties = self.driver.properties(device)?;
        Ok(Properties { total: properties.total.min(self.total), ..properties })
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.begin(DriverCall::Reserve)?;
        let base = self.driver.reserve(device, bytes)?;
        self.gpu.admit(base.0, bytes.0);
        self.reserved.fetch_add(1, Ordering::Relaxed);
        Ok(base)
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.begin(DriverCall::Release)?;
        self.driver.release(device, base, bytes)?;
        self.gpu.dismiss(base.0);
        self.reserved.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.begin(DriverCall::Create)?;
        let full = DriverError { call: DriverCall::Create, code: OUT_OF_MEMORY, kind: DriverErrorKind::Exhausted };
        let most = self.total.0 / self.granule.0;
        let room = |created: u64| (created < most).then_some(created + 1);
        self.created.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).map_err(|_| full)?;
        self.driver.create(device).inspect_err(|_| {
            self.created.fetch_sub(1, Ordering::Relaxed);
        })
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.begin(DriverCall::Destroy)?;
        self.driver.destroy(device, granule)?;
        self.created.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.begin(DriverCall::Map)?;
        self.driver.map(device, at, granule, stream)
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.begin(DriverCall::Unmap)?;
        self.driver.unmap(device, at, stream)
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.begin(DriverCall::Lay)?;
        self.driver.lay(marker, stream)
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.begin(DriverCall::Query)?;
        self.driver.query(what)
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.begin(DriverCall::Wait)?;
        self.driver.wait(stream, marker)
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.begin(DriverCall::Synchronise)?;
        self.driver.synchronise(what)
    }

    fn now(&self) -> Nanos {
        self.driver.now()
    }
}

impl Drop for GpuDriver {
    fn drop(&mut self) {
        for stream in self.streams.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // There is nobody left to tell; the process keeps the stream then.
            let _ = self.gpu.destroy_stream(stream);
        }
    }
}
