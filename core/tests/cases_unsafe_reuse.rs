//! Faults that users of such allocators reported, each as a small trace with the right answer; the name says whose.
//! First: memory that was given out while it was still in use. `ffi/tests/cases_on_host.rs` has these with real bytes.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::StreamConfig;
use weir::driver::DriverCall;
use weir::error::{BadPointer, FreeError, MallocError};
use weir::id::DeviceId;
use weir::policy::{PoolConfig, Reuse, UseUntil};
use weir::sim::{Access, DeviceConfig, SimError, Violation};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr};

const NO_SWITCH: Reuse = Reuse::empty();

/// rapidsai/rmm#2489, #2490: a merged list carries the wrong event. Stream b's list took over a's, and c, which took a
/// block out of it, waited for b's older event only.
#[test]
fn rmm_2489_merged_list_carries_the_wrong_event() {
    for reuse in [Reuse::INTERNAL, Reuse::EVENT | Reuse::INTERNAL, Reuse::all()] {
        let b = Bench::new(1);
        let (sa, sb, sc, pool) = (b.stream(), b.stream(), b.stream(), b.pool(10 * MIB, reuse));
        let blocks: Vec<_> = (0..10).map(|_| b.malloc(pool, MIB, sa)).collect();
        b.pause(sa);
        b.work(sa);
        blocks.into_iter().for_each(|block| b.free(block, sa));
        // Lays the marker behind the frees.
        b.rt.record(b.event(), sa).unwrap();
        // Takes all of a's memory, and waits for a.
        let big = b.malloc(pool, 10 * MIB, sb);
        b.free(big, sb);
        b.rt.record(b.event(), sb).unwrap();
        // The simulator refuses the write if c is not ordered after a and b both.
        b.malloc(pool, MIB, sc);
        b.resume(sa);
        b.sim().run_all();
        b.check();
    }
}

/// The same without the large block between: c takes what a freed while a works.
#[test]
fn rmm_2489_a_third_stream_is_ordered_after_the_first_free_too() {
    let b = Bench::new(1);
    let (sa, sb, sc, pool) = (b.stream(), b.stream(), b.stream(), b.pool(64 * MIB, Reuse::EVENT | Reuse::INTERNAL));
    let x1 = b.malloc(pool, MIB, sa);
    b.pause(sa);
    b.work(sa);
    b.free(x1, sa);
    b.malloc(pool, 8 * MIB, sb);
    b.malloc(pool, MIB, sc);
    b.resume(sa);
    b.sim().run_all();
    b.check();
}

/// rapidsai/rmm#993, NVIDIA/DALI#4931: opportunistic reuse before the work is done.
#[test]
fn rmm_993_opportunistic_means_complete() {
    let b = Bench::new(2);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::OPPORTUNISTIC));
    let a = b.malloc(pool, 2 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(a, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s2), a);
}

/// microsoft/onnxruntime#4829, #5445: freed in the host's order, reused on the compute stream while the copy runs.
#[test]
fn onnxruntime_4829_a_copy_that_still_runs() {
    let b = Bench::new(3);
    let (copy, compute, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::all()));
    b.pause(copy);
    let a = b.malloc(pool, 4 * MIB, copy);
    b.free(a, copy);
    assert_ne!(b.malloc(pool, 4 * MIB, compute), a);
    b.rt.record(e, copy).unwrap();
    b.rt.wait(compute, e).unwrap();
    assert_eq!(b.malloc(pool, 4 * MIB, compute), a);
    b.resume(copy);
    b.sim().run_all();
    b.check();
}

/// NVIDIA/cub#156: a block is in the free list before its event is recorded, and the unset event says "ready". Here
/// nothing was laid behind the free yet, and whatever the switches say, nobody else is given the block.
#[test]
fn cub_156_a_block_is_not_visible_before_its_order() {
    for bits in 0..8 {
        let b = Bench::new(4);
        let reuse = Reuse::from_bits_retain(bits);
        let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(2 * MIB, reuse));
        b.pause(s1);
        let a = b.malloc(pool, 2 * MIB, s1);
        b.free(a, s1);
        let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 2 * MIB, s2) else { panic!("{reuse:?}") };
        assert_eq!(oom.pending, Bytes::mib(2));
        // An event that was never recorded orders nothing.
        b.rt.wait(s2, b.event()).unwrap();
        assert!(b.try_malloc(pool, 2 * MIB, s2).is_err(), "{reuse:?}");
        b.resume(s1);
        b.sim().run_all();
        assert_eq!(b.try_malloc(pool, 2 * MIB, s1), Ok(a));
    }
}

