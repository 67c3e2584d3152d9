//! One pool: its peaks and who held them, what was reused from where, and what was mapped and unmapped.

use super::held::{self, Held, Idle};
use super::sweep::Sample;
use crate::model::{EventIx, Fact, Life, Model, NameIx, Payload, PoolIx, StreamIx, relied_on};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use weir::id::{PoolId, StreamId};
use weir::trace::{MapReason, Record, Source, UnmapReason};

/// A largest value, and where it was first reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Its bytes.
    pub bytes: u64,
    /// The record that reached it; `None`: it held from the log's beginning.
    pub event: Option<EventIx>,
}

/// Who holds a part of a peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The label; `None` for blocks without one.
    pub label: Option<String>,
    /// The stream that allocated, for blocks without a label.
    pub stream: Option<StreamId>,
    /// Their bytes.
    pub bytes: u64,
    /// How many blocks.
    pub blocks: u64,
}

impl Holder {
    /// The label, or whose blocks without one they are.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.label, self.stream) {
            (Some(label), _) => format!("{label:?}"),
            (None, Some(stream)) => format!("no label, stream {stream}"),
            (None, None) => "no label".to_owned(),
        }
    }
}

/// Mallocs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reused {
    /// How many.
    pub count: u64,
    /// Bytes they were given.
    pub bytes: u64,
}

/// Memory that went from one stream to another. Each byte of a malloc is in one pair: that of the stream that had it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The stream that freed it last (that allocated it, where no free is recorded); `None`: nobody had it since it was
    /// mapped.
    pub from: Option<StreamId>,
    /// The stream that allocated.
    pub to: StreamId,
    /// What the bytes relied on: [`SameStream`](Source::SameStream) where the two are one, and else what the malloc relied
    /// on; what a malloc of its own stream's memory has of another's was known to be complete.
    pub source: Source,
    /// How many mallocs have such bytes, and the bytes.
    pub reused: Reused,
}

impl Pair {
    /// Whose bytes they were, in words.
    #[must_use]
    pub fn from_words(&self) -> String {
        self.from.map_or_else(|| "nobody".to_owned(), |from| from.to_string())
    }
}

/// Bytes mapped or unmapped for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// `grow`, `remap`, `spare`; `threshold`, `trim`, `destroy`, `undo`.
    pub reason: &'static str,
    /// How often.
    pub times: u64,
    /// Bytes in all.
    pub bytes: u64,
}

/// What a log tells about one pool.
#[derive(Clone, Debug)]
pub struct PoolReport {
    /// The pool in the model.
    pub at: PoolIx,
    /// Its id.
    pub id: PoolId,
    /// Its limit, where it is known and set.
    pub limit: Option<u64>,
    /// Bytes of one granule; `None`: not recorded.
    pub granule: Option<u64>,
    /// Whether it is recorded what is mapped and where the blocks lie, so that there is a fragmentation to tell of.
    pub laid_out: bool,
    /// Its mallocs, those before the log not counted.
    pub mallocs: u64,
    /// The most bytes in live blocks.
    pub used: Peak,
    /// The most mapped bytes; `None`: not recorded.
    pub reserved: Option<Peak>,
    /// Bytes that the program asked for, of those at the peak of used bytes: the rest is rounding.
    pub asked_at_peak: u64,
    /// Who held the peak of used bytes, the most first.
    pub holders: Vec<Holder>,
    /// The pool along the log.
    pub samples: Vec<Sample>,
    /// By what the mallocs relied on, in the order of [`Source::ALL`].
    pub reuse: [Reused; 6],
    /// The same by pairs of streams, the most bytes first.
    pub pairs: Vec<Pair>,
    /// What was mapped, by reason.
    pub mapped: Vec<Moved>,
    /// What was unmapped, by reason.
    pub unmapped: Vec<Moved>,
    /// Bytes that were released by a synchronisation and created again before the next.
    pub thrash: u64,
    /// Blocks that were held most.
    pub held: Vec<Held>,
    /// Blocks that were most idle, by the uses that are recorded.
    pub idle: Vec<Idle>,
}

