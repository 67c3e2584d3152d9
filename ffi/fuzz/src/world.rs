//! What a program has in its hands, and what must hold whatever it does with that.

use super::host::Plan;
use super::input::Input;
use super::toy::{Mood, Toy};
use core::ffi::{CStr, c_char};
use core::mem::zeroed;
use core::ptr::{null, null_mut};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weir_ffi::bindings::{
    weir_event, weir_pool, weir_pool_stats, weir_runtime, weir_status as s, weir_stream, weir_stream_kind,
};

/// What a runtime is made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Toy,
    Host,
}

/// A handle as its two numbers: its own and its runtime's.
type Handle = (u64, u64);

/// Everything that a program ever got.
#[derive(Default)]
pub(super) struct World {
    pub(super) toy: Box<Toy>,
    /// Those that were not destroyed.
    pub(super) live: BTreeMap<u64, On>,
    runtimes: Vec<u64>,
    pools: Vec<Handle>,
    streams: Vec<Handle>,
    events: Vec<Handle>,
    /// Streams and events that were not destroyed.
    open: BTreeSet<Handle>,
    /// What the call that is being made names.
    named: RefCell<Vec<Handle>>,
    asked: Cell<u64>,
    pub(super) pointers: Vec<u64>,
    pub(super) labels: Vec<u32>,
    /// Pools that were not destroyed, and the most bytes that each may reserve.
    limits: BTreeMap<Handle, u64>,
    /// What kernels that may still run were given.
    pub(super) plans: Vec<Arc<Plan>>,
    /// A destruction did not achieve everything, as it said: what is left on the device is no defect.
    pub(super) incomplete: bool,
}

/// One of these, the late ones more often, or a number that is none of them.
fn pick<T: Copy>(list: &[T], input: &mut Input<'_>) -> Option<T> {
    let back = match input.byte() {
        0..160 => 0,
        160..220 => input.below(4),
        220..244 => input.below(list.len().min(256)),
        _ => return None,
    };
    list.len().checked_sub(1 + back).and_then(|at| list.get(at).copied())
}

impl World {
    pub(super) fn runtime(&self, input: &mut Input<'_>) -> weir_runtime {
        let id = pick(&self.runtimes, input).unwrap_or_else(|| input.number());
        self.asked.set(id);
        weir_runtime { id }
    }

    /// A handle of the kind that is asked for, of another, or made up. 32 bits up is the generation.
    fn handle(&self, of: &[Handle], input: &mut Input<'_>) -> Handle {
        let (id, runtime) = pick(of, input).unwrap_or_default();
        let handle = match input.byte() {
            0..240 => (id, runtime),
            240..244 => (id.wrapping_add(1 << 32), runtime),
            244..247 => (id, pick(&self.runtimes, input).unwrap_or_default()),
            247..250 => (input.number(), runtime),
            _ => {
                let all = [&self.pools, &self.streams, &self.events];
                input.one(&all).and_then(|of| pick(of, input)).unwrap_or_default()
            }
        };
        // One of another kind is as good as one that is gone.
        let known = if of.contains(&handle) { handle } else { (0, 0) };
        self.named.borrow_mut().push(known);
        handle
    }

    /// The status of a call, after a look at it: nothing but what is there, and the runtime's own, was accepted.
    pub(super) fn answer(&self, status: i32) -> i32 {
        let named = self.named.take();
        if status == 0 {
            assert!(self.live.contains_key(&self.asked.get()), "runtime {} is gone, and accepted", self.asked.get());
            for handle in named {
                let is_there = self.open.contains(&handle) || self.limits.contains_key(&handle);
                assert!(is_there && handle.1 == self.asked.get(), "{handle:?} was accepted by {}", self.asked.get());
            }
        }
        answer(status)
    }

    pub(super) fn pool(&self, input: &mut Input<'_>) -> weir_pool {
        let (id, runtime) = self.handle(&self.pools, input);
        weir_pool { id, runtime }
    }

    pub(super) fn stream(&self, input: &mut Input<'_>) -> weir_stream {
        let (id, runtime) = self.handle(&self.streams, input);
        weir_stream { id, runtime }
    }

    pub(super) fn event(&self, input: &mut Input<'_>) -> weir_event {
        let (id, runtime) = self.handle(&self.events, input);
        weir_event { id, runtime }
    }

    /// An address that was given out, one inside of a block, or any.
    pub(super) fn pointer(&self, input: &mut Input<'_>) -> u64 {
        match pick(&self.pointers, input) {
            None => input.number(),
            Some(pointer) if input.byte() < 240 => pointer,
            Some(pointer) => pointer.wrapping_add(input.number()),
        }
    }

    pub(super) fn add_runtime(&mut self, runtime: weir_runtime, on: On) {
        self.runtimes.push(runtime.id);
        self.live.insert(runtime.id, on);
    }

    pub(super) fn drop_runtime(&mut self, runtime: weir_runtime) {
        self.live.remove(&runtime.id);
        self.limits.retain(|(_, of), _| *of != runtime.id);
        self.open.retain(|(_, of)| *of != runtime.id);
    }

    pub(super) fn add_pool(&mut self, pool: weir_pool, limit: u64) {
        self.pools.push((pool.id, pool.runtime));
        self.limits.insert((pool.id, pool.runtime), limit);
    }

    pub(super) fn drop_pool(&mut self, pool: weir_pool) {
        self.limits.remove(&(pool.id, pool.runtime));
    }

