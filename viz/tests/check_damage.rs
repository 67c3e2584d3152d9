//! The detector on logs that are not whole: what is unknown is held against nobody.

mod check_support;

use check_support::{A, B, Hand, KIB};
use weir::policy::UseUntil;
use weir::trace::{DamageKind, Record, Refusal, Verb};
use weir::units::MIB;
use weir_viz::check::{Checker, Fault, Told};

#[test]
fn what_missing_records_may_explain_is_not_judged() {
    type Plant = fn(&mut Hand);
    // Before the gap, behind it, and what is held against nobody then.
    let cases: [(Plant, Plant, Option<Fault>); 7] = [
        (|l| _ = l.malloc(1, A), |l| _ = l.used(1, B, UseUntil::Now), Some(Fault::UseBeforeMalloc)),
        (|l| _ = l.malloc(1, A), |l| _ = l.free(1, B), Some(Fault::FreeBeforeMalloc)),
        (|l| _ = (l.malloc(1, A), l.free(1, A)), |l| _ = l.malloc_at(2, B, KIB), Some(Fault::ReuseBeforeFree)),
        (|l| _ = l.malloc(1, A), |l| _ = l.malloc_at(2, A, KIB), Some(Fault::GivenTwice)),
        (|l| _ = l.malloc(1, A), |l| _ = l.unmap(0, 1), Some(Fault::UnmappedInUse)),
        (|_| (), |l| _ = l.free(1, A), None),
        (|_| (), |l| _ = l.malloc_at(1, A, 60 * MIB), None),
    ];
    for (before, behind, fault) in cases {
        let mut log = Hand::new();
        before(&mut log);
        let cut = log.records.len();
        behind(&mut log);
        let mut checker = Checker::new(Told::Accept);
        log.records[..cut].iter().for_each(|r| checker.push(r));
        checker.damage(DamageKind::Missing { first: 0, records: 1 });
        log.records[cut..].iter().for_each(|r| checker.push(r));
        let report = checker.finish();
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.not_judged.first().map(|f| f.fault), fault, "{report}");
        if fault.is_some() {
            assert!(!log.report().is_clean(), "without the gap it is a finding");
        }
    }
}

#[test]
fn what_stands_on_one_side_of_a_gap_is_judged() {
    let mut log = Hand::new();
    log.push(Record::Lost { records: 5 });
    log.malloc(1, A);
    let used = log.used(1, B, UseUntil::Now);
    assert_eq!(log.report().findings.iter().map(|f| f.second.record).collect::<Vec<_>>(), [used]);
}

#[test]
fn ids_are_never_used_again_so_that_no_gap_excuses_a_second_free() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let first = log.free(1, A);
    log.push(Record::Lost { records: 5 });
    let second = log.free(1, A);
    log.only(Fault::DoubleFree, Some(first), second);
}

#[test]
fn a_leak_that_the_record_states_is_one_whatever_is_missing() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.push(Record::Lost { records: 5 });
    log.destroy_pool(0);
    assert!(log.report().is_clean());
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    log.push(Record::Lost { records: 5 });
    let destroyed = log.destroy_pool(KIB);
    log.only(Fault::Leak, Some(malloc), destroyed);
    let mut log = Hand::new();
    let destroyed = log.destroy_pool(KIB);
    log.only(Fault::Leak, None, destroyed);
}

#[test]
fn pages_that_come_again_are_no_double_frees() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    let mut checker = Checker::new(Told::Accept);
    log.records.iter().for_each(|r| checker.push(r));
    checker.damage(DamageKind::OutOfOrder { number: 1, expected: 9 });
    log.records[1..].iter().for_each(|r| checker.push(r));
    let report = checker.finish();
    assert!(report.is_clean() && report.not_judged.is_empty(), "{report}");
}

#[test]
fn another_run_behind_the_first_is_another_run() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    let mut checker = Checker::new(Told::Accept);
    log.records.iter().chain(&log.records).for_each(|r| checker.push(r));
    assert!(checker.finish().is_clean());
}

#[test]
fn a_log_without_its_beginning_accuses_nobody_of_what_was_before() {
    let mut log = Hand::default();
    log.free(1, A);
    log.used(2, B, UseUntil::Now);
    log.refuse(Verb::Malloc, A, Refusal::ZeroSize);
    log.clean();
}

/// A pool that is destroyed with live blocks waits for the streams of its own device: another device's stream, busy or
/// not, has nothing to do with it.
#[test]
fn a_destroyed_pool_waits_for_its_own_device() {
    let log = concat!(
        "weir-log version=1\n",
        "number=0 time=0 record=begin version=0.1.0 policy=1 streams=8 events=8 markers=4 pools=4 blocks=64 granules=64\n",
        "number=1 time=10 record=device_def device=0 granularity=2097152 alignment=512 total=1073741824 capabilities=-\n",
        "number=1 time=10 record=device_def device=1 granularity=2097152 alignment=512 total=1073741824 capabilities=-\n",
        "number=1 time=10 record=stream_def stream=0 device=0 kind=non_blocking\n",
        "number=1 time=10 record=stream_created stream=0\n",
        "number=2 time=20 record=stream_def stream=1 device=1 kind=non_blocking\n",
        "number=2 time=20 record=stream_created stream=1\n",
        "number=3 time=30 record=event_created event=0\n",
        "number=4 time=40 record=pool_def pool=0 base=0x400000000000 range=1073741824 device=0 limit=1073741824 threshold=0 reuse=event preference=grow_first small_limit=0\n",
        "number=4 time=40 record=pool_created pool=0\n",
        "number=5 time=50 record=grow_planned pool=0 stream=0 call=1 offset=0 granules=1\n",
        "number=6 time=60 record=mapped pool=0 offset=0 granules=1 reason=grow\n",
        "number=7 time=70 record=malloc pool=0 stream=0 seq=1 id=1 asked=512 given=512 offset=0 source=grow label=0 points=- epoch=0\n",
        "number=8 time=80 record=recorded event=0 stream=1 seq=1 number=1\n",
        "number=9 time=90 record=pool_destroyed pool=0 leaked=512\n",
        "number=10 time=100 record=device_synchronized device=0\n",
        "number=11 time=110 record=unmapped pool=0 offset=0 granules=1 reason=destroy\n",
    );
    let report = weir_viz::check::read("x.log", log.as_bytes(), Told::Accept).expect("a log");
    let faults: Vec<_> = report.findings.iter().map(|finding| finding.fault).collect();
    assert_eq!(faults, [Fault::Leak], "{report}");
}
