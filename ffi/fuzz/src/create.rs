//! Runtimes, what they are made of, and the mood of the device.

use super::input::Input;
use super::place::Place;
use super::toy::Mood;
use super::world::{On, World, answer};
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr::null_mut;
use weir_ffi::bindings::{
    weir_config, weir_driver_properties, weir_host_config, weir_pool_config, weir_runtime, weir_status as s,
};

/// Runtimes at once: each call looks at all of them.
const MOST: usize = 3;
/// The most devices that a host runtime is made with here.
pub(super) const HOST_DEVICES: u32 = 2;
const HOST_GRANULE: u64 = 1 << 16;
/// Bytes of each of them.
pub(super) const HOST_TOTAL: u64 = 32 * HOST_GRANULE;

/// Gets the log's pages and looks at them.
unsafe extern "C" fn page(user: *mut c_void, page: *const u8, length: usize) {
    // Nothing may unwind from here: what is wrong ends the process.
    if !user.is_null() || page.is_null() || length > 4096 {
        std::process::abort();
    }
}

/// A configuration with room for little.
pub(super) fn small() -> weir_config {
    // SAFETY: numbers and pointers, for which zero is one.
    let mut config: weir_config = unsafe { zeroed() };
    c!(weir_config_init(&raw mut config));
    weir_config { streams: 6, events: 6, markers: 8, pools: 4, blocks: 48, granules: 32, labels: 4, pages: 2, ..config }
}

/// A small one, or one of which some numbers are wild. None is so large that it would be granted and take long.
fn config(input: &mut Input<'_>) -> weir_config {
    let mut config = small();
    if input.byte() < 64 {
        config.log_fn = Some(page);
    }
    if input.byte() < 200 {
        return config;
    }
    let wild = match input.number() {
        small @ 0..=64 => small,
        large => large.max(1 << 50),
    };
    match input.below(10) {
        0 => config.size = input.short(),
        1 => config.streams = wild,
        2 => config.events = wild,
        3 => config.markers = wild,
        4 => config.pools = wild,
        5 => config.blocks = wild,
        6 => config.granules = wild,
        7 => config.labels = wild,
        8 => config.pages = wild,
        _ => config.log_path = c"/no/such/folder/for.log".as_ptr(),
    }
    config
}

pub(super) fn on_toy(world: &mut World, input: &mut Input<'_>) {
    if world.live.len() >= MOST {
        return;
    }
    let mut config = Place::input(config(input), input);
    let mut ops = world.toy.table();
    if input.byte() > 240 {
        match input.below(4) {
            0 => ops.abi = input.short(),
            1 => ops.size = input.short(),
            2 => ops.properties = None,
            _ => ops.now = None,
        }
    }
    let mut ops = Place::input(ops, input);
    world.toy.calm();
    let mut runtime = Place::<weir_runtime>::output(input);
    let status = answer(c!(weir_create_with_driver(config.pointer(), ops.pointer(), runtime.pointer())));
    if let Some(runtime) = runtime.taken(status) {
        world.add_runtime(runtime, On::Toy);
    }
}

fn host_config(input: &mut Input<'_>) -> weir_host_config {
    // SAFETY: numbers, for which zero is one.
    let mut host: weir_host_config = unsafe { zeroed() };
    c!(weir_host_config_init(&raw mut host));
    host.devices = 1 + u32::from(input.byte() > 200);
    (host.total, host.granularity) = (HOST_TOTAL, HOST_GRANULE);
    if input.byte() > 200 {
        match input.below(5) {
            0 => host.size = input.short(),
            1 => host.devices = 0,
            2 => host.granularity = input.number(),
            3 => host.alignment = input.number(),
            _ => host.patience = input.number(),
        }
    }
    // A pool's range is looked at a granule at a time here: few of them.
    host.granularity = host.granularity.max(u64::from(host.granularity > 0) * 4096);
    host
}

