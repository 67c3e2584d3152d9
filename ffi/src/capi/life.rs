//! Versions, configurations, the end of runtimes, and their logs.

use super::arguments::output;
use super::failure::{Failure, guard};
use super::handle::MAX_SLOTS;
use super::instance::{self, call};
use super::status;
use crate::bindings::{weir_config, weir_counters, weir_runtime, weir_status as s};
use core::ffi::{c_char, c_int};
use core::mem::size_of;
use core::ptr::null_mut;
use weir::Capacities;

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_version() -> u32 {
    let (major, minor, patch) = weir::trace::VERSION;
    (u32::from(major) << 16) | (u32::from(minor & 0xff) << 8) | u32::from(patch & 0xff)
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_status_name(status: c_int) -> *const c_char {
    status::name(status).as_ptr()
}

/// The defaults of the header.
pub(super) fn default_config() -> weir_config {
    weir_config {
        size: size_of::<weir_config>() as u32,
        reserved: 0,
        streams: 64,
        events: 256,
        markers: 256,
        pools: 16,
        blocks: 1 << 16,
        granules: 1 << 16,
        labels: 1024,
        pages: 64,
        log_path: null_mut(),
        log_fn: None,
        log_user: null_mut(),
    }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_config_init(config: *mut weir_config) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a struct, or null.
        unsafe { output(config, "config") }?.write(default_config());
        Ok(())
    })
}

pub(super) fn capacities(config: &weir_config) -> Result<Capacities, Failure> {
    const MANY: usize = 1 << 28;
    let within = |number: u64, most: usize, name: &str| match usize::try_from(number) {
        Ok(n) if n <= most => Ok(n),
        _ => Err(Failure::invalid(format!("`weir_config.{name}` is {number}, at most {most} are possible"))),
    };
    Ok(Capacities {
        streams: within(config.streams, 1 << 16, "streams")?,
        events: within(config.events, MAX_SLOTS, "events")?,
        markers: within(config.markers, MAX_SLOTS, "markers")?,
        pools: within(config.pools, MAX_SLOTS, "pools")?,
        blocks: within(config.blocks, MANY, "blocks")?,
        granules: within(config.granules, MANY, "granules")?,
        labels: within(config.labels, MANY, "labels")?,
        pages: within(config.pages, MAX_SLOTS, "pages")?,
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_destroy(runtime: weir_runtime) -> c_int {
    guard(|| instance::end(runtime))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_log_flush(runtime: weir_runtime) -> c_int {
    call(runtime, |instance| instance.flush())
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_verify(runtime: weir_runtime) -> c_int {
    call(runtime, |instance| {
        let broken = |v: weir::Violation| {
            Failure::new(s::WEIR_CORRUPT, format!("this does not hold at place {}: {}", v.place, v.what))
        };
        instance.runtime().verify().map_err(broken)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_get_counters(runtime: weir_runtime, counters: *mut weir_counters) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a struct, or null.
        let counters = unsafe { output(counters, "counters") }?;
        let now = instance.runtime().counters();
        counters.write(weir_counters {
            create: now.create,
            destroy: now.destroy,
            map: now.map,
            unmap: now.unmap,
            mark: now.mark,
            query: now.query,
            wait: now.wait,
            synchronise: now.synchronise,
            failed: now.failed,
            records_lost: now.records_lost,
        });
        Ok(())
    })
}
