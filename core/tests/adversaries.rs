//! Programs made to waste memory, each with a bound on what it can make a pool hold.
//!
//! The bounds follow from rules that hold for every program, not from what the pool happens to do. With `g` the granule,
//! `a` the alignment and `m` the largest small size, an eighth of `g`:
//!
//! 1. **Granules.** A pool creates a granule only when none can be moved: when each that it has holds a byte of a live
//!    block. A block of `s` bytes touches at most `ceil((s + g - a) / g)` granules wherever it lies, so that less than two
//!    granules a live block are held beyond the live bytes: *additive* for blocks of a granule and more.
//! 2. **Inside granules.** Small blocks share granules with small blocks only, and get a new one only where no gap is as
//!    large as the request, so at most `m`. A granule with `k` blocks of `l` bytes has `k + 1` gaps at most; one block may
//!    lie across each of its ends. So `n` granules hold `n * g <= (k + 2n) * m + l`, less than 4/3 of `l + k * m`, and one
//!    that is new: *multiplicative*, but a block never costs more than a sixth of a granule beside 4/3 of its bytes. (Of any
//!    allocator that leaves blocks where they are some program asks for `1 + log2(g / size) / 2` times the live bytes: Robson
//!    1971. Best fit can be lured to more: Robson 1977.)
//!
//! They hold where all frees are ordered before the next malloc: there the peak of the live bytes is the floor that no
//! allocator gets below. Each program runs on a device that has completed everything by the next call, and on one that maps in
//! stream order and completes nothing at all.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, MIB};
use weir::driver::Capabilities;
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, Reuse};
use weir::sim::{DeviceConfig, Progress};
use weir::units::{Bytes, DevicePtr};

const KIB: u64 = 1 << 10;
const GRANULE: u64 = 2 * MIB;
const ALIGNMENT: u64 = 512;
/// Requests up to this size are small: the default, an eighth of a granule.
const SMALL: u64 = GRANULE / 8;

/// What a pool learns of the completion of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    /// All of it, as soon as it asks.
    Prompt,
    /// Nothing; but the device maps and unmaps in stream order.
    Ordered,
}

const DEVICES: [Device; 2] = [Device::Prompt, Device::Ordered];

/// The bytes of the granules that a block touches at most.
const fn touched(size: u64) -> u64 {
    (size.next_multiple_of(ALIGNMENT) + GRANULE - ALIGNMENT).div_ceil(GRANULE) * GRANULE
}

/// A program, and the rules applied to what it has live.
struct Play {
    bench: Bench,
    device: Device,
    pool: PoolId,
    streams: Vec<StreamId>,
    event: EventId,
    live: Vec<(DevicePtr, u64)>,
    /// The most that large blocks may have touched (rule 1), and small ones may have spread over (rule 2).
    large: u64,
    small: u64,
    bound: u64,
}

impl Play {
    fn new(device: Device, streams: usize, limit: u64) -> Self {
        let mut config = DeviceConfig::new(Bytes::mib(1024));
        if device == Device::Ordered {
            config.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
        }
        let bench = Bench::on(1, &[config]);
        let streams: Vec<_> = (0..streams).map(|_| bench.stream()).collect();
        match device {
            Device::Prompt => bench.sim().set_progress(Progress::Immediate),
            Device::Ordered => streams.iter().for_each(|&s| bench.pause(s)),
        }
        let (pool, event) = (bench.pool(limit, Reuse::all()), bench.event());
        Self { bench, device, pool, streams, event, live: Vec::new(), large: 0, small: 0, bound: 0 }
    }

    fn malloc(&mut self, size: u64) -> DevicePtr {
        self.malloc_on(0, size)
    }

