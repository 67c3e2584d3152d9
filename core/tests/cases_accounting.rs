//! Faults that users of such allocators reported, each as a small trace with the right answer; the name says whose.
//! Here: failures, limits and numbers.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use std::collections::BTreeMap;
use weir::driver::DriverCall;
use weir::error::{BadPointer, FreeError, MallocError};
use weir::policy::{Attribute, PoolConfig, Reuse};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Local, Storage, StreamConfig};

const NO_SWITCH: Reuse = Reuse::empty();

/// ROCm/hip#3223: an allocation fails, the status says success and the pointer is null. alpaka-group/alpaka#2197,
/// kokkos/kokkos#7774: what size 0 and null do is left open. Here both are errors of their own, and no pointer is null.
#[test]
fn hip_3223_no_success_without_a_pointer() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), b.pool(4 * MIB, NO_SWITCH));
    assert_eq!(b.try_malloc(pool, 0, s), Err(MallocError::ZeroSize));
    let null = DevicePtr(0);
    assert_eq!(b.rt.free_async(null, s), Err(FreeError::BadPointer(BadPointer::Unknown(null))));
    let a = b.malloc(pool, 4 * MIB, s);
    assert_ne!(a, null);
    assert!(matches!(b.try_malloc(pool, 1, s), Err(MallocError::OutOfMemory(_))));
    for call in [DriverCall::Create, DriverCall::Map] {
        let other = b.pool(4 * MIB, NO_SWITCH);
        b.sim().fail_nth(Some(call), 1, weir::driver::DriverErrorKind::Failed).unwrap();
        assert!(matches!(b.try_malloc(other, 1, s), Err(MallocError::Driver(error)) if error.call == call));
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// tensorflow/tensorflow#59176, vllm-project/vllm#37111, zakarumych/gpu-alloc#44: numbers that drift. After every step of
/// random work, refusals and failures among it, used is the sum of what is live and reserved is what the device has.
#[test]
fn tensorflow_59176_used_is_the_sum_of_what_is_live() {
    for seed in 0..4 {
        let b = Bench::new(seed);
        let mut dice = Dice(seed);
        let (s, pool) = ([b.stream(), b.stream(), b.stream()], b.pool(24 * MIB, Reuse::all()));
        let mut live: BTreeMap<DevicePtr, u64> = BTreeMap::new();
        b.sim().fail_rate(seed, 20);
        for step in 0..2000 {
            let on = s[dice.roll(3) as usize];
            match dice.roll(10) {
                0..6 => {
                    let size = 1 + dice.roll(2 * MIB);
                    let made = b.try_malloc(pool, size, on);
                    live.extend(made.ok().map(|ptr| (ptr, size.next_multiple_of(512))));
                }
                6 => drop(b.rt.synchronize_stream(on)),
                7 => drop(b.rt.trim_to(pool, Bytes(dice.roll(24 * MIB))).unwrap()),
                _ => {
                    if let Some((block, _)) = live.pop_first() {
                        b.free(block, on);
                    }
                }
            }
            b.rt.verify().unwrap();
            let stats = b.rt.stats(pool).unwrap();
            let sum: u64 = live.values().sum();
            assert_eq!((stats.used.get(), stats.live_blocks), (sum, live.len() as u64), "seed {seed}, step {step}");
            assert_eq!(stats.reserved, b.sim().created(DEVICE), "seed {seed}, step {step}");
            assert_eq!(stats.mallocs - stats.frees, stats.live_blocks);
            assert!(stats.used <= stats.used_high && stats.reserved <= stats.reserved_high);
        }
        b.sim().fail_never();
        live.into_keys().for_each(|block| b.free(block, s[0]));
        b.rt.synchronize_device(DEVICE).unwrap();
        assert_eq!((b.used(pool), b.reserved(pool), b.sim().created(DEVICE)), (0, 0, Bytes::ZERO));
    }
}

/// zakarumych/gpu-alloc#55: the book-keeping grows by 1 MB every few seconds under a steady load. Here it has 64 slots
/// for blocks, in all and for ever.
#[test]
fn gpu_alloc_55_a_steady_load_needs_no_more_book_keeping() {
    let storage: &'static mut SimStorage<1, 2, 24, 2, 16, 256, 512> = Box::leak(Box::default());
    let sim = Sim::new(storage.arenas(), &[DeviceConfig::new(Bytes::mib(32))], 1).unwrap();
    let native = [(); 2].map(|()| sim.create_stream(DEVICE).unwrap());
    let space: &'static mut Storage<2, 2, 8, 1, 64, 16, 0, 0> = Box::leak(Box::default());
    let rt = Local::new(space.arenas(), sim, NullSink);
    let pool = rt.create_pool(PoolConfig::new(DEVICE)).unwrap();
    let s = native.map(|native| rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap());
    let (mut dice, mut live) = (Dice(55), Vec::new());
    for step in 0..30_000u64 {
        let on = s[(step % 2) as usize];
        live.push(rt.malloc_async(pool, Bytes(1 + dice.roll(MIB)), on).unwrap());
        if live.len() > 6 {
            let at = dice.roll(live.len() as u64) as usize;
            rt.free_async(live.swap_remove(at), on).unwrap();
        }
        if step % 10 == 0 {
            rt.synchronize_device(DEVICE).unwrap();
        }
    }
    rt.verify().unwrap();
}

/// tensorflow/tensorflow#57676, #56935: a free in a host callback calls the driver, and hangs. A free makes no driver
/// call, lays no marker and needs no slot, on any stream; what is due is done by the next call that may.
#[test]
fn tensorflow_57676_a_free_makes_no_driver_call() {
    let b = Bench::new(4);
    let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::all()));
    let blocks: Vec<_> = (0..8).map(|_| b.malloc(pool, 3 * MIB, s1)).collect();
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    let calls = || DriverCall::ALL.map(|call| b.sim().calls(call));
    for (n, block) in blocks.into_iter().enumerate() {
        b.pause(s1);
        let before = calls();
        match n % 4 {
            0 => b.rt.free_async(block, s1).unwrap(),
            1 => b.rt.free_async(block, s2).unwrap(),
            2 => b.rt.try_free_async(block, s2).unwrap(),
            _ => b.rt.free_to(pool, block, s2).unwrap(),
        }
        assert_eq!(calls(), before, "free {n}");
        b.check();
        b.resume(s1);
    }
    assert_eq!(b.used(pool), 0);
}

