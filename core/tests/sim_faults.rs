//! Failures on demand, counters, the clock, storage, and use from several threads.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, G, Random, Sizes, mapped, sim, sim_of, streams};
use weir::driver::{Capabilities, Driver, DriverCall, DriverErrorKind, MarkerSlot, Properties, Target};
use weir::sim::{Access, DeviceConfig, Sim, SimArena, SimError, SimStorage};
use weir::units::{Bytes, DevicePtr, Nanos};

#[test]
fn the_nth_call_fails_once() {
    let sim = sim();
    sim.fail_nth(Some(DriverCall::Create), 2, DriverErrorKind::Exhausted).unwrap();
    sim.create(D0).unwrap();
    sim.properties(D0).unwrap();
    let error = sim.create(D0).unwrap_err();
    assert_eq!((error.call, error.code, error.kind), (DriverCall::Create, -1, DriverErrorKind::Exhausted));
    assert_eq!(sim.created(D0), Bytes(G), "the call did nothing");
    sim.create(D0).unwrap();
    sim.fail_nth(None, 1, DriverErrorKind::Failed).unwrap();
    assert_eq!(sim.properties(D0).unwrap_err().call, DriverCall::Properties);
    sim.properties(D0).unwrap();
    assert_eq!((sim.calls(DriverCall::Create), sim.calls(DriverCall::Properties)), (3, 3));
    assert_eq!(sim.injected(), 2);
    assert_eq!(sim.violation(), None);
}

#[test]
fn every_call_can_fail_and_changes_nothing() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (base, granules) = mapped(&sim, 1);
    let spare = sim.create(D0).unwrap();
    let other = sim.reserve(D0, Bytes(G)).unwrap();
    let marker = MarkerSlot(0);
    let fail = |call| sim.fail_nth(Some(call), 1, DriverErrorKind::TimedOut).unwrap();
    for call in DriverCall::ALL {
        fail(call);
        let state = || (sim.created(D0), sim.mapped(D0), sim.issued(), sim.queued());
        let before = state();
        let result = match call {
            DriverCall::Properties => sim.properties(D0).map(|_| ()),
            DriverCall::Reserve => sim.reserve(D0, Bytes(G)).map(|_| ()),
            DriverCall::Release => sim.release(D0, other, Bytes(G)),
            DriverCall::Create => sim.create(D0).map(|_| ()),
            DriverCall::Destroy => sim.destroy(D0, spare),
            DriverCall::Map => sim.map(D0, other, spare, None),
            DriverCall::Unmap => sim.unmap(D0, base, None),
            DriverCall::Lay => sim.lay(marker, stream),
            DriverCall::Query => sim.query(Target::Device(D0)).map(|_| ()),
            DriverCall::Wait => sim.wait(stream, marker),
            DriverCall::Synchronise => sim.synchronise(Target::Device(D0)),
        };
        let error = result.unwrap_err();
        assert_eq!((error.call, error.kind), (call, DriverErrorKind::TimedOut));
        assert_eq!(state(), before);
    }
    // All that failed works afterwards.
    sim.map(D0, other, spare, Some(stream)).unwrap();
    sim.unmap(D0, other, Some(stream)).unwrap();
    sim.destroy(D0, spare).unwrap();
    sim.release(D0, other, Bytes(G)).unwrap();
    sim.unmap(D0, base, None).unwrap();
    sim.destroy(D0, granules[0]).unwrap();
    sim.release(D0, base, Bytes(G)).unwrap();
    assert_eq!((sim.created(D0), sim.mapped(D0), sim.violation()), (Bytes(0), Bytes(0), None));
}

#[test]
fn a_rate_of_failures() {
    let run = |seed| {
        let sim = sim();
        sim.fail_rate(seed, 100);
        let failed: Vec<u32> = (0..1000).filter(|_| sim.properties(D0).is_err()).collect();
        assert_eq!(sim.injected(), failed.len() as u64);
        sim.fail_never();
        assert!((0..100).all(|_| sim.properties(D0).is_ok()));
        failed
    };
    let one = run(1);
    assert!((50..200).contains(&one.len()), "{} of 1,000 at 100 per mille", one.len());
    assert_eq!(one, run(1));
    assert_ne!(one, run(2));
}

