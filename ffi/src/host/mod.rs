//! Linux memory as a device: granules of a memfd that are really mapped and unmapped, streams that are threads, and
//! kernels that are closures over real bytes.
//!
//! A device address is a host address. Its physical memory is one sparse memfd per device, so that a device of many
//! times the machine's memory costs nothing until its granules are written; destroying a granule punches a hole, which
//! gives its pages back to the system.
//!
//! What a kernel touches is checked when it starts: an address that is not mapped, or bytes that a kernel running at
//! the same time on another stream writes, become a sticky [`Fault`] of the device, as on real hardware, and not a
//! crash of the process.
//!
//! # Locks
//! They come after the runtime's, which are not held here, and are held for moments, never over a system call or a kernel.
//! Two are held at once in these orders only: the table of streams, or a device's list of ordered streams (not both), then
//! one stream's queue, then that stream's progress. All others (a device's space, its fault, the markers, the injections)
//! are taken by themselves. A kernel runs under none, so it may call the driver and the runtime.

mod arguments;
mod config;
mod copy;
mod counters;
mod device;
mod driver;
mod fault;
mod mappings;
mod marker;
mod memory;
pub mod pattern;
mod space;
mod stream;

pub use arguments::{Access, Arguments, KernelArg, Lent, Read, Write};
pub use config::{DEFAULT_TOTAL, HostConfig};
pub use counters::HostCounters;
pub use driver::HostDriver;
pub use fault::{Fault, HostError, Injection};
pub use stream::Launch;
