//! Pools from the user's side: reuse of each kind, limits, trims, attributes.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::driver::Completion;
use weir::error::{BadPointer, FreeError, MallocError, PoolError};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Reuse, StreamKind, UseUntil};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr};

const NO_SWITCH: Reuse = Reuse::empty();

#[test]
fn a_freed_block_is_reused_on_its_own_stream_without_a_synchronisation() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let first = b.malloc(pool, 3 * MIB, s);
    b.free(first, s);
    assert_eq!(b.malloc(pool, 3 * MIB, s), first);
    assert_eq!(b.sources(pool, Source::SameStream), 1);
    assert_eq!(b.reserved(pool), 4 * MIB);
}

#[test]
fn the_closest_size_is_taken_and_the_rest_stays_usable() {
    let b = Bench::new(2);
    let (s, pool) = (b.stream(), b.pool(256 * MIB, NO_SWITCH));
    let blocks: Vec<_> = [10, 4, 6, 20].iter().map(|n| (b.malloc(pool, n * MIB, s), b.malloc(pool, MIB, s))).collect();
    for (block, _) in &blocks {
        b.free(*block, s);
    }
    assert_eq!(b.malloc(pool, 5 * MIB, s), blocks[2].0, "6 MiB is the closest");
    assert_eq!(b.malloc(pool, 4 * MIB, s), blocks[1].0, "an exact fit");
    assert_eq!(b.malloc(pool, 7 * MIB, s), blocks[0].0);
    assert_eq!(b.malloc(pool, 3 * MIB, s).0, blocks[0].0.0 + 7 * MIB, "what was left of the 10");
}

#[test]
fn another_stream_reuses_along_an_event_and_only_with_the_switch() {
    let b = Bench::new(3);
    for (reuse, expected) in [(Reuse::EVENT, true), (NO_SWITCH, false)] {
        let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, reuse));
        let block = b.malloc(pool, 2 * MIB, s1);
        b.free(block, s1);
        b.rt.record(e, s1).unwrap();
        b.rt.wait(s2, e).unwrap();
        let next = b.malloc(pool, 2 * MIB, s2);
        assert_eq!(next == block, expected);
        assert_eq!(b.sources(pool, Source::Event), u64::from(expected));
    }
}

#[test]
fn an_event_recorded_before_the_free_does_not_count() {
    let b = Bench::new(4);
    let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::EVENT));
    let block = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    b.free(block, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s2), block);
}

#[test]
fn dependencies_are_transitive_and_waits_keep_what_they_took() {
    let b = Bench::new(5);
    let (s1, s2, s3, pool) = (b.stream(), b.stream(), b.stream(), b.pool(64 * MIB, Reuse::EVENT));
    let (e, f) = (b.event(), b.event());
    let block = b.malloc(pool, 2 * MIB, s1);
    b.free(block, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    // Recorded again, on a stream that knows nothing: what s2 took stays.
    b.rt.record(e, s3).unwrap();
    b.rt.record(f, s2).unwrap();
    b.rt.wait(s3, f).unwrap();
    assert_eq!(b.malloc(pool, 2 * MIB, s3), block);
}

#[test]
fn opportunistic_reuse_waits_for_the_device_not_for_the_host() {
    let b = Bench::new(6);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::OPPORTUNISTIC));
    let block = b.malloc(pool, 2 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(block, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s2), block, "s1 still works");
    b.resume(s1);
    b.sim().run_all();
    assert_eq!(b.malloc(pool, 2 * MIB, s2), block);
    assert_eq!(b.sources(pool, Source::Opportunistic), 1);
}

#[test]
fn an_inserted_wait_orders_the_streams_on_the_device() {
    let b = Bench::new(7);
    let (s1, s2) = (b.stream(), b.stream());
    let config = PoolConfig {
        limit: Bytes::mib(64),
        reuse: Reuse::INTERNAL,
        preference: Preference::WaitFirst,
        ..PoolConfig::new(DEVICE)
    };
    let pool = b.rt.create_pool(config).unwrap();
    let block = b.malloc(pool, 2 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(block, s1);
    // The next call on s1 lays the marker.
    b.rt.record(b.event(), s1).unwrap();
    assert_eq!(b.malloc(pool, 2 * MIB, s2), block);
    assert_eq!(b.sources(pool, Source::Internal), 1);
    assert_eq!(b.rt.counters().wait, 1);
    b.resume(s1);
    b.sim().run_all();
    b.check();
}

#[test]
fn a_synchronised_free_is_settled_for_everybody() {
    let b = Bench::new(8);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, NO_SWITCH));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    let block = b.malloc(pool, 2 * MIB, s1);
    b.free(block, s1);
    b.rt.synchronize_stream(s1).unwrap();
    assert_eq!(b.malloc(pool, 2 * MIB, s2), block);
    assert_eq!(b.sources(pool, Source::Settled), 1);
}

