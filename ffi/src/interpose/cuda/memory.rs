//! Memory: weir's pools on the vendor's device, and the vendor's own allocations beside them.
//!
//! Where a stream's order is not followed (it is of another context than the device's primary one, it was not seen to
//! begin, no room is left for it, or it is being captured), memory comes from the vendor's own call, outside weir's
//! pools and their limits, and the stream is waited for before a free of a pool's memory.

use super::codes::{CAPTURE_UNSUPPORTED, INVALID_VALUE, OUT_OF_MEMORY, Refusal, guard};
use super::end::is_ending;
use super::pools;
use super::vendor::{self, Cuda};
use crate::calls::Call;
use crate::interpose::front::{Front, Handle};
use crate::interpose::handles::Stream;
use crate::interpose::memory::{self, device_ptr};
use crate::interpose::world::{self, World};
use crate::pool::Pool;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weir::id::StreamId;
use weir::units::Bytes;

/// A stream of which the order can be followed, in the world of its device.
struct Followed {
    world: Call<World>,
    id: StreamId,
}

/// The stream of a handle, unless it is captured or was not seen to begin.
fn known(handle: Handle) -> Option<Arc<Stream>> {
    world::stream(handle).filter(|_| !Cuda.is_captured(handle))
}

fn follow(handle: Handle, stream: &Stream) -> Result<Option<Followed>, Refusal> {
    let world = pools::begin(stream.device)?;
    let id = world.follow(handle, stream).filter(|_| !world.is_suspect());
    Ok(id.map(|id| Followed { world, id }))
}

/// Allocates, and says where.
///
/// # Safety
/// `ptr` is a place for an address.
unsafe fn place(
    ptr: *mut *mut c_void,
    world: &World,
    pool: Pool,
    size: usize,
    stream: StreamId,
) -> Result<(), Refusal> {
    let made = world.runtime.malloc_async(pool.id, Bytes(size as u64), stream)?;
    let address = usize::try_from(made.0).map_err(|_| Refusal(OUT_OF_MEMORY))?;
    // SAFETY: as the caller promised.
    unsafe { ptr.write(core::ptr::with_exposed_provenance_mut(address)) };
    Ok(())
}

/// Memory of the pool that the stream's device allocates from, for what is queued on the stream from now on.
///
/// # Safety
/// `ptr` is null or a place for an address.
pub unsafe fn malloc_async(ptr: *mut *mut c_void, size: usize, handle: Handle, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = None;
    let code = guard(|| {
        pools::going_on()?;
        // What the vendor says of these is what it says.
        let stream = if ptr.is_null() || size == 0 { None } else { known(handle) };
        let followed = stream.map_or(Ok(None), |stream| follow(handle, &stream))?;
        let Some(Followed { world, id }) = followed else {
            answer = Some(allocates_outside(&pass));
            return Ok(());
        };
        match pools::current(&world)? {
            // SAFETY: not null, so a place for an address, as the caller promised.
            Some(pool) => unsafe { place(ptr, &world, pool, size, id) },
            None => {
                answer = Some(pass());
                Ok(())
            }
        }
    });
    answer.unwrap_or(code)
}

fn allocates_outside(pass: impl Fn() -> c_int) -> c_int {
    memory::allocates(|code| code == OUT_OF_MEMORY && !is_ending(), pass)
}

/// Memory of a pool, for what is queued on a stream from now on.
///
/// # Safety
/// `ptr` is null or a place for an address.
pub unsafe fn malloc_from(
    ptr: *mut *mut c_void,
    size: usize,
    pool: Handle,
    handle: Handle,
    pass: impl Fn() -> c_int,
) -> c_int {
    let Some((world, pool)) = pools::find(pool) else { return pools::elsewhere(pool, || allocates_outside(&pass)) };
    let mut answer = None;
    let code = guard(|| {
        pools::going_on()?;
        if ptr.is_null() {
            return Err(Refusal(INVALID_VALUE));
        }
        let stream = if size == 0 { None } else { known(handle) };
        if stream.as_ref().is_some_and(|stream| stream.device != world.device) {
            // The one device's order says nothing of the other's: what nothing uses any more.
            let quiet = world.quiet()?;
            // SAFETY: not null, so a place for an address, as the caller promised.
            return unsafe { place(ptr, &world, pool, size, quiet) };
        }
        match stream.map_or(Ok(None), |stream| follow(handle, &stream))? {
            // SAFETY: as above.
            Some(followed) => unsafe { place(ptr, &followed.world, pool, size, followed.id) },
            None => {
                // The vendor does not know the pool.
                answer = Some(allocates_outside(|| vendor::malloc_async(ptr, size, handle)));
                Ok(())
            }
        }
    });
    answer.unwrap_or(code)
}

/// Memory is nobody's after what is queued on a stream so far.
///
/// # Safety
/// `pass` may be called with `ptr`.
pub unsafe fn free_async(ptr: *mut c_void, handle: Handle, pass: impl Fn() -> c_int) -> c_int {
    let at = device_ptr(ptr);
    let Some((world, _)) = world::pool_at(at) else { return pass() };
    guard(|| {
        if is_ending() {
            return Ok(());
        }
        let stream = world::stream(handle);
        if Cuda.is_captured(handle) {
            return Err(Refusal(CAPTURE_UNSUPPORTED));
        }
        let id = stream.and_then(|stream| world.follow(handle, &stream)).filter(|_| !world.is_suspect());
        match id {
            Some(id) => {
                world.runtime.free_async(at, id)?;
                world.bury();
                Ok(())
            }
            None => Ok(memory::free_apart(&world, at, || vendor::synchronise_stream(handle))?),
        }
    })
}

/// The vendor allocates: where it has nothing, the pools give back what they do not use, and it tries once more.
///
/// # Safety
/// None.
pub unsafe fn allocates(pass: impl Fn() -> c_int) -> c_int {
    allocates_outside(pass)
}

/// The vendor frees; a pool's memory goes back to its pool, once the device is done with it.
///
/// # Safety
/// None.
pub unsafe fn frees(ptr: *mut c_void, pass: impl Fn() -> c_int) -> c_int {
    let at = device_ptr(ptr);
    match world::pool_at(at) {
        Some(_) if is_ending() => 0,
        Some((world, _)) => guard(|| Ok(world.free_after_all(at)?)),
        None => pass(),
    }
}
