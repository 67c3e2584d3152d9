//! Takes a log's records one by one and keeps what is wrong with them.

use super::claims::Claims;
use super::clue::{Act, History, Pair};
use super::finding::{Fault, Finding, Missing, Operation, What};
use super::memory::{Life, Op, PoolState};
use super::order::{Order, Place};
use super::{END_OF_PROGRAM, Report, Told};
use foldhash::HashMap;
use weir::id::{AllocId, DeviceId, LabelId, PoolId, StreamId};
use weir::trace::{DamageKind, Record, Stamped};
use weir::units::Seq;

/// Findings that are kept one by one; the rest are counted.
const MOST: usize = 1000;

/// A finding whose clues are not looked for yet.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) finding: Finding,
    pair: Option<Pair>,
}

/// A list that is told up to a number of entries.
#[derive(Debug, Default)]
struct Drafts {
    list: Vec<Draft>,
    more: u64,
    /// Those before have their clues.
    resolved: usize,
}

impl Drafts {
    fn push(&mut self, draft: Draft) {
        if self.list.len() < MOST {
            self.list.push(draft);
        } else {
            self.more += 1;
        }
    }

    fn resolve(&mut self, history: &History) {
        for draft in &mut self.list[self.resolved..] {
            if let (Some(missing), Some(pair)) = (&mut draft.finding.missing, &draft.pair) {
                missing.clues = history.clues(pair);
            }
        }
        self.resolved = self.list.len();
    }

    fn finish(self) -> (Vec<Finding>, u64) {
        (self.list.into_iter().map(|draft| draft.finding).collect(), self.more)
    }
}

/// An order that is missing: from a position to a position, or to a stream as it goes on, or to the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) from: Place,
    pub(super) to: Option<Place>,
}

/// Checks a log, record by record.
#[derive(Debug, Default)]
pub struct Checker {
    told: Told,
    pub(super) order: Order,
    pub(super) history: History,
    pub(super) pools: Vec<PoolState>,
    pool_of: HashMap<PoolId, usize>,
    pub(super) lives: Vec<Life>,
    pub(super) by_id: HashMap<AllocId, usize>,
    /// Driver calls that failed so far: each may have changed what any pool has mapped.
    pub(super) failures: u64,
    pub(super) granularity: HashMap<DeviceId, u64>,
    pub(super) markers: HashMap<u32, Op>,
    /// Findings about allocations that are named before their mallocs.
    pub(super) too_early: HashMap<AllocId, usize>,
    pub(super) claims: Claims,
    end_label: Option<LabelId>,
    /// Counts records that are no definitions.
    pub(super) at: u64,
    /// Whatever stands before this place may be separated by missing records from what comes now.
    gap: u64,
    /// Where the log's beginning stands, if it has one.
    begun: Option<u64>,
    found: Drafts,
    open: Drafts,
    report: Report,
}

impl Checker {
    /// A checker of a log's first record and all that follow.
    #[must_use]
    pub fn new(told: Told) -> Self {
        Self { told, ..Self::default() }
    }

    /// Something is wrong with the log itself here: what is missing is not held against anybody.
    pub fn damage(&mut self, kind: DamageKind) {
        match kind {
            DamageKind::OutOfOrder { .. } => self.forget(),
            _ => self.gap = self.at,
        }
    }

    /// Takes the next record.
    pub fn push(&mut self, stamped: &Stamped<'_>) {
        if stamped.record.is_definition() {
            self.define(&stamped.record);
            return;
        }
        self.judge_claims(stamped);
        self.apply(stamped);
        self.at += 1;
        self.report.records += 1;
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.resolve();
        let mut report = self.report;
        (report.findings, report.more) = self.found.finish();
        (report.not_judged, report.more_not_judged) = self.open.finish();
        report.streams = report.streams.max(self.order.streams());
        report
    }

    /// What was found up to here; the log may go on.
    #[must_use]
    pub fn so_far(&mut self) -> Report {
        self.resolve();
        let kept = |drafts: &Drafts| drafts.list.iter().map(|draft| draft.finding.clone()).collect();
        Report {
            findings: kept(&self.found),
            more: self.found.more,
            not_judged: kept(&self.open),
            more_not_judged: self.open.more,
            streams: self.report.streams.max(self.order.streams()),
            ..self.report.clone()
        }
    }

