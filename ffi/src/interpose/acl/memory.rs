//! Memory: the pools on the vendor's device, and the vendor's own allocations beside them.
//!
//! Where a stream's order is not followed (it is of another context than the device's default one, it was not seen to
//! begin, or no room is left for it; or work was given up and the device not synchronised since), memory comes from the
//! vendor's `aclrtMalloc`, outside the pool and its limit, and the stream is waited for before a free of a pool's
//! memory.

use super::vendor::{self, Acl};
use crate::acl::bindings as acl;
use crate::acl::bindings::aclrtMemPoolProps;
use crate::acl::codes::{Code, Refusal, guard};
use crate::acl::handle::{from_raw, to_raw};
use crate::acl::pool;
use crate::calls::Call;
use crate::interpose::front::{Front, Handle};
use crate::interpose::memory::{self, device_ptr};
use crate::interpose::world::{self, World};
use crate::pool::Pool;
use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use weir::id::{DeviceId, StreamId};
use weir::policy::Destroy;
use weir::units::Bytes;

/// `ACL_MEM_MALLOC_HUGE_FIRST`.
const HUGE_FIRST: c_uint = 0;
/// Codes by which the vendor says that there is no memory.
const NO_MEMORY: [c_int; 3] = [200_000, acl::ACL_ERROR_RT_MEMORY_ALLOCATION.cast_signed(), 207_005];

/// A pool that the program named. What is no pool has another code in each function.
fn find(pool: Handle, unknown: impl Code + Copy) -> Result<(Call<World>, Pool), Refusal> {
    if pool.is_null() {
        return Err(Refusal::null("memPool"));
    }
    let handle = from_raw(pool);
    let gone = || Refusal::handle(unknown, "pool", handle);
    world::pool(handle).ok_or_else(gone)
}

/// A call's vendor's code as a refusal.
fn refused(code: c_int, text: &str) -> Result<(), Refusal> {
    if code == 0 { Ok(()) } else { Err(Refusal::new(code, text)) }
}

/// See `acl/acl_rt_memory_soma.h`, as for all of these.
///
/// # Safety
/// Pointers are null or good for what the header says.
pub unsafe fn pool_create(memory: *mut Handle, props: *const aclrtMemPoolProps, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        for (null, name) in [(memory.is_null(), "memPool"), (props.is_null(), "poolProps")] {
            if null {
                return Err(Refusal::null(name));
            }
        }
        // SAFETY: non-null, so a struct, as the caller promised.
        let props = unsafe { props.read() };
        pool::check(&props)?;
        needs_context()?;
        let device = props.location.id;
        let mut devices = 0;
        refused(vendor::count_devices(&mut devices), "the devices cannot be counted")?;
        if device >= devices {
            let text = format!("there is no device {device}: devices are counted from 0, and there are {devices}");
            return Err(Refusal::new(acl::ACL_ERROR_RT_INVALID_DEVICEID, text));
        }
        let world = world::begin(device)?;
        let made = pool::create(&world.runtime, DeviceId(device), Bytes(props.maxSize as u64))?;
        // SAFETY: non-null, so a place for a handle, as the caller promised.
        unsafe { memory.write(to_raw(world.pools.add(made))) };
        Ok(())
    })
}

/// A pool ends; what is still allocated of it stays until the work that is queued is done.
///
/// # Safety
/// None.
pub unsafe fn pool_destroy(memory: Handle, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        let (world, pool) = find(memory, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        let used = world.runtime.stats(pool.id)?.used;
        // Streams that weir cannot follow (of other contexts, special ones, the default one, ones that it never saw) may use
        // what is still allocated.
        if used > Bytes::ZERO {
            world.runtime.synchronize_device(pool.device)?;
        }
        world.runtime.destroy_pool(pool.id, Destroy::WithLiveBlocks)?;
        world.pools.take(from_raw(memory));
        Ok(())
    })
}

/// An attribute is set.
///
/// # Safety
/// `value` is null or a number of the attribute's type.
pub unsafe fn pool_set(memory: Handle, attr: c_uint, value: *mut c_void, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        let (world, pool) = find(memory, acl::ACL_ERROR_RT_PARAM_INVALID)?;
        // SAFETY: as the caller promised.
        unsafe { pool::set(&world.runtime, pool, attr, value) }
    })
}

/// An attribute is read.
///
/// # Safety
/// `value` is null or a place for a number of the attribute's type.
pub unsafe fn pool_get(memory: Handle, attr: c_uint, value: *mut c_void, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        let (world, pool) = find(memory, acl::ACL_ERROR_RT_PARAM_INVALID)?;
        // SAFETY: as the caller promised.
        unsafe { pool::get(&world.runtime, pool, attr, value) }
    })
}

