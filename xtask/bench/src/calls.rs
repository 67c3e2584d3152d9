//! Single calls, each in a function of its own that a profiler can tell from the rest of the program.

use crate::pool::{Pool, text};
use weir::id::{EventId, StreamId};
use weir::policy::UseUntil;
use weir::units::{Bytes, DevicePtr};

#[inline(never)]
pub(crate) fn counted_malloc(pool: &Pool, size: u64, stream: StreamId) -> Result<DevicePtr, String> {
    pool.runtime.malloc_async(pool.pool, Bytes(size), stream).map_err(text)
}

#[inline(never)]
pub(crate) fn counted_free(pool: &Pool, block: DevicePtr, stream: StreamId) -> Result<(), String> {
    pool.runtime.free_async(block, stream).map_err(text)
}

#[inline(never)]
pub(crate) fn counted_use(pool: &Pool, block: DevicePtr, stream: StreamId, until: UseUntil) -> Result<(), String> {
    pool.runtime.record_use(block, stream, until).map_err(text)
}

#[inline(never)]
pub(crate) fn counted_record(pool: &Pool, event: EventId, stream: StreamId) -> Result<(), String> {
    pool.runtime.record(event, stream).map_err(text)
}

#[inline(never)]
pub(crate) fn counted_wait(pool: &Pool, stream: StreamId, event: EventId) -> Result<(), String> {
    pool.runtime.wait(stream, event).map_err(text)
}
