//! A replay of an event log beside what the log's own pool did.

use super::Summary;
use crate::size;
use serde_json::{Map, Value, json};
use weir::trace::Source;
use weir_viz::import::Recorded;

/// Rows of a name, what is logged, and what the replay did.
pub(crate) fn rows(recorded: &Recorded, summary: &Summary) -> Vec<Vec<String>> {
    let row = |name: &str, logged: String, replayed: String| vec![name.to_owned(), logged, replayed];
    let count = |name: &str, logged: u64, replayed: u64| row(name, logged.to_string(), replayed.to_string());
    let bytes = |name: &str, logged: u64, replayed: u64| {
        let (was, is) = (size::shown(logged), size::shown(replayed));
        row(name, was, format!("{is}{}", change(logged, replayed)))
    };
    let ratio = if recorded.peak_used == 0 { 0.0 } else { recorded.peak_reserved as f64 / recorded.peak_used as f64 };
    let mut rows = vec![
        count("mallocs", recorded.mallocs, summary.mallocs),
        count("frees", recorded.frees, summary.frees + summary.freed_at_end),
        count("refused", recorded.refused, summary.refused),
        bytes("peak used", recorded.peak_used, summary.peak_used),
        bytes("peak reserved", recorded.peak_reserved, summary.peak_reserved),
        row("reserved / used", format!("{ratio:.3}"), format!("{:.3}", summary.ratio())),
    ];
    for ((source, logged), replayed) in Source::ALL.iter().zip(recorded.reuse).zip(summary.reuse) {
        rows.push(count(&format!("reuse: {}", source.name().replace('_', " ")), logged, replayed));
    }
    rows.extend([
        count("waits inserted", recorded.waits_inserted, summary.waits_inserted),
        count("granules created", recorded.created, summary.calls.create),
        count(
            "granules moved",
            recorded.mapped - recorded.created,
            summary.calls.map.saturating_sub(summary.calls.create),
        ),
    ]);
    rows
}

/// ` (-3.1 %)`.
fn change(logged: u64, replayed: u64) -> String {
    if logged == 0 || logged == replayed {
        return String::new();
    }
    format!(" ({:+.1} %)", (replayed as f64 / logged as f64 - 1.0) * 100.0)
}

/// What is logged, for scripts.
pub(crate) fn json(recorded: &Recorded) -> Value {
    let reuse = Source::ALL.iter().zip(recorded.reuse);
    let reuse: Map<String, Value> = reuse.map(|(source, count)| (source.name().to_owned(), json!(count))).collect();
    json!({
        "mallocs": recorded.mallocs,
        "frees": recorded.frees,
        "refused": recorded.refused,
        "peak_used_bytes": recorded.peak_used,
        "peak_reserved_bytes": recorded.peak_reserved,
        "limit_bytes": recorded.config.limit.0,
        "threshold_bytes": recorded.config.threshold.0,
        "switches": recorded.config.reuse.bits(),
        "waits_inserted": recorded.waits_inserted,
        "granules_created": recorded.created,
        "granules_mapped": recorded.mapped,
        "reuse": reuse,
    })
}
