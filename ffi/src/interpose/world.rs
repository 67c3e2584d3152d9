//! The pools' runtimes on the vendor's devices, each from the device's first pool on until the device is reset or the
//! vendor's interface ends. Each device has one of its own, with a driver of its own: what ends with the device is all
//! of it, and a default stream is the one of that device.

use super::driver::{Passing, QUIET, own_stream};
use super::front::{Handle, front};
use super::handles::{self, Event, Found, Kind, Named, Stream};
use crate::acl::handle::{Kind as HandleKind, Table};
use crate::acl::state::capacities;
use crate::calls::{Call, Calls, Counted};
use crate::environment::variable;
use crate::log_sink::{LogSink, place};
use crate::owned::Owned;
use crate::pool::Pool;
use crate::vendor::{VendorDriver, VendorError};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use weir::StreamConfig;
use weir::driver::{Driver, NativeStream};
use weir::error::{FreeError, OrderError, PoolError};
use weir::id::{DeviceId, EventId, StreamId};
use weir::policy::{Destroy, StreamKind};
use weir::units::{Bytes, DevicePtr};

/// Why a runtime cannot do something that a call needs.
#[derive(Debug)]
pub(super) enum Trouble {
    Vendor(VendorError),
    Pool(PoolError),
    Order(OrderError),
    Free(FreeError),
    /// The vendor's code, and what it is about.
    Code(c_int, String),
    /// An argument is wrong.
    Argument(String),
    /// The log cannot be written.
    Log(String),
}