#[test]
fn planned_failures_are_limited_by_name() {
    let sim = sim();
    for n in 1..=16 {
        sim.fail_nth(None, n, DriverErrorKind::Failed).unwrap();
    }
    let refused = sim.fail_nth(None, 17, DriverErrorKind::Failed);
    assert_eq!(refused, Err(SimError::Full(SimArena::Faults)));
    assert!((0..16).all(|_| sim.properties(D0).is_err()));
    sim.properties(D0).unwrap();
}

#[test]
fn the_clock_counts_calls_and_work() {
    let sim = sim();
    let [stream] = streams(&sim);
    assert_eq!((sim.now(), sim.now()), (Nanos(1), Nanos(2)));
    sim.properties(D0).unwrap();
    assert_eq!(sim.now(), Nanos(4));
    sim.work(stream, Nanos(1_000)).unwrap();
    assert_eq!(sim.now(), Nanos(5), "queued, not run");
    sim.synchronise(Target::Stream(stream)).unwrap();
    assert_eq!(sim.now(), Nanos(1_007));
}

#[test]
fn the_same_seed_gives_the_same_digest() {
    let run = |seed| {
        let sim = sim_of(Sizes::default(), seed);
        let all: [_; 4] = streams(&sim);
        let (base, _) = mapped(&sim, 4);
        let mut random = Random::new(7);
        for i in 0..200 {
            let lane = random.below(4);
            let at = DevicePtr(base.0 + lane * G + random.below(1000) * 512);
            sim.access_write_tag(all[lane as usize], at, Bytes(512), i).unwrap();
            if random.below(3) == 0 {
                let _ = sim.step();
            }
        }
        sim.synchronise(Target::Device(D0)).unwrap();
        assert_eq!(sim.violation(), None);
        sim.digest()
    };
    assert_eq!(run(3), run(3));
    let many: std::collections::HashSet<u64> = (0..50).map(run).collect();
    assert_eq!(many.len(), 50, "another seed is another order");
}

#[test]
fn other_devices() {
    let mut heap = sim_support::heap(Sizes::default());
    let properties = Properties {
        granularity: Bytes::kib(64),
        alignment: Bytes(64),
        total: Bytes::kib(130),
        capabilities: Capabilities::empty(),
    };
    let small = DeviceConfig { properties, addresses: Bytes::kib(256) };
    let sim = Sim::new(heap.lend(), &[small], 0).unwrap();
    assert_eq!(sim.properties(D0), Ok(properties));
    let base = sim.reserve(D0, Bytes::kib(64)).unwrap();
    let next = sim.reserve(D0, Bytes::kib(128)).unwrap();
    assert!(next.0 > base.0 + Bytes::kib(64).0, "ranges do not touch");
    assert_eq!(sim.reserve(D0, Bytes::kib(64)).unwrap_err().kind, DriverErrorKind::Exhausted);
    sim.release(D0, base, Bytes::kib(64)).unwrap();
    assert_eq!(sim.reserve(D0, Bytes::kib(64)), Ok(base), "the lowest gap is used first");
    sim.create(D0).unwrap();
    sim.create(D0).unwrap();
    assert_eq!(sim.create(D0).unwrap_err().kind, DriverErrorKind::Exhausted);
}

#[test]
fn devices_that_cannot_be() {
    let good = DeviceConfig::new(Bytes::gib(1));
    let with = |granularity, alignment| {
        let (granularity, alignment) = (Bytes(granularity), Bytes(alignment));
        let properties = Properties { granularity, alignment, ..good.properties };
        let mut heap = sim_support::heap(Sizes::default());
        Sim::new(heap.lend(), &[DeviceConfig { properties, ..good }], 0).map(|_| ())
    };
    assert_eq!(with(G, 512), Ok(()));
    for (g, a) in [(3 << 20, 512), (G, 0), (512, G), (0, 0), (2 << 30, 512), (G, 768)] {
        let (granularity, alignment) = (Bytes(g), Bytes(a));
        assert_eq!(with(g, a), Err(SimError::BadProperties { granularity, alignment }));
    }
    let mut heap = sim_support::heap(Sizes::default());
    let full = Sim::new(heap.lend(), &[good; 5], 0).map(|_| ());
    assert_eq!(full, Err(SimError::Full(SimArena::Devices)));
    let mut heap = sim_support::heap(Sizes::default());
    let mut arenas = heap.lend();
    arenas.marker_clocks = &mut [];
    assert_eq!(Sim::new(arenas, &[good], 0).map(|_| ()), Err(SimError::Full(SimArena::Clocks)));
}

static STORAGE: spin::Mutex<SimStorage<1, 4, 1024, 8, 64, 1024, 4096>> = spin::Mutex::new(SimStorage::new());

