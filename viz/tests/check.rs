//! The detector on logs made by hand, one for each kind of fault: what is right in them is right by the rules of
//! streams and events, and the fault is the one line that is not.

mod check_support;

use check_support::{A, B, BASE, C, Hand, KIB, POOL, event, ptr, stream};
use weir::id::{AllocId, DeviceId, LabelId, PoolId};
use weir::policy::UseUntil;
use weir::trace::{Record, Refusal, Verb};
use weir::units::{Bytes, DevicePtr, MIB, Seq};
use weir_viz::check::{Fault, Told, What};

#[test]
fn what_is_ordered_is_clean() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.hand_over(A, B);
    log.used(1, B, UseUntil::Now);
    log.hand_over(B, C);
    log.free(1, C);
    log.hand_over(C, A);
    log.malloc_at(2, A, KIB);
    log.free_at(2, A, KIB);
    log.synchronize(A);
    log.unmap(0, 4);
    log.destroy_pool(0);
    log.clean();
}

#[test]
fn use_before_the_allocation() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    let used = log.used(1, B, UseUntil::Now);
    let finding = log.lacks(Fault::UseBeforeMalloc, malloc, used, (A, 1), (B, 1));
    assert_eq!((finding.second.what, finding.second.stream), (What::Use(AllocId(1)), Some(stream(B))));
    assert_eq!(finding.allocation, Some(AllocId(1)));
}

#[test]
fn use_of_an_allocation_that_comes_later_in_the_log() {
    let mut log = Hand::new();
    let used = log.used(1, A, UseUntil::Now);
    let malloc = log.malloc(1, A);
    log.only(Fault::UseBeforeMalloc, Some(malloc), used);
}

#[test]
fn use_after_the_free() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let free = log.free(1, A);
    let used = log.used(1, A, UseUntil::Now);
    log.only(Fault::UseAfterFree, Some(free), used);
}

#[test]
fn use_after_the_free_on_a_stream_that_comes_after_it() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let free = log.free(1, A);
    log.hand_over(A, B);
    let used = log.refuse(Verb::Use, B, Refusal::AlreadyFree(ptr(KIB), None));
    let finding = log.only(Fault::UseAfterFree, Some(free), used);
    assert_eq!(finding.allocation, Some(AllocId(1)));
}

#[test]
fn free_that_does_not_come_after_a_use_on_another_stream() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.hand_over(A, B);
    let free = log.free(1, A);
    let used = log.used(1, B, UseUntil::Now);
    log.lacks(Fault::FreeBeforeUse, used, free, (B, 2), (A, 3));
}

#[test]
fn free_that_does_not_come_after_a_use_that_was_refused() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.hand_over(A, B);
    let free = log.free(1, A);
    let used = log.refuse(Verb::Use, B, Refusal::AlreadyFree(ptr(KIB), None));
    log.only(Fault::FreeBeforeUse, Some(used), free);
}

#[test]
fn free_that_only_the_pools_knowledge_of_a_use_holds_back() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.hand_over(A, B);
    let used = log.used(1, B, UseUntil::Now);
    let free = log.free(1, A);
    log.clean();
    assert_eq!(log.report().told, 1);
    let strict = log.report_as(Told::Report);
    let [finding] = strict.findings.as_slice() else { panic!("{strict}") };
    assert_eq!((finding.fault, finding.first.map(|op| op.record)), (Fault::FreeBeforeUse, Some(used)));
    assert_eq!(finding.second.record, free);
}

#[test]
fn free_before_the_allocation() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    let free = log.free(1, B);
    log.lacks(Fault::FreeBeforeMalloc, malloc, free, (A, 1), (B, 1));
}

#[test]
fn double_free() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let first = log.free(1, A);
    let second = log.refuse(Verb::Free, B, Refusal::AlreadyFree(ptr(KIB), None));
    let finding = log.only(Fault::DoubleFree, Some(first), second);
    assert_eq!(finding.allocation, Some(AllocId(1)));
}

#[test]
fn double_free_of_memory_that_has_gone_back() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let first = log.free(1, A);
    log.synchronize(A);
    log.unmap(0, 4);
    let second = log.refuse(Verb::Free, A, Refusal::Unmapped(ptr(KIB)));
    log.only(Fault::DoubleFree, Some(first), second);
}

#[test]
fn double_free_that_the_log_took() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let first = log.free(1, A);
    let second = log.free(1, A);
    log.only(Fault::DoubleFree, Some(first), second);
}

#[test]
fn leak_at_the_pools_end() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    let malloc = log.malloc(2, A);
    let destroyed = log.destroy_pool(KIB);
    let finding = log.only(Fault::Leak, Some(malloc), destroyed);
    assert_eq!(finding.memory.map(|m| (m.offset, m.bytes)), Some((Bytes(2 * KIB), Bytes(KIB))));
}

