//! The vendors' drivers: CUDA, HIP and Ascend's ACL, by way of C shims that load the vendor's library at run time.
//!
//! Nothing of a vendor's is needed to build or to test. So far the shims have run against stand-ins of our own
//! (`tests/c/standin*.c`), which are strict about what the vendors document, and **not on hardware**.
//!
//! ```no_run
//! use weir::{Capacities, Shared, trace::NullSink};
//! use weir_ffi::{arenas::HeapArenas, vendor::{Vendor, VendorDriver}};
//!
//! let driver = VendorDriver::open(Vendor::Cuda, None)?;
//! let mut arenas = HeapArenas::new(Capacities::default());
//! let rt = Shared::new(arenas.lend(), driver, NullSink);
//! # Ok::<(), weir_ffi::vendor::VendorError>(())
//! ```
//!
//! # Which library
//!
//! What [`VendorDriver::open`] is given, or else what the [environment variable](Vendor::variable) says, or else the
//! [usual name](Vendor::libraries). A name is an absolute path, or a file name that the system's loader looks for;
//! anything else would depend on the folder that the program happens to run in, and is refused. A library stays loaded
//! until the process ends.
//!
//! # Streams
//!
//! A [`NativeStream`](weir::driver::NativeStream) is the vendor's handle (`CUstream`, `hipStream_t`, `aclrtStream`) as
//! a number. Programs make their streams with the vendor's own functions, in the device's *primary* context (CUDA: what
//! the runtime interface uses, and `cuDevicePrimaryCtxRetain` gives) or *default* context (ACL: what `aclrtSetDevice`
//! makes). Others are refused where a call names them: a device's synchronisation does not cover them. The default
//! stream (0) may be used while one device alone is in use; CUDA's per-thread default stream may not, since it is
//! another one for each caller.
//!
//! # What a device can do
//!
//! Memory is mapped and unmapped at once, not in the order of a stream, and addresses are cheap
//! ([`Capabilities::SPARSE_ADDRESSES`](weir::driver::Capabilities::SPARSE_ADDRESSES)). Granules have the size that the
//! vendor recommends. Memory may be read and written by its own device only. Completion is known of streams and
//! markers, not of devices, which can only be waited for. None of the calls has a time limit of its own.
//!
//! A marker slot takes one of the vendor's events when it is first laid on a device, and keeps it.
//!
//! # Codes
//!
//! The code of an error is the vendor's. Those below 0 are the shims' own: -1 the host has no memory left, -2 there is
//! no such device, -3 a stream of another context, -4 a default stream of nobody knows which device or thread, -5 a
//! device was asked whether it is complete, -6 the device cannot map memory.
//!
//! # Threads
//!
//! All calls may be made on any thread. Each makes the device's context current and puts back what was current before;
//! only ACL cannot put back that there was none.

use crate::bindings::weir_driver_ops;
use crate::environment::variable;
use crate::table::TableDriver;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;
use core::mem::zeroed;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use weir::driver::Driver;

type Open = unsafe extern "C" fn(*const c_char, *mut weir_driver_ops, *mut c_char, usize) -> c_int;

// `shim/common.h`.
unsafe extern "C" {
    fn weir_shim_cuda(library: *const c_char, ops: *mut weir_driver_ops, text: *mut c_char, size: usize) -> c_int;
    fn weir_shim_hip(library: *const c_char, ops: *mut weir_driver_ops, text: *mut c_char, size: usize) -> c_int;
    fn weir_shim_acl(library: *const c_char, ops: *mut weir_driver_ops, text: *mut c_char, size: usize) -> c_int;
    fn weir_shim_close(ops: *mut weir_driver_ops) -> c_int;
}

/// Whose driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// NVIDIA's driver interface, version 10.2 or later.
    Cuda,
    /// AMD's HIP, version 6.0 or later.
    Hip,
    /// Huawei's ACL runtime for Ascend: CANN 8 or 9, interface version 1.
    Acl,
}

impl Vendor {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cuda, Self::Hip, Self::Acl];

    /// The interface's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
            Self::Acl => "ACL",
        }
    }

    /// The environment variable that names the library.
    #[must_use]
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Cuda => "WEIR_CUDA_LIBRARY",
            Self::Hip => "WEIR_HIP_LIBRARY",
            Self::Acl => "WEIR_ACL_LIBRARY",
        }
    }

    /// The library's usual names; the first that loads is taken.
    #[must_use]
    pub const fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::Cuda => &["libcuda.so.1"],
            // The name without a number comes with the developers' files only.
            Self::Hip => &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"],
            Self::Acl => &["libascendcl.so"],
        }
    }

    const fn opening(self) -> Open {
        match self {
            Self::Cuda => weir_shim_cuda,
            Self::Hip => weir_shim_hip,
            Self::Acl => weir_shim_acl,
        }
    }
}

/// Why a vendor's driver cannot be used. The text says which library, function or version it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VendorError {
    /// The library's name is neither an absolute path nor a file name.
    BadName(String),
    /// The library does not load.
    Library(String),
    /// The library lacks a function.
    Symbol(String),
    /// The library's version is not known to do.
    Version(String),
    /// The vendor's driver refused to begin, with its code: often there is no device.
    Refused(String),
    /// The host has no memory left.
    Memory,
}

impl fmt::Display for VendorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName(text)
            | Self::Library(text)
            | Self::Symbol(text)
            | Self::Version(text)
            | Self::Refused(text) => f.write_str(text),
            Self::Memory => f.write_str("the host has no memory left for a driver"),
        }
    }
}

impl std::error::Error for VendorError {}

