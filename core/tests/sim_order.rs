//! Programs that are ordered show no violation with any seed; the same programs with one edge taken away always do.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, D1, G, Sizes, mapped, sim, sim_of, streams};
use weir::driver::{Capabilities, Completion, Driver, DriverErrorKind, MarkerSlot, NativeStream, Target};
use weir::policy::StreamKind;
use weir::sim::{Access, DeviceConfig, Issue, Progress, Sim, SimError, Violation};
use weir::units::{Bytes, DevicePtr, Nanos};

const M0: MarkerSlot = MarkerSlot(0);
const M1: MarkerSlot = MarkerSlot(1);
const BLOCK: Bytes = Bytes(4096);

fn write(sim: &Sim<'_>, stream: NativeStream, at: DevicePtr) -> Result<Issue, SimError> {
    sim.access(stream, at, BLOCK, Access::Write)
}

fn read(sim: &Sim<'_>, stream: NativeStream, at: DevicePtr) -> Result<Issue, SimError> {
    sim.access(stream, at, BLOCK, Access::Read)
}

#[track_caller]
fn races(result: Result<Issue, SimError>) {
    let Err(SimError::Violation(Violation::Race { .. })) = result else {
        panic!("no race was seen: {result:?}");
    };
}

#[test]
fn one_stream_orders_itself() {
    let sim = sim();
    let [one] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    for _ in 0..10 {
        write(&sim, one, at).unwrap();
        read(&sim, one, at).unwrap();
    }
}

#[test]
fn readers_do_not_race() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    read(&sim, one, at).unwrap();
    read(&sim, two, at).unwrap();
    read(&sim, three, at).unwrap();
    // A writer comes after every one of them or it races.
    sim.lay(M0, one).unwrap();
    sim.lay(M1, two).unwrap();
    sim.wait(three, M0).unwrap();
    races(write(&sim, three, at));
    sim.wait(three, M1).unwrap();
    write(&sim, three, at).unwrap();
}

#[test]
fn neighbours_do_not_race() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _) = mapped(&sim, 2);
    write(&sim, one, DevicePtr(at.0 + 4096)).unwrap();
    write(&sim, two, at).unwrap();
    write(&sim, two, DevicePtr(at.0 + 8192)).unwrap();
    write(&sim, two, DevicePtr(at.0 + G + 4096)).unwrap();
    races(write(&sim, two, DevicePtr(at.0 + 4095)));
    races(write(&sim, two, DevicePtr(at.0 + 8191)));
}

#[test]
fn a_wait_orders_and_only_what_was_before_the_lay() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    let later = DevicePtr(at.0 + 8192);
    write(&sim, one, at).unwrap();
    races(read(&sim, two, at));
    sim.lay(M0, one).unwrap();
    write(&sim, one, later).unwrap();
    races(read(&sim, two, at));
    sim.wait(two, M0).unwrap();
    read(&sim, two, at).unwrap();
    races(read(&sim, two, later));
}

#[test]
fn a_wait_keeps_the_lay_that_it_saw() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    // The slot now stands for something else; the wait does not.
    sim.lay(M0, three).unwrap();
    read(&sim, two, at).unwrap();
    let [four] = streams(&sim);
    sim.wait(four, M0).unwrap();
    races(write(&sim, four, at));
    // It runs that way, too.
    sim.pause(three).unwrap();
    sim.run_stream(two).unwrap();
    assert_eq!(sim.run_stream(four), Err(SimError::Deadlock));
}

#[test]
fn waits_are_transitive() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    sim.lay(M1, two).unwrap();
    races(write(&sim, three, at));
    sim.wait(three, M1).unwrap();
    write(&sim, three, at).unwrap();
}

#[test]
fn waiting_for_what_was_never_laid_adds_nothing() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.wait(two, M0).unwrap();
    assert_eq!(sim.query(Target::Marker(M0)), Ok(Completion::Complete));
    races(write(&sim, two, at));
    sim.run_stream(two).unwrap();
}

