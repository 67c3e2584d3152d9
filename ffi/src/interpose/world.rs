//! The pools' runtime on the vendor's device, from the first pool on until the device is reset or ACL is finalised.

use super::driver::Passing;
use super::handles::{self, Event, Kind, Named, Stream};
use super::vendor::{self, Handle};
use crate::acl::bindings as acl;
use crate::acl::codes::Refusal;
use crate::acl::handle::{Kind as HandleKind, Table};
use crate::acl::settings;
use crate::acl::state::{Pool, capacities};
use crate::calls::{Call, Calls, Counted};
use crate::log_sink::LogSink;
use crate::owned::Owned;
use crate::vendor::{Vendor, VendorDriver, VendorError};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use weir::StreamConfig;
use weir::driver::{Driver, NativeStream};
use weir::error::{OrderError, PoolError};
use weir::id::{DeviceId, EventId, StreamId};
use weir::policy::Destroy;
use weir::units::{Bytes, DevicePtr};

/// A device that has had a pool.
#[derive(Clone, Copy, Debug)]
struct Device {
    /// The context whose streams have their order followed: the one that `aclrtSetDevice` gives.
    context: usize,
    /// How often work was given up, and how often before the latest synchronisation of the device began.
    aborts: u64,
    settled: u64,
    /// A stream of weir's own, for frees that come after a synchronisation anyway.
    quiet: Option<StreamId>,
}

pub(super) struct World {
    number: u64,
    calls: Calls,
    pub(super) runtime: Owned<Passing, LogSink>,
    pub(super) pools: Table<Pool>,
    devices: Mutex<BTreeMap<u32, Device>>,
    /// Whether work of any device was given up, and the device not synchronised since.
    suspect: Arc<AtomicBool>,
}

impl Counted for World {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

static WORLD: RwLock<Option<Arc<World>>> = RwLock::new(None);
/// Held by who makes a world or ends it. Vendor's calls are made meanwhile, which may come back here.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a call, where there is a world.
pub(super) fn current() -> Option<Call<World>> {
    WORLD.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(Call::begin)
}

/// Begins a call about a device, for which a world is made if need be.
pub(super) fn begin(device: u32) -> Result<Call<World>, Refusal> {
    let _turn = lock(&TURN);
    if let Some(world) = current() {
        world.open(device)?;
        return Ok(world);
    }
    let world = Arc::new(World::new(device)?);
    world.open(device)?;
    let mut place = WORLD.write().unwrap_or_else(PoisonError::into_inner);
    Ok(Call::begin(place.insert(world)))
}

/// Ends the world, if there is one: waits for calls in flight, finishes, gives everything back.
pub(super) fn end() {
    let _turn = lock(&TURN);
    let taken = WORLD.write().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut world) = taken else { return };
    world.calls.wait();
    world.close();
    // The driver must have let go of its devices before the vendor is told to: whoever was in a call drops its share
    // now.
    while let Err(shared) = Arc::try_unwrap(world) {
        world = shared;
        std::thread::yield_now();
    }
}

/// Ends what the world has of a device, and the world with the last one.
pub(super) fn end_device(device: u32) {
    let Some(world) = current() else { return };
    world.end_pools(Some(device));
    let left = {
        let mut devices = lock(&world.devices);
        devices.remove(&device);
        world.judge(&devices);
        devices.len()
    };
    drop(world);
    if left == 0 {
        end();
    }
}

impl From<VendorError> for Refusal {
    fn from(error: VendorError) -> Self {
        Self::new(acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, error.to_string())
    }
}

/// The context that `aclrtSetDevice` gives on a device; the thread's own stays.
fn default_context(device: u32) -> Result<usize, Refusal> {
    let number = i32::try_from(device).unwrap_or(i32::MAX);
    let (mut before, mut found): (Handle, Handle) = (core::ptr::null_mut(), core::ptr::null_mut());
    let had = vendor::get_context(&mut before) == 0 && !before.is_null();
    let mut code = vendor::set_device(number);
    if code == 0 {
        code = vendor::get_context(&mut found);
        // The driver holds the device too, so it is not the last to let go.
        vendor::reset_device(number);
        if had {
            vendor::set_context(before);
        }
    }
    match code {
        0 => Ok(found.addr()),
        code => Err(Refusal::new(code, format!("device {device} has no context for pools"))),
    }
}

