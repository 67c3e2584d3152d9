//! Faults that users of such allocators reported, each as a small trace with the right answer. The name says whose.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::error::MallocError;
use weir::id::{PoolId, StreamId};
use weir::policy::{Attribute, PoolConfig, Preference, Reuse, UseUntil};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr};

const NO_SWITCH: Reuse = Reuse::empty();

fn keep(b: &Bench, pool: PoolId) {
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
}

/// rapidsai/rmm#2489: a merged list carries the wrong event.
#[test]
fn rmm_2489_a_third_stream_is_ordered_after_the_first_free_too() {
    let b = Bench::new(1);
    let (a, bb, c, pool) = (b.stream(), b.stream(), b.stream(), b.pool(64 * MIB, Reuse::EVENT | Reuse::INTERNAL));
    let x1 = b.malloc(pool, MIB, a);
    b.pause(a);
    b.work(a);
    b.free(x1, a);
    b.malloc(pool, 8 * MIB, bb);
    // The simulator refuses the write if c is not ordered after a.
    b.malloc(pool, MIB, c);
    b.resume(a);
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

/// microsoft/onnxruntime#4829: a block that a copy stream freed, on the compute stream.
#[test]
fn onnxruntime_4829_a_copy_that_still_runs() {
    let b = Bench::new(3);
    let (copy, compute, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, Reuse::EVENT));
    let a = b.malloc(pool, 4 * MIB, copy);
    b.free(a, copy);
    assert_ne!(b.malloc(pool, 4 * MIB, compute), a);
    b.rt.record(e, copy).unwrap();
    b.rt.wait(compute, e).unwrap();
    assert_eq!(b.malloc(pool, 4 * MIB, compute), a);
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

/// ROCm/rocm-systems#10943: a hand-off between two streams with threshold 0, round after round.
#[test]
fn rocm_10943_released_only_when_both_streams_have_passed() {
    let b = Bench::new(5);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::all()));
    let e = b.event();
    for _ in 0..50 {
        let a = b.malloc(pool, 4 * MIB, s1);
        b.rt.record(e, s1).unwrap();
        b.rt.wait(s2, e).unwrap();
        b.write(a, s2);
        b.free(a, s2);
        b.rt.synchronize_stream(s1).unwrap();
        b.check();
    }
}

/// pytorch/pytorch#196258, ggml-org/llama.cpp#22155, pytorch/executorch#22312: a trim with work under way.
#[test]
fn executorch_22312_pending_memory_is_not_released_and_is_counted() {
    let b = Bench::new(6);
    let (s1, pool) = (b.stream(), b.pool(512 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 256 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(a, s1);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.reserved, trimmed.pending), (Bytes::mib(256), Bytes::mib(256)));
    b.resume(s1);
    b.rt.synchronize_stream(s1).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 0, "all 256 after the synchronisation");
}

/// rapidsai/rmm#2039: the interleaved chunks of two streams, at the limit.
#[test]
fn rmm_2039_interleaved_frees_of_two_streams_join() {
    for (reuse, source) in [(Reuse::EVENT, Source::Event), (Reuse::INTERNAL, Source::Internal)] {
        let b = Bench::new(7);
        let (s1, s2, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(16 * MIB, reuse));
        let chunks: Vec<_> = (0..8).map(|n| b.malloc(pool, 2 * MIB, if n % 2 == 0 { s1 } else { s2 })).collect();
        for (n, &chunk) in chunks.iter().enumerate() {
            b.free(chunk, if n % 2 == 0 { s1 } else { s2 });
        }
        b.rt.record(e, s2).unwrap();
        if reuse == Reuse::EVENT {
            b.rt.wait(s1, e).unwrap();
        }
        assert_eq!(b.malloc(pool, 16 * MIB, s1), chunks[0]);
        assert_eq!(b.sources(pool, source), 1);
    }
}

/// rapidsai/rmm#1245: the report names the streams that hold the bytes, and what would release them.
#[test]
fn rmm_1245_the_report_says_what_to_synchronise() {
    let b = Bench::new(8);
    let (mine, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let others: Vec<_> = (0..6).map(|_| b.stream()).collect();
    let blocks: Vec<_> = others.iter().enumerate().map(|(n, &s)| b.malloc(pool, (n as u64 + 1) * 3 * MIB, s)).collect();
    for (&block, &s) in blocks.iter().zip(&others) {
        b.free(block, s);
    }
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 64 * MIB, mine) else { panic!("all is pending") };
    let named: Vec<_> = oom.pending_on.iter().flatten().map(|p| (p.stream, p.bytes.get() / MIB)).collect();
    assert_eq!(named, [(others[5], 18), (others[4], 15), (others[3], 12), (others[2], 9)]);
    assert_eq!(oom.pending, Bytes::mib(63));
    let mut all: Vec<StreamId> = Vec::new();
    b.rt.pending(pool, mine, |p| all.push(p.stream)).unwrap();
    assert_eq!(all.len(), 6);
    keep(&b, pool);
    for stream in all {
        b.rt.synchronize_stream(stream).unwrap();
    }
    b.malloc(pool, 64 * MIB, mine);
}

