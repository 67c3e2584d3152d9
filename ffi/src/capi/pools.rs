//! Pools, as `weir.h` has them.

use super::arguments::{check_size, choice, input, output, output_or_none};
use super::failure::{Failure, guard};
use super::handle::Handles;
use super::instance::{Instance, call};
use crate::bindings::{
    weir_pending_on, weir_pool, weir_pool_config, weir_pool_stats, weir_runtime, weir_stream, weir_trimmed,
};
use core::ffi::c_int;
use core::mem::size_of;
use weir::error::PendingOn;
use weir::id::DeviceId;
use weir::policy::{Attribute, Blocking, Destroy, Growth, PoolConfig, Preference, Release, Reuse, Tuning};
use weir::units::Bytes;

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_config_init(config: *mut weir_pool_config, device: u32) -> c_int {
    guard(|| {
        let usual = PoolConfig::new(DeviceId(device));
        // SAFETY: the header asks for a place for a struct, or null.
        unsafe { output(config, "config") }?.write(weir_pool_config {
            size: size_of::<weir_pool_config>() as u32,
            device,
            limit: usual.limit.0,
            threshold: usual.threshold.0,
            reuse: u32::from(usual.reuse.bits()),
            preference: usual.preference as u32,
            small_limit: u64::MAX,
            growth_step: match usual.tuning.growth {
                Growth::Frugal => 0,
                Growth::Eager(step) => step.0,
            },
            release: usual.tuning.release as u32,
            blocking: usual.tuning.blocking as u32,
            addresses: usual.tuning.addresses.unwrap_or(0),
            reserved: 0,
        });
        Ok(())
    })
}

fn tuning(config: &weir_pool_config) -> Result<Tuning, Failure> {
    let releases = [Release::Hysteresis, Release::Always];
    let blockings = [Blocking::Never, Blocking::WhenExhausted];
    if config.reserved != 0 {
        return Err(Failure::invalid(format!("`weir_pool_config.reserved` is {}, expected 0", config.reserved)));
    }
    Ok(Tuning {
        growth: match config.growth_step {
            0 => Growth::Frugal,
            step => Growth::Eager(Bytes(step)),
        },
        release: choice(config.release, &releases, "weir_pool_config.release")?,
        blocking: choice(config.blocking, &blockings, "weir_pool_config.blocking")?,
        addresses: (config.addresses != 0).then_some(config.addresses),
    })
}

fn pool_config(config: &weir_pool_config) -> Result<PoolConfig, Failure> {
    check_size::<weir_pool_config>(config.size, "weir_pool_config")?;
    let bits = u8::try_from(config.reuse).ok().and_then(Reuse::from_bits);
    let bad = || Failure::invalid(format!("`weir_pool_config.reuse` is {:#x}, expected bits 1, 2 and 4", config.reuse));
    let preferences = [Preference::GrowFirst, Preference::WaitFirst];
    Ok(PoolConfig {
        device: DeviceId(config.device),
        limit: Bytes(config.limit),
        threshold: Bytes(config.threshold),
        reuse: bits.ok_or_else(bad)?,
        preference: choice(config.preference, &preferences, "weir_pool_config.preference")?,
        small_limit: (config.small_limit != u64::MAX).then_some(Bytes(config.small_limit)),
        tuning: tuning(config)?,
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_create(
    runtime: weir_runtime,
    config: *const weir_pool_config,
    pool: *mut weir_pool,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a handle, or null.
        let pool = unsafe { output(pool, "pool") }?;
        // SAFETY: the header asks for a struct, or null.
        let config = pool_config(unsafe { input(config, "config") }?)?;
        instance.check_device(config.device)?;
        let made = instance.runtime().create_pool(config)?;
        pool.write(instance.add_pool(config.device, made));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_default(runtime: weir_runtime, device: u32, pool: *mut weir_pool) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a handle, or null.
        let pool = unsafe { output(pool, "pool") }?;
        instance.check_device(DeviceId(device))?;
        let found = instance.runtime().default_pool(DeviceId(device))?;
        pool.write(instance.add_pool(DeviceId(device), found));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_destroy(runtime: weir_runtime, pool: weir_pool, how: u32) -> c_int {
    call(runtime, |instance| {
        instance.runtime().driver().pressure.check_outside("destroying a pool")?;
        let pool = instance.pool(pool)?;
        let how = choice(how, &[Destroy::IfEmpty, Destroy::WithLiveBlocks], "how")?;
        instance.runtime().destroy_pool(pool, how)?;
        instance.drop_pool(pool);
        Ok(())
    })
}

fn attribute_of(number: u32) -> Result<Attribute, Failure> {
    let bad = || Failure::invalid(format!("`attribute` is {number}, expected 1 to 8"));
    Attribute::from_number(number).ok_or_else(bad)
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_get_attribute(
    runtime: weir_runtime,
    pool: weir_pool,
    attribute: u32,
    value: *mut u64,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a number, or null.
        let value = unsafe { output(value, "value") }?;
        value.write(instance.runtime().attribute(instance.pool(pool)?, attribute_of(attribute)?)?);
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_set_attribute(
    runtime: weir_runtime,
    pool: weir_pool,
    attribute: u32,
    value: u64,
) -> c_int {
    call(runtime, |instance| {
        let pool = instance.pool(pool)?;
        Ok(instance.runtime().set_attribute(pool, attribute_of(attribute)?, value)?)
    })
}

fn pending_on(instance: &Instance, on: Option<PendingOn>) -> weir_pending_on {
    let nobody = weir_pending_on { stream: weir_stream { id: 0, runtime: 0 }, until: 0, bytes: 0 };
    on.map_or(nobody, |PendingOn { stream, until, bytes }| weir_pending_on {
        stream: instance.give_stream(stream),
        until: until.0,
        bytes: bytes.0,
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_trim(
    runtime: weir_runtime,
    pool: weir_pool,
    keep: u64,
    trimmed: *mut weir_trimmed,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a struct, or null.
        let place = unsafe { output_or_none(trimmed, "trimmed") }?;
        let reached = instance.runtime().trim_to(instance.pool(pool)?, Bytes(keep))?;
        if let Some(place) = place {
            place.write(weir_trimmed {
                reserved: reached.reserved.0,
                live: reached.live.0,
                pending: reached.pending.0,
                partial: reached.partial.0,
                pending_streams: reached.pending_streams.into(),
                pending_on: reached.pending_on.map(|on| pending_on(instance, on)),
            });
        }
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_pool_get_stats(
    runtime: weir_runtime,
    pool: weir_pool,
    stats: *mut weir_pool_stats,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a struct, or null.
        let stats = unsafe { output(stats, "stats") }?;
        let now = instance.runtime().stats(instance.pool(pool)?)?;
        stats.write(weir_pool_stats {
            base: now.base.0,
            range: now.range.0,
            used: now.used.0,
            used_high: now.used_high.0,
            reserved: now.reserved.0,
            reserved_high: now.reserved_high.0,
            requested: now.requested.0,
            requested_high: now.requested_high.0,
            live_blocks: now.live_blocks,
            mallocs: now.mallocs,
            frees: now.frees,
            refused: now.refused,
            thrash: now.thrash.0,
            kept: now.kept.0,
            reuse: now.by_source,
        });
        Ok(())
    })
}
