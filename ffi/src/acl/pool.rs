//! Memory pools.

use super::bindings as acl;
use super::bindings::{aclrtMemPool, aclrtMemPoolAttr, aclrtMemPoolProps, aclrtStream};
use super::codes::{Code, Refusal};
use super::handle::{from_raw, to_raw};
use super::state::{World, call};
use crate::log_sink::LogSink;
use crate::owned::Owned;
use crate::pool::Pool;
use core::ffi::c_void;
use weir::driver::Driver;
use weir::error::PoolError;
use weir::id::{DeviceId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Release, Reuse, Tuning};
use weir::units::{Bytes, DevicePtr};

/// A pool that the program named. What is no pool has another code in each function.
fn find(world: &World, pool: aclrtMemPool, unknown: impl Code) -> Result<Pool, Refusal> {
    if pool.is_null() {
        return Err(Refusal::null("memPool"));
    }
    let handle = from_raw(pool);
    world.pools.get(handle).ok_or_else(|| Refusal::handle(unknown, "pool", handle))
}

/// How CANN's pools are made: no switch is on, a wait comes before new memory, and every synchronisation releases.
fn config(device: DeviceId, limit: Bytes) -> PoolConfig {
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    PoolConfig { limit, reuse: Reuse::empty(), preference: Preference::WaitFirst, tuning, ..PoolConfig::new(device) }
}

