//! Two logs side by side: before and after, two ranks, two policies. Aligned on the program's marks.
//!
//! Of each log the pool with most allocations is looked at. Mallocs are matched in their order between marks that both
//! logs have, by stream and size asked; what only one of them has is left out of the match. Everything is near linear in
//! the logs' records.

mod labels;
mod link;
mod mallocs;
mod marks;
mod text;

pub use labels::LabelGrowth;
pub use link::Link;
pub use mallocs::{Lost, Matched};
pub use text::text;

use crate::model::{EventIx, Fact, Model, PoolIx, Signs};
use crate::source::Opened;
use std::collections::BTreeMap;
use weir::id::{PoolId, StreamId};
use weir::trace::Source;

/// A part of both logs, from one common mark to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The mark it begins with; `None`: the logs' beginning.
    pub from: Option<String>,
    /// The mark it ends with; `None`: the logs' end.
    pub to: Option<String>,
    /// The first log's numbers, and the second's.
    pub sides: [Side; 2],
}

/// One log's numbers in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its first record, and the one behind its last.
    pub records: [u32; 2],
    /// The most bytes in live blocks.
    pub peak_used: u64,
    /// The most mapped bytes; `None`: not recorded.
    pub peak_reserved: Option<u64>,
    /// Mallocs by what they relied on, in the order of [`Source::ALL`]; `None`: not recorded.
    pub reuse: Option<[u64; 6]>,
    /// Refused calls that name the pool.
    pub refused: u64,
}

impl Side {
    /// Without a pool.
    const NOTHING: Self =
        Self { records: [0; 2], peak_used: 0, peak_reserved: Some(0), reuse: Some([0; 6]), refused: 0 };
}

/// Memory that goes from stream to stream, in one log and in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairChange {
    /// The stream of the free.
    pub from: StreamId,
    /// The stream that allocated.
    pub to: StreamId,
    /// What the malloc relied on.
    pub source: Source,
    /// Mallocs in the first log and in the second.
    pub mallocs: [u64; 2],
}

/// What two logs tell beside each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Their names.
    pub names: [String; 2],
    /// The pool of each that is looked at, and how many it has.
    pub pools: [Option<(PoolId, usize)>; 2],
    /// The most used bytes of all pools of each together, and the most mapped ones: the report's figures.
    pub all_pools: [(u64, Option<u64>); 2],
    /// What is left open where they are parts of logs, in sentences.
    pub open_ends: [Vec<String>; 2],
    /// Their parts between common marks; one where they have none.
    pub sections: Vec<Section>,
    /// The whole logs.
    pub whole: Section,
    /// Marks that only one of them has.
    pub odd_marks: [u64; 2],
    /// Labels by how much their peaks grew, the most first.
    pub labels: Vec<LabelGrowth>,
    /// Reuse from stream to stream, what was lost most first.
    pub pairs: Vec<PairChange>,
    /// Mallocs that both logs have, and what became of them.
    pub matched: Matched,
}

impl Comparison {
    /// Whether a log has pools that are not looked at.
    #[must_use]
    pub fn leaves_pools_out(&self) -> bool {
        self.pools.iter().flatten().any(|(_, count)| *count > 1)
    }

    /// Whether both logs record where memory came from.
    #[must_use]
    pub fn tells_sources(&self) -> bool {
        self.whole.sides.iter().all(|side| side.reuse.is_some())
    }

    /// Compares two logs.
    #[must_use]
    pub fn of(one: &Opened, other: &Opened) -> Self {
        let models = [&one.model, &other.model];
        let pools = models.map(|model| model.busiest_pool());
        let (marks, odd_marks) = marks::common(models);
        let sections: Vec<Section> = sections(models, pools, &marks);
        let bounds = |section: &Section| section.sides.map(|side| side.records);
        Self {
            names: [one.name.clone(), other.name.clone()],
            pools: [0, 1].map(|at| pools[at].map(|pool| (models[at].pool(pool).id, models[at].pools.len()))),
            all_pools: models.map(crate::report::peaks),
            open_ends: [one.origin.open_ends(), other.origin.open_ends()],
            whole: Section {
                from: None,
                to: None,
                sides: [0, 1].map(|at| side(models[at], pools[at], [EventIx(0), models[at].events.end()])),
            },
            odd_marks,
            labels: labels::growth(models, pools),
            pairs: pairs(models, pools),
            matched: mallocs::matched(models, pools, &sections.iter().map(bounds).collect::<Vec<_>>()),
            sections,
        }
    }
}

/// The parts between the marks that both have.
fn sections(models: [&Model; 2], pools: [Option<PoolIx>; 2], marks: &[marks::Common]) -> Vec<Section> {
    let mut sections = Vec::with_capacity(marks.len() + 1);
    let mut from: [EventIx; 2] = [EventIx(0); 2];
    let mut name: Option<String> = None;
    for mark in marks {
        let sides = [0, 1].map(|at| side(models[at], pools[at], [from[at], mark.at[at]]));
        sections.push(Section { from: name.take(), to: Some(mark.name.clone()), sides });
        (from, name) = (mark.at, Some(mark.name.clone()));
    }
    let sides = [0, 1].map(|at| side(models[at], pools[at], [from[at], models[at].events.end()]));
    sections.push(Section { from: name, to: None, sides });
    sections
}

fn side(model: &Model, pool: Option<PoolIx>, [from, to]: [EventIx; 2]) -> Side {
    let records = [from.0, to.0];
    let Some(at) = pool else { return Side { records, ..Side::NOTHING } };
    let pool = model.pool(at);
    let recorded = |fact| !model.unrecorded.has(fact);
    let within = |events: Signs<'_>| (events.before(to) - events.before(from)) as u64;
    Side {
        records,
        peak_used: pool.used.extremes(from, to).1,
        peak_reserved: recorded(Fact::Reserved).then(|| pool.reserved.extremes(from, to).1),
        reuse: recorded(Fact::Source).then(|| pool.by_source.each_ref().map(|mallocs| within(Signs::own(mallocs)))),
        refused: within(model.refusals_of(at)),
    }
}

fn pairs(models: [&Model; 2], pools: [Option<PoolIx>; 2]) -> Vec<PairChange> {
    let mut found: BTreeMap<(StreamId, StreamId, Source), [u64; 2]> = BTreeMap::new();
    for (at, (model, pool)) in models.into_iter().zip(pools).enumerate() {
        for pair in pool.map_or(Vec::new(), |pool| crate::report::pairs(model, pool)) {
            // What was nobody's is no reuse.
            let Some(from) = pair.from else { continue };
            found.entry((from, pair.to, pair.source)).or_default()[at] = pair.reused.count;
        }
    }
    let change = |((from, to, source), mallocs)| PairChange { from, to, source, mallocs };
    let mut pairs: Vec<PairChange> = found.into_iter().map(change).filter(|p| p.mallocs[0] != p.mallocs[1]).collect();
    let gained = |pair: &PairChange| i128::from(pair.mallocs[1]) - i128::from(pair.mallocs[0]);
    pairs.sort_by_key(|pair| (gained(pair), pair.from, pair.to, pair.source));
    pairs
}
