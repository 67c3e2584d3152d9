//! Where physical memory comes from and when it goes: moving granules, eager growth, hysteresis, and what comes before a
//! refusal.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::driver::{Capabilities, OnPressure, Pressure, Relief};
use weir::error::MallocError;
use weir::id::PoolId;
use weir::policy::{Blocking, Growth, PoolConfig, Release, Reuse, Tuning};
use weir::sim::DeviceConfig;
use weir::units::Bytes;

fn pool(b: &Bench, limit: u64, tuning: Tuning) -> PoolId {
    b.rt.create_pool(PoolConfig { limit: Bytes(limit), tuning, ..PoolConfig::new(DEVICE) }).unwrap()
}

/// A device that maps and unmaps in stream order.
fn in_order(seed: u64) -> Bench {
    let mut device = DeviceConfig::new(Bytes::mib(1024));
    device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    Bench::on(seed, &[device])
}

/// A hole between two free ends is bridged: only what is missing is created.
#[test]
fn a_hole_between_two_free_blocks_is_filled() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, Reuse::all()));
    // Ends of half a granule on both sides of three granules that are moved elsewhere.
    let all = [3 * MIB, 8 * MIB, 3 * MIB].map(|size| b.malloc(pool, size, s));
    b.free(all[1], s);
    b.rt.synchronize_stream(s).unwrap();
    assert_eq!(b.reserved(pool), 8 * MIB, "what lies between the ends was released");
    assert_eq!(b.malloc(pool, 8 * MIB, s), all[1]);
    assert_eq!(b.reserved(pool), 14 * MIB);
}

/// On a device that unmaps in stream order, granules move although no work is known to be complete.
#[test]
fn ordered_granules_are_moved_in_stream_order() {
    let b = in_order(2);
    let (s, pool) = (b.stream(), b.pool(12 * MIB, Reuse::all()));
    let small = [0; 3].map(|_| b.malloc(pool, 4 * MIB, s));
    b.pause(s);
    b.free(small[0], s);
    b.free(small[2], s);
    // 8 MiB in one piece, of two pieces apart; the limit leaves nothing to create.
    let before = b.rt.counters();
    b.malloc(pool, 8 * MIB, s);
    let after = b.rt.counters();
    assert_eq!((after.create - before.create, after.synchronise - before.synchronise), (0, 0));
    assert!(after.unmap > before.unmap);
    b.resume(s);
    b.sim().run_all();
    b.check();
}

/// Another stream may not map where the first has yet to unmap.
#[test]
fn addresses_unmapped_in_order_wait_for_that_stream() {
    let b = in_order(3);
    let (s, t, pool) = (b.stream(), b.stream(), b.pool(12 * MIB, Reuse::EVENT));
    let small = [0; 3].map(|_| b.malloc(pool, 4 * MIB, s));
    b.pause(s);
    b.free(small[0], s);
    b.free(small[2], s);
    let big = b.malloc(pool, 8 * MIB, s);
    b.free(big, s);
    let refused = b.try_malloc(pool, 4 * MIB, t);
    assert!(matches!(refused, Err(MallocError::OutOfMemory(_))), "{refused:?}");
    b.resume(s);
    b.rt.synchronize_stream(s).unwrap();
    b.malloc(pool, 12 * MIB - 4 * MIB, t);
    b.sim().run_all();
    b.check();
}

#[test]
fn an_eager_pool_grows_by_steps_and_backs_off_to_what_fits() {
    let b = Bench::new(4);
    let tuning = Tuning { growth: Growth::Eager(Bytes::mib(16)), ..Tuning::DEFAULT };
    let (s, pool) = (b.stream(), pool(&b, 20 * MIB, tuning));
    b.malloc(pool, MIB, s);
    assert_eq!(b.reserved(pool), 16 * MIB);
    b.malloc(pool, 14 * MIB, s);
    assert_eq!(b.reserved(pool), 16 * MIB);
    // The limit leaves two granules of the step.
    b.malloc(pool, 4 * MIB, s);
    assert_eq!(b.reserved(pool), 20 * MIB);
}

#[test]
fn an_eager_growth_takes_what_a_full_device_has_left() {
    let b = Bench::on(5, &[DeviceConfig::new(Bytes::mib(8))]);
    let others = pool(&b, 4 * MIB, Tuning::DEFAULT);
    let tuning = Tuning { growth: Growth::Eager(Bytes::mib(8)), ..Tuning::DEFAULT };
    let (s, pool) = (b.stream(), pool(&b, 8 * MIB, tuning));
    b.malloc(others, 4 * MIB, s);
    b.malloc(pool, MIB, s);
    assert_eq!(b.reserved(pool), 4 * MIB);
    b.malloc(pool, 3 * MIB, s);
}

/// ggml-org/llama.cpp#5429: threshold 0 and a loop that synchronises.
fn loop_of_rounds(b: &Bench, pool: PoolId, rounds: u64) -> u64 {
    let s = b.stream();
    let before = b.rt.counters().create;
    for _ in 0..rounds {
        let a = b.malloc(pool, 32 * MIB, s);
        b.free(a, s);
        b.rt.synchronize_stream(s).unwrap();
    }
    b.rt.counters().create - before
}

