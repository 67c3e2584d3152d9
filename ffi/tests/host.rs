//! The host driver: memory that is really there, streams that really order.
#![cfg(target_os = "linux")]

mod host_support;

use host_support::{DEVICE, GRANULE, Notes, driver, error, hold, mapped, note, stream, sync};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use weir::driver::{Completion, Driver, DriverCall, DriverErrorKind, GranuleHandle, MarkerSlot, Target};
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr, MIB};
use weir_ffi::host::{Fault, HostConfig, HostDriver, HostError, Injection, Read, Write, pattern};

#[test]
fn properties_are_those_of_the_configuration() {
    let config = HostConfig { devices: 2, ..HostConfig::with_total(Bytes(5 * GRANULE + 1)) };
    let driver = HostDriver::new(config).unwrap();
    let properties = driver.properties(DeviceId(1)).unwrap();
    assert_eq!(properties.total, Bytes(5 * GRANULE));
    assert_eq!(properties.granularity, Bytes(GRANULE));
    assert_eq!(properties.alignment, Bytes(512));
    let none = driver.properties(DeviceId(2)).unwrap_err();
    assert_eq!(none, error(DriverCall::Properties, libc::ENODEV, DriverErrorKind::Failed));
    assert_eq!(HostConfig::default().total, Bytes::gib(64));
}

#[test]
fn bad_configurations_are_named() {
    let good = HostConfig::default();
    for (config, word) in [
        (HostConfig { devices: 0, ..good }, "devices"),
        (HostConfig { granularity: Bytes(3 * MIB), ..good }, "granularity"),
        (HostConfig { granularity: Bytes(512), ..good }, "granularity"),
        (HostConfig { alignment: Bytes(0), ..good }, "alignment"),
        (HostConfig { alignment: Bytes(4 * MIB), ..good }, "alignment"),
        (HostConfig { total: Bytes(MIB), ..good }, "total"),
        (HostConfig { total: Bytes(u64::MAX), ..good }, "total"),
    ] {
        let refused = HostDriver::new(config).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused} does not name {word}");
    }
}

#[test]
fn bytes_follow_their_granule_to_another_address() {
    let driver = driver();
    let stream = stream(&driver);
    let base = driver.reserve(DEVICE, Bytes(8 * GRANULE)).unwrap();
    let other = driver.reserve(DEVICE, Bytes(8 * GRANULE)).unwrap();
    assert_eq!((base.0 % GRANULE, other.0 % GRANULE), (0, 0));
    let (a, b) = (driver.create(DEVICE).unwrap(), driver.create(DEVICE).unwrap());
    driver.map(DEVICE, base, a, None).unwrap();
    driver.map(DEVICE, DevicePtr(base.0 + GRANULE), b, None).unwrap();
    driver.launch(stream, Write(base, Bytes(2 * GRANULE)), |bytes| pattern::fill(bytes, 11)).unwrap();
    sync(&driver).unwrap();
    // The two change places, in the other range.
    driver.unmap(DEVICE, base, None).unwrap();
    driver.unmap(DEVICE, DevicePtr(base.0 + GRANULE), None).unwrap();
    driver.map(DEVICE, DevicePtr(other.0 + 5 * GRANULE), a, None).unwrap();
    driver.map(DEVICE, DevicePtr(other.0 + 3 * GRANULE), b, None).unwrap();
    let mut whole = vec![0; 2 * GRANULE as usize];
    pattern::fill(&mut whole, 11);
    let (first, second) = (whole[..GRANULE as usize].to_vec(), whole[GRANULE as usize..].to_vec());
    for (at, expected) in [(5, first), (3, second)] {
        let from = DevicePtr(other.0 + at * GRANULE);
        driver.launch(stream, Read(from, Bytes(GRANULE)), move |bytes| assert!(bytes == expected)).unwrap();
    }
    sync(&driver).unwrap();
    assert_eq!(driver.fault(DEVICE).unwrap(), None);
}

