//! Logs written by hand.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use weir::driver::{Capabilities, Properties};
use weir::error::Point;
use weir::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{PoolConfig, StreamKind, UseUntil};
use weir::trace::{MapReason, Points, Record, Refusal, Source, Stamped, UnmapReason, Verb};
use weir::units::{Bytes, DevicePtr, MIB, Nanos, Seq};
use weir_viz::check::{Checker, Clue, Fault, Finding, Report, Told};

pub(crate) const POOL: PoolId = PoolId::from_raw(1 << 32);
pub(crate) const BASE: u64 = 0x7000_0000;
pub(crate) const KIB: u64 = 1024;
pub(crate) const A: u64 = 0;
pub(crate) const B: u64 = 1;
pub(crate) const C: u64 = 2;

pub(crate) const fn stream(n: u64) -> StreamId {
    StreamId::from_raw((1 << 32) | n)
}

pub(crate) const fn event(n: u64) -> EventId {
    EventId::from_raw((1 << 32) | n)
}

/// A log as it is written by hand. Sizes are 1 KiB, and allocation `n` lies at its own place unless it is said.
#[derive(Default)]
pub(crate) struct Hand {
    pub(crate) records: Vec<Stamped<'static>>,
    heads: HashMap<u64, u64>,
    numbers: HashMap<u64, u64>,
    next: u64,
}

impl Hand {
    pub(crate) fn of(kinds: &[StreamKind]) -> Self {
        let mut hand = Self::default();
        hand.push(Record::Begin {
            version: (0, 1, 0),
            policy: 1,
            streams: 8,
            events: 8,
            markers: 8,
            pools: 2,
            blocks: 64,
            granules: 64,
        });
        let properties = Properties {
            granularity: Bytes::mib(2),
            alignment: Bytes(512),
            total: Bytes::gib(1),
            capabilities: Capabilities::default(),
        };
        hand.push(Record::DeviceDef { device: DeviceId(0), properties });
        hand.pool(POOL, BASE);
        for (n, kind) in kinds.iter().enumerate() {
            let stream = stream(n as u64);
            hand.push(Record::StreamDef { stream, device: DeviceId(0), kind: *kind });
            hand.push(Record::StreamCreated { stream });
        }
        hand.map(0, 4);
        hand
    }

    pub(crate) fn new() -> Self {
        Self::of(&[StreamKind::NonBlocking; 3])
    }

    pub(crate) fn pool(&mut self, pool: PoolId, base: u64) {
        let config = PoolConfig::new(DeviceId(0));
        self.push(Record::PoolDef { pool, base: DevicePtr(base), range: Bytes(64 * MIB), config });
        self.push(Record::PoolCreated { pool });
    }

    pub(crate) fn push(&mut self, record: Record<'static>) -> u64 {
        let number = self.next;
        self.records.push(Stamped { number, time: Nanos(number * 10), record });
        self.next += u64::from(!record.is_definition());
        number
    }

    pub(crate) fn tick(&mut self, on: u64) -> Seq {
        let head = self.heads.entry(on).or_default();
        *head += 1;
        Seq(*head)
    }

    pub(crate) fn malloc_at(&mut self, id: u64, on: u64, offset: u64) -> u64 {
        let seq = self.tick(on);
        self.push(Record::Malloc {
            pool: POOL,
            stream: stream(on),
            seq,
            id: AllocId(id),
            asked: Bytes(KIB),
            given: Bytes(KIB),
            offset: Bytes(offset),
            source: Source::Grow,
            label: LabelId::NONE,
            points: Points::default(),
        })
    }

    pub(crate) fn malloc(&mut self, id: u64, on: u64) -> u64 {
        self.malloc_at(id, on, id * KIB)
    }

    pub(crate) fn free_at(&mut self, id: u64, on: u64, offset: u64) -> u64 {
        let seq = self.tick(on);
        let (id, offset) = (AllocId(id), Bytes(offset));
        self.push(Record::Free { pool: POOL, stream: stream(on), seq, id, offset, given: Bytes(KIB) })
    }

    pub(crate) fn free(&mut self, id: u64, on: u64) -> u64 {
        self.free_at(id, on, id * KIB)
    }

    pub(crate) fn used(&mut self, id: u64, on: u64, until: UseUntil) -> u64 {
        let seq = self.tick(on);
        self.push(Record::Use { pool: POOL, stream: stream(on), seq, id: AllocId(id), until })
    }

