//! The host driver's own functions, on runtimes that have it and on those that do not.

use super::input::Input;
use super::place::Place;
use super::world::World;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use weir_ffi::bindings::{weir_kernel, weir_runtime, weir_status as s, weir_stream};

/// Bytes of a copy at most.
const ROOM: u64 = 4096;

/// Bytes of the program's that copies come from and go to, at any time and on any thread. Nobody looks at them.
struct Room(UnsafeCell<[u8; ROOM as usize]>);

// SAFETY: only its address is used; what copies write there nobody reads but other copies.
unsafe impl Sync for Room {}

static FROM: Room = Room(UnsafeCell::new([7; ROOM as usize]));
static TO: Room = Room(UnsafeCell::new([0; ROOM as usize]));

/// What a kernel is to do.
pub(super) struct Plan {
    runtime: weir_runtime,
    stream: weir_stream,
    pointer: u64,
    bytes: u64,
    what: u8,
    /// What ending the runtime from inside of its kernel answered; -1: not asked.
    ended: AtomicI32,
}

unsafe extern "C" fn kernel(kernel: *mut weir_kernel, user: *mut c_void) {
    // SAFETY: `launch` put it there; it stays until all runtimes are gone.
    let plan = unsafe { &*user.cast::<Plan>() };
    let Plan { runtime, stream, pointer, bytes, what, .. } = *plan;
    match what {
        0..120 => {
            let access = u32::from(what & 1);
            let found = c!(weir_kernel_bytes(kernel, pointer, bytes, access)).cast::<u8>();
            if access == 1 && bytes > 0 && !found.is_null() {
                // SAFETY: lent for writing, and there is at least one byte.
                unsafe { found.write(what) };
            }
        }
        120..140 => drop(c!(weir_kernel_bytes(kernel, pointer, bytes, u32::from(what)))),
        140..160 => drop(c!(weir_kernel_bytes(null_mut(), pointer, bytes, 0))),
        160..170 => c!(weir_kernel_fail(kernel, null())),
        170..180 => c!(weir_kernel_fail(kernel, c"as planned".as_ptr())),
        180..220 => drop(c!(weir_free_async(runtime, pointer, stream))),
        _ => plan.ended.store(c!(weir_destroy(runtime)), Ordering::SeqCst),
    }
}

pub(super) fn launch(world: &mut World, input: &mut Input<'_>) {
    let (runtime, stream, pointer) = (world.runtime(input), world.stream(input), world.pointer(input));
    let plan = Plan { runtime, stream, pointer, bytes: input.number(), what: input.byte(), ended: AtomicI32::new(-1) };
    let plan = Arc::new(plan);
    let user = Arc::as_ptr(&plan).cast_mut().cast();
    world.plans.push(plan);
    let function = (input.byte() < 240).then_some(kernel as unsafe extern "C" fn(_, _));
    world.answer(c!(weir_host_launch(runtime, stream, function, user)));
    // Outside of kernels there is none, whatever the pointer.
    assert!(c!(weir_kernel_bytes(user.cast(), pointer, 1, 0)).is_null(), "bytes without a kernel");
}

impl Drop for Plan {
    fn drop(&mut self) {
        let ended = self.ended.load(Ordering::SeqCst);
        // While the runtime is ending it is nobody's any more.
        let refused = [-1, s::WEIR_BUSY as i32, s::WEIR_BAD_HANDLE as i32];
        assert!(refused.contains(&ended), "a kernel ended its own runtime: {ended}");
    }
}

pub(super) fn copy(world: &mut World, input: &mut Input<'_>) {
    let (runtime, stream) = (world.runtime(input), world.stream(input));
    let (one, other) = (world.pointer(input), world.pointer(input));
    // As many as there is room for, or more than any device has.
    let bytes = match input.number() {
        few @ 0..=ROOM => few,
        many => many.max(1 << 63),
    };
    let none = input.byte() > 240;
    let from: *const c_void = if none { null() } else { FROM.0.get().cast() };
    let to: *mut c_void = if none { null_mut() } else { TO.0.get().cast() };
    world.answer(match input.below(3) {
        0 => c!(weir_host_copy_to_device(runtime, stream, one, from, bytes)),
        1 => c!(weir_host_copy_to_host(runtime, stream, to, one, bytes)),
        _ => c!(weir_host_copy(runtime, stream, one, other, input.number())),
    });
}

pub(super) fn fill(world: &mut World, input: &mut Input<'_>) {
    let (runtime, stream, to) = (world.runtime(input), world.stream(input), world.pointer(input));
    world.answer(c!(weir_host_fill(runtime, stream, to, input.byte(), input.number())));
}

fn device(input: &mut Input<'_>) -> u32 {
    if input.byte() < 240 { 0 } else { input.short() }
}

pub(super) fn fault(world: &mut World, input: &mut Input<'_>) {
    let (runtime, device) = (world.runtime(input), device(input));
    let mut faulted = Place::<c_int>::output(input);
    let mut text = [0_u8; 64];
    let size = input.below(text.len() + 1);
    let status = world.answer(c!(weir_host_fault(runtime, device, faulted.pointer(), text.as_mut_ptr().cast(), size)));
    assert!(faulted.taken(status).is_none_or(|faulted| matches!(faulted, 0 | 1)), "neither yes nor no");
    if input.byte() < 200 {
        world.answer(c!(weir_host_clear_fault(runtime, device)));
    }
}

pub(super) fn resident(world: &mut World, input: &mut Input<'_>) {
    let mut bytes = Place::<u64>::output(input);
    let (runtime, device) = (world.runtime(input), device(input));
    let status = world.answer(c!(weir_host_resident(runtime, device, bytes.pointer())));
    bytes.taken(status);
}
