//! One device: its runtime, its pool, and the streams that were named.

use super::super::create::usual_total;
use super::super::driver::Backend;
use super::super::failure::Failure;
use super::super::handle::Handles;
use super::super::instance::{self, Instance, within};
use super::super::order;
use super::settings::{LIMIT, LOG, Settings, Source};
use crate::bindings::{weir_driver_ops, weir_pool, weir_runtime, weir_status as s, weir_stream};
use crate::host::{HostConfig, HostDriver};
use crate::log_sink::LogSink;
use crate::table::TableDriver;
use crate::vendor::{self, Vendor};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError, RwLock};
use weir::driver::{Driver, MarkerSlot, NativeStream, Target};
use weir::id::{DeviceId, StreamId};
use weir::policy::{PoolConfig, StreamKind};
use weir::units::{Bytes, DevicePtr};
use weir::{Capacities, StreamConfig};

/// Host devices: more than any machine's framework is told of.
const HOST_DEVICES: u32 = 64;

/// Room for PyTorch's streams (129 a device), for 256 GiB in granules of 2 MiB, and for large models.
const CAPACITIES: Capacities = Capacities {
    streams: 256,
    events: 256,
    markers: 512,
    pools: 1,
    blocks: 1 << 18,
    granules: 1 << 17,
    labels: 1024,
    pages: 256,
};

/// A table that a vendor's shim filled in.
struct Table(weir_driver_ops);

// SAFETY: the shims may be called on any thread.
unsafe impl Send for Table {}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: whoever drops it ended the runtime first, and the table is given to this function once.
        unsafe { vendor::close(&mut self.0) };
    }
}

pub(super) struct Device {
    number: DeviceId,
    runtime: weir_runtime,
    pool: weir_pool,
    source: Source,
    pub(super) has_log: bool,
    /// By the framework's handle.
    streams: RwLock<BTreeMap<u64, StreamId>>,
    /// Blocks that a stream uses of which weir cannot be told; `any_kept` spares frees the lock.
    kept: Mutex<BTreeSet<DevicePtr>>,
    any_kept: AtomicBool,
    table: Mutex<Option<Table>>,
}

/// Opens the driver for a device.
fn backend(source: Source, device: u32) -> Result<(Backend, Option<Table>), Failure> {
    let vendor = match source {
        Source::Host if device >= HOST_DEVICES => {
            let text = format!("`device` is {device}: the host driver has {HOST_DEVICES} devices here");
            return Err(Failure::invalid(text));
        }
        Source::Host => {
            let driver = HostDriver::new(HostConfig { devices: device + 1, ..HostConfig::with_total(usual_total()?) })?;
            return Ok((Backend::Host(Box::new(driver)), None));
        }
        Source::Vendor(vendor) => vendor,
    };
    let table = Table(vendor::open(vendor, None)?);
    let bad = |e: crate::table::TableError| Failure::new(s::WEIR_BAD_DRIVER, e.to_string());
    // SAFETY: the shims do what the header says, until the table is closed, which is after the runtime's end.
    let driver = unsafe { TableDriver::new(&table.0) }.map_err(bad)?;
    Ok((Backend::Table(driver), Some(table)))
}

impl Device {
    /// Opens a device as the environment says.
    pub(super) fn open(device: u32) -> Result<Self, Failure> {
        let settings = Settings::read(device)?;
        let (backend, table) = backend(settings.source, device)?;
        let mut sink = LogSink::default();
        if let Some(path) = &settings.log {
            let bad = |e| format!("{LOG}: the file {path:?} cannot be made: {e}");
            sink.set_file(path).map_err(|e| Failure::new(s::WEIR_SYSTEM, bad(e)))?;
        }
        let has_log = !sink.is_nothing();
        let capacities = Capacities { pages: if has_log { CAPACITIES.pages } else { 0 }, ..CAPACITIES };
        let runtime = instance::open(capacities, backend, sink);
        let pool = match within(runtime, |instance| make_pool(instance, DeviceId(device), &settings)) {
            Ok(pool) => pool,
            Err(failure) => {
                // Nothing is in it; the first failure is the one to tell of. The table goes afterwards.
                let _ = instance::end(runtime);
                return Err(failure);
            }
        };
        Ok(Self {
            number: DeviceId(device),
            runtime,
            pool,
            source: settings.source,
            has_log,
            streams: RwLock::default(),
            kept: Mutex::default(),
            any_kept: AtomicBool::new(false),
            table: Mutex::new(table),
        })
    }

    pub(super) const fn handles(&self) -> (weir_runtime, weir_pool) {
        (self.runtime, self.pool)
    }

    pub(super) fn malloc(&self, size: usize, stream: u64) -> Result<usize, Failure> {
        within(self.runtime, |instance| {
            instance.runtime().driver().pressure.check_outside("allocating")?;
            let (pool, stream) = (instance.pool(self.pool)?, self.stream(instance, stream)?);
            let made = instance.runtime().malloc_async(pool, Bytes(size as u64), stream)?;
            let wide = |_| Failure::new(s::WEIR_BAD_DRIVER, format!("the device's address {made} is no pointer here"));
            usize::try_from(made.0).map_err(wide)
        })
    }

