//! A driver written in C, behind the table of functions.
#![cfg(target_os = "linux")]

mod common;

use common::{Language, compiler, file, quietly, scratch};
use core::ffi::{CStr, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use std::ffi::CString;
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};
use weir_ffi::bindings::{weir_driver_ops, weir_driver_status, weir_driver_target};
use weir_ffi::table::{TableDriver, TableError};

const DEVICE: DeviceId = DeviceId(0);
const GRANULE: u64 = 65536;
const PLACES: usize = 1024;
const CALLS: usize = 12;

/// `struct toy_driver` of `c/toy_driver.h`.
#[repr(C)]
struct Toy {
    calls: [u64; CALLS],
    fail_call: u32,
    fail_status: c_int,
    fail_code: c_int,
    created: u32,
    mapped: u32,
    base: u64,
    bytes: u64,
    file: c_int,
    taken: [u8; PLACES],
    places: [u32; PLACES],
    clock: u64,
    last_stream: u64,
    last_target: weir_driver_target,
}

type Open = unsafe extern "C" fn(*mut *mut Toy, *mut weir_driver_ops) -> c_int;

/// Builds the C driver as a shared object, loads it, and opens one device. Both stay until the process ends.
fn open(name: &str) -> (*mut Toy, weir_driver_ops) {
    let library = scratch(&format!("libtoy_{name}.so"));
    let source = file("tests/c/toy_driver.c");
    quietly(compiler(Language::C11).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source));
    let path = CString::new(library.to_str().unwrap()).unwrap();
    let open = symbol(&path, c"toy_open");
    // SAFETY: `toy_open` has this type (c/toy_driver.h).
    let open = unsafe { transmute::<*mut c_void, Open>(open) };
    let mut toy = core::ptr::null_mut();
    let mut ops = MaybeUninit::uninit();
    // SAFETY: both pointers are to locals that outlive the call.
    let status = unsafe { open(&raw mut toy, ops.as_mut_ptr()) };
    assert_eq!(status, 0);
    // SAFETY: after success the table is filled in.
    (toy, unsafe { ops.assume_init() })
}

fn symbol(library: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: a C string; the library has no code that runs when it is loaded.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "{library:?} does not load");
    // SAFETY: a handle that was just opened, and a C string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    assert!(!found.is_null(), "{library:?} has no {name:?}");
    found
}

fn driver(ops: &weir_driver_ops) -> TableDriver {
    // SAFETY: the toy driver does what the header says, and lives until the process ends.
    unsafe { TableDriver::new(ops) }.unwrap()
}

/// Looks at the C side.
fn look<T>(toy: *mut Toy, at: impl FnOnce(&mut Toy) -> T) -> T {
    // SAFETY: the toy lives until the process ends, and no call of it is under way: the tests are single-threaded.
    at(unsafe { &mut *toy })
}

#[test]
fn every_call_arrives_with_its_arguments_and_brings_its_answer_back() {
    let (toy, ops) = open("calls");
    let driver = driver(&ops);
    let expected = Properties {
        granularity: Bytes(GRANULE),
        alignment: Bytes(256),
        total: Bytes(PLACES as u64 * GRANULE),
        capabilities: Capabilities::SPARSE_ADDRESSES,
    };
    assert_eq!(driver.properties(DEVICE), Ok(expected));
    let base = driver.reserve(DEVICE, Bytes(8 * GRANULE)).unwrap();
    assert_eq!((base.0, 8 * GRANULE), look(toy, |t| (t.base, t.bytes)));
    let granules = [driver.create(DEVICE).unwrap(), driver.create(DEVICE).unwrap()];
    assert_eq!(granules, [GranuleHandle(1), GranuleHandle(2)]);
    driver.map(DEVICE, DevicePtr(base.0 + GRANULE), granules[1], Some(NativeStream(77))).unwrap();
    assert_eq!(look(toy, |t| (t.places[1], t.last_stream)), (2, 77));
    driver.map(DEVICE, base, granules[0], None).unwrap();
    assert_eq!(look(toy, |t| (t.places[0], t.last_stream, t.mapped)), (1, 0, 2));
    driver.unmap(DEVICE, base, Some(NativeStream(77))).unwrap();
    driver.unmap(DEVICE, DevicePtr(base.0 + GRANULE), None).unwrap();
    for granule in granules {
        driver.destroy(DEVICE, granule).unwrap();
    }
    driver.release(DEVICE, base, Bytes(8 * GRANULE)).unwrap();
    driver.lay(MarkerSlot(3), NativeStream(5)).unwrap();
    driver.wait(NativeStream(6), MarkerSlot(3)).unwrap();
    assert_eq!(driver.now(), Nanos(1));
    assert_eq!(look(toy, |t| t.calls), [1, 1, 1, 2, 2, 2, 2, 1, 0, 1, 0, 1]);
    assert_eq!(look(toy, |t| (t.created, t.mapped, t.base)), (0, 0, 0));
}

#[test]
fn targets_are_told_apart() {
    let (toy, ops) = open("targets");
    let driver = driver(&ops);
    let targets = [
        (Target::Stream(NativeStream(1 << 40)), (0, 1 << 40)),
        (Target::Marker(MarkerSlot(9)), (1, 9)),
        (Target::Device(DEVICE), (2, 0)),
    ];
    for (what, expected) in targets {
        assert_eq!(driver.query(what), Ok(Completion::Complete));
        assert_eq!(look(toy, |t| (t.last_target.kind, t.last_target.id)), expected);
        look(toy, |t| t.last_target.id = 1234);
        driver.synchronise(what).unwrap();
        assert_eq!(look(toy, |t| (t.last_target.kind, t.last_target.id)), expected);
    }
}

