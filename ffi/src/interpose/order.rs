//! Streams and events: each call is passed on, and the runtime is told what it teaches. Facts are taken before the
//! vendor's call and published once it has succeeded; a call that fails, or that weir cannot follow, teaches nothing.

use super::driver::{Synchronisation, distrust_waits, synchronise_by, waits_are_believed};
use super::handles::{self, Kind};
use super::vendor::{self, Handle};
use super::world::{self, World};
use crate::calls::Call;
use core::cell::Cell;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU64, Ordering};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use weir::driver::Completion;
use weir::error::OrderError;
use weir::id::StreamId;

/// The vendor's call failed, or the runtime could not begin.
struct Untold;

impl From<OrderError> for Untold {
    fn from(_: OrderError) -> Self {
        Self
    }
}

/// Captures that have begun and not ended.
static CAPTURES: AtomicU64 = AtomicU64::new(0);

pub(super) fn is_capturing() -> bool {
    CAPTURES.load(Ordering::SeqCst) > 0
}

/// The world, where what events say in the thread's context is to be believed.
fn believing() -> Option<Call<World>> {
    let world = world::current()?;
    (!is_capturing() && !handles::is_distrusted(handles::context()) && !world.is_suspect()).then_some(world)
}

/// A stream whose order is followed, in a world that is not suspect.
fn followed(stream: Handle) -> Option<(Call<World>, StreamId)> {
    let known = handles::stream(stream)?;
    let world = world::current().filter(|world| !world.is_suspect())?;
    let id = world.follow(stream, &known)?;
    Some((world, id))
}

/// Passes a call on unless it has been.
fn once(answer: Option<c_int>, pass: impl Fn() -> c_int) -> c_int {
    answer.unwrap_or_else(pass)
}

fn outcome(code: c_int) -> Result<(), Untold> {
    if code == 0 { Ok(()) } else { Err(Untold) }
}

/// The same for what tells of completion: it counts for nothing where work was given up meanwhile.
fn completed(world: &World, code: c_int) -> Result<(), Untold> {
    if world.is_suspect() { Err(Untold) } else { outcome(code) }
}

/// What the vendor wrote, if it did.
///
/// # Safety
/// Null, or good for reading.
unsafe fn written<T: Copy>(code: c_int, place: *const T) -> Option<T> {
    // SAFETY: non-null, and the call has succeeded, so the vendor wrote it.
    (code == 0 && !place.is_null()).then(|| unsafe { place.read() })
}

/* Flags of streams that change nothing about their order: fast launch and synchronisation, and larger queues. */
const ORDINARY: u32 = 0x1 | 0x2 | 0x8;

/// A stream begins.
///
/// # Safety
/// `stream` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_stream(stream: *mut Handle, flags: u32, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    let kind = if flags & !ORDINARY == 0 { Kind::Ordinary } else { Kind::Special };
    // SAFETY: as the caller promised.
    let Some(handle) = (unsafe { written(code, stream) }) else { return code };
    let old = handles::add_stream(handle, kind);
    if let (Some(old), Some(world)) = (old, world::current()) {
        world.note_abort(Some(old.device));
        world.retire(&old);
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
        handles::find_or_add_stream(handle);
    }
    code
}

/// A stream ends when its work is done.
///
/// # Safety
/// None: handles are only compared.
pub unsafe fn ends_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(known) = handles::take_stream(stream) else { return pass() };
    if let Some(world) = world::current() {
        world.retire(&known);
    }
    let code = pass();
    if code != 0 {
        handles::put_stream(stream, known);
    }
    code
}

/// A stream ends, and its work is given up.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn ends_stream_by_force(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let known = handles::take_stream(stream);
    let device = known.as_ref().map(|known| known.device);
    gives_up(device, || {
        if let (Some(known), Some(world)) = (&known, world::current()) {
            world.retire(known);
        }
        let code = pass();
        if let Some(known) = known.filter(|_| code != 0) {
            handles::put_stream(stream, known);
        }
        code
    })
}

