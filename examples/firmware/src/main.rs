//! The image: brings a machine up, runs the programs on it, sends the log along the serial line, and ends with a status.
//!
//! On a host there is nothing to boot: the program only says how.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image;

#[cfg(not(target_os = "none"))]
fn main() {
    println!("this is an image for bare metal: cargo xtask firmware --target aarch64-unknown-none --run");
}