#[test]
fn a_loop_that_synchronises_stops_releasing() {
    let b = Bench::new(6);
    let pool = pool(&b, 64 * MIB, Tuning::DEFAULT);
    assert_eq!(loop_of_rounds(&b, pool, 4), 4 * 16);
    assert_eq!(loop_of_rounds(&b, pool, 50), 0);
    let stats = b.rt.stats(pool).unwrap();
    assert_eq!(stats.thrash, Bytes(3 * 32 * MIB));
    assert!(stats.kept >= Bytes(32 * MIB));
    // Demand falls: after the rounds that are remembered, all goes.
    let s = b.stream();
    for _ in 0..9 {
        b.rt.synchronize_stream(s).unwrap();
    }
    assert_eq!((b.reserved(pool), b.rt.stats(pool).unwrap().kept), (0, Bytes::ZERO));
}

#[test]
fn a_pool_that_always_releases_does() {
    let b = Bench::new(7);
    let pool = pool(&b, 64 * MIB, Tuning { release: Release::Always, ..Tuning::DEFAULT });
    assert_eq!(loop_of_rounds(&b, pool, 20), 20 * 16);
    assert_eq!(b.reserved(pool), 0);
}

#[test]
fn the_addresses_of_a_pool_are_a_setting() {
    let b = Bench::new(8);
    let range = |times| {
        let tuning = Tuning { addresses: times, ..Tuning::DEFAULT };
        b.rt.stats(pool(&b, 64 * MIB, tuning)).unwrap().range
    };
    assert_eq!(range(Some(3)), Bytes::mib(192));
    assert_eq!(range(Some(0)), Bytes::mib(64));
    // 32 granules: 1 + ceil(5 / 2).
    assert_eq!(range(None), Bytes::mib(4 * 64));
}

/// A pool that may block waits for the stream whose pending free helps, and for no other.
#[test]
fn a_pool_that_may_block_waits_instead_of_refusing() {
    for blocking in [Blocking::Never, Blocking::WhenExhausted] {
        let b = Bench::new(9);
        let tuning = Tuning { blocking, ..Tuning::DEFAULT };
        let config = PoolConfig { limit: Bytes::mib(8), reuse: Reuse::empty(), tuning, ..PoolConfig::new(DEVICE) };
        let pool = b.rt.create_pool(config).unwrap();
        let (s, t, other) = (b.stream(), b.stream(), b.stream());
        let (large, small) = (b.malloc(pool, 6 * MIB, s), b.malloc(pool, 2 * MIB, other));
        b.free(small, other);
        b.free(large, s);
        b.pause(other);
        let result = b.try_malloc(pool, 6 * MIB, t);
        match blocking {
            Blocking::Never => assert!(matches!(result, Err(MallocError::OutOfMemory(_))), "{result:?}"),
            Blocking::WhenExhausted => {
                b.write(result.unwrap(), t);
                assert_eq!(b.rt.counters().synchronise, 1);
            }
        }
    }
}

/// The embedder is asked before a refusal, as long as it gives something back.
#[test]
fn the_embedder_is_asked_before_a_refusal() {
    use std::cell::RefCell;
    use weir::{Local, Storage, StreamConfig, trace::NullSink};
    let b = Bench::new(10);
    let spare = RefCell::new(Vec::new());
    let asked = RefCell::new(Vec::<Pressure>::new());
    // What the embedder can do without lies in the other runtime's pool, on the same device.
    let (s, theirs) = (b.stream(), b.pool(0, Reuse::all()));
    spare.borrow_mut().extend((0..2).map(|_| b.malloc(theirs, 508 * MIB, s)));
    let relieve = |pressure: Pressure| {
        asked.borrow_mut().push(pressure);
        let Some(block) = spare.borrow_mut().pop() else { return Relief::Nothing };
        b.free(block, s);
        b.rt.synchronize_stream(s).unwrap();
        Relief::Some
    };
    let arenas = Box::leak(Box::new(Storage::<4, 4, 4, 2, 64, 600, 4, 0>::new())).arenas();
    let rt = Local::new(arenas, OnPressure { driver: b.sim(), relieve }, NullSink);
    let native = b.sim().create_stream(DEVICE).unwrap();
    let stream = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
    let pool = rt.create_pool(PoolConfig::new(DEVICE)).unwrap();
    let block = rt.malloc_async(pool, Bytes::mib(600), stream).unwrap();
    assert_eq!(asked.borrow().len(), 2);
    assert_eq!((asked.borrow()[0].pool, asked.borrow()[0].bytes), (pool, Bytes::mib(600)));
    assert!(matches!(rt.malloc_async(pool, Bytes::mib(600), stream), Err(MallocError::OutOfMemory(_))));
    assert_eq!(asked.borrow().len(), 3);
    rt.free_async(block, stream).unwrap();
    rt.verify().unwrap();
    assert_eq!(b.sim().violation(), None);
}
