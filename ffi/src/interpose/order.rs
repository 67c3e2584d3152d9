//! Streams and events: each call is passed on, and the runtime is told what it teaches. Facts are taken before the
//! vendor's call and published once it has succeeded; a call that fails, or that weir cannot follow, teaches nothing.
//!
//! `pass` makes the program's call; each function makes it once, but for [`queries_stream`].

use super::driver::{Synchronisation, synchronise_by, waits_are_believed};
use super::front::{Handle, front};
use super::handles::{self, Event, Kind, Uses};
use super::world::{self, World};
use crate::calls::Call;
use core::cell::Cell;
use core::ffi::c_int;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use weir::driver::Completion;
use weir::error::OrderError;
use weir::id::{DeviceId, StreamId};
use weir::policy::StreamKind;

/// The vendor's call failed, or the runtime could not begin.
pub(super) struct Untold;

impl From<OrderError> for Untold {
    fn from(_: OrderError) -> Self {
        Self
    }
}

/// Whether what streams and events of a context say is to be believed, as far as that is about them all.
fn is_believed(context: usize) -> bool {
    !front().is_capturing() && !handles::is_distrusted(context)
}

/// A stream whose order is followed, in a world that is not suspect.
fn followed(stream: Handle) -> Option<(Call<World>, StreamId)> {
    let known = world::stream(stream)?;
    let world = world::current(known.device).filter(|world| !world.is_suspect())?;
    if front().is_captured(stream) {
        return None;
    }
    let id = world.follow(stream, &known)?;
    Some((world, id))
}

/// The same, where events of its context are believed.
fn believed(stream: Handle) -> Option<(Call<World>, StreamId)> {
    followed(stream).filter(|(world, _)| is_believed(world.context))
}

/// Passes a call on unless it has been.
fn once(answer: Option<c_int>, pass: impl Fn() -> c_int) -> c_int {
    answer.unwrap_or_else(pass)
}

fn outcome(code: c_int) -> Result<(), Untold> {
    if code == 0 { Ok(()) } else { Err(Untold) }
}

/// What the vendor wrote, if it did.
///
/// # Safety
/// Null, or good for reading.
pub(super) unsafe fn written<T: Copy>(code: c_int, place: *const T) -> Option<T> {
    // SAFETY: non-null, and the call has succeeded, so the vendor wrote it.
    (code == 0 && !place.is_null()).then(|| unsafe { place.read() })
}

/// A stream has begun.
pub(super) fn begun_stream(stream: Handle, kind: Kind) {
    if let Some(old) = handles::add_stream(stream, kind) {
        world::lose(&old);
    }
}

/// A stream ends when its work is done.
pub(super) fn ends_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(known) = world::take_stream(stream) else { return pass() };
    world::retire(&known);
    let code = pass();
    if code != 0 {
        handles::put_stream(stream, known);
    }
    code
}

/// An event has begun.
pub(super) fn begun_event(event: Handle, uses: Uses) {
    if let Some(old) = handles::add_event(event, uses) {
        world::retire_event(&old);
    }
}

/// An event ends.
pub(super) fn ends_event(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(known) = handles::take_event(event) else { return pass() };
    let turn = known.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let code = pass();
    drop(turn);
    match code {
        0 => world::retire_event(&known),
        _ => handles::put_event(event, known),
    }
    code
}

/// An event stands for what is queued on a stream.
pub(super) fn records(event: Handle, stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    // Looked at whether or not the event is known: a stream that is not shows that calls are not seen.
    let found = believed(stream);
    let Some(event) = handles::event(event) else { return pass() };
    let _turn = event.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer = None;
    if let Some((world, stream)) = found.filter(|(world, _)| event.is_local() && is_believed(world.context))
        && let Some(id) = world.name_event(&event)
    {
        let told = world.runtime.record_with(id, stream, || {
            let code = pass();
            answer = Some(code);
            outcome(code)
        });
        let _: Result<(), Untold> = told;
    }
    if answer.is_none() {
        world::forget(&event);
    }
    once(answer, pass)
}

/// An event stands for nothing any more, or for what is not seen.
pub(super) fn resets(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let Some(event) = handles::event(event) else { return pass() };
    let _turn = event.turn.lock().unwrap_or_else(PoisonError::into_inner);
    world::forget(&event);
    pass()
}

