//! The list of who holds freed memory back, as `weir.h` has it.

use super::failure::{Failure, guard};
use super::handle::Handles;
use super::instance::enter;
use crate::bindings::{weir_pending_fn, weir_pool, weir_runtime, weir_stream};
use core::ffi::{c_int, c_void};

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_pending(
    runtime: weir_runtime,
    pool: weir_pool,
    stream: weir_stream,
    callback: weir_pending_fn,
    user: *mut c_void,
) -> c_int {
    guard(|| {
        let callback = callback.ok_or_else(|| Failure::invalid("`fn` is null"))?;
        let mut found = Vec::new();
        {
            let instance = enter(runtime)?;
            let (pool, stream) = (instance.pool(pool)?, instance.stream(stream)?);
            instance.runtime().pending(pool, stream, |on| found.push((instance.give_stream(on.stream), on)))?;
        }
        // The call is over: the program may do anything from here.
        for (stream, on) in found {
            // SAFETY: the program's function, with what the program gave for it.
            unsafe { callback(user, stream, on.until.0, on.bytes.0) };
        }
        Ok(())
    })
}