/// pytorch/pytorch#110194: enough memory, in pieces; granules are moved.
#[test]
fn pytorch_110194_free_granules_in_pieces_serve_a_large_request() {
    let b = Bench::new(9);
    let (s, pool) = (b.stream(), b.pool(80 * MIB, NO_SWITCH));
    keep(&b, pool);
    let blocks: Vec<_> = (0..40).map(|_| b.malloc(pool, 2 * MIB, s)).collect();
    for &block in blocks.iter().step_by(2) {
        b.free(block, s);
    }
    b.rt.synchronize_stream(s).unwrap();
    b.malloc(pool, 40 * MIB, s);
    assert_eq!((b.used(pool), b.reserved(pool)), (80 * MIB, 80 * MIB));
}

/// pytorch/devlogs: eight of 16 MiB, then four of 32, and the reverse.
#[test]
fn pytorch_devlog_8_times_16_then_4_times_32() {
    for (first, then) in [(16, 32), (32, 16)] {
        let b = Bench::new(10);
        let (s, pool) = (b.stream(), b.pool(512 * MIB, NO_SWITCH));
        let blocks: Vec<_> = (0..128 / first).map(|_| b.malloc(pool, first * MIB, s)).collect();
        blocks.into_iter().for_each(|block| b.free(block, s));
        let _all: Vec<_> = (0..128 / then).map(|_| b.malloc(pool, then * MIB, s)).collect();
        assert_eq!(b.reserved(pool), 128 * MIB);
    }
}

/// pytorch/devlogs: the size-class cliff.
#[test]
fn pytorch_devlog_2_mib_and_half_a_mib_take_4() {
    let b = Bench::new(11);
    let (s, pool) = (b.stream(), b.pool(512 * MIB, NO_SWITCH));
    b.malloc(pool, 2 * MIB, s);
    b.malloc(pool, MIB / 2, s);
    assert!(b.reserved(pool) <= 4 * MIB);
}

/// pytorch/pytorch#159674: 60, then 70 of 80 (here MiB).
#[test]
fn pytorch_159674_60_then_70_of_80() {
    for threshold in [0, u64::MAX] {
        let b = Bench::new(12);
        let (s, pool) = (b.stream(), b.pool(80 * MIB, NO_SWITCH));
        b.rt.set_attribute(pool, Attribute::ReleaseThreshold, threshold).unwrap();
        let a = b.malloc(pool, 60 * MIB, s);
        b.free(a, s);
        b.rt.synchronize_stream(s).unwrap();
        b.malloc(pool, 70 * MIB, s);
        assert_eq!(b.reserved(pool), 70 * MIB);
    }
}

/// CANN: frees that are separated by event records never merge.
#[test]
fn cann_frees_of_one_stream_join_across_records() {
    let b = Bench::new(13);
    let (s1, e, pool) = (b.stream(), b.event(), b.pool(200 * MIB, NO_SWITCH));
    let blocks: Vec<_> = (0..100).map(|_| b.malloc(pool, 2 * MIB, s1)).collect();
    for &block in &blocks {
        b.free(block, s1);
        b.rt.record(e, s1).unwrap();
    }
    assert_eq!(b.malloc(pool, 200 * MIB, s1), blocks[0]);
}

/// NVIDIA/cudf-spark#5303, #4045, #6768: many task threads, each with its stream; then one request of the sum.
#[test]
fn cudf_spark_5303_the_sum_of_many_streams_odd_blocks() {
    let b = Bench::new(14);
    let (mine, pool) = (b.stream(), b.pool(128 * MIB, Reuse::OPPORTUNISTIC));
    let streams: Vec<_> = (0..8).map(|_| b.stream()).collect();
    let mut sum = 0;
    let blocks: Vec<_> = (1..=8).map(|n| (n * 3 * MIB + n * 512, streams[n as usize - 1])).collect();
    let blocks: Vec<_> = blocks.into_iter().map(|(size, s)| (b.malloc(pool, size, s), size, s)).collect();
    for (block, size, s) in blocks {
        b.free(block, s);
        sum += size;
    }
    b.sim().run_all();
    b.malloc(pool, sum, mine);
}