impl PoolReport {
    pub(super) fn of(model: &Model, at: PoolIx, samples: Vec<Sample>, moves: &Moves) -> Self {
        let happened = |list: &[Moved]| list.iter().filter(|moved| moved.times > 0).copied().collect();
        let pool = model.pool(at);
        let recorded = |fact| !model.unrecorded.has(fact);
        let peak = |(bytes, event): (u64, Option<EventIx>)| Peak { bytes, event };
        let used = peak(pool.used.peak());
        let (holders, asked_at_peak) = holders(model, at, used);
        let (held, idle) = held::held(model, at);
        Self {
            at,
            id: pool.id,
            limit: pool.limit().map(|limit| limit.0),
            granule: Some(pool.granularity.0).filter(|_| recorded(Fact::Reserved)),
            laid_out: recorded(Fact::Reserved) && recorded(Fact::Addresses) && is_mapped(model, at),
            mallocs: pool.lives.iter().filter(|life| model.life(**life).born().is_some()).count() as u64,
            used,
            reserved: recorded(Fact::Reserved).then(|| peak(pool.reserved.peak())),
            asked_at_peak,
            holders,
            samples,
            reuse: reuse(model, at),
            pairs: pairs(model, at),
            mapped: happened(&moves.mapped),
            unmapped: happened(&moves.unmapped),
            thrash: moves.thrash,
            held,
            idle,
        }
    }

    /// The sample just behind a record.
    #[must_use]
    pub fn sample_at(&self, event: EventIx) -> Option<&Sample> {
        let at = self.samples.partition_point(|sample| sample.event < event);
        self.samples.get(at).filter(|sample| sample.event == event)
    }

    /// The largest external fragmentation of the samples; `None`: see [`laid_out`](Self::laid_out).
    #[must_use]
    pub fn worst_fragmentation(&self) -> Option<f64> {
        self.laid_out.then(|| self.samples.iter().map(Sample::fragmentation).fold(0.0, f64::max))
    }
}

/// Whether it is recorded where memory is mapped. Other allocators' logs may state how much it is, and no places.
fn is_mapped(model: &Model, at: PoolIx) -> bool {
    model.unrecorded.is_empty() || model.pool(at).runs.iter().any(|run| run.mapped.is_some())
}

/// Blocks with a label by that, others by their stream.
pub(super) fn holders(model: &Model, at: PoolIx, peak: Peak) -> (Vec<Holder>, u64) {
    let event = peak.event.unwrap_or(EventIx(0));
    let lives = model.pool(at).lives.iter().map(|life| model.life(*life));
    let recorded = !model.unrecorded.has(Fact::Streams);
    let mut found: BTreeMap<(NameIx, Option<StreamId>), (u64, u64)> = BTreeMap::new();
    let mut asked = 0_u64;
    for life in lives.filter(|life| life.live_after(event)) {
        let key = (life.name, (model.name(life.name).is_empty() && recorded).then(|| model.stream(life.stream).id));
        let (bytes, blocks) = found.entry(key).or_default();
        *bytes = bytes.saturating_add(life.given.0);
        *blocks += 1;
        asked = asked.saturating_add(life.asked().unwrap_or(life.given).0);
    }
    let holder = |((name, stream), (bytes, blocks)): (_, (u64, u64))| {
        let label = Some(model.name(name)).filter(|name| !name.is_empty()).map(str::to_owned);
        Holder { label, stream, bytes, blocks }
    };
    let mut holders: Vec<Holder> = found.into_iter().map(holder).collect();
    holders.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| (&a.label, a.stream).cmp(&(&b.label, b.stream))));
    (holders, asked)
}

fn lives(model: &Model, at: PoolIx) -> impl Iterator<Item = (crate::model::LifeIx, &Life)> {
    model.pool(at).lives.iter().map(|at| (*at, model.life(*at)))
}

fn reuse(model: &Model, at: PoolIx) -> [Reused; 6] {
    let mut reuse = [Reused::default(); 6];
    for (_, life) in lives(model, at) {
        if let Some(source) = life.source {
            let reused = &mut reuse[source as usize];
            reused.count += 1;
            reused.bytes = reused.bytes.saturating_add(life.given.0);
        }
    }
    reuse
}

