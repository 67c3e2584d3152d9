//! A device behind the table of functions: addresses and numbers only. It keeps account of what it is asked for, fails
//! and lies when told to, and notes what weir may not ask.

use core::ffi::{c_int, c_void};
use core::mem::size_of;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use weir_ffi::bindings::{
    WEIR_DRIVER_ABI, weir_driver_ops, weir_driver_properties, weir_driver_status as d, weir_driver_target, weir_runtime,
};

pub(super) const GRANULE: u64 = 1 << 16;
pub(super) const TOTAL: u64 = 24 * GRANULE;
/// It has two devices, which share everything but their number.
pub(super) const DEVICES: u32 = 2;

/// What the program asks of the device, beside working.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mood {
    /// The call after so many fails; 0: none.
    pub(super) fail_in: u32,
    /// What failing calls answer.
    pub(super) status: c_int,
    /// Queries answer this.
    pub(super) complete: c_int,
    /// Addresses that are reserved next begin here instead.
    pub(super) base: Option<u64>,
    /// What the device says of itself instead.
    pub(super) properties: Option<weir_driver_properties>,
    /// The only runtime, which is destroyed out of the next call.
    pub(super) end: Option<weir_runtime>,
}

#[derive(Debug, Default)]
struct State {
    mood: Mood,
    /// It has said strange things of itself.
    odd: bool,
    ranges: BTreeMap<u64, u64>,
    /// Those where the device lied: weir may leave such a one alone.
    lies: BTreeMap<u64, u64>,
    granules: BTreeSet<u64>,
    /// Granules by their address.
    mapped: BTreeMap<u64, u64>,
    next: u64,
    clock: u64,
    broken: Option<&'static str>,
}

impl State {
    /// Whether some of these addresses are reserved.
    fn overlaps(&self, at: u64, bytes: u64) -> bool {
        let last = at.saturating_add(bytes.saturating_sub(1));
        let reaches = |ranges: &BTreeMap<u64, u64>| {
            ranges.range(..=last).next_back().is_some_and(|(base, bytes)| at < base.saturating_add(*bytes))
        };
        reaches(&self.ranges) || reaches(&self.lies)
    }
}

/// The device.
#[derive(Debug, Default)]
pub(super) struct Toy(Mutex<State>);

impl Toy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, mood: Mood) {
        let mut state = self.state();
        state.odd |= mood.properties.is_some();
        state.mood = mood;
    }

    /// There are more runtimes than one now: none is destroyed out of a call.
    pub(super) fn calm(&self) {
        self.state().mood.end = None;
    }

    /// The size of granules; `None` where it says that of itself which changes.
    pub(super) fn granule(&self) -> Option<u64> {
        let odd = self.state().odd;
        (!odd).then_some(GRANULE)
    }

    /// The first thing that weir may not ask for.
    pub(super) fn broken(&self) -> Option<&'static str> {
        self.state().broken
    }

    pub(super) fn is_empty(&self) -> bool {
        let state = self.state();
        state.ranges.is_empty() && state.granules.is_empty() && state.mapped.is_empty()
    }

    /// Its functions. It must outlive every runtime that is made with them.
    pub(super) fn table(&self) -> weir_driver_ops {
        weir_driver_ops {
            abi: WEIR_DRIVER_ABI,
            size: size_of::<weir_driver_ops>() as u32,
            ctx: core::ptr::from_ref(self).cast_mut().cast(),
            properties: Some(properties),
            reserve: Some(reserve),
            release: Some(release),
            create: Some(create),
            destroy: Some(destroy),
            map: Some(map),
            unmap: Some(unmap),
            lay: Some(lay),
            query: Some(query),
            wait: Some(wait),
            synchronise: Some(synchronise),
            now: Some(now),
        }
    }
}

/// The device that a function was given.
fn toy<'a>(ctx: *mut c_void) -> &'a Toy {
    // SAFETY: `Toy::table` put it there, and it outlives the runtimes.
    unsafe { &*ctx.cast::<Toy>() }
}

/// Makes a call, unless it is the one that fails.
fn work(ctx: *mut c_void, work: impl FnOnce(&mut State) -> Result<(), &'static str>) -> c_int {
    let end = toy(ctx).state().mood.end.take();
    // Without the lock: whatever comes of it may call the device.
    let refused = end.is_none_or(|runtime| !matches!(c!(weir_destroy(runtime)), 0));
    let mut state = toy(ctx).state();
    if !refused {
        state.broken.get_or_insert("a runtime was destroyed out of a call about it");
    }
    if state.mood.fail_in > 0 {
        state.mood.fail_in -= 1;
        if state.mood.fail_in == 0 {
            return state.mood.status.max(1);
        }
    }
    if let Err(what) = work(&mut state) {
        state.broken.get_or_insert(what);
    }
    d::WEIR_DRIVER_OK as c_int
}