#[test]
fn unmapping_between_neighbours_leaves_them_alone() {
    let driver = driver();
    let stream = stream(&driver);
    let (base, _) = mapped(&driver, 3);
    driver.launch(stream, Write(base, Bytes(3 * GRANULE)), |bytes| bytes.fill(0x5A)).unwrap();
    sync(&driver).unwrap();
    driver.unmap(DEVICE, DevicePtr(base.0 + GRANULE), None).unwrap();
    for at in [0, 2] {
        let from = DevicePtr(base.0 + at * GRANULE);
        let whole = |bytes: &[u8]| assert!(bytes.iter().all(|b| *b == 0x5A));
        driver.launch(stream, Read(from, Bytes(GRANULE)), whole).unwrap();
    }
    sync(&driver).unwrap();
}

#[test]
fn destroying_gives_the_pages_back_and_new_granules_are_zero() {
    let driver = driver();
    let stream = stream(&driver);
    assert_eq!(driver.resident(DEVICE).unwrap(), Bytes(0));
    let (base, granules) = mapped(&driver, 4);
    assert_eq!(driver.resident(DEVICE).unwrap(), Bytes(0), "nothing was written yet");
    driver.fill(stream, base, 1, Bytes(4 * GRANULE)).unwrap();
    sync(&driver).unwrap();
    assert_eq!(driver.resident(DEVICE).unwrap(), Bytes(4 * GRANULE));
    assert_eq!(driver.created(DEVICE).unwrap(), Bytes(4 * GRANULE));
    for (i, granule) in (0u64..).zip(granules).take(3) {
        driver.unmap(DEVICE, DevicePtr(base.0 + i * GRANULE), None).unwrap();
        driver.destroy(DEVICE, granule).unwrap();
    }
    assert_eq!(driver.resident(DEVICE).unwrap(), Bytes(GRANULE));
    assert_eq!(driver.created(DEVICE).unwrap(), Bytes(GRANULE));
    let again = driver.create(DEVICE).unwrap();
    driver.map(DEVICE, base, again, None).unwrap();
    let zero = |bytes: &[u8]| assert!(bytes.iter().all(|b| *b == 0));
    driver.launch(stream, Read(base, Bytes(GRANULE)), zero).unwrap();
    sync(&driver).unwrap();
}

#[test]
fn a_full_device_is_exhausted_and_usable_again_after_a_destroy() {
    let driver = HostDriver::new(HostConfig::with_total(Bytes(3 * GRANULE))).unwrap();
    let granules: Vec<_> = (0..3).map(|_| driver.create(DEVICE).unwrap()).collect();
    let full = driver.create(DEVICE).unwrap_err();
    assert_eq!(full, error(DriverCall::Create, libc::ENOMEM, DriverErrorKind::Exhausted));
    driver.destroy(DEVICE, granules[1]).unwrap();
    assert_ne!(driver.create(DEVICE).unwrap(), granules[1], "a handle is never used again");
    let stale = driver.destroy(DEVICE, granules[1]).unwrap_err();
    assert_eq!(stale, error(DriverCall::Destroy, libc::EINVAL, DriverErrorKind::Failed));
}

#[test]
fn memory_calls_refuse_what_makes_no_sense_and_change_nothing() {
    let driver = driver();
    let (base, granules) = mapped(&driver, 1);
    let next = DevicePtr(base.0 + GRANULE);
    let spare = driver.create(DEVICE).unwrap();
    let bad = |call| Err(error(call, libc::EINVAL, DriverErrorKind::Failed));
    let map = |at, granule| driver.map(DEVICE, at, granule, None);
    assert_eq!(map(base, spare), bad(DriverCall::Map), "taken");
    assert_eq!(map(next, spare), bad(DriverCall::Map), "outside");
    assert_eq!(map(DevicePtr(0), spare), bad(DriverCall::Map), "null");
    assert_eq!(map(base, granules[0]), bad(DriverCall::Map), "mapped already");
    assert_eq!(driver.unmap(DEVICE, DevicePtr(base.0 + 512), None), bad(DriverCall::Unmap));
    assert_eq!(driver.destroy(DEVICE, granules[0]), bad(DriverCall::Destroy), "mapped");
    assert_eq!(driver.destroy(DEVICE, GranuleHandle(0)), bad(DriverCall::Destroy));
    assert_eq!(driver.release(DEVICE, base, Bytes(GRANULE)), bad(DriverCall::Release), "not empty");
    assert_eq!(driver.reserve(DEVICE, Bytes(0)).map(drop), bad(DriverCall::Reserve));
    assert_eq!(driver.reserve(DEVICE, Bytes(GRANULE + 1)).map(drop), bad(DriverCall::Reserve));
    driver.unmap(DEVICE, base, None).unwrap();
    assert_eq!(driver.unmap(DEVICE, base, None), bad(DriverCall::Unmap), "twice");
    assert_eq!(driver.release(DEVICE, base, Bytes(2 * GRANULE)), bad(DriverCall::Release), "size");
    driver.release(DEVICE, base, Bytes(GRANULE)).unwrap();
    assert_eq!(driver.release(DEVICE, base, Bytes(GRANULE)), bad(DriverCall::Release), "twice");
    driver.destroy(DEVICE, granules[0]).unwrap();
    assert_eq!(driver.fault(DEVICE).unwrap(), None);
}