    fn resolve(&mut self) {
        self.found.resolve(&self.history);
        self.open.resolve(&self.history);
    }

    /// Another run begins, or nobody knows what: nothing of before counts.
    fn forget(&mut self) {
        self.resolve();
        self.report.streams = self.report.streams.max(self.order.streams());
        self.order = Order::default();
        self.history.clear();
        self.pools.clear();
        self.pool_of.clear();
        self.lives.clear();
        self.by_id.clear();
        self.markers.clear();
        self.too_early.clear();
        self.claims = Claims::default();
        (self.end_label, self.begun) = (None, None);
        self.gap = self.at;
    }

    /// Whether the log is whole from its beginning to here.
    pub(super) fn whole(&self) -> bool {
        self.begun.is_some_and(|begun| begun >= self.gap)
    }

    /// Whether nothing is missing between that place and here.
    pub(super) fn unbroken_since(&self, at: u64) -> bool {
        at >= self.gap
    }

    pub(super) fn strict(&self) -> bool {
        self.told == Told::Report
    }

    pub(super) fn counts(&mut self) -> &mut Report {
        &mut self.report
    }

    pub(super) fn pool(&mut self, id: PoolId) -> usize {
        if let Some(pool) = self.pool_of.get(&id) {
            return *pool;
        }
        let pool = self.pools.len();
        self.pools.push(PoolState::new(self.failures));
        self.pool_of.insert(id, pool);
        pool
    }

    fn define(&mut self, record: &Record<'_>) {
        self.claims.define(record);
        match *record {
            Record::DeviceDef { device, properties } => {
                self.granularity.insert(device, properties.granularity.0);
            }
            Record::StreamDef { stream, device, kind } => self.order.define(stream, device, kind),
            Record::PoolDef { pool, base, range, config } => {
                let pool = self.pool(pool);
                self.pools[pool].definition = Some((base, range, config.device));
            }
            Record::LabelDef { label, name } if name == END_OF_PROGRAM => self.end_label = Some(label),
            _ => {}
        }
    }

    /// The operation of a record; its stream has come that far.
    pub(super) fn op(&mut self, stamped: &Stamped<'_>, what: What, stands: Option<(StreamId, Seq)>) -> Op {
        let place = stands.map(|(stream, seq)| {
            let place = Place { lane: self.order.lane(stream), seq: seq.0 };
            self.order.advance(place);
            place
        });
        let (stream, seq) = stands.map_or((None, None), |(stream, seq)| (Some(stream), Some(seq)));
        let shown = Operation { at: self.at, record: stamped.number, time: stamped.time, what, stream, seq };
        Op { at: self.at, place, shown }
    }

    /// A fault, whatever may be missing in the log.
    pub(super) fn accuse(
        &mut self,
        fault: Fault,
        life: Option<usize>,
        first: Option<Op>,
        second: Op,
        gap: Option<Gap>,
    ) {
        let draft = self.draft(fault, life, first, second, gap);
        *self.report.by_fault.entry(fault).or_default() += 1;
        self.found.push(draft);
    }

    /// How many findings there are one by one so far.
    #[must_use]
    pub fn found(&self) -> usize {
        self.found.list.len()
    }

    /// The first operation of an earlier finding is known now.
    pub(super) fn name_first(&mut self, finding: usize, first: Op) {
        if let Some(draft) = self.found.list.get_mut(finding) {
            draft.finding.first = Some(first.shown);
        }
    }

    /// A fault if nothing is missing in the log between the two; otherwise nobody can say.
    pub(super) fn suspect(&mut self, fault: Fault, life: Option<usize>, first: Op, second: Op, gap: Option<Gap>) {
        if self.unbroken_since(first.at.min(second.at)) {
            self.accuse(fault, life, Some(first), second, gap);
        } else {
            let draft = self.draft(fault, life, Some(first), second, gap);
            self.open.push(draft);
        }
    }