#[test]
fn static_storage() {
    let mut storage = STORAGE.lock();
    for _ in 0..2 {
        let sim = Sim::new(storage.arenas(), &[DeviceConfig::new(Bytes::gib(2))], 0).unwrap();
        let (base, granules) = mapped(&sim, 1024);
        assert_eq!(sim.create(D0).unwrap_err().kind, DriverErrorKind::Exhausted);
        for (granule, i) in granules.into_iter().zip(0..) {
            sim.unmap(D0, DevicePtr(base.0 + i * G), None).unwrap();
            sim.destroy(D0, granule).unwrap();
        }
        assert_eq!(sim.violation(), None);
    }
}

#[test]
fn several_threads() {
    let sim = &sim_of(Sizes { pieces: 1 << 16, ..Sizes::default() }, 5);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let stream = sim.create_stream(D0).unwrap();
                let base = sim.reserve(D0, Bytes(2 * G)).unwrap();
                let mut random = Random::new(thread);
                for round in 0..200 {
                    let granule = sim.create(D0).unwrap();
                    sim.map(D0, base, granule, Some(stream)).unwrap();
                    let at = DevicePtr(base.0 + random.below(4000) * 512);
                    sim.access_write_tag(stream, at, Bytes(512), round).unwrap();
                    sim.access_read_expect(stream, at, Bytes(512), round).unwrap();
                    let _ = sim.step();
                    sim.synchronise(Target::Stream(stream)).unwrap();
                    sim.unmap(D0, base, Some(stream)).unwrap();
                    sim.destroy(D0, granule).unwrap();
                }
                sim.destroy_stream(stream).unwrap();
            });
        }
    });
    assert_eq!((sim.violation(), sim.unchecked(), sim.created(D0)), (None, 0, Bytes(0)));
}

#[test]
fn history_without_room_is_counted() {
    let sim = sim_of(Sizes { pieces: 8, ..Sizes::default() }, 0);
    let [one, two] = streams(&sim);
    let (base, _) = mapped(&sim, 1);
    let at = |i: u64| DevicePtr(base.0 + i * 512);
    for i in 0..8 {
        sim.access(one, at(i), Bytes(512), Access::Write).unwrap();
    }
    assert_eq!(sim.unchecked(), 0);
    sim.access(one, at(8), Bytes(512), Access::Write).unwrap();
    assert_eq!(sim.unchecked(), 1);
    // The eight that are remembered are still checked, and even the ninth is not unmapped while it is queued.
    sim.access(two, at(7), Bytes(512), Access::Write).unwrap_err();
    sim.unmap(D0, base, None).unwrap_err();
    // What the host knows makes room.
    sim.synchronise(Target::Device(D0)).unwrap();
    for i in 0..8 {
        sim.access(two, at(i), Bytes(512), Access::Write).unwrap();
    }
    assert_eq!(sim.unchecked(), 1);
}

/// A log of some size: 30,000 granules, 100,000 calls and accesses.
#[test]
fn a_large_device() {
    let count = 30_000;
    let sizes = Sizes { granules: count as usize, markers: 1024, pieces: 1 << 17, ops: 1 << 17, streams: 16 };
    let mut heap = sim_support::heap(sizes);
    let sim = Sim::new(heap.lend(), &[DeviceConfig::new(Bytes(count * G))], 0).unwrap();
    let [one, two] = streams(&sim);
    let (base, _) = mapped(&sim, count);
    assert_eq!(sim.mapped(D0), Bytes(count * G));
    let mut random = Random::new(1);
    for i in 0..20_000 {
        let at = DevicePtr(base.0 + random.below(count - 1) * G);
        sim.access(one, at, Bytes(G), Access::Write).unwrap();
        let slot = MarkerSlot(i % 1024);
        sim.lay(slot, one).unwrap();
        sim.wait(two, slot).unwrap();
        sim.access(two, at, Bytes(G), Access::Read).unwrap();
        sim.lay(MarkerSlot(0), two).unwrap();
        sim.wait(one, MarkerSlot(0)).unwrap();
    }
    sim.synchronise(Target::Device(D0)).unwrap();
    for i in 0..count {
        sim.unmap(D0, DevicePtr(base.0 + i * G), None).unwrap();
    }
    assert_eq!((sim.mapped(D0), sim.violation(), sim.unchecked(), sim.squeezed()), (Bytes(0), None, 0, 0));
}