/// Looks at the fields that have but one good value.
pub(crate) fn check(props: &aclrtMemPoolProps) -> Result<(), Refusal> {
    let bad = |text: String| Err(Refusal::new(acl::ACL_ERROR_INVALID_PARAM, text));
    if props.allocType != acl::aclrtMemAllocationType::ACL_MEM_ALLOCATION_TYPE_PINNED {
        return bad(format!("`allocType` is {}, expected ACL_MEM_ALLOCATION_TYPE_PINNED (0)", props.allocType));
    }
    if props.handleType != acl::aclrtMemHandleType::ACL_MEM_HANDLE_TYPE_NONE {
        let found = props.handleType;
        return bad(format!("`handleType` is {found}, expected ACL_MEM_HANDLE_TYPE_NONE (0): pools are not shared"));
    }
    let kind = props.location.type_;
    if kind != acl::aclrtMemLocationType::ACL_MEM_LOCATION_TYPE_DEVICE {
        return bad(format!("`location.type` is {kind}, expected ACL_MEM_LOCATION_TYPE_DEVICE (1)"));
    }
    if let Some(place) = props.reserved.iter().position(|byte| *byte != 0) {
        return bad(format!("`reserved[{place}]` is {}, expected 0", props.reserved[place]));
    }
    Ok(())
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolCreate(
    memPool: *mut aclrtMemPool,
    poolProps: *const aclrtMemPoolProps,
) -> acl::aclError {
    call(|world| {
        for (null, name) in [(memPool.is_null(), "memPool"), (poolProps.is_null(), "poolProps")] {
            if null {
                return Err(Refusal::null(name));
            }
        }
        // SAFETY: non-null, so a struct, as the header asks.
        let props = unsafe { poolProps.read() };
        check(&props)?;
        let (device, guard) = world.device(i64::from(props.location.id))?;
        drop(guard);
        world.context()?;
        let pool = create(&world.runtime, device, Bytes(props.maxSize as u64))?;
        // SAFETY: non-null, so a place for a handle, as the header asks.
        unsafe { memPool.write(to_raw(world.pools.add(pool))) };
        Ok(())
    })
}

/// Makes a pool of a runtime, whatever its device is.
pub(crate) fn create<D: Driver>(runtime: &Owned<D, LogSink>, device: DeviceId, most: Bytes) -> Result<Pool, Refusal> {
    Ok(Pool::create(runtime, config(device, most))?)
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolDestroy(memPool: aclrtMemPool) -> acl::aclError {
    call(|world| {
        let pool = find(world, memPool, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        world.runtime.destroy_pool(pool.id, Destroy::WithLiveBlocks)?;
        world.pools.take(from_raw(memPool));
        Ok(())
    })
}

/// The attribute of a number, the value being where the program says.
fn attribute(attr: aclrtMemPoolAttr::Type, value: *mut c_void) -> Result<Attribute, Refusal> {
    if value.is_null() {
        return Err(Refusal::argument("`value` is null"));
    }
    let bad = || Refusal::argument(format!("`attr` is {attr}, expected 1 to 8"));
    Attribute::from_number(attr).ok_or_else(bad)
}

/// A stale pool in the functions about attributes.
fn stale(error: PoolError) -> Refusal {
    let refusal = Refusal::from(error);
    match error {
        PoolError::BadId(_) => Refusal::argument(refusal.text),
        _ => refusal,
    }
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolSetAttr(
    memPool: aclrtMemPool,
    attr: aclrtMemPoolAttr::Type,
    value: *mut c_void,
) -> acl::aclError {
    call(|world| {
        let pool = find(world, memPool, acl::ACL_ERROR_RT_PARAM_INVALID)?;
        // SAFETY: the header asks for a number of the attribute's type, or null.
        unsafe { set(&world.runtime, pool, attr, value) }
    })
}

/// Sets an attribute of a pool of any runtime.
///
/// # Safety
/// `value` is null, or a number of the attribute's type.
pub(crate) unsafe fn set<D: Driver>(
    runtime: &Owned<D, LogSink>,
    pool: Pool,
    attr: aclrtMemPoolAttr::Type,
    value: *mut c_void,
) -> Result<(), Refusal> {
    let attribute = attribute(attr, value)?;
    // SAFETY: not null, and as the caller promised.
    unsafe { pool.set(runtime, attribute, value) }.map_err(stale)
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolGetAttr(
    memPool: aclrtMemPool,
    attr: aclrtMemPoolAttr::Type,
    value: *mut c_void,
) -> acl::aclError {
    call(|world| {
        let pool = find(world, memPool, acl::ACL_ERROR_RT_PARAM_INVALID)?;
        // SAFETY: the header asks for a place for a number of the attribute's type, or null.
        unsafe { get(&world.runtime, pool, attr, value) }
    })
}

/// Reads an attribute of a pool of any runtime.
///
/// # Safety
/// `value` is null, or a place for a number of the attribute's type.
pub(crate) unsafe fn get<D: Driver>(
    runtime: &Owned<D, LogSink>,
    pool: Pool,
    attr: aclrtMemPoolAttr::Type,
    value: *mut c_void,
) -> Result<(), Refusal> {
    let attribute = attribute(attr, value)?;
    // SAFETY: not null, and as the caller promised.
    unsafe { pool.get(runtime, attribute, value) }.map_err(stale)
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolMallocAsync(
    ptr: *mut *mut c_void,
    size: usize,
    memPool: aclrtMemPool,
    stream: aclrtStream,
) -> acl::aclError {
    call(|world| {
        for (null, name) in [(ptr.is_null(), "ptr"), (memPool.is_null(), "memPool"), (stream.is_null(), "stream")] {
            if null {
                return Err(Refusal::null(name));
            }
        }
        if size == 0 {
            return Ok(());
        }
        let stream = world.stream(stream)?;
        let pool = find(world, memPool, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        let made = malloc(&world.runtime, pool, size, stream.id)?;
        // SAFETY: non-null, so a place for an address, as the header asks.
        unsafe { ptr.write(made) };
        Ok(())
    })
}

/// Allocates from a pool of any runtime.
pub(crate) fn malloc<D: Driver>(
    runtime: &Owned<D, LogSink>,
    pool: Pool,
    size: usize,
    stream: StreamId,
) -> Result<*mut c_void, Refusal> {
    if Bytes(size as u64).round_up(pool.granule).is_none() {
        return Err(Refusal::argument(format!("{size} bytes, rounded up to whole granules, do not fit in 64 bits")));
    }
    let made = runtime.malloc_async(pool.id, Bytes(size as u64), stream)?;
    let address = usize::try_from(made.0).map_err(|_| Refusal::argument("the address has no place in a pointer"))?;
    Ok(core::ptr::with_exposed_provenance_mut(address))
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolFreeAsync(ptr: *mut c_void, stream: aclrtStream) -> acl::aclError {
    call(|world| {
        if ptr.is_null() {
            return Err(Refusal::null("ptr"));
        }
        if stream.is_null() {
            return Err(Refusal::new(
                acl::ACL_ERROR_RT_INTERNAL_ERROR,
                "`stream` is null: the default stream cannot free",
            ));
        }
        let stream = world.stream(stream)?;
        Ok(world.runtime.free_async(DevicePtr(ptr.addr() as u64), stream.id)?)
    })
}

/// See `acl/acl_rt_memory_soma.h`.
pub unsafe extern "C" fn aclrtMemPoolTrimTo(memPool: aclrtMemPool, minBytesToKeep: usize) -> acl::aclError {
    call(|world| {
        let pool = find(world, memPool, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        trim(&world.runtime, pool, Bytes(minBytesToKeep as u64))
    })
}

/// Trims a pool of any runtime.
pub(crate) fn trim<D: Driver>(runtime: &Owned<D, LogSink>, pool: Pool, keep: Bytes) -> Result<(), Refusal> {
    if keep > pool.size {
        let text = format!("{keep} to keep, but the pool's size is {}", pool.size);
        return Err(Refusal::new(acl::ACL_ERROR_RT_INTERNAL_ERROR, text));
    }
    runtime.trim_to(pool.id, keep)?;
    Ok(())
}
