//! The host driver's own functions, as `weir.h` has them: kernels, copies, faults.

use super::arguments::{choice, output, stream_kind};
use super::failure::{Failure, copy_text, guard};
use super::instance::{Instance, call};
use crate::bindings::{weir_kernel, weir_kernel_fn, weir_ptr, weir_runtime, weir_status as s, weir_stream};
use crate::calls::{Counted, Here};
use crate::host::{Access, HostError, Launch};
use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull};
use weir::StreamConfig;
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr};

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let status = match &error {
            HostError::BadConfig(_) | HostError::UnknownDevice { .. } => s::WEIR_INVALID_ARGUMENT,
            HostError::UnknownStream(_) => s::WEIR_BAD_HANDLE,
            HostError::System(_) => s::WEIR_SYSTEM,
        };
        Self::new(status, error.to_string())
    }
}

/// A pointer of the program's on its way to a stream's thread.
struct Carried(*mut c_void);

// SAFETY: the header says that what it points to must be good until the stream has come to it, on any thread.
unsafe impl Send for Carried {}

impl Carried {
    /// A method, so that a closure takes the whole and not the bare pointer.
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

thread_local! {
    /// The kernel that runs on this thread, so that a pointer kept from an earlier one is told from it.
    static CURRENT: Cell<*mut weir_kernel> = const { Cell::new(ptr::null_mut()) };
}

/// Gives C a name for the kernel that runs on this thread, which is good until `work` returns.
pub(crate) fn as_kernel(launch: &mut Launch<'_>, work: impl FnOnce(*mut weir_kernel)) {
    let kernel = ptr::from_mut(launch).cast::<weir_kernel>();
    CURRENT.set(kernel);
    work(kernel);
    CURRENT.set(ptr::null_mut());
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_launch(
    runtime: weir_runtime,
    stream: weir_stream,
    function: weir_kernel_fn,
    user: *mut c_void,
) -> c_int {
    call(runtime, |instance| {
        let function = function.ok_or_else(|| Failure::invalid("`fn` is null"))?;
        let user = Carried(user);
        let (host, stream) = (instance.host()?, instance.native(stream)?);
        let place = instance.calls().place();
        host.launch_with(stream, move |launch| {
            // The end of the runtime waits for its kernels, so none may ask for it.
            let _here = Here::at(place);
            as_kernel(launch, |kernel| {
                // SAFETY: the program's function, with a pointer that is good until it returns.
                unsafe { function(kernel, user.pointer()) };
            });
        })?;
        Ok(())
    })
}

/// Runs `work` on the kernel that a pointer names, if it is the one that runs on this thread.
///
/// # Safety
/// What an earlier call for the same kernel lent is not in use during `work`.
unsafe fn with_kernel<R>(kernel: *mut weir_kernel, work: impl FnOnce(&mut Launch<'_>) -> R) -> Result<R, Failure> {
    if kernel.is_null() || kernel != CURRENT.get() {
        return Err(Failure::new(s::WEIR_BAD_HANDLE, "`kernel` is not the kernel that runs on this thread"));
    }
    // SAFETY: it is the pointer that `as_kernel` made from a `&mut Launch`, which is not used before the kernel
    // returns; `CURRENT` is set only meanwhile, on this thread.
    let launch = unsafe { &mut *kernel.cast::<Launch<'_>>() };
    Ok(work(launch))
}

/// See `weir.h`.
pub unsafe extern "C" fn weir_kernel_bytes(
    kernel: *mut weir_kernel,
    ptr: weir_ptr,
    bytes: u64,
    access: u32,
) -> *mut c_void {
    let mut found = ptr::null_mut();
    guard(|| {
        let access = choice(access, &[Access::Read, Access::Write], "access")?;
        // SAFETY: the closure lends nothing by reference, only an address.
        let address = unsafe { with_kernel(kernel, |launch| launch.address(DevicePtr(ptr), Bytes(bytes), access)) }?;
        let none = || Failure::new(s::WEIR_DRIVER_ERROR, "the device has a fault: see weir_host_fault");
        found = address.ok_or_else(none)?.as_ptr().cast();
        Ok(())
    });
    found
}

/// See `weir.h`.
pub unsafe extern "C" fn weir_kernel_fail(kernel: *mut weir_kernel, message: *const c_char) {
    guard(|| {
        let message = if message.is_null() {
            "it reported a failure".to_owned()
        } else {
            // SAFETY: non-null, so a string, as the header asks.
            unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
        };
        // SAFETY: the closure lends nothing.
        unsafe { with_kernel(kernel, |launch| launch.fail(&message)) }
    });
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_copy_to_device(
    runtime: weir_runtime,
    stream: weir_stream,
    to: weir_ptr,
    from: *const c_void,
    bytes: u64,
) -> c_int {
    call(runtime, |instance| {
        let length = length(bytes)?;
        let from = NonNull::new(from.cast_mut().cast::<u8>()).ok_or_else(|| Failure::invalid("`from` is null"))?;
        // SAFETY: non-null, and the header asks for `bytes` readable bytes.
        let taken = unsafe { core::slice::from_raw_parts(from.as_ptr(), length) }.to_vec();
        Ok(instance.host()?.copy_to_device(instance.native(stream)?, DevicePtr(to), taken)?)
    })
}

/// A length that a slice can have.
fn length(bytes: u64) -> Result<usize, Failure> {
    let bad = || Failure::invalid(format!("`bytes` is {bytes}, more than any memory has"));
    isize::try_from(bytes).map(isize::unsigned_abs).map_err(|_| bad())
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_copy_to_host(
    runtime: weir_runtime,
    stream: weir_stream,
    to: *mut c_void,
    from: weir_ptr,
    bytes: u64,
) -> c_int {
    call(runtime, |instance| {
        length(bytes)?;
        if to.is_null() {
            return Err(Failure::invalid("`to` is null"));
        }
        let to = Carried(to);
        let take = move |found: &[u8]| {
            // SAFETY: the header asks that `to` has room for `bytes`, which `found` has, until the stream comes here.
            unsafe { to.pointer().cast::<u8>().copy_from(found.as_ptr(), found.len()) };
        };
        let (host, stream) = (instance.host()?, instance.native(stream)?);
        Ok(host.copy_to_host(stream, DevicePtr(from), Bytes(bytes), take)?)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_copy(
    runtime: weir_runtime,
    stream: weir_stream,
    to: weir_ptr,
    from: weir_ptr,
    bytes: u64,
) -> c_int {
    call(runtime, |instance| {
        let (host, stream) = (instance.host()?, instance.native(stream)?);
        Ok(host.copy(stream, DevicePtr(to), DevicePtr(from), Bytes(bytes))?)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_fill(
    runtime: weir_runtime,
    stream: weir_stream,
    to: weir_ptr,
    value: u8,
    bytes: u64,
) -> c_int {
    call(runtime, |instance| {
        let (host, stream) = (instance.host()?, instance.native(stream)?);
        Ok(host.fill(stream, DevicePtr(to), value, Bytes(bytes))?)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_fault(
    runtime: weir_runtime,
    device: u32,
    faulted: *mut c_int,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a number, or null.
        let faulted = unsafe { output(faulted, "faulted") }?;
        let fault = instance.host()?.fault(DeviceId(device))?;
        let text = fault.as_ref().map(ToString::to_string).unwrap_or_default();
        // SAFETY: the header asks for a buffer of `size` bytes, or null.
        unsafe { copy_text(&text, buffer, size) };
        faulted.write(c_int::from(fault.is_some()));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_clear_fault(runtime: weir_runtime, device: u32) -> c_int {
    call(runtime, |instance| {
        instance.host()?.clear_fault(DeviceId(device))?;
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_resident(runtime: weir_runtime, device: u32, bytes: *mut u64) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a number, or null.
        let bytes = unsafe { output(bytes, "bytes") }?;
        bytes.write(instance.host()?.resident(DeviceId(device))?.0);
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_stream_create(
    runtime: weir_runtime,
    device: u32,
    kind: u32,
    stream: *mut weir_stream,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a handle, or null.
        let stream = unsafe { output(stream, "stream") }?;
        let kind = stream_kind(kind)?;
        stream.write(create(instance, DeviceId(device), kind)?);
        Ok(())
    })
}

/// Makes a stream of the host driver.
pub(super) fn create(instance: &Instance, device: DeviceId, kind: StreamKind) -> Result<weir_stream, Failure> {
    let host = instance.host()?;
    let native = host.create_stream(device, kind)?;
    match instance.runtime().create_stream(StreamConfig { kind, ..StreamConfig::new(device, native) }) {
        Ok(made) => Ok(instance.add_stream(device, native, made)),
        Err(error) => {
            host.destroy_stream(native)?;
            Err(error.into())
        }
    }
}
