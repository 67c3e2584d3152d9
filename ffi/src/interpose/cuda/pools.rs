//! Pools: those of weir's, and which one a device allocates from.
//!
//! What weir's pools cannot be (shared with other processes, on the host) the vendor makes; its pools go to the vendor.

use super::codes::{DEINITIALIZED, INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Refusal, guard};
use super::end::{self, is_ending};
use super::vendor;
use crate::acl::handle::{Kind, from_raw, to_raw};
use crate::calls::Call;
use crate::interpose::front::Handle;
use crate::interpose::world::{self, World};
use crate::pool::Pool;
use core::ffi::{c_int, c_uint, c_ushort, c_void};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use weir::id::DeviceId;
use weir::policy::{Attribute, PoolConfig, Release, Tuning};
use weir::units::Bytes;

/// `cudaMemPoolProps`, `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolProps {
    kind: c_int,
    handle_types: c_int,
    location: Location,
    security: *mut c_void,
    most: usize,
    usage: c_ushort,
    reserved: [u8; 54],
}

/// `cudaMemLocation`, `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    kind: c_int,
    id: c_int,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<PoolProps>() == 88 && core::mem::offset_of!(PoolProps, most) == 24);

/* cudaMemAllocationTypePinned, and cudaMemLocationTypeDevice. */
const PINNED: c_int = 1;
const DEVICE: c_int = 1;

impl PoolProps {
    /// Whether weir has such pools.
    fn is_ours(&self) -> bool {
        let plain = self.kind == PINNED && self.handle_types == 0 && self.usage == 0;
        plain && self.location.kind == DEVICE && self.security.is_null() && self.reserved.iter().all(|byte| *byte == 0)
    }
}

/// A device that a call names; `None`: there is none of that name.
#[derive(Clone, Copy, Debug)]
pub struct Device(Option<u32>);

/// The device of a number, counted from 0.
#[must_use]
pub fn numbered(device: c_int) -> Device {
    Device(u32::try_from(device).ok())
}

/// The device of one of the driver's handles.
#[must_use]
pub fn handled(device: c_int) -> Device {
    Device(if is_ending() { None } else { vendor::ordinal(device) })
}

/// Which pool a device allocates from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Current {
    Own(usize),
    Vendors,
}

/// A device's default pool, and the one that it allocates from.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    world: u64,
    default: usize,
    current: Current,
}

static CHOSEN: Mutex<BTreeMap<u32, Chosen>> = Mutex::new(BTreeMap::new());

/// Reads or changes what a device's calls without a pool come to; the default pool is made with the first.
fn chosen<R>(world: &World, work: impl FnOnce(&mut Chosen) -> R) -> Result<R, Refusal> {
    let mut all = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all.get_mut(&world.device).filter(|found| found.world == world.number) {
        return Ok(work(found));
    }
    let default = make(world, Bytes::ZERO)?;
    let mut new = Chosen { world: world.number, default, current: Current::Own(default) };
    let done = work(&mut new);
    all.insert(world.device, new);
    Ok(done)
}

/// CUDA's defaults: all switches on, nothing kept, memory is created before a stream is made to wait; and every
/// synchronisation releases.
fn make(world: &World, most: Bytes) -> Result<usize, Refusal> {
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    let config = PoolConfig { limit: most, tuning, ..PoolConfig::new(DeviceId(world.device)) };
    Ok(world.pools.add(Pool::create(&world.runtime, config)?))
}

/// Refuses what would ask the driver for something when it may be gone.
pub(super) fn going_on() -> Result<(), Refusal> {
    if is_ending() { Err(Refusal(DEINITIALIZED)) } else { Ok(()) }
}

/// Begins a call about a device, for which a world is made if need be.
pub(super) fn begin(device: u32) -> Result<Call<World>, Refusal> {
    end::watch();
    Ok(world::begin(device)?)
}

fn on(device: Device) -> Result<Call<World>, Refusal> {
    going_on()?;
    let number = device.0.ok_or(Refusal(INVALID_DEVICE))?;
    begin(number).map_err(|refusal| if vendor::is_device(number) { refusal } else { Refusal(INVALID_DEVICE) })
}

