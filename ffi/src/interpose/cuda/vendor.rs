//! The vendor's two libraries: which they are, and what they answer.
//!
//! The driver is the one that comes behind this library, or else the one that is loaded by name, as the shim does. The
//! runtime is the one that comes behind, or one that the process has loaded apart from that, as Python's extensions do.

use super::codes::{CAPTURE_IMPLICIT, CAPTURE_UNSUPPORTED, NOT_SUPPORTED};
use super::threads;
use crate::environment::variable;
use crate::interpose::front::{Front, Handle, Implied};
use crate::interpose::library::{Library, vendors};
use crate::vendor::{self, Vendor};
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use core::ptr;
use std::sync::OnceLock;
use weir::policy::StreamKind;

/// `cudaStreamLegacy`, `CU_STREAM_LEGACY`: the default stream that all threads share.
pub(super) const LEGACY: usize = 1;
/// `cudaStreamPerThread`, `CU_STREAM_PER_THREAD`: the thread's own.
pub(super) const PER_THREAD: usize = 2;

/// The driver; `None`: it does not load. It may later: the runtime looks for it in places of its own.
fn driver() -> Option<&'static Library> {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    if let Some(found) = DRIVER.get() {
        return Some(found);
    }
    let found = if variable(Vendor::Cuda.variable()).is_none() && !Library::BEHIND.find(c"cuInit").is_null() {
        Library::BEHIND
    } else {
        // The shim says why, when a pool is wanted.
        Library::new(vendor::load(Vendor::Cuda).ok()?)
    };
    Some(DRIVER.get_or_init(|| found))
}

/// Whether a loaded object is the vendor's runtime.
pub(super) fn is_runtime(name: &CStr) -> bool {
    let name = name.to_bytes();
    let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    file.starts_with(b"libcudart.so")
}

/// The runtime that is loaded where those that look behind this library do not find it.
fn loaded_runtime() -> Option<Library> {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
        // SAFETY: the system gives a struct that is good during the call.
        let name = unsafe { (*info).dlpi_name };
        // SAFETY: a string of the loader's.
        if name.is_null() || !is_runtime(unsafe { CStr::from_ptr(name) }) {
            return 0;
        }
        // SAFETY: the place below.
        unsafe { found.cast::<*const c_char>().write(name) };
        1
    }
    let mut name: *const c_char = ptr::null();
    // SAFETY: the function keeps to what the system asks for, and the place outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut name).cast()) };
    if name.is_null() {
        return None;
    }
    // SAFETY: the name of a library that is loaded; the flag makes it a question, so that no code of its runs.
    let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then(|| Library::new(handle))
}

/// CUDA's interfaces: the runtime's and the driver's.
pub(super) struct Cuda;

impl Front for Cuda {
    fn vendor(&self) -> Vendor {
        Vendor::Cuda
    }

    fn find(&self, name: &CStr) -> *mut c_void {
        if !name.to_bytes().starts_with(b"cuda") {
            return driver().map_or(ptr::null_mut(), |library| library.find(name));
        }
        let behind = Library::BEHIND.find(name);
        if behind.is_null() { loaded_runtime().map_or(behind, |library| library.find(name)) } else { behind }
    }

    fn lacking(&self, _: &CStr) -> c_int {
        NOT_SUPPORTED
    }

    fn context(&self) -> usize {
        let mut context: Handle = ptr::null_mut();
        match get_context(&mut context) {
            0 => context.addr(),
            _ => 0,
        }
    }

    fn device(&self) -> Option<u32> {
        let mut handle = -1;
        (get_device(&mut handle) == 0).then(|| ordinal(handle)).flatten()
    }

    /// The primary context.
    fn home(&self, device: u32) -> Result<usize, c_int> {
        let (mut handle, mut context): (c_int, Handle) = (0, ptr::null_mut());
        let number = c_int::try_from(device).unwrap_or(c_int::MAX);
        match device_handle(&mut handle, number) {
            0 => {}
            code => return Err(code),
        }
        match retain(&mut context, handle) {
            // The driver holds it too, so it is not the last to let go.
            0 => release(handle),
            code => return Err(code),
        };
        Ok(context.addr())
    }

    fn implied(&self, stream: Handle) -> Option<Implied> {
        match stream.addr() {
            0 | LEGACY => Some(Implied { kind: StreamKind::Legacy, thread: 0 }),
            PER_THREAD => Some(Implied { kind: StreamKind::PerThread, thread: self.thread()? }),
            _ => None,
        }
    }

