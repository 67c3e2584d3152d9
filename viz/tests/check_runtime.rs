//! The detector on logs of real runtimes on the simulated device: programs that are right, the same with a wait taken
//! out of the log, and programs that are wrong.

use std::cell::RefCell;
use std::rc::Rc;
use weir::driver::Capabilities;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{Blocking, Capture, Destroy, Growth, PoolConfig, Preference, Reuse, StreamKind, Tuning, UseUntil};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::{Reader, Record, SinkError, Stamped, Verb, WriterSink};
use weir::units::{Bytes, DevicePtr};
use weir::{Local, Storage, StreamConfig};
use weir_viz::check::{self, Checker, Clue, Fault, Report, Told};
use weir_viz::part::Part;
use weir_viz::progress::Progress;

const DEVICE: DeviceId = DeviceId(0);
const KIB: u64 = 1024;

type Write = Box<dyn FnMut(&[u8]) -> Result<(), SinkError>>;
type Space = Storage<8, 8, 16, 4, 2000, 64, 8, 4>;
type SimSpace = SimStorage<1, 8, 128, 64, 32, 4000, 20000>;

/// A runtime whose log is kept.
struct Bench {
    rt: Local<'static, Sim<'static>, WriterSink<Write>>,
    log: Rc<RefCell<Vec<u8>>>,
    pool: PoolId,
    streams: Vec<StreamId>,
    events: Vec<EventId>,
}

fn leak<T>(make: fn() -> T) -> &'static mut T {
    Box::leak(Box::new(make()))
}

impl Bench {
    fn new(seed: u64, kinds: &[StreamKind], config: PoolConfig) -> Self {
        Self::on(DeviceConfig::new(Bytes::mib(64)), seed, kinds, config)
    }

    /// On a device that maps and unmaps in stream order.
    fn in_order(seed: u64, kinds: &[StreamKind], config: PoolConfig) -> Self {
        let mut device = DeviceConfig::new(Bytes::mib(64));
        device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
        Self::on(device, seed, kinds, config)
    }

    fn on(device: DeviceConfig, seed: u64, kinds: &[StreamKind], config: PoolConfig) -> Self {
        let sim = Sim::new(leak(SimSpace::new).arenas(), &[device], seed).expect("storage is large enough");
        let log = Rc::new(RefCell::new(Vec::new()));
        let kept = Rc::clone(&log);
        let write: Write = Box::new(move |page| {
            kept.borrow_mut().extend_from_slice(page);
            Ok(())
        });
        let rt = Local::new(leak(Space::new).arenas(), sim, WriterSink(write));
        let pool = rt.create_pool(config).expect("a pool");
        let made = |kind: &StreamKind| {
            let native = rt.driver().create_stream_of_kind(DEVICE, *kind).expect("a stream");
            rt.create_stream(StreamConfig { kind: *kind, ..StreamConfig::new(DEVICE, native) }).expect("a slot")
        };
        let streams = kinds.iter().map(made).collect();
        let events = (0..3).map(|_| rt.create_event().expect("an event")).collect();
        Self { rt, log, pool, streams, events }
    }

    fn three() -> Self {
        Self::new(1, &[StreamKind::NonBlocking; 3], PoolConfig::new(DEVICE))
    }

    fn malloc(&self, size: u64, on: usize) -> Option<DevicePtr> {
        self.rt.malloc_async(self.pool, Bytes(size), self.streams[on]).ok()
    }

    fn free(&self, ptr: DevicePtr, on: usize) {
        let _ = self.rt.free_async(ptr, self.streams[on]);
    }

    fn used(&self, ptr: DevicePtr, on: usize, until: UseUntil) {
        let _ = self.rt.record_use(ptr, self.streams[on], until);
    }

    /// `to` comes after everything on `from` so far.
    fn hand_over(&self, from: usize, to: usize, event: usize) {
        self.rt.record(self.events[event], self.streams[from]).expect("recorded");
        self.rt.wait(self.streams[to], self.events[event]).expect("waited");
    }

