//! What a replay measured, as a table and as JSON.

use crate::size;
use serde_json::{Value, json};
use std::fmt::Write;
use weir::trace::Source;
use weir_viz::import::{Aside, Spot};

/// Numbers of driver calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) create: u64,
    pub(crate) destroy: u64,
    pub(crate) map: u64,
    pub(crate) unmap: u64,
    /// Markers and events laid.
    pub(crate) mark: u64,
    pub(crate) query: u64,
    pub(crate) wait: u64,
    pub(crate) synchronise: u64,
}

impl Calls {
    /// All of them.
    pub(crate) fn total(&self) -> u64 {
        let memory = self.create + self.destroy + self.map + self.unmap;
        memory + self.mark + self.query + self.wait + self.synchronise
    }

    /// Those that map and unmap.
    pub(crate) const fn maps(&self) -> u64 {
        self.map + self.unmap
    }
}

/// Everything that is counted from some row on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) events: u64,
    pub(crate) seconds: f64,
    pub(crate) calls: u64,
    /// Maps and unmaps.
    pub(crate) maps: u64,
    pub(crate) waits: u64,
}

impl Measured {
    pub(crate) fn per_thousand(&self, count: u64) -> f64 {
        if self.events == 0 { 0.0 } else { count as f64 * 1_000.0 / self.events as f64 }
    }
}

/// The outcome of a replay. Counts and peaks cover the whole log; driver calls also what was done after it, to free what
/// was left and to destroy everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) driver: &'static str,
    pub(crate) policy: String,
    /// Rows of the log, and what was added to them.
    pub(crate) events: u64,
    /// Allocations that were made.
    pub(crate) mallocs: u64,
    pub(crate) frees: u64,
    /// Allocations that were refused.
    pub(crate) refused: u64,
    /// The size of the device, where nothing else limited the pool.
    pub(crate) device: Option<u64>,
    /// Frees of what was never allocated: refused, of zero bytes, or null.
    pub(crate) skipped_frees: u64,
    /// What rows said that was not replayed.
    pub(crate) aside: Aside,
    /// Blocks that the log left live.
    pub(crate) freed_at_end: u64,
    /// Blocks whose free the log does not order behind their allocation: the device gets that order.
    pub(crate) assumed: u64,
    pub(crate) peak_used: u64,
    pub(crate) peak_requested: u64,
    pub(crate) peak_reserved: u64,
    pub(crate) granule: u64,
    pub(crate) waits_inserted: u64,
    pub(crate) bytes_checked: u64,
    /// By [`Source`], in its order.
    pub(crate) reuse: [u64; Source::ALL.len()],
    pub(crate) calls: Calls,
    pub(crate) lost_records: u64,
    /// From the last mark on.
    pub(crate) measured: Measured,
    /// From the middle row on, when the first half has warmed the pool up, whatever marks there are.
    pub(crate) second_half: Measured,
    /// What is to be said of the log itself.
    pub(crate) from_log: Vec<String>,
}

impl Summary {
    /// One object on one line. Fields are added, never renamed.
    pub(crate) fn json(&self) -> Value {
        let reuse = Source::ALL.iter().zip(self.reuse);
        let reuse: serde_json::Map<_, _> =
            reuse.map(|(source, count)| (source.name().to_owned(), json!(count))).collect();
        let Calls { create, destroy, map, unmap, mark, query, wait, synchronise } = self.calls;
        let (measured, second_half) = (&self.measured, &self.second_half);
        json!({
            "driver": self.driver,
            "policy": self.policy,
            "events": self.events,
            "mallocs": self.mallocs,
            "frees": self.frees,
            "refused": self.refused,
            "zero_sized": self.aside.zero_sized,
            "failed_in_log": self.aside.failures,
            "skipped_frees": self.skipped_frees,
            "missized_frees": self.aside.missized,
            "freed_at_end": self.freed_at_end,
            "assumed_order": self.assumed,
            "peak_used_bytes": self.peak_used,
            "peak_requested_bytes": self.peak_requested,
            "peak_reserved_bytes": self.peak_reserved,
            "granule_bytes": self.granule,
            "waits_inserted": self.waits_inserted,
            "bytes_checked": self.bytes_checked,
            "lost_records": self.lost_records,
            "reuse": reuse,
            "driver_calls": {
                "create": create, "destroy": destroy, "map": map, "unmap": unmap,
                "mark": mark, "query": query, "wait": wait, "synchronise": synchronise,
            },
            "measured_events": measured.events,
            "seconds": measured.seconds,
            "driver_calls_per_1000": measured.per_thousand(measured.calls),
            "map_unmap_per_1000": measured.per_thousand(measured.maps),
            "waits_inserted_per_1000": measured.per_thousand(measured.waits),
            "second_half_events": second_half.events,
            "second_half_map_unmap_per_1000": second_half.per_thousand(second_half.maps),
        })
    }

