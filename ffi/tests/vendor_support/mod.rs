//! Stand-ins of the vendors' libraries (`c/standin.h`), compiled, loaded and driven by tests.
#![allow(dead_code, reason = "each test file uses a part")]

use crate::common::{Language, compiler, file, quietly, scratch};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::{size_of, transmute_copy};
use core::ptr;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use weir::driver::NativeStream;
use weir::units::{Bytes, DevicePtr};
use weir_ffi::vendor::{Vendor, VendorDriver};

/// `struct standin_left` of `c/standin.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) reservations: u64,
    pub(crate) handles: u64,
    pub(crate) mappings: u64,
    pub(crate) events: u64,
    pub(crate) context_uses: u64,
    pub(crate) queued: u64,
}

/// The functions of `c/standin.h`.
struct Functions {
    setup: unsafe extern "C" fn(c_uint, u64, u64),
    fail: unsafe extern "C" fn(*const c_char, u64, u64, c_int),
    calls: unsafe extern "C" fn(*const c_char) -> u64,
    version: unsafe extern "C" fn(c_int),
    kind: unsafe extern "C" fn(c_int),
    event_limit: unsafe extern "C" fn(c_uint),
    violation: unsafe extern "C" fn() -> *const c_char,
    stream: unsafe extern "C" fn(c_uint) -> *mut c_void,
    foreign_stream: unsafe extern "C" fn(c_uint) -> *mut c_void,
    make_current: unsafe extern "C" fn(c_uint),
    is_current: unsafe extern "C" fn() -> c_uint,
    kernel: unsafe extern "C" fn(*mut c_void, u64, u64, c_int, c_int),
    run: unsafe extern "C" fn(),
    left: unsafe extern "C" fn(*mut Left),
}

/// A stand-in that is loaded. It stays until the process ends.
pub(crate) struct Standin {
    pub(crate) vendor: Vendor,
    pub(crate) path: PathBuf,
    functions: Functions,
}

/// Whether a call is wanted of every vendor, and what the others call it.
pub(crate) const fn named(vendor: Vendor, names: [&'static CStr; 3]) -> &'static CStr {
    match vendor {
        Vendor::Cuda => names[0],
        Vendor::Hip => names[1],
        Vendor::Acl => names[2],
    }
}

fn library(vendor: Vendor, name: &str) -> PathBuf {
    scratch(&format!("libstandin_{}_{name}.so", vendor.name()))
}

/// Compiles a vendor's stand-in; `options` go to the compiler.
pub(crate) fn build(vendor: Vendor, name: &str, options: &[&str]) -> PathBuf {
    let path = library(vendor, name);
    let names = if vendor == Vendor::Acl { "tests/c/standin_acl.c" } else { "tests/c/standin_cuda.c" };
    let mut command = compiler(Language::C11);
    command.args(["-O1", "-shared", "-fPIC", "-pthread"]).args(options);
    if vendor == Vendor::Hip {
        command.arg("-DSTANDIN_HIP");
    }
    quietly(command.arg(file("tests/c/standin.c")).arg(file(names)).arg("-o").arg(&path));
    path
}

fn load(path: &Path) -> *mut c_void {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a C string; the library has no code that runs when it is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "{path:?} does not load");
    handle
}

/// A function of the library.
///
/// # Safety
/// It has the type `F`.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> F {
    // SAFETY: a handle that was just opened, and a C string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "there is no {name:?}");
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: of the same size, and of that type as the caller promised.
    unsafe { transmute_copy(&found) }
}

macro_rules! functions {
    ($library:expr, $($field:ident $name:literal)+) => {
        Functions {
            $($field: {
                // SAFETY: c/standin.h declares it so.
                unsafe { function($library, $name) }
            },)+
        }
    };
}

impl Standin {
    /// Loads a library of its own: what a stand-in knows is the library's, and so the process's. The first test of a
    /// process compiles it, and others take a copy, since the loader takes one file for one library.
    pub(crate) fn new(vendor: Vendor, name: &str) -> Self {
        static BUILT: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        let place = Vendor::ALL.iter().position(|other| *other == vendor).unwrap();
        let path = library(vendor, name);
        let built = BUILT[place].get_or_init(|| build(vendor, name, &[]));
        if *built != path {
            std::fs::copy(built, &path).unwrap();
        }
        let library = load(&path);
        let functions = functions! { library,
            setup c"standin_setup" fail c"standin_fail" calls c"standin_calls" version c"standin_version"
            kind c"standin_kind"
            event_limit c"standin_event_limit" violation c"standin_violation" stream c"standin_stream"
            foreign_stream c"standin_foreign_stream" make_current c"standin_make_current"
            is_current c"standin_is_current" kernel c"standin_kernel" run c"standin_run" left c"standin_left"
        };
        Self { vendor, path, functions }
    }