/// tenstorrent/tt-metal#35516: 8 must not take the block of 16.
#[test]
fn tt_metal_35516_best_fit_not_first_fit() {
    let b = Bench::new(15);
    let (s, pool) = (b.stream(), b.pool(4 * MIB, NO_SWITCH));
    let kib = 1024;
    let (a, _x) = (b.malloc(pool, 16 * kib, s), b.malloc(pool, 512, s));
    let (c, _y) = (b.malloc(pool, 8 * kib, s), b.malloc(pool, 512, s));
    b.free(a, s);
    b.free(c, s);
    assert_eq!(b.malloc(pool, 8 * kib, s), c);
    assert_eq!(b.malloc(pool, 16 * kib, s), a);
}

/// pytorch/pytorch#147168: over-holding by record_stream.
#[test]
fn pytorch_147168_usable_after_the_last_recorded_use() {
    let b = Bench::new(16);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::EVENT));
    let (ready, used) = (b.event(), b.event());
    let a = b.malloc(pool, 2 * MIB, s1);
    b.rt.record(ready, s1).unwrap();
    b.rt.wait(s2, ready).unwrap();
    b.write(a, s2);
    b.rt.record_use(a, s2, UseUntil::Now).unwrap();
    b.rt.record(used, s2).unwrap();
    // Unrelated work keeps coming on s2.
    b.pause(s2);
    b.work(s2);
    b.rt.wait(s1, used).unwrap();
    b.free(a, s1);
    assert_eq!(b.malloc(pool, 2 * MIB, s1), a);
}

/// ggml-org/llama.cpp#5429: the default threshold of 0 in a loop that synchronises; the cost is counted.
#[test]
fn llama_cpp_5429_what_the_threshold_costs_is_counted() {
    let b = Bench::new(17);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let round = |b: &Bench| {
        let a = b.malloc(pool, 16 * MIB, s);
        b.free(a, s);
        b.rt.synchronize_stream(s).unwrap();
    };
    (0..5).for_each(|_| round(&b));
    assert_eq!((b.rt.counters().create, b.rt.counters().destroy), (40, 40));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 16 * MIB).unwrap();
    (0..5).for_each(|_| round(&b));
    assert_eq!((b.rt.counters().create, b.rt.counters().unmap), (48, 40), "kept after the first round");
}

/// ROCm/rocm-systems#11642: a failed allocation leaves memory behind.
#[test]
fn rocm_11642_a_failed_allocation_changes_nothing() {
    let b = Bench::new(18);
    let (s, pool) = (b.stream(), b.pool(16 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 12 * MIB, s);
    let before = (b.used(pool), b.reserved(pool), b.sim().created(DEVICE));
    assert!(matches!(b.try_malloc(pool, 9 * MIB, s), Err(MallocError::OutOfMemory(_))));
    for n in 1..=6u64 {
        use weir::driver::{DriverCall, DriverErrorKind};
        let call = if n % 2 == 0 { DriverCall::Map } else { DriverCall::Create };
        b.sim().fail_nth(Some(call), n.div_ceil(2).min(2), DriverErrorKind::Failed).unwrap();
        assert!(matches!(b.try_malloc(pool, 4 * MIB, s), Err(MallocError::Driver(_))), "failure {n}");
        assert_eq!((b.used(pool), b.reserved(pool), b.sim().created(DEVICE)), before);
    }
    b.malloc(pool, 4 * MIB, s);
    b.free(a, s);
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

/// cupy/cupy#5191: a block knows its pool.
#[test]
fn cupy_5191_the_default_pool_may_change_between_malloc_and_free() {
    let b = Bench::new(20);
    let (s, other) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let default = b.rt.default_pool(DEVICE).unwrap();
    assert_eq!(b.rt.default_pool(DEVICE), Ok(default));
    let a = b.malloc(default, 2 * MIB, s);
    let c = b.malloc(other, 2 * MIB, s);
    b.free(a, s);
    assert_eq!((b.used(default), b.used(other)), (0, 2 * MIB));
    b.free(c, s);
}

/// CANN's design waits before it grows, where switch 3 is on.
#[test]
fn cann_wait_first_keeps_reserved_low() {
    for (preference, reserved) in [(Preference::WaitFirst, 8), (Preference::GrowFirst, 16)] {
        let b = Bench::new(21);
        let (s1, s2, e) = (b.stream(), b.stream(), b.event());
        let config =
            PoolConfig { limit: Bytes::mib(64), reuse: Reuse::INTERNAL, preference, ..PoolConfig::new(DEVICE) };
        let pool = b.rt.create_pool(config).unwrap();
        let a = b.malloc(pool, 8 * MIB, s1);
        b.free(a, s1);
        b.rt.record(e, s1).unwrap();
        let c: DevicePtr = b.malloc(pool, 8 * MIB, s2);
        assert_eq!((c == a, b.reserved(pool)), (preference == Preference::WaitFirst, reserved * MIB));
    }
}