    fn malloc_on(&mut self, stream: usize, size: u64) -> DevicePtr {
        let (_, before) = self.peaks();
        let ptr = self.bench.malloc(self.pool, size, self.streams[stream]);
        self.live.push((ptr, size));
        let (small, large): (Vec<u64>, Vec<u64>) = self.live.iter().map(|&(_, size)| size).partition(|&s| s <= SMALL);
        let apart = small.iter().map(|size| size.next_multiple_of(ALIGNMENT) + SMALL).sum::<u64>() * 4 / 3;
        let spread = if small.is_empty() { 0 } else { apart.next_multiple_of(GRANULE) + GRANULE };
        let large = large.iter().map(|&size| touched(size)).sum();
        // Small blocks may lie where they were when there were most.
        (self.large, self.small) = (self.large.max(large), self.small.max(spread));
        let (allowed, (_, reserved)) = (large + self.small, self.peaks());
        assert!(reserved == before || reserved <= allowed, "{:?}: grows to {reserved} of {allowed}", self.device);
        self.bound = self.bound.max(allowed);
        ptr
    }

    fn free(&mut self, ptr: DevicePtr) {
        self.free_on(0, ptr);
    }

    fn free_on(&mut self, stream: usize, ptr: DevicePtr) {
        self.bench.free(ptr, self.streams[stream]);
        self.live.retain(|&(at, _)| at != ptr);
    }

    /// What comes on stream `to` is behind what is on stream `from`.
    fn order(&self, from: usize, to: usize) {
        self.bench.rt.record(self.event, self.streams[from]).unwrap();
        self.bench.rt.wait(self.streams[to], self.event).unwrap();
    }

    fn peaks(&self) -> (u64, u64) {
        let stats = self.bench.rt.stats(self.pool).unwrap();
        (stats.used_high.get(), stats.reserved_high.get())
    }

    /// The peak is within what the rules allow, and within `bound`, which the program's own shape allows.
    fn end(self, name: &str, bound: u64) {
        let (used, reserved) = self.peaks();
        let bound = bound.min(self.bound);
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        println!(
            "{name:34} {:8} floor {:7.2} bound {:7.2} reserved {:7.2}",
            format!("{:?}", self.device),
            mib(used),
            mib(bound),
            mib(reserved)
        );
        assert!(reserved <= bound, "{name}, {:?}: {reserved} of at most {bound}, floor {used}", self.device);
        self.streams.iter().for_each(|&s| self.bench.resume(s));
        self.bench.sim().run_all();
        self.bench.check();
    }

    /// As [`end`](Self::end), by the rules alone.
    fn end_by_rules(self, name: &str) {
        self.end(name, u64::MAX);
    }
}

/// rapidsai/rmm#2039, at odd sizes: the frees of two streams alternate, then one request is as large as all.
#[test]
fn interleaved_frees_of_two_streams() {
    for device in DEVICES {
        for size in [2 * MIB, 3 * MIB + 512] {
            let mut p = Play::new(device, 2, 512 * MIB);
            let mut blocks = Vec::new();
            for n in 0..24 {
                blocks.push(p.malloc_on(n % 2, size));
                p.order(n % 2, 1 - n % 2);
            }
            blocks.iter().enumerate().for_each(|(n, &block)| p.free_on(n % 2, block));
            p.order(1, 0);
            p.malloc(24 * size);
            // All lies in one piece: nothing is apart but the end.
            p.end("interleaved frees, ordered", (24 * size).next_multiple_of(GRANULE));
        }
    }
}

/// The same without an event, in a pool that has no room for more: waits are inserted. Whole granules each, since what is
/// left of a granule that is mapped in the order of one stream is not the other's.
#[test]
fn interleaved_frees_of_two_streams_at_the_limit() {
    for device in DEVICES {
        let limit = 24 * 4 * MIB;
        let mut p = Play::new(device, 2, limit);
        let blocks: Vec<_> = (0..24).map(|n| p.malloc_on(n % 2, 4 * MIB)).collect();
        blocks.iter().enumerate().for_each(|(n, &block)| p.free_on(n % 2, block));
        // The next call on the other stream, whatever it is, lays the marker that can be waited for.
        p.bench.rt.record(p.event, p.streams[1]).unwrap();
        p.malloc(limit);
        p.end("interleaved frees, at the limit", limit);
    }
}

