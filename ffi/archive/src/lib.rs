//! libweir as a static library: `libweir_archive.a`, which `cargo xtask libs` puts in place as `libweir.a`.

pub use weir_ffi::*;
