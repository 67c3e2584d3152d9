//! libweir as a shared library: `libweir_shared.so`, which `cargo xtask libs` puts in place as `libweir.so`.

pub use weir_ffi::*;
