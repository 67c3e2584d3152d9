//! Every kind of violation, provoked and found.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, D1, G, Sizes, mapped, sim, sim_of, streams};
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Target,
};
use weir::id::DeviceId;
use weir::sim::{Access, Issue, Sim, SimArena, SimError, Touch, Violation};
use weir::units::{Bytes, DevicePtr};

/// The call failed as a violation does, this is the violation, and nothing else was seen before.
#[track_caller]
fn found<T: std::fmt::Debug>(sim: &Sim<'_>, result: Result<T, DriverError>, violation: Violation) {
    let error = result.unwrap_err();
    assert_eq!((error.code, error.kind), (1, DriverErrorKind::Failed));
    assert_eq!(sim.violation(), Some(violation));
    assert_eq!(sim.violations(), 1);
}

#[test]
fn double_map() {
    let sim = sim();
    let (base, granules) = mapped(&sim, 1);
    let other = sim.create(D0).unwrap();
    found(&sim, sim.map(D0, base, other, None), Violation::DoubleMap { at: base, there: granules[0] });
    assert_eq!(sim.mapped(D0), Bytes(G));
}

#[test]
fn one_granule_mapped_twice() {
    let sim = sim();
    let (base, granules) = mapped(&sim, 1);
    let elsewhere = sim.reserve(D0, Bytes(G)).unwrap();
    let violation = Violation::MappedElsewhere { granule: granules[0], at: base };
    found(&sim, sim.map(D0, elsewhere, granules[0], None), violation);
}

#[test]
fn map_outside_a_range() {
    let sim = sim();
    let base = sim.reserve(D0, Bytes(G)).unwrap();
    let granule = sim.create(D0).unwrap();
    let behind = DevicePtr(base.0 + G);
    found(&sim, sim.map(D0, behind, granule, None), Violation::OutsideRange(behind));
}

#[test]
fn unaligned_map() {
    let sim = sim();
    let base = sim.reserve(D0, Bytes(2 * G)).unwrap();
    let granule = sim.create(D0).unwrap();
    let at = base.0 + 512;
    let violation = Violation::Misaligned { call: DriverCall::Map, value: at, granularity: Bytes(G) };
    found(&sim, sim.map(D0, DevicePtr(at), granule, None), violation);
}

#[test]
fn unaligned_and_empty_reserve() {
    for value in [0, G + 1] {
        let sim = sim();
        let violation = Violation::Misaligned { call: DriverCall::Reserve, value, granularity: Bytes(G) };
        found(&sim, sim.reserve(D0, Bytes(value)), violation);
    }
}

#[test]
fn unmap_of_nothing() {
    let sim = sim();
    let base = sim.reserve(D0, Bytes(G)).unwrap();
    found(&sim, sim.unmap(D0, base, None), Violation::NothingMapped(base));
}

#[test]
fn unmap_twice() {
    let sim = sim();
    let (base, _) = mapped(&sim, 1);
    sim.unmap(D0, base, None).unwrap();
    found(&sim, sim.unmap(D0, base, None), Violation::NothingMapped(base));
}

#[test]
fn destroy_while_mapped() {
    let sim = sim();
    let (at, granules) = mapped(&sim, 1);
    let granule = granules[0];
    found(&sim, sim.destroy(D0, granule), Violation::DestroyMapped { granule, at });
    assert_eq!(sim.created(D0), Bytes(G));
}

#[test]
fn granule_used_after_destroy() {
    let sim = sim();
    let old = sim.create(D0).unwrap();
    sim.destroy(D0, old).unwrap();
    let new = sim.create(D0).unwrap();
    assert_ne!(old, new, "a new granule in the old place has a handle of its own");
    let call = DriverCall::Destroy;
    found(&sim, sim.destroy(D0, old), Violation::UnknownGranule { call, granule: old });
}

