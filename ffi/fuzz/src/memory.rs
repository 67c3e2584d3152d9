//! Allocations and names.

use super::input::Input;
use super::place::{Place, Text};
use super::world::{World, last_error};
use core::mem::zeroed;
use weir_ffi::bindings::weir_block;

pub(super) fn malloc(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool, stream) = (world.runtime(input), world.pool(input), world.stream(input));
    let bytes = input.number();
    let mut pointer = Place::<u64>::output(input);
    let status = world.answer(if input.byte() < 200 {
        c!(weir_malloc_async(runtime, pool, bytes, stream, pointer.pointer()))
    } else {
        c!(weir_try_malloc_async(runtime, pool, bytes, stream, pointer.pointer()))
    });
    made(world, input, pointer.taken(status), bytes);
}

pub(super) fn malloc_labelled(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pool, stream) = (world.runtime(input), world.pool(input), world.stream(input));
    let bytes = input.number();
    let label = input.one(&world.labels).filter(|_| input.byte() < 240).unwrap_or_else(|| input.short());
    let mut pointer = Place::<u64>::output(input);
    let status = world.answer(c!(weir_malloc_labelled(runtime, pool, bytes, stream, label, pointer.pointer())));
    made(world, input, pointer.taken(status), bytes);
}

/// An allocation is as large as asked, and is found by its address.
fn made(world: &mut World, _: &mut Input<'_>, pointer: Option<u64>, bytes: u64) {
    let Some(pointer) = pointer else { return };
    let found = world.live.keys().any(|id| {
        // SAFETY: numbers, for which zero is one.
        let mut block: weir_block = unsafe { zeroed() };
        let runtime = weir_ffi::bindings::weir_runtime { id: *id };
        let status = c!(weir_block_at(runtime, pointer, &raw mut block));
        status == 0 && block.asked == bytes && block.given >= bytes && block.start == pointer
    });
    assert!(found, "no block of {bytes} bytes starts at {pointer:#x}: {}", last_error());
    world.pointers.push(pointer);
}

pub(super) fn free(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pointer, stream) = (world.runtime(input), world.pointer(input), world.stream(input));
    let free = |_: ()| c!(weir_free_async(runtime, pointer, stream));
    let status =
        world.answer(if input.byte() < 200 { free(()) } else { c!(weir_try_free_async(runtime, pointer, stream)) });
    if status == 0 {
        assert_ne!(free(()), 0, "{pointer:#x} was freed twice");
    }
}

pub(super) fn record_use(world: &mut World, input: &mut Input<'_>) {
    let (runtime, pointer, stream) = (world.runtime(input), world.pointer(input), world.stream(input));
    let until = if input.byte() < 240 { u32::from(input.byte() & 1) } else { input.short() };
    world.answer(c!(weir_record_use(runtime, pointer, stream, until)));
}

pub(super) fn block_at(world: &mut World, input: &mut Input<'_>) {
    let mut block = Place::<weir_block>::output(input);
    let (runtime, pointer) = (world.runtime(input), world.pointer(input));
    let status = world.answer(c!(weir_block_at(runtime, pointer, block.pointer())));
    assert!(block.taken(status).is_none_or(|block| block.start == pointer), "a block that starts elsewhere");
}

pub(super) fn label(world: &mut World, input: &mut Input<'_>) {
    let mut label = Place::<u32>::output(input);
    let name = Text::new(input);
    let status = world.answer(c!(weir_label(world.runtime(input), name.pointer(), label.pointer())));
    world.labels.extend(label.taken(status));
}

pub(super) fn mark(world: &mut World, input: &mut Input<'_>) {
    let name = Text::new(input);
    world.answer(c!(weir_mark(world.runtime(input), name.pointer())));
}