impl World {
    /// A world with room for the memory of all devices, taken to be as large as this one.
    fn new(device: u32) -> Result<Self, Refusal> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (sink, pages) = settings::log()?;
        let suspect = Arc::new(AtomicBool::new(false));
        let driver = Passing::new(VendorDriver::open(Vendor::Acl, None)?, Arc::clone(&suspect));
        let properties = driver.properties(DeviceId(device)).map_err(PoolError::Driver)?;
        let mut devices = 1;
        vendor::count_devices(&mut devices);
        let total = Bytes(properties.total.0.saturating_mul(u64::from(devices.max(1))));
        Ok(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            calls: Calls::default(),
            runtime: Owned::new(capacities(total, properties.granularity, pages), driver, sink),
            pools: Table::new(HandleKind::Pool),
            devices: Mutex::default(),
            suspect,
        })
    }

    fn open(&self, device: u32) -> Result<(), Refusal> {
        if lock(&self.devices).contains_key(&device) {
            return Ok(());
        }
        self.runtime.driver().properties(DeviceId(device)).map_err(PoolError::Driver)?;
        let context = default_context(device)?;
        lock(&self.devices).entry(device).or_insert(Device { context, aborts: 0, settled: 0, quiet: None });
        Ok(())
    }

    fn device(&self, device: u32) -> Option<Device> {
        lock(&self.devices).get(&device).copied()
    }

    /// The device whose streams' order is followed in this context.
    pub(super) fn device_of(&self, context: usize) -> Option<u32> {
        lock(&self.devices).iter().find(|(_, device)| device.context == context).map(|(number, _)| *number)
    }

    /// Notes that work of a device was, or is about to be, given up; `None`: of any.
    pub(super) fn note_abort(&self, device: Option<u32>) {
        let mut devices = lock(&self.devices);
        for (number, found) in devices.iter_mut() {
            if device.is_none_or(|device| device == *number) {
                found.aborts += 1;
            }
        }
        self.judge(&devices);
    }

    /// What [`note_finished`](Self::note_finished) takes, before a synchronisation of the device begins.
    pub(super) fn aborts(&self, device: u32) -> u64 {
        self.device(device).map_or(0, |device| device.aborts)
    }

    /// A synchronisation of the device succeeded: what was given up before it began is over.
    pub(super) fn note_finished(&self, device: u32, aborts: u64) {
        let mut devices = lock(&self.devices);
        if let Some(found) = devices.get_mut(&device) {
            found.settled = found.settled.max(aborts);
        }
        self.judge(&devices);
    }

    fn judge(&self, devices: &BTreeMap<u32, Device>) {
        let suspect = devices.values().any(|device| device.aborts > device.settled);
        self.suspect.store(suspect, Ordering::SeqCst);
    }

    /// Whether work was given up, and no device was synchronised since: no order can be believed.
    pub(super) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::SeqCst)
    }

    /// What the runtime calls a stream; `None` where its order is not followed: it is of another context, special, or
    /// there is no room for it.
    pub(super) fn follow(&self, handle: Handle, stream: &Stream) -> Option<StreamId> {
        let device = self.device(stream.device)?;
        if stream.kind != Kind::Ordinary || stream.context != device.context {
            return None;
        }
        let mut id = lock(&stream.id);
        if let Some(named) = id.filter(|named| named.world == self.number) {
            return Some(named.id);
        }
        let native = NativeStream(handle.addr() as u64);
        let config = StreamConfig::new(DeviceId(stream.device), native);
        let made = self.runtime.create_stream(StreamConfig { context: stream.context as u64, ..config }).ok()?;
        *id = Some(Named { world: self.number, id: made });
        Some(made)
    }

    /// The stream is about to end, or has: its work becomes known to be complete by a marker, or by a synchronisation
    /// of the device.
    pub(super) fn retire(&self, stream: &Stream) {
        if let Some(named) = lock(&stream.id).take_if(|named| named.world == self.number) {
            // Nobody else has taken the id, and there is nothing to say to the program if the runtime is unusable.
            let _ = self.runtime.destroy_stream(named.id);
        }
    }

    /// What the runtime calls an event, if anything.
    pub(super) fn event(&self, event: &Event) -> Option<EventId> {
        lock(&event.id).filter(|named| named.world == self.number).map(|named| named.id)
    }

    /// The same, named if need be; `None` where there is no room.
    pub(super) fn name_event(&self, event: &Event) -> Option<EventId> {
        let mut id = lock(&event.id);
        if let Some(named) = id.filter(|named| named.world == self.number) {
            return Some(named.id);
        }
        let made = self.runtime.create_event().ok()?;
        *id = Some(Named { world: self.number, id: made });
        Some(made)
    }

    /// Whatever the event stood for, it stands for nothing now.
    pub(super) fn forget(&self, event: &Event) {
        if let Some(id) = self.event(event) {
            let _ = self.runtime.reset_event(id);
        }
    }

    /// The event has ended.
    pub(super) fn retire_event(&self, event: &Event) {
        if let Some(named) = lock(&event.id).take_if(|named| named.world == self.number) {
            let _ = self.runtime.destroy_event(named.id);
        }
    }

    /// The pool whose addresses hold this one.
    pub(super) fn pool_at(&self, ptr: DevicePtr) -> Option<Pool> {
        self.pools.read().values().find(|pool| ptr.0 >= pool.base && ptr.0 - pool.base < pool.range.0).copied()
    }

    /// Frees a block on some stream of its device: all that was done with it is complete, and is known to be.
    pub(super) fn free_quietly(&self, pool: Pool, ptr: DevicePtr) -> Result<(), Refusal> {
        let stream = self.quiet(pool.device.0)?;
        self.runtime.free_async(ptr, stream)?;
        if self.device(pool.device.0).is_some_and(|device| device.quiet == Some(stream)) {
            // All that was ever freed there was complete before, so this is true without waiting.
            self.runtime.synchronize_stream_with(stream, || Ok::<_, OrderError>(()))?;
        }
        Ok(())
    }

    /// A stream of a device on which nothing is queued but by weir, or any other where no more can be had.
    fn quiet(&self, device: u32) -> Result<StreamId, Refusal> {
        let found = self.device(device).ok_or_else(|| Refusal::argument(format!("device {device} was reset")))?;
        if let Some(stream) = found.quiet {
            return Ok(stream);
        }
        match self.make_quiet(device, found.context) {
            Ok(stream) => {
                lock(&self.devices).entry(device).and_modify(|device| device.quiet = Some(stream));
                Ok(stream)
            }
            Err(refusal) => {
                let streams = handles::streams_of(found.context);
                let mut others = streams.iter().filter_map(|(_, stream)| *lock(&stream.id));
                others.find(|named| named.world == self.number).map(|named| named.id).ok_or(refusal)
            }
        }
    }

    fn make_quiet(&self, device: u32, context: usize) -> Result<StreamId, Refusal> {
        let (mut before, mut stream): (Handle, Handle) = (core::ptr::null_mut(), core::ptr::null_mut());
        let had = vendor::get_context(&mut before) == 0 && !before.is_null();
        let mut code = vendor::set_context(core::ptr::without_provenance_mut(context));
        if code == 0 {
            code = vendor::create_stream(&mut stream);
            if had {
                vendor::set_context(before);
            }
        }
        if code != 0 {
            return Err(Refusal::new(code, "no stream can be made for a free that no stream makes"));
        }
        // It ends with its context.
        let config = StreamConfig::new(DeviceId(device), NativeStream(stream.addr() as u64));
        Ok(self.runtime.create_stream(StreamConfig { context: context as u64, ..config })?)
    }

    /// Gives back what the pools do not use and is complete.
    pub(super) fn trim_all(&self) {
        for (_, pool) in self.pools.all() {
            // What cannot be released stays; the vendor's call decides whether that is enough.
            let _ = self.runtime.trim_to(pool.id, Bytes::ZERO);
        }
    }

    /// Ends the pools of a device, or all, with the work that uses them.
    fn end_pools(&self, device: Option<u32>) {
        let is_meant = |number: u32| device.is_none_or(|device| device == number);
        for (handle, pool) in self.pools.all().into_iter().filter(|(_, pool)| is_meant(pool.device.0)) {
            self.pools.take(handle);
            // The device is being ended: whatever fails now, its memory goes with it.
            let _ = self.runtime.destroy_pool(pool.id, Destroy::WithLiveBlocks);
        }
        let numbers: Vec<u32> = lock(&self.devices).keys().copied().filter(|number| is_meant(*number)).collect();
        for number in numbers {
            let _ = self.runtime.synchronize_device(DeviceId(number));
        }
    }

    /// Finishes and gives back everything, as far as that goes.
    fn close(&self) {
        self.end_pools(None);
        self.runtime.flush();
        let lost = || self.runtime.counters().records_lost;
        if let Some(text) = self.runtime.with_sink(|sink| sink.complaint(lost())) {
            let _ = settings::bad_log(text);
        }
    }
}