#[test]
fn granule_never_created() {
    for raw in [0, 1, u64::MAX, 0xffff_ffff, 1 << 32] {
        let sim = sim();
        let granule = GranuleHandle(raw);
        let base = sim.reserve(D0, Bytes(G)).unwrap();
        let call = DriverCall::Map;
        found(&sim, sim.map(D0, base, granule, None), Violation::UnknownGranule { call, granule });
    }
}

#[test]
fn devices_are_not_mixed() {
    let other = |call| Violation::OtherDevice { call, named: D1, owner: D0 };
    let sim = sim();
    let granule = sim.create(D0).unwrap();
    found(&sim, sim.destroy(D1, granule), other(DriverCall::Destroy));

    let sim = sim_support::sim();
    let base = sim.reserve(D0, Bytes(G)).unwrap();
    let granule = sim.create(D1).unwrap();
    found(&sim, sim.map(D1, base, granule, None), other(DriverCall::Map));

    let sim = sim_support::sim();
    let (base, _) = mapped(&sim, 1);
    found(&sim, sim.unmap(D1, base, None), other(DriverCall::Unmap));

    let sim = sim_support::sim();
    let base = sim.reserve(D0, Bytes(G)).unwrap();
    found(&sim, sim.release(D1, base, Bytes(G)), other(DriverCall::Release));
}

#[test]
fn release_of_what_was_not_reserved() {
    let (whole, half) = (Bytes(2 * G), Bytes(G));
    for (offset, bytes) in [(0, half), (G, half), (4 * G, whole)] {
        let sim = sim();
        let base = DevicePtr(sim.reserve(D0, whole).unwrap().0 + offset);
        found(&sim, sim.release(D0, base, bytes), Violation::UnknownRange { base, bytes });
    }
}

#[test]
fn release_with_mappings() {
    let sim = sim();
    let (base, _) = mapped(&sim, 3);
    found(&sim, sim.release(D0, base, Bytes(3 * G)), Violation::ReleaseMapped { base, mapped: 3 });
}

#[test]
fn stream_that_never_was_or_was_destroyed() {
    let gone = |sim: &Sim<'_>| {
        let stream = sim.create_stream(D0).unwrap();
        sim.destroy_stream(stream).unwrap();
        stream
    };
    type Call = fn(&Sim<'_>, NativeStream) -> Result<(), DriverError>;
    let calls: [Call; 6] = [
        |sim, stream| sim.lay(MarkerSlot(0), stream),
        |sim, stream| sim.wait(stream, MarkerSlot(0)),
        |sim, stream| sim.query(Target::Stream(stream)).map(|_| ()),
        |sim, stream| sim.synchronise(Target::Stream(stream)),
        |sim, stream| {
            let base = sim.reserve(D0, Bytes(G))?;
            let granule = sim.create(D0)?;
            sim.map(D0, base, granule, Some(stream))
        },
        |sim, stream| {
            let (base, _) = mapped(sim, 1);
            sim.unmap(D0, base, Some(stream))
        },
    ];
    for call in calls {
        let sim = sim();
        let stream = gone(&sim);
        found(&sim, call(&sim, stream), Violation::UnknownStream(stream));
        let sim = sim_support::sim();
        found(&sim, call(&sim, NativeStream(99)), Violation::UnknownStream(NativeStream(99)));
    }
    let sim = sim();
    let stream = gone(&sim);
    let refused = SimError::Violation(Violation::UnknownStream(stream));
    assert_eq!(sim.access(stream, DevicePtr(0), Bytes(1), Access::Read), Err(refused));
    assert_eq!(sim.destroy_stream(stream), Err(refused));
    assert_eq!(sim.violations(), 2);
}

