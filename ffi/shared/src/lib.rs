//! libweir as a shared library: `libweir_shared.so`, which `cargo xtask libs` puts in place as `libweir.so`.

pub use weir_ffi::*;

#[cfg(target_os = "linux")]
weir_ffi::export_emulation!();
#[cfg(target_os = "linux")]
weir_ffi::export_kernels!();