    pub(super) fn free(&self, ptr: DevicePtr, stream: u64) -> Result<(), Failure> {
        if self.any_kept.load(Ordering::Relaxed) && self.kept().remove(&ptr) {
            let text = format!("block {ptr} stays taken, since not all streams that use it are known");
            return Err(Failure::new(s::WEIR_BAD_HANDLE, text));
        }
        within(self.runtime, |instance| Ok(instance.runtime().free_async(ptr, self.stream(instance, stream)?)?))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeSet<DevicePtr>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a live block begins there.
    pub(super) fn has(&self, ptr: DevicePtr) -> Result<bool, Failure> {
        within(self.runtime, |instance| Ok(instance.runtime().block_at(ptr).is_some()))
    }

    /// Notes that a stream uses a block until it is freed: the framework may say so before it queues the work.
    pub(super) fn record(&self, ptr: DevicePtr, stream: u64) -> Result<(), Failure> {
        let noted = within(self.runtime, |instance| {
            let stream = self.stream(instance, stream)?;
            Ok(instance.runtime().record_use(ptr, stream, weir::policy::UseUntil::Free)?)
        });
        noted.map_err(|mut failure| {
            self.kept().insert(ptr);
            self.any_kept.store(true, Ordering::Relaxed);
            failure.text.push_str("; the block will stay taken when it is freed");
            failure
        })
    }

    /// Gives back all that can be had without work that is still to come.
    pub(super) fn empty(&self) -> Result<(), Failure> {
        within(self.runtime, |instance| {
            instance.runtime().synchronize_device(self.number)?;
            instance.runtime().trim_to(instance.pool(self.pool)?, Bytes::ZERO)?;
            Ok(())
        })
    }

    pub(super) fn live_blocks(&self) -> Result<u64, Failure> {
        within(self.runtime, |instance| Ok(instance.runtime().stats(instance.pool(self.pool)?)?.live_blocks))
    }

    pub(super) fn flush(&self) -> Result<(), Failure> {
        within(self.runtime, Instance::flush)
    }

    /// Ends the runtime, and then what it stands on. After WEIR_BUSY nothing was done.
    pub(super) fn end(&self) -> Result<(), Failure> {
        let ended = instance::end(self.runtime);
        if !ended.as_ref().is_err_and(|failure| failure.status == s::WEIR_BUSY) {
            self.table.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        ended
    }

    /// What weir.h calls the stream of a handle.
    pub(super) fn stream_handle(&self, stream: u64) -> Result<weir_stream, Failure> {
        within(self.runtime, |instance| Ok(instance.give_stream(self.stream(instance, stream)?)))
    }

    /// The stream of a handle, which is made known when it is first named.
    fn stream(&self, instance: &Instance, handle: u64) -> Result<StreamId, Failure> {
        let known = self.streams.read().unwrap_or_else(PoisonError::into_inner).get(&handle).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = streams.get(&handle) {
            return Ok(*known);
        }
        let made = match self.source {
            Source::Host => super::super::host::create(instance, self.number, StreamKind::NonBlocking)?,
            Source::Vendor(vendor) => {
                self.check_owner(instance, vendor, NativeStream(handle))?;
                order::register(instance, StreamConfig::new(self.number, NativeStream(handle)))?
            }
        };
        let made = instance.stream(made)?;
        streams.insert(handle, made);
        Ok(made)
    }

    /// Refuses a stream of another device: this one's synchronisation would be taken to cover it. The shim has this
    /// device open alone.
    fn check_owner(&self, instance: &Instance, vendor: Vendor, stream: NativeStream) -> Result<(), Failure> {
        let driver = instance.runtime().driver();
        let asked = match vendor {
            // Says whether the stream is of the device's context, and nothing else does.
            Vendor::Acl if stream != NativeStream(0) => driver.query(Target::Stream(stream)).map(drop),
            // To wait for a marker that was never laid does nothing, but the shim looks first whose stream it is. A query
            // would spoil a capture.
            _ => driver.wait(stream, MarkerSlot(u32::MAX)),
        };
        asked.map_err(|error| {
            let mut failure = Failure::from(error);
            failure.text = format!("stream {:#x} is not usable on device {}: {}", stream.0, self.number, failure.text);
            failure
        })
    }
}

fn make_pool(instance: &Instance, device: DeviceId, settings: &Settings) -> Result<weir_pool, Failure> {
    let Settings { limit, threshold, reuse, .. } = *settings;
    let config = PoolConfig { limit, threshold, reuse, ..PoolConfig::new(device) };
    instance.check_device(device)?;
    let made = instance.runtime().create_pool(config).map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.status == s::WEIR_ABOVE_LIMIT {
            failure.text = format!("{LIMIT} is {limit}: {}", failure.text);
        }
        failure
    })?;
    Ok(instance.add_pool(device, made))
}
