//! What a replay needs of a device beyond weir's driver: streams, and kernels that write and check blocks.

use super::run::failed;
use crate::failure::Failure;
use weir::driver::{Driver, MarkerSlot, NativeStream};
use weir::units::{Bytes, DevicePtr};

/// A device to replay on.
pub(crate) trait Venue {
    /// Its driver.
    type Driver: Driver;

    /// The driver.
    fn driver(&self) -> &Self::Driver;

    /// Its name in summaries.
    fn name(&self) -> &'static str;

    /// Makes a stream.
    fn stream(&self) -> Result<NativeStream, Failure>;

    /// A marker slot that no pool on this venue uses.
    fn spare(&self) -> MarkerSlot;

    /// On the device, `after` goes on only when `before` has done what is queued on it now. No pool learns of it.
    fn order(&self, before: NativeStream, after: NativeStream) -> Result<(), Failure> {
        self.driver().lay(self.spare(), before).map_err(failed("marking a stream"))?;
        self.driver().wait(after, self.spare()).map_err(failed("making a stream wait"))
    }

    /// Queues a kernel that writes every byte of a block; what it writes depends on `seed`.
    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure>;

    /// Queues a kernel that expects what [`fill`](Self::fill) wrote.
    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), Failure>;

    /// Queues a kernel that checks a block and adds its words up in a bucket, and one that checks the bucket.
    fn sum(&self, on: NativeStream, block: Span, seed: u64, bucket: Span) -> Result<(), Failure>;

    /// A row begins or ends: time for the device to finish earlier ones.
    fn row(&self, row: usize, edge: Edge);

    /// After everything is complete: the bytes that kernels have checked, or the first thing that went wrong.
    fn verdict(&self) -> Result<Bytes, Failure>;
}

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: DevicePtr,
    pub(crate) bytes: Bytes,
}

/// One side of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Nothing of it is queued.
    Begin,
    /// All of it is queued.
    End,
}
