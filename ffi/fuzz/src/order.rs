//! Streams and events.

use super::input::Input;
use super::place::Place;
use super::world::World;
use core::ffi::c_int;
use weir_ffi::bindings::{weir_event, weir_stream};

fn device(input: &mut Input<'_>) -> u32 {
    match input.byte() {
        0..220 => 0,
        220..245 => 1,
        _ => input.short(),
    }
}

fn kind(input: &mut Input<'_>) -> u32 {
    if input.byte() < 240 { u32::from(input.byte() % 4) } else { input.short() }
}

pub(super) fn create_stream(world: &mut World, input: &mut Input<'_>) {
    let mut stream = Place::<weir_stream>::output(input);
    let runtime = world.runtime(input);
    let status = world.answer(c!(weir_stream_create(runtime, device(input), kind(input), stream.pointer())));
    if let Some(stream) = stream.taken(status) {
        world.add_stream(stream);
    }
}

pub(super) fn register_stream(world: &mut World, input: &mut Input<'_>) {
    let mut stream = Place::<weir_stream>::output(input);
    let (runtime, device, kind) = (world.runtime(input), device(input), kind(input));
    let (native, context) = (input.number(), u64::from(input.byte() & 1));
    let status = world.answer(c!(weir_stream_register(runtime, device, kind, native, context, stream.pointer())));
    if let Some(stream) = stream.taken(status) {
        world.add_stream(stream);
    }
}

pub(super) fn destroy_stream(world: &mut World, input: &mut Input<'_>) {
    let (runtime, stream) = (world.runtime(input), world.stream(input));
    if world.answer(c!(weir_stream_destroy(runtime, stream))) == 0 {
        world.close(stream.id, stream.runtime);
    }
}

pub(super) fn synchronize_stream(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_stream_synchronize(world.runtime(input), world.stream(input))));
}

pub(super) fn synchronize_device(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_device_synchronize(world.runtime(input), device(input))));
}

pub(super) fn create_event(world: &mut World, input: &mut Input<'_>) {
    let mut event = Place::<weir_event>::output(input);
    let status = world.answer(c!(weir_event_create(world.runtime(input), event.pointer())));
    if let Some(event) = event.taken(status) {
        world.add_event(event);
    }
}

pub(super) fn destroy_event(world: &mut World, input: &mut Input<'_>) {
    let (runtime, event) = (world.runtime(input), world.event(input));
    if world.answer(c!(weir_event_destroy(runtime, event))) == 0 {
        world.close(event.id, event.runtime);
    }
}

pub(super) fn record(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_event_record(world.runtime(input), world.event(input), world.stream(input))));
}

pub(super) fn wait(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_stream_wait_event(world.runtime(input), world.stream(input), world.event(input))));
}

pub(super) fn query(world: &mut World, input: &mut Input<'_>) {
    let mut complete = Place::<c_int>::output(input);
    let status = world.answer(c!(weir_event_query(world.runtime(input), world.event(input), complete.pointer())));
    assert!(complete.taken(status).is_none_or(|complete| matches!(complete, 0 | 1)), "neither yes nor no");
}

pub(super) fn synchronize_event(world: &mut World, input: &mut Input<'_>) {
    world.answer(c!(weir_event_synchronize(world.runtime(input), world.event(input))));
}