    fn bytes(&self) -> Vec<u8> {
        self.rt.flush();
        self.log.borrow().clone()
    }

    fn report(&self) -> Report {
        check::read("test", &self.bytes(), Told::Accept).expect("a log")
    }

    /// Everything that was found, in order.
    fn faults(&self) -> Vec<Fault> {
        self.report().findings.iter().map(|finding| finding.fault).collect()
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most.max(1) as u64) as usize
    }
}

/// Blocks that go from stream to stream, each time with an event of their own; sizes and streams are random.
fn relay(bench: &Bench, random: &mut Random, rounds: usize) {
    let streams = bench.streams.len();
    let mut live: Vec<(DevicePtr, usize)> = Vec::new();
    for round in 0..rounds {
        let on = random.below(streams);
        let size = (1 + random.below(12) as u64) * 256 * KIB;
        if let Some(ptr) = bench.malloc(size, on) {
            live.push((ptr, on));
        }
        if live.len() > 1 + random.below(6) {
            let (ptr, from) = live.swap_remove(random.below(live.len()));
            let to = random.below(streams);
            if to != from {
                bench.hand_over(from, to, round % 3);
            }
            match random.below(4) {
                // The pool is told of the use and waits for it.
                0 => {
                    bench.used(ptr, to, if round % 2 == 0 { UseUntil::Now } else { UseUntil::Free });
                    bench.free(ptr, from);
                }
                1 => live.push((ptr, to)),
                _ => bench.free(ptr, to),
            }
        }
        rest(bench, random);
    }
    for (ptr, on) in live {
        bench.free(ptr, on);
    }
}

/// Now and then the host looks, waits or tidies up.
fn rest(bench: &Bench, random: &mut Random) {
    match random.below(24) {
        0 => bench.rt.synchronize_stream(bench.streams[random.below(bench.streams.len())]).expect("synchronised"),
        1 => bench.rt.synchronize_device(DEVICE).expect("synchronised"),
        2 => drop(bench.rt.query(bench.events[random.below(3)]).expect("asked")),
        3 => drop(bench.rt.trim_to(bench.pool, Bytes::ZERO).expect("trimmed")),
        4 => bench.rt.synchronize_event(bench.events[random.below(3)]).expect("synchronised"),
        _ => drop(bench.rt.driver().step()),
    }
}

type Make = fn(u64, &[StreamKind], PoolConfig) -> Bench;

/// Right programs under a policy of each kind, every log found clean; then `look` has it.
fn right_programs(make: Make, mut look: impl FnMut(&Bench, &[Stamped<'_>])) {
    for seed in 0..48 {
        let tuning = Tuning {
            growth: if seed % 5 == 0 { Growth::Eager(Bytes::mib(6)) } else { Growth::Frugal },
            blocking: if seed % 2 == 0 { Blocking::WhenExhausted } else { Blocking::Never },
            ..Tuning::DEFAULT
        };
        let config = PoolConfig {
            reuse: Reuse::from_bits_truncate(seed as u8 % 8),
            preference: if seed % 3 == 0 { Preference::WaitFirst } else { Preference::GrowFirst },
            limit: Bytes::mib([8, 16, 64][seed as usize % 3]),
            tuning,
            ..PoolConfig::new(DEVICE)
        };
        let kinds = match seed % 4 {
            0 => &[StreamKind::Legacy, StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::PerThread][..],
            _ => &[StreamKind::NonBlocking; 4][..],
        };
        let bench = make(seed, kinds, config);
        relay(&bench, &mut Random(seed), 400);
        assert_eq!(bench.rt.driver().violation(), None, "seed {seed}");
        bench.rt.destroy_pool(bench.pool, Destroy::IfEmpty).expect("everything is free");
        bench.rt.synchronize_device(DEVICE).expect("synchronised");
        let report = bench.report();
        assert!(report.is_clean() && report.not_judged.is_empty(), "seed {seed}: {report}");
        assert!(report.mallocs > 100 && report.damages.is_empty(), "seed {seed}: {report}");
        look(&bench, &read(&bench.bytes()));
    }
}

fn count(records: &[Stamped<'_>], is: impl Fn(&Record<'_>) -> bool) -> usize {
    records.iter().filter(|stamped| is(&stamped.record)).count()
}

#[test]
fn right_programs_are_clean_under_every_policy() {
    let (mut internal, mut blocked) = (0, 0);
    right_programs(Bench::new, |bench, records| {
        internal += bench.rt.counters().wait;
        blocked += count(records, |r| matches!(r, Record::Blocked { .. }));
    });
    assert!(internal > 50 && blocked > 50, "the logs have waits of streams and of the host: {internal}, {blocked}");
}

#[test]
fn right_programs_are_clean_where_memory_is_mapped_in_stream_order() {
    let (mut maps, mut unmaps) = (0, 0);
    right_programs(Bench::in_order, |_, records| {
        maps += count(records, |r| matches!(r, Record::MappedInOrder { .. }));
        unmaps += count(records, |r| matches!(r, Record::UnmappedInOrder { .. }));
    });
    assert!(maps > 100 && unmaps > 100, "the logs have maps and unmaps in order: {maps}, {unmaps}");
}

/// The records of a log without one of them, as if it had never been written.
fn without<'a>(records: &[Stamped<'a>], dropped: usize) -> Report {
    let mut checker = Checker::new(Told::Accept);
    let number = records[dropped].number;
    for (at, stamped) in records.iter().enumerate() {
        let later = u64::from(stamped.number > number);
        if at != dropped {
            checker.push(&Stamped { number: stamped.number - later, ..*stamped });
        }
    }
    checker.finish()
}

