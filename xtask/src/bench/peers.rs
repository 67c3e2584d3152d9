//! weir beside other allocators.

use super::program::Program;
use crate::failure::Failure;
use crate::project;
use crate::replay::table;
use std::path::{Path, PathBuf};

/// The allocators, weir first: times are given as ratios to its.
const WHO: [&str; 6] = ["weir", "offset-allocator", "rlsf", "talc", "buddy_system_allocator", "ordered-set"];

const HEADING: [&str; 5] = ["", "instructions", "ns", "time / weir", "held / live"];

const NOTES: &str = "\
Each row: a pair of malloc and free; the median of rounds taken by turns; what was held at the peak for each live byte.
weir is exact and follows streams; on logs its figures include records, waits and growth. The others take all streams for
one, and would hand out memory in use. rlsf and talc write headers into the memory: their sizes are divided by 64 in
loops and by as much as it takes to fit in logs, and their times include the system's backing of pages. offset-allocator,
buddy_system_allocator (its frames) and the ordered sets keep their books beside it. Counts are of release builds.
";

/// The logs of the checkout.
fn logs() -> Result<Vec<PathBuf>, Failure> {
    let folder = project::root().join("examples/traces");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure::file("read", &folder, error))?;
    let mut logs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| is_log(p)).collect();
    logs.sort();
    Ok(logs)
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv")
}

/// One table of all: the same block again and again, churn, the checkout's logs, and these.
pub(crate) fn compare(program: &Program, more: &[PathBuf]) -> Result<String, Failure> {
    let mut rows = Vec::new();
    let logs = logs()?.into_iter().chain(more.iter().cloned());
    let logs = logs.map(|log| log.canonicalize().map_err(|error| Failure::file("read", &log, error)));
    let logs: Vec<PathBuf> = logs.collect::<Result<_, _>>()?;
    let logs = logs.iter().map(|log| log.display().to_string());
    let loops = ["loop", "churn_1k", "churn_16k"].map(str::to_owned);
    for what in loops.into_iter().chain(logs) {
        let name = Path::new(&what).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tell!("comparing: {name}");
        let words: Vec<&str> = ["time", &what].into_iter().chain(WHO).collect();
        rows.push(vec![name]);
        for line in program.lines(&words)? {
            let timed = Timed::read(&line).ok_or_else(|| Failure::Failed(format!("cannot understand `{line}`")))?;
            let counted = match timed {
                Timed::Done { name, .. } => Some(program.each(&["count", name, &what])?),
                Timed::Not { .. } => None,
            };
            rows.push(timed.row(counted));
        }
    }
    Ok(table(&HEADING, &rows) + NOTES)
}

/// What the clock says of one allocator.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Timed<'a> {
    Done { name: &'a str, nanos: f64, ratio: f64, held: Option<f64> },
    Not { name: &'a str, reason: &'a str },
}

impl<'a> Timed<'a> {
    /// `name nanoseconds ratio held`, or `name - reason`.
    fn read(line: &'a str) -> Option<Self> {
        let (name, rest) = line.split_once(' ')?;
        if let Some(reason) = rest.strip_prefix("- ") {
            return Some(Self::Not { name, reason });
        }
        let mut words = rest.split(' ');
        let (nanos, ratio) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let held = match words.next()? {
            "-" => None,
            held => Some(held.parse().ok()?),
        };
        Some(Self::Done { name, nanos, ratio, held })
    }

    fn row(&self, counted: Option<f64>) -> Vec<String> {
        match *self {
            Self::Not { name, reason } => vec![format!("  {name}: {reason}")],
            Self::Done { name, nanos, ratio, held } => vec![
                format!("  {name}"),
                counted.map_or("-".into(), |counted| format!("{counted:.0}")),
                format!("{nanos:.0}"),
                format!("{ratio:.2}"),
                held.map_or("-".into(), |held| format!("{held:.3}")),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows() {
        let line = "talc 43.50 0.0232 1.0862";
        let timed = Timed::read(line).expect("is a line");
        assert_eq!(timed.row(Some(247.9)), ["  talc", "248", "44", "0.02", "1.086"]);
        let timed = Timed::read("weir 1.00 1.0000 -").expect("is a line");
        assert_eq!(timed.row(None), ["  weir", "-", "1", "1.00", "-"]);
        let timed = Timed::read("rlsf - the system gives no 9 MiB").expect("is a line");
        assert_eq!(timed.row(None), ["  rlsf: the system gives no 9 MiB"]);
        assert_eq!(Timed::read("rlsf fast"), None);
    }

    #[test]
    fn the_checkout_has_logs() {
        assert!(logs().expect("is there").len() >= 3);
    }
}