    pub(super) fn add_stream(&mut self, stream: weir_stream) {
        self.streams.push((stream.id, stream.runtime));
        self.open.insert((stream.id, stream.runtime));
    }

    pub(super) fn add_event(&mut self, event: weir_event) {
        self.events.push((event.id, event.runtime));
        self.open.insert((event.id, event.runtime));
    }

    /// A stream or an event was destroyed.
    pub(super) fn close(&mut self, id: u64, runtime: u64) {
        self.open.remove(&(id, runtime));
    }

    /// What holds after every call.
    pub(super) fn look(&self) {
        assert_eq!(self.toy.broken(), None);
        for id in self.live.keys() {
            let status = c!(weir_verify(weir_runtime { id: *id }));
            assert_eq!(status, 0, "{}", last_error());
        }
        for ((id, runtime), limit) in &self.limits {
            look_at(weir_pool { id: *id, runtime: *runtime }, *limit);
        }
    }

    /// Destroys everything. What the device still held was kept for something, so nothing is left on it then.
    pub(super) fn end(mut self) {
        self.toy.set(Mood { complete: 1, ..Mood::default() });
        for (id, on) in std::mem::take(&mut self.live) {
            let runtime = weir_runtime { id };
            if on == On::Host {
                for device in 0..super::create::HOST_DEVICES {
                    c!(weir_host_clear_fault(runtime, device));
                }
            }
            let status = answer(c!(weir_destroy(runtime)));
            // A log that is not whole is said here; a kernel of the host may have failed, or take longer than patience.
            let known = [s::WEIR_OK, s::WEIR_SYSTEM].map(|status| status as i32).contains(&status);
            assert!(known || on == On::Host, "{status}: {}", last_error());
            assert_eq!(c!(weir_destroy(runtime)), s::WEIR_BAD_HANDLE as i32);
        }
        assert!(self.incomplete || self.toy.is_empty(), "the device has something left: {:?}", self.toy);
        assert_eq!(self.toy.broken(), None);
    }
}

/// What a pool says of itself.
fn look_at(pool: weir_pool, limit: u64) {
    // SAFETY: numbers, for which zero is one.
    let mut now: weir_pool_stats = unsafe { zeroed() };
    let status = c!(weir_pool_get_stats(weir_runtime { id: pool.runtime }, pool, &raw mut now));
    assert_eq!(status, 0, "{}", last_error());
    assert!(now.requested <= now.used && now.used <= now.reserved && now.reserved <= limit, "{now:?}, limit {limit}");
    assert!(now.used <= now.used_high && now.reserved <= now.reserved_high, "{now:?}");
    assert_eq!(now.mallocs - now.frees, now.live_blocks, "{now:?}");
    assert_eq!(now.reuse.iter().sum::<u64>(), now.mallocs, "{now:?}");
}

/// The status of a call, after a look at it: it is known, says no defect, and an error has a text.
pub(super) fn answer(status: i32) -> i32 {
    let name = c!(weir_status_name(status));
    // SAFETY: a string of the library's own.
    let name = unsafe { CStr::from_ptr(name) };
    assert_ne!(name, c"unknown status", "{status}");
    let defects = [s::WEIR_CORRUPT, s::WEIR_INTERNAL].map(|status| status as i32);
    assert!(!defects.contains(&status), "{name:?}: {}", last_error());
    assert!(status == 0 || !last_error().is_empty(), "{name:?} without a text");
    status
}

/// The text of the latest error.
pub(super) fn last_error() -> String {
    let mut text = [0_u8; 512];
    c!(weir_last_error(text.as_mut_ptr().cast::<c_char>(), text.len()));
    CStr::from_bytes_until_nul(&text).expect("there is a 0 behind it").to_string_lossy().into_owned()
}

/// A program that does nothing wrong: it must work whatever went before.
pub(super) fn fresh() {
    let toy = Toy::default();
    toy.set(Mood { complete: 1, ..Mood::default() });
    let ops = toy.table();
    let config = super::create::small();
    let mut runtime = weir_runtime { id: 0 };
    assert_eq!(c!(weir_create_with_driver(&raw const config, &raw const ops, &raw mut runtime)), 0);
    let mut pool = weir_pool { id: 0, runtime: 0 };
    assert_eq!(c!(weir_pool_default(runtime, 0, &raw mut pool)), 0);
    let mut stream = weir_stream { id: 0, runtime: 0 };
    let kind = weir_stream_kind::WEIR_STREAM_NON_BLOCKING;
    assert_eq!(c!(weir_stream_register(runtime, 0, kind, 1, 0, &raw mut stream)), 0);
    let mut pointer = 0;
    assert_eq!(c!(weir_malloc_async(runtime, pool, 1_000, stream, &raw mut pointer)), 0, "{}", last_error());
    assert_eq!(c!(weir_free_async(runtime, pointer, stream)), 0, "{}", last_error());
    assert_eq!(c!(weir_stream_synchronize(runtime, stream)), 0, "{}", last_error());
    assert_eq!(c!(weir_last_error(null_mut(), 0)), c!(weir_last_error(null_mut(), 9)));
    assert_eq!(c!(weir_label(runtime, null(), null_mut())), s::WEIR_INVALID_ARGUMENT as i32);
    assert_eq!(c!(weir_destroy(runtime)), 0, "{}", last_error());
    assert!(toy.is_empty() && toy.broken().is_none(), "{toy:?}");
}