fn read(bytes: &[u8]) -> Vec<Stamped<'_>> {
    Reader::new(bytes).collect::<Result<_, _>>().expect("a whole log")
}

#[test]
fn a_wait_that_is_taken_out_is_missed_and_named() {
    let mut tried = 0;
    for seed in 0..8 {
        let bench = Bench::new(seed, &[StreamKind::NonBlocking; 3], PoolConfig::new(DEVICE));
        let mut random = Random(seed);
        for round in 0..40 {
            let (from, step) = (random.below(3), 1 + random.below(2));
            let to = (from + step) % 3;
            let ptr = bench.malloc((1 + random.below(8) as u64) * 512 * KIB, from).expect("there is room");
            bench.hand_over(from, to, round % 3);
            bench.free(ptr, to);
        }
        let bytes = bench.bytes();
        let records = read(&bytes);
        assert!(bench.report().is_clean());
        for (at, stamped) in records.iter().enumerate() {
            let Record::Waited { stream, event, number, .. } = stamped.record else { continue };
            let report = without(&records, at);
            let names =
                |clue: &Clue| matches!(*clue, Clue::Recorded { event: e, number: n, .. } if (e, n) == (event, number));
            let named = report.findings.iter().any(|finding| {
                let missing = finding.missing.as_ref();
                finding.fault == Fault::FreeBeforeMalloc
                    && missing.is_some_and(|m| m.wait_on == Some(stream) && m.clues.iter().any(names))
            });
            assert!(named, "seed {seed}, record {}: {report}", stamped.number);
            tried += 1;
        }
    }
    assert_eq!(tried, 8 * 40);
}

#[test]
fn whatever_is_taken_out_is_missed_or_was_not_needed_and_never_blamed_on_a_pair_before_it() {
    let mut found = [0_u64; 3];
    for seed in 0..6 {
        let limit = Bytes::mib(8);
        let bench = Bench::new(seed, &[StreamKind::NonBlocking; 3], PoolConfig { limit, ..PoolConfig::new(DEVICE) });
        relay(&bench, &mut Random(seed), 150);
        let bytes = bench.bytes();
        let records = read(&bytes);
        assert!(bench.report().is_clean(), "seed {seed}: {}", bench.report());
        for (at, stamped) in records.iter().enumerate() {
            let kind = match stamped.record {
                Record::WaitInserted { .. } => 0,
                Record::StreamSynchronized { .. } | Record::DeviceSynchronized { .. } => 1,
                Record::Free { .. } => 2,
                _ => continue,
            };
            let report = without(&records, at);
            for finding in &report.findings {
                assert!(finding.second.record >= stamped.number, "record {}: {report}", stamped.number);
            }
            found[kind] += u64::from(!report.is_clean());
        }
    }
    assert!(found.iter().all(|count| *count > 20), "inserted waits, synchronisations, frees: {found:?}");
}

