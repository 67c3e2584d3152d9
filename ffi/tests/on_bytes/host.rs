//! The host driver as a machine.

use super::host_support::hold;
use super::on_bytes::{Machine, Make};
use std::sync::mpsc::Sender;
use weir::driver::NativeStream;
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr};
use weir_ffi::host::{HostConfig, HostDriver, Read, Write, pattern};

/// Makes host devices.
pub(crate) struct OnHost;

impl Make for OnHost {
    type Machine = HostDriver;

    fn machine(&self, devices: u32, total: Bytes) -> HostDriver {
        HostDriver::new(HostConfig { devices, ..HostConfig::with_total(total) }).unwrap()
    }
}

impl Machine for HostDriver {
    type Hold = Sender<()>;

    fn stream(&self, device: DeviceId) -> NativeStream {
        self.create_stream(device, StreamKind::NonBlocking).unwrap()
    }

    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) {
        self.launch(on, Write(at, bytes), move |bytes| pattern::fill(bytes, seed)).unwrap();
    }

    /// A panic in a kernel is a fault of the device's.
    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) {
        self.launch(on, Read(at, bytes), move |bytes| assert_eq!(pattern::check(bytes, seed), Ok(()))).unwrap();
    }

    fn hold(&self, on: NativeStream) -> Sender<()> {
        hold(self, on)
    }

    fn callback(&self, on: NativeStream, call: impl FnOnce() + Send + 'static) {
        self.launch(on, (), move |()| call()).unwrap();
    }

    fn verdict(&self, device: DeviceId) {
        assert_eq!(self.fault(device).unwrap(), None);
    }

    fn created(&self, device: DeviceId) -> Bytes {
        Self::created(self, device).unwrap()
    }

    fn resident(&self, device: DeviceId) -> Bytes {
        Self::resident(self, device).unwrap()
    }
}
