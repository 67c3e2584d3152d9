//! A block is joined with the free memory beside it before it is cut: what lives long is not cut from the middle of what
//! could be one run.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, MIB};
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, Reuse};
use weir::sim::Progress;
use weir::units::{Bytes, DevicePtr};
use weir::{Counters, PoolStats};

/// Three free neighbours of 4, 3 and 4 MiB that wait for two streams, and a free block of 8 MiB on its own; every other
/// byte of their granules is live. Stream `s` may use all of it.
struct Neighbours {
    b: Bench,
    s: StreamId,
    t: StreamId,
    pool: PoolId,
    event: EventId,
    middle: DevicePtr,
    alone: DevicePtr,
}

impl Neighbours {
    fn new(reuse: Reuse) -> Self {
        let b = Bench::new(1);
        let (s, t, pool, event) = (b.stream(), b.stream(), b.pool(0, reuse), b.event());
        b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
        let blocks = [MIB, 4 * MIB, 3 * MIB, 4 * MIB, MIB, 8 * MIB, MIB].map(|size| b.malloc(pool, size, s));
        let [_, first, middle, last, _, alone, _] = blocks;
        assert_eq!((middle.0 - first.0, last.0 - middle.0), (4 * MIB, 3 * MIB));
        for stream in [s, t] {
            b.pause(stream);
            b.work(stream);
        }
        b.rt.record(event, s).unwrap();
        b.rt.wait(t, event).unwrap();
        b.free(middle, t);
        b.rt.record(event, t).unwrap();
        b.rt.wait(s, event).unwrap();
        [first, last, alone].into_iter().for_each(|block| b.free(block, s));
        Self { b, s, t, pool, event, middle, alone }
    }

    /// The work of both streams ends. Nobody tells the pool.
    fn complete(&self) {
        [self.s, self.t].into_iter().for_each(|stream| self.b.resume(stream));
        self.b.sim().run_all();
    }

    /// Lays the markers that are due, whatever the pool's switches.
    fn mark(&self) {
        self.b.rt.record(self.event, self.s).unwrap();
        self.b.rt.record(self.event, self.t).unwrap();
    }

    /// Where a request of 2 MiB is cut from, and how many questions that took.
    fn cut(&self) -> (DevicePtr, u64) {
        let before = self.b.rt.counters().query;
        let ptr = self.b.rt.malloc_async(self.pool, Bytes(2 * MIB), self.s).unwrap();
        (ptr, self.b.rt.counters().query - before)
    }

    /// Whether all three have stayed one run: then there is room for all of them.
    fn is_whole(&self) -> bool {
        let before = self.b.reserved(self.pool);
        self.b.malloc(self.pool, 11 * MIB, self.s);
        self.b.reserved(self.pool) == before
    }
}

#[test]
fn what_is_complete_is_joined_and_the_closest_size_is_another() {
    let n = Neighbours::new(Reuse::all());
    n.mark();
    n.complete();
    let (ptr, asked) = n.cut();
    assert_eq!(ptr, n.alone, "8 MiB are closer to 2 than 11");
    assert!((1..=2).contains(&asked), "each stream is asked about once: {asked}");
    assert!(n.is_whole());
}

#[test]
fn what_the_program_learnt_needs_no_question() {
    for reuse in [Reuse::all(), Reuse::EVENT] {
        let n = Neighbours::new(reuse);
        [n.s, n.t].into_iter().for_each(|stream| n.b.resume(stream));
        n.b.rt.synchronize_stream(n.s).unwrap();
        n.b.rt.synchronize_stream(n.t).unwrap();
        assert_eq!(n.cut(), (n.alone, 0), "{reuse:?}");
        assert!(n.is_whole(), "{reuse:?}");
    }
}