#[test]
fn access_to_unmapped_memory() {
    let sim = sim();
    let [stream] = streams(&sim);
    let base = sim.reserve(D0, Bytes(3 * G)).unwrap();
    let granule = sim.create(D0).unwrap();
    sim.map(D0, base, granule, None).unwrap();
    // The first granule is there, the second is not.
    let violation = Violation::AccessUnmapped { stream, issue: Issue(1), at: DevicePtr(base.0 + G) };
    let result = sim.access(stream, DevicePtr(base.0 + 4096), Bytes(2 * G), Access::Read);
    assert_eq!(result, Err(SimError::Violation(violation)));
    assert_eq!(sim.violation(), Some(violation));
    for (at, bytes) in [(0, 1), (1, u64::MAX), (u64::MAX, 1), (u64::MAX - 1, 1), (base.0 + G + 5, 1)] {
        let at = DevicePtr(at);
        let violation = Violation::AccessUnmapped { stream, issue: Issue(1), at };
        assert_eq!(sim.access(stream, at, Bytes(bytes), Access::Write), Err(SimError::Violation(violation)));
    }
    assert_eq!(sim.violations(), 6);
    assert_eq!(sim.queued(), 0, "nothing was queued");
}

#[test]
fn unmap_under_queued_work() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (base, granules) = mapped(&sim, 2);
    let issue = sim.access(stream, DevicePtr(base.0 + G - 512), Bytes(1024), Access::Read).unwrap();
    let at = DevicePtr(base.0 + G);
    let by = Touch { stream, issue, access: Access::Read, from: Bytes(0), to: Bytes(512) };
    let state = Completion::Pending;
    let violation = Violation::UnmapInUse { at, granule: granules[1], by: Some(by), state };
    found(&sim, sim.unmap(D0, at, None), violation);
    assert_eq!(sim.mapped(D0), Bytes(2 * G), "it is still mapped");
    sim.synchronise(Target::Stream(stream)).unwrap();
    sim.unmap(D0, at, None).unwrap();
    assert_eq!(sim.violations(), 1);
}

#[test]
fn unmap_under_work_that_is_complete_by_luck() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    sim.access(stream, at, Bytes(512), Access::Write).unwrap();
    sim.run_all();
    sim.unmap(D0, at, None).unwrap_err();
    let Some(Violation::UnmapInUse { state: Completion::Complete, by: Some(by), .. }) = sim.violation() else {
        panic!("{:?}", sim.violation());
    };
    assert_eq!(by.access, Access::Write);
    // A query that says "complete" is enough.
    assert_eq!(sim.query(Target::Stream(stream)), Ok(Completion::Complete));
    sim.unmap(D0, at, None).unwrap();
}

#[test]
fn race_names_both_sides() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (base, granules) = mapped(&sim, 1);
    let first = sim.access(one, DevicePtr(base.0 + 1024), Bytes(1024), Access::Write).unwrap();
    // Apart in time by chance; still nothing orders them.
    sim.run_all();
    let result = sim.access(two, DevicePtr(base.0 + 512), Bytes(1024), Access::Read);
    let earlier = Touch { stream: one, issue: first, access: Access::Write, from: Bytes(1024), to: Bytes(2048) };
    let later = Touch { stream: two, issue: Issue(2), access: Access::Read, from: Bytes(512), to: Bytes(1536) };
    let violation = Violation::Race { granule: granules[0], at: base, earlier, later };
    assert_eq!(result, Err(SimError::Violation(violation)));
    assert_eq!(sim.violation(), Some(violation));
    let text = violation.to_string();
    assert!(text.contains("Write of bytes 1024..2048 by operation 1 on stream 0x1"), "{text}");
    assert!(text.contains("Read of bytes 512..1536 by operation 2 on stream 0x2"), "{text}");
}