#[test]
fn a_page_that_is_lost_excuses_but_what_stands_on_either_side_is_judged() {
    let bench = Bench::three();
    relay(&bench, &mut Random(3), 1000);
    let bytes = bench.bytes();
    let lengths: Vec<usize> = weir::trace::Pages::new(&bytes).flatten().map(|page| page.offset as usize).collect();
    assert!(lengths.len() > 8, "{} pages", lengths.len());
    for pair in lengths.windows(2) {
        let mut cut = bytes.clone();
        cut.drain(pair[0]..pair[1]);
        let report = check::read("cut", &cut, Told::Accept).expect("a log");
        assert!(report.is_clean(), "page at {}: {report}", pair[0]);
    }
    for length in (0..bytes.len()).step_by(997).skip(1) {
        if let Ok(report) = check::read("cut", &bytes[..length], Told::Accept) {
            assert!(report.is_clean(), "{length} bytes: {report}");
        }
        if let Ok(report) = check::read("cut", &bytes[length..], Told::Accept) {
            assert!(report.is_clean(), "from byte {length}: {report}");
        }
    }
}

#[test]
fn what_is_no_log_is_refused() {
    for bytes in [&b""[..], b"hello", &[0; 100]] {
        let error = check::read("x", bytes, Told::Accept).expect_err("no log");
        assert!(!error.what.is_empty() && !error.advice.is_empty());
    }
    let error =
        check::open(std::path::Path::new("/no/such/file"), &Part::default(), Told::Accept, &Progress::default())
            .expect_err("no file");
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}

#[test]
fn wrong_programs_are_found_out() {
    type Program = fn(&Bench, DevicePtr);
    let programs: [(&str, Program, Fault); 12] = [
        ("a second free", |b, p| (b.free(p, 0), b.free(p, 0)).1, Fault::DoubleFree),
        (
            "a use on a stream that does not wait",
            |b, p| (b.used(p, 1, UseUntil::Now), b.free(p, 0)).1,
            Fault::UseBeforeMalloc,
        ),
        ("a free on a stream that does not wait", |b, p| b.free(p, 1), Fault::FreeBeforeMalloc),
        ("a use after the free", |b, p| (b.free(p, 0), b.used(p, 0, UseUntil::Now)).1, Fault::UseAfterFree),
        (
            "a use told too late",
            |b, p| (b.hand_over(0, 1, 0), b.free(p, 0), b.used(p, 1, UseUntil::Now)).2,
            Fault::FreeBeforeUse,
        ),
        ("a leak", |b, _| b.rt.destroy_pool(b.pool, Destroy::WithLiveBlocks).expect("destroyed"), Fault::Leak),
        ("a leak at the end", |b, _| b.rt.mark(check::END_OF_PROGRAM).expect("marked"), Fault::Leak),
        ("a pointer into a block", |b, p| (b.free(DevicePtr(p.0 + 512), 0), b.free(p, 0)).1, Fault::InsideBlock),
        ("no pointer", |b, p| (b.free(DevicePtr(64), 0), b.free(p, 0)).1, Fault::NotABlock),
        (
            "another pool",
            |b, p| {
                let other = b.rt.create_pool(PoolConfig::new(DEVICE)).expect("a pool");
                let _ = b.rt.free_to(other, p, b.streams[0]);
                b.free(p, 0);
            },
            Fault::OtherPool,
        ),
        (
            "a pool that is gone",
            |b, p| {
                b.rt.synchronize_device(DEVICE).expect("synchronised");
                b.rt.mark("before the end").expect("marked");
                b.rt.destroy_pool(b.pool, Destroy::WithLiveBlocks).expect("destroyed");
                b.free(p, 0);
            },
            Fault::PoolGone,
        ),
        (
            "a stream that is gone",
            |b, p| {
                b.rt.destroy_stream(b.streams[2]).expect("destroyed");
                b.free(p, 2);
                b.free(p, 0);
            },
            Fault::StaleId,
        ),
    ];
    for (name, program, fault) in programs {
        let bench = Bench::three();
        let ptr = bench.malloc(64 * KIB, 0).expect("there is room");
        program(&bench, ptr);
        let found = bench.faults();
        let leak_first = if fault == Fault::PoolGone { vec![Fault::Leak, fault] } else { vec![fault] };
        assert_eq!(found, leak_first, "{name}: {}", bench.report());
    }
}