    pub(crate) fn record(&mut self, e: u64, on: u64) -> u64 {
        let seq = self.tick(on);
        let number = self.numbers.entry(e).or_default();
        *number += 1;
        let number = *number;
        self.push(Record::Recorded { event: event(e), stream: stream(on), seq, number })
    }

    pub(crate) fn wait(&mut self, on: u64, e: u64) -> u64 {
        let seq = self.tick(on);
        let number = self.numbers.get(&e).copied().unwrap_or(0);
        self.push(Record::Waited { stream: stream(on), seq, event: event(e), number })
    }

    /// `to` comes after everything on `from` so far.
    pub(crate) fn hand_over(&mut self, from: u64, to: u64) {
        self.record(7, from);
        self.wait(to, 7);
    }

    pub(crate) fn synchronize(&mut self, on: u64) -> u64 {
        let seq = Seq(self.heads.get(&on).copied().unwrap_or(0));
        self.push(Record::StreamSynchronized { stream: stream(on), seq })
    }

    pub(crate) fn lay(&mut self, marker: u32, on: u64) -> u64 {
        let seq = self.tick(on);
        self.push(Record::MarkerLaid { marker, stream: stream(on), seq })
    }

    pub(crate) fn wait_marker(&mut self, on: u64, marker: u32, from: u64, seq: u64) -> u64 {
        let mine = self.tick(on);
        let on_point = Point { stream: stream(from), seq: Seq(seq) };
        self.push(Record::WaitInserted { stream: stream(on), seq: mine, marker, on: on_point })
    }

    pub(crate) fn map(&mut self, offset: u64, granules: u32) -> u64 {
        self.push(Record::Mapped { pool: POOL, offset: Bytes(offset), granules, reason: MapReason::Grow })
    }

    pub(crate) fn unmap(&mut self, offset: u64, granules: u32) -> u64 {
        self.push(Record::Unmapped { pool: POOL, offset: Bytes(offset), granules, reason: UnmapReason::Trim })
    }

    pub(crate) fn destroy_pool(&mut self, leaked: u64) -> u64 {
        self.push(Record::PoolDestroyed { pool: POOL, leaked: Bytes(leaked) })
    }

    pub(crate) fn refuse(&mut self, verb: Verb, on: u64, reason: Refusal) -> u64 {
        self.push(Record::Refused { verb, pool: None, stream: Some(stream(on)), size: Bytes::ZERO, reason })
    }

    pub(crate) fn report_as(&self, told: Told) -> Report {
        let mut checker = Checker::new(told);
        self.records.iter().for_each(|record| checker.push(record));
        checker.finish()
    }

    pub(crate) fn report(&self) -> Report {
        self.report_as(Told::Accept)
    }

    pub(crate) fn clean(&self) {
        let report = self.report();
        assert!(report.is_clean() && report.not_judged.is_empty(), "{report}");
    }

    /// The only finding: of this kind, about these two records.
    pub(crate) fn only(&self, fault: Fault, first: Option<u64>, second: u64) -> Finding {
        let report = self.report();
        let [finding] = report.findings.as_slice() else { panic!("not one finding: {report}") };
        assert_eq!(finding.fault, fault, "{report}");
        assert_eq!((finding.first.map(|op| op.record), finding.second.record), (first, second), "{report}");
        assert_eq!(report.by_fault.get(&fault), Some(&1));
        finding.clone()
    }

    /// As `only`; an event is missing from the one stream to the other, behind the one position and before the other.
    pub(crate) fn lacks(
        &self,
        fault: Fault,
        first: u64,
        second: u64,
        (from, after): (u64, u64),
        (to, before): (u64, u64),
    ) -> Finding {
        let finding = self.only(fault, Some(first), second);
        let missing = finding.missing.clone().expect("an order is missing");
        assert_eq!((missing.record_on, missing.after), (stream(from), Seq(after)), "{missing}");
        assert_eq!((missing.wait_on, missing.before), (Some(stream(to)), Some(Seq(before))), "{missing}");
        finding
    }
}

pub(crate) fn clues(finding: &Finding) -> &[Clue] {
    &finding.missing.as_ref().expect("an order is missing").clues
}

pub(crate) fn ptr(offset: u64) -> DevicePtr {
    DevicePtr(BASE + offset)
}
