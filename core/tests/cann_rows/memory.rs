//! M: allocating and freeing.

use crate::Verdict::{AtAclrt, Differs, Same};
use crate::pool_support::{Bench, DEVICE, MIB};
use crate::{Row, device, gib_device};
use weir::driver::{DriverCall, DriverErrorKind};
use weir::error::{BadId, BadPointer, FreeError, MallocError};
use weir::id::{PoolId, StreamId};
use weir::policy::{Destroy, Reuse};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr, GIB, KIB};

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "M1",
        says: "10 GB pool: 1 byte allocated and freed, the pool ends",
        verdict: Differs(one_byte, "the byte takes 512 B of a shared granule, where CANN takes 2 MiB"),
    },
    Row { id: "M2", says: "8 of a new pool: fresh memory", verdict: Same(fresh_memory) },
    Row { id: "M3", says: "M2's block is freed, the pool ends", verdict: Same(freed_and_ended) },
    Row {
        id: "M4",
        says: "2 MB, 16 MB, and all but these 18 MB of the pool, one after the other",
        verdict: Same(one_by_one),
    },
    Row { id: "M5", says: "free of null: refused", verdict: Same(free_of_null) },
    Row { id: "M6", says: "free without a stream: refused; the pool still ends", verdict: Same(free_without_stream) },
    Row { id: "M7", says: "6 KB allocated, the pool ends without a free", verdict: Same(ended_without_a_free) },
    Row {
        id: "M8",
        says: "free of memory that is in no pool: a host function frees it",
        verdict: Differs(
            free_of_foreign_memory,
            "refused: an address of no pool is a fault of the program's far more often than memory of another \
             allocator, and weir has no other allocator",
        ),
    },
    Row {
        id: "M9",
        says: "as M8, the host function cannot be queued: refused, the memory stays good",
        verdict: Differs(nothing_to_queue, "a free makes no driver call, so that nothing can fail half way"),
    },
    Row {
        id: "M10",
        says: "a synchronous free of a pool's pointer, then the pool ends",
        verdict: Differs(
            free_after_a_synchronisation,
            "there is one way to free: in stream order. After a synchronisation it is at once, and used and reserved \
             fall together, where CANN's reserved stays too high",
        ),
    },
    Row {
        id: "M11",
        says: "the public call allocates",
        verdict: AtAclrt("about the call in C; the core's own is row M2"),
    },
    Row {
        id: "M12",
        says: "size 0: success, nothing happens",
        verdict: Differs(
            size_zero,
            "an error of its own in Rust, where success has a pointer; the aclrt layer answers as CANN does",
        ),
    },
    Row { id: "M13", says: "the public call frees", verdict: AtAclrt("about the call in C; the core's own is row M3") },
    Row { id: "M14", says: "8 allocated and freed: more is free than before", verdict: Same(more_is_free) },
    Row {
        id: "M15",
        says: "2 and 3 GB allocated, 3 freed: 5 GB are reserved before any synchronisation",
        verdict: Same(a_free_keeps_memory_reserved),
    },
];

fn bench() -> (Bench, StreamId, PoolId) {
    let b = gib_device(16);
    let (s, pool) = (b.stream(), b.pool(10 * GIB, Reuse::empty()));
    (b, s, pool)
}

fn one_byte() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, Reuse::empty()));
    let blocks: Vec<_> = (0..1000).map(|_| b.rt.malloc_async(pool, Bytes(1), s)).collect();
    assert_eq!((b.used(pool), b.reserved(pool)), (1000 * 512, 2 * MIB));
    for block in blocks {
        b.rt.free_async(block.unwrap(), s).unwrap();
    }
    b.check();
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
}

fn fresh_memory() {
    let (b, s, pool) = bench();
    b.malloc(pool, 8, s);
    assert_eq!(b.sources(pool, Source::Grow), 1);
}

fn freed_and_ended() {
    let (b, s, pool) = bench();
    let block = b.malloc(pool, 8, s);
    b.free(block, s);
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

/// A pool of 1 GB instead of 10, for the arenas' sake.
fn one_by_one() {
    let b = device(Bytes::gib(16), Bytes::mib(2));
    let (s, pool) = (b.stream(), b.pool(GIB, Reuse::empty()));
    for size in [2 * MIB, 16 * MIB, GIB - 18 * MIB] {
        let block = b.malloc(pool, size, s);
        b.free(block, s);
    }
    assert_eq!(b.used(pool), 0);
    assert!(b.reserved(pool) <= GIB);
}

fn free_of_null() {
    let (b, s, _) = bench();
    let null = DevicePtr(0);
    assert_eq!(b.rt.free_async(null, s), Err(FreeError::BadPointer(BadPointer::Unknown(null))));
}

fn free_without_stream() {
    let (b, s, pool) = bench();
    let block = b.malloc(pool, 2 * MIB, s);
    let none = StreamId::from_raw(0);
    assert_eq!(b.rt.free_async(block, none), Err(FreeError::BadId(BadId::UnknownStream(none))));
    assert_eq!(b.used(pool), 2 * MIB);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.check();
}

fn ended_without_a_free() {
    let (b, s, pool) = bench();
    b.malloc(pool, 6 * KIB, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

fn free_of_foreign_memory() {
    let (b, s, pool) = bench();
    b.malloc(pool, 2 * MIB, s);
    let foreign = DevicePtr(0x7000_0000);
    assert_eq!(b.rt.free_async(foreign, s), Err(FreeError::BadPointer(BadPointer::Unknown(foreign))));
    assert_eq!(b.used(pool), 2 * MIB);
}

fn nothing_to_queue() {
    let (b, s, pool) = bench();
    let block = b.malloc(pool, 2 * MIB, s);
    let calls = || DriverCall::ALL.map(|call| b.sim().calls(call));
    let before = calls();
    b.sim().fail_nth(None, 1, DriverErrorKind::Failed).unwrap();
    b.free(block, s);
    assert_eq!((calls(), b.sim().injected(), b.used(pool)), (before, 0, 0));
}

fn free_after_a_synchronisation() {
    let b = gib_device(16);
    let (s, pool) = (b.stream(), b.pool(GIB, Reuse::empty()));
    let block = b.malloc(pool, GIB, s);
    b.rt.synchronize_stream(s).unwrap();
    b.free(block, s);
    b.rt.synchronize_stream(s).unwrap();
    assert_eq!((b.used(pool), b.reserved(pool)), (0, 0));
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
}

fn size_zero() {
    let (b, s, pool) = bench();
    assert_eq!(b.try_malloc(pool, 0, s), Err(MallocError::ZeroSize));
    assert_eq!((b.used(pool), b.reserved(pool)), (0, 0));
}

fn more_is_free() {
    let b = device(Bytes::mib(64), Bytes::mib(2));
    let (s, pool) = (b.stream(), b.pool(0, Reuse::empty()));
    let block = b.malloc(pool, 8, s);
    let free = || b.reserved(pool) - b.used(pool);
    let before = free();
    b.free(block, s);
    assert_eq!(free(), before + 512);
}

fn a_free_keeps_memory_reserved() {
    let (b, s, pool) = bench();
    b.malloc(pool, 2 * GIB, s);
    let freed = b.malloc(pool, 3 * GIB, s);
    b.free(freed, s);
    assert_eq!((b.used(pool), b.reserved(pool)), (2 * GIB, 5 * GIB));
}
