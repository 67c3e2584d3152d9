//! Compiles the shims to the vendors' drivers (`src/vendor/shim`), for hosted programs on Linux.

use std::path::Path;

fn main() {
    let folder = Path::new("src/vendor/shim");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=include/weir_driver.h");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // Firmware has no C compiler to hand for its target, nor anything to load.
    if std::env::var_os("CARGO_FEATURE_STD").is_none() || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let mut build = cc::Build::new();
    build.std("c11").include("include").extra_warnings(true).flag("-pedantic").flag("-fvisibility=hidden");
    for file in ["common.c", "memory.c", "order.c", "cuda.c", "acl.c"] {
        build.file(folder.join(file));
    }
    build.compile("weir_shim");
}
