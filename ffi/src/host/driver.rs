//! The driver itself: streams by their numbers, and the calls of the trait.

use super::arguments::{Arguments, Lent};
use super::config::HostConfig;
use super::counters::{Counters, HostCounters};
use super::device::Device;
use super::fault::{Fault, HostError, Injection, Injections, failed, lock};
use super::marker::{Mark, Markers};
use super::stream::{Command, Launch, Stream};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr, Nanos};

struct Entry {
    stream: Arc<Stream>,
    thread: JoinHandle<()>,
}

/// The streams by their numbers.
#[derive(Default)]
struct Streams {
    live: HashMap<u64, Entry>,
    /// Those that were destroyed and may still have work: a device has that too.
    ending: Vec<Arc<Stream>>,
}

impl Streams {
    /// The stream takes no more commands, and its number names nothing from now on.
    fn close(&mut self, stream: NativeStream) -> Option<Entry> {
        let entry = self.live.remove(&stream.0)?;
        entry.stream.close();
        self.ending.retain(|other| !other.is_over());
        self.ending.push(Arc::clone(&entry.stream));
        Some(entry)
    }

    /// Everything that is queued on the streams of a device.
    fn marks(&self, place: usize) -> Vec<Mark> {
        let all = self.live.values().map(|entry| &entry.stream).chain(&self.ending);
        all.filter(|stream| stream.place == place).map(|stream| stream.mark()).collect()
    }
}

/// Linux memory as one or more devices. See the [module's page](super).
///
/// Dropping it finishes what is queued, ends the streams' threads and gives everything back.
pub struct HostDriver {
    config: HostConfig,
    devices: Box<[Arc<Device>]>,
    /// Per device, the streams to which the rules of default streams apply, until their last work is done. Held while
    /// such a stream is queued on, so that all of them see one order.
    ordered: Box<[Mutex<Vec<Arc<Stream>>>]>,
    streams: RwLock<Streams>,
    next: AtomicU64,
    markers: Markers,
    counters: Counters,
    injections: Injections,
    origin: Instant,
}

impl HostDriver {
    /// Makes the devices. Nothing takes memory of the machine until it is written.
    ///
    /// # Errors
    /// The configuration makes no sense, or the system refuses a memfd.
    pub fn new(config: HostConfig) -> Result<Self, HostError> {
        config.check().map_err(HostError::BadConfig)?;
        let mut devices = Vec::new();
        for _ in 0..config.devices {
            devices.push(Arc::new(Device::new(&config)?));
        }
        Ok(Self {
            config,
            ordered: devices.iter().map(|_| Mutex::default()).collect(),
            devices: devices.into_boxed_slice(),
            streams: RwLock::default(),
            next: AtomicU64::new(1),
            markers: Markers::default(),
            counters: Counters::default(),
            injections: Injections::default(),
            origin: Instant::now(),
        })
    }

    /// The settings that it was made with.
    #[must_use]
    pub fn config(&self) -> &HostConfig {
        &self.config
    }

    /// Makes a stream: a thread that waits for commands. Its number is never used again.
    ///
    /// # Errors
    /// There is no such device, or the system refuses a thread.
    pub fn create_stream(&self, device: DeviceId, kind: StreamKind) -> Result<NativeStream, HostError> {
        let (place, on) = self.device(device)?;
        let id = NativeStream(self.next.fetch_add(1, Ordering::Relaxed));
        let stream = Arc::new(Stream::new(id, place, kind, Arc::clone(on)));
        let worker = Arc::clone(&stream);
        let thread = thread::Builder::new().name(format!("stream-{}", id.0)).spawn(move || worker.work())?;
        if kind != StreamKind::NonBlocking
            && let Some(ordered) = self.ordered.get(place)
        {
            lock(ordered).push(Arc::clone(&stream));
        }
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        streams.live.insert(id.0, Entry { stream, thread });
        Ok(id)
    }

