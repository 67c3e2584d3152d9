//! Faults that users of such allocators reported, each as a small trace with the right answer; the name says whose.
//! Here: capture, lifetimes, bounded work, and what a refusal explains.
//!
//! What has no test in the `cases_*` files, and why:
//!
//! | report | why |
//! | --- | --- |
//! | rapidsai/rmm#1887: the lock is the bottleneck, and there are no numbers | a measurement: a test has no clock |
//! | pytorch/pytorch#86241, tenstorrent/tt-metal#43441: draw the allocations | the viewer's, which has its own tests |
//! | the half of Genesis-Embodied-AI/quadrants#669 that asks for a callback under pressure | there is none yet |
//! | the half of JuliaGPU/CUDA.jl#1540 that asks for hysteresis | a threshold is exact; the cost is counted |
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::Capture;
use weir::driver::DriverCall;
use weir::error::{FreeError, MallocError};
use weir::policy::{Attribute, Reuse};
use weir::trace::Source;
use weir::units::Bytes;

const NO_SWITCH: Reuse = Reuse::empty();

/// pytorch/pytorch#190308: an aborted capture leaks the pool. A capturing stream is refused before anything happens, so
/// there is nothing to leak, and it works on when the capture is over.
#[test]
fn pytorch_190308_an_aborted_capture_leaves_nothing_behind() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), b.pool(8 * MIB, Reuse::all()));
    let a = b.malloc(pool, 4 * MIB, s);
    let before = b.rt.stats(pool).unwrap();
    b.rt.set_capture(s, Capture::Active).unwrap();
    let calls = || DriverCall::ALL.map(|call| b.sim().calls(call));
    let made = calls();
    for _ in 0..10 {
        assert_eq!(b.try_malloc(pool, 4 * MIB, s), Err(MallocError::Capturing(s)));
        assert_eq!(b.rt.free_async(a, s), Err(FreeError::Capturing(s)));
    }
    assert_eq!(calls(), made, "a call there would be captured");
    // The error ends the capture.
    b.rt.set_capture(s, Capture::None).unwrap();
    let after = b.rt.stats(pool).unwrap();
    assert_eq!((after.used, after.reserved, after.live_blocks), (before.used, before.reserved, 1));
    b.free(a, s);
    b.malloc(pool, 8 * MIB, s);
}

/// pytorch/pytorch#158352, #162186, #175817: during a capture nothing is reused, since a pending block cannot be asked
/// about. Another stream's capture hides no order that is known: along events, without a question.
#[test]
fn pytorch_158352_what_is_known_is_used_while_another_stream_captures() {
    let b = Bench::new(2);
    let (capturing, s, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(4 * MIB, Reuse::all()));
    let a = b.malloc(pool, 4 * MIB, capturing);
    b.free(a, capturing);
    b.rt.record(e, capturing).unwrap();
    b.rt.set_capture(capturing, Capture::Active).unwrap();
    b.rt.wait(s, e).unwrap();
    let before = b.sim().calls(DriverCall::Query);
    for _ in 0..20 {
        let block = b.malloc(pool, 4 * MIB, s);
        assert_eq!(block, a);
        b.free(block, s);
    }
    assert_eq!(b.sim().calls(DriverCall::Query), before);
    assert_eq!((b.sources(pool, Source::Event), b.sources(pool, Source::SameStream)), (1, 19));
}

/// ROCm/legacy-rocm-build#6681, ml-explore/mlx#2850: while one stream captures, no other may allocate or free.
#[test]
fn rocm_6681_a_capture_is_a_matter_of_its_stream() {
    let b = Bench::new(3);
    let (capturing, s, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::all()));
    b.rt.set_capture(capturing, Capture::Active).unwrap();
    let a = b.malloc(pool, 4 * MIB, s);
    b.free(a, s);
    assert_eq!(b.malloc(pool, 4 * MIB, s), a);
    b.rt.synchronize_stream(s).unwrap();
    b.free(a, s);
    b.rt.synchronize_stream(s).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 0);
    assert_eq!(b.try_malloc(pool, 4 * MIB, capturing), Err(MallocError::Capturing(capturing)));
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

/// gfx-rs/wgpu#1242: every 676 frames a stall of 25 ms, for a clean-up. Here no call of a frame makes more than one driver
/// call once the pool is warm, however many frames there are, and none of them makes, moves or gives back memory.
#[test]
fn wgpu_1242_the_work_of_a_call_is_bounded() {
    let b = Bench::new(5);
    let (s, pool) = ([b.stream(), b.stream()], b.pool(512 * MIB, Reuse::all()));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    let calls = || DriverCall::ALL.iter().map(|&call| b.sim().calls(call)).sum::<u64>();
    let memory =
        || [DriverCall::Create, DriverCall::Destroy, DriverCall::Map, DriverCall::Unmap].map(|c| b.sim().calls(c));
    let (mut most, mut warm, mut kept) = (0, [0; 4], Vec::new());
    for frame in 0..3000u64 {
        let on = s[(frame % 2) as usize];
        let frame_blocks: Vec<_> = [3 * MIB, 40_000, 512]
            .iter()
            .map(|size| (calls(), b.malloc(pool, *size, on)))
            .map(|(before, block)| {
                most = most.max(calls() - before);
                block
            })
            .collect();
        kept.push((frame_blocks, on));
        if kept.len() > 3 {
            let (blocks, on) = kept.remove(0);
            blocks.into_iter().for_each(|block| b.free(block, on));
        }
        b.sim().run_all();
        if frame == 100 {
            (most, warm) = (0, memory());
        }
    }
    assert_eq!(memory(), warm);
    assert!(most <= 1, "{most}");
}

/// antgroup/glake#12, pytorch/pytorch#1529, NVIDIA/cudf-spark#1018: explain a failed allocation. pytorch/pytorch#173049:
/// the hint names an option that is on already; this one names numbers, streams and what to do, and no option.
#[test]
fn glake_12_a_refusal_explains_itself() {
    let b = Bench::new(6);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(16 * MIB, NO_SWITCH));
    let live = b.malloc(pool, 6 * MIB, s1);
    let freed = b.malloc(pool, 4 * MIB, s2);
    b.free(freed, s2);
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 8 * MIB, s1) else { panic!("there is no room") };
    assert_eq!((oom.used, oom.reserved, oom.limit), (Bytes::mib(6), Bytes::mib(10), Bytes::mib(16)));
    assert_eq!((oom.pending, oom.largest_usable), (Bytes::mib(4), Bytes::ZERO));
    let text = oom.to_string();
    for part in [
        "8388608 B requested",
        "6291456 B used",
        "10485760 B reserved",
        "16777216 B",
        "4194304 B are freed but pending",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("synchronise those streams"), "{text}");
    // What it says helps.
    let on = oom.pending_on[0].unwrap();
    assert_eq!((on.stream, on.bytes), (s2, Bytes::mib(4)));
    b.rt.synchronize_stream(on.stream).unwrap();
    b.malloc(pool, 8 * MIB, s1);
    b.free(live, s1);
    assert_eq!(b.rt.stats(pool).unwrap().refused, 1);
}
