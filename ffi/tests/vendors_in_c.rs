//! The vendors' drivers through `weir.h`.
#![cfg(target_os = "linux")]

mod common;
mod vendor_support;

use common::{Language, file, libraries, program, says};
use std::process::Command;
use vendor_support::{build, named};
use weir_ffi::vendor::Vendor;

#[test]
fn a_program_in_c_opens_each_vendors_driver_and_closes_it() {
    let libraries = libraries("vendor");
    let source = file("tests/c/vendor_test.c");
    let made = program(Language::C11, &[&source], &libraries, "libweir.a", "vendor_test");
    for vendor in Vendor::ALL {
        let map = named(vendor, [c"cuMemMap", c"hipMemMap", c"aclrtMapMem"]).to_str().unwrap();
        let whole = build(vendor, "for_c", &[]);
        let lacking = build(vendor, "for_c_lacking", &[&format!("-D{map}=another_{map}")]);
        let mut command = Command::new(&made);
        command.arg(vendor.name().to_lowercase()).arg(&whole).arg(lacking).env(vendor.variable(), &whole);
        assert_eq!(says(&mut command), "ok\n", "{vendor:?}");
        // A variable that is not fit is named.
        command.env(vendor.variable(), "folder/lib.so");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(vendor.variable()), "{said}");
    }
}