/// The outcomes of `enum shim_opened`.
fn outcome(opened: c_int, text: String) -> Result<(), VendorError> {
    match opened {
        0 => Ok(()),
        1 => Err(VendorError::Library(text)),
        2 => Err(VendorError::Symbol(text)),
        3 => Err(VendorError::Version(text)),
        4 => Err(VendorError::Refused(text)),
        _ => Err(VendorError::Memory),
    }
}

/// The libraries to try, and where a name of the user's comes from.
fn candidates(vendor: Vendor, library: Option<&OsStr>) -> Result<Vec<CString>, VendorError> {
    let from = |name: &OsStr, place: &str| checked(name, place).map(|name| vec![name]);
    if let Some(library) = library {
        return from(library, "the library's name");
    }
    if let Some(library) = variable(vendor.variable()) {
        return from(&library, vendor.variable());
    }
    vendor.libraries().iter().map(|name| checked(&OsString::from(name), vendor.name())).collect()
}

fn checked(name: &OsStr, place: &str) -> Result<CString, VendorError> {
    let bytes = name.as_bytes();
    let is_path = bytes.contains(&b'/');
    let bad = || {
        let wanted = "expected an absolute path, or a file name without a folder";
        VendorError::BadName(format!("{place} is {name:?}: {wanted}"))
    };
    if bytes.is_empty() || (is_path && !bytes.starts_with(b"/")) {
        return Err(bad());
    }
    CString::new(bytes).map_err(|_| bad())
}

/// A table of functions for a vendor's driver, to be given to [`close`] once nobody uses it any more.
pub(crate) fn open(vendor: Vendor, library: Option<&OsStr>) -> Result<weir_driver_ops, VendorError> {
    let mut missing = String::new();
    for name in candidates(vendor, library)? {
        match open_library(vendor, &name) {
            // The first name is the one that people know.
            Err(VendorError::Library(text)) if missing.is_empty() => missing = text,
            Err(VendorError::Library(_)) => {}
            other => return other,
        }
    }
    Err(VendorError::Library(format!("{missing}; {} can name another one", vendor.variable())))
}

/// Loads a vendor's library alone, by the [same rules](self#which-library), and answers the system's handle of it (as
/// `dlopen` does, never null). It stays loaded.
///
/// # Errors
/// The library is not there or does not load, or its name is neither an absolute path nor a file name.
pub fn load(vendor: Vendor) -> Result<*mut c_void, VendorError> {
    let mut missing = String::new();
    for name in candidates(vendor, None)? {
        // SAFETY: a string. What the library does when it is loaded is what a program linked with it has done too.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(handle);
        }
        // SAFETY: answers a string, or null.
        let why = unsafe { libc::dlerror() };
        if missing.is_empty() && !why.is_null() {
            // SAFETY: non-null, so a string that is good until the thread's next call of the loader.
            missing = unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned();
        }
    }
    Err(VendorError::Library(format!("{missing}; {} can name another one", vendor.variable())))
}

fn open_library(vendor: Vendor, name: &CStr) -> Result<weir_driver_ops, VendorError> {
    // SAFETY: a struct of numbers, pointers and functions that may be missing: all of them may be 0.
    let mut ops: weir_driver_ops = unsafe { zeroed() };
    let mut text: [c_char; 512] = [0; 512];
    let open = vendor.opening();
    // SAFETY: a string, a place for the table, and a buffer with its size, which the shim does not overrun.
    let opened = unsafe { open(name.as_ptr(), &raw mut ops, text.as_mut_ptr(), text.len()) };
    // SAFETY: the buffer was all 0, and the shim writes at most a string into it.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    outcome(opened, text.to_string_lossy().into_owned())?;
    Ok(ops)
}

/// Ends what [`open`] began and empties the table; `false`: the table is not of [`open`]'s making.
///
/// # Safety
/// Nobody uses the driver any more, and no other copy of the table was given to this function.
pub(crate) unsafe fn close(ops: &mut weir_driver_ops) -> bool {
    // SAFETY: as the caller promised; a table of another making is told apart by its functions.
    unsafe { weir_shim_close(ops) != 0 }
}

/// A vendor's driver. See the [module's page](self).
///
/// Dropping it destroys its events and lets go of its contexts. Memory that is still mapped stays the process's.
#[derive(Debug)]
pub struct VendorDriver {
    table: TableDriver,
    ops: weir_driver_ops,
}

// SAFETY: the shims may be called on any thread; the table's copy is only looked at by `drop`.
unsafe impl Send for VendorDriver {}
// SAFETY: the shims may be called on several threads at once.
unsafe impl Sync for VendorDriver {}

impl VendorDriver {
    /// Loads the library (`None`: see the [module's page](self)) and begins. A device is bound when it is first used.
    ///
    /// # Errors
    /// The library is not there, lacks a function or has a version that does not do, or the vendor refuses.
    pub fn open(vendor: Vendor, library: Option<&OsStr>) -> Result<Self, VendorError> {
        let ops = open(vendor, library)?;
        // SAFETY: the shims do what the header says, from any thread, until the driver is dropped.
        let table = unsafe { TableDriver::new(&ops) };
        // A shim fills in all of the table.
        table.map(|table| Self { table, ops }).map_err(|error| VendorError::Refused(error.to_string()))
    }
}

impl Driver for VendorDriver {
    weir::hand_on!(self => self.table);
}

impl Drop for VendorDriver {
    fn drop(&mut self) {
        // SAFETY: the driver is being dropped, and its table was given to nobody else.
        unsafe { close(&mut self.ops) };
    }
}