    /// Reserved bytes for each used one, at the peaks.
    pub(crate) fn ratio(&self) -> f64 {
        if self.peak_used == 0 { 0.0 } else { self.peak_reserved as f64 / self.peak_used as f64 }
    }

    /// Lines for people: a name and a value each.
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let calls = &self.calls;
        let (measured, second_half) = (&self.measured, &self.second_half);
        let mut lines = vec![
            row("events", self.events),
            row("mallocs / frees", format!("{} / {}", self.mallocs, self.frees)),
            row("refused", self.refused),
            row("peak used", bytes(self.peak_used)),
            row("peak reserved", bytes(self.peak_reserved)),
            row("reserved / used", format!("{:.3}", self.ratio())),
        ];
        for (source, count) in Source::ALL.iter().zip(self.reuse) {
            lines.push(row(&format!("reuse: {}", source.name().replace('_', " ")), count));
        }
        lines.extend([
            row("waits inserted", self.waits_inserted),
            row("driver calls", calls.total()),
            row("  create / destroy", format!("{} / {}", calls.create, calls.destroy)),
            row("  map / unmap", format!("{} / {}", calls.map, calls.unmap)),
            row("  mark / query / wait", format!("{} / {} / {}", calls.mark, calls.query, calls.wait)),
            row("  synchronise", calls.synchronise),
            row("driver calls per 1000", format!("{:.1}", measured.per_thousand(measured.calls))),
            row("  map and unmap", format!("{:.1}", measured.per_thousand(measured.maps))),
            row("  the same, second half", format!("{:.1}", second_half.per_thousand(second_half.maps))),
            row("bytes checked", bytes(self.bytes_checked)),
            row("time", format!("{:.2} s", measured.seconds)),
        ]);
        lines
    }

    /// What a reader should know beside the numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.from_log.clone();
        notes.extend(self.left_out());
        if self.freed_at_end > 0 {
            notes.push(format!("{} blocks were live at the end of the log and freed then", self.freed_at_end));
        }
        if self.assumed > 0 {
            notes.push(format!(
                "{} blocks were freed on a stream that the log does not order behind their allocation; \
                 the device was given that order, the pool was not told",
                self.assumed
            ));
        }
        if self.lost_records > 0 {
            notes.push(format!("{} records of the log were lost", self.lost_records));
        }
        notes
    }

    /// Rows that did not do what they say.
    fn left_out(&self) -> Vec<String> {
        let Aside { failures, zero_sized, missized, missized_at, .. } = self.aside;
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(format!("{count} {text}"));
            }
        };
        if let Some(device) = self.device {
            let text =
                format!("allocations did not fit in the device, which has {}; no limit was given", bytes(device));
            note(self.refused, &text);
        }
        note(zero_sized, "allocations of zero bytes were left out; they count neither as mallocs nor as refused");
        note(failures, "allocations had failed in the logged program and were left out");
        note(self.skipped_frees, "frees were skipped, of what was not allocated: refused, zero bytes or null");
        let text = format!(
            "frees name another size than their allocation, whose size holds; the first in {}",
            missized_at.unwrap_or(Spot::File)
        );
        note(missized, &text);
        notes
    }
}

fn row(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// `681.2 MiB (714256192)`.
fn bytes(count: u64) -> String {
    format!("{} ({count})", size::shown(count))
}

/// Rows of one name and one or more values under a heading, aligned.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let first = heading.iter().map(|cell| (*cell).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&first).chain(rows).collect();
    let columns = all.iter().map(|row| row.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in all {
        let cells = row.iter().zip(&widths).enumerate();
        let line: Vec<String> = cells
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.join("   ").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_keys_that_scripts_rely_on() {
        let summary = Summary { reuse: [1, 2, 3, 4, 5, 6], ..Summary::default() };
        let value = summary.json();
        for key in [
            "events",
            "mallocs",
            "frees",
            "refused",
            "peak_used_bytes",
            "peak_requested_bytes",
            "peak_reserved_bytes",
            "granule_bytes",
            "waits_inserted",
            "bytes_checked",
        ] {
            assert!(value[key].is_u64(), "{key}");
        }
        for (place, key) in ["same_stream", "settled", "event", "opportunistic", "internal", "grow"].iter().enumerate()
        {
            assert_eq!(value["reuse"][key], place + 1, "{key}");
        }
        for key in ["create", "destroy", "map", "unmap", "mark", "query", "wait"] {
            assert!(value["driver_calls"][key].is_u64(), "{key}");
        }
        assert!(!value.to_string().contains('\n'));
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["a".into(), "10".into()], vec!["long".into(), "7".into()]];
        assert_eq!(table(&["", "x"], &rows), "        x\na      10\nlong    7\n");
    }
}