#[test]
fn kernels_of_a_stream_run_in_order() {
    let driver = driver();
    let stream = stream(&driver);
    let notes = Notes::default();
    for i in 0..1000 {
        note(&driver, stream, &notes, i);
    }
    driver.synchronise(Target::Stream(stream)).unwrap();
    assert_eq!(*notes.lock().unwrap(), (0..1000).collect::<Vec<_>>());
    assert_eq!(driver.counters().kernels, 1000);
}

#[test]
fn a_wait_holds_a_stream_back_until_the_marker_is_reached() {
    let driver = driver();
    let (s1, s2) = (stream(&driver), stream(&driver));
    let (notes, slot) = (Notes::default(), MarkerSlot(7));
    let open = hold(&driver, s1);
    note(&driver, s1, &notes, 1);
    driver.lay(slot, s1).unwrap();
    driver.wait(s2, slot).unwrap();
    note(&driver, s2, &notes, 2);
    assert_eq!(driver.query(Target::Marker(slot)), Ok(Completion::Pending));
    assert_eq!(driver.query(Target::Stream(s2)), Ok(Completion::Pending));
    assert_eq!(driver.query(Target::Device(DEVICE)), Ok(Completion::Pending));
    drop(open);
    driver.synchronise(Target::Stream(s2)).unwrap();
    assert_eq!(*notes.lock().unwrap(), [1, 2]);
    assert_eq!(driver.query(Target::Marker(slot)), Ok(Completion::Complete));
    assert_eq!(driver.query(Target::Stream(s2)), Ok(Completion::Complete));
}

#[test]
fn a_wait_takes_the_lay_that_it_saw() {
    let driver = driver();
    let (s1, s2) = (stream(&driver), stream(&driver));
    let (notes, slot) = (Notes::default(), MarkerSlot(0));
    let first = hold(&driver, s1);
    driver.lay(slot, s1).unwrap();
    driver.wait(s2, slot).unwrap();
    note(&driver, s2, &notes, 2);
    // The slot now stands for more, which stays unfinished: the wait above does not care.
    let second = hold(&driver, s1);
    driver.lay(slot, s1).unwrap();
    drop(first);
    driver.synchronise(Target::Stream(s2)).unwrap();
    assert_eq!(*notes.lock().unwrap(), [2]);
    assert_eq!(driver.query(Target::Marker(slot)), Ok(Completion::Pending));
    drop(second);
    driver.synchronise(Target::Marker(slot)).unwrap();
}

#[test]
fn a_marker_covers_only_what_was_queued_before_it() {
    let driver = driver();
    let s1 = stream(&driver);
    note(&driver, s1, &Notes::default(), 1);
    driver.lay(MarkerSlot(1), s1).unwrap();
    let open = hold(&driver, s1);
    driver.synchronise(Target::Marker(MarkerSlot(1))).unwrap();
    assert_eq!(driver.query(Target::Stream(s1)), Ok(Completion::Pending));
    drop(open);
    // Nobody ever laid this one.
    assert_eq!(driver.query(Target::Marker(MarkerSlot(u32::MAX))), Ok(Completion::Complete));
    driver.wait(s1, MarkerSlot(u32::MAX)).unwrap();
    driver.synchronise(Target::Marker(MarkerSlot(u32::MAX))).unwrap();
}