    fn thread(&self) -> Option<u64> {
        threads::number()
    }

    /// The driver's number of the stream, from CUDA 12 on.
    fn identity(&self, stream: Handle) -> Option<u64> {
        let mut id = 0;
        (stream_id(stream, &mut id) == 0).then_some(id)
    }

    fn is_captured(&self, stream: Handle) -> bool {
        let mut status = 0;
        match capture_status(stream, &mut status) {
            0 => status != 0,
            code => matches!(code, CAPTURE_UNSUPPORTED | CAPTURE_IMPLICIT),
        }
    }

    fn step_aside(&self) -> c_int {
        /* CU_STREAM_CAPTURE_MODE_RELAXED */
        let mut mode = 2;
        if exchange_capture_mode(&mut mode) == 0 { mode } else { -1 }
    }

    fn rejoin(&self, before: c_int) {
        if before >= 0 {
            let mut mode = before;
            exchange_capture_mode(&mut mode);
        }
    }
}

/// The number of a device, counted from 0, by the driver's handle.
pub(super) fn ordinal(handle: c_int) -> Option<u32> {
    static HANDLES: OnceLock<Vec<c_int>> = OnceLock::new();
    let handles = HANDLES.get_or_init(|| {
        let mut count = 0;
        count_devices(&mut count);
        let handle = |number| {
            let mut handle = -1;
            (device_handle(&mut handle, number) == 0).then_some(handle)
        };
        (0..count).map_while(handle).collect()
    });
    handles.iter().position(|found| *found == handle).and_then(|place| u32::try_from(place).ok())
}

/// The device of the thread, as the runtime counts it: there is one even before it has a context.
pub(super) fn runtime_device() -> Option<u32> {
    let mut device = -1;
    (get_runtime_device(&mut device) == 0).then(|| u32::try_from(device).ok()).flatten()
}

/// Gives the thread the context of its device, as the runtime does with the first call that needs one.
pub(super) fn bind_runtime() {
    if let Some(device) = runtime_device()
        && Cuda.device() != Some(device)
    {
        free(ptr::null_mut());
    }
}

vendors! {
    fn get_context(context: &mut Handle) c"cuCtxGetCurrent";
    /// The device of the thread's context.
    fn get_device(device: &mut c_int) c"cuCtxGetDevice";
    fn count_devices(count: &mut c_int) c"cuDeviceGetCount";
    fn device_handle(device: &mut c_int, ordinal: c_int) c"cuDeviceGet";
    fn retain(context: &mut Handle, device: c_int) c"cuDevicePrimaryCtxRetain";
    fn release(device: c_int) c"cuDevicePrimaryCtxRelease_v2";
    fn primary_state(device: c_int, flags: &mut c_uint, active: &mut c_int) c"cuDevicePrimaryCtxGetState";
    fn stream_id(stream: Handle, id: &mut c_ulonglong) c"cuStreamGetId";
    fn capture_status(stream: Handle, status: &mut c_int) c"cuStreamIsCapturing";
    fn exchange_capture_mode(mode: &mut c_int) c"cuThreadExchangeStreamCaptureMode";
    fn synchronise_stream(stream: Handle) c"cuStreamSynchronize";
    fn malloc_async(ptr: *mut *mut c_void, size: usize, stream: Handle) c"cuMemAllocAsync";
    fn get_runtime_device(device: &mut c_int) c"cudaGetDevice";
    fn runtime_version(version: &mut c_int) c"cudaRuntimeGetVersion";
    fn free(ptr: *mut c_void) c"cudaFree";
}

/// Whether the runtime is of this version of CUDA or later.
pub(super) fn runtime_is_from(major: c_uint) -> bool {
    let mut version = 0;
    runtime_version(&mut version) == 0 && u32::try_from(version).is_ok_and(|version| version / 1000 >= major)
}

/// Whether there is a device of this number.
pub(super) fn is_device(number: u32) -> bool {
    let mut count = 0;
    count_devices(&mut count) != 0 || u32::try_from(count).is_ok_and(|count| number < count)
}

/// Whether a device has its primary context now.
pub(super) fn is_active(device: u32) -> bool {
    let (mut handle, mut flags, mut active) = (0, 0, 0);
    let number = c_int::try_from(device).unwrap_or(c_int::MAX);
    device_handle(&mut handle, number) == 0 && primary_state(handle, &mut flags, &mut active) == 0 && active != 0
}