/// JuliaGPU/CUDA.jl#780, NVlabs/cuda-oxide#619: freed on the allocating stream while another uses it.
#[test]
fn cuda_jl_780_a_use_on_another_stream_is_told() {
    let b = Bench::new(4);
    let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::all()));
    let a = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    b.pause(s2);
    b.write(a, s2);
    b.rt.record_use(a, s2, UseUntil::Now).unwrap();
    b.free(a, s1);
    assert_ne!(b.malloc(pool, 2 * MIB, s1), a);
}

/// The same, and nobody told the pool: it cannot know, and the simulator names the two accesses.
#[test]
fn cuda_jl_780_a_use_that_was_not_told_is_found() {
    let b = Bench::new(4);
    let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::all()));
    let a = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(e, s1).unwrap();
    b.rt.wait(s2, e).unwrap();
    b.write(a, s2);
    b.free(a, s1);
    assert_eq!(b.try_malloc(pool, 2 * MIB, s1), Ok(a));
    let raced = b.sim().access(b.native(s1), a, Bytes::mib(2), Access::Write);
    assert!(matches!(raced, Err(SimError::Violation(Violation::Race { .. }))), "{raced:?}");
}

/// ROCm/rocm-systems#10943, OpenNMT/CTranslate2#2090: a hand-off between two streams with threshold 0; 151 of 600 results
/// were zeroes, since memory was released and mapped again under its use.
#[test]
fn rocm_10943_released_only_when_both_streams_have_passed() {
    let b = Bench::new(5);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.releasing_pool(64 * MIB, Reuse::all()));
    let (ready, e) = (b.event(), b.event());
    for round in 0..600 {
        let a = b.malloc(pool, 4 * MIB, s1);
        b.sim().access_write_tag(b.native(s1), a, Bytes::mib(4), round + 1).unwrap();
        b.rt.record(ready, s1).unwrap();
        b.rt.wait(s2, ready).unwrap();
        b.sim().access_read_expect(b.native(s2), a, Bytes::mib(4), round + 1).unwrap();
        b.rt.record(e, s2).unwrap();
        b.free(a, s2);
        // Only the first stream is waited for: what the second uses stays.
        b.rt.synchronize_stream(s1).unwrap();
        b.check();
    }
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 0);
}

/// pytorch/pytorch#196258: the cache is emptied while another device is current; that device was synchronised, and the
/// other's memory unmapped under its work.
#[test]
fn pytorch_196258_a_trim_waits_for_the_pools_own_device() {
    let b = Bench::new(6);
    let here = DeviceId(1);
    let native = b.sim().create_stream(here).unwrap();
    let (s0, s1) = (b.stream(), b.rt.create_stream(StreamConfig::new(here, native)).unwrap());
    let pools = [DEVICE, here].map(|device| {
        let config = PoolConfig { limit: Bytes::mib(64), threshold: Bytes(u64::MAX), ..PoolConfig::new(device) };
        b.rt.create_pool(config).unwrap()
    });
    b.pause(s0);
    for (pool, s) in pools.into_iter().zip([s0, s1]) {
        let a = b.malloc(pool, 8 * MIB, s);
        b.free(a, s);
    }
    b.rt.synchronize_device(here).unwrap();
    let [mine, other] = pools.map(|pool| b.rt.trim_to(pool, Bytes::ZERO).unwrap());
    b.check();
    assert_eq!((mine.reserved, mine.pending), (Bytes::mib(8), Bytes::mib(8)), "its work has not run");
    assert_eq!(other.reserved, Bytes::ZERO);
    b.resume(s0);
    b.rt.synchronize_device(DEVICE).unwrap();
    assert_eq!(b.rt.trim_to(pools[0], Bytes::ZERO).unwrap().reserved, Bytes::ZERO);
    b.check();
}

