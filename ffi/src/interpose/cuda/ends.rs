//! Devices and contexts: what ends with them ends here first.

use super::vendor::{Cuda, is_active, ordinal, runtime_device};
use crate::interpose::front::{Front, Handle};
use crate::interpose::world;
use core::ffi::c_int;

/// All that is in a device's primary context ends.
fn end_device(device: Option<u32>, pass: impl Fn() -> c_int) -> c_int {
    let context = device.and_then(primary_context);
    if let Some(device) = device {
        world::end(device);
    }
    if let Some(context) = context {
        world::forget_context(context);
    }
    pass()
}

/// A device's primary context, if there is one.
fn primary_context(device: u32) -> Option<usize> {
    match world::current(device) {
        Some(world) => Some(world.context),
        None if is_active(device) => Cuda.home(device).ok(),
        None => None,
    }
}

/// The thread's device is reset.
///
/// # Safety
/// None, as for all of these: handles are only compared.
pub unsafe fn resets_device(pass: impl Fn() -> c_int) -> c_int {
    end_device(runtime_device(), pass)
}

/// A device is reset, by the driver's handle.
///
/// # Safety
/// None.
pub unsafe fn resets_primary(device: c_int, pass: impl Fn() -> c_int) -> c_int {
    end_device(ordinal(device), pass)
}

/// A context of the program's ends, with what is in it.
///
/// # Safety
/// None.
pub unsafe fn ends_context(context: Handle, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if code == 0 {
        world::forget_context(context.addr());
    }
    code
}
