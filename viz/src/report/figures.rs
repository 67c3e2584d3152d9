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
}

const NOT_RECORDED: &str = "which this log does not record";
const NO_END: &str = "which this log does not tell: blocks are live at its end, and neither the destruction of their pool nor \
                      a mark `end of program` is in it";

/// The numbers of a report.
#[must_use]
pub fn figures(report: &Report) -> Vec<Figure> {
    let lacks = |fact| report.unrecorded.has(fact);
    let figure = |name: &str, value: u64| Figure { name: name.to_owned(), value: Some(value), unknown: NOT_RECORDED };
    let maybe = |name: &str, value: Option<u64>| Figure { name: name.to_owned(), value, unknown: NOT_RECORDED };
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
        figure("refused", report.refused()),
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
