//! What a loop costs once it is warm, and what a trim says that it leaves.
//!
//! A loop is steady when each round makes the same calls. After its first rounds it creates, destroys, maps and unmaps
//! nothing, as long as it does not synchronise, or its threshold is at least its peak. What it still pays for is markers: on one
//! stream none, but for the 64 frees after a growth that met unsettled memory; on several at most one for each run of
//! frees on a stream, laid with the next call there.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::Counters;
use weir::driver::Capabilities;
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, PoolConfig, Release, Reuse, Tuning};
use weir::sim::{DeviceConfig, Progress};
use weir::units::{Bytes, DevicePtr};

/// Rounds before the loop counts as warm, and rounds that are counted.
const WARM: u64 = 16;
const COUNTED: u64 = 20;

/// When work is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    /// At once.
    Prompt,
    /// Never.
    Late,
    /// Never; but the device maps and unmaps in stream order.
    Ordered,
}

const DEVICES: [Device; 3] = [Device::Prompt, Device::Late, Device::Ordered];

/// A program that counts its calls, and the markers that the rule allows for them.
struct Play {
    bench: Bench,
    pool: PoolId,
    streams: Vec<StreamId>,
    event: EventId,
    /// Streams that freed something since their last other call.
    open: Vec<bool>,
    calls: u64,
    markers: u64,
}

impl Play {
    fn new(device: Device, streams: usize, threshold: u64) -> Self {
        let mut config = DeviceConfig::new(Bytes::mib(1024));
        if device == Device::Ordered {
            config.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
        }
        let bench = Bench::on(1, &[config]);
        let streams: Vec<_> = (0..streams).map(|_| bench.stream()).collect();
        match device {
            Device::Prompt => bench.sim().set_progress(Progress::Immediate),
            Device::Late | Device::Ordered => streams.iter().for_each(|&s| bench.pause(s)),
        }
        // No habit helps: what is kept is kept by the threshold.
        let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
        let config = PoolConfig { threshold: Bytes(threshold), tuning, ..PoolConfig::new(DEVICE) };
        let (pool, event, open) = (bench.rt.create_pool(config).unwrap(), bench.event(), vec![false; streams.len()]);
        Self { bench, pool, streams, event, open, calls: 0, markers: 0 }
    }

    /// A call on the stream that may lay a marker.
    fn calls(&mut self, stream: usize) {
        self.calls += 1;
        self.markers += u64::from(std::mem::take(&mut self.open[stream]));
    }

    fn malloc(&mut self, stream: usize, size: u64) -> DevicePtr {
        self.calls(stream);
        self.bench.malloc(self.pool, size, self.streams[stream])
    }

    fn free(&mut self, stream: usize, ptr: DevicePtr) {
        self.calls += 1;
        self.open[stream] = true;
        self.bench.free(ptr, self.streams[stream]);
    }

    fn order(&mut self, from: usize, to: usize) {
        self.calls(from);
        self.bench.rt.record(self.event, self.streams[from]).unwrap();
        self.calls(to);
        self.bench.rt.wait(self.streams[to], self.event).unwrap();
    }

    fn synchronise(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.calls(stream));
        self.bench.rt.synchronize_device(DEVICE).unwrap();
    }

    /// Runs a loop until it is warm, then counts.
    fn count(mut self, name: &str, mut round: impl FnMut(&mut Self)) -> Counted {
        (0..WARM).for_each(|_| round(&mut self));
        (self.calls, self.markers) = (0, 0);
        let before = self.bench.rt.counters();
        (0..COUNTED).for_each(|_| round(&mut self));
        let after = self.bench.rt.counters();
        let reserved = self.bench.rt.stats(self.pool).unwrap().reserved_high.get();
        self.streams.iter().for_each(|&s| self.bench.resume(s));
        self.bench.sim().run_all();
        self.bench.check();
        let marks = after.mark - before.mark;
        println!(
            "{name}: moves {:?} of {} calls, markers {marks} of {}",
            moves(&before, &after),
            self.calls,
            self.markers
        );
        Counted { moves: moves(&before, &after), marks, allowed: self.markers, calls: self.calls, reserved }
    }
}

/// Granules created, destroyed, mapped and unmapped.
fn moves(before: &Counters, after: &Counters) -> [u64; 4] {
    let of = |c: &Counters| [c.create, c.destroy, c.map, c.unmap];
    let (before, after) = (of(before), of(after));
    std::array::from_fn(|n| after[n] - before[n])
}

/// What the rounds of a warm loop cost.
struct Counted {
    moves: [u64; 4],
    marks: u64,
    allowed: u64,
    calls: u64,
    reserved: u64,
}

/// A training step on one stream: activations stay until the way back, each with a workspace beside it; sizes of all
/// orders of magnitude.
fn training_step(p: &mut Play) {
    let sizes: Vec<u64> = (0..24).map(|n| (512 << (n * 5 % 14)) + 512 * n * n).collect();
    let forward: Vec<_> = sizes
        .iter()
        .map(|&size| {
            let workspace = p.malloc(0, 2 * size + 512);
            let activation = p.malloc(0, size);
            p.free(0, workspace);
            activation
        })
        .collect();
    for (&size, activation) in sizes.iter().zip(forward).rev() {
        let gradient = p.malloc(0, size / 2 + 512);
        p.free(0, activation);
        p.free(0, gradient);
    }
}

