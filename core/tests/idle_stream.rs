//! A stream that does nothing costs the others next to nothing: what a stream freed is one to it, though markers lie between the
//! frees, and weir lays those only where there is another stream.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE};
use weir::driver::Capabilities;
use weir::policy::PoolConfig;
use weir::sim::DeviceConfig;
use weir::units::Bytes;

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    /// From 512 B to 16 MiB, every octave as likely.
    fn size(&mut self) -> u64 {
        let octave = 512 << self.below(15);
        octave + self.below(octave)
    }
}

/// What a random program on one stream reserves at its peak, and how often it maps and unmaps, on a device that completes
/// nothing and maps in stream order.
fn costs(seed: u64, streams: usize) -> (u64, u64) {
    let mut config = DeviceConfig::new(Bytes::mib(2048));
    config.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    let bench = Bench::on(1, &[config]);
    let streams: Vec<_> = (0..streams).map(|_| bench.stream()).collect();
    streams.iter().for_each(|&stream| bench.pause(stream));
    let pool = bench.rt.create_pool(PoolConfig::new(DEVICE)).unwrap();
    let mut random = Random(seed);
    let malloc = |size| bench.try_malloc(pool, size, streams[0]).unwrap();
    let mut live: Vec<_> = (0..100).map(|_| malloc(random.size())).collect();
    for _ in 0..1200 {
        let place = random.below(live.len() as u64) as usize;
        bench.rt.free_async(live[place], streams[0]).unwrap();
        live[place] = malloc(random.size());
    }
    let (counters, reserved) = (bench.rt.counters(), bench.rt.stats(pool).unwrap().reserved_high.get());
    streams.iter().for_each(|&stream| bench.resume(stream));
    bench.sim().run_all();
    bench.check();
    (reserved, counters.map + counters.unmap)
}

#[test]
fn a_stream_that_does_nothing_costs_nothing() {
    let mut sums = [(0, 0); 2];
    for seed in 1..=10 {
        for (sum, streams) in sums.iter_mut().zip([1, 2]) {
            let (reserved, moves) = costs(seed, streams);
            println!("seed {seed}, {streams} streams: {reserved} bytes, {moves} moves");
            *sum = (sum.0 + reserved, sum.1 + moves);
        }
    }
    let [(alone, moves_alone), (beside, moves_beside)] = sums;
    println!("{alone} bytes, {moves_alone} moves; beside another {beside} bytes, {moves_beside} moves");
    assert!(beside <= alone + alone / 100, "{beside} instead of {alone} bytes");
    assert!(moves_beside <= moves_alone + moves_alone / 4, "{moves_beside} moves, not {moves_alone}");
}
