//! From records to the model, one at a time. Takes whatever a damaged log gives and says what does not fit.

use super::blocks::Owned;
use super::curve::Tally;
use super::owners::Spans;
use super::stated;
use super::stays::Stays;
use super::{
    Curve, Definition, EventIx, Fact, Gap, Hole, Kind, LifeIx, MarkAt, Model, NameIx, Oddity, Pool, PoolIx, Run,
    Stream, StreamIx, Unrecorded,
};
use foldhash::HashMap;
use weir::driver::Properties;
use weir::id::{AllocId, DeviceId, LabelId, PoolId, StreamId};
use weir::policy::{Attribute, PoolConfig, StreamKind};
use weir::trace::{MapReason, Record, Stamped, Verb};
use weir::units::{Bytes, DevicePtr};

/// What a granule is taken for where the log does not say.
const USUAL_GRANULE: Bytes = Bytes::mib(2);
/// Oddities that are told one by one.
const MOST_ODDITIES: usize = 1000;

/// Builds a [`Model`] from records in their order.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) model: Model,
    pub(super) pools: HashMap<PoolId, PoolIx>,
    pub(super) streams: HashMap<StreamId, StreamIx>,
    pub(super) labels: HashMap<LabelId, NameIx>,
    pub(super) interned: HashMap<String, NameIx>,
    pub(super) alive: HashMap<AllocId, LifeIx>,
    pub(super) making: Vec<Making>,
    /// The first records after those that are missing, in their order.
    lost: Vec<EventIx>,
    /// Records may be missing before the next one.
    torn: bool,
}

/// A pool while the log is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Making {
    pub(super) used: Tally,
    pub(super) reserved: Tally,
    /// Sums that a translated log states, in place of counting.
    pub(super) stated_used: Vec<(EventIx, u64)>,
    pub(super) stated_reserved: Vec<(EventIx, u64)>,
    pub(super) threshold: Vec<(EventIx, u64)>,
    pub(super) threshold_now: u64,
    /// Who had them last, and has them still where that one is alive.
    pub(super) owners: Spans<LifeIx>,
    /// Since when, and why where that is recorded.
    pub(super) mapped: Spans<(EventIx, Option<MapReason>)>,
    /// Reserved bytes that are mapped nowhere.
    pub(super) apart: u64,
    /// The record of its making.
    pub(super) created: Option<EventIx>,
    pub(super) before: Vec<LifeIx>,
    pub(super) owned: Owned,
}

impl Builder {
    /// A builder for a log that lacks these facts throughout.
    #[must_use]
    pub fn without(unrecorded: Unrecorded) -> Self {
        Self { model: Model { unrecorded, ..Model::default() }, ..Self::default() }
    }

    /// Takes the next record.
    pub fn push(&mut self, stamped: &Stamped<'_>) {
        let Some(kind) = Kind::of(&stamped.record) else {
            self.define(&stamped.record);
            return;
        };
        let event = self.model.events.end();
        self.look_for_gap(event, stamped);
        let payload = match &stamped.record {
            malloc @ Record::Malloc { .. } => self.malloc(event, malloc),
            free @ Record::Free { .. } => self.free(event, free),
            Record::Mark { label, name } => self.mark(event, *label, name),
            other => {
                self.apply(event, other);
                self.model.events.keep(other)
            }
        };
        self.model.events.push(stamped.number, stamped.time.0, kind, payload);
    }

    /// Records may be missing here: what follows may not fit what came before.
    pub fn gap(&mut self) {
        self.torn = true;
    }

    /// Notices missing records by the numbers of those that are there.
    fn look_for_gap(&mut self, event: EventIx, stamped: &Stamped<'_>) {
        let torn = std::mem::take(&mut self.torn);
        let Some(last) = event.0.checked_sub(1) else {
            return;
        };
        let expected = self.model.events.number(EventIx(last)).saturating_add(1);
        let records = stamped.number.saturating_sub(expected);
        if records > 0 {
            self.model.gaps.push(Gap { event, records });
        }
        let restarted = stamped.number < expected && !matches!(stamped.record, Record::Begin { .. });
        if torn || records > 0 || restarted {
            self.lose(event);
        }
    }

