//! Eight threads at work on one pool, on memory that is really there: kernels write patterns and check them, so memory
//! that was handed out too early, to two at once, or unmapped under a kernel is seen.

use super::{Machine, Make};
use std::sync::mpsc::{Receiver, Sender, channel};
use weir::driver::NativeStream;
use weir::error::MallocError;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Destroy, PoolConfig, Preference, Release, Reuse, Tuning, UseUntil};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, DevicePtr, KIB, MIB};
use weir::{Capacities, PoolStats, Runtime, State, StreamConfig};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::lock::Parking;

const DEVICE: DeviceId = DeviceId(0);
const THREADS: u64 = 8;
const STEPS: u64 = 150;

type Hosted<'a, D> = Runtime<'a, D, NullSink, Parking<State<'a>>>;

fn capacities() -> Capacities {
    Capacities { streams: 16, events: 64, markers: 64, pools: 4, blocks: 4096, granules: 256, labels: 16, pages: 0 }
}

/// A row of numbers that look random and are the same in every run (a step of Weyl's, mixed).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) % sides
    }

    /// Many small sizes, some of several granules.
    fn size(&mut self) -> Bytes {
        match self.roll(10) {
            0 => Bytes(1 + self.roll(5 * MIB)),
            1..4 => Bytes(1 + self.roll(512 * KIB)),
            _ => Bytes(1 + self.roll(16 * KIB)),
        }
    }
}

#[derive(Clone, Copy)]
struct Block {
    ptr: DevicePtr,
    bytes: Bytes,
    seed: u64,
}

/// One thread with its stream, and the way to the next thread.
struct Worker<'r, 'a, D: Machine> {
    runtime: &'r Hosted<'a, D>,
    pool: PoolId,
    stream: StreamId,
    native: NativeStream,
    event: EventId,
    dice: Dice,
    live: Vec<Block>,
    next: Option<Sender<(Block, EventId)>>,
    mine: Receiver<(Block, EventId)>,
    refused: u64,
}

impl<D: Machine> Worker<'_, '_, D> {
    fn malloc(&mut self) {
        let (bytes, seed) = (self.dice.size(), self.dice.roll(u64::MAX));
        match self.runtime.malloc_async(self.pool, bytes, self.stream) {
            Ok(ptr) => {
                self.runtime.driver().fill(self.native, ptr, bytes, seed);
                self.live.push(Block { ptr, bytes, seed });
            }
            Err(MallocError::OutOfMemory(_)) => {
                self.refused += 1;
                // What this thread still holds is what others wait for.
                self.live.drain(..).collect::<Vec<_>>().into_iter().for_each(|b| self.check_and_free(b));
                self.runtime.synchronize_stream(self.stream).unwrap();
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn check(&self, block: Block) {
        let Block { ptr, bytes, seed } = block;
        self.runtime.driver().check(self.native, ptr, bytes, seed);
    }

    fn check_and_free(&self, block: Block) {
        self.check(block);
        self.runtime.free_async(block.ptr, self.stream).unwrap();
    }

    /// Gives a block to the next thread, ordered by an event; sometimes goes on reading it, which it announces.
    fn hand_over(&mut self, block: Block) {
        self.runtime.record(self.event, self.stream).unwrap();
        if self.dice.roll(2) == 0 {
            self.check(block);
            let until = if self.dice.roll(2) == 0 { UseUntil::Now } else { UseUntil::Free };
            self.runtime.record_use(block.ptr, self.stream, until).unwrap();
        }
        match &self.next {
            Some(next) => next.send((block, self.event)).unwrap(),
            None => self.live.push(block),
        }
    }

    fn take_over(&mut self) {
        while let Ok((block, event)) = self.mine.try_recv() {
            self.runtime.wait(self.stream, event).unwrap();
            self.live.push(block);
        }
    }

    fn run(mut self) -> u64 {
        for _ in 0..STEPS {
            self.take_over();
            match self.dice.roll(8) {
                0..4 => self.malloc(),
                4..6 if !self.live.is_empty() => {
                    let at = usize::try_from(self.dice.roll(self.live.len() as u64)).unwrap();
                    let block = self.live.swap_remove(at);
                    self.check_and_free(block);
                }
                6 if !self.live.is_empty() => {
                    let block = self.live.remove(0);
                    self.hand_over(block);
                }
                7 if self.dice.roll(6) == 0 => self.runtime.synchronize_stream(self.stream).unwrap(),
                _ => {}
            }
        }
        self.next = None;
        while let Ok((block, event)) = self.mine.recv() {
            self.runtime.wait(self.stream, event).unwrap();
            self.live.push(block);
        }
        while let Some(block) = self.live.pop() {
            self.check(block);
            self.runtime.free_async(block.ptr, self.stream).unwrap();
        }
        self.refused
    }
}

fn workers<'r, 'a, D: Machine>(runtime: &'r Hosted<'a, D>, pool: PoolId, seed: u64) -> Vec<Worker<'r, 'a, D>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| channel()).unzip();
    let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
    let make = |(i, mine)| {
        let native = runtime.driver().stream(DEVICE);
        // The last one hands nothing over: a ring of threads would never end.
        let next = senders.get_mut(i + 1).and_then(Option::take);
        Worker {
            runtime,
            pool,
            stream: runtime.create_stream(StreamConfig::new(DEVICE, native)).unwrap(),
            native,
            event: runtime.create_event().unwrap(),
            dice: Dice(seed * 1000 + i as u64),
            live: Vec::new(),
            next,
            mine,
            refused: 0,
        }
    };
    let made = receivers.into_iter().enumerate().map(make).collect();
    drop(senders);
    made
}

/// How a pool is set up for a storm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    reuse: Reuse,
    preference: Preference,
    threshold: Bytes,
}