/// Two streams that are tied by events in both directions: one makes, the other consumes and frees.
fn producer_and_consumer(p: &mut Play) {
    for layer in 0..8 {
        let size = (layer + 1) * 700 * 1024;
        let made = [p.malloc(0, size), p.malloc(0, 4096), p.malloc(0, size / 3)];
        p.order(0, 1);
        let workspace = p.malloc(1, size + MIB);
        p.free(1, workspace);
        made.iter().for_each(|&block| p.free(1, block));
    }
    p.order(1, 0);
}

/// On one stream that never synchronises nothing is moved, and no marker is laid once those after a growth are.
#[test]
fn a_warm_loop_on_one_stream_costs_nothing() {
    for device in DEVICES {
        let counted = Play::new(device, 1, 0).count(&format!("one stream, {device:?}"), training_step);
        assert_eq!((counted.moves, counted.marks), ([0; 4], 0), "{device:?}");
    }
}

/// With a threshold at its peak, neither does one that synchronises each round.
#[test]
fn a_warm_loop_that_synchronises_keeps_its_peak() {
    let peak = Play::new(Device::Prompt, 1, 0).count("the peak", training_step).reserved;
    for (threshold, moved) in [(peak, false), (0, true)] {
        let counted = Play::new(Device::Prompt, 1, threshold).count("synchronising", |p| {
            training_step(p);
            p.synchronise();
        });
        assert_eq!((counted.moves != [0; 4], counted.marks), (moved, 0), "threshold {threshold}");
    }
}

/// Two streams pay for markers: at most one for each run of frees.
#[test]
fn a_warm_loop_on_two_streams_lays_a_marker_for_each_run_of_frees() {
    for device in DEVICES {
        let counted = Play::new(device, 2, 0).count(&format!("two streams, {device:?}"), producer_and_consumer);
        assert_eq!(counted.moves, [0; 4], "{device:?}");
        assert!(counted.marks <= counted.allowed, "{device:?}: {} of {}", counted.marks, counted.allowed);
        // Eight runs of four frees in rounds of 82 calls.
        let per_thousand = counted.marks * 1000 / counted.calls;
        assert!(per_thousand <= 8 * 1000 / 82, "{device:?}: {per_thousand} per 1,000 calls");
    }
}

/// The smallest loop that moves the same granule in each round: what is live at once leaves no granule over, and each round
/// begins at the front of what the last one moved behind.
#[test]
fn a_warm_loop_moves_nothing_even_where_no_granule_is_spare() {
    let counted = Play::new(Device::Prompt, 1, 0).count("no granule spare", |p| {
        let first = p.malloc(0, 2 * MIB);
        let second = p.malloc(0, 2 * MIB);
        p.free(0, first);
        let third = p.malloc(0, 4 * MIB);
        p.free(0, third);
        p.free(0, second);
    });
    assert_eq!(counted.moves, [0; 4]);
}

/// A trim of a pool with something of each kind, and what it says of it.
#[test]
fn a_trim_says_what_holds_the_rest() {
    let b = Bench::new(1);
    let (s, t, pool) = (b.stream(), b.stream(), b.pool(0, Reuse::all()));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    // Ends of one granule, whole ones of t, and whole ones that are complete.
    let _live = b.malloc(pool, 3 * MIB, s);
    let pending = b.malloc(pool, 8 * MIB, t);
    let complete = b.malloc(pool, 20 * MIB, s);
    b.free(complete, s);
    b.rt.synchronize_stream(s).unwrap();
    b.pause(t);
    b.work(t);
    b.free(pending, t);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!(trimmed.live, Bytes(3 * MIB));
    // It lies from 3 to 11 MiB, and what is left of its last granule cannot go without it.
    assert_eq!(trimmed.pending, Bytes(8 * MIB));
    assert_eq!(trimmed.reserved.get(), trimmed.live.get() + trimmed.pending.get() + trimmed.partial.get());
    assert_eq!(trimmed.reserved, Bytes(12 * MIB));
    let mut on = Vec::new();
    b.rt.pending(pool, s, |p| on.push((p.stream, p.bytes))).unwrap();
    assert_eq!(on, [(t, Bytes(8 * MIB))]);
    b.resume(t);
    b.rt.synchronize_stream(t).unwrap();
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.live, trimmed.pending, trimmed.partial), (Bytes(3 * MIB), Bytes::ZERO, Bytes(MIB)));
    assert_eq!(trimmed.reserved, Bytes(4 * MIB));
}

/// A granule of which each half waits for another stream is pending, not partly free.
#[test]
fn a_granule_that_two_streams_hold_back_is_pending() {
    let b = Bench::new(1);
    let (s, t, pool) = (b.stream(), b.stream(), b.pool(0, Reuse::all()));
    let halves = [b.malloc(pool, MIB, s), b.malloc(pool, MIB, t)];
    b.pause(s);
    b.pause(t);
    b.work(s);
    b.work(t);
    b.free(halves[0], s);
    b.free(halves[1], t);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.pending, trimmed.partial), (Bytes(2 * MIB), Bytes::ZERO));
}
