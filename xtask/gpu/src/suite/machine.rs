//! The GPU as what the programs of the tests run on. What fails here fails the program, as in the tests.

use super::on_bytes::{Machine, Make};
use super::vendor_world::Bench;
use std::time::Duration;
use weir::driver::NativeStream;
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};
use weir_gpu_device::{Failing, Gpu, GpuDriver, Hold};

const DEVICE: DeviceId = DeviceId(0);

/// Makes drivers of the first device's, each with as much of its memory as a program is for.
pub(super) struct OnGpu(pub(super) &'static Gpu);

impl Make for OnGpu {
    type Machine = GpuDriver;

    fn machine(&self, devices: u32, total: Bytes) -> GpuDriver {
        assert_eq!(devices, 1, "programs for several devices are left out");
        GpuDriver::new(self.0, total).unwrap()
    }
}

/// Some writers are late, so that whoever does not wait for them comes before.
const fn lateness(seed: u64) -> Duration {
    Duration::from_micros(seed % 4 * 10)
}

impl Machine for GpuDriver {
    type Hold = Hold<'static>;

    fn stream(&self, device: DeviceId) -> NativeStream {
        assert_eq!(device, DEVICE);
        Self::stream(self).unwrap()
    }

    fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) {
        self.gpu().spin(on, lateness(seed)).unwrap();
        self.gpu().fill(on, at, bytes, seed).unwrap();
    }

    fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) {
        self.gpu().check(on, at, bytes, seed).unwrap();
    }

    fn hold(&self, on: NativeStream) -> Hold<'static> {
        self.gpu().hold(on).unwrap()
    }

    fn callback(&self, on: NativeStream, call: impl FnOnce() + Send + 'static) {
        self.gpu().callback(on, call).unwrap();
    }

    /// What kernels found is looked at when the program is over.
    fn verdict(&self, _: DeviceId) {}

    fn created(&self, _: DeviceId) -> Bytes {
        Bytes(self.granules() * Self::granule(self).0)
    }

    /// The vendor does not say what a program alone has.
    fn resident(&self, device: DeviceId) -> Bytes {
        Machine::created(self, device)
    }
}

impl Bench for GpuDriver {
    fn granule(&self) -> u64 {
        Self::granule(self).0
    }

    fn stream(&self) -> NativeStream {
        Self::stream(self).unwrap()
    }

    fn write(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64) {
        Machine::fill(self, on, at, bytes, value);
    }

    fn expect(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, value: u64) {
        Machine::check(self, on, at, bytes, value);
    }

    fn work(&self, on: NativeStream) {
        self.gpu().spin(on, Duration::from_micros(100)).unwrap();
    }

    fn run(&self) {
        self.gpu().synchronise().unwrap();
    }

    fn fail(&self, after: u64, times: u64, code: i32) {
        Self::fail(self, Failing { after, times, code });
    }

    fn calls(&self) -> u64 {
        Self::calls(self)
    }

    fn granules(&self) -> u64 {
        Self::created(self)
    }

    fn ranges(&self) -> u64 {
        Self::reserved(self)
    }

    /// What kernels found is looked at when the program is over.
    fn inspect(&self, _: &str) {}
}