macro_rules! troubles {
    ($($error:ident $variant:ident)+) => {
        $(impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}
troubles! { VendorError Vendor PoolError Pool OrderError Order FreeError Free }

/// How often work was given up, and how often before the latest synchronisation of the device began.
#[derive(Debug, Default)]
struct Aborts {
    all: u64,
    settled: u64,
}

pub(super) struct World {
    pub(super) number: u64,
    pub(super) device: u32,
    /// The context whose streams have their order followed.
    pub(super) context: usize,
    calls: Calls,
    pub(super) runtime: Owned<Passing, LogSink>,
    pub(super) pools: Table<Pool>,
    /// Pools that the program has ended and not freed all memory of.
    ended: Mutex<Vec<Pool>>,
    aborts: Mutex<Aborts>,
    /// Whether work was given up, and the device not synchronised since.
    suspect: Arc<AtomicBool>,
    /// A stream of weir's own, for frees that come after a synchronisation anyway.
    quiet: Mutex<Option<StreamId>>,
}

impl Counted for World {
    fn calls(&self) -> &Calls {
        &self.calls
    }
}

static WORLDS: RwLock<BTreeMap<u32, Arc<World>>> = RwLock::new(BTreeMap::new());
/// Held by who makes a world or ends one. Vendor's calls are made meanwhile, which may come back here.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a call, where the device has a world.
pub(super) fn current(device: u32) -> Option<Call<World>> {
    WORLDS.read().unwrap_or_else(PoisonError::into_inner).get(&device).map(Call::begin)
}

/// Begins a call in the world whose streams are those of this context.
pub(super) fn of_context(context: usize) -> Option<Call<World>> {
    find(|world| (world.context == context).then_some(())).map(|(world, ())| world)
}

/// Begins a call in each world that there is.
pub(super) fn all() -> Vec<Call<World>> {
    WORLDS.read().unwrap_or_else(PoisonError::into_inner).values().map(Call::begin).collect()
}

/// Begins a call in the world for which `work` has an answer.
fn find<R>(mut work: impl FnMut(&World) -> Option<R>) -> Option<(Call<World>, R)> {
    let worlds = WORLDS.read().unwrap_or_else(PoisonError::into_inner);
    worlds.values().find_map(|world| work(world).map(|found| (Call::begin(world), found)))
}

/// Begins a call about a device, for which a world is made if need be.
pub(super) fn begin(device: u32) -> Result<Call<World>, Trouble> {
    if let Some(world) = current(device) {
        return Ok(world);
    }
    let _turn = lock(&TURN);
    if let Some(world) = current(device) {
        return Ok(world);
    }
    let world = Arc::new(World::new(device)?);
    let call = Call::begin(&world);
    WORLDS.write().unwrap_or_else(PoisonError::into_inner).insert(device, world);
    Ok(call)
}

/// Ends a device's world, if there is one: waits for calls in flight, finishes, gives everything back.
pub(super) fn end(device: u32) {
    let _turn = lock(&TURN);
    let taken = WORLDS.write().unwrap_or_else(PoisonError::into_inner).remove(&device);
    let Some(mut world) = taken else { return };
    world.calls.wait();
    world.close();
    // The driver must have let go of its device before the vendor is told to: whoever was in a call drops its share
    // now.
    while let Err(shared) = Arc::try_unwrap(world) {
        world = shared;
        std::thread::yield_now();
    }
}

/// Ends all worlds.
pub(super) fn end_all() {
    loop {
        let next = WORLDS.read().unwrap_or_else(PoisonError::into_inner).keys().next().copied();
        let Some(device) = next else { return };
        end(device);
    }
}

/// The pool of a handle.
pub(super) fn pool(handle: usize) -> Option<(Call<World>, Pool)> {
    find(|world| world.pools.get(handle))
}

/// The pool whose addresses hold this one.
pub(super) fn pool_at(at: DevicePtr) -> Option<(Call<World>, Pool)> {
    let holds = |pool: &&Pool| at.0 >= pool.base && at.0 - pool.base < pool.range.0;
    find(|world| {
        let found = world.pools.read().values().find(holds).copied();
        found.or_else(|| lock(&world.ended).iter().find(holds).copied())
    })
}

/// Gives back what the pools do not use and is complete.
pub(super) fn trim_all() {
    for world in all() {
        for (_, pool) in world.pools.all() {
            // What cannot be released stays; the vendor's call decides whether that is enough.
            let _ = world.runtime.trim_to(pool.id, Bytes::ZERO);
        }
    }
}

/// Notes that work of a device was, or is about to be, given up; `None`: of any.
pub(super) fn note_abort(device: Option<u32>) {
    match device {
        Some(device) => {
            if let Some(world) = current(device) {
                world.note_abort();
            }
        }
        None => all().iter().for_each(|world| world.note_abort()),
    }
}

/// The stream of a handle, where its beginning was seen. One that has ended unseen is gone here too.
pub(super) fn stream(handle: Handle) -> Option<Arc<Stream>> {
    known(handles::stream(handle))
}

/// The same for a stream that is about to end: its handle names none from then on.
pub(super) fn take_stream(handle: Handle) -> Option<Arc<Stream>> {
    known(handles::take_stream(handle))
}

fn known(found: Found) -> Option<Arc<Stream>> {
    match found {
        Found::Known(stream) => Some(stream),
        Found::Ended(stream) => {
            lose(&stream);
            None
        }
        Found::Unknown => None,
    }
}

/// A stream has ended, and it was not seen. A marker behind its work would be laid on whatever has its handle now, so
/// what markers say counts for nothing until the device was synchronised.
pub(super) fn lose(stream: &Stream) {
    if let Some(world) = current(stream.device) {
        world.note_abort();
        world.retire(stream);
    }
}

/// Nothing of a context is there any more.
pub(super) fn forget_context(context: usize) {
    let (streams, events) = handles::take_context(context);
    streams.iter().for_each(|stream| retire(stream));
    events.iter().for_each(|event| retire_event(event));
}

/// The stream is about to end, or has.
pub(super) fn retire(stream: &Stream) {
    if let Some(world) = current(stream.device) {
        world.retire(stream);
    }
}

/// The event has ended.
pub(super) fn retire_event(event: &Event) {
    all().iter().for_each(|world| world.retire_event(event));
}

/// Whatever the event stood for, it stands for nothing now.
pub(super) fn forget(event: &Event) {
    for world in all() {
        if let Some(id) = world.event(event) {
            let _ = world.runtime.reset_event(id);
        }
    }
}

/// Writes out what the logs still hold. No call of a driver's.
pub(super) fn flush() {
    all().iter().for_each(|world| world.flush());
}

/// Pages of a log that may wait for the file.
const PAGES: usize = 64;

/// A device's log, if there is one, and how many of its pages may wait.
fn log(device: u32) -> Result<(LogSink, usize), Trouble> {
    let mut sink = LogSink::default();
    let path = variable("WEIR_LOG").filter(|path| !path.is_empty());
    let Some(path) = path.map(|path| place(&path, device)) else { return Ok((sink, 0)) };
    sink.set_file(&path).map_err(|error| {
        Trouble::Log(format!("WEIR_LOG is {path:?}: expected a file that can be written, but {error}"))
    })?;
    Ok((sink, PAGES))
}

impl World {
    fn new(device: u32) -> Result<Self, Trouble> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let suspect = Arc::new(AtomicBool::new(false));
        let driver = Passing::new(VendorDriver::open(front().vendor(), None)?, Arc::clone(&suspect));
        let properties = driver.properties(DeviceId(device)).map_err(PoolError::Driver)?;
        let no_context = |code| Trouble::Code(code, format!("device {device} has no context for pools"));
        let context = front().home(device).map_err(no_context)?;
        let (sink, pages) = log(device)?;
        Ok(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            context,
            calls: Calls::default(),
            runtime: Owned::new(capacities(properties.total, properties.granularity, pages), driver, sink),
            pools: Table::new(HandleKind::Pool),
            ended: Mutex::default(),
            aborts: Mutex::default(),
            suspect,
            quiet: Mutex::default(),
        })
    }

    fn note_abort(&self) {
        let mut aborts = lock(&self.aborts);
        aborts.all += 1;
        self.suspect.store(true, Ordering::SeqCst);
    }

    /// What [`note_finished`](Self::note_finished) takes, before a synchronisation of the device begins.
    pub(super) fn aborts(&self) -> u64 {
        lock(&self.aborts).all
    }

    /// A synchronisation of the device succeeded: what was given up before it began is over.
    pub(super) fn note_finished(&self, before: u64) {
        let mut aborts = lock(&self.aborts);
        aborts.settled = aborts.settled.max(before);
        self.suspect.store(aborts.all > aborts.settled, Ordering::SeqCst);
    }

    /// Whether work was given up, and the device not synchronised since: no order can be believed.
    pub(super) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::SeqCst)
    }

    /// What the runtime calls a stream; `None` where its order is not followed: it is of another device or context,
    /// special, or there is no room for it.
    pub(super) fn follow(&self, handle: Handle, stream: &Stream) -> Option<StreamId> {
        let Kind::Ordinary(kind) = stream.kind else { return None };
        if stream.device != self.device || stream.context != self.context {
            return None;
        }
        let mut id = lock(&stream.id);
        if let Some(named) = id.filter(|named| named.world == self.number) {
            return Some(named.id);
        }
        let native = match stream.thread {
            0 => handle.addr() as u64,
            thread => own_stream(thread, handle),
        };
        let made = self.runtime.create_stream(self.config(native, kind)).ok()?;
        *id = Some(Named { world: self.number, id: made });
        Some(made)
    }

    fn config(&self, native: u64, kind: StreamKind) -> StreamConfig {
        let config = StreamConfig::new(DeviceId(self.device), NativeStream(native));
        StreamConfig { context: self.context as u64, kind, ..config }
    }

    /// The stream is about to end, or has: its work becomes known to be complete by a marker, or by a synchronisation
    /// of the device.
    fn retire(&self, stream: &Stream) {
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

    fn retire_event(&self, event: &Event) {
        if let Some(named) = lock(&event.id).take_if(|named| named.world == self.number) {
            let _ = self.runtime.destroy_event(named.id);
        }
    }

    /// Frees a block once the device is done with all that is queued.
    pub(super) fn free_after_all(&self, at: DevicePtr) -> Result<(), Trouble> {
        if self.runtime.block_at(at).is_none_or(|block| block.start != at) {
            let text = format!("{:#x} is in a pool, and is not the start of an allocation", at.0);
            return Err(Trouble::Argument(text));
        }
        let aborts = self.aborts();
        self.runtime.synchronize_device(DeviceId(self.device))?;
        self.note_finished(aborts);
        self.free_quietly(at)
    }

    /// Frees a block of which all that was done with it is complete, and is known to be.
    fn free_quietly(&self, at: DevicePtr) -> Result<(), Trouble> {
        match self.quiet() {
            Ok(quiet) => {
                self.runtime.free_async(at, quiet)?;
                // All that was ever freed there was complete before, so this is true without waiting. What goes wrong
                // with it, the memory is freed.
                let _ = self.runtime.synchronize_stream_with(quiet, || Ok::<_, OrderError>(()));
            }
            // Where there is no room for one more, any stream does: it holds the memory back until it has come to this.
            Err(error) => self.runtime.free_async(at, self.any().ok_or(error)?)?,
        }
        self.bury();
        Ok(())
    }

    /// A stream that is none of the vendor's: nothing is ever queued there but by weir.
    pub(super) fn quiet(&self) -> Result<StreamId, OrderError> {
        let mut quiet = lock(&self.quiet);
        if let Some(stream) = *quiet {
            return Ok(stream);
        }
        let made = self.runtime.create_stream(self.config(QUIET, StreamKind::NonBlocking))?;
        *quiet = Some(made);
        Ok(made)
    }

    /// Any stream whose order is followed.
    fn any(&self) -> Option<StreamId> {
        let streams = handles::streams_of(self.context);
        let mut named = streams.iter().filter_map(|stream| *lock(&stream.id));
        named.find(|named| named.world == self.number).map(|named| named.id)
    }

    /// The program is done with a pool: it ends with its last block.
    pub(super) fn let_go(&self, handle: usize) {
        let mut ended = lock(&self.ended);
        ended.extend(self.pools.take(handle));
        drop(ended);
        self.bury();
    }

    /// Ends the pools that the program is done with and of which nothing is allocated any more.
    pub(super) fn bury(&self) {
        let is_used = |pool: &Pool| self.runtime.stats(pool.id).is_ok_and(|stats| stats.used > Bytes::ZERO);
        let over: Vec<Pool> = lock(&self.ended).extract_if(.., |pool| !is_used(pool)).collect();
        for pool in over {
            // What work may still use goes back once that is done.
            let _ = self.runtime.destroy_pool(pool.id, Destroy::WithLiveBlocks);
        }
    }

    /// Finishes and gives back everything, as far as that goes: whatever fails now, its memory goes with the device.
    fn close(&self) {
        let pools: Vec<Pool> = self.pools.all().into_iter().filter_map(|(handle, _)| self.pools.take(handle)).collect();
        for pool in pools.into_iter().chain(core::mem::take(&mut *lock(&self.ended))) {
            let _ = self.runtime.destroy_pool(pool.id, Destroy::WithLiveBlocks);
        }
        let _ = self.runtime.synchronize_device(DeviceId(self.device));
        self.flush();
    }

    fn flush(&self) {
        self.runtime.flush();
        let lost = || self.runtime.counters().records_lost;
        if let Some(text) = self.runtime.with_sink(|sink| sink.complaint(lost())) {
            eprintln!("weir: {text}");
        }
    }
}
