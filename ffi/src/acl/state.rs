//! What there is between `aclInit` and `aclFinalize`.

use super::bindings as acl;
use super::codes::{Refusal, guard};
use super::handle::{Kind, Raw, Table, from_raw};
use super::settings;
use crate::calls::{Call, Calls, Counted};
use crate::host::{HostConfig, HostDriver};
use crate::log_sink::LogSink;
use crate::owned::Owned;
use crate::pool::Pool;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use weir::driver::NativeStream;
use weir::id::{DeviceId, EventId, StreamId};
use weir::policy::Destroy;
use weir::units::Bytes;
use weir::{Capacities, StreamConfig};

/// A context: what streams belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) device: DeviceId,
    /// Whether `aclrtSetDevice` made it.
    pub(super) origin: Origin,
    /// Its default stream, once it was needed.
    pub(super) default_stream: Option<usize>,
}

/// Who made a context, and so who ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Device,
    Program,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) context: usize,
    pub(super) id: StreamId,
    pub(super) native: NativeStream,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) id: EventId,
    /// Of the context that it was made in.
    pub(super) device: DeviceId,
    pub(super) recorded: Recorded,
}

/// Whether an event stands for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    Never,
    Once,
}

/// A device as `aclrtSetDevice` counts it.
#[derive(Debug, Default)]
pub(super) struct Use {
    pub(super) references: u32,
    pub(super) context: Option<usize>,
    /// The stream that copies outside all streams run on, once it was needed.
    copies: Option<NativeStream>,
}

/// Everything of one `aclInit`.
pub(super) struct World {
    calls: Calls,
    pub(super) runtime: Owned<HostDriver, LogSink>,
    pub(super) contexts: Table<Context>,
    pub(super) streams: Table<Stream>,
    pub(super) events: Table<Event>,
    pub(super) pools: Table<Pool>,
    devices: Box<[Mutex<Use>]>,
}

