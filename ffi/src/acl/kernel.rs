//! Kernels: C functions by name.

use super::bindings as acl;
use super::bindings::{aclrtBinHandle, aclrtFuncHandle, aclrtStream, weir_acl_kernel};
use super::codes::{Refusal, guard};
use super::handle::{Kind, Table, from_raw, to_raw};
use super::state::call;
use crate::bindings::weir_kernel;
use crate::capi::as_kernel;
use crate::host::Access;
use core::ffi::{CStr, c_char, c_void};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use weir::units::{Bytes, DevicePtr};

/// A kernel of the program's.
type Function = unsafe extern "C" fn(*mut weir_kernel, u32, u32, *const c_void);

/// Kernels by handle, for the life of the process.
static FUNCTIONS: Table<Function> = Table::new(Kind::Function);
/// Their handles by name.
static NAMES: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// The most blocks of a launch.
const MOST_BLOCKS: u32 = 65_535;

fn names() -> MutexGuard<'static, BTreeMap<String, usize>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn binary() -> usize {
    static BINARY: OnceLock<usize> = OnceLock::new();
    *BINARY.get_or_init(|| Kind::Binary.issue())
}

/// A name that C gave; not null, and UTF-8.
///
/// # Safety
/// Null, or a string that lives for `'a`.
unsafe fn text<'a>(from: *const c_char, name: &str) -> Result<&'a str, Refusal> {
    if from.is_null() {
        return Err(Refusal::null(name));
    }
    // SAFETY: non-null, so a string, as the caller promised.
    let text = unsafe { CStr::from_ptr(from) };
    let bad = |_| Refusal::new(acl::ACL_ERROR_INVALID_PARAM, format!("`{name}` is not UTF-8: {text:?}"));
    text.to_str().map_err(bad)
}

/// See `acl/weir_acl.h`.
pub unsafe extern "C" fn weir_acl_register_kernel(name: *const c_char, function: weir_acl_kernel) -> acl::aclError {
    guard(|| {
        // SAFETY: the header asks for a string, or null.
        let name = unsafe { text(name, "name") }?;
        let function = function.ok_or_else(|| Refusal::null("function"))?;
        let mut names = names();
        let known = names.get(name).and_then(|handle| FUNCTIONS.get(*handle));
        match known {
            None => {
                names.insert(name.to_owned(), FUNCTIONS.add(function));
                Ok(())
            }
            Some(known) if core::ptr::fn_addr_eq(known, function) => Ok(()),
            Some(_) => {
                let text = format!("the kernel name {name:?} stands for another function: choose another name");
                Err(Refusal::new(acl::ACL_ERROR_KERNEL_ALREADY_REGISTERED, text))
            }
        }
    })
}

/// See `acl/weir_acl.h`.
pub unsafe extern "C" fn weir_acl_binary() -> aclrtBinHandle {
    to_raw(binary())
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtBinaryGetFunction(
    binHandle: aclrtBinHandle,
    kernelName: *const c_char,
    funcHandle: *mut aclrtFuncHandle,
) -> acl::aclError {
    call(|_| {
        for (null, name) in [(binHandle.is_null(), "binHandle"), (funcHandle.is_null(), "funcHandle")] {
            if null {
                return Err(Refusal::null(name));
            }
        }
        // SAFETY: the header asks for a string, or null.
        let name = unsafe { text(kernelName, "kernelName") }?;
        if from_raw(binHandle) != binary() {
            return Err(Refusal::handle(acl::ACL_ERROR_RT_PARAM_INVALID, "binary", from_raw(binHandle)));
        }
        let found = names().get(name).copied().ok_or_else(|| {
            let text = format!("no kernel has the name {name:?}: call weir_acl_register_kernel first");
            Refusal::new(acl::ACL_ERROR_KERNEL_NOT_FOUND, text)
        })?;
        // SAFETY: non-null, so a place for a handle, as the header asks.
        unsafe { funcHandle.write(to_raw(found)) };
        Ok(())
    })
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtLaunchKernel(
    funcHandle: aclrtFuncHandle,
    blockDim: u32,
    argsData: *const c_void,
    argsSize: usize,
    stream: aclrtStream,
) -> acl::aclError {
    call(|world| {
        if funcHandle.is_null() {
            return Err(Refusal::null("funcHandle"));
        }
        let handle = from_raw(funcHandle);
        let bad = || Refusal::handle(acl::ACL_ERROR_RT_PARAM_INVALID, "kernel", handle);
        let function = FUNCTIONS.get(handle).ok_or_else(bad)?;
        if blockDim == 0 || blockDim > MOST_BLOCKS {
            return Err(Refusal::argument(format!("`blockDim` is {blockDim}, expected 1 to {MOST_BLOCKS}")));
        }
        let (at, bytes) = (argsData.addr() as u64, argsSize as u64);
        if bytes == 0 || !world.on_device(at, bytes, "argsData")? {
            let text = format!("`argsData` ({at:#x}, {bytes} bytes) is not in a memory pool of the device");
            return Err(Refusal::argument(text));
        }
        let stream = world.stream_or_default(stream)?;
        world.host().launch_with(stream.native, move |launch| {
            let Some(args) = launch.address(DevicePtr(at), Bytes(bytes), Access::Read) else { return };
            as_kernel(launch, |kernel| {
                for block in 0..blockDim {
                    // SAFETY: the program's function, with pointers that are good until it returns.
                    unsafe { function(kernel, block, blockDim, args.as_ptr().cast_const().cast()) };
                }
            });
        })?;
        Ok(())
    })
}
