//! The host driver's streams while they are being destroyed.
#![cfg(target_os = "linux")]

mod host_support;

use host_support::{DEVICE, GRANULE, Notes, driver, error, hold, note, stream, sync};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use weir::driver::{Completion, Driver, DriverCall, DriverErrorKind, NativeStream, Target};
use weir::policy::StreamKind;
use weir::units::Bytes;
use weir_ffi::host::{HostConfig, HostDriver, HostError};

/// Destroys a stream on a thread of its own; returns when the driver has begun to.
fn begin_destroy(driver: &Arc<HostDriver>, stream: NativeStream) -> JoinHandle<()> {
    let other = Arc::clone(driver);
    let thread = thread::spawn(move || other.destroy_stream(stream).unwrap());
    // A question, not a launch: launches wait where the queue is full, and the stream may be held.
    while driver.query(Target::Stream(stream)).is_ok() {
        thread::yield_now();
    }
    thread
}

#[test]
fn the_work_of_a_stream_that_is_being_destroyed_is_its_devices() {
    let driver = Arc::new(driver());
    let s1 = stream(&driver);
    let open = hold(&driver, s1);
    let notes = Notes::default();
    note(&driver, s1, &notes, 1);
    let end = begin_destroy(&driver, s1);
    assert!(matches!(driver.destroy_stream(s1), Err(HostError::UnknownStream(_))), "one thread ends it");
    assert_eq!(driver.query(Target::Device(DEVICE)), Ok(Completion::Pending));
    let waiting = Arc::clone(&driver);
    let seen = Arc::clone(&notes);
    let waits = thread::spawn(move || {
        sync(&waiting).unwrap();
        seen.lock().unwrap().clone()
    });
    drop(open);
    assert_eq!(waits.join().unwrap(), [1], "the synchronisation came after the last kernel");
    end.join().unwrap();
    assert_eq!(driver.query(Target::Device(DEVICE)), Ok(Completion::Complete));
}

#[test]
fn the_legacy_stream_waits_for_a_blocking_stream_that_is_being_destroyed() {
    let patience = Some(Duration::from_millis(20));
    let config = HostConfig { patience, ..HostConfig::with_total(Bytes(GRANULE)) };
    let driver = Arc::new(HostDriver::new(config).unwrap());
    let blocking = driver.create_stream(DEVICE, StreamKind::Blocking).unwrap();
    let legacy = driver.create_stream(DEVICE, StreamKind::Legacy).unwrap();
    let open = hold(&driver, blocking);
    let end = begin_destroy(&driver, blocking);
    driver.launch(legacy, (), |()| ()).unwrap();
    let late = error(DriverCall::Synchronise, libc::ETIMEDOUT, DriverErrorKind::TimedOut);
    assert_eq!(driver.synchronise(Target::Stream(legacy)), Err(late));
    drop(open);
    end.join().unwrap();
    driver.launch(legacy, (), |()| ()).unwrap();
    driver.destroy_stream(legacy).unwrap();
    assert_eq!(driver.query(Target::Device(DEVICE)), Ok(Completion::Complete));
}

#[test]
fn a_stream_that_its_own_kernel_destroys_is_work_of_its_device_until_it_is_done() {
    let driver = Arc::new(driver());
    let s1 = stream(&driver);
    let (open, gate) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let inside = Arc::clone(&driver);
    driver
        .launch(s1, (), move |()| {
            inside.destroy_stream(s1).unwrap();
            drop(inside);
            begin.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    begun.recv().unwrap();
    assert_eq!(driver.query(Target::Device(DEVICE)), Ok(Completion::Pending));
    drop(open);
    sync(&driver).unwrap();
}
