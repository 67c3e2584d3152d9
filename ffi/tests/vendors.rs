//! The shims to the vendors' drivers, on stand-ins that are strict about what the vendors document.
#![cfg(target_os = "linux")]

mod common;
mod vendor_support;

use std::ffi::{CStr, OsStr};
use vendor_support::{Left, Standin, build, named};
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, MIB};
use weir_ffi::vendor::{Vendor, VendorDriver, VendorError};

const DEVICE: DeviceId = DeviceId(0);
const SECOND: DeviceId = DeviceId(1);
const GRANULE: u64 = 2 * MIB;
const SLOT: MarkerSlot = MarkerSlot(0);

/// The shims' own codes.
const NO_DEVICE: i32 = -2;
const OTHER_CONTEXT: i32 = -3;
const WHOSE_STREAM: i32 = -4;
const NO_SUCH_QUERY: i32 = -5;
const LACKS_MAPPING: i32 = -6;

/// Runs a test on each vendor's stand-in with a driver on it; afterwards nothing wrong was done, and nothing is left.
fn on_each(name: &str, test: impl Fn(&Standin, &VendorDriver)) {
    for vendor in Vendor::ALL {
        let standin = Standin::new(vendor, name);
        standin.setup(2, GRANULE, 16);
        let driver = standin.driver();
        test(&standin, &driver);
        drop(driver);
        assert_eq!(standin.violation(), "", "{vendor:?}");
        let left = standin.left();
        assert_eq!(left, Left { queued: left.queued, ..Left::default() }, "{vendor:?}");
    }
}

/// A range with one granule mapped at its beginning.
fn mapped(driver: &VendorDriver, device: DeviceId) -> (DevicePtr, GranuleHandle) {
    let base = driver.reserve(device, Bytes(4 * GRANULE)).unwrap();
    let granule = driver.create(device).unwrap();
    driver.map(device, base, granule, None).unwrap();
    (base, granule)
}

fn give_back(driver: &VendorDriver, device: DeviceId, (base, granule): (DevicePtr, GranuleHandle)) {
    driver.unmap(device, base, None).unwrap();
    driver.destroy(device, granule).unwrap();
    driver.release(device, base, Bytes(4 * GRANULE)).unwrap();
}

fn failed(call: DriverCall, code: i32, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code, kind }
}

#[test]
fn devices_say_what_they_are() {
    on_each("devices", |_, driver| {
        let expected = Properties {
            // What is recommended, not what is possible at least.
            granularity: Bytes(GRANULE),
            alignment: Bytes(512),
            // Whole granules.
            total: Bytes(16 * GRANULE),
            capabilities: Capabilities::SPARSE_ADDRESSES,
        };
        assert_eq!(driver.properties(DEVICE), Ok(expected));
        assert_eq!(driver.properties(SECOND), Ok(expected));
        let none = failed(DriverCall::Properties, NO_DEVICE, DriverErrorKind::Failed);
        assert_eq!(driver.properties(DeviceId(2)), Err(none));
        assert_eq!(driver.properties(DeviceId(u32::MAX)), Err(none));
    });
}

#[test]
fn memory_may_be_used_where_it_is_mapped_and_moves_with_its_bytes() {
    on_each("memory", |standin, driver| {
        let (base, granule) = mapped(driver, DEVICE);
        assert_eq!(base.0 % GRANULE, 0);
        let stream = standin.stream(0);
        standin.kernel(stream, base, Bytes(GRANULE), None, Some(7));
        driver.synchronise(Target::Stream(stream)).unwrap();
        driver.unmap(DEVICE, base, None).unwrap();
        let next = DevicePtr(base.0 + 2 * GRANULE);
        driver.map(DEVICE, next, granule, Some(stream)).unwrap();
        standin.kernel(stream, next, Bytes(GRANULE), Some(7), None);
        driver.synchronise(Target::Device(DEVICE)).unwrap();
        driver.unmap(DEVICE, next, None).unwrap();
        driver.destroy(DEVICE, granule).unwrap();
        driver.release(DEVICE, base, Bytes(4 * GRANULE)).unwrap();
    });
}