/// Two streams that nothing orders, and no free at all: all that is live lies side by side.
#[test]
fn two_unordered_streams_share_granules() {
    for device in DEVICES {
        let mut p = Play::new(device, 2, 512 * MIB);
        for n in 0..24 {
            p.malloc_on(n % 2, 3 * MIB);
        }
        // A stream may keep the end of its last granule to itself.
        p.end("two streams, no free", 24 * 3 * MIB + 2 * GRANULE);
    }
}

/// A buffer that grows by a little each step: the new one is there before the old one goes, or after.
#[test]
fn a_size_that_grows_by_a_little() {
    for device in DEVICES {
        for step in [512, 64 * KIB, 300 * KIB] {
            let mut p = Play::new(device, 1, 512 * MIB);
            let mut old = p.malloc(4 * MIB);
            for n in 1..120 {
                let new = p.malloc(4 * MIB + n * step);
                p.free(old);
                old = new;
            }
            p.end_by_rules("growing, both there");
            let mut p = Play::new(device, 1, 512 * MIB);
            for n in 0..120 {
                let block = p.malloc(4 * MIB + n * step);
                p.free(block);
            }
            p.end_by_rules("growing, one there");
        }
    }
}

/// pytorch/pytorch#159674: 60, then 70 of 80, with and without a synchronisation, alone and with a small block beside it.
#[test]
fn sixty_then_seventy_of_eighty() {
    for device in DEVICES {
        for (synchronised, beside) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut p = Play::new(device, 1, 80 * MIB);
            p.bench.rt.set_attribute(p.pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
            let first = p.malloc(60 * MIB);
            if beside {
                let small = p.malloc(512);
                p.free(small);
            }
            p.free(first);
            if synchronised {
                p.bench.resume(p.streams[0]);
                p.bench.rt.synchronize_stream(p.streams[0]).unwrap();
            }
            p.malloc(70 * MIB);
            p.end("60 then 70 of 80", 72 * MIB);
        }
    }
}

/// A small block lives on beside each large one; the large ones go, and one request wants all that they had.
#[test]
fn pinned_small_blocks_share_granules() {
    for device in DEVICES {
        for (large, small) in [(2 * MIB, 512), (8 * MIB - 512, 512), (4 * MIB - 128 * KIB, 128 * KIB)] {
            let mut p = Play::new(device, 1, 1024 * MIB);
            let (mut larges, mut smalls) = (Vec::new(), Vec::new());
            for _ in 0..24 {
                larges.push(p.malloc(large));
                smalls.push(p.malloc(small));
            }
            larges.iter().for_each(|&block| p.free(block));
            p.malloc(24 * large);
            // The pinned ones need no granules but their own, and the large ones fill theirs but for the last.
            let bound = (24 * large).next_multiple_of(GRANULE) + (24 * small).next_multiple_of(GRANULE);
            p.end("pinned small blocks", bound);
        }
    }
}

/// Two sizes come and go around small blocks, one of which stays each round.
#[test]
fn churn_of_two_sizes_around_pinned_small_blocks() {
    for device in DEVICES {
        let mut p = Play::new(device, 1, 1024 * MIB);
        let mut larges = Vec::new();
        for round in 0..40 {
            let size = if round % 2 == 0 { 6 * MIB } else { 10 * MIB + 512 };
            larges.extend((0..3).map(|_| p.malloc(size)));
            let smalls = [(); 4].map(|()| p.malloc(4 * KIB));
            smalls[1..].iter().for_each(|&small| p.free(small));
            larges.drain(..3 * usize::from(round % 3 != 0)).collect::<Vec<_>>().into_iter().for_each(|b| p.free(b));
            if larges.len() > 6 {
                std::mem::take(&mut larges).into_iter().for_each(|b| p.free(b));
            }
        }
        // The small ones are of one size, and never more than fit one granule.
        let bound = p.large + GRANULE;
        p.end("two sizes around small blocks", bound);
    }
}