    /// Records are missing just before this one.
    fn lose(&mut self, event: EventIx) {
        if self.lost.last() != Some(&event) {
            self.lost.push(event);
        }
    }

    /// The first record after the latest missing ones that may tell of this pool; `None`: it is all there. What came
    /// before the log is missing, too.
    pub(super) fn latest_gap(&self, pool: PoolIx) -> Option<EventIx> {
        let gap = self.lost.last().copied().unwrap_or(EventIx(0));
        let created = self.making[pool.at()].created;
        created.is_none_or(|c| c < gap).then_some(gap)
    }

    /// The first record after the first missing ones after this record.
    pub(super) fn gap_after(&self, event: EventIx) -> Option<EventIx> {
        self.lost.get(self.lost.partition_point(|g| *g <= event)).copied()
    }

    /// The finished model.
    #[must_use]
    pub fn finish(mut self) -> Model {
        for at in 0..self.making.len() {
            self.finish_pool(PoolIx::next_of(at));
        }
        let mut order: Vec<usize> = (0..self.model.streams.len()).collect();
        order.sort_by_key(|at| self.model.streams[*at].id);
        for (rank, at) in order.iter().enumerate() {
            self.model.streams[*at].rank = rank;
        }
        self.model.used_at = self.model.uses.iter().map(|used| (used.1, used.0)).collect();
        self.model.uses.sort_unstable();
        let streams = order.into_iter().map(StreamIx::next_of);
        self.model.allocating = streams.filter(|at| self.model.stream(*at).mallocs > 0).collect();
        self.model
    }

    fn finish_pool(&mut self, at: PoolIx) {
        let whole = self.latest_gap(at).is_none();
        let making = &mut self.making[at.at()];
        let pool = &mut self.model.pools[at.at()];
        pool.created = making.created;
        pool.used = making.used.finish();
        pool.reserved = making.reserved.finish();
        let (events, lives) = (&self.model.events, &self.model.lives);
        let stated = |all: &[(EventIx, u64)], before: stated::Before| {
            let sums = stated::in_effect(events, lives, at, all);
            sums.first().map(|first| Curve::new(before(events, lives, *first), &sums))
        };
        let used = stated(&making.stated_used, stated::before);
        let reserved = stated(&making.stated_reserved, |_, _, first| first.1);
        let counted = used.is_none() && reserved.is_none();
        pool.used = used.unwrap_or_else(|| std::mem::take(&mut pool.used));
        pool.reserved = reserved.unwrap_or_else(|| std::mem::take(&mut pool.reserved));
        if self.model.unrecorded.has(Fact::Reserved) {
            // All that is known of it: it is not less than what is used.
            pool.reserved = pool.used.clone();
        } else if !whole && counted {
            // Live blocks lie in mapped memory, whatever is missing.
            pool.used = pool.used.at_most(&pool.reserved);
        }
        let first = pool.definition.map_or(0, |d| d.config.threshold.0);
        pool.threshold = Curve::new(first, &making.threshold);
        for span in making.mapped.drain() {
            pool.runs.push(Run::from_span(span, None, None));
        }
        pool.runs.sort_by_key(|r| (r.since, r.start, r.end));
        pool.holes = Hole::between(&pool.runs);
        pool.covered = merged(pool.runs.iter().map(|run| (run.start, run.end)).collect());
        let mut lives = std::mem::take(&mut making.before);
        let unordered = lives.len();
        lives.append(&mut pool.lives);
        pool.lives = lives;
        pool.stays = Stays::build(&self.model.lives, &pool.lives, unordered);
        pool.owned = std::mem::take(&mut making.owned);
    }

    pub(super) fn odd(&mut self, event: EventIx, what: impl FnOnce() -> String) {
        self.model.odd += 1;
        if self.model.oddities.len() < MOST_ODDITIES {
            let what = what();
            self.model.oddities.push(Oddity { event, what });
        }
    }