unsafe extern "C" fn odd_query(
    _: *mut c_void,
    _: *const weir_driver_target,
    complete: *mut c_int,
    _: *mut c_int,
) -> c_int {
    // SAFETY: the header says that it is never null.
    unsafe { complete.write(-1) };
    0
}

#[test]
fn an_answer_that_is_none_is_a_failure_and_not_completion() {
    let (_, ops) = open("odd");
    let driver = driver(&weir_driver_ops { query: Some(odd_query), ..ops });
    let failed = DriverError { call: DriverCall::Query, code: -1, kind: DriverErrorKind::Failed };
    assert_eq!(driver.query(Target::Device(DEVICE)), Err(failed));
}

#[test]
fn memory_behind_the_table_is_real() {
    let (_, ops) = open("memory");
    let driver = driver(&ops);
    let base = driver.reserve(DEVICE, Bytes(4 * GRANULE)).unwrap();
    let granule = driver.create(DEVICE).unwrap();
    driver.map(DEVICE, base, granule, None).unwrap();
    let bytes = |at: u64| core::ptr::with_exposed_provenance_mut::<u8>(usize::try_from(at).unwrap());
    // SAFETY: the granule is mapped there, and nobody else uses it.
    unsafe { bytes(base.0 + 5).write(42) };
    driver.unmap(DEVICE, base, None).unwrap();
    driver.map(DEVICE, DevicePtr(base.0 + 2 * GRANULE), granule, None).unwrap();
    // SAFETY: the granule is mapped there now.
    assert_eq!(unsafe { bytes(base.0 + 2 * GRANULE + 5).read() }, 42);
}

#[test]
fn each_calls_failure_comes_back_with_kind_and_code() {
    let (toy, ops) = open("failures");
    let driver = driver(&ops);
    let at = DevicePtr(0);
    let call = |call: DriverCall| match call {
        DriverCall::Properties => driver.properties(DEVICE).map(drop),
        DriverCall::Reserve => driver.reserve(DEVICE, Bytes(GRANULE)).map(drop),
        DriverCall::Release => driver.release(DEVICE, at, Bytes(GRANULE)),
        DriverCall::Create => driver.create(DEVICE).map(drop),
        DriverCall::Destroy => driver.destroy(DEVICE, GranuleHandle(1)),
        DriverCall::Map => driver.map(DEVICE, at, GranuleHandle(1), None),
        DriverCall::Unmap => driver.unmap(DEVICE, at, None),
        DriverCall::Lay => driver.lay(MarkerSlot(0), NativeStream(0)),
        DriverCall::Query => driver.query(Target::Device(DEVICE)).map(drop),
        DriverCall::Wait => driver.wait(NativeStream(0), MarkerSlot(0)),
        DriverCall::Synchronise => driver.synchronise(Target::Device(DEVICE)),
    };
    let statuses = [
        (weir_driver_status::WEIR_DRIVER_EXHAUSTED, DriverErrorKind::Exhausted),
        (weir_driver_status::WEIR_DRIVER_TIMED_OUT, DriverErrorKind::TimedOut),
        (weir_driver_status::WEIR_DRIVER_UNSUPPORTED, DriverErrorKind::Unsupported),
        (weir_driver_status::WEIR_DRIVER_FAILED, DriverErrorKind::Failed),
    ];
    for (i, name) in DriverCall::ALL.into_iter().enumerate() {
        for (status, kind) in statuses {
            look(toy, |t| {
                (t.fail_call, t.fail_status, t.fail_code) =
                    (u32::try_from(i).unwrap(), c_int::try_from(status).unwrap(), -7);
            });
            assert_eq!(call(name), Err(DriverError { call: name, code: -7, kind }), "{}", name.name());
        }
        // A status that the header does not know is a failure, and the code is the status.
        look(toy, |t| (t.fail_call, t.fail_status, t.fail_code) = (u32::try_from(i).unwrap(), -5, 1));
        let kind = DriverErrorKind::Failed;
        assert_eq!(call(name), Err(DriverError { call: name, code: -5, kind }), "{}", name.name());
    }
}

#[test]
fn a_table_that_cannot_be_used_is_refused_by_name() {
    let (_, ops) = open("refused");
    // SAFETY: every one of these is refused before anything is called.
    let refused = |ops: weir_driver_ops| unsafe { TableDriver::new(&ops) }.unwrap_err();
    let error = refused(weir_driver_ops { abi: 2, ..ops });
    assert_eq!(error, TableError::Version { found: 2, expected: 1 });
    assert!(error.to_string().contains("WEIR_DRIVER_ABI"));
    let size = u32::try_from(size_of::<weir_driver_ops>()).unwrap();
    let error = refused(weir_driver_ops { size: 8, ..ops });
    assert_eq!(error, TableError::Size { found: 8, expected: size });
    let holes = [
        ("properties", weir_driver_ops { properties: None, ..ops }),
        ("reserve", weir_driver_ops { reserve: None, ..ops }),
        ("release", weir_driver_ops { release: None, ..ops }),
        ("create", weir_driver_ops { create: None, ..ops }),
        ("destroy", weir_driver_ops { destroy: None, ..ops }),
        ("map", weir_driver_ops { map: None, ..ops }),
        ("unmap", weir_driver_ops { unmap: None, ..ops }),
        ("lay", weir_driver_ops { lay: None, ..ops }),
        ("query", weir_driver_ops { query: None, ..ops }),
        ("wait", weir_driver_ops { wait: None, ..ops }),
        ("synchronise", weir_driver_ops { synchronise: None, ..ops }),
        ("now", weir_driver_ops { now: None, ..ops }),
    ];
    for (name, ops) in holes {
        let error = refused(ops);
        assert_eq!(error, TableError::Missing(name));
        assert_eq!(error.to_string(), format!("driver table: function `{name}` is null"));
    }
}
