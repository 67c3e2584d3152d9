//! `libweir_acl.so`, to be linked or preloaded in front of `libascendcl.so`: the names of
//! [`interpose`].
//!
//! Each function has the type of CANN's header. None unwinds.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the names are CANN's")]
#![allow(clippy::missing_safety_doc, reason = "the contract is that of CANN's header")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use weir_ffi::acl::bindings::{aclError, aclrtBinHandle, aclrtMemPoolProps, weir_acl_kernel};
use weir_ffi::interpose::acl::{self as interpose, Function, Handle, PLAIN_EVENT, ways::Way};

macro_rules! emulation {
    (emulated $name:ident $($arg:ident)*) => {
        // SAFETY: the arguments are handed on as they came, with the caller's promises about them.
        || unsafe { weir_ffi::acl::$name($($arg),*) }
    };
    (lacking $name:ident $($arg:ident)*) => {
        || interpose::lacking(stringify!($name))
    };
}

macro_rules! export {
    ($($way:ident $name:ident($($arg:ident: $type:ty),*) $role:ident($($given:expr),*) $emulated:ident;)+) => {
        $(
            #[doc = concat!("See CANN's `", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
                static VENDORS: Function = Function::of(concat!(stringify!($name), "\0"));
                let pass = move || weir_ffi::call_vendors!(VENDORS, $($arg: $type),*);
                // SAFETY: the caller's promises about the arguments are those that CANN's header asks for.
                let see = || unsafe { interpose::$role($($given,)* pass) };
                interpose::answer(Way::$way, emulation!($emulated $name $($arg)*), see, pass)
            }
        )+
    };
}
weir_ffi::interposed_acl!(export);
weir_ffi::export_kernels!();

/// See CANN's `aclGetRecentErrMsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    static VENDORS: Function = Function::of("aclGetRecentErrMsg\0");
    // SAFETY: it has no contract.
    unsafe { interpose::recent_message(&VENDORS) }
}

/// See `acl/weir_acl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_acl_register_kernel(name: *const c_char, function: weir_acl_kernel) -> aclError {
    // SAFETY: the arguments are handed on as they came, with the caller's promises about them.
    unsafe { weir_ffi::acl::weir_acl_register_kernel(name, function) }
}

/// See `acl/weir_acl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_acl_binary() -> aclrtBinHandle {
    // SAFETY: it has no contract.
    unsafe { weir_ffi::acl::weir_acl_binary() }
}
