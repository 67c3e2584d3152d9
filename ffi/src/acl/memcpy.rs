//! Copies between the program's memory and the device's.

use super::bindings as acl;
use super::bindings::{aclrtMemcpyKind as kinds, aclrtStream};
use super::codes::Refusal;
use super::state::{World, call};
use core::ffi::c_void;
use std::sync::mpsc::{Receiver, channel};
use weir::driver::NativeStream;
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// A copy whose arguments were looked at.
struct Copy {
    to: *mut u8,
    from: *const u8,
    count: usize,
    direction: Direction,
}

impl World {
    /// Whether a run of addresses is the device's, and wholly so.
    pub(super) fn on_device(&self, at: u64, bytes: u64, name: &str) -> Result<bool, Refusal> {
        let inside = |base: u64, range: Bytes| at.checked_sub(base).filter(|offset| *offset < range.0);
        let pools = self.pools.read();
        let found = pools.values().find_map(|pool| Some((inside(pool.base, pool.range)?, pool)));
        match found {
            None => Ok(false),
            Some((offset, pool)) if bytes <= pool.range.0.saturating_sub(offset) => Ok(true),
            Some((_, pool)) => {
                let end = pool.base.saturating_add(pool.range.0);
                let text = format!("{bytes} bytes from `{name}` ({at:#x}) go beyond the end of their pool ({end:#x})");
                Err(Refusal::argument(text))
            }
        }
    }

    fn direction(&self, to: *mut u8, from: *const u8, count: usize) -> Result<Direction, Refusal> {
        let to = self.on_device(to.addr() as u64, count as u64, "dst")?;
        let from = self.on_device(from.addr() as u64, count as u64, "src")?;
        Ok(match (from, to) {
            (false, false) => Direction::HostToHost,
            (false, true) => Direction::HostToDevice,
            (true, false) => Direction::DeviceToHost,
            (true, true) => Direction::DeviceToDevice,
        })
    }

    /// Looks at the arguments that both functions have. `None`: there is nothing to copy.
    fn copy(&self, dst: *mut c_void, max: usize, src: *const c_void, count: usize) -> Result<Option<Copy>, Refusal> {
        for (pointer, name) in [(dst.cast_const(), "dst"), (src, "src")] {
            if pointer.is_null() {
                return Err(Refusal::null(name));
            }
        }
        if count > max || isize::try_from(count).is_err() {
            let text = format!("`count` is {count}, more than `destMax` ({max}) or than any memory has");
            return Err(Refusal::argument(text));
        }
        let (to, from) = (dst.cast::<u8>(), src.cast::<u8>());
        if count == 0 {
            return Ok(None);
        }
        let direction = self.direction(to, from, count)?;
        if direction == Direction::DeviceToDevice && to.addr().abs_diff(from.addr()) < count {
            return Err(Refusal::argument("`dst` and `src` overlap"));
        }
        Ok(Some(Copy { to, from, count, direction }))
    }

    /// Waits for what a stream was given last; after a fault of the device it never comes.
    fn receive<T>(&self, device: DeviceId, from: &Receiver<T>) -> Result<T, Refusal> {
        from.recv().map_err(|_| self.fault(device))
    }

    /// Waits until the stream has come this far.
    fn reach(&self, device: DeviceId, stream: NativeStream) -> Result<(), Refusal> {
        let (tell, told) = channel();
        self.host().launch_with(stream, move |_| {
            // The other side waits until it comes.
            let _ = tell.send(());
        })?;
        self.receive(device, &told)
    }

    /// Copies in the order of a stream. The program's memory is free to use again when it returns.
    ///
    /// # Safety
    /// The addresses that are not the device's are good for `count` bytes, as the program promised.
    unsafe fn run(&self, device: DeviceId, stream: NativeStream, copy: &Copy) -> Result<(), Refusal> {
        let Copy { to, from, count, direction } = *copy;
        let bytes = Bytes(count as u64);
        let (at_to, at_from) = (DevicePtr(to.addr() as u64), DevicePtr(from.addr() as u64));
        match direction {
            // SAFETY: as the caller promised.
            Direction::HostToHost => unsafe { from.copy_to(to, count) },
            Direction::HostToDevice => {
                // SAFETY: as the caller promised.
                let taken = unsafe { core::slice::from_raw_parts(from, count) }.to_vec();
                self.host().copy_to_device(stream, at_to, taken)?;
            }
            Direction::DeviceToDevice => self.host().copy(stream, at_to, at_from, bytes)?,
            Direction::DeviceToHost => {
                let (give, given) = channel();
                self.host().copy_to_host(stream, at_from, bytes, move |bytes| {
                    // The other side waits until they come.
                    let _ = give.send(bytes.to_vec());
                })?;
                let found = self.receive(device, &given)?;
                // SAFETY: `found` has `count` bytes, and as the caller promised.
                unsafe { to.copy_from_nonoverlapping(found.as_ptr(), found.len()) };
            }
        }
        Ok(())
    }
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtMemcpy(
    dst: *mut c_void,
    destMax: usize,
    src: *const c_void,
    count: usize,
    _kind: kinds::Type,
) -> acl::aclError {
    call(|world| {
        let copy = world.copy(dst, destMax, src, count)?;
        let (_, context) = world.context()?;
        let Some(copy) = copy else { return Ok(()) };
        let stream = world.copies(context.device)?;
        // SAFETY: the addresses are good for `count` bytes, as the header asks.
        unsafe { world.run(context.device, stream, &copy) }?;
        world.reach(context.device, stream)
    })
}

/// The direction that a kind names; `None` leaves it to the addresses.
fn named(kind: kinds::Type) -> Result<Option<Direction>, Refusal> {
    match kind {
        kinds::ACL_MEMCPY_HOST_TO_HOST => {
            let text = "a copy from host to host has no stream: use aclrtMemcpy, or memcpy";
            Err(Refusal::new(acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text))
        }
        kinds::ACL_MEMCPY_HOST_TO_DEVICE | kinds::ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE => Ok(Some(Direction::HostToDevice)),
        kinds::ACL_MEMCPY_DEVICE_TO_HOST => Ok(Some(Direction::DeviceToHost)),
        kinds::ACL_MEMCPY_DEVICE_TO_DEVICE | kinds::ACL_MEMCPY_INNER_DEVICE_TO_DEVICE => {
            Ok(Some(Direction::DeviceToDevice))
        }
        kinds::ACL_MEMCPY_DEFAULT => Ok(None),
        _ => Err(Refusal::argument(format!("`kind` is {kind}, which is not supported here"))),
    }
}

/// See `acl/acl_rt.h`.
pub unsafe extern "C" fn aclrtMemcpyAsync(
    dst: *mut c_void,
    destMax: usize,
    src: *const c_void,
    count: usize,
    kind: kinds::Type,
    stream: aclrtStream,
) -> acl::aclError {
    call(|world| {
        let copy = world.copy(dst, destMax, src, count)?;
        let named = named(kind)?;
        let stream = world.stream_or_default(stream)?;
        let Some(copy) = copy else { return Ok(()) };
        let found = copy.direction;
        if let Some(named) = named.filter(|named| *named != found) {
            let text = format!("`kind` says {named:?}, but `dst` and `src` are {found:?}");
            return Err(Refusal::argument(text));
        }
        if found == Direction::HostToHost {
            return Err(Refusal::argument("neither `dst` nor `src` is in a memory pool"));
        }
        let (_, context) = world.context()?;
        // SAFETY: the addresses are good for `count` bytes, as the header asks.
        unsafe { world.run(context.device, stream.native, &copy) }
    })
}
