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