/// The pool that a device's calls without one allocate from; `None`: one of the vendor's.
pub(super) fn current(world: &World) -> Result<Option<Pool>, Refusal> {
    match chosen(world, |chosen| chosen.current)? {
        Current::Own(handle) => Ok(world.pools.get(handle)),
        Current::Vendors => Ok(None),
    }
}

/// A pool of weir's that the program named. What is none goes to the vendor.
pub(super) fn find(pool: Handle) -> Option<(Call<World>, Pool)> {
    world::pool(from_raw(pool))
}

/// A pool that is none of weir's: the vendor's, unless it was one.
pub(super) fn elsewhere(pool: Handle, pass: impl Fn() -> c_int) -> c_int {
    if Kind::Pool.was_issued(from_raw(pool)) { guard(|| Err(Refusal(INVALID_VALUE))) } else { pass() }
}

fn handle_for(place: *mut Handle) -> Result<*mut Handle, Refusal> {
    if place.is_null() { Err(Refusal(INVALID_VALUE)) } else { Ok(place) }
}

/// A pool begins.
///
/// # Safety
/// Pointers are null or good for what the header says, as for all of these.
pub unsafe fn pool_create(pool: *mut Handle, props: *const PoolProps, pass: impl Fn() -> c_int) -> c_int {
    if props.is_null() {
        return guard(|| Err(Refusal(INVALID_VALUE)));
    }
    // SAFETY: non-null, so the vendor's struct, as the caller promised.
    let props = unsafe { props.read() };
    if !props.is_ours() {
        return pass();
    }
    guard(|| {
        let place = handle_for(pool)?;
        let world = on(numbered(props.location.id))?;
        let made = make(&world, Bytes(props.most as u64))?;
        // SAFETY: non-null, so a place for a handle, as the caller promised.
        unsafe { place.write(to_raw(made)) };
        Ok(())
    })
}

/// A pool ends: at once for the program, and in truth with its last block.
///
/// # Safety
/// None.
pub unsafe fn pool_destroy(pool: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some((world, _)) = find(pool) else { return elsewhere(pool, pass) };
    let handle = from_raw(pool);
    guard(|| {
        going_on()?;
        let may_end = chosen(&world, |chosen| {
            if chosen.current == Current::Own(handle) && chosen.default != handle {
                chosen.current = Current::Own(chosen.default);
            }
            chosen.default != handle
        })?;
        if !may_end {
            return Err(Refusal(INVALID_VALUE));
        }
        world.let_go(handle);
        Ok(())
    })
}

fn attribute(attr: c_uint, value: *mut c_void) -> Result<Attribute, Refusal> {
    Attribute::from_number(attr).filter(|_| !value.is_null()).ok_or(Refusal(INVALID_VALUE))
}

/// An attribute is set.
///
/// # Safety
/// `value` is null or a number of the attribute's type.
pub unsafe fn pool_set(pool: Handle, attr: c_uint, value: *mut c_void, pass: impl Fn() -> c_int) -> c_int {
    let Some((world, pool)) = find(pool) else { return elsewhere(pool, pass) };
    guard(|| {
        let attribute = attribute(attr, value)?;
        // SAFETY: non-null, and as the caller promised.
        Ok(unsafe { pool.set(&world.runtime, attribute, value) }?)
    })
}

/// An attribute is read.
///
/// # Safety
/// `value` is null or a place for a number of the attribute's type.
pub unsafe fn pool_get(pool: Handle, attr: c_uint, value: *mut c_void, pass: impl Fn() -> c_int) -> c_int {
    let Some((world, pool)) = find(pool) else { return elsewhere(pool, pass) };
    guard(|| {
        let attribute = attribute(attr, value)?;
        // SAFETY: non-null, and as the caller promised.
        Ok(unsafe { pool.get(&world.runtime, attribute, value) }?)
    })
}

/// What is not in use goes back.
///
/// # Safety
/// None.
pub unsafe fn pool_trim(pool: Handle, keep: usize, pass: impl Fn() -> c_int) -> c_int {
    let Some((world, pool)) = find(pool) else { return elsewhere(pool, pass) };
    guard(|| {
        going_on()?;
        world.runtime.trim_to(pool.id, Bytes(keep as u64))?;
        Ok(())
    })
}

