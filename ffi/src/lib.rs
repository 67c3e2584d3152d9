//! Drivers for weir, the C interface, and the aclrt-compatible calls: the only unsafe code.
//!
//! * [`host`]: Linux memory as a device, so that everything runs without hardware.
//! * [`vendor`]: CUDA, HIP and ACL, loaded at run time.
//! * [`table`]: a driver given as a table of C functions.
//! * [`capi`]: the functions of `weir.h` and `weir_torch.h`; [`bindings`] is those headers as the compiler sees them.
//! * [`acl`]: the part of CANN's `acl/acl.h` that memory pools need, on the host driver.
//! * [`interpose`]: `libweir_acl.so` and `libweir_cuda.so`, memory pools in front of the vendors' libraries.
//! * [`arenas`] and [`lock`]: what hosted programs give a runtime.
//!
//! Without `std` it is for firmware: the table, and the functions of `weir.h` over storage that the program lends.
#![cfg_attr(not(feature = "std"), no_std)]

/// Texts of errors are for hosted programs: firmware has the status, and links no formatting.
#[cfg(not(feature = "std"))]
macro_rules! format {
    ($($text:tt)*) => {{
        let _ = || {
            let _ = core::format_args!($($text)*);
        };
        ""
    }};
}

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
mod panic;

#[cfg(all(feature = "std", target_os = "linux"))]
pub mod acl;
#[cfg(feature = "std")]
pub use weir_heap as arenas;
#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, clippy::all, reason = "generated from the C headers")]
pub mod bindings;
#[cfg(all(feature = "std", target_os = "linux"))]
mod calls;
#[cfg(any(not(feature = "std"), target_os = "linux"))]
pub mod capi;
#[cfg(all(feature = "std", target_os = "linux"))]
mod environment;
#[cfg(all(feature = "std", target_os = "linux"))]
mod export;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod host;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod interpose;
#[cfg(all(feature = "std", target_os = "linux"))]
mod limits;
#[cfg(feature = "std")]
pub mod lock;
#[cfg(all(feature = "std", target_os = "linux"))]
mod log_sink;
#[cfg(all(feature = "std", target_os = "linux"))]
mod owned;
#[cfg(all(feature = "std", target_os = "linux"))]
mod pool;
#[cfg(all(feature = "std", target_os = "linux"))]
mod size;
pub mod table;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod vendor;