/// What is not in use goes back.
///
/// # Safety
/// None.
pub unsafe fn pool_trim(memory: Handle, keep: usize, _: impl Fn() -> c_int) -> c_int {
    guard(|| {
        let (world, pool) = find(memory, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        pool::trim(&world.runtime, pool, Bytes(keep as u64))
    })
}

/// The thread must have a context.
fn needs_context() -> Result<(), Refusal> {
    if Acl.context() != 0 {
        return Ok(());
    }
    let text = "the thread has no current context: call aclrtSetDevice or aclrtCreateContext";
    Err(Refusal::new(acl::ACL_ERROR_RT_CONTEXT_NULL, text))
}

/// What the runtime calls a stream that allocates or frees; `None`: its order is not followed.
fn stream(world: &World, handle: Handle) -> Result<Option<StreamId>, Refusal> {
    needs_context()?;
    let Some(known) = world::stream(handle) else {
        // Others make streams too; but what is none at all is refused.
        let mut status = 0;
        let text = format!("{:#x} is no stream: it was destroyed, or never created", handle.addr());
        refused(vendor::query_stream(handle, &mut status), &text)?;
        return Ok(None);
    };
    if known.context != Acl.context() {
        let text = format!("stream {:#x} belongs to another context than the current one", handle.addr());
        return Err(Refusal::new(acl::ACL_ERROR_RT_STREAM_CONTEXT, text));
    }
    if Acl.is_captured(handle) {
        let text = format!("stream {:#x} is being captured: allocate and free outside captures", handle.addr());
        return Err(Refusal::new(acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text));
    }
    Ok(if world.is_suspect() { None } else { world.follow(handle, &known) })
}

/// Memory for what is queued on a stream from now on.
///
/// # Safety
/// `ptr` is null or a place for an address.
pub unsafe fn pool_malloc(
    ptr: *mut *mut c_void,
    size: usize,
    memory: Handle,
    handle: Handle,
    _: impl Fn() -> c_int,
) -> c_int {
    guard(|| {
        for (null, name) in [(ptr.is_null(), "ptr"), (memory.is_null(), "memPool"), (handle.is_null(), "stream")] {
            if null {
                return Err(Refusal::null(name));
            }
        }
        if size == 0 {
            return Ok(());
        }
        let (world, pool) = find(memory, acl::ACL_ERROR_RT_INTERNAL_ERROR)?;
        let made = match stream(&world, handle)? {
            Some(stream) => pool::malloc(&world.runtime, pool, size, stream)?,
            None => outside(size)?,
        };
        // SAFETY: non-null, so a place for an address, as the caller promised.
        unsafe { ptr.write(made) };
        Ok(())
    })
}

/// Memory of the vendor's.
fn outside(size: usize) -> Result<*mut c_void, Refusal> {
    let made = Cell::new(core::ptr::null_mut());
    let code = memory::allocates(
        |code| NO_MEMORY.contains(&code),
        || {
            let mut place = core::ptr::null_mut();
            let code = vendor::malloc(&mut place, size, HUGE_FIRST);
            made.set(place);
            code
        },
    );
    refused(code, "the stream's order cannot be followed, and aclrtMalloc has nothing for it either")?;
    Ok(made.get())
}

/// Memory is nobody's after what is queued on a stream so far.
///
/// # Safety
/// `pass` may be called with `ptr`.
pub unsafe fn pool_free(ptr: *mut c_void, handle: Handle, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = 0;
    let code = guard(|| {
        if ptr.is_null() {
            return Err(Refusal::null("ptr"));
        }
        if handle.is_null() {
            let text = "`stream` is null: the default stream cannot free";
            return Err(Refusal::new(acl::ACL_ERROR_RT_INTERNAL_ERROR, text));
        }
        let at = device_ptr(ptr);
        let Some((world, _)) = world::pool_at(at) else {
            answer = free_outside(ptr, handle, &pass);
            return Ok(());
        };
        match stream(&world, handle)? {
            Some(stream) => Ok(world.runtime.free_async(at, stream)?),
            None => Ok(memory::free_apart(&world, at, || vendor::synchronise_stream(handle))?),
        }
    });
    if code == 0 { answer } else { code }
}

/// Frees what is in no pool: by the vendor's call where there is one, else once the stream is done, and the thread's device
/// too: after an abort the one says nothing about streams that it waited for.
fn free_outside(ptr: *mut c_void, stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if code != acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT.cast_signed() {
        return code;
    }
    match vendor::synchronise_stream(stream) {
        0 => match vendor::synchronise_device() {
            0 => vendor::free(ptr),
            code => code,
        },
        code => code,
    }
}

/// The vendor allocates: where it has nothing, the pools give back what they do not use, and it tries once more.
///
/// # Safety
/// None.
pub unsafe fn allocates(pass: impl Fn() -> c_int) -> c_int {
    memory::allocates(|code| NO_MEMORY.contains(&code), pass)
}

/// The vendor frees; a pool's memory goes back to its pool, once the device is done with it.
///
/// # Safety
/// None.
pub unsafe fn frees(ptr: *mut c_void, pass: impl Fn() -> c_int) -> c_int {
    match world::pool_at(device_ptr(ptr)) {
        Some((world, _)) => guard(|| Ok(world.free_after_all(device_ptr(ptr))?)),
        None => pass(),
    }
}
