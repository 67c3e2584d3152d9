//! The exploration finds nothing in the pool, and finds what a device does that breaks its word.

use weir::policy::Reuse;
use weir_explore::driver::Device;
use weir_explore::op::{Op, STREAMS};
use weir_explore::run::{Family, Setting, Threshold};
use weir_explore::search::{Found, search};

fn with(reuse: Reuse, device: Device, depth: usize) -> Found {
    let is = |s: &Setting| s.reuse == reuse && s.threshold == Threshold::Nothing && s.streams == STREAMS;
    let setting = Setting::all(Family::Plain).find(is).expect("one of all settings");
    search(Setting { device, ..setting }, depth, 2)
}

/// Runs all of a family's programs; how many programs and states these were.
fn all_right(family: Family, depth: usize) -> (u64, u64) {
    let (mut programs, mut states) = (0, 0);
    for setting in Setting::all(family) {
        let found = search(setting, depth, 2);
        let first = found.wrong.first().map(|(program, what)| format!("{setting}: {what}\n{program}"));
        assert_eq!(first, None);
        programs += found.programs;
        states += found.states;
    }
    (programs, states)
}

#[test]
fn all_programs_of_five_operations_are_right() {
    let (programs, states) = all_right(Family::Plain, 5);
    // Fewer would mean that something is no longer explored.
    assert!(programs > 60_000 && states > 10_000, "{programs} programs, {states} states");
}

#[test]
fn all_programs_of_four_operations_that_renew_streams_are_right() {
    let (programs, states) = all_right(Family::Streams, 4);
    assert!(programs > 15_000 && states > 3000, "{programs} programs, {states} states");
}

#[test]
fn all_programs_of_four_operations_in_which_the_driver_fails_are_right() {
    let (programs, states) = all_right(Family::Faults, 4);
    assert!(programs > 30_000 && states > 3500, "{programs} programs, {states} states");
}

#[test]
fn one_operation_leads_to_what_can_be_counted_by_hand() {
    // Mallocs of one and of two granules on the first stream: nothing else can begin a program that shows anything.
    let found = with(Reuse::all(), Device::Honest, 1);
    assert_eq!((found.programs, found.states), (2, 1));
    // After each of the two: free; mallocs of both sizes on the first and on a second stream. A synchronisation after a
    // malloc. (A record or a use at the end shows nothing.)
    let found = with(Reuse::empty(), Device::Honest, 2);
    assert_eq!((found.programs, found.states), (2 + 2 * (4 + 1), 3));
}

#[test]
fn a_device_that_drops_waits_is_found_by_the_shortest_program() {
    let found = with(Reuse::EVENT, Device::DropsWaits, 5);
    let (program, what) = found.wrong.first().expect("the pool trusts the wait");
    assert_eq!(program.steps().len(), 5, "{program}");
    let ops: Vec<_> = program.steps().iter().map(|step| step.op).collect();
    assert!(matches!(ops[..3], [Op::Malloc { .. }, Op::Free { .. }, Op::Record { .. }]), "{program}");
    assert!(matches!(ops[3..], [Op::Wait { .. }, Op::Malloc { .. }]), "{program}");
    assert!(what.contains("nothing orders it"), "{what}");
}

#[test]
fn a_device_that_drops_the_pools_own_waits_is_found() {
    let found = with(Reuse::INTERNAL, Device::DropsWaits, 5);
    let (program, what) = found.wrong.first().expect("the pool trusts the wait");
    assert!(what.contains("nothing orders it"), "{program}: {what}");
}

#[test]
fn a_device_that_always_says_complete_is_found() {
    let found = with(Reuse::OPPORTUNISTIC, Device::SaysComplete, 4);
    let (program, what) = found.wrong.first().expect("the pool trusts the answer");
    assert!(what.contains("nothing orders it") || what.contains("the simulator"), "{program}: {what}");
}
