//! A pool as the interfaces to C know it, and its attributes as C has them.

use crate::log_sink::LogSink;
use crate::owned::Owned;
use core::ffi::c_void;
use weir::driver::Driver;
use weir::error::PoolError;
use weir::id::{DeviceId, PoolId};
use weir::policy::{Attribute, PoolConfig};
use weir::units::Bytes;

/// A pool, and what stays the same of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub(crate) id: PoolId,
    pub(crate) device: DeviceId,
    /// The most physical memory that it may hold.
    pub(crate) size: Bytes,
    /// Of its device.
    pub(crate) granule: Bytes,
    /// Its addresses.
    pub(crate) base: u64,
    pub(crate) range: Bytes,
}

impl Pool {
    /// Makes a pool of a runtime, whatever its device is.
    pub(crate) fn create<D: Driver>(runtime: &Owned<D, LogSink>, config: PoolConfig) -> Result<Self, PoolError> {
        let PoolConfig { device, limit, .. } = config;
        let id = runtime.create_pool(config)?;
        let shape = runtime.stats(id)?;
        let properties = runtime.driver().properties(device).map_err(PoolError::Driver)?;
        let size = match limit {
            Bytes::ZERO => properties.total.round_down(properties.granularity),
            // It was rounded before, or the pool would not be there.
            most => most.round_up(properties.granularity).unwrap_or(properties.total),
        };
        Ok(Self { id, device, size, granule: properties.granularity, base: shape.base.0, range: shape.range })
    }

    /// Sets an attribute: C has an `int` for a switch, and 64 bits for what counts bytes.
    ///
    /// # Safety
    /// `value` is a number of the attribute's type.
    pub(crate) unsafe fn set<D: Driver>(
        &self,
        runtime: &Owned<D, LogSink>,
        attribute: Attribute,
        value: *const c_void,
    ) -> Result<(), PoolError> {
        let value = match attribute {
            // Nothing is read for what cannot be set.
            Attribute::ReservedMemCurrent | Attribute::UsedMemCurrent => 0,
            // SAFETY: as the caller promised.
            _ if attribute.switch().is_some() => u64::from(unsafe { value.cast::<u32>().read_unaligned() }),
            // SAFETY: as the caller promised.
            _ => unsafe { value.cast::<u64>().read_unaligned() },
        };
        runtime.set_attribute(self.id, attribute, value)
    }

    /// Reads an attribute.
    ///
    /// # Safety
    /// `value` is a place for a number of the attribute's type.
    pub(crate) unsafe fn get<D: Driver>(
        &self,
        runtime: &Owned<D, LogSink>,
        attribute: Attribute,
        value: *mut c_void,
    ) -> Result<(), PoolError> {
        let found = runtime.attribute(self.id, attribute)?;
        if attribute.switch().is_some() {
            // SAFETY: as the caller promised.
            unsafe { value.cast::<u32>().write_unaligned(u32::from(found != 0)) };
        } else {
            // SAFETY: as the caller promised.
            unsafe { value.cast::<u64>().write_unaligned(found) };
        }
        Ok(())
    }
}
