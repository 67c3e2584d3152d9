//! The two that are compared, as the loops of `weir-bench` take them.

use weir::driver::{Driver, NativeStream};
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Capacities, Runtime, State, StreamConfig};
use weir_bench::churn::{Allocator, Host, Refused};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::lock::Parking;
use weir_ffi::vendor::{Vendor, VendorDriver};
use weir_gpu_device::{Event, Gpu, GpuError, VendorPool};

const DEVICE: DeviceId = DeviceId(0);

/// What a measurement needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub(super) streams: usize,
    pub(super) events: usize,
    /// Blocks that are live at once.
    pub(super) blocks: usize,
}

/// One of the two.
pub(super) trait Side: Allocator + Sized {
    /// Its name in tables.
    const NAME: &'static str;

    /// A pool that keeps what it has, and streams and events of its own. What it has taken goes back when it is dropped.
    fn new(gpu: &'static Gpu, needs: Needs) -> Result<Self, GpuError>;

    /// The stream of a number, as the vendor knows it.
    fn native(&self, stream: usize) -> NativeStream;
}

fn failed(error: impl std::fmt::Debug) -> GpuError {
    GpuError::Failed(format!("weir refused what the measurement needs: {error:?}"))
}

/// weir, with the lock of hosted programs: the vendor's pool is for all threads, too.
pub(super) struct Weir {
    gpu: &'static Gpu,
    runtime: Runtime<'static, VendorDriver, NullSink, Parking<State<'static>>>,
    pool: PoolId,
    streams: Vec<(StreamId, NativeStream)>,
    events: Vec<EventId>,
    on: StreamId,
}

impl Side for Weir {
    const NAME: &'static str = "weir";

    fn new(gpu: &'static Gpu, needs: Needs) -> Result<Self, GpuError> {
        let defaults = Capacities::default();
        let driver = VendorDriver::open(Vendor::Cuda, None).map_err(failed)?;
        let device = driver.properties(DEVICE).map_err(failed)?;
        let capacities = Capacities {
            streams: defaults.streams.max(needs.streams),
            events: defaults.events.max(needs.events),
            blocks: defaults.blocks.max(needs.blocks * 4),
            // All that the device has: the pool has no other limit.
            granules: defaults.granules.max((device.total.0 / device.granularity.0) as usize + 8),
            pages: 0,
            ..defaults
        };
        // A runtime for as long as the process lasts; what it takes of the device goes back.
        let arenas = Box::leak(Box::new(HeapArenas::new(capacities)));
        let runtime = Runtime::new(arenas.lend(), driver, NullSink);
        let config = PoolConfig { threshold: Bytes(u64::MAX), ..PoolConfig::new(DEVICE) };
        let pool = runtime.create_pool(config).map_err(failed)?;
        let mut streams = Vec::new();
        for _ in 0..needs.streams {
            let native = gpu.stream()?;
            streams.push((runtime.create_stream(StreamConfig::new(DEVICE, native)).map_err(failed)?, native));
        }
        let events = (0..needs.events).map(|_| runtime.create_event()).collect::<Result<_, _>>().map_err(failed)?;
        let on = streams.first().ok_or_else(|| failed("no stream"))?.0;
        Ok(Self { gpu, runtime, pool, streams, events, on })
    }

    fn native(&self, stream: usize) -> NativeStream {
        self.streams.get(stream).map_or(NativeStream(0), |(_, native)| *native)
    }
}

impl Allocator for Weir {
    type Block = DevicePtr;

    #[inline]
    fn malloc(&mut self, size: u64) -> Option<DevicePtr> {
        self.runtime.malloc_async(self.pool, Bytes(size), self.on).ok()
    }

    #[inline]
    fn free(&mut self, block: DevicePtr) -> Result<(), Refused> {
        self.runtime.free_async(block, self.on).map_err(|_| Refused)
    }

