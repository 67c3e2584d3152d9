//! Devices and contexts: what ends with them ends here first.

use super::vendor::Acl;
use crate::interpose::front::{Front, Handle};
use crate::interpose::world;
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
        let context = Acl.context();
        devices().entry(device).or_insert(Set { references: 0, context }).references += 1;
    }
    code
}

/// A device is let go; with the last reference, all that is on it ends.
///
/// # Safety
/// None.
pub unsafe fn resets_device(device: i32, pass: impl Fn() -> c_int) -> c_int {
    // Of several threads that let go at once, one is the last: it ends what is on the device before it passes that on.
    let left = {
        let mut devices = devices();
        devices.get_mut(&device).map(|set| {
            set.references = set.references.saturating_sub(1);
            *set
        })
    };
    if let Some(set) = left.filter(|set| set.references == 0) {
        end_device(device, set.context);
    }
    let code = pass();
    let mut devices = devices();
    if code != 0 {
        devices.entry(device).and_modify(|set| set.references += 1);
    } else if devices.get(&device).is_some_and(|set| set.references == 0) {
        devices.remove(&device);
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
        world::end(number);
    }
    world::forget_context(context);
}

/// A context ends, with what is in it.
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

/// ACL ends, and the pools before it.
///
/// # Safety
/// None.
pub unsafe fn finalizes(pass: impl Fn() -> c_int) -> c_int {
    world::end_all();
    let contexts: Vec<usize> = core::mem::take(&mut *devices()).into_values().map(|set| set.context).collect();
    contexts.into_iter().for_each(world::forget_context);
    pass()
}
