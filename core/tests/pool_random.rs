//! Random programs on the simulated device: after every step all invariants hold, and the simulator, which has clocks of
//! its own, finds no two unordered uses of the same memory.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::driver::Capabilities;
use weir::error::{MallocError, OrderError};
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Reuse, StreamKind, UseUntil};
use weir::sim::DeviceConfig;
use weir::units::{Bytes, DevicePtr};

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

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len())]) }
    }
}

struct Block {
    ptr: DevicePtr,
    /// The streams that may use it: each comes after the malloc.
    users: Vec<StreamId>,
}

struct Program {
    bench: Bench,
    random: Random,
    streams: Vec<StreamId>,
    events: Vec<EventId>,
    pools: Vec<PoolId>,
    blocks: Vec<Block>,
    faults: bool,
}

const SIZES: [u64; 8] = [1, 512, 5000, 300_000, MIB, 2 * MIB, 3 * MIB + 512, 9 * MIB];

impl Program {
    fn new(seed: u64, faults: bool, capabilities: Capabilities) -> Self {
        let mut device = DeviceConfig::new(Bytes::mib(1024));
        device.properties.capabilities = capabilities;
        let bench = Bench::on(seed, &[device]);
        let mut program = Self {
            bench,
            random: Random(seed),
            streams: Vec::new(),
            events: Vec::new(),
            pools: Vec::new(),
            blocks: Vec::new(),
            faults,
        };
        let legacy = seed.is_multiple_of(4);
        for n in 0..4 {
            let kind = match (legacy, n) {
                (true, 0) => StreamKind::Legacy,
                (true, 1 | 2) => StreamKind::Blocking,
                _ => StreamKind::NonBlocking,
            };
            program.streams.push(program.bench.stream_of(kind));
            program.events.push(program.bench.event());
        }
        program.add_pool();
        program.add_pool();
        if faults {
            program.bench.sim().fail_rate(seed, 30);
        }
        program
    }

    fn add_pool(&mut self) {
        let config = PoolConfig {
            limit: Bytes::mib([24, 64, 256][self.random.below(3)]),
            reuse: Reuse::from_bits_truncate(self.random.next() as u8 & 7),
            preference: [Preference::GrowFirst, Preference::WaitFirst][self.random.below(2)],
            threshold: Bytes([0, 10 * MIB, u64::MAX][self.random.below(3)]),
            ..PoolConfig::new(DEVICE)
        };
        if let Ok(pool) = self.bench.rt.create_pool(config) {
            self.pools.push(pool);
        }
    }

    /// Work by a stream on a block, told to the pool unless the stream is the one that will free it.
    fn malloc(&mut self) {
        let (Some(pool), Some(stream)) = (self.random.pick(&self.pools), self.random.pick(&self.streams)) else {
            return;
        };
        let size = self.random.pick(&SIZES).unwrap();
        match self.bench.rt.malloc_async(pool, Bytes(size), stream) {
            Ok(ptr) => {
                self.bench.write(ptr, stream);
                self.blocks.push(Block { ptr, users: vec![stream] });
            }
            Err(MallocError::OutOfMemory(_) | MallocError::AboveLimit { .. }) => {}
            Err(MallocError::Driver(_)) if self.faults => {}
            Err(other) => panic!("unexpected refusal {other:?}, {:?}", self.bench.sim().violation()),
        }
    }

    /// Hands a block to another stream along an event, uses it there and tells the pool.
    fn share(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let at = self.random.below(self.blocks.len());
        let (ptr, owner) = (self.blocks[at].ptr, self.blocks[at].users[0]);
        let (Some(user), Some(event)) = (self.random.pick(&self.streams), self.random.pick(&self.events)) else {
            return;
        };
        if user == owner || self.blocks[at].users.contains(&user) {
            return;
        }
        let rt = &self.bench.rt;
        if rt.record(event, owner).is_err() || rt.wait(user, event).is_err() {
            return;
        }
        let until = [UseUntil::Now, UseUntil::Free][self.random.below(2)];
        let read = |b: &Bench| {
            let bytes = b.rt.block_at(ptr).unwrap().given;
            b.sim().access(b.native(user), ptr, bytes, weir::sim::Access::Read).expect("the pool's order allows it");
        };
        match until {
            UseUntil::Now => {
                read(&self.bench);
                rt.record_use(ptr, user, until).unwrap();
            }
            UseUntil::Free => {
                rt.record_use(ptr, user, until).unwrap();
                read(&self.bench);
            }
        }
        self.blocks[at].users.push(user);
    }

    fn free(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let at = self.random.below(self.blocks.len());
        let block = self.blocks.swap_remove(at);
        // Any stream that may use the block may free it; the uses of the others were told, but not the allocating
        // stream's.
        let by = self.random.pick(&block.users).unwrap();
        if by != block.users[0] {
            self.bench.rt.record_use(block.ptr, block.users[0], UseUntil::Now).unwrap();
        }
        self.bench.rt.free_async(block.ptr, by).unwrap();
    }