impl Counted for World {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

static WORLD: RwLock<Option<Arc<World>>> = RwLock::new(None);
/// Whether there was a world before.
static ENDED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The thread's current context. A context that is gone counts as none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Makes a context the thread's.
pub(super) fn make_current(context: usize) {
    CURRENT.set(context);
}

/// The body of a function that needs `aclInit`.
pub(super) fn call(work: impl FnOnce(&World) -> Result<(), Refusal>) -> acl::aclError {
    guard(|| work(&*current()?))
}

/// Begins a call; `aclFinalize` waits for it to end.
pub(super) fn current() -> Result<Call<World>, Refusal> {
    let world = WORLD.read().unwrap_or_else(PoisonError::into_inner);
    world.as_ref().map(Call::begin).ok_or_else(|| Refusal::new(acl::ACL_ERROR_UNINITIALIZE, "aclInit was not called"))
}

/// Makes the world, if there is none.
pub(super) fn begin() -> Result<(), Refusal> {
    let mut world = WORLD.write().unwrap_or_else(PoisonError::into_inner);
    if world.is_some() {
        let text = "aclInit was called before, without aclFinalize since";
        return Err(Refusal::new(acl::ACL_ERROR_REPEAT_INITIALIZE, text));
    }
    *world = Some(Arc::new(World::new()?));
    Ok(())
}

/// Ends the world, if there is one.
pub(super) fn end() -> Result<(), Refusal> {
    let taken = WORLD.write().unwrap_or_else(PoisonError::into_inner).take();
    let Some(world) = taken else {
        return Err(match ENDED.load(Ordering::Relaxed) {
            true => {
                Refusal::new(acl::ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before, without aclInit since")
            }
            false => Refusal::new(acl::ACL_ERROR_UNINITIALIZE, "aclInit was not called"),
        });
    };
    ENDED.store(true, Ordering::Relaxed);
    world.calls.wait();
    world.close()
}

/// How much one process can have at once.
pub(crate) fn capacities(total: Bytes, granularity: Bytes, pages: usize) -> Capacities {
    let granules = usize::try_from(total.0.checked_div(granularity.0).unwrap_or(0)).unwrap_or(usize::MAX);
    Capacities {
        streams: 128,
        events: 1024,
        markers: 512,
        pools: 64,
        blocks: 1 << 17,
        granules: granules.min(1 << 24),
        labels: 16,
        pages,
    }
}

impl World {
    fn new() -> Result<Self, Refusal> {
        let config = HostConfig::with_total(settings::total()?);
        let (sink, pages) = settings::log()?;
        let driver = HostDriver::new(config).map_err(|error| settings::bad_total(config.total, error))?;
        Ok(Self {
            calls: Calls::default(),
            devices: (0..config.devices).map(|_| Mutex::default()).collect(),
            runtime: Owned::new(capacities(config.total, config.granularity, pages), driver, sink),
            contexts: Table::new(Kind::Context),
            streams: Table::new(Kind::Stream),
            events: Table::new(Kind::Event),
            pools: Table::new(Kind::Pool),
        })
    }

    pub(super) fn host(&self) -> &HostDriver {
        self.runtime.driver()
    }

    /// A device by the number that the program gave.
    pub(super) fn device(&self, number: i64) -> Result<(DeviceId, MutexGuard<'_, Use>), Refusal> {
        let place = usize::try_from(number).ok();
        let found = place.and_then(|place| Some((u32::try_from(place).ok()?, self.devices.get(place)?)));
        let (id, device) = found.ok_or_else(|| {
            let text = format!(
                "there is no device {number}: devices are counted from 0, and there are {}",
                self.devices.len()
            );
            Refusal::new(acl::ACL_ERROR_RT_INVALID_DEVICEID, text)
        })?;
        Ok((DeviceId(id), device.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The thread's current context.
    pub(super) fn context(&self) -> Result<(usize, Context), Refusal> {
        let handle = CURRENT.get();
        let found = self.contexts.get(handle).map(|context| (handle, context));
        found.ok_or_else(|| {
            let text = "the thread has no current context: call aclrtSetDevice or aclrtCreateContext";
            Refusal::new(acl::ACL_ERROR_RT_CONTEXT_NULL, text)
        })
    }

    /// A stream that the program named; null is refused.
    pub(super) fn stream(&self, raw: Raw) -> Result<Stream, Refusal> {
        let (context, _) = self.context()?;
        let handle = from_raw(raw);
        let found = self.streams.get(handle);
        let stream = found.ok_or_else(|| Refusal::handle(acl::ACL_ERROR_RT_INVALID_HANDLE, "stream", handle))?;
        if stream.context != context {
            let text = format!("stream {handle:#x} belongs to context {:#x}, not to the current one", stream.context);
            return Err(Refusal::new(acl::ACL_ERROR_RT_STREAM_CONTEXT, text));
        }
        Ok(stream)
    }

    /// A stream that the program named; null is the default stream of the current context.
    pub(super) fn stream_or_default(&self, raw: Raw) -> Result<Stream, Refusal> {
        if !raw.is_null() {
            return self.stream(raw);
        }
        let (handle, context) = self.context()?;
        // One thread makes it, the others find it.
        let (device, guard) = self.device(i64::from(context.device.0))?;
        let made = self.contexts.get(handle).and_then(|context| context.default_stream);
        if let Some(stream) = made.and_then(|stream| self.streams.get(stream)) {
            return Ok(stream);
        }
        let (number, stream) = self.add_stream(handle, device)?;
        self.contexts.change(handle, |context| context.default_stream = Some(number));
        drop(guard);
        Ok(stream)
    }

    /// Makes a stream of a context.
    pub(super) fn add_stream(&self, context: usize, device: DeviceId) -> Result<(usize, Stream), Refusal> {
        let config = StreamConfig::new(device, NativeStream(0));
        let native = self.host().create_stream(device, config.kind)?;
        let config = StreamConfig { native, context: context as u64, ..config };
        let id = self.runtime.create_stream(config).inspect_err(|_| {
            // It was just made, so it is there.
            let _ = self.host().destroy_stream(native);
        })?;
        let stream = Stream { context, id, native };
        Ok((self.streams.add(stream), stream))
    }

    /// Finishes and ends a stream.
    pub(super) fn end_stream(&self, stream: Stream) -> Result<(), Refusal> {
        self.runtime.destroy_stream(stream.id)?;
        Ok(self.host().destroy_stream(stream.native)?)
    }

    /// Ends a context with its streams.
    pub(super) fn end_context(&self, handle: usize) -> Result<(), Refusal> {
        self.contexts.take(handle);
        let mut first = Ok(());
        for (stream, _) in self.streams.all().into_iter().filter(|(_, stream)| stream.context == handle) {
            // Another thread may have been faster.
            let ended = self.streams.take(stream).map_or(Ok(()), |stream| self.end_stream(stream));
            first = first.and(ended);
        }
        first
    }

    /// The stream for copies outside all streams.
    pub(super) fn copies(&self, device: DeviceId) -> Result<NativeStream, Refusal> {
        let (device, mut used) = self.device(i64::from(device.0))?;
        match used.copies {
            Some(stream) => Ok(stream),
            None => {
                let made = self.host().create_stream(device, weir::policy::StreamKind::NonBlocking)?;
                Ok(*used.copies.insert(made))
            }
        }
    }

    /// What the device is reported to have suffered.
    pub(super) fn fault(&self, device: DeviceId) -> Refusal {
        let fault = self.host().fault(device).ok().flatten();
        let text = fault.map_or_else(|| "the device is unusable".to_owned(), |fault| fault.to_string());
        Refusal::new(acl::ACL_ERROR_RT_AICORE_EXCEPTION, text)
    }

    /// Says more about a failure that a fault of the device explains.
    pub(super) fn explain(&self, device: DeviceId, refusal: Refusal) -> Refusal {
        match refusal.code == acl::ACL_ERROR_RT_AICORE_EXCEPTION.cast_signed() {
            true => self.fault(device),
            false => refusal,
        }
    }

    /// Finishes and gives back everything, as far as that goes; answers the first failure.
    fn close(&self) -> Result<(), Refusal> {
        let mut first = Ok(());
        for (pool, _) in self.pools.all() {
            let ended =
                self.pools.take(pool).map_or(Ok(()), |p| self.runtime.destroy_pool(p.id, Destroy::WithLiveBlocks));
            first = first.and(ended.map_err(Refusal::from));
        }
        for number in 0..self.devices.len() {
            let device = DeviceId(u32::try_from(number).unwrap_or(u32::MAX));
            let finished = self.runtime.synchronize_device(device).map_err(Refusal::from);
            first = first.and(finished.map_err(|refusal| self.explain(device, refusal)));
        }
        for (stream, _) in self.streams.all() {
            first = first.and(self.streams.take(stream).map_or(Ok(()), |stream| self.end_stream(stream)));
        }
        for (event, _) in self.events.all() {
            let ended = self.events.take(event).map_or(Ok(()), |event| self.runtime.destroy_event(event.id));
            first = first.and(ended.map_err(Refusal::from));
        }
        let lost = || self.runtime.counters().records_lost;
        let complaint = self.runtime.with_sink(|sink| sink.complaint(lost()));
        first.and(complaint.map_or(Ok(()), |text| Err(settings::bad_log(text))))
    }
}