    /// The vendor's driver on it.
    pub(crate) fn driver(&self) -> VendorDriver {
        VendorDriver::open(self.vendor, Some(self.path.as_os_str())).unwrap()
    }

    /// Begins anew with these devices.
    pub(crate) fn setup(&self, devices: u32, granule: u64, granules: u64) {
        // SAFETY: numbers.
        unsafe { (self.functions.setup)(devices, granule, granule * granules) };
    }

    /// Lets `times` calls fail, after `after` more. `None`: calls of any name.
    pub(crate) fn fail(&self, name: Option<&'static CStr>, after: u64, times: u64, code: c_int) {
        // SAFETY: a string that stays, or null.
        unsafe { (self.functions.fail)(name.map_or(ptr::null(), CStr::as_ptr), after, times, code) };
    }

    pub(crate) fn calls(&self, name: Option<&CStr>) -> u64 {
        // SAFETY: a string, or null.
        unsafe { (self.functions.calls)(name.map_or(ptr::null(), CStr::as_ptr)) }
    }

    pub(crate) fn set_version(&self, version: c_int) {
        // SAFETY: a number.
        unsafe { (self.functions.version)(version) };
    }

    /// What its devices are: `standin_kind`.
    pub(crate) fn set_kind(&self, kind: c_int) {
        // SAFETY: a number.
        unsafe { (self.functions.kind)(kind) };
    }

    pub(crate) fn limit_events(&self, limit: u32) {
        // SAFETY: a number.
        unsafe { (self.functions.event_limit)(limit) };
    }

    /// What was done wrong first; empty: nothing.
    pub(crate) fn violation(&self) -> String {
        // SAFETY: no arguments.
        let text = unsafe { (self.functions.violation)() };
        // SAFETY: a string of the library's.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// A stream in the device's usual context.
    pub(crate) fn stream(&self, device: u32) -> NativeStream {
        // SAFETY: a number of a device.
        NativeStream(unsafe { (self.functions.stream)(device) }.expose_provenance() as u64)
    }

    /// A stream in a context of the program's own.
    pub(crate) fn foreign_stream(&self, device: u32) -> NativeStream {
        // SAFETY: a number of a device.
        NativeStream(unsafe { (self.functions.foreign_stream)(device) }.expose_provenance() as u64)
    }

    /// Sets this thread's context to a device's usual one (counted from 1) or to none.
    pub(crate) fn make_current(&self, device: u32) {
        // SAFETY: a number of a device, or 0.
        unsafe { (self.functions.make_current)(device) };
    }

    /// The device of this thread's context, counted from 1; 0: it has none.
    pub(crate) fn current(&self) -> u32 {
        // SAFETY: no arguments.
        unsafe { (self.functions.is_current)() }
    }

    /// Queues a kernel that finds `expected` in all bytes and writes `value`.
    pub(crate) fn kernel(
        &self,
        stream: NativeStream,
        at: DevicePtr,
        bytes: Bytes,
        expected: Option<u8>,
        value: Option<u8>,
    ) {
        let stream = ptr::with_exposed_provenance_mut(usize::try_from(stream.0).unwrap());
        let byte = |value: Option<u8>| value.map_or(-1, c_int::from);
        // SAFETY: a stream that the stand-in gave out, and numbers.
        unsafe { (self.functions.kernel)(stream, at.0, bytes.0, byte(expected), byte(value)) };
    }

    /// The devices do everything that is queued.
    pub(crate) fn run(&self) {
        // SAFETY: no arguments.
        unsafe { (self.functions.run)() };
    }

    pub(crate) fn left(&self) -> Left {
        let mut left = Left::default();
        // SAFETY: a place for the answer.
        unsafe { (self.functions.left)(&raw mut left) };
        left
    }
}