pub(super) fn on_host(world: &mut World, input: &mut Input<'_>) {
    if world.live.len() >= MOST {
        return;
    }
    let mut config = Place::input(config(input), input);
    let mut host = Place::input(host_config(input), input);
    // Without any configuration there would be 32,768 granules to map.
    if host.is_null() && config.is_null() {
        return;
    }
    world.toy.calm();
    let mut runtime = Place::<weir_runtime>::output(input);
    let status = answer(c!(weir_create_host(config.pointer(), host.pointer(), runtime.pointer())));
    if let Some(runtime) = runtime.taken(status) {
        world.add_runtime(runtime, On::Host);
    }
}

pub(super) fn destroy(world: &mut World, input: &mut Input<'_>) {
    let runtime = world.runtime(input);
    let status = world.answer(c!(weir_destroy(runtime)));
    if status != s::WEIR_BAD_HANDLE as i32 && status != s::WEIR_BUSY as i32 {
        world.incomplete |= status != 0;
        world.drop_runtime(runtime);
    }
}

pub(super) fn flush(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_log_flush(world.runtime(input))));
}

pub(super) fn counters(world: &mut World, input: &mut Input<'_>) {
    let mut counters = Place::output(input);
    let status = world.answer(c!(weir_get_counters(world.runtime(input), counters.pointer())));
    counters.taken(status);
}

pub(super) fn last_error(_: &mut World, input: &mut Input<'_>) {
    let mut text = [0xa5_u8; 80];
    let size = input.below(text.len());
    let buffer = if input.byte() < 240 { text.as_mut_ptr().cast() } else { null_mut() };
    let whole = c!(weir_last_error(buffer, size));
    assert!(text.iter().skip(size).all(|byte| *byte == 0xa5), "more was written than there is room for");
    let end = text.iter().position(|byte| *byte == 0);
    assert_eq!(end.is_some(), size > 0 && !buffer.is_null(), "there is a 0 behind a text");
    let kept = end.and_then(|end| text.get(..end)).unwrap_or_default();
    assert!(kept.len() <= whole && std::str::from_utf8(kept).is_ok(), "a text is cut at a whole character");
}

pub(super) fn configs(_: &mut World, input: &mut Input<'_>) {
    let mut config = Place::<weir_config>::output(input);
    let status = answer(c!(weir_config_init(config.pointer())));
    config.taken(status);
    let mut host = Place::<weir_host_config>::output(input);
    let status = answer(c!(weir_host_config_init(host.pointer())));
    host.taken(status);
    let mut pool = Place::<weir_pool_config>::output(input);
    let status = answer(c!(weir_pool_config_init(pool.pointer(), input.short())));
    pool.taken(status);
    assert_eq!(c!(weir_version()), 1 << 8);
}

/// The device fails, is busy, lies about itself, or calls weir.
pub(super) fn mood(world: &mut World, input: &mut Input<'_>) {
    let mut mood = Mood { complete: c_int::from(input.byte() < 128), ..Mood::default() };
    mood.fail_in = u32::from(input.byte() % 16);
    mood.status = match input.byte() {
        status @ 0..200 => c_int::from(status % 5),
        _ => input.short() as c_int,
    };
    match input.byte() {
        0..160 => {}
        160..180 => mood.complete = input.short() as c_int,
        180..200 => mood.base = Some(input.number()),
        200..230 => {
            mood.properties = Some(weir_driver_properties {
                granularity: input.number(),
                alignment: input.number(),
                total: input.number(),
                capabilities: input.short(),
                reserved: 0,
            });
        }
        _ => mood.end = world.live.keys().next().filter(|_| world.live.len() == 1).map(|id| weir_runtime { id: *id }),
    }
    world.toy.set(mood);
}

/// The device does as it should again.
pub(super) fn heal(world: &mut World, _: &mut Input<'_>) {
    world.toy.set(Mood { complete: 1, ..Mood::default() });
}