#[test]
fn the_legacy_stream_orders_blocking_streams_and_no_others() {
    let driver = driver();
    let make = |kind| driver.create_stream(DEVICE, kind).unwrap();
    let (legacy, blocking, thread) =
        (make(StreamKind::Legacy), make(StreamKind::Blocking), make(StreamKind::PerThread));
    let free = make(StreamKind::NonBlocking);
    let notes = Notes::default();
    let open = hold(&driver, blocking);
    note(&driver, blocking, &notes, 1);
    note(&driver, legacy, &notes, 2);
    note(&driver, thread, &notes, 3);
    note(&driver, free, &notes, 0);
    driver.synchronise(Target::Stream(free)).unwrap();
    assert_eq!(*notes.lock().unwrap(), [0], "only the non-blocking stream may pass");
    driver.lay(MarkerSlot(0), thread).unwrap();
    drop(open);
    driver.synchronise(Target::Marker(MarkerSlot(0))).unwrap();
    assert_eq!(*notes.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn a_marker_on_the_legacy_stream_covers_blocking_streams() {
    let driver = driver();
    let legacy = driver.create_stream(DEVICE, StreamKind::Legacy).unwrap();
    let blocking = driver.create_stream(DEVICE, StreamKind::Blocking).unwrap();
    let other = driver.create_stream(DEVICE, StreamKind::Blocking).unwrap();
    let open = hold(&driver, blocking);
    driver.lay(MarkerSlot(0), legacy).unwrap();
    assert_eq!(driver.query(Target::Marker(MarkerSlot(0))), Ok(Completion::Pending));
    // Two blocking streams are not ordered with each other, only with what the legacy stream does in between.
    let notes = Notes::default();
    let fresh = driver.create_stream(DEVICE, StreamKind::NonBlocking).unwrap();
    note(&driver, fresh, &notes, 1);
    driver.synchronise(Target::Stream(fresh)).unwrap();
    drop(open);
    driver.synchronise(Target::Stream(legacy)).unwrap();
    assert_eq!(driver.query(Target::Stream(blocking)), Ok(Completion::Complete));
    driver.destroy_stream(blocking).unwrap();
    note(&driver, legacy, &notes, 2);
    note(&driver, other, &notes, 3);
    sync(&driver).unwrap();
    assert_eq!(*notes.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn a_stream_finishes_its_work_before_it_goes() {
    let driver = driver();
    let (s1, s2) = (stream(&driver), stream(&driver));
    let notes = Notes::default();
    for i in 0..100 {
        note(&driver, s1, &notes, i);
    }
    driver.lay(MarkerSlot(3), s1).unwrap();
    driver.destroy_stream(s1).unwrap();
    assert_eq!(notes.lock().unwrap().len(), 100);
    // Its marker outlives it.
    assert_eq!(driver.query(Target::Marker(MarkerSlot(3))), Ok(Completion::Complete));
    driver.wait(s2, MarkerSlot(3)).unwrap();
    assert!(matches!(driver.destroy_stream(s1), Err(HostError::UnknownStream(s)) if s == s1));
    assert!(matches!(driver.launch(s1, (), |()| ()), Err(HostError::UnknownStream(s)) if s == s1));
    let gone = |call| Err(error(call, libc::EINVAL, DriverErrorKind::Failed));
    assert_eq!(driver.lay(MarkerSlot(0), s1), gone(DriverCall::Lay));
    assert_eq!(driver.wait(s1, MarkerSlot(3)), gone(DriverCall::Wait));
    assert_eq!(driver.synchronise(Target::Stream(s1)), gone(DriverCall::Synchronise));
    assert_ne!(stream(&driver), s1, "a number is never used again");
    assert!(matches!(
        driver.create_stream(DeviceId(9), StreamKind::NonBlocking),
        Err(HostError::UnknownDevice { device: DeviceId(9), devices: 1 })
    ));
}

#[test]
fn dropping_the_driver_finishes_what_is_queued_even_from_a_kernel() {
    let notes = Notes::default();
    let driver = Arc::new(driver());
    let s1 = stream(&driver);
    let (ready, go) = mpsc::channel::<()>();
    let (done, end) = mpsc::channel();
    let own = Arc::clone(&driver);
    driver
        .launch(s1, (), move |()| {
            let _ = go.recv();
            drop(own);
            let _ = done.send(());
        })
        .unwrap();
    note(&driver, s1, &notes, 5);
    drop(driver);
    drop(ready);
    end.recv().unwrap();
    // The kernel was the last to hold the driver. What stood behind it still runs.
    while Arc::strong_count(&notes) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(*notes.lock().unwrap(), [5]);
}

#[test]
fn an_address_without_memory_is_a_sticky_fault() {
    let driver = driver();
    let s1 = stream(&driver);
    let base = driver.reserve(DEVICE, Bytes(4 * GRANULE)).unwrap();
    let granule = driver.create(DEVICE).unwrap();
    driver.map(DEVICE, base, granule, None).unwrap();
    let notes = Notes::default();
    let ran = Arc::clone(&notes);
    let beyond = Write(DevicePtr(base.0 + 512), Bytes(GRANULE));
    driver.launch(s1, beyond, move |_| ran.lock().unwrap().push(1)).unwrap();
    note(&driver, s1, &notes, 2);
    let sticky = error(DriverCall::Synchronise, libc::EFAULT, DriverErrorKind::Failed);
    assert_eq!(sync(&driver), Err(sticky));
    assert_eq!(sync(&driver), Err(sticky));
    assert!(driver.query(Target::Stream(s1)).is_err());
    assert_eq!(*notes.lock().unwrap(), [0u32; 0], "neither it nor what came behind it ran");
    let expected = Fault::NotMapped { stream: s1, ptr: DevicePtr(base.0 + GRANULE) };
    assert_eq!(driver.fault(DEVICE).unwrap(), Some(expected.clone()));
    assert_eq!(driver.clear_fault(DEVICE).unwrap(), Some(expected));
    note(&driver, s1, &notes, 3);
    sync(&driver).unwrap();
    assert_eq!(*notes.lock().unwrap(), [3]);
}

#[test]
fn an_address_outside_every_range_is_a_fault() {
    let driver = driver();
    let s1 = stream(&driver);
    let (base, _) = mapped(&driver, 2);
    let end = DevicePtr(base.0 + 2 * GRANULE);
    let outside = Fault::NotReserved { stream: s1, ptr: DevicePtr(64) };
    let long = |ptr, bytes| Fault::TooLong { stream: s1, ptr, bytes, end };
    let (behind, most, last) = (Bytes(2 * GRANULE + 1), Bytes(u64::MAX), DevicePtr(end.0 - 1));
    for (ptr, bytes, expected) in [
        (DevicePtr(64), Bytes(8), outside),
        (base, behind, long(base, behind)),
        (base, most, long(base, most)),
        (last, Bytes(2), long(last, Bytes(2))),
    ] {
        driver.launch(s1, Read(ptr, bytes), |_| ()).unwrap();
        assert!(sync(&driver).is_err());
        assert_eq!(driver.clear_fault(DEVICE).unwrap(), Some(expected));
    }
    driver.launch(s1, Read(DevicePtr(0), Bytes(0)), |bytes| assert!(bytes.is_empty())).unwrap();
    sync(&driver).unwrap();
}

#[test]
fn kernels_that_use_the_same_bytes_at_once_are_a_fault() {
    let driver = driver();
    let (s1, s2) = (stream(&driver), stream(&driver));
    let (base, _) = mapped(&driver, 1);
    let at = |offset| DevicePtr(base.0 + offset);
    let (open, gate) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    driver
        .launch(s1, (Write(at(0), Bytes(1024)), Read(at(4096), Bytes(64))), move |_| {
            begin.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    begun.recv().unwrap();
    // Reading together and writing elsewhere are fine.
    driver.launch(s2, (Read(at(4096), Bytes(64)), Write(at(1024), Bytes(64))), |_| ()).unwrap();
    driver.synchronise(Target::Stream(s2)).unwrap();
    driver.launch(s2, Read(at(1000), Bytes(100)), |_| ()).unwrap();
    assert!(driver.synchronise(Target::Stream(s2)).is_err());
    let fault = driver.clear_fault(DEVICE).unwrap();
    assert_eq!(fault, Some(Fault::Race { stream: s2, running: s1, ptr: at(1000), bytes: Bytes(24) }));
    // Unmapping under a running kernel is refused, and is a fault.
    let busy = error(DriverCall::Unmap, libc::EBUSY, DriverErrorKind::Failed);
    assert_eq!(driver.unmap(DEVICE, base, None), Err(busy));
    let fault = driver.clear_fault(DEVICE).unwrap();
    assert_eq!(fault, Some(Fault::UnmapInUse { stream: s1, at: base }));
    drop(open);
    sync(&driver).unwrap();
    driver.unmap(DEVICE, base, None).unwrap();
}

#[test]
fn one_kernels_arguments_may_not_share_written_bytes() {
    let driver = driver();
    let s1 = stream(&driver);
    let (base, _) = mapped(&driver, 1);
    let shared = (Read(base, Bytes(64)), Read(base, Bytes(64)));
    driver.launch(s1, shared, |(a, b)| assert_eq!(a, b)).unwrap();
    // One after the other within a kernel is fine.
    driver
        .launch_with(s1, move |launch| {
            launch.bytes(Write(base, Bytes(64))).unwrap().fill(9);
            assert_eq!(launch.bytes(Read(base, Bytes(64))).unwrap(), [9; 64]);
        })
        .unwrap();
    sync(&driver).unwrap();
    driver.launch(s1, (Write(base, Bytes(64)), Read(base, Bytes(64))), |_| ()).unwrap();
    assert!(sync(&driver).is_err());
    assert_eq!(driver.clear_fault(DEVICE).unwrap(), Some(Fault::Aliased { stream: s1, ptr: base }));
}

#[test]
fn a_kernel_that_panics_is_a_fault_and_the_stream_lives_on() {
    let driver = driver();
    let s1 = stream(&driver);
    driver.launch(s1, (), |()| std::panic::resume_unwind(Box::new("wrong bytes"))).unwrap();
    assert!(sync(&driver).is_err());
    let message = "wrong bytes".to_owned();
    assert_eq!(driver.clear_fault(DEVICE).unwrap(), Some(Fault::Kernel { stream: s1, message }));
    let notes = Notes::default();
    note(&driver, s1, &notes, 1);
    sync(&driver).unwrap();
    assert_eq!(*notes.lock().unwrap(), [1]);
}

#[test]
fn copies_go_all_ways() {
    let driver = driver();
    let s1 = stream(&driver);
    let (base, _) = mapped(&driver, 1);
    let far = DevicePtr(base.0 + MIB);
    driver.copy_to_device(s1, base, (0..=255).collect()).unwrap();
    driver.copy(s1, far, base, Bytes(256)).unwrap();
    driver.fill(s1, base, 7, Bytes(16)).unwrap();
    let (send, receive) = mpsc::channel();
    for from in [base, far] {
        let send = send.clone();
        driver.copy_to_host(s1, from, Bytes(256), move |bytes| send.send(bytes.to_vec()).unwrap()).unwrap();
    }
    sync(&driver).unwrap();
    let expected: Vec<u8> = (0..=255).collect();
    let mut filled = expected.clone();
    filled[..16].fill(7);
    assert_eq!(receive.recv().unwrap(), filled);
    assert_eq!(receive.recv().unwrap(), expected);
}

#[test]
fn a_synchronisation_can_time_out() {
    let patience = Some(Duration::from_millis(1));
    let driver = HostDriver::new(HostConfig { patience, ..HostConfig::default() }).unwrap();
    let s1 = stream(&driver);
    let open = hold(&driver, s1);
    let late = error(DriverCall::Synchronise, libc::ETIMEDOUT, DriverErrorKind::TimedOut);
    for what in [Target::Stream(s1), Target::Device(DEVICE)] {
        assert_eq!(driver.synchronise(what), Err(late));
    }
    drop(open);
}

#[test]
fn injected_failures_come_when_they_are_due() {
    let driver = driver();
    let (kind, code) = (DriverErrorKind::Exhausted, 42);
    driver.inject(Injection { call: DriverCall::Create, after: 1, times: 2, kind, code });
    let granule = driver.create(DEVICE).unwrap();
    for _ in 0..2 {
        assert_eq!(driver.create(DEVICE), Err(error(DriverCall::Create, code, kind)));
    }
    driver.destroy(DEVICE, granule).unwrap();
    driver.create(DEVICE).unwrap();
    let counters = driver.counters();
    assert_eq!((counters.calls(DriverCall::Create), counters.failures(DriverCall::Create)), (4, 2));
    assert_eq!((counters.calls(DriverCall::Destroy), counters.calls(DriverCall::Map)), (1, 0));
}

#[test]
fn the_clock_does_not_go_back() {
    let driver = driver();
    let (a, b) = (driver.now(), driver.now());
    assert!(a <= b);
}

/// Eight threads, each with its stream, map, write, move and check their own granules while the others do the same.
#[test]
fn eight_threads_work_side_by_side() {
    let driver = driver();
    let base = driver.reserve(DEVICE, Bytes(64 * GRANULE)).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8u64 {
            let driver = &driver;
            scope.spawn(move || move_about(driver, DevicePtr(base.0 + worker * 8 * GRANULE), worker));
        }
    });
    sync(&driver).unwrap();
    assert_eq!(driver.fault(DEVICE).unwrap(), None);
    assert_eq!(driver.created(DEVICE).unwrap(), Bytes(0));
    assert_eq!(driver.resident(DEVICE).unwrap(), Bytes(0));
    driver.release(DEVICE, base, Bytes(64 * GRANULE)).unwrap();
}

fn move_about(driver: &HostDriver, base: DevicePtr, seed: u64) {
    const PART: Bytes = Bytes(64 * 1024);
    let s1 = stream(driver);
    let at = |place: u64| DevicePtr(base.0 + place % 8 * GRANULE);
    let granule = driver.create(DEVICE).unwrap();
    driver.map(DEVICE, at(0), granule, Some(s1)).unwrap();
    driver.launch(s1, Write(at(0), PART), move |bytes| pattern::fill(bytes, seed)).unwrap();
    for step in 1..50 {
        driver.lay(MarkerSlot(u32::try_from(seed).unwrap()), s1).unwrap();
        driver.synchronise(Target::Marker(MarkerSlot(u32::try_from(seed).unwrap()))).unwrap();
        driver.unmap(DEVICE, at(step - 1), Some(s1)).unwrap();
        driver.map(DEVICE, at(step), granule, Some(s1)).unwrap();
        let now = seed + 100 * step;
        let last = now - 100 * u64::from(step > 0);
        driver
            .launch(s1, Write(at(step), PART), move |bytes| {
                assert_eq!(pattern::check(bytes, last), Ok(()));
                pattern::fill(bytes, now);
            })
            .unwrap();
    }
    driver.destroy_stream(s1).unwrap();
    driver.unmap(DEVICE, at(49), None).unwrap();
    driver.destroy(DEVICE, granule).unwrap();
}

#[test]
fn a_launch_waits_where_the_queue_is_full_and_not_before() {
    let host = HostDriver::new(HostConfig::with_total(Bytes::mib(8))).unwrap();
    let stream = host.create_stream(DeviceId(0), StreamKind::NonBlocking).unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    host.launch(stream, (), move |()| gate.recv().unwrap()).unwrap();
    // The first is running or about to: so many more find room.
    for _ in 0..1023 {
        host.launch(stream, (), |()| {}).unwrap();
    }
    let launched = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            host.launch(stream, (), |()| {}).unwrap();
            launched.store(1, std::sync::atomic::Ordering::SeqCst);
            host.launch(stream, (), |()| {}).unwrap();
            launched.store(2, std::sync::atomic::Ordering::SeqCst);
        });
        while launched.load(std::sync::atomic::Ordering::SeqCst) == 0 && host.counters().kernels == 0 {
            std::thread::yield_now();
        }
        assert!(launched.load(std::sync::atomic::Ordering::SeqCst) < 2, "the gate is shut");
        open.send(()).unwrap();
    });
    assert_eq!(launched.load(std::sync::atomic::Ordering::SeqCst), 2);
    host.synchronise(weir::driver::Target::Stream(stream)).unwrap();
}
