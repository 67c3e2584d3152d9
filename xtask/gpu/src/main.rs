//! `weir-gpu`: weir on an NVIDIA GPU. Runs alone: it needs the GPU's driver, and neither cargo nor a network.
//!
//! Exit status: 0 where everything was right, 1 where something was wrong or a call failed, 77 where there is no GPU.

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod suite;

use std::process::ExitCode;

/// As test frameworks have it: skipped.
const NO_GPU: u8 = 77;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    program::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("weir-gpu: no GPU: the driver is for Linux");
    ExitCode::from(NO_GPU)
}