    fn peak(&self) -> Option<u64> {
        self.runtime.stats(self.pool).ok().map(|stats| stats.reserved_high.0)
    }

    fn on(&mut self, stream: usize) {
        if let Some((stream, _)) = self.streams.get(stream) {
            self.on = *stream;
        }
    }

    fn record(&mut self, event: usize) -> Result<(), Refused> {
        let event = self.events.get(event).ok_or(Refused)?;
        self.runtime.record(*event, self.on).map_err(|_| Refused)
    }

    fn wait(&mut self, event: usize) -> Result<(), Refused> {
        let event = self.events.get(event).ok_or(Refused)?;
        self.runtime.wait(self.on, *event).map_err(|_| Refused)
    }

    fn synchronise(&mut self, what: Host) -> Result<(), Refused> {
        let done = match what {
            Host::Stream => self.runtime.synchronize_stream(self.on),
            Host::Device => self.runtime.synchronize_device(DEVICE),
        };
        done.map_err(|_| Refused)
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        // A failure leaves memory with the process, which is about to end; the measurement itself is over.
        let _ = self.runtime.synchronize_device(DEVICE);
        let _ = self.runtime.destroy_pool(self.pool, Destroy::WithLiveBlocks);
        let _ = self.runtime.synchronize_device(DEVICE);
        for (stream, native) in self.streams.drain(..) {
            let _ = self.runtime.destroy_stream(stream);
            let _ = self.gpu.destroy_stream(native);
        }
    }
}

/// The vendor's pool, by `cuMemAllocAsync`, which is what `cudaMallocAsync` calls.
pub(super) struct Cuda {
    gpu: &'static Gpu,
    pool: VendorPool,
    streams: Vec<NativeStream>,
    events: Vec<Event>,
    on: NativeStream,
}

impl Side for Cuda {
    const NAME: &'static str = "cudaMallocAsync";

    fn new(gpu: &'static Gpu, needs: Needs) -> Result<Self, GpuError> {
        let pool = VendorPool::new(gpu)?;
        let streams = (0..needs.streams).map(|_| gpu.stream()).collect::<Result<Vec<_>, _>>()?;
        let events = (0..needs.events).map(|_| Event::new(gpu)).collect::<Result<_, _>>()?;
        let on = *streams.first().ok_or_else(|| failed("no stream"))?;
        Ok(Self { gpu, pool, streams, events, on })
    }

    fn native(&self, stream: usize) -> NativeStream {
        self.streams.get(stream).copied().unwrap_or(NativeStream(0))
    }
}

impl Allocator for Cuda {
    type Block = DevicePtr;

    #[inline]
    fn malloc(&mut self, size: u64) -> Option<DevicePtr> {
        self.pool.malloc(Bytes(size), self.on).ok()
    }

    #[inline]
    fn free(&mut self, block: DevicePtr) -> Result<(), Refused> {
        self.pool.free(block, self.on).map_err(|_| Refused)
    }

    fn peak(&self) -> Option<u64> {
        self.pool.reserved_high().ok().map(|bytes| bytes.0)
    }

    fn on(&mut self, stream: usize) {
        if let Some(stream) = self.streams.get(stream) {
            self.on = *stream;
        }
    }

    fn record(&mut self, event: usize) -> Result<(), Refused> {
        self.events.get(event).ok_or(Refused)?.record(self.on).map_err(|_| Refused)
    }

    fn wait(&mut self, event: usize) -> Result<(), Refused> {
        self.events.get(event).ok_or(Refused)?.wait(self.on).map_err(|_| Refused)
    }

    fn synchronise(&mut self, what: Host) -> Result<(), Refused> {
        let done = match what {
            Host::Stream => self.gpu.synchronise_stream(self.on),
            Host::Device => self.gpu.synchronise(),
        };
        done.map_err(|_| Refused)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // As above.
        let _ = self.gpu.synchronise();
        for stream in self.streams.drain(..) {
            let _ = self.gpu.destroy_stream(stream);
        }
    }
}