#[test]
fn wrong_content() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (at, _) = mapped(&sim, 2);
    let across = DevicePtr(at.0 + G - 512);
    sim.access_write_tag(stream, across, Bytes(1024), 0xa).unwrap();
    sim.access_read_expect(stream, across, Bytes(1024), 0xa).unwrap();
    // Another block that lies over the second half.
    sim.access_write_tag(stream, DevicePtr(at.0 + G), Bytes(512), 0xb).unwrap();
    let issue = sim.access_read_expect(stream, across, Bytes(1024), 0xa).unwrap();
    assert_eq!(sim.violation(), None, "found when it runs");
    sim.synchronise(Target::Device(D0)).unwrap();
    let (expected, found) = (0xa, Some(0xb));
    let violation = Violation::WrongContent { stream, issue, at: DevicePtr(at.0 + G), expected, found };
    assert_eq!(sim.violation(), Some(violation));
    assert_eq!(sim.violations(), 1);
}

#[test]
fn content_written_over_in_part_is_gone() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    sim.access_write_tag(stream, at, Bytes(1024), 1).unwrap();
    sim.access(stream, DevicePtr(at.0 + 1000), Bytes(1), Access::Write).unwrap();
    let issue = sim.access_read_expect(stream, at, Bytes(1024), 1).unwrap();
    sim.run_all();
    let (expected, found) = (1, None);
    assert_eq!(sim.violation(), Some(Violation::WrongContent { stream, issue, at, expected, found }));
}

#[test]
fn content_goes_with_the_granule() {
    let sim = sim();
    let [stream] = streams(&sim);
    let (at, granules) = mapped(&sim, 1);
    sim.access_write_tag(stream, at, Bytes(512), 42).unwrap();
    sim.synchronise(Target::Stream(stream)).unwrap();
    sim.unmap(D0, at, None).unwrap();
    let elsewhere = sim.reserve(D0, Bytes(G)).unwrap();
    sim.map(D0, elsewhere, granules[0], None).unwrap();
    sim.access_read_expect(stream, elsewhere, Bytes(512), 42).unwrap();
    sim.synchronise(Target::Stream(stream)).unwrap();
    assert_eq!(sim.violation(), None);
    sim.unmap(D0, elsewhere, None).unwrap();
    sim.destroy(D0, granules[0]).unwrap();
    let fresh = sim.create(D0).unwrap();
    sim.map(D0, at, fresh, None).unwrap();
    sim.access_read_expect(stream, at, Bytes(512), 42).unwrap();
    sim.run_all();
    assert!(matches!(sim.violation(), Some(Violation::WrongContent { found: None, .. })));
}

#[test]
fn the_first_violation_stays() {
    let sim = sim();
    let base = sim.reserve(D0, Bytes(G)).unwrap();
    sim.unmap(D0, base, None).unwrap_err();
    sim.destroy(D0, GranuleHandle(77)).unwrap_err();
    assert_eq!(sim.violation(), Some(Violation::NothingMapped(base)));
    assert_eq!(sim.violations(), 2);
}

#[test]
fn limits_are_no_violations() {
    let sim = sim_of(Sizes { granules: 40, markers: 2, ..Sizes::default() }, 0);
    for _ in 0..32 {
        sim.create(D0).unwrap();
    }
    let full = sim.create(D0).unwrap_err();
    assert_eq!((full.call, full.kind), (DriverCall::Create, DriverErrorKind::Exhausted));
    assert_eq!(sim.arena_full(), None, "the device is full, not an arena");
    for _ in 0..8 {
        sim.create(D1).unwrap();
    }
    assert_eq!(sim.create(D1).unwrap_err().kind, DriverErrorKind::Exhausted);
    assert_eq!(sim.arena_full(), Some(SimArena::Granules));
    assert_eq!(sim.properties(DeviceId(2)).unwrap_err().kind, DriverErrorKind::Unsupported);
    assert_eq!(sim.query(Target::Device(DeviceId(2))).unwrap_err().kind, DriverErrorKind::Unsupported);
    assert_eq!(sim.query(Target::Marker(MarkerSlot(2))).unwrap_err().kind, DriverErrorKind::Exhausted);
    assert_eq!(sim.reserve(D0, Bytes(1 << 47)).unwrap_err().kind, DriverErrorKind::Exhausted);
    assert_eq!(sim.violation(), None);
}