    fn step(&mut self) {
        let rt = &self.bench.rt;
        let stream = self.random.pick(&self.streams).unwrap();
        let event = self.random.pick(&self.events).unwrap();
        match self.random.below(100) {
            0..34 => self.malloc(),
            34..60 => self.free(),
            60..68 => self.share(),
            68..74 => self.allow(rt.record(event, stream)),
            74..80 => self.allow(rt.wait(stream, event)),
            80..83 => self.allow(rt.query(event).map(drop)),
            83..85 => self.allow(rt.synchronize_stream(stream)),
            85..87 => self.allow(rt.synchronize_event(event)),
            87 => self.allow(rt.synchronize_device(DEVICE)),
            88 => drop(self.random.pick(&self.pools).map(|pool| rt.trim_to(pool, Bytes::mib(8)).unwrap())),
            89 => {
                let number = 1 + self.random.below(4) as u32;
                let value = self.random.pick(&[0, 1, 4 * MIB]).unwrap();
                if let Some(pool) = self.random.pick(&self.pools) {
                    rt.set_attribute(pool, Attribute::from_number(number).unwrap(), value).unwrap();
                }
            }
            90 => self.end_stream(),
            91 => self.end_pool(),
            _ => drop(self.bench.sim().step()),
        }
    }

    fn allow(&self, result: Result<(), OrderError>) {
        match result {
            Ok(()) => {}
            Err(OrderError::Driver(_)) if self.faults => {}
            Err(other) => panic!("unexpected refusal {other:?}"),
        }
    }

    /// A stream that no live block names ends, and another begins, perhaps with the same handle.
    fn end_stream(&mut self) {
        let at = self.random.below(self.streams.len());
        let stream = self.streams[at];
        if self.blocks.iter().any(|b| b.users.contains(&stream)) || self.streams.len() < 3 || at < 3 {
            return;
        }
        let native = self.bench.native(stream);
        self.bench.rt.destroy_stream(stream).unwrap();
        self.bench.sim().destroy_stream(native).unwrap();
        self.streams.swap_remove(at);
        if let Ok(native) = self.bench.sim().create_stream(DEVICE) {
            let config = weir::StreamConfig::new(DEVICE, native);
            match self.bench.rt.create_stream(config) {
                Ok(stream) => self.streams.push(stream),
                Err(_) => self.bench.sim().destroy_stream(native).unwrap(),
            }
        }
    }

    fn end_pool(&mut self) {
        if self.pools.len() < 2 {
            return;
        }
        let at = self.random.below(self.pools.len());
        let pool = self.pools.swap_remove(at);
        let rt = &self.bench.rt;
        self.blocks.retain(|block| rt.block_at(block.ptr).unwrap().pool != pool);
        rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
        self.add_pool();
    }

    /// Everything is given back, whatever failed on the way.
    fn finish(mut self) {
        self.bench.sim().fail_never();
        while !self.blocks.is_empty() {
            self.free();
        }
        for pool in std::mem::take(&mut self.pools) {
            self.bench.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
        }
        self.bench.rt.synchronize_device(DEVICE).unwrap();
        self.bench.rt.synchronize_device(DEVICE).unwrap();
        self.bench.check();
        assert_eq!(self.bench.sim().created(DEVICE), Bytes::ZERO, "nothing is left behind");
        assert_eq!(self.bench.sim().unchecked(), 0);
    }
}

const USUAL: Capabilities = Capabilities::SPARSE_ADDRESSES;

fn run(seed: u64, steps: usize, faults: bool, capabilities: Capabilities) {
    let mut program = Program::new(seed, faults, capabilities);
    for step in 0..steps {
        program.step();
        let (verified, violation) = (program.bench.rt.verify(), program.bench.sim().violation());
        assert!(verified.is_ok() && violation.is_none(), "seed {seed}, step {step}: {verified:?}, {violation:?}");
    }
    program.finish();
}

/// How many seeds a test runs; `WEIR_SEEDS` asks for more.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    0..std::env::var("WEIR_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_programs_never_share_memory_unordered() {
    for seed in seeds(60) {
        run(seed, 1500, false, USUAL);
    }
}

#[test]
fn driver_failures_leave_nothing_behind() {
    for seed in seeds(60) {
        run(seed, 1500, true, USUAL);
    }
}

#[test]
fn memory_that_is_mapped_in_stream_order_is_not_used_before() {
    for seed in seeds(60) {
        run(seed, 1500, seed % 2 == 1, USUAL | Capabilities::MAP_IN_STREAM_ORDER);
    }
}