#[test]
fn the_programs_own_query_teaches() {
    let b = Bench::new(9);
    let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, NO_SWITCH));
    let block = b.malloc(pool, 2 * MIB, s1);
    b.free(block, s1);
    b.rt.record(e, s1).unwrap();
    assert_eq!(b.rt.query(e), Ok(Completion::Pending));
    assert_ne!(b.malloc(pool, 2 * MIB, s2), block);
    b.sim().run_all();
    assert_eq!(b.rt.query(e), Ok(Completion::Complete));
    assert_eq!(b.malloc(pool, 2 * MIB, s2), block);
}

#[test]
fn a_recorded_use_holds_the_block_back_beside_the_free() {
    let b = Bench::new(10);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::OPPORTUNISTIC));
    let e = b.event();
    let block = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    b.pause(s2);
    b.write(block, s2);
    b.rt.record_use(block, s2, UseUntil::Now).unwrap();
    b.free(block, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s1), block, "s2 still uses it");
    b.resume(s2);
    b.sim().run_all();
    assert_eq!(b.malloc(pool, 2 * MIB, s1), block);
}

#[test]
fn the_conservative_use_covers_what_comes_until_the_free() {
    let b = Bench::new(11);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::OPPORTUNISTIC));
    let e = b.event();
    let block = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    b.rt.record_use(block, s2, UseUntil::Free).unwrap();
    b.pause(s2);
    b.write(block, s2);
    b.free(block, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s1), block);
    b.resume(s2);
}

#[test]
fn more_users_than_fit_wait_for_an_epoch() {
    let b = Bench::new(12);
    let (s1, pool, e) = (b.stream(), b.pool(64 * MIB, Reuse::OPPORTUNISTIC), b.event());
    let users: Vec<_> = (0..5).map(|_| b.stream()).collect();
    let block = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    for &user in &users {
        b.rt.wait(user, e).unwrap();
        b.pause(user);
        b.sim().access(b.native(user), block, Bytes::mib(2), weir::sim::Access::Read).unwrap();
        b.rt.record_use(block, user, UseUntil::Now).unwrap();
    }
    b.free(block, s1);
    for &user in &users {
        assert_ne!(b.malloc(pool, 2 * MIB, s1), block);
        b.resume(user);
    }
    b.sim().run_all();
    assert_eq!(b.malloc(pool, 2 * MIB, s1), block);
}

#[test]
fn the_legacy_default_stream_is_ordered_with_the_blocking_ones() {
    let b = Bench::new(13);
    let legacy = b.stream_of(StreamKind::Legacy);
    let (blocking, other) = (b.stream_of(StreamKind::Blocking), b.stream_of(StreamKind::NonBlocking));
    let pool = b.pool(64 * MIB, Reuse::EVENT);
    let block = b.malloc(pool, 2 * MIB, blocking);
    b.free(block, blocking);
    assert_ne!(b.malloc(pool, 2 * MIB, other), block);
    assert_eq!(b.malloc(pool, 2 * MIB, legacy), block);
    b.free(block, legacy);
    assert_eq!(b.malloc(pool, 2 * MIB, blocking), block);
}

#[test]
fn the_limit_holds_and_the_refusal_has_the_whole_picture() {
    let b = Bench::new(14);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(8 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 4 * MIB, s1);
    let c = b.malloc(pool, 3 * MIB, s1);
    b.free(a, s1);
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 4 * MIB, s2) else { panic!("there is no room") };
    assert_eq!(
        (oom.requested, oom.used, oom.reserved, oom.limit),
        (Bytes::mib(4), Bytes::mib(3), Bytes::mib(8), Bytes::mib(8))
    );
    assert_eq!((oom.pending, oom.largest_usable), (Bytes::mib(4), Bytes::mib(1)));
    let on = oom.pending_on[0].expect("s1 holds it");
    assert_eq!((on.stream, on.bytes, oom.pending_on[1]), (s1, Bytes::mib(4), None));
    let mut listed = Vec::new();
    b.rt.pending(pool, s2, |pending| listed.push(pending)).unwrap();
    assert_eq!(listed, [on]);
    b.rt.synchronize_stream(s1).unwrap();
    b.malloc(pool, 4 * MIB, s2);
    b.free(c, s2);
    assert_eq!(
        b.try_malloc(pool, 9 * MIB, s1),
        Err(MallocError::AboveLimit { requested: Bytes::mib(9), limit: Bytes::mib(8) })
    );
    assert_eq!(b.try_malloc(pool, u64::MAX, s1), Err(MallocError::Overflow { requested: Bytes(u64::MAX) }));
    assert_eq!(b.try_malloc(pool, 0, s1), Err(MallocError::ZeroSize));
    assert_eq!(b.rt.stats(pool).unwrap().refused, 4);
}