/// The switches one by one and all together, and both orders of growing and waiting.
pub(crate) const SETTINGS: [Setting; 6] = [
    Setting::new("no switches", Reuse::empty(), Preference::GrowFirst, Bytes(0)),
    Setting::new("along events", Reuse::EVENT, Preference::GrowFirst, Bytes(u64::MAX)),
    Setting::new("opportunistic", Reuse::EVENT.union(Reuse::OPPORTUNISTIC), Preference::GrowFirst, Bytes::mib(32)),
    Setting::new("inserted waits", Reuse::EVENT.union(Reuse::INTERNAL), Preference::WaitFirst, Bytes(0)),
    Setting::new("everything, growing first", Reuse::all(), Preference::GrowFirst, Bytes::mib(8)),
    Setting::new("everything, waiting first", Reuse::all(), Preference::WaitFirst, Bytes(u64::MAX)),
];

impl Setting {
    const fn new(name: &'static str, reuse: Reuse, preference: Preference, threshold: Bytes) -> Self {
        Self { name, reuse, preference, threshold }
    }
}

/// Eight threads at work on one pool of 96 MiB; answers what the pool counted.
pub(crate) fn storm<M: Make>(make: &M, seed: u64, setting: Setting) -> PoolStats {
    let Setting { reuse, preference, threshold, .. } = setting;
    let mut arenas = HeapArenas::new(capacities());
    let runtime: Hosted<'_, M::Machine> = Runtime::new(arenas.lend(), make.machine(1, Bytes::mib(128)), NullSink);
    let limit = Bytes::mib(96);
    // What is reserved at the end shall not depend on how often the threads happened to synchronise.
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    let config = PoolConfig { limit, threshold, reuse, preference, tuning, ..PoolConfig::new(DEVICE) };
    let pool = runtime.create_pool(config).unwrap();
    let workers = workers(&runtime, pool, seed);
    let refused: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = workers.into_iter().map(|w| scope.spawn(move || w.run())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let outcome = runtime.synchronize_device(DEVICE);
    runtime.driver().verdict(DEVICE);
    outcome.unwrap();
    runtime.verify().unwrap();
    let stats = runtime.stats(pool).unwrap();
    assert_eq!((stats.used, stats.live_blocks, stats.mallocs), (Bytes(0), 0, stats.frees));
    assert_eq!(stats.refused, refused);
    assert_eq!(stats.by_source.iter().sum::<u64>(), stats.mallocs);
    for (switch, source) in [
        (Reuse::EVENT, Source::Event),
        (Reuse::OPPORTUNISTIC, Source::Opportunistic),
        (Reuse::INTERNAL, Source::Internal),
    ] {
        let count = stats.by_source[source as usize];
        assert!(reuse.contains(switch) || count == 0, "{count} of {source:?} with the switch off");
    }
    assert!(stats.reserved <= threshold.min(limit).max(Bytes(0)), "{stats:?}");
    assert!(stats.reserved_high <= limit, "{stats:?}");
    let created = runtime.driver().created(DEVICE);
    assert_eq!(created, stats.reserved, "the device has what the pool says");
    runtime.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    assert_eq!(runtime.driver().created(DEVICE), Bytes(0));
    assert_eq!(runtime.driver().resident(DEVICE), Bytes(0));
    stats
}
