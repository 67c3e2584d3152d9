//! What the program does before an allocation is refused, as `weir.h` has it.

use super::failure::Failure;
use super::handle::pool_handle;
use super::instance::call;
use crate::bindings::{weir_pool, weir_pressure_fn, weir_runtime, weir_status as s};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use spin::Mutex;
use weir::driver::{Pressure, Relief};

/// The program's function, and what it is handed.
#[derive(Clone, Copy, Debug)]
struct Callback {
    function: unsafe extern "C" fn(*mut c_void, weir_pool, u32, u64) -> c_int,
    user: *mut c_void,
}

// SAFETY: the header says that all callbacks may be called from anywhere; `user` is only handed to the function.
unsafe impl Send for Callback {}

/// What is called under pressure in one runtime.
#[derive(Debug)]
pub(crate) struct Hook {
    runtime: weir_runtime,
    callback: Mutex<Option<Callback>>,
    /// Calls of the program's function that have not returned.
    running: AtomicU32,
}

impl Hook {
    /// Nothing is called yet.
    pub(super) const fn new(runtime: weir_runtime) -> Self {
        Self { runtime, callback: Mutex::new(None), running: AtomicU32::new(0) }
    }

    fn set(&self, callback: Option<Callback>) {
        *self.callback.lock() = callback;
    }

    /// Asks the program, without the lock: it may set another function meanwhile.
    pub(super) fn press(&self, pressure: Pressure) -> Relief {
        let callback = *self.callback.lock();
        let Some(Callback { function, user }) = callback else { return Relief::Nothing };
        let pool = pool_handle(self.runtime, pressure.pool);
        self.running.fetch_add(1, Ordering::Acquire);
        // SAFETY: the program's function, with what the program gave for it.
        let answer = unsafe { function(user, pool, pressure.device.0, pressure.bytes.0) };
        self.running.fetch_sub(1, Ordering::Release);
        if answer == 0 { Relief::Nothing } else { Relief::Some }
    }

    /// Refuses what would wait for an allocation that is in the program's function. Without threads to tell apart, that
    /// is any allocation.
    pub(super) fn check_outside(&self, what: &str) -> Result<(), Failure> {
        if self.running.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        Err(Failure::new(s::WEIR_BUSY, what))
    }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_set_pressure(
    runtime: weir_runtime,
    function: weir_pressure_fn,
    user: *mut c_void,
) -> c_int {
    call(runtime, |instance| {
        let callback = function.map(|function| Callback { function, user });
        instance.runtime().driver().pressure.set(callback);
        Ok(())
    })
}
