//! The storms of `on_bytes/storm.rs` on the host driver. They run on an NVIDIA GPU too: `cargo xtask gpu`.
#![cfg(target_os = "linux")]

mod host_support;
#[allow(dead_code, reason = "each test file uses a part")]
mod on_bytes;
#[path = "on_bytes/host.rs"]
mod on_host;

use on_bytes::storm::{SETTINGS, storm};
use on_host::OnHost;

macro_rules! tests {
    ($($name:ident $number:literal)+) => {
        $(#[test]
        fn $name() {
            println!("{:?}", storm(&OnHost, $number + 1, SETTINGS[$number]));
        })+
    };
}

tests! { no_switches 0 along_events 1 opportunistic 2 by_inserted_waits 3 everything_growing_first 4 everything_waiting_first 5 }
