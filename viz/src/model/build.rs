//! From records to the model, one at a time. Takes whatever a damaged log gives and says what does not fit.

use super::curve::Tally;
use super::owned::owned;
use super::owners::{Span, Spans};
use super::{
    Curve, Definition, EventIx, Kind, LifeIx, Link, MarkAt, Model, NameIx, Oddity, Pool, PoolIx, Run, Stream, StreamIx,
};
use std::collections::HashMap;
use weir::driver::Properties;
use weir::id::{AllocId, DeviceId, LabelId, PoolId, StreamId};
use weir::policy::{Attribute, PoolConfig, StreamKind};
use weir::trace::{MapReason, Record, Stamped};
use weir::units::{Bytes, DevicePtr};

/// What a granule is taken for where the log does not say.
const USUAL_GRANULE: Bytes = Bytes::mib(2);
/// Oddities that are told one by one.
const MOST_ODDITIES: usize = 1000;

/// Builds a [`Model`] from records in their order.
#[derive(Debug, Default)]
pub struct Builder {
    pub(super) model: Model,
    pub(super) pools: HashMap<PoolId, PoolIx>,
    pub(super) streams: HashMap<StreamId, StreamIx>,
    pub(super) labels: HashMap<LabelId, NameIx>,
    pub(super) interned: HashMap<String, NameIx>,
    pub(super) alive: HashMap<AllocId, LifeIx>,
    pub(super) making: Vec<Making>,
    pub(super) odd: usize,
}

/// A pool while the log is being read.
#[derive(Debug, Default)]
pub(super) struct Making {
    pub(super) used: Tally,
    pub(super) reserved: Tally,
    pub(super) threshold: Vec<(EventIx, u64)>,
    pub(super) threshold_now: u64,
    pub(super) live: Spans<LifeIx>,
    pub(super) owners: Spans<LifeIx>,
    pub(super) mapped: Spans<(Option<EventIx>, MapReason)>,
    /// The log has it from its making, and nothing since was lost: its numbers are right.
    pub(super) whole: bool,
    pub(super) before: Vec<LifeIx>,
}

impl Builder {
    /// Takes the next record.
    pub fn push(&mut self, stamped: &Stamped<'_>) {
        let Some(kind) = Kind::of(&stamped.record) else {
            self.define(&stamped.record);
            return;
        };
        let event = self.model.events.end();
        let payload = match stamped.record {
            Record::Malloc { .. } => self.malloc(event, &stamped.record),
            Record::Free { .. } => self.free(event, &stamped.record),
            Record::Mark { label, name } => self.mark(event, label, name),
            other => {
                let owned = owned(other);
                self.apply(event, &owned);
                self.model.events.keep(owned)
            }
        };
        self.model.events.push(stamped.number, stamped.time.0, kind, payload);
    }

    /// Records are missing here: what follows may not fit what came before.
    pub fn gap(&mut self) {
        self.making.iter_mut().for_each(|m| m.whole = false);
    }

    /// The finished model.
    #[must_use]
    pub fn finish(mut self) -> Model {
        for at in 0..self.making.len() {
            self.finish_pool(PoolIx::next_of(at));
        }
        let mut order: Vec<usize> = (0..self.model.streams.len()).collect();
        order.sort_by_key(|at| self.model.streams[*at].id);
        for (rank, at) in order.into_iter().enumerate() {
            self.model.streams[at].rank = rank;
        }
        self.model.uses.sort_unstable();
        if self.odd > MOST_ODDITIES {
            let rest = self.odd - MOST_ODDITIES;
            let event = EventIx::next_of(self.model.events.len().saturating_sub(1));
            let what = format!("and {rest} more places that do not fit together");
            self.model.oddities.push(Oddity { event, what });
        }
        self.link_forward();
        self.model
    }

    fn finish_pool(&mut self, at: PoolIx) {
        let making = &mut self.making[at.at()];
        let pool = &mut self.model.pools[at.at()];
        pool.used = making.used.finish();
        pool.reserved = making.reserved.finish();
        let first = pool.definition.map_or(0, |d| d.config.threshold.0);
        pool.threshold = Curve::new(first, &making.threshold);
        for Span { start, end, value } in making.mapped.drain() {
            pool.runs.push(Run { start, end, mapped: value.0.map(|e| (e, value.1)), unmapped: None, why: None });
        }
        pool.runs.sort_by_key(|r| (r.mapped.map(|m| m.0), r.start, r.end));
        let mut lives = std::mem::take(&mut making.before);
        lives.append(&mut pool.lives);
        pool.lives = lives;
    }

