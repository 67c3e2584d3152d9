//! The detector on memory that is mapped and unmapped in the order of a stream, and on waits of the pool's own on the host.

mod check_support;

use check_support::{A, B, C, Hand, KIB, POOL, event, stream};
use weir::error::Point;
use weir::id::{AllocId, DeviceId, PoolId};
use weir::policy::PoolConfig;
use weir::trace::{MapReason, Record, Refusal, UnmapReason, Verb};
use weir::units::{Bytes, DevicePtr, MIB, Nanos, Seq};
use weir_viz::check::Fault;

/// Behind what is mapped when a log by hand begins.
const FRESH: u64 = 16 * MIB;

fn map_in_order(log: &mut Hand, on: u64, offset: u64) -> u64 {
    let (pool, stream, seq, offset) = (POOL, stream(on), log.tick(on), Bytes(offset));
    log.push(Record::MappedInOrder { pool, stream, seq, offset, granules: 1, reason: MapReason::Remap })
}

fn unmap_in_order(log: &mut Hand, on: u64, offset: u64) -> u64 {
    let (pool, stream, seq, offset) = (POOL, stream(on), log.tick(on), Bytes(offset));
    log.push(Record::UnmappedInOrder { pool, stream, seq, offset, granules: 1, reason: UnmapReason::Remap })
}

#[test]
fn a_stream_unmaps_what_it_comes_after() {
    let mut own = Hand::new();
    own.malloc(1, A);
    own.free(1, A);
    unmap_in_order(&mut own, A, 0);
    own.clean();
    let mut other = Hand::new();
    other.malloc(1, A);
    other.free(1, A);
    other.hand_over(A, B);
    unmap_in_order(&mut other, B, 0);
    other.clean();
}

#[test]
fn memory_unmapped_by_a_stream_that_does_not_come_after_the_work_on_it() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let free = log.free(1, A);
    let unmapped = unmap_in_order(&mut log, B, 0);
    let finding = log.only(Fault::UnmappedPending, Some(free), unmapped);
    let missing = finding.missing.expect("an order");
    assert_eq!((missing.record_on, missing.after, missing.wait_on), (stream(A), Seq(2), Some(stream(B))));
}

#[test]
fn memory_is_mapped_where_a_stream_has_yet_to_unmap() {
    for ordered in [true, false] {
        let mut log = Hand::new();
        let unmapped = unmap_in_order(&mut log, A, 0);
        if ordered {
            log.hand_over(A, B);
        }
        let mapped = map_in_order(&mut log, B, 0);
        match ordered {
            true => log.clean(),
            false => drop(log.only(Fault::MappedTwice, Some(unmapped), mapped)),
        }
    }
    // At once: the host must know that the stream has come to it.
    let mut log = Hand::new();
    let unmapped = unmap_in_order(&mut log, A, 0);
    let mapped = log.map(0, 1);
    assert_eq!(log.only(Fault::MappedTwice, Some(unmapped), mapped).missing.expect("an order").wait_on, None);
    let mut log = Hand::new();
    unmap_in_order(&mut log, A, 0);
    log.synchronize(A);
    log.map(0, 1);
    log.clean();
}

#[test]
fn memory_is_given_to_a_stream_that_does_not_come_after_its_map() {
    for ordered in [true, false] {
        let mut log = Hand::new();
        let mapped = map_in_order(&mut log, A, FRESH);
        log.malloc_at(1, A, FRESH);
        if ordered {
            log.hand_over(A, B);
        }
        let malloc = log.malloc_at(2, B, FRESH + KIB);
        match ordered {
            true => log.clean(),
            false => drop(log.only(Fault::NotMapped, Some(mapped), malloc)),
        }
    }
}

#[test]
fn memory_goes_before_a_stream_has_mapped_it() {
    let mut log = Hand::new();
    let mapped = map_in_order(&mut log, A, FRESH);
    let unmapped = log.unmap(FRESH, 1);
    log.only(Fault::UnmappedPending, Some(mapped), unmapped);
    let mut log = Hand::new();
    map_in_order(&mut log, A, FRESH);
    log.synchronize(A);
    log.unmap(FRESH, 1);
    log.clean();
}

/// The pool's own wait covers what stands before its position, and what that came after; nothing else.
#[test]
fn what_the_host_waited_for_is_complete() {
    for (seq, found) in [(2, 0), (1, 1)] {
        let mut log = Hand::new();
        log.malloc(1, A);
        log.free(1, A);
        let on = Point { stream: stream(A), seq: Seq(seq) };
        log.push(Record::Blocked { pool: POOL, stream: stream(B), on });
        log.malloc_at(2, B, KIB);
        assert_eq!(log.report().findings.len(), found, "{}", log.report());
    }
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    log.hand_over(A, C);
    let on = Point { stream: stream(C), seq: Seq(1) };
    log.push(Record::Blocked { pool: POOL, stream: stream(B), on });
    log.malloc_at(2, B, KIB);
    log.clean();
}

