//! CANN's calls about streams and events. Safety: handles are only compared; places that the vendor writes to are null
//! or good for that.

use super::vendor::Acl;
use crate::interpose::driver::distrust_waits;
use crate::interpose::front::{Front, Handle};
use crate::interpose::handles::{self, Kind, Uses};
use crate::interpose::order::{self, written};
use crate::interpose::world;
use core::cell::Cell;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU64, Ordering};
use weir::driver::Completion;
use weir::policy::StreamKind;

/// Captures that have begun and not ended.
static CAPTURES: AtomicU64 = AtomicU64::new(0);

pub(super) fn is_capturing() -> bool {
    CAPTURES.load(Ordering::SeqCst) > 0
}

/* Flags of streams that change nothing about their order: fast launch and synchronisation, and larger queues. */
const ORDINARY: u32 = 0x1 | 0x2 | 0x8;

/// A stream begins.
///
/// # Safety
/// `stream` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_stream(stream: *mut Handle, flags: u32, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    let ordinary = flags & !ORDINARY == 0;
    let kind = if ordinary { Kind::Ordinary(StreamKind::NonBlocking) } else { Kind::Special };
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, stream) } {
        order::begun_stream(handle, kind);
    }
    code
}

/// The context's default stream gets a handle.
///
/// # Safety
/// As [`begins_stream`].
pub unsafe fn names_default_stream(stream: *mut Handle, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, stream) } {
        handles::find_or_add_stream(handle, Acl.implied(handle));
    }
    code
}

/// A stream ends when its work is done.
///
/// # Safety
/// None: handles are only compared.
pub unsafe fn ends_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::ends_stream(stream, pass)
}

/// A stream ends, and its work is given up.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn ends_stream_by_force(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let known = world::take_stream(stream);
    gives_up(known.as_ref().map(|known| known.device), || {
        known.iter().for_each(|known| world::retire(known));
        let code = pass();
        if let Some(known) = known.as_ref().filter(|_| code != 0) {
            handles::put_stream(stream, known.clone());
        }
        code
    })
}

/// Work is given up by `work`, on a device or on any: nothing is believed from before it on until the device was
/// synchronised.
fn gives_up(device: Option<u32>, work: impl FnOnce() -> c_int) -> c_int {
    world::note_abort(device);
    let code = work();
    world::note_abort(device);
    code
}

/// A stream gives up its work.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn aborts_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    gives_up(world::stream(stream).map(|known| known.device), pass)
}

/// A device gives up its work.
///
/// # Safety
/// None.
pub unsafe fn aborts_device(device: i32, pass: impl Fn() -> c_int) -> c_int {
    gives_up(u32::try_from(device).ok(), pass)
}

/// Work is given up, and it is not known where.
///
/// # Safety
/// None.
pub unsafe fn aborts_everywhere(pass: impl Fn() -> c_int) -> c_int {
    gives_up(None, pass)
}

/// The flags of an event that was made without any.
pub const PLAIN_EVENT: u32 = SYNC | PROGRESS;
const SYNC: u32 = 0x1;
const PROGRESS: u32 = 0x2;
const EXTERNAL: u32 = 0x20;
const IPC: u32 = 0x40;

/// An event begins.
///
/// # Safety
/// `event` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_event(event: *mut Handle, flags: u32, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    let has = |some: u32| flags & some != 0;
    let uses = Uses { is_local: !has(EXTERNAL | IPC), is_waited_for: has(SYNC), is_asked: has(SYNC | PROGRESS) };
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, event) } {
        order::begun_event(handle, uses);
    }
    code
}

/// An event ends.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn ends_event(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::ends_event(event, pass)
}

/// An event stands for what is queued on a stream.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn records(event: Handle, stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::records(event, stream, pass)
}

/// An event stands for nothing any more, from when a stream has come to that.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn resets(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::resets(event, pass)
}

/// A stream comes after what an event stands for.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn waits(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::waits(stream, event, pass)
}

/// A stream waits for an event, but not for ever.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn waits_for_a_while(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    // Looked at for whether they are known.
    let _ = (world::stream(stream), handles::event(event));
    pass()
}

/// Streams wait for so many seconds at most; 0: for ever. Waits that are queued already may be meant too, so there is
/// no way back.
///
/// # Safety
/// None.
pub unsafe fn limits_waits(timeout: u32, pass: impl Fn() -> c_int) -> c_int {
    if timeout != 0 {
        distrust_waits();
        world::note_abort(None);
    }
    pass()
}

/// Reads an answer that the vendor writes, which is `complete` or something else.
///
/// # Safety
/// `status` is null, or good for reading once the call has succeeded.
unsafe fn reads(status: *const c_uint, complete: c_uint) -> impl Fn(c_int) -> Option<Completion> {
    move |code| {
        // SAFETY: as the caller promised.
        let found = unsafe { written(code, status) };
        let read = if found == Some(complete) { Completion::Complete } else { Completion::Pending };
        (code == 0).then_some(read)
    }
}

/// Asks whether what an event stands for is complete.
///
/// # Safety
/// `status` is null or a place that `pass` writes the answer to.
pub unsafe fn queries_event(event: Handle, status: *mut c_uint, pass: impl Fn() -> c_int) -> c_int {
    /* ACL_EVENT_RECORDED_STATUS_COMPLETE */
    const COMPLETE: c_uint = 1;
    // SAFETY: as the caller promised.
    let reads = unsafe { reads(status, COMPLETE) };
    order::queries_event(event, reads, pass)
}

/// Asks whether all that is queued on a stream is complete.
///
/// # Safety
/// As [`queries_event`].
pub unsafe fn queries_stream(stream: Handle, status: *mut c_uint, pass: impl Fn() -> c_int) -> c_int {
    /* ACL_STREAM_STATUS_COMPLETE */
    const COMPLETE: c_uint = 0;
    let first = Cell::new(None);
    // SAFETY: as the caller promised.
    let reads = unsafe { reads(status, COMPLETE) };
    let code = order::queries_stream(stream, reads, || {
        let code = pass();
        // SAFETY: as the caller promised.
        let found = unsafe { written(code, status) };
        first.set(first.get().or(found));
        code
    });
    if let Some(found) = first.get() {
        // SAFETY: the vendor wrote there, so it is a place for an answer. The first is the one that counts.
        unsafe { status.write(found) };
    }
    code
}

/// The host waits for a stream.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn synchronises_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::synchronises_stream(stream, pass)
}

/// The host waits for what an event stands for.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn synchronises_event(event: Handle, pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    order::synchronises_event(event, pass)
}

/// The host waits for the device of the thread's context.
///
/// # Safety
/// None.
pub unsafe fn synchronises_device(pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    order::synchronises_context(Acl.context(), pass)
}

/// A stream's calls are captured from now on, and those of streams that wait for it.
///
/// # Safety
/// None.
pub unsafe fn begins_capture(pass: impl Fn() -> c_int) -> c_int {
    CAPTURES.fetch_add(1, Ordering::SeqCst);
    let code = pass();
    if code != 0 {
        CAPTURES.fetch_sub(1, Ordering::SeqCst);
    }
    code
}

/// A capture ends.
///
/// # Safety
/// None.
pub unsafe fn ends_capture(pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    if code == 0 {
        // One that began before the library was there does not count.
        let _ = CAPTURES.try_update(Ordering::SeqCst, Ordering::SeqCst, |captures| captures.checked_sub(1));
    }
    code
}

/// Nothing is learnt.
///
/// # Safety
/// None.
pub unsafe fn passes(pass: impl Fn() -> c_int) -> c_int {
    pass()
}
