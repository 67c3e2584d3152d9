//! Maps and unmaps in the order of a stream: what each must come after, and what the device finds when it runs.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, G, Sizes, heap, streams};
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Target,
};
use weir::sim::{Access, DeviceConfig, Issue, OpKind, Sim, SimArena, SimError, Touch, Violation};
use weir::units::{Bytes, DevicePtr, Nanos};

const M0: MarkerSlot = MarkerSlot(0);
const M1: MarkerSlot = MarkerSlot(1);
const BLOCK: Bytes = Bytes(4096);

fn sim_of(sizes: Sizes, seed: u64) -> Sim<'static> {
    let heap = Box::leak(Box::new(heap(sizes)));
    let mut device = DeviceConfig::new(Bytes::mib(64));
    device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    Sim::new(heap.lend(), &[device], seed).unwrap()
}

fn sim() -> Sim<'static> {
    sim_of(Sizes::default(), 1)
}

/// Two addresses, and a granule that is mapped at the first, at once.
fn places(sim: &Sim<'_>) -> (DevicePtr, DevicePtr, GranuleHandle) {
    let base = sim.reserve(D0, Bytes(2 * G)).unwrap();
    let granule = sim.create(D0).unwrap();
    sim.map(D0, base, granule, None).unwrap();
    (base, DevicePtr(base.0 + G), granule)
}

/// What is queued on `second` from now on comes after what is queued on `first` now.
fn order(sim: &Sim<'_>, first: NativeStream, second: NativeStream, marker: MarkerSlot) {
    sim.lay(marker, first).unwrap();
    sim.wait(second, marker).unwrap();
}

fn write(sim: &Sim<'_>, stream: NativeStream, at: DevicePtr) -> Issue {
    sim.access(stream, at, BLOCK, Access::Write).unwrap()
}

/// The number that the next operation gets: a map or unmap in the order of a stream does not return its own.
fn issue_of(sim: &Sim<'_>, call: impl FnOnce() -> Result<(), DriverError>) -> Issue {
    let issue = sim.issued();
    call().unwrap();
    assert_eq!(sim.issued(), Issue(issue.0 + 1), "it is one operation");
    issue
}

/// The call is refused for this reason, the first of this simulation, and changed nothing that can be seen.
#[track_caller]
fn refused(sim: &Sim<'_>, call: impl FnOnce() -> Result<(), DriverError>, why: Violation) {
    let picture = || (sim.issued(), sim.queued(), sim.created(D0), sim.mapped(D0));
    let before = picture();
    assert_eq!(call().map_err(|error| error.kind), Err(DriverErrorKind::Failed));
    assert_eq!((picture(), sim.violations()), (before, 1));
    assert_eq!(sim.violation(), Some(why));
}

/// `unmap` on stream `unmapping` has to come first.
fn first(
    call: DriverCall,
    at: DevicePtr,
    unmap: Issue,
    unmapping: NativeStream,
    by: Option<NativeStream>,
) -> Violation {
    Violation::BeforeUnmap { call, at, unmap, unmapping, by }
}

#[test]
fn an_unmap_needs_order_and_no_knowledge() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _, granule) = places(&sim);
    write(&sim, one, at);
    order(&sim, one, two, M0);
    // Nothing has run. At once it may not go, in order it may.
    assert_eq!(sim.unmap(D0, at, None).unwrap_err().kind, DriverErrorKind::Failed);
    assert!(matches!(sim.violation(), Some(Violation::UnmapInUse { state: Completion::Pending, .. })));
    sim.unmap(D0, at, Some(two)).unwrap();
    assert_eq!((sim.queued(), sim.mapped(D0)), (4, Bytes::ZERO));
    sim.synchronise(Target::Stream(two)).unwrap();
    sim.destroy(D0, granule).unwrap();
    assert_eq!(sim.violations(), 1);
}

#[test]
fn an_unmap_races_with_what_it_does_not_come_after() {
    for access in [Access::Read, Access::Write] {
        let sim = sim();
        let [one, two] = streams(&sim);
        let (at, _, granule) = places(&sim);
        let issue = sim.access(one, DevicePtr(at.0 + 8192), BLOCK, access).unwrap();
        sim.run_all();
        // It is complete by luck: that is no order.
        let earlier = Touch { stream: one, issue, access, from: Bytes(8192), to: Bytes(8192 + 4096) };
        let later = Touch { stream: two, issue: Issue(2), access: Access::Write, from: Bytes(0), to: Bytes(G) };
        refused(&sim, || sim.unmap(D0, at, Some(two)), Violation::Race { granule, at, earlier, later });
        // It is still there, and the refused unmap ordered nothing.
        write(&sim, one, at);
        sim.unmap(D0, at, Some(one)).unwrap();
    }
}