    /// Finishes what is queued on the stream, then ends its thread. Nothing more can be queued on it meanwhile, and it
    /// counts as work of its device until it is done.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn destroy_stream(&self, stream: NativeStream) -> Result<(), HostError> {
        let closed = self.streams.write().unwrap_or_else(PoisonError::into_inner).close(stream);
        let entry = closed.ok_or(HostError::UnknownStream(stream))?;
        let place = entry.stream.place;
        end(entry);
        self.forget_ended(place);
        Ok(())
    }

    /// Drops what is kept of destroyed streams for as long as they have work.
    fn forget_ended(&self, place: usize) {
        self.streams.write().unwrap_or_else(PoisonError::into_inner).ending.retain(|stream| !stream.is_over());
        let Some(ordered) = self.ordered.get(place) else { return };
        let mut ordered = lock(ordered);
        let over: Vec<_> = ordered.extract_if(.., |stream| stream.is_over()).collect();
        for stream in over {
            ordered.iter().for_each(|other| other.forget(&stream));
        }
    }

    /// Queues a kernel: `body` runs on the stream's thread, when everything queued before it is done, and gets the
    /// bytes of `args`. Where they are not all mapped then, or another running kernel is in the way, it does not run
    /// and the device has a [`Fault`].
    ///
    /// # Errors
    /// There is no such stream.
    pub fn launch<A, F>(&self, stream: NativeStream, args: A, body: F) -> Result<(), HostError>
    where
        A: Arguments,
        F: for<'a> FnOnce(Lent<'a, A>) + Send + 'static,
    {
        self.launch_with(stream, move |launch| {
            if let Some(bytes) = launch.bytes(args) {
                body(bytes);
            }
        })
    }

    /// Queues a kernel that finds out what it touches while it runs: see [`Launch::bytes`].
    ///
    /// # Errors
    /// There is no such stream.
    pub fn launch_with<F>(&self, stream: NativeStream, body: F) -> Result<(), HostError>
    where
        F: FnOnce(&mut Launch<'_>) + Send + 'static,
    {
        let found = self.stream(stream).ok_or(HostError::UnknownStream(stream))?;
        found.make_room();
        if self.push(&found, Command::Kernel(Box::new(body))) { Ok(()) } else { Err(HostError::UnknownStream(stream)) }
    }

    /// The device's first fault, if it has one.
    ///
    /// # Errors
    /// There is no such device.
    pub fn fault(&self, device: DeviceId) -> Result<Option<Fault>, HostError> {
        Ok(self.device(device)?.1.fault())
    }

    /// Makes a device usable again after a fault, which is the answer. Kernels that were skipped stay skipped.
    ///
    /// # Errors
    /// There is no such device.
    pub fn clear_fault(&self, device: DeviceId) -> Result<Option<Fault>, HostError> {
        Ok(self.device(device)?.1.clear_fault())
    }

    /// Bytes in the granules of a device that exist now.
    ///
    /// # Errors
    /// There is no such device.
    pub fn created(&self, device: DeviceId) -> Result<Bytes, HostError> {
        Ok(self.device(device)?.1.created())
    }

    /// Bytes of the machine's memory that the device really takes now: granules never written take none.
    ///
    /// # Errors
    /// There is no such device, or the system does not say.
    pub fn resident(&self, device: DeviceId) -> Result<Bytes, HostError> {
        Ok(self.device(device)?.1.resident()?)
    }

    /// How often each call was made so far.
    #[must_use]
    pub fn counters(&self) -> HostCounters {
        self.counters.read(self.devices.iter().map(|d| d.kernels()).sum())
    }

    /// Makes calls fail, for tests. Several injections of one call come one after the other.
    pub fn inject(&self, injection: Injection) {
        self.injections.add(injection);
    }

    fn device(&self, device: DeviceId) -> Result<(usize, &Arc<Device>), HostError> {
        let place = usize::try_from(device.0).unwrap_or(usize::MAX);
        let found = self.devices.get(place).map(|d| (place, d));
        found.ok_or(HostError::UnknownDevice { device, devices: self.config.devices })
    }

    fn stream(&self, stream: NativeStream) -> Option<Arc<Stream>> {
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        streams.live.get(&stream.0).map(|entry| Arc::clone(&entry.stream))
    }

    /// Puts a command behind everything that the stream's kind makes it come after.
    fn push(&self, stream: &Stream, command: Command) -> bool {
        self.in_order(stream, |stream| stream.push(command))
    }

    /// Does something that counts as work of the stream, after it was made to follow others where its kind asks for it.
    fn in_order<T>(&self, stream: &Stream, work: impl FnOnce(&Stream) -> T) -> T {
        if stream.kind == StreamKind::NonBlocking {
            return work(stream);
        }
        let Some(ordered) = self.ordered.get(stream.place) else {
            return work(stream);
        };
        let peers = lock(ordered);
        for peer in peers.iter().filter(|peer| stream.follows(peer)) {
            stream.follow(peer);
        }
        work(stream)
    }

    /// Counts a call of the trait; lets an injected failure take its place.
    fn call<T>(
        &self,
        call: DriverCall,
        work: impl FnOnce(DriverCall) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let outcome = self.injections.due(call).and_then(|()| work(call));
        self.counters.count(call, outcome)
    }

    /// The same, on a device.
    fn on<T>(
        &self,
        call: DriverCall,
        device: DeviceId,
        work: impl FnOnce(&Device) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        self.call(call, |call| match self.device(device) {
            Ok((_, device)) => work(device),
            Err(_) => Err(failed(call, libc::ENODEV)),
        })
    }

    fn live(&self, call: DriverCall, stream: NativeStream) -> Result<Arc<Stream>, DriverError> {
        self.stream(stream).ok_or(failed(call, libc::EINVAL))
    }

    /// What a query or a synchronisation is about: the devices that must be sound, and what must be reached.
    fn marks(&self, call: DriverCall, what: Target) -> Result<(Option<usize>, Vec<Mark>), DriverError> {
        match what {
            Target::Stream(stream) => {
                let stream = self.live(call, stream)?;
                let mark = self.in_order(&stream, Stream::mark);
                Ok((Some(stream.place), vec![mark]))
            }
            Target::Marker(slot) => Ok(match self.markers.get(slot) {
                Some((place, mark)) => (Some(place), vec![mark]),
                None => (None, Vec::new()),
            }),
            Target::Device(device) => {
                let (place, _) = self.device(device).map_err(|_| failed(call, libc::ENODEV))?;
                let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
                Ok((Some(place), streams.marks(place)))
            }
        }
    }

    fn sound(&self, call: DriverCall, place: Option<usize>) -> Result<(), DriverError> {
        match place.and_then(|i| self.devices.get(i)) {
            Some(device) if device.is_faulted() => Err(failed(call, libc::EFAULT)),
            _ => Ok(()),
        }
    }
}

