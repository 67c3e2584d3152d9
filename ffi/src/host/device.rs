//! One device: its physical memory, its addresses, and what went wrong on it.

use super::arguments::KernelArg;
use super::config::HostConfig;
use super::fault::{Fault, failed, lock, refused};
use super::mappings;
use super::memory::{Physical, Reservation};
use super::space::{Space, UnmapRefused};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::io;
use std::sync::Mutex;
use weir::driver::{Capabilities, DriverCall, DriverError, GranuleHandle, NativeStream, Properties};
use weir::units::{Bytes, DevicePtr};

#[derive(Debug)]
pub(super) struct Device {
    memory: Physical,
    properties: Properties,
    space: Mutex<Space>,
    fault: Mutex<Option<Fault>>,
    faulted: AtomicBool,
    kernels: AtomicU64,
}

impl Device {
    pub(super) fn new(config: &HostConfig) -> io::Result<Self> {
        let granularity = config.granularity.0;
        let granules = u32::try_from(config.total.0 / granularity).unwrap_or(u32::MAX - 1);
        Ok(Self {
            memory: Physical::new(granularity, granules)?,
            properties: Properties {
                granularity: config.granularity,
                alignment: config.alignment,
                total: Bytes(u64::from(granules) * granularity),
                capabilities: Capabilities::SPARSE_ADDRESSES,
            },
            space: Mutex::new(Space::new(granularity, granules)),
            fault: Mutex::new(None),
            faulted: AtomicBool::new(false),
            kernels: AtomicU64::new(0),
        })
    }

    pub(super) fn properties(&self) -> Properties {
        self.properties
    }

    pub(super) fn reserve(&self, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        let granularity = self.properties.granularity.0;
        if bytes.0 == 0 || !bytes.0.is_multiple_of(granularity) {
            return Err(failed(DriverCall::Reserve, libc::EINVAL));
        }
        let range = Reservation::new(bytes.0, granularity).map_err(|e| refused(DriverCall::Reserve, &e))?;
        let base = DevicePtr(range.base());
        lock(&self.space).add_range(range);
        Ok(base)
    }

    pub(super) fn release(&self, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        let range = lock(&self.space).take_range(base.0, bytes.0);
        // The addresses go back here, outside the lock.
        range.map(drop).ok_or(failed(DriverCall::Release, libc::EINVAL))
    }

    pub(super) fn create(&self) -> Result<GranuleHandle, DriverError> {
        lock(&self.space).create().ok_or(failed(DriverCall::Create, libc::ENOMEM))
    }

    pub(super) fn destroy(&self, granule: GranuleHandle) -> Result<(), DriverError> {
        let begun = lock(&self.space).begin_destroy(granule);
        let index = begun.ok_or(failed(DriverCall::Destroy, libc::EINVAL))?;
        match self.memory.discard(index) {
            Ok(()) => {
                lock(&self.space).destroyed(index);
                Ok(())
            }
            Err(error) => {
                lock(&self.space).not_destroyed(index);
                Err(refused(DriverCall::Destroy, &error))
            }
        }
    }

    pub(super) fn map(&self, at: DevicePtr, granule: GranuleHandle) -> Result<(), DriverError> {
        if !mappings::room() {
            return Err(failed(DriverCall::Map, libc::ENOMEM));
        }
        let begun = lock(&self.space).begin_map(at, granule);
        let step = begun.ok_or(failed(DriverCall::Map, libc::EINVAL))?;
        match step.reservation.map(step.offset, &self.memory, step.granule) {
            Ok(()) => {
                lock(&self.space).mapped(&step);
                Ok(())
            }
            Err(error) => {
                lock(&self.space).not_mapped(&step);
                Err(refused(DriverCall::Map, &error))
            }
        }
    }

    pub(super) fn unmap(&self, at: DevicePtr) -> Result<(), DriverError> {
        let begun = lock(&self.space).begin_unmap(at);
        let step = match begun {
            Ok(step) => step,
            Err(UnmapRefused::NotMapped) => return Err(failed(DriverCall::Unmap, libc::EINVAL)),
            Err(UnmapRefused::InUse(stream)) => {
                self.record(Fault::UnmapInUse { stream, at });
                return Err(failed(DriverCall::Unmap, libc::EBUSY));
            }
        };
        match step.reservation.unmap(step.offset, self.properties.granularity.0) {
            Ok(()) => {
                lock(&self.space).not_mapped(&step);
                Ok(())
            }
            Err(error) => {
                lock(&self.space).mapped(&step);
                Err(refused(DriverCall::Unmap, &error))
            }
        }
    }

    /// The number of a launch that begins: it counts the kernels.
    pub(super) fn begin_launch(&self) -> u64 {
        self.kernels.fetch_add(1, Ordering::Relaxed)
    }

    /// See [`Space::pin`]; a fault is recorded.
    pub(super) fn pin(&self, launch: u64, stream: NativeStream, args: &[KernelArg]) -> bool {
        let pinned = lock(&self.space).pin(launch, stream, args);
        match pinned {
            Ok(()) => true,
            Err(fault) => {
                self.record(fault);
                false
            }
        }
    }

    pub(super) fn unpin(&self, launch: u64) {
        lock(&self.space).unpin(launch);
    }

    /// Keeps the first fault.
    pub(super) fn record(&self, fault: Fault) {
        lock(&self.fault).get_or_insert(fault);
        self.faulted.store(true, Ordering::Release);
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        lock(&self.fault).clone()
    }

    pub(super) fn clear_fault(&self) -> Option<Fault> {
        let mut fault = lock(&self.fault);
        self.faulted.store(false, Ordering::Release);
        fault.take()
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.faulted.load(Ordering::Acquire)
    }

    pub(super) fn kernels(&self) -> u64 {
        self.kernels.load(Ordering::Relaxed)
    }

    pub(super) fn created(&self) -> Bytes {
        lock(&self.space).created()
    }

    pub(super) fn resident(&self) -> io::Result<Bytes> {
        self.memory.resident().map(Bytes)
    }
}
