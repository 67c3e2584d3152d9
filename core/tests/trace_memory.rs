//! What the log says of a pool's settings and of what they bring about: memory that is kept, maps in stream order, and
//! what comes before a refusal.
#![cfg(feature = "sim")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use weir::driver::{Capabilities, OnPressure, Pressure, Relief};
use weir::error::Point;
use weir::id::{DeviceId, PoolId, StreamId};
use weir::policy::{Attribute, Blocking, Growth, PoolConfig, Release, Reuse, Tuning};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::{MapReason, Reader, Record, SinkError, UnmapReason, WriterSink};
use weir::units::{Bytes, Nanos, Seq};
use weir::{Local, Storage, StreamConfig};

const DEVICE: DeviceId = DeviceId(0);

type Write = Box<dyn FnMut(&[u8]) -> Result<(), SinkError>>;
type Relieve = Box<dyn Fn(Pressure) -> Relief>;
type Driver = OnPressure<Sim<'static>, Relieve>;

/// A runtime whose log is kept, on a device of 64 MiB.
struct Bench {
    rt: Local<'static, Driver, WriterSink<Write>>,
    log: Rc<RefCell<Vec<u8>>>,
}

impl Bench {
    fn on(device: DeviceConfig, relieve: Relieve) -> Self {
        let arenas = Box::leak(Box::new(SimStorage::<1, 8, 64, 16, 16, 400, 4000>::new())).arenas();
        let driver = Sim::new(arenas, &[device], 1).expect("storage is large enough");
        let log = Rc::new(RefCell::new(Vec::new()));
        let kept = Rc::clone(&log);
        let write: Write = Box::new(move |page| {
            kept.borrow_mut().extend_from_slice(page);
            Ok(())
        });
        let arenas = Box::leak(Box::new(Storage::<4, 4, 8, 4, 200, 64, 4, 4>::new())).arenas();
        Self { rt: Local::new(arenas, OnPressure { driver, relieve }, WriterSink(write)), log }
    }

    fn new() -> Self {
        Self::on(DeviceConfig::new(Bytes::mib(64)), Box::new(|_| Relief::Nothing))
    }

    fn stream(&self) -> StreamId {
        let native = self.rt.driver().driver.create_stream(DEVICE).expect("a stream");
        self.rt.create_stream(StreamConfig::new(DEVICE, native)).expect("a slot")
    }

    fn pool(&self, config: PoolConfig) -> PoolId {
        self.rt.create_pool(config).expect("a pool")
    }