#[test]
fn what_the_host_knows_orders_what_comes_later() {
    let targets: [fn(NativeStream) -> Target; 3] =
        [|stream| Target::Stream(stream), |_| Target::Marker(M0), |_| Target::Device(D0)];
    for target in targets {
        let sim = sim();
        let [one, two] = streams(&sim);
        let (at, _) = mapped(&sim, 1);
        write(&sim, one, at).unwrap();
        sim.lay(M0, one).unwrap();
        assert_eq!(sim.query(target(one)), Ok(Completion::Pending));
        races(write(&sim, two, at));
        sim.synchronise(target(one)).unwrap();
        write(&sim, two, at).unwrap();
        // A query is as good.
        races(write(&sim, one, at));
        sim.run_all();
        races(write(&sim, one, at));
        assert_eq!(sim.query(Target::Stream(two)), Ok(Completion::Complete));
        write(&sim, one, at).unwrap();
    }
}

#[test]
fn host_knowledge_takes_along_what_it_stands_on() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    sim.synchronise(Target::Stream(two)).unwrap();
    write(&sim, three, at).unwrap();
}

#[test]
fn synchronising_another_device_or_an_earlier_marker_is_not_enough() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    sim.lay(M0, one).unwrap();
    write(&sim, one, at).unwrap();
    sim.synchronise(Target::Device(D1)).unwrap();
    sim.synchronise(Target::Marker(M0)).unwrap();
    sim.synchronise(Target::Stream(two)).unwrap();
    races(write(&sim, two, at));
    assert_eq!(sim.query(Target::Stream(one)), Ok(Completion::Pending), "only what was needed ran");
}

#[test]
fn a_handle_used_again_is_another_stream() {
    let sim = sim();
    let [one] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.destroy_stream(one).unwrap();
    let again = sim.create_stream(D0).unwrap();
    assert_eq!(one, again, "the handle comes back at once");
    races(write(&sim, again, at));
    sim.synchronise(Target::Device(D0)).unwrap();
    write(&sim, again, at).unwrap();
}

#[test]
fn a_marker_outlives_its_stream() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.lay(M0, one).unwrap();
    sim.destroy_stream(one).unwrap();
    let again = sim.create_stream(D0).unwrap();
    assert_eq!(sim.query(Target::Marker(M0)), Ok(Completion::Pending));
    sim.wait(two, M0).unwrap();
    write(&sim, two, at).unwrap();
    races(write(&sim, again, at));
    sim.synchronise(Target::Marker(M0)).unwrap();
    assert_eq!(sim.query(Target::Marker(M0)), Ok(Completion::Complete));
}

#[test]
fn places_of_streams_return_once_their_end_is_known() {
    let sim = sim_of(Sizes { streams: 2, ..Sizes::default() }, 0);
    for round in 0..20 {
        let stream = sim.create_stream(D0).unwrap();
        sim.work(stream, Nanos(5)).unwrap();
        if round % 2 == 0 {
            sim.destroy_stream(stream).unwrap();
        } else {
            sim.run_stream(stream).unwrap();
            sim.destroy_stream(stream).unwrap();
            // Complete, but the host does not know it yet.
            sim.create_stream(D0).unwrap_err();
            sim.synchronise(Target::Device(D0)).unwrap();
        }
    }
    assert_eq!(sim.violation(), None);
}

/// The legacy default stream and one other of this kind, each writing in turn.
fn legacy_against(kind: StreamKind) -> (Sim<'static>, NativeStream, NativeStream, DevicePtr) {
    let sim = sim();
    let legacy = sim.create_stream_of_kind(D0, StreamKind::Legacy).unwrap();
    let other = sim.create_stream_of_kind(D0, kind).unwrap();
    let (at, _) = mapped(&sim, 1);
    (sim, legacy, other, at)
}

#[test]
fn the_legacy_stream_orders_blocking_streams() {
    for kind in [StreamKind::Blocking, StreamKind::PerThread] {
        let (sim, legacy, other, at) = legacy_against(kind);
        let third = sim.create_stream_of_kind(D0, StreamKind::Blocking).unwrap();
        write(&sim, other, at).unwrap();
        races(write(&sim, third, at));
        sim.work(legacy, Nanos(1)).unwrap();
        write(&sim, third, at).unwrap();
        write(&sim, legacy, at).unwrap();
        write(&sim, other, at).unwrap();
        // And it runs in that order.
        sim.pause(third).unwrap();
        assert_eq!(sim.run_stream(other), Err(SimError::Deadlock));
        assert_eq!(sim.queued(), 3, "{kind:?}: the first write and the legacy work ran");
        sim.resume(third).unwrap();
        sim.run_stream(other).unwrap();
        assert_eq!(sim.queued(), 0);
    }
}