/// Work is given up by `work`, on a device or on any: nothing is believed from before it on until the device was
/// synchronised.
fn gives_up(device: Option<u32>, work: impl FnOnce() -> c_int) -> c_int {
    let note = || {
        if let Some(world) = world::current() {
            world.note_abort(device);
        }
    };
    note();
    let code = work();
    note();
    code
}

/// A stream gives up its work.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn aborts_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    gives_up(handles::stream(stream).map(|known| known.device), pass)
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

/// An event begins.
///
/// # Safety
/// `event` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_event(event: *mut Handle, flags: u32, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    // SAFETY: as the caller promised.
    let Some(handle) = (unsafe { written(code, event) }) else { return code };
    let old = handles::add_event(handle, flags);
    if let (Some(old), Some(world)) = (old, world::current()) {
        world.retire_event(&old);
    }
    code
}

/// An event ends.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn ends_event(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(known) = handles::take_event(event) else { return pass() };
    let turn = known.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let code = pass();
    drop(turn);
    match (code, world::current()) {
        (0, Some(world)) => world.retire_event(&known),
        (0, None) => {}
        _ => handles::put_event(event, known),
    }
    code
}

/// An event stands for what is queued on a stream.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn records(event: Handle, stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let known = handles::stream(stream);
    let Some(event) = handles::event(event) else { return pass() };
    let _turn = event.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer = None;
    if let (Some(world), Some(known)) = (believing().filter(|_| event.is_local()), known)
        && let (Some(stream), Some(id)) = (world.follow(stream, &known), world.name_event(&event))
    {
        let told = world.runtime.record_with(id, stream, || {
            let code = pass();
            answer = Some(code);
            outcome(code)
        });
        let _: Result<(), Untold> = told;
    }
    if answer.is_none() {
        forget(&event);
    }
    once(answer, pass)
}

fn forget(event: &Arc<handles::Event>) {
    if let Some(world) = world::current() {
        world.forget(event);
    }
}

/// An event stands for nothing any more, from when a stream has come to that.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn resets(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(event) = handles::event(event) else { return pass() };
    let _turn = event.turn.lock().unwrap_or_else(PoisonError::into_inner);
    forget(&event);
    pass()
}

/// A stream comes after what an event stands for.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn waits(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let (known, event) = (handles::stream(stream), handles::event(event));
    let mut answer = None;
    if let (Some(known), Some(event)) = (known, event.filter(|event| event.is_waited_for()))
        && let Some(world) = believing().filter(|_| waits_are_believed())
        && let (Some(id), Some(stream)) = (world.event(&event), world.follow(stream, &known))
    {
        let told = world.runtime.wait_with(stream, id, |_| {
            let code = pass();
            answer = Some(code);
            outcome(code)
        });
        let _: Result<(), Untold> = told;
    }
    once(answer, pass)
}

/// A stream waits for an event, but not for ever.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn waits_for_a_while(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    handles::stream(stream);
    handles::event(event);
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
        if let Some(world) = world::current() {
            world.note_abort(None);
        }
    }
    pass()
}

/// Asks whether what an event stands for is complete.
///
/// # Safety
/// `status` is null or a place that `pass` writes the answer to.
pub unsafe fn queries_event(event: Handle, status: *mut c_uint, pass: impl Fn() -> c_int) -> c_int {
    /* ACL_EVENT_RECORDED_STATUS_COMPLETE */
    const COMPLETE: c_uint = 1;
    let mut answer = None;
    if let Some(event) = handles::event(event).filter(|event| event.is_asked())
        && let Some(world) = believing()
        && let Some(id) = world.event(&event)
    {
        let told = world.runtime.query_with(id, |_| {
            let code = pass();
            answer = Some(code);
            // SAFETY: as the caller promised.
            let complete = unsafe { written(code, status) } == Some(COMPLETE);
            completed(&world, code).map(|()| if complete { Completion::Complete } else { Completion::Pending })
        });
        let _: Result<_, Untold> = told;
    }
    once(answer, pass)
}

