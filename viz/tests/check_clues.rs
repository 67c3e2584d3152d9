//! What the detector says about the event that is missing: what the log has that comes near, and what default streams
//! imply.

mod check_support;

use check_support::{A, B, C, Hand, KIB, clues, event, stream};
use weir::policy::{StreamKind, UseUntil};
use weir::trace::Record;
use weir_viz::check::{Clue, Fault, Finding};

/// A producer and a consumer, and one of the ways to get their event wrong.
fn handed_over(wrong: fn(&mut Hand) -> u64) -> (Hand, Finding, u64) {
    let mut log = Hand::new();
    log.malloc(1, A);
    let about = wrong(&mut log);
    let report = log.report();
    let finding = report.findings.iter().find(|f| f.fault == Fault::UseBeforeMalloc);
    let finding = finding.unwrap_or_else(|| panic!("{report}")).clone();
    (log, finding, about)
}

#[test]
fn a_wait_that_is_missing_is_named_with_its_event() {
    let (_, finding, record) = handed_over(|log| {
        let record = log.record(1, A);
        log.used(1, B, UseUntil::Now);
        record
    });
    assert_eq!(clues(&finding), [Clue::Recorded { record, event: event(1), number: 1, stream: stream(A) }]);
}

#[test]
fn a_wait_behind_the_use_is_too_late() {
    let (_, finding, wait) = handed_over(|log| {
        log.record(1, A);
        log.used(1, B, UseUntil::Now);
        log.wait(B, 1)
    });
    assert_eq!(clues(&finding).last(), Some(&Clue::TooLate { record: wait, event: event(1) }));
}

#[test]
fn an_event_recorded_before_the_malloc_is_too_early() {
    let mut log = Hand::new();
    let recorded = log.record(1, A);
    log.malloc(1, A);
    let wait = log.wait(B, 1);
    log.used(1, B, UseUntil::Now);
    let report = log.report();
    assert_eq!(clues(&report.findings[0]), [Clue::TooEarly { record: wait, event: event(1), recorded }]);
}

#[test]
fn a_wait_before_the_recording_orders_nothing() {
    let (_, finding, wait) = handed_over(|log| {
        let wait = log.wait(B, 1);
        log.record(1, A);
        log.used(1, B, UseUntil::Now);
        wait
    });
    assert!(clues(&finding).contains(&Clue::NeverRecorded { record: wait, event: event(1) }), "{finding}");
}

#[test]
fn an_event_recorded_anew_while_it_is_waited_for_proves_nothing() {
    let (_, finding, wait) = handed_over(|log| {
        log.record(1, A);
        log.record(1, C);
        let seq = log.tick(B);
        let wait = log.push(Record::Waited { stream: stream(B), seq, event: event(1), number: 1 });
        log.used(1, B, UseUntil::Now);
        wait
    });
    assert!(clues(&finding).contains(&Clue::Replaced { record: wait, event: event(1) }), "{finding}");
}

#[test]
fn an_event_recorded_anew_on_another_stream_stands_for_that() {
    let (_, finding, _) = handed_over(|log| {
        log.record(1, A);
        log.record(1, C);
        log.wait(B, 1);
        log.used(1, B, UseUntil::Now)
    });
    assert_eq!(finding.missing.map(|m| m.record_on), Some(stream(A)));
}

#[test]
fn a_chain_of_three_streams_with_a_link_missing() {
    let (_, finding, record) = handed_over(|log| {
        let record = log.record(1, A);
        log.record(2, C);
        log.wait(B, 2);
        log.used(1, B, UseUntil::Now);
        record
    });
    assert_eq!(clues(&finding), [Clue::Recorded { record, event: event(1), number: 1, stream: stream(A) }]);
}

#[test]
fn default_streams_order_blocking_ones_and_no_others() {
    use StreamKind::{Blocking, Legacy, NonBlocking};
    let through_legacy = |kinds: &[StreamKind]| {
        let mut log = Hand::of(kinds);
        log.malloc(1, A);
        log.free(1, A);
        log.malloc_at(2, B, KIB);
        log.report()
    };
    assert!(through_legacy(&[Blocking, Legacy]).is_clean());
    assert!(through_legacy(&[Legacy, Blocking]).is_clean());
    assert!(!through_legacy(&[Blocking, Blocking, Legacy]).is_clean(), "nothing was done on the legacy stream");
    assert!(!through_legacy(&[NonBlocking, Legacy]).is_clean());
}