#[test]
fn the_legacy_stream_leaves_the_others_alone() {
    let (sim, legacy, other, at) = legacy_against(StreamKind::NonBlocking);
    write(&sim, other, at).unwrap();
    races(write(&sim, legacy, at));
    let (sim, legacy, _, at) = legacy_against(StreamKind::Blocking);
    let elsewhere = sim.create_stream_of_kind(D1, StreamKind::Blocking).unwrap();
    write(&sim, elsewhere, at).unwrap();
    races(write(&sim, legacy, at));
    assert_eq!(sim.create_stream_of_kind(D0, StreamKind::Legacy), Err(SimError::LegacyExists(legacy)));
}

#[test]
fn a_refused_access_orders_nothing() {
    let (sim, legacy, other, at) = legacy_against(StreamKind::Blocking);
    let third = sim.create_stream(D0).unwrap();
    let elsewhere = DevicePtr(at.0 + G / 2);
    write(&sim, legacy, elsewhere).unwrap();
    write(&sim, third, at).unwrap();
    // This one would come after the legacy stream's work, but it is not queued.
    races(write(&sim, other, at));
    sim.synchronise(Target::Stream(other)).unwrap();
    assert_eq!(sim.queued(), 2);
    races(write(&sim, third, elsewhere));
}

#[test]
fn mapping_in_stream_order() {
    let mut heap = sim_support::heap(Sizes::default());
    let mut device = DeviceConfig::new(Bytes::mib(64));
    device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    let sim = Sim::new(heap.lend(), &[device], 0).unwrap();
    let [one, two] = streams(&sim);
    let at = sim.reserve(D0, Bytes(2 * G)).unwrap();
    let granule = sim.create(D0).unwrap();
    sim.map(D0, at, granule, Some(one)).unwrap();
    assert_eq!(sim.queued(), 1);
    races(read(&sim, two, at));
    write(&sim, one, at).unwrap();
    sim.synchronise(Target::Stream(one)).unwrap();
    write(&sim, two, at).unwrap();
    sim.unmap(D0, at, Some(one)).unwrap_err();
    sim.synchronise(Target::Stream(two)).unwrap();
    sim.unmap(D0, at, Some(one)).unwrap();
    // Another stream may map it only after that.
    let elsewhere = DevicePtr(at.0 + G);
    sim.map(D0, elsewhere, granule, Some(two)).unwrap_err();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    sim.map(D0, elsewhere, granule, Some(two)).unwrap();
    races(read(&sim, one, elsewhere));
    read(&sim, two, elsewhere).unwrap();
    sim.run_all();
    assert_eq!((sim.queued(), sim.violations()), (0, 4));
}

#[test]
fn a_read_does_not_hide_the_write_before_it() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    write(&sim, one, at).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    read(&sim, two, at).unwrap();
    races(read(&sim, three, at));
}

#[test]
fn a_partial_write_hides_only_what_it_covers() {
    let sim = sim();
    let [one, two, three] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    let middle = DevicePtr(at.0 + 8192);
    sim.access(one, at, Bytes(5 * 4096), Access::Write).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    write(&sim, two, middle).unwrap();
    sim.wait(three, M0).unwrap();
    // Ordered after the large write, not after the one in the middle.
    write(&sim, three, at).unwrap();
    races(write(&sim, three, middle));
    write(&sim, three, DevicePtr(at.0 + 4 * 4096)).unwrap();
    // Somebody who knows nothing races with what is left of the large write on both sides.
    let [four] = streams(&sim);
    races(read(&sim, four, DevicePtr(at.0 + 4096)));
    races(read(&sim, four, DevicePtr(at.0 + 3 * 4096)));
}