/// Memory that went from stream to stream, the most bytes first; its bytes are all that the mallocs were given.
#[must_use]
pub fn pairs(model: &Model, at: PoolIx) -> Vec<Pair> {
    let mut found: HashMap<(Option<StreamId>, StreamId, u8), Reused> = HashMap::new();
    for (at, life) in lives(model, at) {
        let Some(source) = life.source else { continue };
        let id = |stream: StreamIx| model.stream(stream).id;
        // Few: one for each stream whose memory it is made of.
        let mut pieces: Vec<(Option<StreamIx>, u64)> = Vec::new();
        for (from, bytes) in model.hand_overs(at) {
            match pieces.iter_mut().find(|piece| piece.0 == from) {
                Some(piece) => piece.1 += bytes,
                None => pieces.push((from, bytes)),
            }
        }
        for (from, bytes) in pieces {
            let source = relied_on(source, from, life.stream);
            let reused = found.entry((from.map(id), id(life.stream), source as u8)).or_default();
            reused.count += 1;
            reused.bytes = reused.bytes.saturating_add(bytes);
        }
    }
    let pair = |((from, to, source), reused): ((Option<StreamId>, StreamId, u8), Reused)| Pair {
        from,
        to,
        source: Source::ALL[usize::from(source)],
        reused,
    };
    let mut pairs: Vec<Pair> = found.into_iter().map(pair).collect();
    pairs.sort_by_key(|pair| (Reverse(pair.reused.bytes), pair.from, pair.to, pair.source));
    pairs
}

/// What a pool mapped and unmapped, by the places of the reasons.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    mapped: [Moved; 3],
    unmapped: [Moved; 5],
    thrash: u64,
}

impl Moves {
    const NONE: Self = {
        const fn none(reason: &'static str) -> Moved {
            Moved { reason, times: 0, bytes: 0 }
        }
        Self {
            mapped: [none("grow"), none("remap"), none("spare")],
            unmapped: [none("threshold"), none("trim"), none("remap"), none("destroy"), none("undo")],
            thrash: 0,
        }
    };

    /// Those of every pool, in one walk.
    pub(super) fn of_all(model: &Model) -> Vec<Self> {
        let ids: HashMap<PoolId, usize> = model.pools.iter().enumerate().map(|(at, pool)| (pool.id, at)).collect();
        let mut all = vec![Self::NONE; model.pools.len()];
        let granule = |at: usize| model.pools[at].granularity.0;
        for at in 0..model.events.len() {
            let Payload::Other(record) = model.events.payload(EventIx::next_of(at)) else { continue };
            match record {
                Record::Mapped { pool, granules, reason, .. }
                | Record::MappedInOrder { pool, granules, reason, .. } => {
                    if let Some(at) = ids.get(&pool) {
                        all[*at].mapped[map_place(reason)].add(granules, granule(*at));
                    }
                }
                Record::Unmapped { pool, granules, reason, .. }
                | Record::UnmappedInOrder { pool, granules, reason, .. } => {
                    if let Some(at) = ids.get(&pool) {
                        all[*at].unmapped[unmap_place(reason)].add(granules, granule(*at));
                    }
                }
                Record::Kept { pool, thrash, .. } => {
                    if let Some(at) = ids.get(&pool) {
                        all[*at].thrash = thrash.0;
                    }
                }
                _ => {}
            }
        }
        all
    }
}

impl Moved {
    fn add(&mut self, granules: u32, granule: u64) {
        self.times += 1;
        self.bytes = self.bytes.saturating_add(u64::from(granules).saturating_mul(granule));
    }
}

const fn map_place(reason: MapReason) -> usize {
    match reason {
        MapReason::Grow => 0,
        MapReason::Remap => 1,
        MapReason::Spare => 2,
    }
}

const fn unmap_place(reason: UnmapReason) -> usize {
    match reason {
        UnmapReason::Threshold => 0,
        UnmapReason::Trim => 1,
        UnmapReason::Remap => 2,
        UnmapReason::Destroy => 3,
        UnmapReason::Undo => 4,
    }
}
