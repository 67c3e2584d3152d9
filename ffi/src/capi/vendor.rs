//! The vendors' drivers, as `weir.h` has them.

use super::arguments::{input, name, output};
use super::failure::{Failure, guard};
use crate::bindings::{weir_driver_ops, weir_status as s};
use crate::vendor::{self, Vendor, VendorError};
use core::ffi::{c_char, c_int};
use std::ffi::OsStr;

impl From<VendorError> for Failure {
    fn from(error: VendorError) -> Self {
        let status = match &error {
            VendorError::BadName(_) => s::WEIR_INVALID_ARGUMENT,
            VendorError::Library(_) | VendorError::Memory => s::WEIR_SYSTEM,
            VendorError::Symbol(_) | VendorError::Version(_) => s::WEIR_BAD_DRIVER,
            VendorError::Refused(_) => s::WEIR_DRIVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

/// Opens a vendor's driver.
///
/// # Safety
/// `library` is null or a string, `ops` null or a place for a table.
unsafe fn open(vendor: Vendor, library: *const c_char, ops: *mut weir_driver_ops) -> c_int {
    guard(|| {
        // SAFETY: as the caller promised.
        let ops = unsafe { output(ops, "ops") }?;
        let library = if library.is_null() {
            None
        } else {
            // SAFETY: non-null, so a string, as the caller promised.
            Some(unsafe { name(library, "library") }?)
        };
        ops.write(vendor::open(vendor, library.map(OsStr::new))?);
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_driver_cuda(library: *const c_char, ops: *mut weir_driver_ops) -> c_int {
    // SAFETY: the header asks for a string, or null, and a place for a table, or null.
    unsafe { open(Vendor::Cuda, library, ops) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_driver_hip(library: *const c_char, ops: *mut weir_driver_ops) -> c_int {
    // SAFETY: the header asks for a string, or null, and a place for a table, or null.
    unsafe { open(Vendor::Hip, library, ops) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_driver_acl(library: *const c_char, ops: *mut weir_driver_ops) -> c_int {
    // SAFETY: the header asks for a string, or null, and a place for a table, or null.
    unsafe { open(Vendor::Acl, library, ops) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_driver_close(ops: *mut weir_driver_ops) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a table, or null.
        unsafe { input(ops, "ops") }?;
        // SAFETY: just checked, and nobody else uses the table meanwhile.
        let ops = unsafe { &mut *ops };
        // SAFETY: the header asks that the runtime is destroyed, and that one copy of the table is closed.
        if unsafe { vendor::close(ops) } {
            return Ok(());
        }
        let text =
            "`ops` is none that weir_driver_cuda, weir_driver_hip or weir_driver_acl filled in, or it was closed";
        Err(Failure::invalid(text))
    })
}
