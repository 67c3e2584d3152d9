//! Events of the vendor's, for programs that run beside weir's driver.

use crate::calls::{Handle, done};
use crate::error::GpuError;
use crate::gpu::{Gpu, handle};
use core::ffi::c_uint;
use core::ptr;
use weir::driver::NativeStream;

/// An event, which ends when it is dropped.
pub struct Event {
    gpu: &'static Gpu,
    event: Handle,
}

// SAFETY: the vendor's calls may be made on any thread.
unsafe impl Send for Event {}

impl Event {
    /// An event without a time.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn new(gpu: &'static Gpu) -> Result<Self, GpuError> {
        const DISABLE_TIMING: c_uint = 2;
        gpu.enter()?;
        let mut event = ptr::null_mut();
        // SAFETY: a place for the answer.
        done("cuEventCreate", unsafe { (gpu.calls.event_create)(&raw mut event, DISABLE_TIMING) })?;
        Ok(Self { gpu, event })
    }

    /// Records it behind what is queued on a stream.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn record(&self, on: NativeStream) -> Result<(), GpuError> {
        // SAFETY: an event of ours, and a handle, which the vendor refuses where it is none.
        done("cuEventRecord", unsafe { (self.gpu.calls.event_record)(self.event, handle(on)) })
    }

    /// Makes a stream wait for it. One that was never recorded holds nobody up.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn wait(&self, on: NativeStream) -> Result<(), GpuError> {
        // SAFETY: the same.
        done("cuStreamWaitEvent", unsafe { (self.gpu.calls.stream_wait)(handle(on), self.event, 0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: an event of ours, which nobody names any more.
        let _ = unsafe { (self.gpu.calls.event_destroy)(self.event) };
    }
}

impl Gpu {
    /// Waits on the host for a stream.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn synchronise_stream(&self, stream: NativeStream) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: a handle, which the vendor refuses where it is none.
        done("cuStreamSynchronize", unsafe { (self.calls.stream_synchronise)(handle(stream)) })
    }
}