/// Asks whether all that is queued on a stream is complete. Where it is, an event of weir's own stands for it, and the
/// vendor is asked again, since what was known must be noted before the question. That may put a marker behind the
/// stream's work: then it is the next question that teaches.
///
/// # Safety
/// As [`queries_event`].
pub unsafe fn queries_stream(stream: Handle, status: *mut c_uint, pass: impl Fn() -> c_int) -> c_int {
    /* ACL_STREAM_STATUS_COMPLETE */
    const COMPLETE: c_uint = 0;
    let code = pass();
    // SAFETY: as the caller promised.
    let complete = unsafe { written(code, status) } == Some(COMPLETE);
    if complete
        && let Some((world, id)) = followed(stream)
        && let Ok(event) = world.runtime.create_event()
    {
        let told: Result<_, Untold> = world.runtime.record_with(event, id, || Ok(())).and_then(|()| {
            world.runtime.query_with(event, |_| {
                let mut status = 1;
                completed(&world, vendor::query_stream(stream, &mut status))?;
                Ok(if status == COMPLETE { Completion::Complete } else { Completion::Pending })
            })
        });
        let _ = (told, world.runtime.destroy_event(event));
    }
    code
}

/// The host waits for a stream.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn synchronises_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = None;
    if let Some((world, id)) = followed(stream) {
        let told = world.runtime.synchronize_stream_with(id, || {
            let code = pass();
            answer = Some(code);
            completed(&world, code)
        });
        let _: Result<(), Untold> = told;
    }
    once(answer, pass)
}

/// What the runtime is told of a call that tells of nothing.
const NOT_COUNTED: c_int = -1;

/// A call that can be made elsewhere, and what it answered. `counts` says afterwards whether it tells of anything.
fn kept(
    pass: impl Fn() -> c_int + 'static,
    counts: impl FnOnce() -> bool + 'static,
) -> (Rc<Cell<Option<c_int>>>, Synchronisation) {
    let answer = Rc::new(Cell::new(None));
    let place = Rc::clone(&answer);
    let call = move || {
        let code = pass();
        place.set(Some(code));
        if counts() { code } else { NOT_COUNTED }
    };
    (answer, Box::new(call))
}

/// The host waits for what an event stands for.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn synchronises_event(event: Handle, pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    let mut code = None;
    if let Some(event) = handles::event(event).filter(|event| event.is_asked())
        && let Some(world) = believing()
        && let Some(id) = world.event(&event)
    {
        let (answer, call) = kept(pass, || world::current().is_some_and(|world| !world.is_suspect()));
        // What it says is the vendor's, or of no concern to the program.
        let _ = synchronise_by(call, || world.runtime.synchronize_event(id));
        code = answer.get();
    }
    once(code, pass)
}

/// The host waits for the device of the thread's context.
///
/// # Safety
/// None.
pub unsafe fn synchronises_device(pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    let mut code = None;
    // In other contexts it is not certain what the vendor waits for.
    if let Some(world) = world::current()
        && let Some(device) = world.device_of(handles::context())
    {
        let aborts = world.aborts(device);
        let (answer, call) = kept(pass, || true);
        let _ = synchronise_by(call, || world.runtime.synchronize_device(weir::id::DeviceId(device)));
        code = answer.get();
        if code == Some(0) {
            world.note_finished(device, aborts);
        }
    }
    once(code, pass)
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

/// Whether a stream's calls are being captured, as far as the vendor says.
pub(super) fn is_captured(stream: Handle) -> bool {
    let (mut status, mut model) = (0, core::ptr::null_mut());
    is_capturing() && (vendor::capture(stream, &mut status, &mut model) != 0 || status != 0)
}

/// Nothing is learnt.
///
/// # Safety
/// None.
pub unsafe fn passes(pass: impl Fn() -> c_int) -> c_int {
    pass()
}
