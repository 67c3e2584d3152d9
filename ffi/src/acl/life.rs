//! The beginning and the end.

use super::bindings as acl;
use super::codes::{Refusal, guard};
use super::state;
use core::ffi::{CStr, c_char};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

/// See `acl/acl.h`.
pub unsafe extern "C" fn aclInit(configPath: *const c_char) -> acl::aclError {
    guard(|| {
        if !configPath.is_null() {
            // SAFETY: non-null, so a string, as the header asks.
            let path = OsStr::from_bytes(unsafe { CStr::from_ptr(configPath) }.to_bytes());
            let bad = |error| Refusal::new(acl::ACL_ERROR_INVALID_FILE, format!("the settings {path:?}: {error}"));
            File::open(path).map_err(bad)?;
        }
        state::begin()
    })
}

/// See `acl/acl.h`.
pub unsafe extern "C" fn aclFinalize() -> acl::aclError {
    guard(state::end)
}
