//! The runtimes that firmware made, and what their handles mean.

use super::driver::AnyDriver;
use super::failure::{Failure, guard};
use super::handle::Handles;
use crate::bindings::{weir_log_fn, weir_pool, weir_runtime, weir_status as s, weir_stream};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use spin::Mutex;
use weir::driver::NativeStream;
use weir::id::{DeviceId, LabelId, PoolId, StreamId};
use weir::policy::Destroy;
use weir::trace::{Sink, SinkError};
use weir::{Arenas, Shared, State};

/// A runtime as C has it.
pub(crate) type Inner = Shared<'static, AnyDriver, PageSink>;

// The lock that `Shared` has, so that the type above says what waits for what.
const _: fn(&spin::Mutex<State<'static>>) = |_| ();

/// The program's function that gets pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSink {
    pub(super) function: weir_log_fn,
    pub(super) user: *mut c_void,
}

// SAFETY: the header says that all callbacks may be called from anywhere; `user` is only handed to the function.
unsafe impl Send for PageSink {}

impl Sink for PageSink {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        if let Some(function) = self.function {
            // SAFETY: the program's function, with a page that outlives the call.
            unsafe { function(self.user, page.as_ptr(), page.len()) };
        }
        Ok(())
    }
}

/// What must be undone when a runtime ends: raw ids, 0 for none.
pub(super) struct Known {
    pub(super) pools: &'static mut [u64],
    pub(super) streams: &'static mut [u64],
    /// One bit a device.
    devices: u64,
    labels: u32,
}

impl Known {
    pub(super) const fn new(pools: &'static mut [u64], streams: &'static mut [u64]) -> Self {
        Self { pools, streams, devices: 0, labels: 0 }
    }

    fn note_device(&mut self, device: DeviceId) {
        self.devices |= 1_u64.checked_shl(device.0).unwrap_or(0);
    }
}

/// Notes an id where there is room: there are as many places as a runtime has slots.
fn note(places: &mut [u64], id: u64) {
    if !places.contains(&id)
        && let Some(place) = places.iter_mut().find(|place| **place == 0)
    {
        *place = id;
    }
}

fn forget(places: &mut [u64], id: u64) {
    if let Some(place) = places.iter_mut().find(|place| **place == id) {
        *place = 0;
    }
}

/// A runtime in the program's storage.
pub(crate) struct Instance {
    serial: u64,
    runtime: &'static Inner,
    known: Mutex<Known>,
}

impl Handles for Instance {
    fn serial(&self) -> u64 {
        self.serial
    }
}

/// Runtimes at once.
pub(super) const MAX_RUNTIMES: usize = 4;

/// No runtime is here.
const FREE: u32 = u32::MAX;
/// One is being made or ended.
const CLOSED: u32 = FREE - 1;

/// Where a runtime is known by its handle.
struct Place {
    /// How many calls are in it; or one of the above.
    users: AtomicU32,
    /// Counts the runtimes that were here.
    generation: AtomicU32,
    instance: AtomicPtr<Instance>,
}

static PLACES: [Place; MAX_RUNTIMES] = [const {
    Place { users: AtomicU32::new(FREE), generation: AtomicU32::new(0), instance: AtomicPtr::new(null_mut()) }
}; MAX_RUNTIMES];

const PLACE_BITS: u32 = 8;

/// A place that was taken for a runtime; free again when dropped.
pub(super) struct Claim {
    place: &'static Place,
    pub(super) handle: weir_runtime,
}

impl Claim {
    /// Takes a free place.
    pub(super) fn take() -> Result<Self, Failure> {
        for (index, place) in PLACES.iter().enumerate() {
            if place.users.compare_exchange(FREE, CLOSED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                let generation = place.generation.load(Ordering::Relaxed).wrapping_add(1);
                place.generation.store(generation, Ordering::Relaxed);
                let id = (u64::from(generation) << PLACE_BITS) | (index as u64 + 1);
                return Ok(Self { place, handle: weir_runtime { id } });
            }
        }
        Err(Failure::new(s::WEIR_CAPACITY, "all places for runtimes are taken"))
    }

    /// Makes a runtime, and makes it known. It is put together where it stays: it would not fit the stack.
    ///
    /// # Safety
    /// Both places are good for what they are to hold, and nobody else touches them, until the runtime is destroyed.
    pub(super) unsafe fn open(
        self,
        (at, runtime): (NonNull<Instance>, NonNull<Inner>),
        (arenas, driver, sink): (Arenas<'static>, AnyDriver, PageSink),
        known: Known,
    ) {
        // SAFETY: as the caller promised; nothing need be there yet.
        let runtime: &'static mut MaybeUninit<Inner> = unsafe { runtime.cast().as_mut() };
        let runtime = Inner::new_in(runtime, arenas, driver, sink);
        let instance = Instance { serial: self.handle.id, runtime, known: Mutex::new(known) };
        // SAFETY: as the caller promised.
        unsafe { at.write(instance) };
        self.place.instance.store(at.as_ptr(), Ordering::Relaxed);
        self.place.users.store(0, Ordering::Release);
        core::mem::forget(self);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.place.users.store(FREE, Ordering::Release);
    }
}

/// A call that is in a runtime.
struct Call {
    place: &'static Place,
    instance: &'static Instance,
}

impl Drop for Call {
    #[inline(never)]
    fn drop(&mut self) {
        self.place.users.fetch_sub(1, Ordering::Release);
    }
}

/// Begins a call about the runtime of a handle.
fn enter(runtime: weir_runtime) -> Result<Call, Failure> {
    let missing = Failure::new(s::WEIR_BAD_HANDLE, "no such runtime");
    let index = (runtime.id & ((1 << PLACE_BITS) - 1)).checked_sub(1).ok_or(missing)?;
    let place = usize::try_from(index).ok().and_then(|index| PLACES.get(index)).ok_or(missing)?;
    let more = |users| (users < CLOSED - 1).then(|| users + 1);
    place.users.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).map_err(|_| missing)?;
    let at = place.instance.load(Ordering::Relaxed);
    // SAFETY: a place that can be entered has an instance, which stays while somebody is in it.
    let instance = unsafe { &*at };
    let call = Call { place, instance };
    if instance.serial == runtime.id { Ok(call) } else { Err(missing) }
}

