//! The vendor's pool: what `cudaMallocAsync` allocates from, by the driver's own names.

use crate::calls::{Code, Handle, PoolCalls, PoolProperties, done};
use crate::error::GpuError;
use crate::gpu::{Gpu, handle};
use core::ffi::c_int;
use core::ptr;
use weir::driver::NativeStream;
use weir::units::{Bytes, DevicePtr};

/// `CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`.
const POOLS_SUPPORTED: c_int = 115;
/// `CUDA_ERROR_NOT_SUPPORTED`: what shared and divided devices say although the attribute is set.
const NOT_SUPPORTED: Code = 801;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD` and `CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH`.
const THRESHOLD: c_int = 4;
const RESERVED_HIGH: c_int = 6;

/// A pool that is the device's current one until it is dropped. Made and used by one thread; its switches are as CUDA
/// has them: all on.
pub struct VendorPool {
    gpu: &'static Gpu,
    calls: PoolCalls,
    pool: Handle,
}

impl VendorPool {
    /// A pool that gives nothing back at synchronisations, which `cuMemAllocAsync` takes from now on.
    ///
    /// # Errors
    /// [`GpuError::None`]: the driver or the device has no such pools. Else: a call failed.
    pub fn new(gpu: &'static Gpu) -> Result<Self, GpuError> {
        let calls = PoolCalls::of(gpu.library).map_err(|name| {
            let name = name.to_string_lossy();
            GpuError::None(format!("the driver has no {name}, which came with CUDA 11.2"))
        })?;
        gpu.enter()?;
        let mut supported = 0;
        // SAFETY: a place for the answer, and a device.
        let code = unsafe { (gpu.calls.device_attribute)(&raw mut supported, POOLS_SUPPORTED, gpu.device) };
        done("cuDeviceGetAttribute", code)?;
        if supported == 0 {
            return Err(GpuError::None("the device supports no memory pools (attribute 115)".into()));
        }
        let properties = PoolProperties {
            allocation: 1,
            handle_types: 0,
            location_type: 1,
            location_id: gpu.device,
            security: ptr::null_mut(),
            reserved: [0; 8],
        };
        let mut pool = ptr::null_mut();
        // SAFETY: a place for the answer, and properties as the vendor declares them.
        let code = unsafe { (calls.create)(&raw mut pool, &raw const properties) };
        if code == NOT_SUPPORTED {
            return Err(GpuError::None(format!("the driver supports no memory pools (cuMemPoolCreate: {code})")));
        }
        done("cuMemPoolCreate", code)?;
        let this = Self { gpu, calls, pool };
        let mut most = u64::MAX;
        // SAFETY: a pool of ours, and a value of 64 bits as the attribute has.
        done("cuMemPoolSetAttribute", unsafe { (calls.set)(pool, THRESHOLD, (&raw mut most).cast()) })?;
        // SAFETY: a device, and a pool of its own.
        done("cuDeviceSetMemPool", unsafe { (calls.choose)(gpu.device, pool) })?;
        Ok(this)
    }

    /// Memory for what is queued on the stream from now on.
    ///
    /// # Errors
    /// The vendor's call failed, perhaps since the device is full.
    #[inline]
    pub fn malloc(&self, bytes: Bytes, on: NativeStream) -> Result<DevicePtr, GpuError> {
        let mut at = 0;
        // SAFETY: a place for the answer, and a handle, which the vendor refuses where it is none.
        done("cuMemAllocAsync", unsafe { (self.calls.malloc)(&raw mut at, bytes.0 as usize, handle(on)) })?;
        Ok(DevicePtr(at))
    }

    /// Gives memory back behind what is queued on the stream.
    ///
    /// # Errors
    /// The vendor's call failed.
    #[inline]
    pub fn free(&self, at: DevicePtr, on: NativeStream) -> Result<(), GpuError> {
        // SAFETY: an address and a handle, which the vendor refuses where they are none.
        done("cuMemFreeAsync", unsafe { (self.calls.free)(at.0, handle(on)) })
    }

    /// The most memory that the pool has held.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn reserved_high(&self) -> Result<Bytes, GpuError> {
        let mut high = 0_u64;
        // SAFETY: a pool of ours, and a place of 64 bits as the attribute has.
        done("cuMemPoolGetAttribute", unsafe { (self.calls.get)(self.pool, RESERVED_HIGH, (&raw mut high).cast()) })?;
        Ok(Bytes(high))
    }
}

impl Drop for VendorPool {
    /// There is nobody to tell of failures; the process keeps the pool then.
    fn drop(&mut self) {
        let mut usual = ptr::null_mut();
        // SAFETY: a place for the answer, and a device.
        let code = unsafe { (self.calls.default)(&raw mut usual, self.gpu.device) };
        if code == 0 {
            // SAFETY: a device, and a pool of its own.
            let _ = unsafe { (self.calls.choose)(self.gpu.device, usual) };
        }
        // SAFETY: a pool of ours, which nobody names any more.
        let _ = unsafe { (self.calls.destroy)(self.pool) };
    }
}
