//! The report's numbers by name: what `--json` prints and what conditions are about.

use super::Report;
use weir::trace::Source;

/// A number of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in JSON. Conditions may leave `_bytes` out, and name the parts of `reuse` as `reuse.event`.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// The numbers of a report.
#[must_use]
pub fn figures(report: &Report) -> Vec<Figure> {
    let figure = |name: &str, value: u64| Figure { name: name.to_owned(), value };
    let sum = |of: fn(&super::PoolReport) -> u64| report.pools.iter().map(of).fold(0, u64::saturating_add);
    let moved = |reason: &str, list: fn(&super::PoolReport) -> &[super::Moved]| {
        let moves = report.pools.iter().flat_map(list).filter(|moved| moved.reason == reason);
        moves.map(|moved| moved.bytes).fold(0, u64::saturating_add)
    };
    let mut figures = vec![
        figure("records", report.records),
        figure("peak_used_bytes", report.peak_used),
        figure("peak_reserved_bytes", report.peak_reserved),
        figure("ordered_floor_bytes", report.floor.bytes),
        figure("mallocs", sum(|pool| pool.mallocs)),
        figure("refused", report.refused()),
        figure("leaks", report.leaks),
        figure("findings", report.findings.iter().map(|(_, count)| count).sum()),
        figure("live_at_end", report.live_at_end),
        figure("live_at_end_bytes", report.live_bytes_at_end),
        figure("waits_inserted", report.waits_inserted()),
        figure("host_waits", report.host_waits),
        figure("thrash_bytes", sum(|pool| pool.thrash)),
        figure("grown_bytes", moved("grow", |pool| &pool.mapped)),
        figure("moved_bytes", moved("remap", |pool| &pool.mapped)),
        figure("released_bytes", moved("threshold", |pool| &pool.unmapped)),
        figure("trimmed_bytes", moved("trim", |pool| &pool.unmapped)),
    ];
    for (source, reused) in Source::ALL.iter().zip(report.reuse()) {
        figures.push(Figure { name: format!("reuse.{}", source.name()), value: reused.count });
    }
    figures
}