    fn define(&mut self, record: &Record<'_>) {
        match *record {
            Record::DeviceDef { device, properties } => self.define_device(device, properties),
            Record::StreamDef { stream, device, kind } => self.define_stream(stream, device, kind),
            Record::PoolDef { pool, base, range, config } => self.define_pool(pool, base, range, config),
            Record::LabelDef { label, name } => {
                let name = self.intern(name);
                self.labels.insert(label, name);
            }
            _ => {}
        }
    }

    fn define_device(&mut self, device: DeviceId, properties: Properties) {
        match self.model.devices.iter_mut().find(|d| d.0 == device) {
            Some(known) => known.1 = properties,
            None => self.model.devices.push((device, properties)),
        }
    }

    fn define_stream(&mut self, stream: StreamId, device: DeviceId, kind: StreamKind) {
        let at = self.stream(stream);
        self.model.streams[at.at()].definition = Some((device, kind));
    }

    fn define_pool(&mut self, id: PoolId, base: DevicePtr, range: Bytes, config: PoolConfig) {
        let at = self.pool(id);
        let device = self.model.devices.iter().find(|d| d.0 == config.device);
        let granularity = device.map_or(USUAL_GRANULE, |d| d.1.granularity);
        let pool = &mut self.model.pools[at.at()];
        if pool.definition.is_none() {
            pool.definition = Some(Definition { base, range, config });
            pool.granularity = granularity;
            self.making[at.at()].threshold_now = config.threshold.0;
        } else if self.making[at.at()].threshold_now != config.threshold.0 {
            // Set in a part of the log that is lost.
            let event = self.model.events.end();
            self.set_threshold(at, event, config.threshold.0);
        }
    }

    fn set_threshold(&mut self, pool: PoolIx, event: EventIx, value: u64) {
        let making = &mut self.making[pool.at()];
        making.threshold_now = value;
        making.threshold.push((event, value));
    }

    fn intern(&mut self, name: &str) -> NameIx {
        if self.model.names.is_empty() {
            self.model.names.push(String::new());
            self.interned.insert(String::new(), NameIx(0));
        }
        if let Some(known) = self.interned.get(name) {
            return *known;
        }
        let at = NameIx::next_of(self.model.names.len());
        self.model.names.push(name.to_owned());
        self.interned.insert(name.to_owned(), at);
        at
    }

    pub(super) fn label(&mut self, label: LabelId) -> NameIx {
        match self.labels.get(&label) {
            Some(name) => *name,
            None if label == LabelId::NONE => self.intern(""),
            None => self.intern(&format!("label {}", label.0)),
        }
    }

    pub(super) fn stream(&mut self, id: StreamId) -> StreamIx {
        if let Some(known) = self.streams.get(&id) {
            return *known;
        }
        let at = StreamIx::next_of(self.model.streams.len());
        self.model.streams.push(Stream { id, definition: None, rank: 0, mallocs: 0 });
        self.streams.insert(id, at);
        at
    }

    pub(super) fn pool(&mut self, id: PoolId) -> PoolIx {
        if let Some(known) = self.pools.get(&id) {
            return *known;
        }
        let at = PoolIx::next_of(self.model.pools.len());
        self.model.pools.push(Pool {
            id,
            definition: None,
            created: None,
            destroyed: None,
            granularity: USUAL_GRANULE,
            used: Curve::default(),
            reserved: Curve::default(),
            threshold: Curve::default(),
            lives: Vec::new(),
            runs: Vec::new(),
            covered: Vec::new(),
            holes: Vec::new(),
            stays: Stays::default(),
            summaries: Default::default(),
            owned: Owned::default(),
            waits: Vec::new(),
            trims: Vec::new(),
            refused: 0,
            refusals: Vec::new(),
            shared_from: (self.model.syncs.len(), self.model.refusals.len()),
            findings: Vec::new(),
            by_source: Default::default(),
            groups: Default::default(),
            moves: Default::default(),
        });
        self.making.push(Making::default());
        self.pools.insert(id, at);
        at
    }

    fn mark(&mut self, event: EventIx, label: LabelId, name: &str) -> u32 {
        let name = match label {
            LabelId::NONE => self.intern(name),
            _ => self.label(label),
        };
        self.model.marks.push(MarkAt { event, name });
        self.model.events.keep(&Record::Mark { label, name: "" })
    }