#[test]
fn synchronisation_releases_above_the_threshold_and_never_what_is_pending() {
    let b = Bench::new(15);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(256 * MIB, NO_SWITCH));
    let live = b.malloc(pool, 2 * MIB, s1);
    let a = b.malloc(pool, 8 * MIB, s1);
    let c = b.malloc(pool, 6 * MIB, s2);
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 12 * MIB).unwrap();
    b.free(a, s1);
    b.free(c, s2);
    assert_eq!(b.reserved(pool), 16 * MIB);
    b.rt.synchronize_stream(s1).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 12 * MIB, "down to the threshold");
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 0).unwrap();
    b.rt.synchronize_stream(s1).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 8 * MIB, "s2's free is not known to be complete");
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 2 * MIB, "never below what is used");
    b.write(live, s1);
    assert_eq!(b.sim().created(DEVICE), Bytes::mib(2));
}

#[test]
fn a_trim_reports_what_it_could_not_release() {
    let b = Bench::new(16);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(256 * MIB, NO_SWITCH));
    let _live = b.malloc(pool, 3 * MIB, s1);
    let a = b.malloc(pool, 8 * MIB, s2);
    b.free(a, s2);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    b.check();
    assert_eq!((trimmed.reserved, trimmed.live), (Bytes::mib(12), Bytes::mib(3)));
    // The freed block lies from 3 to 11 MiB: four granules wait for it, and a part of the one it shares with the live
    // block is free.
    assert_eq!((trimmed.pending, trimmed.partial), (Bytes::mib(8), Bytes::mib(1)), "freed, not finished");
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    b.check();
    assert_eq!((trimmed.reserved, trimmed.partial, trimmed.pending), (Bytes::mib(4), Bytes::mib(1), Bytes::ZERO));
}

#[test]
fn attributes_have_the_vendors_meaning() {
    let b = Bench::new(17);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, Reuse::all()));
    let get = |attribute| b.rt.attribute(pool, attribute).unwrap();
    for number in 1..=3 {
        let switch = Attribute::from_number(number).unwrap();
        assert_eq!(get(switch), 1);
        b.rt.set_attribute(pool, switch, 0).unwrap();
        assert_eq!(get(switch), 0);
        b.rt.set_attribute(pool, switch, 7).unwrap();
        assert_eq!(get(switch), 1);
    }
    assert_eq!(get(Attribute::ReleaseThreshold), 0);
    let a = b.malloc(pool, 1000, s);
    assert_eq!((get(Attribute::UsedMemCurrent), get(Attribute::UsedMemHigh)), (1024, 1024));
    assert_eq!((get(Attribute::ReservedMemCurrent), get(Attribute::ReservedMemHigh)), (2 * MIB, 2 * MIB));
    let c = b.malloc(pool, 3 * MIB, s);
    b.free(a, s);
    b.free(c, s);
    assert_eq!(get(Attribute::UsedMemHigh), 3 * MIB + 1024);
    b.rt.set_attribute(pool, Attribute::UsedMemHigh, 0).unwrap();
    assert_eq!(get(Attribute::UsedMemHigh), 0, "reset to the current value");
    b.rt.synchronize_device(DEVICE).unwrap();
    b.rt.set_attribute(pool, Attribute::ReservedMemHigh, 0).unwrap();
    assert_eq!((get(Attribute::ReservedMemCurrent), get(Attribute::ReservedMemHigh)), (0, 0));
    let refused = b.rt.set_attribute(pool, Attribute::UsedMemHigh, 5);
    assert_eq!(refused, Err(PoolError::OnlyReset { attribute: Attribute::UsedMemHigh, value: 5 }));
    let refused = b.rt.set_attribute(pool, Attribute::ReservedMemCurrent, 0);
    assert_eq!(refused, Err(PoolError::ReadOnly(Attribute::ReservedMemCurrent)));
    assert_eq!(Attribute::from_number(9), None);
}

