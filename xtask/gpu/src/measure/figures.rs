//! What was measured, for people and for scripts.

use serde_json::{Value, json};
use std::fmt::Write;

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Row {
    /// Nanoseconds of the host's time for a free and a malloc, each the median of the rounds; and the vendor's with the
    /// median of the rounds' ratios.
    Time { name: String, weir: f64, cuda: Option<(f64, f64)> },
    /// The most bytes that the program had live, and that the pools held.
    Memory { name: String, live: u64, weir: u64, cuda: Option<u64> },
}

/// All measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(super) rows: Vec<Row>,
    /// Why there is nothing of the vendor's.
    pub(super) left_out: Option<String>,
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

impl Figures {
    /// A table; nothing where nothing was measured.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        if self.rows.is_empty() {
            return text;
        }
        let name = |row: &Row| match row {
            Row::Time { name, .. } | Row::Memory { name, .. } => name.chars().count(),
        };
        let width = self.rows.iter().map(name).max().unwrap_or(0).max(32);
        let mut line = |cells: [&str; 5]| {
            let [name, live, weir, cuda, ratio] = cells;
            // Writing into a string does not fail.
            let _ = writeln!(text, "{name:<width$} {live:>9} {weir:>9} {cuda:>15} {ratio:>6}");
        };
        line(["host time of a pair in ns, medians", "", "weir", "cudaMallocAsync", "ratio"]);
        for row in &self.rows {
            if let Row::Time { name, weir, cuda } = row {
                let shown = cuda.map(|(cuda, ratio)| (format!("{cuda:.0}"), format!("{ratio:.2}"))).unwrap_or_default();
                line([name, "", &format!("{weir:.0}"), &shown.0, &shown.1]);
            }
        }
        line(["peak of reserved memory in MiB", "live", "weir", "cudaMallocAsync", "ratio"]);
        for row in &self.rows {
            if let Row::Memory { name, live, weir, cuda } = row {
                let ratio = |cuda: u64| format!("{:.2}", *weir as f64 / cuda as f64);
                let shown = cuda.map(|cuda| (mebibytes(cuda), ratio(cuda))).unwrap_or_default();
                line([name, &mebibytes(*live), &mebibytes(*weir), &shown.0, &shown.1]);
            }
        }
        if let Some(reason) = &self.left_out {
            let _ = writeln!(text, "left out: cudaMallocAsync ({reason})");
        }
        text
    }

    /// One object a row, and why there is nothing of the vendor's.
    pub(crate) fn json(&self) -> Value {
        let row = |row: &Row| match row {
            Row::Time { name, weir, cuda } => json!({
                "name": name,
                "unit": "ns",
                "weir": weir,
                "cuda_malloc_async": cuda.map(|(cuda, _)| cuda),
                "ratio": cuda.map(|(_, ratio)| ratio),
            }),
            Row::Memory { name, live, weir, cuda } => json!({
                "name": name,
                "unit": "bytes",
                "live": live,
                "weir": weir,
                "cuda_malloc_async": cuda,
                "ratio": cuda.map(|cuda| *weir as f64 / cuda as f64),
            }),
        };
        json!({ "rows": self.rows.iter().map(row).collect::<Vec<_>>(), "left_out": self.left_out })
    }
}
