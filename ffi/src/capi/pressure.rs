//! What the program does before an allocation is refused, as `weir.h` has it.

use super::failure::Failure;
use super::handle::pool_handle;
use super::instance::call;
use crate::bindings::{weir_pool, weir_pressure_fn, weir_runtime, weir_status as s};
use crate::calls::Calls;
use core::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};
use weir::driver::{Pressure, Relief};

/// The program's function, and what it is handed.
#[derive(Clone, Copy, Debug)]
struct Callback {
    function: unsafe extern "C" fn(*mut c_void, weir_pool, u32, u64) -> c_int,
    user: *mut c_void,
}

// SAFETY: the header says that all callbacks may be called from any thread; `user` is only handed to the function.
unsafe impl Send for Callback {}

/// What is called under pressure in one runtime.
#[derive(Debug)]
pub(crate) struct Hook {
    runtime: weir_runtime,
    callback: Mutex<Option<Callback>>,
    /// Tells which threads are in the program's function.
    running: Calls,
}

impl Hook {
    /// Nothing is called yet.
    pub(super) fn new(runtime: weir_runtime) -> Self {
        Self { runtime, callback: Mutex::default(), running: Calls::default() }
    }

    fn set(&self, callback: Option<Callback>) {
        *self.callback.lock().unwrap_or_else(PoisonError::into_inner) = callback;
    }

    /// Asks the program, without the lock: it may set another function meanwhile.
    pub(super) fn press(&self, pressure: Pressure) -> Relief {
        let callback = *self.callback.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Callback { function, user }) = callback else { return Relief::Nothing };
        let pool = pool_handle(self.runtime, pressure.pool);
        let _here = self.running.here();
        // SAFETY: the program's function, with what the program gave for it.
        match unsafe { function(user, pool, pressure.device.0, pressure.bytes.0) } {
            0 => Relief::Nothing,
            _ => Relief::Some,
        }
    }

    /// Refuses what would wait for the allocation that this thread is in.
    pub(super) fn check_outside(&self, what: &str) -> Result<(), Failure> {
        if !self.running.is_here() {
            return Ok(());
        }
        let text = format!("{what} is not possible from within the function that weir_set_pressure set");
        Err(Failure::new(s::WEIR_BUSY, text))
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