/// tenstorrent/tt-metal#15536: slivers are left between blocks that stay, then a request is larger than each.
#[test]
fn slivers_between_long_lived_blocks() {
    for device in DEVICES {
        for odd in [0, 512] {
            let mut p = Play::new(device, 1, 512 * MIB);
            for _ in 0..6 {
                let placed = [10, 2, 12, 2].map(|mib| p.malloc(mib * MIB + odd));
                p.free(placed[0]);
                p.free(placed[2]);
                p.malloc(8 * MIB + odd);
                p.malloc(16 * MIB + odd);
            }
            p.end_by_rules("slivers");
        }
    }
}

/// NVIDIA/cudf-spark#5303: many streams free odd sizes, then one request is as large as all.
#[test]
fn the_sum_of_many_streams_odd_sizes() {
    for device in DEVICES {
        for pinned in [false, true] {
            let mut p = Play::new(device, 9, 1024 * MIB);
            let sizes = (1..=8u64).map(|n| n * 3 * MIB + n * 512);
            let blocks: Vec<_> = sizes.clone().zip(1..).map(|(size, s)| (p.malloc_on(s, size), s)).collect();
            // What lives on keeps the pieces apart.
            if pinned {
                (1..=8).for_each(|s| _ = p.malloc_on(s, 2 * MIB));
            }
            for &(block, s) in &blocks {
                p.free_on(s, block);
            }
            (1..=8).for_each(|s| p.order(s, 0));
            p.malloc(sizes.sum());
            p.end_by_rules("the sum of many streams");
        }
    }
}

/// Blocks just too large to count as small, each left alone in a granule: what best fit can be made to do. Each large block
/// ends so that the small one fits exactly behind it, then goes.
#[test]
fn the_closest_size_is_lured_into_granules_of_its_own() {
    for device in DEVICES {
        let mut p = Play::new(device, 1, 1024 * MIB);
        for n in 0..48 {
            let pin = SMALL + (48 - n) * 512;
            let lure = p.malloc(2 * GRANULE - pin);
            p.malloc(pin);
            p.free(lure);
        }
        p.end_by_rules("lured by the closest size");
    }
}

/// The same among small blocks: a granule full of them, in which a part of each is exchanged for a smaller one that fits
/// exactly. What goes then leaves gaps that are just too small for the next round.
#[test]
fn the_closest_size_is_lured_within_granules() {
    const ROUNDS: u64 = 24;
    for device in DEVICES {
        let mut p = Play::new(device, 1, 1024 * MIB);
        for round in 0..ROUNDS {
            let pin = (ROUNDS - round) * ALIGNMENT;
            let full: Vec<_> = (0..GRANULE / SMALL).map(|_| p.malloc(SMALL)).collect();
            let lures: Vec<_> = full
                .into_iter()
                .map(|block| {
                    p.free(block);
                    let lure = p.malloc(SMALL - pin);
                    p.malloc(pin);
                    lure
                })
                .collect();
            lures.into_iter().for_each(|block| p.free(block));
        }
        p.end_by_rules("lured among small blocks");
    }
}

/// Robson's program: of blocks of one size, those stay that spoil most room for blocks of twice the size.
fn robson(p: &mut Play, live: u64, least: u64, most: u64) {
    let base = p.bench.rt.stats(p.pool).unwrap().base.0;
    let mut blocks: Vec<_> = (0..live / least).map(|_| (p.malloc(least), least)).collect();
    let (mut size, mut offset) = (least, 0);
    while size < most {
        size *= 2;
        let spoils = |offset: u64, &(ptr, bytes): &(DevicePtr, u64)| {
            let from = ptr.0 - base;
            // Whether one of the addresses `offset + k * size` lies inside.
            (from + bytes).saturating_sub(1 + offset) / size * size + offset >= from && from + bytes > offset
        };
        // The offset, of two, whose blocks take up fewest bytes for the room that they spoil.
        let room =
            |offset| blocks.iter().filter(|block| spoils(offset, block)).map(|(_, bytes)| size - bytes).sum::<u64>();
        offset = [offset, offset + size / 2].into_iter().max_by_key(|&offset| room(offset)).unwrap();
        let (stay, go): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| spoils(offset, block));
        go.iter().for_each(|&(ptr, _)| p.free(ptr));
        let there: u64 = stay.iter().map(|(_, bytes)| bytes).sum();
        blocks = stay;
        blocks.extend((0..(live - there) / size).map(|_| (p.malloc(size), size)));
    }
}