#[test]
fn an_event_that_was_reset_orders_nothing() {
    let bench = Bench::three();
    let ptr = bench.malloc(64 * KIB, 0).expect("there is room");
    bench.rt.record(bench.events[0], bench.streams[0]).expect("recorded");
    bench.rt.reset_event(bench.events[0]).expect("reset");
    bench.rt.wait(bench.streams[1], bench.events[0]).expect("legal");
    bench.free(ptr, 1);
    let report = bench.report();
    let [finding] = report.findings.as_slice() else { panic!("{report}") };
    assert_eq!(finding.fault, Fault::FreeBeforeMalloc);
    let clues = &finding.missing.as_ref().expect("an order").clues;
    assert!(clues.iter().any(|clue| matches!(clue, Clue::NeverRecorded { event, .. } if *event == bench.events[0])));
}

#[test]
fn resets_and_captures_are_in_the_log() {
    let bench = Bench::three();
    bench.rt.record(bench.events[1], bench.streams[0]).expect("recorded");
    bench.rt.reset_event(bench.events[1]).expect("reset");
    bench.rt.set_capture(bench.streams[2], Capture::Active).expect("set");
    assert_eq!(bench.malloc(KIB, 2), None, "it is captured");
    bench.rt.set_capture(bench.streams[2], Capture::None).expect("set");
    bench.rt.destroy_event(bench.events[1]).expect("destroyed");
    assert!(bench.rt.reset_event(bench.events[1]).is_err());
    let bytes = bench.bytes();
    let all: Vec<Record<'_>> = read(&bytes).iter().map(|stamped| stamped.record).collect();
    let (event, stream) = (bench.events[1], bench.streams[2]);
    for record in [
        Record::EventReset { event },
        Record::CaptureSet { stream, capture: Capture::Active },
        Record::CaptureSet { stream, capture: Capture::None },
    ] {
        assert_eq!(all.iter().filter(|r| **r == record).count(), 1, "{record:?}");
    }
    let refused = |verb: Verb| all.iter().any(|r| matches!(r, Record::Refused { verb: v, .. } if *v == verb));
    assert!(refused(Verb::ResetEvent) && refused(Verb::Malloc));
    assert_eq!(bench.faults(), [Fault::StaleId], "the refused malloc is nobody's fault");
}

#[test]
fn what_is_learnt_about_destroyed_streams_is_in_the_log() {
    let bench = Bench::three();
    let sim = bench.rt.driver();
    // Five more fill the arena; each frees a block and is destroyed with its work unfinished.
    for _ in 0..5 {
        let native = sim.create_stream(DEVICE).expect("a stream");
        let stream = bench.rt.create_stream(StreamConfig::new(DEVICE, native)).expect("a slot");
        let ptr = bench.rt.malloc_async(bench.pool, Bytes::mib(2), stream).expect("there is room");
        bench.rt.free_async(ptr, stream).expect("freed");
        bench.rt.destroy_stream(stream).expect("destroyed");
    }
    sim.run_all();
    let native = sim.create_stream(DEVICE).expect("a stream");
    bench.rt.create_stream(StreamConfig::new(DEVICE, native)).expect("a slot of one that is complete");
    for _ in 0..5 {
        bench.malloc(2 << 20, 0).expect("there is room");
    }
    assert_eq!(bench.faults(), []);
}
