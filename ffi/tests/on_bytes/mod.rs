//! Programs that run on any device whose memory kernels can write and check: the host driver in these tests, and an NVIDIA
//! GPU in `cargo xtask gpu`.

pub(crate) mod cases;
pub(crate) mod storm;

use weir::driver::{Driver, NativeStream};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};

/// A driver with streams and kernels. What goes wrong in a kernel is kept for [`verdict`](Self::verdict).
pub(crate) trait Machine: Driver + Send + Sync + 'static {
    /// Keeps a stream at work until it is dropped.
    type Hold;

    /// Makes a stream.
    fn stream(&self, device: DeviceId) -> NativeStream;

    /// Queues a kernel that writes the seed's pattern.
    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64);

    /// Queues a kernel that expects the seed's pattern.
    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64);

    /// Queues a kernel that runs until the answer is dropped.
    fn hold(&self, on: NativeStream) -> Self::Hold;

    /// Queues a call on the host.
    fn callback(&self, on: NativeStream, call: impl FnOnce() + Send + 'static);

    /// After a synchronisation: panics where a kernel found something wrong.
    fn verdict(&self, device: DeviceId);

    /// The granules that are there.
    fn created(&self, device: DeviceId) -> Bytes;

    /// The memory that is really taken, as far as the device can tell.
    fn resident(&self, device: DeviceId) -> Bytes;
}

/// Makes machines.
pub(crate) trait Make {
    /// What it makes.
    type Machine: Machine;

    /// A machine of so many devices with so much memory each, nothing of it taken.
    fn machine(&self, devices: u32, total: Bytes) -> Self::Machine;
}