/// The body of a function about a runtime.
pub(crate) fn call(runtime: weir_runtime, work: impl FnOnce(&Instance) -> Result<(), Failure>) -> c_int {
    guard(|| work(enter(runtime)?.instance))
}

/// Ends the runtime of a handle. `WEIR_BUSY` while a call is in it.
pub(super) fn end(runtime: weir_runtime) -> Result<(), Failure> {
    let call = enter(runtime)?;
    let alone = call.place.users.compare_exchange(1, CLOSED, Ordering::Acquire, Ordering::Relaxed);
    if alone.is_err() {
        return Err(Failure::new(s::WEIR_BUSY, "a call is in the runtime"));
    }
    let outcome = call.instance.close();
    call.place.instance.store(null_mut(), Ordering::Relaxed);
    call.place.users.store(FREE, Ordering::Release);
    // The place is free already.
    core::mem::forget(call);
    outcome
}

impl Instance {
    pub(crate) const fn runtime(&self) -> &Inner {
        self.runtime
    }

    /// Whoever gave a table makes its streams.
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "hosted runtimes have an answer of their own")]
    pub(super) const fn check_registers(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The table says itself which devices it has.
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "hosted runtimes have an answer of their own")]
    pub(super) const fn check_device(&self, _: DeviceId) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn add_label(&self, label: LabelId) -> u32 {
        let mut known = self.known.lock();
        // They are given out in the order of their numbers.
        known.labels = known.labels.max(label.0);
        label.0
    }

    /// A label that was made, or none.
    pub(super) fn label(&self, label: u32) -> Result<LabelId, Failure> {
        if label == LabelId::NONE.0 || label <= self.known.lock().labels {
            return Ok(LabelId(label));
        }
        Err(Failure::invalid("weir_label did not give that label out"))
    }

    pub(super) fn add_pool(&self, device: DeviceId, pool: PoolId) -> weir_pool {
        let mut known = self.known.lock();
        note(known.pools, pool.raw());
        known.note_device(device);
        self.give_pool(pool)
    }

    pub(super) fn drop_pool(&self, pool: PoolId) {
        forget(self.known.lock().pools, pool.raw());
    }

    pub(super) fn add_stream(&self, device: DeviceId, _: NativeStream, stream: StreamId) -> weir_stream {
        let mut known = self.known.lock();
        note(known.streams, stream.raw());
        known.note_device(device);
        self.give_stream(stream)
    }

    /// Ends a stream.
    pub(super) fn end_stream(&self, stream: StreamId) -> Result<(), Failure> {
        self.runtime.destroy_stream(stream)?;
        forget(self.known.lock().streams, stream.raw());
        Ok(())
    }

    /// Gives everything back, as far as that goes; answers the first failure.
    fn close(&self) -> Result<(), Failure> {
        let mut first = Ok(());
        let mut note = |outcome: Result<(), Failure>| {
            if first.is_ok() {
                first = outcome;
            }
        };
        let mut known = self.known.lock();
        let devices = known.devices;
        let devices = || (0..u64::BITS).filter(move |bit| devices & (1 << bit) != 0).map(DeviceId);
        for device in devices() {
            note(self.runtime.synchronize_device(device).map_err(Failure::from));
        }
        for pool in known.pools.iter_mut().filter(|pool| **pool != 0) {
            let pool = PoolId::from_raw(core::mem::take(pool));
            note(self.runtime.destroy_pool(pool, Destroy::WithLiveBlocks).map_err(Failure::from));
        }
        // Twice: what the driver refused to give back is tried again once.
        for device in devices().chain(devices()) {
            note(self.runtime.synchronize_device(device).map_err(Failure::from));
        }
        for stream in known.streams.iter_mut().filter(|stream| **stream != 0) {
            note(self.runtime.destroy_stream(StreamId::from_raw(core::mem::take(stream))).map_err(Failure::from));
        }
        note(self.flush());
        first
    }

    /// Hands the log on; an error where it is not whole.
    pub(super) fn flush(&self) -> Result<(), Failure> {
        self.runtime.flush();
        match self.runtime.counters().records_lost {
            0 => Ok(()),
            _ => Err(Failure::new(s::WEIR_SYSTEM, "records of the log are lost")),
        }
    }
}
