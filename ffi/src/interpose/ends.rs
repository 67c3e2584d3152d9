//! Devices and contexts: what ends with them ends here first.

use super::handles;
use super::vendor::Handle;
use super::world;
use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A device that the program has set.
#[derive(Clone, Copy, Debug)]
struct Set {
    references: u64,
    /// Its default context.
    context: usize,
}

static DEVICES: Mutex<BTreeMap<i32, Set>> = Mutex::new(BTreeMap::new());

fn devices() -> MutexGuard<'static, BTreeMap<i32, Set>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device is set, and its default context is the thread's.
///
/// # Safety
/// None, as for all of these: handles are only compared.
pub unsafe fn sets_device(device: i32, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if code == 0 {
        let context = handles::context();
        devices().entry(device).or_insert(Set { references: 0, context }).references += 1;
    }
    code
}

/// A device is let go; with the last reference, all that is on it ends.
///
/// # Safety
/// None.
pub unsafe fn resets_device(device: i32, pass: impl Fn() -> c_int) -> c_int {
    let set = devices().get(&device).copied();
    if let Some(set) = set.filter(|set| set.references <= 1) {
        end_device(device, set.context);
    }
    let code = pass();
    if code == 0 {
        let mut devices = devices();
        let left = devices.get_mut(&device).map(|set| {
            set.references = set.references.saturating_sub(1);
            set.references
        });
        if left == Some(0) {
            devices.remove(&device);
        }
    }
    code
}

/// All that is on a device ends, whoever refers to it.
///
/// # Safety
/// None.
pub unsafe fn resets_device_by_force(device: i32, pass: impl Fn() -> c_int) -> c_int {
    let set = devices().get(&device).copied();
    if let Some(set) = set {
        end_device(device, set.context);
    }
    let code = pass();
    if code == 0 {
        devices().remove(&device);
    }
    code
}

fn end_device(device: i32, context: usize) {
    if let Ok(number) = u32::try_from(device) {
        world::end_device(number);
    }
    forget(context);
}

/// Nothing of a context is there any more.
fn forget(context: usize) {
    let (streams, events) = handles::take_context(context);
    if let Some(world) = world::current() {
        streams.iter().for_each(|stream| world.retire(stream));
        events.iter().for_each(|event| world.retire_event(event));
    }
}

/// A context ends, with what is in it.
///
/// # Safety
/// None.
pub unsafe fn ends_context(context: Handle, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if code == 0 {
        forget(context.addr());
    }
    code
}

/// ACL ends, and the pools before it.
///
/// # Safety
/// None.
pub unsafe fn finalizes(pass: impl Fn() -> c_int) -> c_int {
    world::end();
    let contexts: Vec<usize> = core::mem::take(&mut *devices()).into_values().map(|set| set.context).collect();
    contexts.into_iter().for_each(forget);
    pass()
}
