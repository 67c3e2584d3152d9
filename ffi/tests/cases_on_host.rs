//! The cases of `on_bytes/cases.rs` on the host driver. They run on an NVIDIA GPU too: `cargo xtask gpu`.
#![cfg(target_os = "linux")]

mod host_support;
#[allow(dead_code, reason = "each test file uses a part")]
mod on_bytes;
#[path = "on_bytes/host.rs"]
mod on_host;

use on_bytes::cases::{self, for_each_case};
use on_host::OnHost;

macro_rules! tests {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            cases::$name(&OnHost);
        })+
    };
}

for_each_case!(tests);