/// What weir's pools do not do: other devices' access, and other processes'.
///
/// # Safety
/// None.
pub unsafe fn pool_lacks(pool: Handle, pass: impl Fn() -> c_int) -> c_int {
    match find(pool) {
        Some(_) => guard(|| Err(Refusal(NOT_SUPPORTED))),
        None => elsewhere(pool, pass),
    }
}

/// Memory of a pool for other processes: weir's pools have none.
///
/// # Safety
/// None.
pub unsafe fn pointer_lacks(ptr: *mut c_void, pass: impl Fn() -> c_int) -> c_int {
    match world::pool_at(crate::interpose::memory::device_ptr(ptr)) {
        Some(_) => guard(|| Err(Refusal(NOT_SUPPORTED))),
        None => pass(),
    }
}

/// The pool that a device has from the beginning.
///
/// # Safety
/// `pool` is null or a place for a handle.
pub unsafe fn default_pool(pool: *mut Handle, device: Device, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        let place = handle_for(pool)?;
        let world = on(device)?;
        let default = chosen(&world, |chosen| chosen.default)?;
        // SAFETY: non-null, so a place for a handle, as the caller promised.
        unsafe { place.write(to_raw(default)) };
        Ok(())
    })
}

/// The pool that a device's calls without one allocate from.
///
/// # Safety
/// `pool` is null or a place for a handle.
pub unsafe fn current_pool(pool: *mut Handle, device: Device, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = 0;
    let code = guard(|| {
        let place = handle_for(pool)?;
        let world = on(device)?;
        match chosen(&world, |chosen| chosen.current)? {
            // SAFETY: non-null, so a place for a handle, as the caller promised.
            Current::Own(handle) => unsafe { place.write(to_raw(handle)) },
            Current::Vendors => answer = pass(),
        }
        Ok(())
    });
    if code == 0 { answer } else { code }
}

/// A device allocates from another pool from now on.
///
/// # Safety
/// None.
pub unsafe fn set_pool(pool: Handle, device: Device, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = 0;
    let code = guard(|| {
        let world = on(device)?;
        let next = match find(pool) {
            Some((_, found)) if found.device != DeviceId(world.device) => return Err(Refusal(INVALID_VALUE)),
            Some(_) => Current::Own(from_raw(pool)),
            None => {
                answer = elsewhere(pool, &pass);
                if answer != 0 {
                    return Ok(());
                }
                Current::Vendors
            }
        };
        chosen(&world, |chosen| chosen.current = next)
    });
    if code == 0 { answer } else { code }
}

/// The device of a place, where pools of this kind are weir's.
fn placed(location: *const Location, kind: c_int) -> Option<Device> {
    if location.is_null() || kind != PINNED {
        return None;
    }
    // SAFETY: non-null, so the vendor's struct, as the callers' callers promised.
    let location = unsafe { location.read() };
    (location.kind == DEVICE).then(|| numbered(location.id))
}

/// The same as [`default_pool`], by a place.
///
/// # Safety
/// Pointers are null or good for what the header says.
pub unsafe fn default_pool_at(
    pool: *mut Handle,
    location: *const Location,
    kind: c_int,
    pass: impl Fn() -> c_int,
) -> c_int {
    match placed(location, kind) {
        // SAFETY: as the caller promised.
        Some(device) => unsafe { default_pool(pool, device, pass) },
        None => pass(),
    }
}

/// The same as [`current_pool`], by a place.
///
/// # Safety
/// Pointers are null or good for what the header says.
pub unsafe fn current_pool_at(
    pool: *mut Handle,
    location: *const Location,
    kind: c_int,
    pass: impl Fn() -> c_int,
) -> c_int {
    match placed(location, kind) {
        // SAFETY: as the caller promised.
        Some(device) => unsafe { current_pool(pool, device, pass) },
        None => pass(),
    }
}

/// The same as [`set_pool`], by a place.
///
/// # Safety
/// Pointers are null or good for what the header says.
pub unsafe fn set_pool_at(location: *const Location, kind: c_int, pool: Handle, pass: impl Fn() -> c_int) -> c_int {
    match placed(location, kind) {
        // SAFETY: none is asked for.
        Some(device) => unsafe { set_pool(pool, device, pass) },
        // A pool of weir's is none for that place.
        // SAFETY: none is asked for.
        None => unsafe { pool_lacks(pool, pass) },
    }
}
