//! A host driver as the tests use it.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use weir::driver::{Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, NativeStream, Target};
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr, MIB};
use weir_ffi::host::{HostConfig, HostDriver};

pub(crate) const DEVICE: DeviceId = DeviceId(0);
pub(crate) const GRANULE: u64 = 2 * MIB;

pub(crate) fn driver() -> HostDriver {
    HostDriver::new(HostConfig::with_total(Bytes(64 * GRANULE))).unwrap()
}

pub(crate) fn stream(driver: &HostDriver) -> NativeStream {
    driver.create_stream(DEVICE, StreamKind::NonBlocking).unwrap()
}

/// A range of `places` granules with memory in all of them.
pub(crate) fn mapped(driver: &HostDriver, places: u64) -> (DevicePtr, Vec<GranuleHandle>) {
    let base = driver.reserve(DEVICE, Bytes(places * GRANULE)).unwrap();
    let granules = (0..places).map(|i| {
        let granule = driver.create(DEVICE).unwrap();
        driver.map(DEVICE, DevicePtr(base.0 + i * GRANULE), granule, None).unwrap();
        granule
    });
    (base, granules.collect())
}

pub(crate) fn sync(driver: &HostDriver) -> Result<(), DriverError> {
    driver.synchronise(Target::Device(DEVICE))
}

/// Queues a kernel that runs until the answer is dropped.
pub(crate) fn hold(driver: &HostDriver, stream: NativeStream) -> Sender<()> {
    let (open, gate) = mpsc::channel::<()>();
    let wait = move |()| {
        let _ = gate.recv();
    };
    driver.launch(stream, (), wait).unwrap();
    open
}

/// Where kernels write down that they ran.
pub(crate) type Notes = Arc<Mutex<Vec<u32>>>;

pub(crate) fn note(driver: &HostDriver, stream: NativeStream, notes: &Notes, what: u32) {
    let notes = Arc::clone(notes);
    driver.launch(stream, (), move |()| notes.lock().unwrap().push(what)).unwrap();
}

pub(crate) fn error(call: DriverCall, code: i32, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code, kind }
}
