//! Pools.

use super::input::Input;
use super::place::Place;
use super::world::{On, World, answer};
use core::ffi::c_void;
use core::mem::zeroed;
use core::ptr::null_mut;
use weir_ffi::bindings::{weir_pool, weir_pool_config, weir_runtime, weir_stream, weir_trimmed};

fn config(input: &mut Input<'_>) -> weir_pool_config {
    // SAFETY: numbers, for which zero is one.
    let mut config: weir_pool_config = unsafe { zeroed() };
    c!(weir_pool_config_init(&raw mut config, u32::from(input.byte() > 224)));
    let shape = input.byte();
    config.reuse = u32::from(shape & 7);
    config.preference = u32::from(shape >> 3 & 1);
    if shape & 16 != 0 {
        config.limit = input.number();
    }
    if shape & 32 != 0 {
        config.threshold = input.number();
    }
    if shape & 64 != 0 {
        config.small_limit = input.number();
    }
    if shape & 128 != 0 {
        match input.below(6) {
            0 => config.size = input.short(),
            1 => config.device = input.short(),
            2 => config.reuse = input.short(),
            3 => config.preference = input.short(),
            _ => {}
        }
    }
    config
}

/// The most that a pool of this limit may reserve, as far as that is known here.
fn most(world: &World, runtime: weir_runtime, limit: u64) -> u64 {
    let granule = world.toy.granule().filter(|_| world.live.get(&runtime.id) == Some(&On::Toy));
    match granule {
        Some(_) if limit == 0 => super::toy::TOTAL,
        Some(granule) => limit.checked_next_multiple_of(granule).unwrap_or(u64::MAX),
        None => u64::MAX,
    }
}

pub(super) fn create(world: &mut World, input: &mut Input<'_>) {
    let runtime = world.runtime(input);
    let config = config(input);
    let (mut given, mut pool) = (Place::input(config, input), Place::<weir_pool>::output(input));
    let status = world.answer(c!(weir_pool_create(runtime, given.pointer(), pool.pointer())));
    if let Some(pool) = pool.taken(status) {
        let most = most(world, runtime, config.limit);
        world.add_pool(pool, most);
    }
}

pub(super) fn default(world: &mut World, input: &mut Input<'_>) {
    let runtime = world.runtime(input);
    let device = if input.byte() < 240 { 0 } else { input.short() };
    let mut pool = Place::<weir_pool>::output(input);
    let status = world.answer(c!(weir_pool_default(runtime, device, pool.pointer())));
    if let Some(pool) = pool.taken(status) {
        world.add_pool(pool, u64::MAX);
    }
}

pub(super) fn destroy(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool) = (world.runtime(input), world.pool(input));
    let how = if input.byte() < 240 { u32::from(input.byte() & 1) } else { input.short() };
    if world.answer(c!(weir_pool_destroy(runtime, pool, how))) == 0 {
        world.drop_pool(pool);
    }
}

pub(super) fn get_attribute(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool) = (world.runtime(input), world.pool(input));
    let mut value = Place::<u64>::output(input);
    let status = world.answer(c!(weir_pool_get_attribute(runtime, pool, attribute(input), value.pointer())));
    value.taken(status);
}

pub(super) fn set_attribute(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool) = (world.runtime(input), world.pool(input));
    world.answer(c!(weir_pool_set_attribute(runtime, pool, attribute(input), input.number())));
}

fn attribute(input: &mut Input<'_>) -> u32 {
    if input.byte() < 240 { u32::from(input.byte() % 10) } else { input.short() }
}

pub(super) fn trim(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool, keep) = (world.runtime(input), world.pool(input), input.number());
    let mut trimmed = Place::<weir_trimmed>::output(input);
    let status = world.answer(c!(weir_pool_trim(runtime, pool, keep, trimmed.pointer())));
    // It may be left out.
    if !trimmed.is_null() {
        trimmed.taken(status);
    }
}

/// What the callback does about the runtime whose pool it is told of.
struct Meddler {
    runtime: weir_runtime,
    pool: weir_pool,
    calls: u32,
}

/// Does what callbacks may: anything. The pool is trimmed while its list is told.
unsafe extern "C" fn pending_on(user: *mut c_void, stream: weir_stream, _: u64, bytes: u64) {
    // SAFETY: `pending` put it there for the length of its call.
    let meddler = unsafe { &mut *user.cast::<Meddler>() };
    meddler.calls += u32::from(bytes > 0);
    answer(c!(weir_stream_synchronize(meddler.runtime, stream)));
    answer(c!(weir_pool_trim(meddler.runtime, meddler.pool, 0, null_mut())));
}

pub(super) fn pending(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool, stream) = (world.runtime(input), world.pool(input), world.stream(input));
    let function = (input.byte() < 240).then_some(pending_on as unsafe extern "C" fn(_, _, _, _));
    let mut meddler = Meddler { runtime, pool, calls: 0 };
    let status = world.answer(c!(weir_pool_pending(runtime, pool, stream, function, (&raw mut meddler).cast())));
    assert!(status == 0 || meddler.calls == 0, "a refused call told {} streams", meddler.calls);
}