#[test]
fn a_full_device_says_so() {
    on_each("full", |_, driver| {
        let all: Vec<_> = (0..16).map(|_| driver.create(DEVICE).unwrap()).collect();
        let error = driver.create(DEVICE).unwrap_err();
        assert_eq!((error.call, error.kind), (DriverCall::Create, DriverErrorKind::Exhausted));
        // The other device has memory of its own.
        let other = driver.create(SECOND).unwrap();
        driver.destroy(SECOND, other).unwrap();
        all.into_iter().for_each(|granule| driver.destroy(DEVICE, granule).unwrap());
    });
}

#[test]
fn markers_complete_with_what_is_before_them() {
    on_each("markers", |standin, driver| {
        let memory = mapped(driver, DEVICE);
        let [a, b] = [standin.stream(0), standin.stream(0)];
        let complete = |what| driver.query(what).unwrap() == Completion::Complete;
        // Never laid: complete, and nothing to wait for.
        assert!(complete(Target::Marker(SLOT)));
        driver.wait(b, SLOT).unwrap();
        driver.synchronise(Target::Marker(SLOT)).unwrap();
        assert_eq!(standin.left().queued, 0);

        standin.kernel(a, memory.0, Bytes(64), None, Some(1));
        driver.lay(SLOT, a).unwrap();
        standin.kernel(a, memory.0, Bytes(64), Some(1), Some(2));
        assert!(!complete(Target::Marker(SLOT)) && !complete(Target::Stream(a)) && complete(Target::Stream(b)));
        driver.synchronise(Target::Marker(SLOT)).unwrap();
        assert!(complete(Target::Marker(SLOT)) && !complete(Target::Stream(a)), "what is behind it may be pending");

        // The other stream comes after what is queued now, though the slot is laid again elsewhere meanwhile.
        driver.lay(SLOT, a).unwrap();
        driver.wait(b, SLOT).unwrap();
        let c = standin.stream(0);
        driver.lay(SLOT, c).unwrap();
        standin.kernel(b, memory.0, Bytes(64), Some(2), None);
        driver.synchronise(Target::Stream(b)).unwrap();
        assert!(complete(Target::Stream(a)) && !complete(Target::Marker(SLOT)));
        driver.synchronise(Target::Device(DEVICE)).unwrap();
        assert!(complete(Target::Marker(SLOT)));
        give_back(driver, DEVICE, memory);
    });
}

#[test]
fn a_slot_has_one_event_and_uses_it_again() {
    on_each("events", |standin, driver| {
        driver.properties(DEVICE).unwrap();
        let [a, b] = [standin.stream(0), standin.stream(0)];
        for slot in [0, 1, 900, 1, 0] {
            driver.lay(MarkerSlot(slot), a).unwrap();
            driver.lay(MarkerSlot(slot), b).unwrap();
        }
        assert_eq!(standin.left().events, 3);
        // The vendor's limit is a refusal; what is there goes on.
        standin.limit_events(3);
        let error = driver.lay(MarkerSlot(2), a).unwrap_err();
        assert_eq!((error.call, error.kind), (DriverCall::Lay, DriverErrorKind::Exhausted));
        assert_eq!(driver.query(Target::Marker(MarkerSlot(2))), Ok(Completion::Complete));
        driver.lay(MarkerSlot(900), a).unwrap();
        assert_eq!(standin.left().events, 3);
    });
}

#[test]
fn slots_go_from_one_device_to_the_other() {
    on_each("two", |standin, driver| {
        let memory = [mapped(driver, DEVICE), mapped(driver, SECOND)];
        let [a, b] = [standin.stream(0), standin.stream(1)];
        standin.kernel(a, memory[0].0, Bytes(64), None, Some(1));
        driver.lay(SLOT, a).unwrap();
        // A stream of the second device waits for one of the first.
        driver.wait(b, SLOT).unwrap();
        standin.kernel(b, memory[1].0, Bytes(64), None, Some(2));
        driver.lay(SLOT, b).unwrap();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Pending));
        assert_eq!(standin.left().events, 2, "each device has events of its own");
        driver.synchronise(Target::Device(SECOND)).unwrap();
        assert_eq!(driver.query(Target::Stream(a)), Ok(Completion::Complete));
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Complete));
        // What a slot stands for is on the device of its latest lay.
        standin.kernel(b, memory[1].0, Bytes(64), Some(2), None);
        driver.lay(SLOT, b).unwrap();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Pending));
        driver.lay(SLOT, a).unwrap();
        driver.synchronise(Target::Marker(SLOT)).unwrap();
        assert_eq!(driver.query(Target::Stream(b)), Ok(Completion::Pending));
        assert_eq!(standin.left().events, 2);
        driver.synchronise(Target::Device(SECOND)).unwrap();
        give_back(driver, DEVICE, memory[0]);
        give_back(driver, SECOND, memory[1]);
    });
}

