//! Every driver call fails at every point: for each program of a corpus the k-th driver call, for every k, and pairs of
//! calls, so that undoing fails too. Enumerated, not sampled. See `pool_faults_support` for what is checked after each
//! call.
#![cfg(feature = "sim")]

mod pool_faults_support;

use pool_faults_support::corpus::{Program, corpus};
use pool_faults_support::driver::Plan;
use pool_faults_support::run::{Tally, run, stands_refusals};
use weir::driver::{Capabilities, DriverErrorKind};

const KINDS: [DriverErrorKind; 3] = [DriverErrorKind::Failed, DriverErrorKind::Exhausted, DriverErrorKind::TimedOut];

/// Devices that map at once, and in the order of a stream.
const DEVICES: [Capabilities; 2] =
    [Capabilities::SPARSE_ADDRESSES, Capabilities::SPARSE_ADDRESSES.union(Capabilities::MAP_IN_STREAM_ORDER)];

/// How far apart two failures of a pair are at most. An undo follows the call that it undoes within so many calls.
const APART: usize = 8;

/// Runs every program on every device under all plans that `plans` makes of its number of driver calls.
fn enumerate(plans: impl Fn(&Program, usize) -> Vec<Plan>) -> Tally {
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for program in corpus() {
        for device in DEVICES {
            let (calls, unhurt) = run(&program, device, Plan::Nothing).expect("the program runs");
            // Where maps are queued, what a full device refused the rest of is there again only after a synchronisation.
            let short = unhurt.short_by_ignorance + unhurt.short_by_quarantine + unhurt.quarantined;
            assert!(short == 0 || device == DEVICES[1], "{}: {unhurt:?}", program.name);
            for plan in plans(&program, calls) {
                match run(&program, device, plan) {
                    Some((_, one)) => tally.add(one),
                    // One of each program says enough.
                    None => {
                        broken.push((program.name, device, plan));
                        break;
                    }
                }
            }
        }
    }
    println!("{tally:?}");
    assert!(broken.is_empty(), "{} programs do not stand it: {broken:#?}", broken.len());
    tally
}

#[test]
fn every_single_call_fails() {
    let tally = enumerate(|_, calls| {
        let of_kind = |kind| (1..=calls).map(move |k| Plan::One(k, kind));
        KINDS.into_iter().flat_map(of_kind).collect()
    });
    assert_eq!(tally.injected, tally.runs, "each run meets its failure");
    assert!(tally.refused > 0 && tally.rescued > 0 && tally.quarantined > 0, "{tally:?}");
}

#[test]
fn every_call_fails_and_then_another() {
    let (failed, exhausted) = (DriverErrorKind::Failed, DriverErrorKind::Exhausted);
    let tally = enumerate(|_, calls| {
        let pairs = (1..=calls).flat_map(|k| (k + 1..=k + APART).map(move |l| (k, l)));
        let kinds = [(failed, failed), (exhausted, exhausted), (exhausted, failed)];
        pairs.flat_map(|(k, l)| kinds.map(|(first, then)| Plan::Two((k, first), (l, then)))).collect()
    });
    assert!(tally.quarantined > 0, "undoing fails too: {tally:?}");
}

#[test]
fn every_call_fails_and_so_does_all_of_its_undoing() {
    let tally = enumerate(|_, calls| {
        KINDS.into_iter().flat_map(|kind| (1..=calls).map(move |k| Plan::UntilReturn(k, kind))).collect()
    });
    assert!(tally.quarantined > 0, "undoing fails too: {tally:?}");
}

#[test]
fn the_device_is_gone_from_some_call_on_and_comes_back_in_the_end() {
    let tally = enumerate(|program, calls| {
        let kinds = if stands_refusals(program) { &KINDS[..] } else { &[] };
        kinds.iter().flat_map(|&kind| (1..=calls).map(move |k| Plan::Outage(k, kind))).collect()
    });
    assert!(tally.refused > 0 && tally.quarantined > 0, "{tally:?}");
}