/// ggml-org/llama.cpp#22155: out of memory elsewhere releases cached blocks, kernels still using them.
#[test]
fn llama_cpp_22155_what_a_kernel_uses_is_not_released_for_others() {
    let b = Bench::on(7, &[DeviceConfig::new(Bytes::mib(16))]);
    let (s1, s2, cache, pool) = (b.stream(), b.stream(), b.pool(0, Reuse::all()), b.pool(0, Reuse::all()));
    b.pause(s1);
    let a = b.malloc(cache, 16 * MIB, s1);
    b.free(a, s1);
    b.rt.record(b.event(), s1).unwrap();
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 8 * MIB, s2) else { panic!("all is in use") };
    assert_eq!(oom.device_full.map(|error| error.call), Some(DriverCall::Create));
    assert_eq!(b.reserved(cache), 16 * MIB);
    b.resume(s1);
    b.sim().run_all();
    b.malloc(pool, 8 * MIB, s2);
    b.check();
    assert_eq!(b.reserved(cache), 8 * MIB);
}

/// cupy/cupy#5264, rapidsai/rmm#2251: a stream's handle comes back as another stream, which is taken for the first.
#[test]
fn cupy_5264_a_stream_handle_that_comes_back_is_another_stream() {
    for reuse in [NO_SWITCH, Reuse::OPPORTUNISTIC] {
        let b = Bench::new(8);
        let (s1, other, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, reuse));
        let native = b.native(s1);
        let a = b.malloc(pool, 2 * MIB, s1);
        b.work(s1);
        b.free(a, s1);
        b.rt.destroy_stream(s1).unwrap();
        b.sim().destroy_stream(native).unwrap();
        let s9 = b.stream();
        assert_eq!(b.native(s9), native, "the same handle");
        assert_ne!(s9, s1, "another stream");
        assert_ne!(b.malloc(pool, 2 * MIB, s9), a, "the dead stream's work has not run");
        // Once it has, the memory is anybody's.
        b.sim().run_all();
        let next = b.malloc(pool, 2 * MIB, other);
        assert_eq!(next == a, reuse == Reuse::OPPORTUNISTIC);
        b.rt.synchronize_device(DEVICE).unwrap();
        b.check();
        assert_eq!(b.reserved(pool), 4 * MIB);
    }
}

/// CANN frees what it does not know by a host function, and says success.
#[test]
fn cann_an_interior_pointer_and_another_pools_are_refused() {
    let b = Bench::new(9);
    let (s, pool, other) = (b.stream(), b.pool(64 * MIB, NO_SWITCH), b.pool(64 * MIB, NO_SWITCH));
    let (a, c) = (b.malloc(pool, 2 * MIB, s), b.malloc(other, 2 * MIB, s));
    let state = || (b.rt.stats(pool).unwrap(), b.rt.stats(other).unwrap());
    let before = state();
    for (offset, ptr) in [64, 512, MIB, 2 * MIB - 1].map(|offset| (offset, DevicePtr(a.0 + offset))) {
        let Err(FreeError::BadPointer(BadPointer::Interior { start, .. })) = b.rt.free_async(ptr, s) else {
            panic!("{offset} into the block")
        };
        assert_eq!(start, a);
    }
    assert_eq!(b.rt.free_to(pool, c, s), Err(FreeError::BadPointer(BadPointer::OtherPool { ptr: c, pool: other })));
    b.check();
    assert_eq!(state(), before);
    b.free(a, s);
    b.free(c, s);
}

/// ROCm/rocm-systems#11642: a double free, at the exit and after a failed allocation.
#[test]
fn rocm_11642_a_double_free_names_the_first() {
    let b = Bench::new(10);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(4 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 4 * MIB, s1);
    let id = b.rt.block_at(a).unwrap().id;
    assert!(b.try_malloc(pool, 2 * MIB, s1).is_err());
    b.free(a, s1);
    let before = b.rt.stats(pool).unwrap();
    for s in [s1, s2] {
        let Err(FreeError::BadPointer(BadPointer::AlreadyFree { freed_at, id: first, .. })) = b.rt.free_async(a, s)
        else {
            panic!("a second free")
        };
        assert_eq!((freed_at.map(|point| point.stream), first), (Some(s1), Some(id)));
    }
    b.check();
    assert_eq!(b.rt.stats(pool).unwrap(), before);
    // It is there once: two of half its size, and no third.
    let halves = [(); 2].map(|()| b.malloc(pool, 2 * MIB, s1));
    assert_ne!(halves[0], halves[1]);
    assert!(b.try_malloc(pool, 512, s1).is_err());
    assert_eq!(b.sources(pool, Source::SameStream), 2);
}