    fn draft(&self, fault: Fault, life: Option<usize>, first: Option<Op>, second: Op, gap: Option<Gap>) -> Draft {
        let missing = gap.map(|gap| Missing {
            record_on: self.order.stream(gap.from.lane),
            after: Seq(gap.from.seq),
            wait_on: gap.to.map(|to| self.order.stream(to.lane)),
            before: gap.to.map(|to| Seq(to.seq)),
            clues: Vec::new(),
        });
        let pair = gap.map(|gap| Pair {
            from_at: first.map_or(0, |op| op.at),
            from: gap.from,
            to_at: second.at,
            to: gap.to.map(|to| to.lane),
        });
        let life = life.map(|life| &self.lives[life]);
        let finding = Finding {
            fault,
            allocation: life.map(|life| life.id),
            memory: life.map(|life| life.memory),
            first: first.map(|op| op.shown),
            second: second.shown,
            missing,
        };
        Draft { finding, pair }
    }

    fn apply(&mut self, stamped: &Stamped<'_>) {
        match stamped.record {
            Record::Begin { .. } => {
                if self.at > 0 {
                    self.forget();
                }
                self.begun = Some(self.at);
            }
            Record::PoolCreated { pool } => {
                let pool = self.pool(pool);
                self.pools[pool].created = Some(self.at);
            }
            Record::Malloc { .. } => self.malloc(stamped),
            Record::Free { .. } => self.free(stamped),
            Record::Use { .. } => self.take_use(stamped),
            Record::PoolDestroyed { .. } => self.destroy_pool(stamped),
            Record::Mapped { .. } | Record::MappedInOrder { .. } => self.map(stamped),
            Record::Unmapped { .. } | Record::UnmappedInOrder { .. } => self.unmap(stamped),
            Record::Quarantined { pool, .. } => {
                let pool = self.pool(pool);
                self.pools[pool].unclear = true;
            }
            Record::DriverFailed { .. } => self.failures += 1,
            Record::Refused { .. } => self.refused(stamped),
            Record::Mark { label, name } => {
                if name == END_OF_PROGRAM || (label != LabelId::NONE && self.end_label == Some(label)) {
                    self.end_program(stamped);
                }
            }
            Record::Lost { .. } => self.gap = self.at,
            _ => self.order_record(stamped),
        }
    }

    /// Records that order streams.
    fn order_record(&mut self, stamped: &Stamped<'_>) {
        match stamped.record {
            Record::Recorded { event, stream, seq, number } => {
                self.act(stamped, (stream, seq), Act::Record { event, number });
            }
            Record::Waited { stream, seq, event, number } => {
                let honoured = self.order.latest(event) == Some(number);
                self.act(stamped, (stream, seq), Act::Wait { event, number, honoured });
            }
            Record::MarkerLaid { marker, stream, seq } => {
                self.act(stamped, (stream, seq), Act::Lay { marker });
                let op = self.op(stamped, What::Marker, Some((stream, seq)));
                self.markers.insert(marker, op);
            }
            Record::WaitInserted { .. } => self.wait_inserted(stamped),
            _ => {}
        }
        self.order.follow(&stamped.record);
    }

    fn act(&mut self, stamped: &Stamped<'_>, (stream, seq): (StreamId, Seq), act: Act) -> Place {
        let place = Place { lane: self.order.lane(stream), seq: seq.0 };
        self.history.push(self.at, stamped.number, (stream, place), act);
        self.order.advance(place);
        place
    }

    fn wait_inserted(&mut self, stamped: &Stamped<'_>) {
        let Record::WaitInserted { stream, seq, marker, on } = stamped.record else { return };
        let on = Place { lane: self.order.lane(on.stream), seq: on.seq.0 };
        let place = self.act(stamped, (stream, seq), Act::WaitMarker { marker });
        if let Some(laid) = self.markers.get(&marker).copied()
            && !self.order.covers(marker, on)
        {
            let op = self.op(stamped, What::WaitInserted, Some((stream, seq)));
            self.suspect(Fault::WaitTooShort, None, laid, op, Some(Gap { from: on, to: Some(place) }));
        }
    }
}