/// What the best allocator needs against it: `1 + log2(most / least) / 2` times the live bytes.
fn robsons_bound(live: u64, least: u64, most: u64) -> u64 {
    live + live * u64::from((most / least).ilog2()) / 2
}

/// Among small blocks it costs what Robson's rule says at most.
#[test]
fn robsons_program_inside_granules() {
    for device in DEVICES {
        let mut p = Play::new(device, 1, 1024 * MIB);
        robson(&mut p, 6 * MIB, 16 * KIB, SMALL);
        p.end("Robson's program, small blocks", robsons_bound(6 * MIB, 16 * KIB, SMALL) + GRANULE);
    }
}

/// It stops paying at the granule: with blocks of up to 16 granules a pool needs no more than with blocks of up to one.
#[test]
fn robsons_program_ends_at_the_granule() {
    const LIVE: u64 = 32 * MIB;
    const LEAST: u64 = 128 * KIB;
    for device in DEVICES {
        let mut p = Play::new(device, 1, 1024 * MIB);
        robson(&mut p, LIVE, LEAST, 16 * GRANULE);
        p.end("Robson's program, to 32 MiB", robsons_bound(LIVE, LEAST, GRANULE) + GRANULE);
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// As likely between 512 B and 1 KiB as between 8 and 16 MiB.
    fn size(&mut self) -> u64 {
        let octave = 512 << self.below(15);
        octave + self.below(octave)
    }
}

/// Sizes of all orders of magnitude come and go, on streams that are ordered; one in ten lives on. Then what passes goes,
/// and one request is as large.
fn churn(device: Device, seed: u64, streams: usize) {
    const LIVE: u64 = 96 * MIB;
    let mut p = Play::new(device, streams, 1024 * MIB);
    let (mut random, mut passing, mut stream) = (Random(seed), Vec::new(), 0);
    let live = |p: &Play| p.live.iter().map(|(_, size)| size).sum::<u64>();
    for _ in 0..400 {
        let size = random.size();
        while live(&p) + size > LIVE && !passing.is_empty() {
            let block = passing.swap_remove(random.below(passing.len() as u64) as usize);
            p.free_on(stream, block);
        }
        let next = random.below(streams as u64) as usize;
        if next != stream {
            p.order(stream, next);
            stream = next;
        }
        let block = p.malloc_on(stream, size);
        if random.below(10) > 0 || size > 4 * MIB {
            passing.push(block);
        }
    }
    let before = live(&p);
    passing.into_iter().for_each(|block| p.free_on(stream, block));
    let freed = before - live(&p);
    p.malloc_on(stream, freed);
    p.end_by_rules("random churn");
}

#[test]
fn random_churn_with_a_long_lived_part() {
    (1..=3).for_each(|seed| churn(Device::Prompt, seed, 1));
    [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)]
        .into_iter()
        .for_each(|(seed, streams)| churn(Device::Ordered, seed, streams));
}

#[test]
fn random_churn_on_streams_that_are_complete() {
    [(4, 2), (5, 3)].into_iter().for_each(|(seed, streams)| churn(Device::Prompt, seed, streams));
}

/// The smallest of that kind: two frees with a marker behind each, all complete, then a request of both.
#[test]
fn frees_with_a_marker_behind_each_can_all_be_moved() {
    for device in DEVICES {
        let mut p = Play::new(device, 2, 512 * MIB);
        let blocks = [(); 4].map(|()| p.malloc(GRANULE));
        for block in [blocks[0], blocks[2]] {
            p.free(block);
            // Lays a marker.
            p.order(0, 1);
        }
        p.malloc(2 * GRANULE);
        p.end("frees with markers between", 4 * GRANULE);
    }
}