#[test]
fn the_threads_context_is_as_before() {
    on_each("context", |standin, driver| {
        // A program's own use, without which there is no such context.
        let work = |before: u32| {
            standin.make_current(before);
            let stream = standin.stream(0);
            let memory = mapped(driver, DEVICE);
            driver.lay(SLOT, stream).unwrap();
            assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Pending));
            driver.synchronise(Target::Stream(stream)).unwrap();
            driver.synchronise(Target::Device(DEVICE)).unwrap();
            driver.properties(SECOND).unwrap();
            give_back(driver, DEVICE, memory);
            standin.current()
        };
        let none = work(0);
        // ACL has no way back to none.
        assert_eq!(none == 0, standin.vendor != Vendor::Acl);
        assert_eq!(work(1), 1);
        assert_eq!(work(2), 2);
    });
}

#[test]
fn streams_that_are_not_understood_are_refused() {
    on_each("streams", |standin, driver| {
        let lay = |stream: u64| driver.lay(SLOT, NativeStream(stream));
        let whose = failed(DriverCall::Lay, WHOSE_STREAM, DriverErrorKind::Unsupported);
        assert_eq!(lay(0), Err(whose), "no device is in use yet");
        driver.properties(DEVICE).unwrap();
        // The default stream of the only device.
        lay(0).unwrap();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Pending));
        driver.synchronise(Target::Stream(NativeStream(0))).unwrap();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Complete));
        assert_eq!(lay(2), Err(whose), "each thread's own");
        // HIP has one context a device.
        let foreign = (standin.vendor != Vendor::Hip).then(|| standin.foreign_stream(0));
        if let Some(foreign) = foreign {
            let code = if standin.vendor == Vendor::Acl { 107_003 } else { OTHER_CONTEXT };
            assert_eq!(lay(foreign.0), Err(failed(DriverCall::Lay, code, DriverErrorKind::Failed)));
        }
        driver.properties(SECOND).unwrap();
        assert_eq!(lay(0), Err(whose), "of which device?");
        driver.lay(SLOT, standin.stream(0)).unwrap();
        driver.lay(SLOT, standin.stream(1)).unwrap();
        if let Some(foreign) = foreign {
            assert_eq!(lay(foreign.0).unwrap_err().code, OTHER_CONTEXT);
        }
    });
}

#[test]
fn a_device_is_asked_nothing_that_the_vendor_cannot_say() {
    on_each("query", |_, driver| {
        let error = failed(DriverCall::Query, NO_SUCH_QUERY, DriverErrorKind::Unsupported);
        assert_eq!(driver.query(Target::Device(DEVICE)), Err(error));
        let error = failed(DriverCall::Synchronise, NO_DEVICE, DriverErrorKind::Failed);
        assert_eq!(driver.synchronise(Target::Device(DeviceId(7))), Err(error));
    });
}

#[test]
fn the_vendors_codes_come_back_with_their_kinds() {
    use DriverErrorKind::{Exhausted, Failed, TimedOut, Unsupported};
    on_each("codes", |standin, driver| {
        let create = named(standin.vendor, [c"cuMemCreate", c"hipMemCreate", c"aclrtMallocPhysical"]);
        let wait = named(standin.vendor, [c"cuStreamSynchronize", c"hipStreamSynchronize", c"aclrtSynchronizeStream"]);
        let codes: &[(i32, DriverErrorKind)] = match standin.vendor {
            Vendor::Cuda | Vendor::Hip => &[(2, Exhausted), (801, Unsupported), (700, Failed), (999, Failed)],
            Vendor::Acl => &[
                (207_001, Exhausted),
                (207_005, Exhausted),
                (207_000, Unsupported),
                (507_046, TimedOut),
                (507_899, Failed),
            ],
        };
        driver.properties(DEVICE).unwrap();
        let stream = standin.stream(0);
        for &(code, kind) in codes {
            standin.fail(Some(create), 0, 1, code);
            assert_eq!(driver.create(DEVICE), Err(failed(DriverCall::Create, code, kind)));
            standin.fail(Some(wait), 0, 1, code);
            let error = failed(DriverCall::Synchronise, code, kind);
            assert_eq!(driver.synchronise(Target::Stream(stream)), Err(error));
        }
    });
}

