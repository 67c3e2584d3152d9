//! Copies and fills as commands of a stream.

use super::arguments::{Read, Write};
use super::driver::HostDriver;
use super::fault::HostError;
use weir::driver::NativeStream;
use weir::units::{Bytes, DevicePtr};

impl HostDriver {
    /// Queues a copy of `from` to the device.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn copy_to_device(&self, stream: NativeStream, to: DevicePtr, from: Vec<u8>) -> Result<(), HostError> {
        self.launch(stream, Write(to, Bytes(from.len() as u64)), move |bytes| bytes.copy_from_slice(&from))
    }

    /// Queues a copy to the host: `take` gets the bytes as they are when the stream comes to it.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn copy_to_host<F>(&self, stream: NativeStream, from: DevicePtr, bytes: Bytes, take: F) -> Result<(), HostError>
    where
        F: FnOnce(&[u8]) + Send + 'static,
    {
        self.launch(stream, Read(from, bytes), take)
    }

    /// Queues a copy within a device. The two runs may not overlap.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn copy(&self, stream: NativeStream, to: DevicePtr, from: DevicePtr, bytes: Bytes) -> Result<(), HostError> {
        self.launch(stream, (Write(to, bytes), Read(from, bytes)), |(to, from)| to.copy_from_slice(from))
    }

    /// Queues a fill with one byte's value.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn fill(&self, stream: NativeStream, to: DevicePtr, value: u8, bytes: Bytes) -> Result<(), HostError> {
        self.launch(stream, Write(to, bytes), move |to| to.fill(value))
    }
}
