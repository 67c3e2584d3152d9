//! The report's numbers by name: what `--json` prints and what conditions are about.

use super::Report;
use crate::model::Fact;
use weir::trace::Source;

/// A number of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in JSON. Conditions may leave `_bytes` out, and name the parts of `reuse` as `reuse.event`.
    pub name: String,
    /// Its value; `None`: the log does not tell.
    pub value: Option<u64>,
    /// What to say of a log that does not tell.
    pub unknown: &'static str,
    /// How far the value can be relied on.
    pub certainty: Certainty,
}

/// How far a value can be relied on where records are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Certainty {
    /// It is the value.
    #[default]
    Exact,
    /// What is lost can only add to it.
    AtLeast,
    /// What is lost may have made it larger or smaller.
    Open,
}

impl Figure {
    /// The least and the most that it can be.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        let value = self.value? as f64;
        Some(match self.certainty {
            Certainty::Exact => [value, value],
            Certainty::AtLeast => [value, f64::INFINITY],
            Certainty::Open => [0.0, f64::INFINITY],
        })
    }
}

/// What lost records may change in either direction: a free that is missing keeps its block, a malloc is not counted.
const OPEN: [&str; 4] = ["peak_used_bytes", "peak_reserved_bytes", "live_at_end", "live_at_end_bytes"];
/// What a part that begins late has not all of.
const LATE: [&str; 2] = ["peak_used_bytes", "peak_reserved_bytes"];

fn certainty(report: &Report, name: &str) -> Certainty {
    match (report.lossy, report.begins_late) {
        (true, _) if OPEN.contains(&name) => Certainty::Open,
        (true, _) => Certainty::AtLeast,
        (false, true) if LATE.contains(&name) => Certainty::AtLeast,
        (false, _) => Certainty::Exact,
    }
}

const NOT_RECORDED: &str = "which this log does not record";
const NO_END: &str = "which this log does not tell: blocks are live at its end, and neither the destruction of their pool nor \
                      a mark `end of program` is in it";

/// The numbers of a report.
#[must_use]
pub fn figures(report: &Report) -> Vec<Figure> {
    let lacks = |fact| report.unrecorded.has(fact);
    let maybe = |name: &str, value: Option<u64>| Figure {
        name: name.to_owned(),
        value,
        unknown: NOT_RECORDED,
        certainty: certainty(report, name),
    };
    let figure = |name: &str, value: u64| maybe(name, Some(value));
    let about = |name: &str, fact: Fact, value: u64| maybe(name, Some(value).filter(|_| !lacks(fact)));
    let sum = |of: fn(&super::PoolReport) -> u64| report.pools.iter().map(of).fold(0, u64::saturating_add);
    let moved = |reason: &str, list: fn(&super::PoolReport) -> &[super::Moved]| {
        let moves = report.pools.iter().flat_map(list).filter(|moved| moved.reason == reason);
        moves.map(|moved| moved.bytes).fold(0, u64::saturating_add)
    };
    let mut figures = vec![
        figure("records", report.records),
        figure("peak_used_bytes", report.peak_used),
        maybe("peak_reserved_bytes", report.peak_reserved),
        maybe("ordered_floor_bytes", report.floor.map(|floor| floor.bytes)),
        about("mallocs", Fact::Blocks, sum(|pool| pool.mallocs)),
        about("refused", Fact::Refusals, report.refused()),
        Figure { unknown: NO_END, ..maybe("leaks", report.leaks) },
        figure("findings", report.findings.iter().map(|(_, count)| count).sum()),
        about("live_at_end", Fact::Blocks, report.live_at_end),
        about("live_at_end_bytes", Fact::Blocks, report.live_bytes_at_end),
        about("waits_inserted", Fact::Source, report.waits_inserted()),
        about("host_waits", Fact::Source, report.host_waits),
        about("thrash_bytes", Fact::Reserved, sum(|pool| pool.thrash)),
        about("grown_bytes", Fact::Reserved, moved("grow", |pool| &pool.mapped)),
        about("moved_bytes", Fact::Reserved, moved("remap", |pool| &pool.mapped)),
        about("released_bytes", Fact::Reserved, moved("threshold", |pool| &pool.unmapped)),
        about("trimmed_bytes", Fact::Reserved, moved("trim", |pool| &pool.unmapped)),
    ];
    for (source, reused) in Source::ALL.iter().zip(report.reuse()) {
        figures.push(about(&format!("reuse.{}", source.name()), Fact::Source, reused.count));
    }
    figures
}