#[test]
fn leak_at_the_programs_end() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    log.clean();
    log.push(Record::LabelDef { label: LabelId(3), name: "end of program" });
    let mark = log.push(Record::Mark { label: LabelId(3), name: "" });
    log.destroy_pool(KIB);
    log.only(Fault::Leak, Some(malloc), mark);
}

#[test]
fn memory_given_to_a_stream_that_does_not_come_after_the_free() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let free = log.free(1, A);
    let malloc = log.malloc_at(2, B, KIB);
    let finding = log.lacks(Fault::ReuseBeforeFree, free, malloc, (A, 2), (B, 1));
    assert_eq!(finding.allocation, Some(AllocId(1)));
}

#[test]
fn memory_given_to_a_stream_that_does_not_come_after_a_use() {
    for until in [UseUntil::Now, UseUntil::Free] {
        let mut log = Hand::new();
        log.malloc(1, A);
        log.hand_over(A, C);
        let used = log.used(1, C, until);
        log.free(1, A);
        log.hand_over(A, B);
        let malloc = log.malloc_at(2, B, KIB);
        log.lacks(Fault::ReuseBeforeUse, used, malloc, (C, 2), (B, 2));
    }
}

#[test]
fn a_use_until_the_free_ends_there() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.hand_over(A, C);
    let used = log.used(1, C, UseUntil::Free);
    // Work on C behind the announcement is part of the use: this event stands too early.
    log.record(2, C);
    log.record(3, C);
    log.free(1, A);
    log.hand_over(A, B);
    log.wait(B, 2);
    let malloc = log.malloc_at(2, B, KIB);
    log.lacks(Fault::ReuseBeforeUse, used, malloc, (C, 4), (B, 3));
}

#[test]
fn memory_given_away_while_it_is_live() {
    let mut log = Hand::new();
    let first = log.malloc(1, A);
    let second = log.malloc_at(2, A, KIB + 512);
    log.only(Fault::GivenTwice, Some(first), second);
}

#[test]
fn an_inserted_wait_for_a_marker_that_is_too_old() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let marker = log.lay(0, A);
    log.free(1, A);
    let wait = log.wait_marker(B, 0, A, 3);
    let report = log.report();
    assert_eq!(report.findings.len(), 1, "{report}");
    log.lacks(Fault::WaitTooShort, marker, wait, (A, 3), (B, 1));
    let malloc = log.malloc_at(2, B, KIB);
    let report = log.report();
    assert_eq!((report.findings[1].fault, report.findings[1].second.record), (Fault::ReuseBeforeFree, malloc));
}

#[test]
fn an_inserted_wait_that_covers_orders() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    log.lay(0, A);
    log.wait_marker(B, 0, A, 2);
    log.malloc_at(2, B, KIB);
    log.clean();
}

#[test]
fn memory_of_a_live_block_unmapped() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    let unmapped = log.unmap(0, 1);
    log.only(Fault::UnmappedInUse, Some(malloc), unmapped);
}

#[test]
fn memory_unmapped_while_work_is_pending() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let free = log.free(1, A);
    log.hand_over(A, B);
    log.synchronize(C);
    let unmapped = log.unmap(0, 1);
    let finding = log.only(Fault::UnmappedPending, Some(free), unmapped);
    let missing = finding.missing.expect("the host must wait");
    assert_eq!((missing.record_on, missing.after, missing.wait_on), (stream(A), Seq(2), None));
}

#[test]
fn memory_unmapped_after_a_query_or_through_another_stream() {
    type Learn = fn(&mut Hand);
    let ways: [Learn; 5] = [
        |log| {
            log.push(Record::Queried { event: event(7), number: 1, complete: true });
        },
        |log| {
            log.push(Record::EventSynchronized { event: event(7), number: 1 });
        },
        |log| {
            log.push(Record::Asked { stream: stream(A), seq: Seq(2), complete: true });
        },
        |log| {
            log.push(Record::DeviceSynchronized { device: DeviceId(0) });
        },
        |log| {
            log.record(6, B);
            log.synchronize(B);
        },
    ];
    for learn in ways {
        let mut log = Hand::new();
        log.malloc(1, A);
        log.free(1, A);
        log.hand_over(A, B);
        learn(&mut log);
        log.unmap(0, 1);
        log.clean();
    }
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    log.push(Record::Asked { stream: stream(A), seq: Seq(2), complete: false });
    log.unmap(0, 1);
    assert_eq!(log.report().findings[0].fault, Fault::UnmappedPending);
}