/// The smallest logs that contradict themselves.
#[test]
fn what_a_log_cannot_say_of_itself_is_found() {
    let mut twice = Hand::new();
    twice.unmap(2 * MIB, 1);
    let second = twice.unmap(2 * MIB, 1);
    twice.only(Fault::NotHeld, None, second);
    let mut one_position = Hand::new();
    one_position.record(1, A);
    let Some(Record::Recorded { seq, .. }) = one_position.records.last().map(|stamped| stamped.record) else {
        panic!()
    };
    let again = one_position.push(Record::Recorded { event: event(2), stream: stream(A), seq, number: 1 });
    one_position.only(Fault::OutOfStep, None, again);
    let mut back = Hand::new();
    back.malloc(1, A);
    back.record(1, A);
    let (pool, stream, id) = (POOL, stream(A), AllocId(1));
    let free = Record::Free { pool, stream, seq: Seq(0), id, offset: Bytes(KIB), given: Bytes(KIB) };
    let free = back.push(free);
    back.only(Fault::OutOfStep, None, free);
    let mut gone = Hand::new();
    gone.push(Record::StreamDestroyed { stream });
    let malloc = gone.malloc(1, A);
    gone.only(Fault::NotThere, None, malloc);
    let mut sums = Hand::new();
    sums.malloc(1, A);
    let (used, reserved, limit) = (Bytes(2 * KIB), Bytes(8 * MIB), weir::policy::PoolConfig::new(DeviceId(0)).limit);
    let refused = Record::OutOfMemory {
        pool,
        stream,
        requested: Bytes(KIB),
        used,
        reserved,
        limit,
        largest_usable: Bytes::ZERO,
        pending: Bytes::ZERO,
    };
    let refused = sums.push(refused);
    sums.only(Fault::WrongFigures, None, refused);
}

/// Of a refusal no part is more than the whole, and what is above the limit is more than it.
#[test]
fn figures_of_a_refusal_that_cannot_be_are_found() {
    let (limit, reserved) = (Bytes(16 * MIB), Bytes(8 * MIB));
    let (pool, stream) = (PoolId::from_raw(POOL.raw() + 1), stream(A));
    let found = |record: Record<'static>, is_wrong: bool| {
        let mut log = Hand::new();
        let config = PoolConfig { limit, ..PoolConfig::new(DeviceId(0)) };
        log.push(Record::PoolDef { pool, base: DevicePtr(1 << 40), range: Bytes(64 * MIB), config });
        log.push(Record::PoolCreated { pool });
        let at = log.push(record);
        match is_wrong {
            true => drop(log.only(Fault::WrongFigures, None, at)),
            false => log.clean(),
        }
    };
    let whole = reserved.0;
    for (requested, largest_usable, pending, is_wrong) in [
        (9 * MIB, 0, 0, false),
        (9 * MIB, whole, whole, false),
        (0, 0, 0, true),
        (17 * MIB, 0, 0, true),
        (9 * MIB, whole + 1, 0, true),
        (9 * MIB, 0, whole + 1, true),
    ] {
        let [requested, largest_usable, pending] = [requested, largest_usable, pending].map(Bytes);
        let used = Bytes::ZERO;
        found(
            Record::OutOfMemory { pool, stream, requested, used, reserved, limit, largest_usable, pending },
            is_wrong,
        );
    }
    let above = |size, limit| Record::Refused {
        verb: Verb::Malloc,
        pool: Some(pool),
        stream: Some(stream),
        size,
        reason: Refusal::AboveLimit(limit),
    };
    found(above(Bytes(limit.0 + 1), limit), false);
    found(above(limit, limit), true);
    found(above(Bytes(limit.0 + 1), reserved), true);
}

#[test]
fn what_a_living_pool_keeps_and_a_clock_that_goes_back_are_found() {
    let mut alive = Hand::new();
    let reason = UnmapReason::Destroy;
    let unmap = alive.push(Record::Unmapped { pool: POOL, offset: Bytes(2 * MIB), granules: 1, reason });
    alive.only(Fault::NotThere, None, unmap);
    let mut clock = Hand::new();
    clock.malloc(1, A);
    clock.records.last_mut().expect("the malloc").time = Nanos(1_500_000_000);
    let free = clock.free(1, A);
    clock.only(Fault::OutOfStep, None, free);
    // Another core's clock may be a little behind.
    clock.records.last_mut().expect("the free").time = Nanos(1_000_000_000);
    clock.clean();
}