#[test]
fn an_unmap_comes_after_the_map() {
    let touch = |stream, issue| Touch { stream, issue, access: Access::Write, from: Bytes(0), to: Bytes(G) };
    for in_order in [true, false] {
        let sim = sim();
        let [one, two] = streams(&sim);
        let (_, at, _) = places(&sim);
        let granule = sim.create(D0).unwrap();
        let issue = issue_of(&sim, || sim.map(D0, at, granule, Some(one)));
        let (earlier, later) = (touch(one, issue), touch(two, Issue(issue.0 + 1)));
        if in_order {
            refused(&sim, || sim.unmap(D0, at, Some(two)), Violation::Race { granule, at, earlier, later });
        } else {
            let (by, state) = (Some(earlier), Completion::Pending);
            refused(&sim, || sim.unmap(D0, at, None), Violation::UnmapInUse { at, granule, by, state });
        }
        order(&sim, one, two, M0);
        sim.unmap(D0, at, Some(two)).unwrap();
        sim.run_all();
    }
}

#[test]
fn no_piece_of_history_is_needed_for_maps() {
    let sim = sim_of(Sizes { pieces: 0, ..Sizes::default() }, 1);
    let [one, two] = streams(&sim);
    let (at, elsewhere, granule) = places(&sim);
    sim.unmap(D0, at, Some(one)).unwrap();
    sim.map(D0, elsewhere, granule, Some(two)).unwrap_err();
    sim.map(D0, elsewhere, granule, Some(one)).unwrap();
    sim.access(two, elsewhere, BLOCK, Access::Read).unwrap_err();
    sim.unmap(D0, elsewhere, Some(two)).unwrap_err();
    sim.unmap(D0, elsewhere, None).unwrap_err();
    assert_eq!((sim.violations(), sim.unchecked()), (4, 0));
}

#[test]
fn addresses_mean_what_they_meant_in_the_order_of_the_device() {
    for seed in 0..40 {
        let sim = sim_of(Sizes::default(), seed);
        let [one, two, three] = streams(&sim);
        let (at, elsewhere, first) = places(&sim);
        let second = sim.create(D0).unwrap();
        sim.access_write_tag(one, at, BLOCK, 11).unwrap();
        sim.access_read_expect(one, at, BLOCK, 11).unwrap();
        // All this is called before anything runs: one address, two granules, three streams.
        order(&sim, one, two, M0);
        sim.access_read_expect(two, at, BLOCK, 11).unwrap();
        sim.unmap(D0, at, Some(two)).unwrap();
        sim.map(D0, at, second, Some(two)).unwrap();
        sim.access_write_tag(two, at, BLOCK, 22).unwrap();
        order(&sim, two, three, M1);
        sim.map(D0, elsewhere, first, Some(three)).unwrap();
        sim.access_read_expect(three, elsewhere, BLOCK, 11).unwrap();
        sim.access_read_expect(three, at, BLOCK, 22).unwrap();
        let mut maps = Vec::new();
        while let Some(ran) = sim.step() {
            maps.extend(matches!(ran.kind, OpKind::Map | OpKind::Unmap).then_some((ran.kind, ran.stream)));
        }
        assert_eq!(maps, [(OpKind::Unmap, two), (OpKind::Map, two), (OpKind::Map, three)]);
        assert_eq!((sim.violation(), sim.queued()), (None, 0), "seed {seed}");
    }
}

#[test]
fn an_access_after_the_call_of_an_unmap_finds_nothing() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, ..) = places(&sim);
    write(&sim, one, at);
    sim.unmap(D0, at, Some(one)).unwrap();
    for stream in [one, two] {
        let issue = sim.issued();
        let found = sim.access(stream, at, BLOCK, Access::Read);
        assert_eq!(found, Err(SimError::Violation(Violation::AccessUnmapped { stream, issue, at })));
    }
    sim.run_all();
    assert_eq!(sim.violations(), 2);
}

#[test]
fn an_access_that_runs_after_the_unmap_finds_nothing() {
    // Without room for a history nothing is seen at the call; the device shows it all the same.
    let sim = sim_of(Sizes { pieces: 0, ..Sizes::default() }, 1);
    let [one, two] = streams(&sim);
    let (at, _, granule) = places(&sim);
    let issue = write(&sim, two, at);
    sim.unmap(D0, at, Some(one)).unwrap();
    sim.pause(two).unwrap();
    sim.synchronise(Target::Stream(one)).unwrap();
    assert_eq!((sim.violation(), sim.unchecked()), (None, 1));
    sim.resume(two).unwrap();
    sim.run_all();
    assert_eq!(sim.violation(), Some(Violation::AccessUnmapped { stream: two, issue, at }));
    sim.destroy(D0, granule).unwrap();
}

