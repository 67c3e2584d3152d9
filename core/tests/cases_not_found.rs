//! Faults that users of such allocators reported, each as a small trace with the right answer; the name says whose.
//! Here: memory that was there and was not found.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::error::MallocError;
use weir::id::{PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Reuse, UseUntil};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr};

const NO_SWITCH: Reuse = Reuse::empty();

fn keep(b: &Bench, pool: PoolId) {
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
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

/// pytorch/pytorch#159674, vllm-project/vllm#43951, #48680: 60, then 70 of 80 (here MiB), with and without a
/// synchronisation between, whatever the threshold.
#[test]
fn pytorch_159674_60_then_70_of_80() {
    for (threshold, synchronised) in [(0, true), (u64::MAX, true), (u64::MAX, false)] {
        let b = Bench::new(12);
        let (s, pool) = (b.stream(), b.pool(80 * MIB, NO_SWITCH));
        b.rt.set_attribute(pool, Attribute::ReleaseThreshold, threshold).unwrap();
        let a = b.malloc(pool, 60 * MIB, s);
        b.free(a, s);
        if synchronised {
            b.rt.synchronize_stream(s).unwrap();
        }
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

/// NVIDIA/cudf-spark#5303, #4045, #6768: many task threads, each with its stream; then one request of the sum. By asking
/// the device, or after one synchronisation of it.
#[test]
fn cudf_spark_5303_the_sum_of_many_streams_odd_blocks() {
    for reuse in [NO_SWITCH, Reuse::OPPORTUNISTIC] {
        let b = Bench::new(14);
        let (mine, pool) = (b.stream(), b.pool(128 * MIB, reuse));
        keep(&b, pool);
        let streams: Vec<_> = (0..8).map(|_| b.stream()).collect();
        let sizes = (1..=8).map(|n| n * 3 * MIB + n * 512);
        let sum = sizes.clone().sum();
        let blocks: Vec<_> = sizes.zip(streams).map(|(size, s)| (b.malloc(pool, size, s), s)).collect();
        for (block, s) in blocks {
            b.free(block, s);
        }
        match reuse {
            NO_SWITCH => b.rt.synchronize_device(DEVICE).unwrap(),
            _ => drop(b.sim().run_all()),
        }
        b.malloc(pool, sum, mine);
    }
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

/// How a range of addresses without remapping is filled.
#[derive(Clone, Copy, Debug)]
enum Fit {
    Best,
    First,
    Worst,
}

/// A contiguous range of so many MiB, with the blocks in it by address.
struct Contiguous {
    end: u64,
    live: Vec<(u64, u64)>,
}

impl Contiguous {
    fn malloc(&mut self, size: u64, fit: Fit) -> Option<u64> {
        let starts = [0].into_iter().chain(self.live.iter().map(|&(at, size)| at + size));
        let ends = self.live.iter().map(|&(at, _)| at).chain([self.end]);
        let gaps = starts.zip(ends).map(|(from, to)| (from, to - from)).filter(|&(_, gap)| gap >= size);
        let (at, _) = match fit {
            Fit::Best => gaps.min_by_key(|&(_, gap)| gap),
            Fit::First => gaps.min(),
            Fit::Worst => gaps.max_by_key(|&(_, gap)| gap),
        }?;
        self.live.push((at, size));
        self.live.sort_unstable();
        Some(at)
    }

    fn free(&mut self, at: u64) {
        self.live.retain(|&(block, _)| block != at);
    }
}

/// tenstorrent/tt-metal#15536: a sliver between two long-lived blocks holds a large request up. No rule of filling one
/// range serves this trace in 32 MiB, of which 20 are free; moved granules do.
#[test]
fn tt_metal_15536_a_sliver_between_long_lived_blocks() {
    const WEDGE: [u64; 4] = [10, 2, 12, 2];
    for fit in [Fit::Best, Fit::First, Fit::Worst] {
        let mut range = Contiguous { end: 32, live: Vec::new() };
        let placed = WEDGE.map(|size| range.malloc(size, fit).unwrap());
        range.free(placed[0]);
        range.free(placed[2]);
        range.malloc(8, fit).unwrap();
        assert_eq!(range.malloc(16, fit), None, "{fit:?}");
    }
    let b = Bench::new(15);
    let (s, pool) = (b.stream(), b.pool(32 * MIB, NO_SWITCH));
    keep(&b, pool);
    let placed = WEDGE.map(|size| b.malloc(pool, size * MIB, s));
    b.free(placed[0], s);
    b.free(placed[2], s);
    b.rt.synchronize_stream(s).unwrap();
    b.malloc(pool, 8 * MIB, s);
    b.malloc(pool, 16 * MIB, s);
    assert_eq!((b.used(pool), b.reserved(pool)), (28 * MIB, 28 * MIB));
}

/// rapidsai/rmm#397: what was merged across two pieces of physical memory is released by half. The boundary is a fact
/// that survives the merge.
#[test]
fn rmm_397_half_of_what_was_merged_is_released() {
    let b = Bench::new(16);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    keep(&b, pool);
    let halves = [(); 2].map(|()| b.malloc(pool, 2 * MIB, s));
    assert_eq!(halves[1].0, halves[0].0 + 2 * MIB, "adjacent");
    halves.into_iter().for_each(|half| b.free(half, s));
    let whole = b.malloc(pool, 4 * MIB, s);
    b.free(whole, s);
    b.rt.synchronize_stream(s).unwrap();
    assert_eq!(b.rt.trim_to(pool, Bytes::mib(2)).unwrap().reserved, Bytes::mib(2));
    b.check();
    b.malloc(pool, 2 * MIB, s);
    assert_eq!(b.reserved(pool), 2 * MIB, "the other half serves");
    b.malloc(pool, 4 * MIB, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
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
