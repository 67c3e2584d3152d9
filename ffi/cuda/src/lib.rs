//! `libweir_cuda.so`, to be preloaded in front of `libcudart.so` and `libcuda.so.1`: the names of
//! [`interpose`](weir_ffi::interpose::cuda).
//!
//! Each function has the type of CUDA's header; addresses on the device are pointers under both interfaces' names, which
//! are passed alike. None unwinds.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the names are CUDA's")]
#![allow(clippy::missing_safety_doc, reason = "the contract is that of CUDA's headers")]

use core::ffi::{c_int, c_uint, c_ulonglong, c_void};
use weir_ffi::interpose::cuda::{
    self, Extent, Function, Handle, IpcHandle, LaunchConfig, Location, PoolProps, handled, node_params, numbered, own,
    shared, ways::Way,
};

macro_rules! export {
    ($($way:ident $name:ident($($arg:ident: $type:ty),*) $role:ident($($given:expr),*);)+) => {
        $(
            #[doc = concat!("See CUDA's `", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
                static VENDORS: Function = Function::of(concat!(stringify!($name), "\0"));
                let pass = move || weir_ffi::call_vendors!(VENDORS, $($arg: $type),*);
                // SAFETY: the caller's promises about the arguments are those that CUDA's headers ask for.
                let see = || unsafe { cuda::$role($($given,)* pass) };
                cuda::answer(Way::$way, stringify!($name), see, pass)
            }
        )+
    };
}
weir_ffi::interposed_cuda!(export);

extern "C" fn start() {
    cuda::start();
}

/// Called by the loader before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