#[test]
fn a_lay_that_fails_leaves_the_slot_what_it_was() {
    on_each("lay", |standin, driver| {
        driver.properties(DEVICE).unwrap();
        let record = named(standin.vendor, [c"cuEventRecord", c"hipEventRecord", c"aclrtRecordEvent"]);
        let [a, b] = [standin.stream(0), standin.stream(0)];
        // Its event is there then, and was never recorded; for ACL that is not complete.
        standin.fail(Some(record), 0, 1, 999);
        driver.lay(SLOT, a).unwrap_err();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Complete));
        driver.wait(b, SLOT).unwrap();
        driver.synchronise(Target::Marker(SLOT)).unwrap();
        driver.lay(SLOT, a).unwrap();
        driver.synchronise(Target::Stream(a)).unwrap();
        // Complete, and still so after a lay on another device that fails.
        driver.properties(SECOND).unwrap();
        standin.fail(Some(record), 0, 1, 999);
        driver.lay(SLOT, standin.stream(1)).unwrap_err();
        assert_eq!(driver.query(Target::Marker(SLOT)), Ok(Completion::Complete));
    });
}

#[test]
fn a_mapping_without_access_is_undone_at_the_latest_when_it_is_in_the_way() {
    for (vendor, access, unmap) in
        [(Vendor::Cuda, c"cuMemSetAccess", c"cuMemUnmap"), (Vendor::Hip, c"hipMemSetAccess", c"hipMemUnmap")]
    {
        let standin = Standin::new(vendor, "access");
        standin.setup(1, GRANULE, 16);
        let driver = standin.driver();
        let base = driver.reserve(DEVICE, Bytes(4 * GRANULE)).unwrap();
        let [granule, other] = [driver.create(DEVICE).unwrap(), driver.create(DEVICE).unwrap()];
        let map = |granule| driver.map(DEVICE, base, granule, None);
        standin.fail(Some(access), 0, 1, 1);
        assert_eq!(map(granule), Err(failed(DriverCall::Map, 1, DriverErrorKind::Failed)));
        assert_eq!((standin.left().mappings, standin.calls(Some(unmap))), (0, 1));
        // After the access the undoing fails too: the next two calls of any name.
        let before = standin.calls(None);
        map(granule).unwrap();
        let calls = standin.calls(None) - before;
        driver.unmap(DEVICE, base, None).unwrap();
        let strand = |granule| {
            // The last calls of a map are the access and the thread's way back.
            standin.fail(None, calls - 2, 2, 1);
            map(granule).unwrap_err();
            standin.fail(None, 0, 0, 0);
            assert_eq!(standin.left().mappings, 1);
        };
        strand(granule);
        map(granule).unwrap();
        driver.unmap(DEVICE, base, None).unwrap();
        strand(granule);
        map(other).unwrap();
        driver.unmap(DEVICE, base, None).unwrap();
        strand(granule);
        driver.destroy(DEVICE, granule).unwrap();
        strand(other);
        driver.map(DEVICE, DevicePtr(base.0 + GRANULE), other, None).unwrap();
        driver.unmap(DEVICE, DevicePtr(base.0 + GRANULE), None).unwrap();
        strand(other);
        driver.release(DEVICE, base, Bytes(4 * GRANULE)).unwrap();
        driver.destroy(DEVICE, other).unwrap();
        drop(driver);
        assert_eq!((standin.violation(), standin.left()), (String::new(), Left::default()));
    }
}

#[test]
fn a_device_that_cannot_map_is_none() {
    let standin = Standin::new(Vendor::Cuda, "lacks");
    standin.setup(1, GRANULE, 16);
    standin.set_kind(1);
    let error = failed(DriverCall::Properties, LACKS_MAPPING, DriverErrorKind::Unsupported);
    assert_eq!(standin.driver().properties(DEVICE), Err(error));
    // Granules that hold no block.
    standin.setup(1, 256, 64);
    assert_eq!(standin.driver().properties(DEVICE), Err(error));
    // Less than a granule.
    standin.setup(1, GRANULE, 0);
    assert_eq!(standin.driver().properties(DEVICE), Err(error));
    assert_eq!((standin.violation(), standin.left()), (String::new(), Left::default()));
}

