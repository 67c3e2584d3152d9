//! What fuzzing calls: one function for each target, which takes any bytes and panics where they show a defect.
//!
//! The fuzzer is libFuzzer (`cargo xtask fuzz`), which lives in programs of its own, one a target, in `fuzz_targets`.
//! What it found worth keeping lies in `corpus`, one folder a target, and goes through these functions again with the
//! other tests, without it.

#![forbid(unsafe_code)]

mod log;
mod mutate;
mod replay;

pub use log::{binary_log, text_log};
pub use mutate::{mutate_lines, mutate_pages};
pub use replay::replay_csv;
#[cfg(target_os = "linux")]
pub use weir_ffi_fuzz::c_calls;

/// Something to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its program and of the folder of its corpus.
    pub name: &'static str,
    /// Takes any bytes; panics where they show a defect.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "binary_log", run: binary_log },
    Target { name: "text_log", run: text_log },
    Target { name: "replay_csv", run: replay_csv },
    #[cfg(target_os = "linux")]
    Target { name: "c_calls", run: c_calls },
];