/// HIP: the limit is compared with the high mark.
#[test]
fn hip_the_limit_counts_what_is_there_not_what_was() {
    let b = Bench::new(19);
    let (s, pool) = (b.stream(), b.pool(8 * MIB, NO_SWITCH));
    for _ in 0..3 {
        let a = b.malloc(pool, 8 * MIB, s);
        b.free(a, s);
        b.rt.synchronize_stream(s).unwrap();
        assert_eq!(b.reserved(pool), 0);
    }
}

/// NVlabs/cutile-rs#129: the four counters and their resets, from Rust.
#[test]
fn cutile_rs_129_the_four_counters_and_their_resets() {
    let b = Bench::new(6);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let kept = b.malloc(pool, 2 * MIB, s);
    let freed = b.malloc(pool, 6 * MIB, s);
    b.free(freed, s);
    b.rt.synchronize_stream(s).unwrap();
    let numbers = || {
        use Attribute::{ReservedMemCurrent, ReservedMemHigh, UsedMemCurrent, UsedMemHigh};
        [ReservedMemCurrent, ReservedMemHigh, UsedMemCurrent, UsedMemHigh]
            .map(|attribute| b.rt.attribute(pool, attribute).unwrap() / MIB)
    };
    assert_eq!(numbers(), [2, 8, 2, 8]);
    for high in [Attribute::ReservedMemHigh, Attribute::UsedMemHigh] {
        b.rt.set_attribute(pool, high, 0).unwrap();
    }
    assert_eq!(numbers(), [2, 2, 2, 2]);
    b.free(kept, s);
    assert_eq!(numbers(), [2, 2, 0, 2]);
}
