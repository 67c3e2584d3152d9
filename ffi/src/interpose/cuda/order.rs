//! CUDA's calls about streams and events. Safety: handles are only compared; places that the vendor writes to are null
//! or good for that.

use super::codes::NOT_READY;
use super::vendor::{Cuda, LEGACY, PER_THREAD, runtime_is_from};
use crate::interpose::front::{Front, Handle};
use crate::interpose::handles::{self, Kind, Uses};
use crate::interpose::order::{self, written};
use crate::interpose::world;
use core::ffi::{c_int, c_uint, c_void};
#[cfg(target_pointer_width = "64")]
use core::mem::offset_of;
use core::ptr::without_provenance_mut;
use core::slice;
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

/// `cudaLaunchAttribute`, `CUlaunchAttribute`: the value of those that matter begins with an event.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_int,
    pad: c_int,
    event: Handle,
    rest: [Handle; 7],
}

/// `cudaLaunchConfig_t`, `CUlaunchConfig`: where they have the same in them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    shape: [c_uint; 8],
    stream: Handle,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/* As the headers lay them out, where pointers have 64 bits, as on every machine that these devices are for. */
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<LaunchAttribute>() == 72 && offset_of!(LaunchAttribute, event) == 8);
    assert!(offset_of!(LaunchConfig, attributes) == 40 && offset_of!(LaunchConfig, count) == 48);
    assert!(offset_of!(NodeParams, event) == 16);
};

/// Whether an attribute of a launch names an event that the launch records: a programmatic one, or its completion.
fn names_event(id: c_int) -> bool {
    matches!(id, 7 | 12)
}

fn give_away_all(events: impl Iterator<Item = Handle>) {
    for event in events.filter_map(handles::event) {
        event.give_away();
        world::forget(&event);
    }
}

/// A kernel is launched, which may record events when it likes.
///
/// # Safety
/// `config` is null or the vendor's struct, with as many attributes as it says.
pub unsafe fn launches(config: *const LaunchConfig, pass: impl Fn() -> c_int) -> c_int {
    // SAFETY: as the caller promised.
    let config = (!config.is_null()).then(|| unsafe { config.read() });
    if let Some(config) = config.filter(|config| !config.attributes.is_null() && config.count > 0) {
        // SAFETY: as the caller promised.
        let attributes = unsafe { slice::from_raw_parts(config.attributes, config.count as usize) };
        give_away_all(attributes.iter().filter(|attribute| names_event(attribute.id)).map(|attribute| attribute.event));
    }
    pass()
}

/// A node of a graph gets such an attribute.
///
/// # Safety
/// `value` is null or the vendor's union.
pub unsafe fn sets_attribute(attr: c_int, value: *const Handle, pass: impl Fn() -> c_int) -> c_int {
    if names_event(attr) && !value.is_null() {
        // SAFETY: non-null, so the vendor's union, which has an event here.
        give_away_all(core::iter::once(unsafe { value.read_unaligned() }));
    }
    pass()
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
