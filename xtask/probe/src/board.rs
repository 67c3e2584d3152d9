//! A driver and a sink whose answers the compiler cannot know.

use core::hint::black_box;
use weir::driver::{Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target};
use weir::id::DeviceId;
use weir::trace::{Sink, SinkError};
use weir::units::{Bytes, DevicePtr, Nanos};

/// The driver.
#[derive(Clone, Copy, Debug)]
pub struct Board;

/// An answer that could be anything.
fn answer<T: Copy>(likely: T) -> Result<T, DriverError> {
    black_box(Ok(likely))
}

impl Driver for Board {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        black_box(device);
        answer(Properties {
            granularity: Bytes::mib(2),
            alignment: Bytes(512),
            total: Bytes::gib(1),
            capabilities: weir::driver::Capabilities::empty(),
        })
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        black_box((device, bytes));
        answer(DevicePtr(1 << 40))
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        black_box((device, base, bytes));
        answer(())
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        black_box(device);
        answer(GranuleHandle(1))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        black_box((device, granule));
        answer(())
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        black_box((device, at, granule, stream));
        answer(())
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        black_box((device, at, stream));
        answer(())
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        black_box((marker, stream));
        answer(())
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        black_box(what);
        answer(Completion::Pending)
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        black_box((stream, marker));
        answer(())
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        black_box(what);
        answer(())
    }

    fn now(&self) -> Nanos {
        black_box(Nanos(0))
    }
}

/// The sink.
#[derive(Clone, Copy, Debug)]
pub struct Wire;

impl Sink for Wire {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        black_box(page);
        black_box(Ok(()))
    }
}