#[test]
fn an_address_is_mapped_anew_after_its_unmap_in_order() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, ..) = places(&sim);
    let fresh = sim.create(D0).unwrap();
    write(&sim, one, at);
    let unmap = issue_of(&sim, || sim.unmap(D0, at, Some(one)));
    sim.lay(M0, one).unwrap();
    refused(&sim, || sim.map(D0, at, fresh, Some(two)), first(DriverCall::Map, at, unmap, one, Some(two)));
    // Luck is no order here either.
    sim.run_all();
    sim.map(D0, at, fresh, Some(two)).unwrap_err();
    sim.wait(two, M0).unwrap();
    sim.map(D0, at, fresh, Some(two)).unwrap();
    write(&sim, two, at);
    sim.unmap(D0, at, Some(two)).unwrap();
    let again = sim.create(D0).unwrap();
    sim.map(D0, at, again, Some(one)).unwrap_err();
    sim.map(D0, at, again, Some(two)).unwrap();
    sim.run_all();
    assert_eq!(sim.violations(), 3);
}

#[test]
fn an_address_is_mapped_anew_at_once_when_the_unmap_is_known() {
    let sim = sim();
    let [one] = streams(&sim);
    let (at, ..) = places(&sim);
    let fresh = sim.create(D0).unwrap();
    let unmap = issue_of(&sim, || sim.unmap(D0, at, Some(one)));
    refused(&sim, || sim.map(D0, at, fresh, None), first(DriverCall::Map, at, unmap, one, None));
    sim.run_all();
    sim.map(D0, at, fresh, None).unwrap_err();
    assert_eq!(sim.query(Target::Stream(one)), Ok(Completion::Complete));
    sim.map(D0, at, fresh, None).unwrap();
    assert_eq!(sim.violations(), 2);
}

#[test]
fn what_is_unmapped_at_once_is_free_at_once() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, elsewhere, granule) = places(&sim);
    write(&sim, one, at);
    sim.synchronise(Target::Stream(one)).unwrap();
    sim.unmap(D0, at, None).unwrap();
    let fresh = sim.create(D0).unwrap();
    sim.map(D0, at, fresh, Some(one)).unwrap();
    sim.map(D0, elsewhere, granule, Some(two)).unwrap();
    sim.run_all();
    assert_eq!(sim.violation(), None);
}

#[test]
fn a_granule_is_mapped_elsewhere_after_its_unmap() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, elsewhere, granule) = places(&sim);
    let unmap = issue_of(&sim, || sim.unmap(D0, at, Some(one)));
    let why = |by| first(DriverCall::Map, at, unmap, one, by);
    refused(&sim, || sim.map(D0, elsewhere, granule, Some(two)), why(Some(two)));
    sim.map(D0, elsewhere, granule, None).unwrap_err();
    order(&sim, one, two, M0);
    sim.map(D0, elsewhere, granule, Some(two)).unwrap();
    assert!(sim.access(one, elsewhere, BLOCK, Access::Read).is_err(), "the map races with who does not wait");
    sim.unmap(D0, elsewhere, Some(two)).unwrap();
    sim.map(D0, at, granule, None).unwrap_err();
    sim.synchronise(Target::Stream(two)).unwrap();
    // Both unmaps are known through the marker.
    sim.map(D0, at, granule, None).unwrap();
    write(&sim, one, at);
    assert_eq!(sim.violations(), 4);
}

#[test]
fn destroy_and_release_wait_for_the_unmap_to_be_known() {
    for (call, ran) in [DriverCall::Destroy, DriverCall::Release].map(|call| [(call, false), (call, true)]).concat() {
        let sim = sim();
        let [one] = streams(&sim);
        let base = sim.reserve(D0, Bytes(2 * G)).unwrap();
        let at = DevicePtr(base.0 + G);
        let granule = sim.create(D0).unwrap();
        sim.map(D0, at, granule, Some(one)).unwrap();
        let unmap = issue_of(&sim, || sim.unmap(D0, at, Some(one)));
        if ran {
            // Complete, but the host does not know it.
            sim.run_all();
        }
        let end = || match call {
            DriverCall::Destroy => sim.destroy(D0, granule),
            _ => sim.release(D0, base, Bytes(2 * G)),
        };
        refused(&sim, end, first(call, at, unmap, one, None));
        sim.synchronise(Target::Device(D0)).unwrap();
        end().unwrap();
        assert_eq!((sim.violations(), sim.mapped(D0)), (1, Bytes::ZERO));
    }
}