/// A stream comes after what an event stands for.
pub(super) fn waits(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    let (found, event) = (believed(stream), handles::event(event));
    let mut answer = None;
    if let (Some((world, stream)), Some(event)) = (found, event.filter(|event| event.is_waited_for()))
        && waits_are_believed()
        && is_believed(world.context)
        && let Some(id) = world.event(&event)
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

/// The world in which an event that can be asked about has a name.
fn asked(event: Handle) -> Option<(Call<World>, Arc<Event>)> {
    let event = handles::event(event).filter(|event| event.is_asked() && is_believed(event.context))?;
    let world = world::of_context(event.context).filter(|world| !world.is_suspect())?;
    Some((world, event))
}

/// Asks whether what an event stands for is complete. `reads` takes the answer from the call's code.
pub(super) fn queries_event(
    event: Handle,
    reads: impl Fn(c_int) -> Option<Completion>,
    pass: impl Fn() -> c_int,
) -> c_int {
    let mut answer = None;
    if let Some((world, event)) = asked(event)
        && let Some(id) = world.event(&event)
    {
        let told = world.runtime.query_with(id, |_| {
            let code = pass();
            answer = Some(code);
            completed(&world, reads(code))
        });
        let _: Result<_, Untold> = told;
    }
    once(answer, pass)
}

/// What tells of completion counts for nothing where work was given up meanwhile.
fn completed(world: &World, answer: Option<Completion>) -> Result<Completion, Untold> {
    answer.filter(|_| !world.is_suspect()).ok_or(Untold)
}

/// Asks whether all that is queued on a stream is complete. Where it is, an event of weir's own stands for it, and the
/// vendor is asked again, since what was known must be noted before the question. That may put a marker behind the
/// stream's work: then it is the next question that teaches.
///
/// A stream that is ordered against a shared default stream teaches nothing: an event there would come after what the
/// stream's next work comes after, and nothing is recorded.
pub(super) fn queries_stream(
    stream: Handle,
    reads: impl Fn(c_int) -> Option<Completion>,
    pass: impl Fn() -> c_int,
) -> c_int {
    let code = pass();
    if reads(code) == Some(Completion::Complete)
        && is_alone(stream)
        && let Some((world, id)) = followed(stream)
        && let Ok(event) = world.runtime.create_event()
    {
        let told: Result<_, Untold> = world
            .runtime
            .record_with(event, id, || Ok(()))
            .and_then(|()| world.runtime.query_with(event, |_| completed(&world, reads(pass()))));
        let _ = (told, world.runtime.destroy_event(event));
    }
    code
}

/// Whether a stream is ordered by events only.
fn is_alone(stream: Handle) -> bool {
    world::stream(stream).is_some_and(|stream| stream.kind == Kind::Ordinary(StreamKind::NonBlocking))
}

/// The host waits for a stream.
pub(super) fn synchronises_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    let mut answer = None;
    if let Some((world, id)) = followed(stream) {
        let told = world.runtime.synchronize_stream_with(id, || {
            let code = pass();
            answer = Some(code);
            if world.is_suspect() { Err(Untold) } else { outcome(code) }
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
pub(super) fn synchronises_event(event: Handle, pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    let mut code = None;
    if let Some((world, event)) = asked(event)
        && let Some(id) = world.event(&event)
    {
        let device = world.device;
        let (answer, call) = kept(pass, move || world::current(device).is_some_and(|world| !world.is_suspect()));
        // What it says is the vendor's, or of no concern to the program.
        let _ = synchronise_by(call, || world.runtime.synchronize_event(id));
        code = answer.get();
    }
    once(code, pass)
}

/// The host waits for all that is queued in a context.
pub(super) fn synchronises_context(context: usize, pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    let mut code = None;
    // In other contexts it is not certain what the vendor waits for.
    if let Some(world) = world::of_context(context) {
        let aborts = world.aborts();
        let (answer, call) = kept(pass, || true);
        let _ = synchronise_by(call, || world.runtime.synchronize_device(DeviceId(world.device)));
        code = answer.get();
        if code == Some(0) {
            world.note_finished(aborts);
        }
    }
    once(code, pass)
}