    /// What the log has that `pick` finds, in its order.
    fn records<T>(&self, mut pick: impl FnMut(&Record<'_>) -> Option<T>) -> Vec<T> {
        self.rt.flush();
        let log = self.log.borrow();
        let all = Reader::new(&log).map(|read| read.expect("whole").record);
        all.filter(|record| !record.is_definition()).filter_map(|record| pick(&record)).collect()
    }

    /// A round: as much as one malloc takes, freed and waited for.
    fn round(&self, pool: PoolId, stream: StreamId, bytes: Bytes) {
        let ptr = self.rt.malloc_async(pool, bytes, stream).expect("there is room");
        self.rt.free_async(ptr, stream).expect("it is live");
        self.rt.synchronize_stream(stream).expect("synchronised");
    }
}

#[test]
fn settings_that_are_not_the_defaults_stand_behind_the_pools_making() {
    let bench = Bench::new();
    let tunings = [
        Tuning::DEFAULT,
        Tuning { growth: Growth::Eager(Bytes::mib(6)), ..Tuning::DEFAULT },
        Tuning { release: Release::Always, addresses: Some(3), ..Tuning::DEFAULT },
        Tuning { blocking: Blocking::WhenExhausted, ..Tuning::DEFAULT },
    ];
    let pools = tunings.map(|tuning| bench.pool(PoolConfig { tuning, ..PoolConfig::new(DEVICE) }));
    let mut expected = vec![(pools[0], None)];
    for (pool, tuning) in pools.into_iter().zip(tunings).skip(1) {
        expected.extend([(pool, None), (pool, Some(tuning))]);
    }
    let found = bench.records(|record| match *record {
        Record::PoolCreated { pool } => Some((pool, None)),
        Record::PoolTuned { pool, tuning } => Some((pool, Some(tuning))),
        _ => None,
    });
    assert_eq!(found, expected);
}

fn kept(bench: &Bench) -> Vec<(Bytes, Bytes)> {
    bench.records(|record| match *record {
        Record::Kept { kept, thrash, .. } => Some((kept, thrash)),
        _ => None,
    })
}

#[test]
fn what_is_kept_and_thrash_are_told_when_they_change() {
    let bench = Bench::new();
    let (stream, pool) = (bench.stream(), bench.pool(PoolConfig::new(DEVICE)));
    let size = Bytes::mib(16);
    (0..50).for_each(|_| bench.round(pool, stream, size));
    // Three rounds of thrash make a habit.
    let habit = (Bytes::mib(17), Bytes::mib(48));
    let thrash = [(Bytes::ZERO, size), (Bytes::ZERO, Bytes::mib(32)), habit];
    assert_eq!(kept(&bench), thrash);
    (0..9).for_each(|_| bench.rt.synchronize_stream(stream).expect("synchronised"));
    assert_eq!(kept(&bench)[3..], [(Bytes::ZERO, Bytes::mib(48))], "demand fell");
    let stats = bench.rt.stats(pool).expect("it is live");
    assert_eq!(kept(&bench).last(), Some(&(stats.kept, stats.thrash)));
}

#[test]
fn what_is_kept_counts_from_the_threshold() {
    let bench = Bench::new();
    let (stream, pool) = (bench.stream(), bench.pool(PoolConfig::new(DEVICE)));
    (0..10).for_each(|_| bench.round(pool, stream, Bytes::mib(16)));
    bench.rt.set_attribute(pool, Attribute::ReleaseThreshold, Bytes::mib(6).0).expect("set");
    assert_eq!(bench.rt.stats(pool).expect("it is live").kept, Bytes::ZERO, "a new threshold ends it");
    bench.round(pool, stream, Bytes::mib(16));
    assert_eq!(kept(&bench).last(), Some(&(Bytes::mib(11), Bytes::mib(48))));
}

#[test]
fn a_pool_that_always_releases_tells_its_thrash() {
    let bench = Bench::new();
    let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
    let (stream, pool) = (bench.stream(), bench.pool(PoolConfig { tuning, ..PoolConfig::new(DEVICE) }));
    (0..4).for_each(|_| bench.round(pool, stream, Bytes::mib(4)));
    assert_eq!(kept(&bench), [4, 8, 12].map(|mib| (Bytes::ZERO, Bytes::mib(mib))));
    // What comes back rounds later was not released in vain.
    (0..2).for_each(|_| bench.rt.synchronize_stream(stream).expect("synchronised"));
    bench.round(pool, stream, Bytes::mib(4));
    assert_eq!(bench.rt.stats(pool).expect("it is live").thrash, Bytes::mib(12));
}

#[test]
fn the_hosts_own_wait_names_what_it_waited_for() {
    let bench = Bench::new();
    let tuning = Tuning { blocking: Blocking::WhenExhausted, ..Tuning::DEFAULT };
    let config = PoolConfig { limit: Bytes::mib(8), reuse: Reuse::empty(), tuning, ..PoolConfig::new(DEVICE) };
    let (s, t, pool) = (bench.stream(), bench.stream(), bench.pool(config));
    let ptr = bench.rt.malloc_async(pool, Bytes::mib(8), s).expect("there is room");
    bench.rt.free_async(ptr, s).expect("it is live");
    bench.rt.malloc_async(pool, Bytes::mib(8), t).expect("there is room after the wait");
    let waits = bench.records(|record| match *record {
        Record::Blocked { pool, stream, on } => Some((pool, stream, on.stream)),
        Record::StreamSynchronized { .. } => panic!("the program did not synchronise"),
        _ => None,
    });
    assert_eq!(waits, [(pool, t, s)]);
    let freed = bench.records(|record| match *record {
        Record::Free { seq, .. } => Some(seq),
        _ => None,
    });
    let waited = bench.records(|record| match *record {
        Record::Blocked { on: Point { seq, .. }, .. } => Some(seq),
        _ => None,
    });
    assert!(waited[0] >= freed[0], "{waited:?} covers {freed:?}");
}

#[test]
fn what_the_embedder_said_is_told() {
    let answers = Cell::new(0);
    let relieve = move |_| match answers.replace(answers.get() + 1) {
        0 | 1 => Relief::Some,
        _ => Relief::Nothing,
    };
    let bench = Bench::on(DeviceConfig::new(Bytes::mib(64)), Box::new(relieve));
    let (stream, pool) = (bench.stream(), bench.pool(PoolConfig { limit: Bytes::mib(8), ..PoolConfig::new(DEVICE) }));
    bench.rt.malloc_async(pool, Bytes::mib(6), stream).expect("there is room");
    bench.rt.malloc_async(pool, Bytes::mib(4), stream).expect_err("there is none");
    let told = bench.records(|record| match *record {
        Record::Pressed { bytes, relieved, .. } => Some((bytes, Some(relieved))),
        Record::OutOfMemory { requested, .. } => Some((requested, None)),
        _ => None,
    });
    assert_eq!(told, [Some(true), Some(true), Some(false), None].map(|answer| (Bytes::mib(4), answer)));
}

#[test]
fn maps_and_unmaps_in_stream_order_have_their_positions() {
    let mut device = DeviceConfig::new(Bytes::mib(64));
    device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    let bench = Bench::on(device, Box::new(|_| Relief::Nothing));
    let (s, pool) = (bench.stream(), bench.pool(PoolConfig { limit: Bytes::mib(12), ..PoolConfig::new(DEVICE) }));
    let small = [(); 3].map(|()| bench.rt.malloc_async(pool, Bytes::mib(4), s).expect("there is room"));
    bench.rt.free_async(small[0], s).expect("it is live");
    bench.rt.free_async(small[2], s).expect("it is live");
    // In one piece, of two pieces apart whose work is not known to be complete.
    bench.rt.malloc_async(pool, Bytes::mib(8), s).expect("granules are moved");
    let places = bench.records(|record| match *record {
        Record::Malloc { seq, .. } => Some(("malloc", seq)),
        Record::MappedInOrder { stream, seq, reason: MapReason::Remap, .. } if stream == s => Some(("move to", seq)),
        Record::UnmappedInOrder { stream, seq, reason: UnmapReason::Remap, .. } if stream == s => Some(("move", seq)),
        Record::Mapped { reason: MapReason::Remap, .. } | Record::Unmapped { .. } => panic!("{record:?}"),
        _ => None,
    });
    let words: Vec<&str> = places.iter().map(|(word, _)| *word).collect();
    assert_eq!(words[..3], ["malloc"; 3]);
    assert!(words[3..].contains(&"move") && words[3..].ends_with(&["move to", "malloc"]), "{words:?}");
    // Each has a position of its own, behind that of the malloc.
    let (malloc, memory): (Vec<_>, Vec<_>) = places.into_iter().partition(|(word, _)| *word == "malloc");
    let seqs: Vec<Seq> = memory.into_iter().map(|(_, seq)| seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    assert!(seqs.iter().all(|seq| *seq > malloc[3].1) && !malloc.iter().any(|(_, seq)| seqs.contains(seq)));
}

#[test]
fn a_trim_is_followed_by_the_streams_that_hold_most() {
    let bench = Bench::new();
    let pool = bench.pool(PoolConfig::new(DEVICE));
    let streams: Vec<_> = (0..3).map(|_| bench.stream()).collect();
    for &stream in &streams {
        bench.rt.driver().driver.pause(bench.rt.native_stream(stream).expect("it is live")).expect("paused");
    }
    let sizes = [Bytes::mib(4), Bytes::mib(8), Bytes::mib(2)];
    let blocks: Vec<_> = streams
        .iter()
        .zip(sizes)
        .map(|(&s, size)| bench.rt.malloc_async(pool, size, s).expect("there is room"))
        .collect();
    for (&stream, block) in streams.iter().zip(blocks) {
        bench.rt.driver().driver.work(bench.rt.native_stream(stream).expect("it is live"), Nanos(1)).expect("queued");
        bench.rt.free_async(block, stream).expect("it is live");
    }
    let trimmed = bench.rt.trim_to(pool, Bytes::mib(1)).expect("trimmed");
    let told = bench.records(|record| match *record {
        Record::Trimmed { target, reached, pending, .. } => Some((None, target, reached, pending, 0)),
        Record::TrimPending { on, bytes, streams, .. } => Some((Some(on), bytes, Bytes::ZERO, Bytes::ZERO, streams)),
        _ => None,
    });
    let all = Bytes::mib(14);
    let named = [(1, 8), (0, 4), (2, 2)].into_iter().zip(trimmed.pending_on.into_iter().flatten());
    let mut expected = vec![(None, Bytes::mib(1), all, all, 0)];
    expected.extend(named.map(|((at, size), on): ((usize, u64), _)| {
        let point = Point { stream: streams[at], seq: on.until };
        (Some(point), Bytes::mib(size), Bytes::ZERO, Bytes::ZERO, 3)
    }));
    assert_eq!(told, expected);
    for stream in streams {
        bench.rt.driver().driver.resume(bench.rt.native_stream(stream).expect("it is live")).expect("resumed");
        bench.rt.synchronize_stream(stream).expect("synchronised");
    }
    bench.rt.trim_to(pool, Bytes::ZERO).expect("trimmed");
    let told = bench.records(|record| matches!(record, Record::TrimPending { .. }).then_some(()));
    assert_eq!(told.len(), 3, "the second trim found nothing pending");
}