#[test]
fn completion_by_issue_number() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let first = sim.work(one, Nanos(10)).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    assert_eq!((first, sim.issued()), (Issue(1), Issue(4)));
    assert_eq!(sim.complete_issued_before(first), 0);
    assert_eq!(sim.complete_issued_before(Issue(3)), 2);
    assert_eq!(sim.query(Target::Stream(two)), Ok(Completion::Pending));
    assert_eq!(sim.query(Target::Marker(M0)), Ok(Completion::Complete));
    assert_eq!(sim.complete_issued_before(sim.issued()), 1);
    assert_eq!(sim.query(Target::Stream(two)), Ok(Completion::Complete));
}

#[test]
fn a_pause_is_a_deadlock_for_who_waits() {
    let sim = sim();
    let [one, two] = streams(&sim);
    sim.work(one, Nanos(10)).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    sim.pause(one).unwrap();
    assert_eq!(sim.step(), None);
    let error = sim.synchronise(Target::Stream(two)).unwrap_err();
    assert_eq!(error.kind, DriverErrorKind::TimedOut);
    sim.resume(one).unwrap();
    sim.synchronise(Target::Stream(two)).unwrap();
    assert_eq!(sim.violation(), None);
}

#[test]
fn immediate_progress() {
    let sim = sim();
    let [one, two] = streams(&sim);
    sim.set_progress(Progress::Immediate);
    sim.work(one, Nanos(10)).unwrap();
    sim.lay(M0, one).unwrap();
    assert_eq!(sim.query(Target::Marker(M0)), Ok(Completion::Complete));
    sim.pause(one).unwrap();
    sim.work(one, Nanos(10)).unwrap();
    sim.lay(M0, one).unwrap();
    sim.wait(two, M0).unwrap();
    assert_eq!(sim.query(Target::Stream(two)), Ok(Completion::Pending));
    sim.resume(one).unwrap();
    assert_eq!(sim.query(Target::Stream(two)), Ok(Completion::Complete));
}

#[test]
fn full_queues_run_the_oldest() {
    let sim = sim_of(Sizes { ops: 4, ..Sizes::default() }, 0);
    let [one, two] = streams(&sim);
    for _ in 0..5 {
        sim.work(one, Nanos(1)).unwrap();
        sim.work(two, Nanos(1)).unwrap();
    }
    assert_eq!((sim.queued(), sim.squeezed()), (4, 6));
    sim.pause(one).unwrap();
    sim.pause(two).unwrap();
    sim.work(one, Nanos(1)).unwrap_err();
}

/// Two streams hand a block to and fro over markers; `skip` is the round whose wait is left out.
fn ping_pong(seed: u64, skip: Option<u32>) -> (Sim<'static>, Option<Violation>) {
    let sim = sim_of(Sizes::default(), seed);
    let pair: [NativeStream; 2] = streams(&sim);
    let (at, _) = mapped(&sim, 1);
    for round in 0..20 {
        let (mine, theirs) = (pair[round as usize % 2], pair[(round as usize + 1) % 2]);
        let expected = u64::from(round);
        // A race is refused and stays visible in `violation`.
        let _ = if round == 0 { write(&sim, mine, at) } else { sim.access_read_expect(mine, at, BLOCK, expected) };
        let _ = sim.access_write_tag(mine, at, BLOCK, expected + 1);
        sim.lay(MarkerSlot(round), mine).unwrap();
        if skip != Some(round) {
            sim.wait(theirs, MarkerSlot(round)).unwrap();
        }
        for _ in 0..seed % 4 {
            let _ = sim.step();
        }
    }
    sim.synchronise(Target::Device(D0)).unwrap();
    let violation = sim.violation();
    (sim, violation)
}

#[test]
fn a_missing_wait_is_found_with_every_seed() {
    for seed in 0..40 {
        let (sim, violation) = ping_pong(seed, None);
        assert_eq!(violation, None, "seed {seed}");
        assert_eq!(sim.unchecked(), 0);
        for skip in 0..19 {
            let (_, violation) = ping_pong(seed, Some(skip));
            let Some(Violation::Race { earlier, later, .. }) = violation else {
                panic!("seed {seed}, wait {skip} left out: {violation:?}");
            };
            assert!(earlier.issue < later.issue && earlier.stream != later.stream);
        }
    }
}