/// Lets a stream finish and its thread end. A kernel that drops the driver runs on one of these threads: that one is
/// not waited for.
fn end(entry: Entry) {
    entry.stream.close();
    if entry.thread.thread().id() != thread::current().id() {
        // The thread catches what kernels panic with, so it has nothing to say.
        let _ = entry.thread.join();
    }
}

impl Drop for HostDriver {
    fn drop(&mut self) {
        let streams = self.streams.get_mut().unwrap_or_else(PoisonError::into_inner);
        let entries: Vec<Entry> = streams.live.drain().map(|(_, entry)| entry).collect();
        entries.iter().for_each(|entry| entry.stream.close());
        entries.into_iter().for_each(end);
    }
}

impl fmt::Debug for HostDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &mut f.debug_struct("HostDriver");
        name.field("config", &self.config).finish_non_exhaustive()
    }
}

impl Driver for HostDriver {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.on(DriverCall::Properties, device, |d| Ok(d.properties()))
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.on(DriverCall::Reserve, device, |d| d.reserve(bytes))
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.on(DriverCall::Release, device, |d| d.release(base, bytes))
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.on(DriverCall::Create, device, Device::create)
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.on(DriverCall::Destroy, device, |d| d.destroy(granule))
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        _stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.on(DriverCall::Map, device, |d| d.map(at, granule))
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, _stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.on(DriverCall::Unmap, device, |d| d.unmap(at))
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.call(DriverCall::Lay, |call| {
            let stream = self.live(call, stream)?;
            let mark = self.in_order(&stream, Stream::mark);
            self.markers.lay(marker, stream.place, mark);
            Ok(())
        })
    }

    /// A slot that was never laid is complete.
    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.call(DriverCall::Query, |call| {
            let (place, marks) = self.marks(call, what)?;
            let complete = marks.iter().all(Mark::is_complete);
            self.sound(call, place)?;
            Ok(if complete { Completion::Complete } else { Completion::Pending })
        })
    }

    /// A slot that was never laid adds nothing.
    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.call(DriverCall::Wait, |call| {
            let stream = self.live(call, stream)?;
            let queued = match self.markers.get(marker) {
                Some((_, mark)) if !mark.is_complete() => self.push(&stream, Command::Wait(mark)),
                _ => true,
            };
            if queued { Ok(()) } else { Err(failed(call, libc::EINVAL)) }
        })
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.call(DriverCall::Synchronise, |call| {
            let (place, marks) = self.marks(call, what)?;
            let deadline = self.config.patience.and_then(|p| Instant::now().checked_add(p));
            let reached = marks.iter().all(|mark| mark.wait(deadline));
            self.sound(call, place)?;
            if reached { Ok(()) } else { Err(failed(call, libc::ETIMEDOUT)) }
        })
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