#[test]
fn what_is_pending_stays_apart_and_is_asked_about_ever_less() {
    let n = Neighbours::new(Reuse::all());
    n.mark();
    assert_eq!(n.cut(), (n.middle, 1), "the closest size of what may be used");
    let (mut asked, mut blocks) = (0, 0);
    for _ in 0..2_000 {
        let (ptr, questions) = n.cut();
        asked += questions;
        blocks += 1;
        n.b.free(ptr, n.s);
    }
    assert!(asked <= 12, "{asked} questions for {blocks} blocks");
}

#[test]
fn without_its_switch_the_pool_does_not_ask() {
    for reuse in [Reuse::EVENT, Reuse::EVENT | Reuse::INTERNAL] {
        let n = Neighbours::new(reuse);
        n.mark();
        n.complete();
        assert_eq!(n.cut(), (n.middle, 0), "{reuse:?}");
    }
}

#[test]
fn an_exact_fit_is_taken_as_it_is() {
    let n = Neighbours::new(Reuse::all());
    n.mark();
    n.complete();
    let before = n.b.rt.counters().query;
    assert_eq!(n.b.malloc(n.pool, 3 * MIB, n.s), n.middle);
    assert_eq!(n.b.rt.counters().query, before);
}

/// From a handler no question is put; what is known is joined.
#[test]
fn a_handler_gets_the_block_without_a_question() {
    let n = Neighbours::new(Reuse::all());
    n.mark();
    n.complete();
    let before = n.b.rt.counters().query;
    let ptr = n.b.rt.try_malloc_async(n.pool, Bytes(2 * MIB), n.s).unwrap();
    assert_eq!((ptr, n.b.rt.counters().query), (n.middle, before));
    n.b.check();
}

/// Free neighbours of 4 MiB each that one stream freed, with a marker behind each free, and then a free block of 6 MiB on its own.
/// Both it and `gate`, which it waits for behind the eighth free, stand still. There is room for nothing more.
struct Marked {
    b: Bench,
    s: StreamId,
    other: StreamId,
    gate: StreamId,
    pool: PoolId,
    first: DevicePtr,
    alone: DevicePtr,
}

impl Marked {
    fn new(neighbours: u64) -> Self {
        let b = Bench::new(1);
        let (s, other, gate, event) = (b.stream(), b.stream(), b.stream(), b.event());
        // The markers are laid by mallocs of small blocks, which have a granule of their own.
        let pool = b.pool((4 * neighbours + 12) * MIB, Reuse::EVENT | Reuse::OPPORTUNISTIC);
        for stream in [s, gate] {
            b.pause(stream);
            b.work(stream);
        }
        b.rt.record(event, gate).unwrap();
        let (_guard, _small) = (b.malloc(pool, 2 * MIB, s), b.malloc(pool, 512, s));
        let blocks: Vec<_> = (0..neighbours).map(|_| b.malloc(pool, 4 * MIB, s)).collect();
        let (_guard, alone) = (b.malloc(pool, 2 * MIB, s), b.malloc(pool, 6 * MIB, s));
        for (place, &block) in blocks.iter().enumerate() {
            b.free(block, s);
            b.malloc(pool, 512, s);
            if place == 7 {
                b.rt.wait(s, event).unwrap();
            }
        }
        b.free(alone, s);
        b.malloc(pool, 512, s);
        Self { first: blocks[0], b, s, other, gate, pool, alone }
    }
}

#[test]
fn what_a_stream_freed_is_one_to_it_across_markers() {
    let m = Marked::new(2);
    assert_eq!(m.b.malloc(m.pool, 3 * MIB, m.s), m.alone, "6 MiB are closer to 3 than 8");
    assert_eq!(m.b.malloc(m.pool, 8 * MIB, m.s), m.first);
}

/// Of sixteen blocks the eight that were freed first are complete. What the stream cuts meanwhile leaves others enough of them.
#[test]
fn what_a_stream_joins_it_keeps_from_others_within_bounds() {
    let m = Marked::new(16);
    m.b.malloc(m.pool, MIB, m.s);
    m.b.resume(m.s);
    m.b.sim().run_all();
    for _ in 0..4 {
        m.b.malloc(m.pool, 4 * MIB, m.other);
    }
    m.b.resume(m.gate);
    m.b.sim().run_all();
    m.b.check();
}

