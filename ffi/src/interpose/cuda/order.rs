//! CUDA's calls about streams and events. Safety: handles are only compared; places that the vendor writes to are null
//! or good for that.

use super::codes::NOT_READY;
use super::vendor::{Cuda, LEGACY, PER_THREAD, runtime_is_from};
use crate::interpose::front::{Front, Handle};
use crate::interpose::handles::{self, Kind, Uses};
use crate::interpose::order::{self, written};
use core::ffi::{c_int, c_uint, c_void};
use core::ptr::without_provenance_mut;
use weir::driver::Completion;
use weir::policy::StreamKind;

/// What a stream's handle means where the default stream is the one that all threads share.
#[must_use]
pub fn shared(stream: Handle) -> Handle {
    if stream.is_null() { without_provenance_mut(LEGACY) } else { stream }
}

/// What a stream's handle means where the default stream is the thread's own (`_ptsz`).
#[must_use]
pub fn own(stream: Handle) -> Handle {
    if stream.is_null() { without_provenance_mut(PER_THREAD) } else { stream }
}

/* cudaStreamNonBlocking, CU_STREAM_NON_BLOCKING */
const NON_BLOCKING: c_uint = 1;
/* cudaEventInterprocess, CU_EVENT_INTERPROCESS */
const INTERPROCESS: c_uint = 4;
/* cudaEventRecordExternal, CU_EVENT_RECORD_EXTERNAL */
const EXTERNAL: c_uint = 1;

/// A stream begins.
///
/// # Safety
/// `stream` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_stream(stream: *mut Handle, flags: c_uint, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    let kind = if flags & NON_BLOCKING == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, stream) } {
        order::begun_stream(handle, Kind::Ordinary(kind));
    }
    code
}

/// A stream begins whose order is not followed.
///
/// # Safety
/// As [`begins_stream`].
pub unsafe fn begins_special_stream(stream: *mut Handle, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, stream) } {
        order::begun_stream(handle, Kind::Special);
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

/// An event begins.
///
/// # Safety
/// `event` is null or a place that `pass` writes a handle to.
pub unsafe fn begins_event(event: *mut Handle, flags: c_uint, pass: impl Fn() -> c_int) -> c_int {
    let code = pass();
    let is_local = flags & INTERPROCESS == 0;
    // SAFETY: as the caller promised.
    if let Some(handle) = unsafe { written(code, event) } {
        order::begun_event(handle, Uses { is_local, is_waited_for: true, is_asked: true });
    }
    code
}

/// An event of another process, or of something else than CUDA, begins.
///
/// # Safety
/// As [`begins_event`].
pub unsafe fn begins_foreign_event(event: *mut Handle, pass: impl Fn() -> c_int) -> c_int {
    // SAFETY: as the caller promised.
    unsafe { begins_event(event, INTERPROCESS, pass) }
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
pub unsafe fn records(event: Handle, stream: Handle, flags: c_uint, pass: impl Fn() -> c_int) -> c_int {
    if flags & EXTERNAL != 0 {
        // Each launch of the graph will record it.
        return give_away(event, pass);
    }
    order::records(event, stream, pass)
}

/// An event stands for what is queued in a context, which is more than is seen.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn records_context(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::resets(event, pass)
}

fn give_away(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    if let Some(event) = handles::event(event) {
        event.give_away();
    }
    order::resets(event, pass)
}

/// A graph records an event whenever it is launched.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn gives_away(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    give_away(event, pass)
}

/// The beginning of `cudaGraphNodeParams` and `CUgraphNodeParams`, where the node is one that records an event.
#[repr(C)]
struct NodeParams {
    kind: c_int,
    reserved: [c_int; 3],
    event: Handle,
}

/// A node of a graph gets parameters, which may name an event that it records.
///
/// # Safety
/// `params` is null or the vendor's struct.
pub unsafe fn gives_away_in(params: *const c_void, pass: impl Fn() -> c_int) -> c_int {
    /* cudaGraphNodeTypeEventRecord, CU_GRAPH_NODE_TYPE_EVENT_RECORD */
    const RECORDS: c_int = 7;
    if params.is_null() {
        return pass();
    }
    // SAFETY: non-null, so the vendor's struct, which is larger than this part of it.
    let params = unsafe { params.cast::<NodeParams>().read_unaligned() };
    if params.kind == RECORDS { give_away(params.event, pass) } else { pass() }
}

/// The parameters of `cudaGraphAddNode`, which has another argument before them from CUDA 13 on.
#[must_use]
pub fn node_params(fifth: *const c_void, sixth: *const c_void) -> *const c_void {
    if runtime_is_from(13) { sixth } else { fifth }
}

/// A stream comes after what an event stands for.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn waits(stream: Handle, event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::waits(stream, event, pass)
}

fn reads(code: c_int) -> Option<Completion> {
    match code {
        0 => Some(Completion::Complete),
        NOT_READY => Some(Completion::Pending),
        _ => None,
    }
}

/// Asks whether what an event stands for is complete.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn queries_event(event: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::queries_event(event, reads, pass)
}

/// Asks whether all that is queued on a stream is complete.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn queries_stream(stream: Handle, pass: impl Fn() -> c_int) -> c_int {
    order::queries_stream(stream, reads, pass)
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

/// The host waits for all that is queued in the thread's context.
///
/// # Safety
/// None.
pub unsafe fn synchronises_device(pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    order::synchronises_context(Cuda.context(), pass)
}

/// The host waits for all that is queued in a context.
///
/// # Safety
/// As [`ends_stream`].
pub unsafe fn synchronises_context(context: Handle, pass: impl Fn() -> c_int + Copy + 'static) -> c_int {
    let context = if context.is_null() { Cuda.context() } else { context.addr() };
    order::synchronises_context(context, pass)
}