    /// Turns "came from" around.
    fn link_forward(&mut self) {
        let lives = self.model.lives.len();
        let mut count = vec![0_u32; lives + 1];
        for link in &self.model.links {
            count[link.life.at() + 1] += 1;
        }
        for at in 0..lives {
            count[at + 1] += count[at];
        }
        let mut next = count.clone();
        let nobody = Link { life: LifeIx(0), bytes: 0 };
        let mut later = vec![nobody; self.model.links.len()];
        for (at, life) in self.model.lives.iter().enumerate() {
            let (from, length) = life.from;
            for link in &self.model.links[from as usize..(from + length) as usize] {
                let slot = &mut next[link.life.at()];
                later[*slot as usize] = Link { life: LifeIx::next_of(at), bytes: link.bytes };
                *slot += 1;
            }
        }
        (self.model.later, self.model.later_of) = (later, count);
    }

    pub(super) fn odd(&mut self, event: EventIx, what: impl FnOnce() -> String) {
        self.odd += 1;
        if self.odd <= MOST_ODDITIES {
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
            granularity: USUAL_GRANULE,
            used: Curve::default(),
            reserved: Curve::default(),
            threshold: Curve::default(),
            lives: Vec::new(),
            runs: Vec::new(),
            syncs: Vec::new(),
            trims: Vec::new(),
            refusals: Vec::new(),
            by_source: Default::default(),
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
        self.model.events.keep(Record::Mark { label, name: "" })
    }

    fn apply(&mut self, event: EventIx, record: &Record<'static>) {
        match *record {
            Record::Begin { version, .. } => self.begin(event, version),
            Record::PoolCreated { pool } => {
                let at = self.pool(pool);
                let making = &mut self.making[at.at()];
                making.whole = true;
                making.used.set_zero();
                making.reserved.set_zero();
            }
            Record::PoolDestroyed { pool, .. } => self.destroy_pool(event, pool),
            Record::AttributeSet { pool, attribute, value } => {
                let at = self.pool(pool);
                if attribute == Attribute::ReleaseThreshold {
                    self.set_threshold(at, event, value);
                }
            }
            Record::Use { id, stream, .. } => {
                self.stream(stream);
                if let Some(life) = self.alive.get(&id) {
                    self.model.uses.push((*life, event));
                }
            }
            Record::Mapped { pool, offset, granules, reason } => self.map(event, pool, offset, granules, reason),
            Record::Unmapped { pool, offset, granules, reason } => self.unmap(event, pool, offset, granules, reason),
            Record::Lost { .. } => self.gap(),
            _ => self.sign(event, record),
        }
    }

    /// Records that the pictures show as signs.
    fn sign(&mut self, event: EventIx, record: &Record<'static>) {
        match *record {
            Record::StreamCreated { stream } => {
                self.stream(stream);
            }
            Record::StreamSynchronized { .. }
            | Record::EventSynchronized { .. }
            | Record::DeviceSynchronized { .. } => {
                self.model.pools.iter_mut().for_each(|p| p.syncs.push(event));
            }
            Record::Trimmed { pool, reached, .. } => {
                let at = self.pool(pool);
                self.model.pools[at.at()].trims.push(event);
                self.calibrate(event, at, None, reached.0);
            }
            Record::OutOfMemory { pool, used, reserved, .. } => {
                let at = self.pool(pool);
                self.model.pools[at.at()].refusals.push(event);
                self.calibrate(event, at, Some(used.0), reserved.0);
            }
            Record::Refused { pool: Some(pool), .. } => {
                let at = self.pool(pool);
                self.model.pools[at.at()].refusals.push(event);
            }
            Record::Refused { pool: None, .. } | Record::DriverFailed { .. } => {
                self.model.pools.iter_mut().for_each(|p| p.refusals.push(event));
            }
            _ => {}
        }
    }

    /// A record states what the numbers are. Where the log is not whole, they are taken from it.
    pub(super) fn calibrate(&mut self, event: EventIx, pool: PoolIx, used: Option<u64>, reserved: u64) {
        let making = &mut self.making[pool.at()];
        if making.whole {
            return;
        }
        making.reserved.state(event, signed(reserved));
        if let Some(used) = used {
            making.used.state(event, signed(used));
        }
    }
}

/// Byte counts above 2^63 do not occur on any device; a damaged record's count as the largest.
pub(super) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