#[test]
fn wrong_pointers_are_named_and_change_nothing() {
    let b = Bench::new(18);
    let (s, pool, other) = (b.stream(), b.pool(64 * MIB, NO_SWITCH), b.pool(64 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 3 * MIB, s);
    let id = b.rt.block_at(a).unwrap().id;
    let free = |ptr| b.rt.free_async(ptr, s);
    let inside = DevicePtr(a.0 + 512);
    let interior = BadPointer::Interior { ptr: inside, start: a, size: Bytes::mib(3), id };
    assert_eq!(free(inside), Err(FreeError::BadPointer(interior)));
    assert_eq!(free(DevicePtr(64)), Err(FreeError::BadPointer(BadPointer::Unknown(DevicePtr(64)))));
    assert_eq!(b.rt.free_to(other, a, s), Err(FreeError::BadPointer(BadPointer::OtherPool { ptr: a, pool })));
    assert_eq!(b.used(pool), 3 * MIB);
    let far = DevicePtr(a.0 + 32 * MIB);
    assert_eq!(free(far), Err(FreeError::BadPointer(BadPointer::Unmapped { ptr: far, pool })));
    let neighbour = b.malloc(pool, MIB, s);
    b.free(a, s);
    let Err(FreeError::BadPointer(BadPointer::AlreadyFree { ptr, freed_at: Some(point), id: first })) = free(a) else {
        panic!("the second free is refused")
    };
    assert_eq!((ptr, point.stream, first), (a, s, Some(id)));
    b.free(neighbour, s);
    // Still by its own free, although it has merged with its neighbour's bytes.
    let again = BadPointer::AlreadyFree { ptr: a, freed_at: Some(point), id: Some(id) };
    assert_eq!(free(a), Err(FreeError::BadPointer(again)));
    b.check();
}

#[test]
fn a_pool_with_live_blocks_is_kept_unless_asked_for() {
    let b = Bench::new(19);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 3 * MIB, s);
    let refused = b.rt.destroy_pool(pool, Destroy::IfEmpty);
    assert_eq!(refused, Err(PoolError::LiveBlocks { count: 1, bytes: Bytes::mib(3) }));
    b.pause(s);
    b.write(a, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.check();
    assert!(b.rt.stats(pool).is_err());
    assert_eq!(b.sim().created(DEVICE), Bytes::mib(4), "work on it is unfinished");
    b.resume(s);
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

#[test]
fn a_destroyed_streams_handle_may_come_back_as_another_stream() {
    let b = Bench::new(20);
    let (s1, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let native = b.native(s1);
    let block = b.malloc(pool, 2 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(block, s1);
    b.rt.destroy_stream(s1).unwrap();
    b.sim().resume(native).unwrap();
    b.sim().destroy_stream(native).unwrap();
    let s9 = b.stream();
    assert_eq!(b.native(s9), native, "the simulator hands the handle out again");
    assert_ne!(s9, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s9), block);
    assert!(b.rt.free_async(block, s1).is_err());
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
}

#[test]
fn a_program_that_never_synchronises_learns_completion_and_moves_granules() {
    let b = Bench::new(21);
    let (s, pool) = (b.stream(), b.pool(1024 * MIB, NO_SWITCH));
    // One stream, growing requests: without moving granules each round would take more.
    for round in 1..60 {
        let pieces: Vec<_> = (0..4).map(|_| b.malloc(pool, 2 * MIB * round, s)).collect();
        let between = b.malloc(pool, 2 * MIB, s);
        pieces.into_iter().for_each(|piece| b.free(piece, s));
        b.free(between, s);
        b.sim().run_all();
    }
    assert_eq!(b.rt.counters().synchronise, 0);
    assert!(b.rt.counters().mark > 0, "markers although there is one stream");
    let stats = b.rt.stats(pool).unwrap();
    assert!(stats.reserved_high.get() <= stats.used_high.get() + 2 * MIB, "{stats:?}");
}

#[test]
fn rather_than_refusing_small_and_large_blocks_share_a_granule() {
    let b = Bench::new(22);
    let (s, pool) = (b.stream(), b.pool(2 * MIB, NO_SWITCH));
    let large = b.malloc(pool, MIB, s);
    let small = b.malloc(pool, 512, s);
    b.free(large, s);
    b.free(small, s);
    let small = b.malloc(pool, 512, s);
    let large = b.malloc(pool, MIB, s);
    b.free(small, s);
    b.free(large, s);
    assert_eq!(b.malloc(pool, 2 * MIB, s), small.min(large));
}