#[test]
fn release_is_refused_for_its_own_addresses_only() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, ..) = places(&sim);
    let (other, granule) = (sim.reserve(D0, Bytes(G)).unwrap(), sim.create(D0).unwrap());
    sim.unmap(D0, at, Some(one)).unwrap();
    sim.map(D0, other, granule, Some(two)).unwrap();
    let unmap = issue_of(&sim, || sim.unmap(D0, other, Some(two)));
    sim.synchronise(Target::Stream(one)).unwrap();
    sim.release(D0, at, Bytes(2 * G)).unwrap();
    refused(&sim, || sim.release(D0, other, Bytes(G)), first(DriverCall::Release, other, unmap, two, None));
}

#[test]
fn an_address_that_is_released_and_reserved_again_is_new() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, _, granule) = places(&sim);
    sim.unmap(D0, at, Some(one)).unwrap();
    sim.synchronise(Target::Stream(one)).unwrap();
    sim.release(D0, at, Bytes(2 * G)).unwrap();
    assert_eq!(sim.reserve(D0, Bytes(2 * G)), Ok(at));
    sim.map(D0, at, granule, Some(two)).unwrap();
    write(&sim, two, at);
    sim.run_all();
    assert_eq!(sim.violation(), None);
}

#[test]
fn entries_that_only_remember_make_room() {
    // Four entries, of which three can be used; the places that a known unmap frees are enough for ever.
    let sim = sim_of(Sizes { granules: 2, ..Sizes::default() }, 1);
    let [one] = streams(&sim);
    let base = sim.reserve(D0, Bytes(16 * G)).unwrap();
    let granule = sim.create(D0).unwrap();
    let at = |n: u64| DevicePtr(base.0 + n * G);
    sim.map(D0, at(0), granule, Some(one)).unwrap();
    for n in 1..3 {
        sim.unmap(D0, at(n - 1), Some(one)).unwrap();
        sim.map(D0, at(n), granule, Some(one)).unwrap();
    }
    sim.unmap(D0, at(2), Some(one)).unwrap();
    sim.run_all();
    let full = sim.map(D0, at(3), granule, Some(one)).unwrap_err();
    assert_eq!((full.kind, sim.arena_full()), (DriverErrorKind::Exhausted, Some(SimArena::Pages)));
    // An address that has an entry needs none.
    sim.map(D0, at(1), granule, Some(one)).unwrap();
    for n in 2..16 {
        sim.unmap(D0, at(n - 1), Some(one)).unwrap();
        sim.synchronise(Target::Stream(one)).unwrap();
        sim.map(D0, at(n), granule, if n % 2 == 0 { Some(one) } else { None }).unwrap();
        sim.access_write_tag(one, at(n), BLOCK, n).unwrap();
    }
    sim.access_read_expect(one, at(15), BLOCK, 15).unwrap();
    sim.run_all();
    assert_eq!(sim.violation(), None);
}

#[test]
fn a_stream_that_is_destroyed_keeps_its_maps() {
    let sim = sim();
    let [one, two] = streams(&sim);
    let (at, elsewhere, granule) = places(&sim);
    sim.work(one, Nanos(50)).unwrap();
    let unmap = issue_of(&sim, || sim.unmap(D0, at, Some(one)));
    sim.lay(M0, one).unwrap();
    sim.destroy_stream(one).unwrap();
    let again = sim.create_stream(D0).unwrap();
    let why = first(DriverCall::Map, at, unmap, one, Some(again));
    refused(&sim, || sim.map(D0, elsewhere, granule, Some(again)), why);
    sim.wait(two, M0).unwrap();
    sim.map(D0, elsewhere, granule, Some(two)).unwrap();
    sim.run_all();
}

#[test]
fn without_the_capability_a_map_is_no_operation() {
    let sim = sim_support::sim();
    let [one, two] = streams(&sim);
    let (at, elsewhere, granule) = places(&sim);
    write(&sim, one, at);
    sim.unmap(D0, at, Some(one)).unwrap_err();
    assert!(matches!(sim.violation(), Some(Violation::UnmapInUse { .. })));
    sim.synchronise(Target::Stream(one)).unwrap();
    sim.unmap(D0, at, Some(one)).unwrap();
    sim.map(D0, elsewhere, granule, Some(two)).unwrap();
    write(&sim, one, elsewhere);
    assert_eq!((sim.queued(), sim.violations()), (1, 1));
}

#[test]
fn the_text_says_what_comes_first() {
    let (at, unmap, unmapping) = (DevicePtr(0x4000_0020_0000), Issue(7), NativeStream(1));
    let text = |call, by| first(call, at, unmap, unmapping, by).to_string();
    let common = format!("needs operation 7 on stream 0x1 first, which unmaps {at}: ");
    let by = Some(NativeStream(2));
    assert_eq!(text(DriverCall::Map, by), format!("map {common}nothing orders stream 0x2 after it"));
    let unknown = format!("destroy {common}the host does not know it to be complete");
    assert_eq!(text(DriverCall::Destroy, None), unknown);
}