#[test]
fn products_without_hbm_have_ddr() {
    let standin = Standin::new(Vendor::Acl, "ddr");
    for kind in [1, 2] {
        standin.setup(1, GRANULE, 16);
        standin.set_kind(kind);
        let driver = standin.driver();
        assert_eq!(driver.properties(DEVICE).unwrap().total, Bytes(16 * GRANULE));
        let memory = mapped(&driver, DEVICE);
        give_back(&driver, DEVICE, memory);
        drop(driver);
        assert_eq!((standin.violation(), standin.left()), (String::new(), Left::default()));
    }
}

#[test]
fn the_stand_ins_refuse_what_the_vendors_do() {
    type Wrong = fn(&Standin, &VendorDriver, DevicePtr, GranuleHandle) -> Result<(), DriverError>;
    let wrongs: [(&str, Wrong); 8] = [
        ("over a mapping", |_, driver, base, _| {
            let other = driver.create(DEVICE)?;
            driver.map(DEVICE, base, other, None)
        }),
        ("a handle twice", |_, driver, base, granule| driver.map(DEVICE, DevicePtr(base.0 + GRANULE), granule, None)),
        ("unaligned", |_, driver, base, _| {
            let other = driver.create(DEVICE)?;
            driver.map(DEVICE, DevicePtr(base.0 + GRANULE + 4096), other, None)
        }),
        ("two devices' memory", |_, driver, base, _| {
            let other = driver.create(SECOND)?;
            driver.map(SECOND, DevicePtr(base.0 + GRANULE), other, None)
        }),
        ("queued work uses", |standin, driver, base, _| {
            standin.kernel(standin.stream(0), base, Bytes(1), None, None);
            driver.unmap(DEVICE, base, None)
        }),
        ("no whole mapping", |_, driver, base, _| driver.unmap(DEVICE, DevicePtr(base.0 + GRANULE), None)),
        ("a handle that is mapped", |_, driver, _, granule| driver.destroy(DEVICE, granule)),
        ("where memory is mapped", |_, driver, base, _| driver.release(DEVICE, base, Bytes(4 * GRANULE))),
    ];
    for vendor in Vendor::ALL {
        let standin = Standin::new(vendor, "wrong");
        for (what, wrong) in wrongs {
            standin.setup(2, GRANULE, 16);
            let driver = standin.driver();
            let (base, granule) = mapped(&driver, DEVICE);
            assert_eq!(standin.violation(), "");
            wrong(&standin, &driver, base, granule).unwrap_err();
            assert!(standin.violation().contains(what), "{vendor:?}: {what}: {}", standin.violation());
        }
        // What a kernel does wrong is seen when it runs.
        standin.setup(1, GRANULE, 16);
        let stream = standin.stream(0);
        standin.kernel(stream, DevicePtr(GRANULE), Bytes(1), None, None);
        standin.run();
        assert!(standin.violation().contains("not mapped"), "{}", standin.violation());
    }
}

/// Opens a library that does not do; the text names everything of `parts`.
fn refused(vendor: Vendor, library: &OsStr, parts: &[&str]) -> VendorError {
    let error = VendorDriver::open(vendor, Some(library)).unwrap_err();
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{vendor:?}: {part:?} is not in: {text}");
    }
    error
}

#[test]
fn libraries_that_do_not_do_are_refused_by_name() {
    for vendor in Vendor::ALL {
        let missing = OsStr::new("/nowhere/libnothing.so");
        let error = refused(vendor, missing, &["/nowhere/libnothing.so", "does not load", vendor.variable()]);
        assert!(matches!(error, VendorError::Library(_)));
        for name in ["", "libs/libcuda.so", "./libcuda.so", "nul\0.so"] {
            let error = refused(vendor, OsStr::new(name), &["absolute path"]);
            assert!(matches!(error, VendorError::BadName(_)), "{name:?}");
        }
        // A library of another kind, and those that lack any one function.
        let error = refused(vendor, OsStr::new("libc.so.6"), &["libc.so.6", "lacks the function"]);
        assert!(matches!(error, VendorError::Symbol(_)));
        let last = named(vendor, [c"cuStreamSynchronize", c"hipStreamSynchronize", c"aclrtSynchronizeStream"]);
        let map = named(vendor, [c"cuMemMap", c"hipMemMap", c"aclrtMapMem"]);
        for name in [last, map].map(|name| name.to_str().unwrap()) {
            let library = build(vendor, &format!("no_{name}"), &[&format!("-D{name}=another_{name}")]);
            let error = refused(vendor, library.as_os_str(), &[library.to_str().unwrap(), &format!("`{name}`")]);
            assert!(matches!(error, VendorError::Symbol(_)));
        }
    }
}

