//! libweir as a static library: `libweir_archive.a`, which `cargo xtask libs` puts in place as `libweir.a`.

pub use weir_ffi::*;

#[cfg(target_os = "linux")]
weir_ffi::export_emulation!();
#[cfg(target_os = "linux")]
weir_ffi::export_kernels!();