unsafe extern "C" fn properties(
    ctx: *mut c_void,
    device: u32,
    to: *mut weir_driver_properties,
    _: *mut c_int,
) -> c_int {
    if device >= DEVICES {
        return d::WEIR_DRIVER_UNSUPPORTED as c_int;
    }
    work(ctx, |state| {
        let usual =
            weir_driver_properties { granularity: GRANULE, alignment: 512, total: TOTAL, capabilities: 2, reserved: 0 };
        // SAFETY: weir's own place.
        unsafe { to.write(state.mood.properties.unwrap_or(usual)) };
        Ok(())
    })
}

unsafe extern "C" fn reserve(ctx: *mut c_void, _: u32, bytes: u64, base: *mut u64, _: *mut c_int) -> c_int {
    work(ctx, |state| {
        state.next += 1;
        let usual = (1 << 40) + (state.next << 44);
        // A range of another runtime's would be a lie that nobody can see.
        let lie = state.mood.base.take().filter(|base| !state.overlaps(*base, bytes));
        let start = lie.unwrap_or(usual);
        // Addresses that are aligned as usual are a lie, too, where the device has said strange things of itself.
        let ranges = if lie.is_some() || state.odd { &mut state.lies } else { &mut state.ranges };
        ranges.insert(start, bytes);
        // SAFETY: weir's own place.
        unsafe { base.write(start) };
        Ok(())
    })
}

unsafe extern "C" fn release(ctx: *mut c_void, _: u32, base: u64, bytes: u64, _: *mut c_int) -> c_int {
    work(ctx, |state| {
        if state.mapped.range(base..=base.saturating_add(bytes - 1)).next().is_some() {
            return Err("a range was released with memory in it");
        }
        let known = state.ranges.remove(&base).or_else(|| state.lies.remove(&base));
        match known {
            Some(known) if known == bytes => Ok(()),
            _ => Err("a range was released that is none"),
        }
    })
}

unsafe extern "C" fn create(ctx: *mut c_void, _: u32, granule: *mut u64, _: *mut c_int) -> c_int {
    if toy(ctx).state().granules.len() as u64 >= TOTAL / GRANULE {
        return d::WEIR_DRIVER_EXHAUSTED as c_int;
    }
    work(ctx, |state| {
        state.next += 1;
        state.granules.insert(state.next);
        // SAFETY: weir's own place.
        unsafe { granule.write(state.next) };
        Ok(())
    })
}

unsafe extern "C" fn destroy(ctx: *mut c_void, _: u32, granule: u64, _: *mut c_int) -> c_int {
    work(ctx, |state| {
        if state.mapped.values().any(|other| *other == granule) {
            return Err("a granule was destroyed that is mapped");
        }
        if state.granules.remove(&granule) { Ok(()) } else { Err("a granule was destroyed that is none") }
    })
}

unsafe extern "C" fn map(ctx: *mut c_void, _: u32, at: u64, granule: u64, _: *const u64, _: *mut c_int) -> c_int {
    work(ctx, |state| {
        if !state.overlaps(at, 1) {
            return Err("memory was mapped outside of a range");
        }
        if !state.granules.contains(&granule) || state.mapped.values().any(|other| *other == granule) {
            return Err("a granule was mapped that is none, or is mapped");
        }
        match state.mapped.insert(at, granule) {
            None => Ok(()),
            Some(_) => Err("memory was mapped where there is some"),
        }
    })
}

unsafe extern "C" fn unmap(ctx: *mut c_void, _: u32, at: u64, _: *const u64, _: *mut c_int) -> c_int {
    work(ctx, |state| state.mapped.remove(&at).map(drop).ok_or("memory was unmapped where there is none"))
}

unsafe extern "C" fn lay(ctx: *mut c_void, _: u32, _: u64, _: *mut c_int) -> c_int {
    work(ctx, |_| Ok(()))
}

unsafe extern "C" fn query(
    ctx: *mut c_void,
    _: *const weir_driver_target,
    complete: *mut c_int,
    _: *mut c_int,
) -> c_int {
    work(ctx, |state| {
        // SAFETY: weir's own place.
        unsafe { complete.write(state.mood.complete) };
        Ok(())
    })
}

unsafe extern "C" fn wait(ctx: *mut c_void, _: u64, _: u32, _: *mut c_int) -> c_int {
    work(ctx, |_| Ok(()))
}

unsafe extern "C" fn synchronise(ctx: *mut c_void, _: *const weir_driver_target, _: *mut c_int) -> c_int {
    work(ctx, |_| Ok(()))
}

unsafe extern "C" fn now(ctx: *mut c_void) -> u64 {
    let mut state = toy(ctx).state();
    state.clock += 1;
    state.clock
}
