//! Memory of pools and of the vendor's side by side.

use super::world::{self, Trouble, World};
use core::ffi::{c_int, c_void};
use weir::units::DevicePtr;

/// An address as the runtime has it.
pub(super) fn device_ptr(ptr: *mut c_void) -> DevicePtr {
    DevicePtr(ptr.addr() as u64)
}

/// The vendor allocates: where it has nothing, the pools give back what they do not use, and it tries once more.
pub(super) fn allocates(is_exhausted: impl Fn(c_int) -> bool, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if !is_exhausted(code) {
        return code;
    }
    world::trim_all();
    pass()
}

/// Frees a pool's memory on a stream whose order is not followed: `wait` waits for that.
pub(super) fn free_apart(world: &World, at: DevicePtr, wait: impl FnOnce() -> c_int) -> Result<(), Trouble> {
    match wait() {
        // After an abort the stream being done says nothing about those that it waited for.
        0 => world.free_after_all(at),
        code => Err(Trouble::Code(code, "the stream, whose order cannot be followed, has failed".to_owned())),
    }
}