#[test]
fn versions_that_do_not_do_and_vendors_that_refuse_say_what_is_wrong() {
    for vendor in Vendor::ALL {
        let standin = Standin::new(vendor, "versions");
        standin.setup(1, GRANULE, 16);
        let (version, parts): (i32, [&str; 2]) = match vendor {
            Vendor::Cuda => (10_010, ["CUDA driver is version 10.1", "10.2"]),
            Vendor::Hip => (50_730_921, ["HIP driver is version 5.7", "6.0"]),
            Vendor::Acl => (2, ["ACL interface is version 2.13.0", "1 is the one"]),
        };
        standin.set_version(version);
        let error = refused(vendor, standin.path.as_os_str(), &parts);
        assert!(matches!(error, VendorError::Version(_)));
        standin.set_version(0);
        let init = named(vendor, [c"cuInit", c"hipInit", c"aclInit"]);
        standin.fail(Some(init), 0, 1, 100);
        let error = refused(vendor, standin.path.as_os_str(), &["refused to begin", "code 100"]);
        assert!(matches!(error, VendorError::Refused(_)));
        drop(standin.driver());
    }
}

#[test]
fn every_way_into_a_device_may_fail_and_is_taken_again() {
    on_each("open", |standin, driver| {
        let before = standin.calls(None);
        driver.properties(DEVICE).unwrap();
        let calls = standin.calls(None) - before;
        for k in 0..calls {
            let driver = standin.driver();
            standin.fail(None, k, 1, 999);
            let first = driver.properties(DEVICE);
            standin.fail(None, 0, 0, 0);
            // The last call is the thread's way back, and an error then would be about what was done.
            assert!(first.is_err() || k == calls - 1, "{:?}: {k}", standin.vendor);
            driver.properties(DEVICE).unwrap();
            standin.make_current(0);
        }
    });
}

#[test]
fn four_threads_on_two_devices_keep_their_contexts_and_their_bytes() {
    on_each("threads", |standin, driver| {
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                scope.spawn(move || {
                    let device = thread % 2;
                    let stream = standin.stream(device);
                    for round in 0..50_u32 {
                        let value = u8::try_from(thread * 50 + round).unwrap();
                        let memory = mapped(driver, DeviceId(device));
                        standin.kernel(stream, memory.0, Bytes(256), None, Some(value));
                        standin.kernel(stream, memory.0, Bytes(256), Some(value), None);
                        // A slot of each thread's own, and one that all lay and ask.
                        for slot in [MarkerSlot(1 + thread), MarkerSlot(1000 * (1 + round)), SLOT] {
                            driver.lay(slot, stream).unwrap();
                            driver.query(Target::Marker(slot)).map(drop).unwrap();
                            driver.wait(stream, slot).unwrap();
                        }
                        driver.synchronise(Target::Marker(MarkerSlot(1 + thread))).unwrap();
                        give_back(driver, DeviceId(device), memory);
                    }
                    driver.synchronise(Target::Device(DeviceId(device))).unwrap();
                });
            }
        });
    });
}

/// The name of a call is not the same for all; those of the three vendors.
#[test]
fn hip_is_called_by_its_own_names_alone() {
    let names: [&CStr; 3] = [c"hipMemAddressReserve", c"hipMemSetAccess", c"hipStreamGetDevice"];
    let standin = Standin::new(Vendor::Hip, "names");
    standin.setup(1, GRANULE, 16);
    let driver = standin.driver();
    let memory = mapped(&driver, DEVICE);
    driver.lay(SLOT, standin.stream(0)).unwrap();
    give_back(&driver, DEVICE, memory);
    assert_eq!(names.map(|name| standin.calls(Some(name))), [1, 1, 1]);
}