/// A training loop on two streams: weights stay, optimiser state comes after the first step, activations of other sizes in
/// each step, gradients go over in buckets that the second stream frees. Once it is warm almost nothing is moved, and
/// what is reserved is what the peak needs.
struct Training {
    b: Bench,
    compute: StreamId,
    reduce: StreamId,
    event: EventId,
    pool: PoolId,
}

impl Training {
    const LAYERS: u64 = 10;

    fn order(&self, from: StreamId, to: StreamId) {
        self.b.rt.record(self.event, from).unwrap();
        self.b.rt.wait(to, self.event).unwrap();
    }

    fn step(&self, length: u64, state: &mut Vec<DevicePtr>) {
        let unit = length * 4096;
        let malloc = |size| self.b.malloc(self.pool, size, self.compute);
        let free = |block| self.b.free(block, self.compute);
        let mut forward = Vec::new();
        for _ in 0..Self::LAYERS {
            let workspace = malloc(3 * MIB);
            forward.push([1, 3, 1, 4].map(|part| malloc(part * unit)));
            free(workspace);
        }
        // What needs the longest runs comes when least is left.
        let logits = malloc(24 * unit);
        let loss = malloc(48 * unit);
        [logits, loss].into_iter().for_each(free);
        let mut buckets = Vec::new();
        while let Some(layer) = forward.pop() {
            let gradient = malloc(4 * unit);
            layer.into_iter().rev().for_each(free);
            let weights = [2 * MIB, MIB / 2].map(malloc);
            self.order(self.compute, self.reduce);
            buckets.push(self.b.malloc(self.pool, 2 * MIB + MIB / 2, self.reduce));
            self.order(self.reduce, self.compute);
            weights.into_iter().for_each(free);
            free(gradient);
            if buckets.len() > 2 {
                self.b.free(buckets.remove(0), self.reduce);
            }
        }
        if state.is_empty() {
            state.extend((0..4 * Self::LAYERS).map(|at| malloc(MIB / 2 + at % 4 * MIB / 4)));
        }
        buckets.into_iter().for_each(|bucket| self.b.free(bucket, self.reduce));
    }
}

#[test]
fn a_training_loop_of_two_streams_moves_next_to_nothing() {
    let b = Bench::new(1);
    let (compute, reduce, event, pool) = (b.stream(), b.stream(), b.event(), b.pool(0, Reuse::all()));
    b.sim().set_progress(Progress::Immediate);
    let training = Training { b, compute, reduce, event, pool };
    let _weights: Vec<_> = (0..40).map(|_| training.b.malloc(pool, 3 * MIB / 4, compute)).collect();
    let mut state = Vec::new();
    let lengths = [500, 140, 270, 210, 320, 300, 350, 320, 410, 380, 450, 290];
    lengths.iter().for_each(|&length| training.step(length, &mut state));
    let numbers = || (training.b.rt.counters(), training.b.rt.stats(pool).unwrap());
    let before = numbers();
    for length in [320, 300, 350, 320, 410, 380, 450, 290].repeat(2) {
        training.step(length, &mut state);
    }
    let after = numbers();
    let maps = |of: &(Counters, PoolStats)| of.0.map + of.0.unmap;
    let calls = |of: &(Counters, PoolStats)| of.1.mallocs + of.1.frees;
    let (maps, calls) = (maps(&after) - maps(&before), calls(&after) - calls(&before));
    let (reserved, used) = (after.1.reserved_high.get(), after.1.used_high.get());
    println!("{maps} maps and unmaps in {calls} mallocs and frees; reserved {reserved}, used {used}");
    assert!(maps * 1000 < 10 * calls, "{maps} maps and unmaps in {calls} mallocs and frees");
    // Where blocks are cut as they lie it is 156 in 1,000, and 16 percent beyond the peak.
    assert!(reserved * 100 < used * 104, "{reserved} of {used}");
}
