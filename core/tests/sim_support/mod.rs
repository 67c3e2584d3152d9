//! Storage on the heap for simulations of any size, and a random source.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use weir::driver::Driver;
use weir::driver::{GranuleHandle, NativeStream};
use weir::id::DeviceId;
use weir::sim::{DeviceConfig, Sim, SimArenas};
use weir::units::{Bytes, DevicePtr};
use weir_heap::{HeapSim, SimCapacities};

pub const D0: DeviceId = DeviceId(0);
pub const D1: DeviceId = DeviceId(1);
pub const G: u64 = 2 << 20;

/// How large the arenas are.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub granules: usize,
    pub streams: usize,
    pub markers: usize,
    pub ops: usize,
    pub pieces: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { granules: 64, streams: 8, markers: 64, ops: 4096, pieces: 4096 }
    }
}

/// Memory for two devices. Its clocks are as if somebody else had left them: a simulation starts clean all the same.
pub fn heap(sizes: Sizes) -> HeapSim {
    let Sizes { granules, streams, markers, ops, pieces } = sizes;
    let (devices, ranges, pages) = (4, 16, 2 * granules);
    let mut heap = HeapSim::new(SimCapacities { devices, ranges, pages, granules, streams, markers, ops, pieces });
    let SimArenas { host_clock, stream_clocks, marker_clocks, .. } = heap.lend();
    [host_clock, stream_clocks, marker_clocks].into_iter().for_each(|clock| clock.fill(7));
    heap
}

/// A simulation of two devices of 64 MiB that lives as long as the test program.
pub fn sim_of(sizes: Sizes, seed: u64) -> Sim<'static> {
    let heap = Box::leak(Box::new(heap(sizes)));
    let device = DeviceConfig::new(Bytes::mib(64));
    Sim::new(heap.lend(), &[device, device], seed).unwrap()
}

pub fn sim() -> Sim<'static> {
    sim_of(Sizes::default(), 1)
}

/// `count` granules of device 0 mapped one behind the other.
pub fn mapped(sim: &Sim<'_>, count: u64) -> (DevicePtr, Vec<GranuleHandle>) {
    let base = sim.reserve(D0, Bytes(count * G)).unwrap();
    let granules = (0..count).map(|i| {
        let granule = sim.create(D0).unwrap();
        sim.map(D0, DevicePtr(base.0 + i * G), granule, None).unwrap();
        granule
    });
    (base, granules.collect())
}

pub fn streams<const N: usize>(sim: &Sim<'_>) -> [NativeStream; N] {
    std::array::from_fn(|_| sim.create_stream(D0).unwrap())
}

/// A xorshift generator, unlike the one inside.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}