    fn apply(&mut self, event: EventIx, record: &Record<'_>) {
        match *record {
            Record::Begin { version, .. } => self.begin(event, version),
            Record::PoolCreated { pool } => {
                let at = self.pool(pool);
                self.making[at.at()].created = Some(event);
            }
            Record::PoolTuned { pool, tuning } => {
                let at = self.pool(pool);
                if let Some(definition) = &mut self.model.pools[at.at()].definition {
                    definition.config.tuning = tuning;
                }
            }
            Record::PoolDestroyed { pool, leaked } => self.destroy_pool(event, pool, leaked),
            Record::AttributeSet { pool, attribute, value } => {
                let at = self.pool(pool);
                match attribute {
                    Attribute::ReleaseThreshold => self.set_threshold(at, event, value),
                    // In translated logs: sums that the log states.
                    Attribute::ReservedMemCurrent => self.making[at.at()].stated_reserved.push((event, value)),
                    Attribute::UsedMemCurrent => self.making[at.at()].stated_used.push((event, value)),
                    _ => {}
                }
            }
            Record::Use { id, stream, .. } => {
                self.stream(stream);
                if let Some(life) = self.alive.get(&id) {
                    self.model.uses.push((*life, event));
                }
            }
            Record::Mapped { pool, offset, granules, reason }
            | Record::MappedInOrder { pool, offset, granules, reason, .. } => {
                self.map(event, pool, offset, granules, reason);
            }
            Record::Unmapped { pool, offset, granules, reason }
            | Record::UnmappedInOrder { pool, offset, granules, reason, .. } => {
                self.unmap(event, pool, offset, granules, reason);
            }
            Record::Undestroyed { pool, granules } => self.keep_apart(event, pool, granules),
            Record::Lost { .. } => self.lose(event),
            _ => self.sign(event, record),
        }
    }

    /// Records that the pictures show as signs.
    fn sign(&mut self, event: EventIx, record: &Record<'_>) {
        match *record {
            Record::StreamCreated { stream }
            | Record::Recorded { stream, .. }
            | Record::Waited { stream, .. }
            | Record::MarkerLaid { stream, .. }
            | Record::WaitInserted { stream, .. } => {
                self.stream(stream);
            }
            Record::StreamSynchronized { .. }
            | Record::EventSynchronized { .. }
            | Record::DeviceSynchronized { .. } => {
                self.model.syncs.push(event);
            }
            // The pool's own wait, which is for it alone.
            Record::Blocked { pool, .. } => {
                let at = self.pool(pool);
                self.model.pools[at.at()].waits.push(event);
            }
            Record::Trimmed { pool, reached, .. } => {
                let at = self.pool(pool);
                self.model.pools[at.at()].trims.push(event);
                self.calibrate(at, None, reached.0);
            }
            Record::OutOfMemory { pool, used, reserved, .. } => {
                let at = self.pool(pool);
                let made = &mut self.model.pools[at.at()];
                made.refused += 1;
                made.refusals.push(event);
                self.calibrate(at, Some(used.0), reserved.0);
            }
            Record::Refused { pool: Some(pool), verb, .. } => {
                let at = self.pool(pool);
                let made = &mut self.model.pools[at.at()];
                made.refused += u64::from(verb == Verb::Malloc);
                made.refusals.push(event);
            }
            Record::Refused { pool: None, .. } | Record::DriverFailed { .. } => {
                self.model.refusals.push(event);
            }
            _ => {}
        }
    }

    /// A record states what the numbers are. Where the log is not whole, they are taken from it.
    pub(super) fn calibrate(&mut self, pool: PoolIx, used: Option<u64>, reserved: u64) {
        let Some(gap) = self.latest_gap(pool) else {
            return;
        };
        let making = &mut self.making[pool.at()];
        making.reserved.state(gap, signed(reserved));
        if let Some(used) = used {
            making.used.state(gap, signed(used));
        }
    }
}

/// Spans in order; those that touch are one.
fn merged(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in spans.into_iter().filter(|span| span.0 < span.1) {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Byte counts above 2^63 do not occur on any device; a damaged record's count as the largest.
pub(super) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
