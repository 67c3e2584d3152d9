//! An NVIDIA GPU as a machine for tests and measurements: streams, kernels that write and check bytes, and, beside weir's
//! driver, the vendor's own pool. `cargo xtask gpu` is what uses it.
//!
//! * [`Gpu`]: the device, its kernels and what they found.
//! * [`GpuDriver`]: weir's driver for it (`weir_ffi::vendor`), with a total of its own and with failures at will.
//! * [`VendorPool`]: what `cudaMallocAsync` allocates from.
//!
//! The vendor's library is loaded at run time, as `weir_ffi::vendor` says.
#![cfg(target_os = "linux")]

mod calls;
mod driver;
mod error;
mod gpu;
mod kernels;
mod order;
mod vendor_pool;
mod words;

pub use driver::{Failing, GpuDriver};
pub use error::GpuError;
pub use gpu::{Gpu, Hold, Verdict};
pub use kernels::{ENTRIES, PTX};
pub use order::Event;
pub use vendor_pool::VendorPool;