#[test]
fn memory_mapped_twice() {
    let mut log = Hand::new();
    let first = log.map(16 * MIB, 2);
    let second = log.map(18 * MIB, 1);
    log.only(Fault::MappedTwice, Some(first), second);
}

#[test]
fn addresses_without_memory() {
    let mut log = Hand::new();
    let malloc = log.malloc_at(1, A, 8 * MIB - 512);
    log.only(Fault::NotMapped, None, malloc);
}

#[test]
fn pointers_that_are_no_blocks() {
    for (verb, reason) in [
        (Verb::Free, Refusal::BadPointer(DevicePtr(0x10))),
        (Verb::Use, Refusal::BadPointer(DevicePtr(0x10))),
        (Verb::Free, Refusal::AlreadyFree(ptr(9 * KIB), None)),
        (Verb::Free, Refusal::Unmapped(ptr(20 * MIB))),
    ] {
        let mut log = Hand::new();
        let refused = log.refuse(verb, A, reason);
        let finding = log.only(Fault::NotABlock, None, refused);
        assert_eq!(finding.second.stream, Some(stream(A)));
    }
}

#[test]
fn a_pointer_into_a_block() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    let refused = log.refuse(Verb::Free, A, Refusal::Interior(ptr(KIB + 8), ptr(KIB)));
    log.only(Fault::InsideBlock, Some(malloc), refused);
}

#[test]
fn a_block_of_another_pool() {
    let mut log = Hand::new();
    let malloc = log.malloc(1, A);
    let refused = log.refuse(Verb::Free, A, Refusal::OtherPool(ptr(KIB), POOL));
    let finding = log.only(Fault::OtherPool, Some(malloc), refused);
    assert_eq!(finding.allocation, Some(AllocId(1)));
}

#[test]
fn a_block_freed_after_its_pools_end() {
    let mut log = Hand::new();
    log.malloc(1, A);
    let destroyed = log.destroy_pool(KIB);
    let refused = log.refuse(Verb::Free, A, Refusal::BadPointer(ptr(KIB)));
    let report = log.report();
    assert_eq!(report.findings.iter().map(|f| f.fault).collect::<Vec<_>>(), [Fault::Leak, Fault::PoolGone], "{report}");
    let [_, gone] = report.findings.as_slice() else { panic!() };
    assert_eq!((gone.first.map(|op| op.record), gone.second.record), (Some(destroyed), refused));
}

#[test]
fn addresses_of_a_destroyed_pool_belong_to_the_next() {
    let mut log = Hand::new();
    log.destroy_pool(0);
    log.pool(PoolId::from_raw((1 << 32) | 1), BASE);
    let refused = log.refuse(Verb::Free, A, Refusal::Unmapped(ptr(KIB)));
    log.only(Fault::NotABlock, None, refused);
}

#[test]
fn ids_of_what_is_destroyed() {
    for reason in [Refusal::Stale, Refusal::Unknown] {
        let mut log = Hand::new();
        let refused = log.refuse(Verb::Wait, A, reason);
        log.only(Fault::StaleId, None, refused);
    }
}

#[test]
fn refusals_that_are_nobodys_fault() {
    let mut log = Hand::new();
    log.refuse(Verb::Malloc, A, Refusal::AboveLimit(Bytes(9)));
    log.refuse(Verb::DestroyPool, A, Refusal::LiveBlocks(1, Bytes(9)));
    log.refuse(Verb::Malloc, A, Refusal::Capturing);
    log.clean();
}

#[test]
fn findings_beyond_the_list_are_counted() {
    let mut log = Hand::new();
    for _ in 0..1500 {
        log.refuse(Verb::Wait, A, Refusal::Stale);
    }
    let report = log.report();
    assert_eq!((report.findings.len(), report.total()), (1000, 1500));
    assert_eq!(report.by_fault.get(&Fault::StaleId), Some(&1500));
}

#[test]
fn a_finding_names_both_operations_the_streams_and_what_is_missing() {
    let mut log = Hand::new();
    log.malloc(1, A);
    log.free(1, A);
    log.record(1, A);
    log.malloc_at(2, B, KIB);
    let text = log.report().findings[0].to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "reuse_before_free: memory is given to a stream that does not come after the free",
            "block:   allocation 1, 1024 B at offset 1024 of pool 0",
            "first:   record 7: free of allocation 1 on stream 0 at seq 2",
            "then:    record 9: malloc of allocation 2 on stream 1 at seq 1",
            "missing: an event recorded on stream 0 behind seq 2, and stream 1 waiting for it before seq 1",
            "note:    record 8 records event 1 on stream 0 (recording 1): a wait for that would do",
        ]
    );
}

#[test]
fn every_kind_has_its_own_name() {
    let names: std::collections::BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    assert_eq!(names.len(), Fault::ALL.len());
}
