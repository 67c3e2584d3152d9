//! A device of firmware's own, and programs on it: what an image boots with, without the machine.
//!
//! * [`board`]: the driver. Streams are queues that a cooperative scheduler runs, granules are mapped by a [`Machine`].
//! * [`agent`]: the device's end of the messages by which a second device maps in the order of streams.
//! * [`checks`]: counts what holds and what does not.
//! * [`programs`]: what runs; the same on every machine, and on a simulated one in tests on the host.
//!
//! The machines themselves (start-up, page tables, interrupts, serial line) are the image's: `src/machine`.

#![no_std]
#![forbid(unsafe_code)]

pub mod agent;
pub mod board;
pub mod checks;
pub mod machine;
pub mod programs;
mod streams;

pub use machine::{Fault, Machine};
