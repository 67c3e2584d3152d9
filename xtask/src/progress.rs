//! How far long work is, on a terminal. It is stopped like any command, with Ctrl-C: outputs are written at its end.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use weir_viz::decode::{self, Progress};

/// Work that is over sooner is not told of.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two lines.
const PAUSE: Duration = Duration::from_millis(100);

/// What is shown.
#[derive(Debug)]
struct Shown {
    begun: Instant,
    last: Option<Instant>,
    /// What is being done, each with how far it is.
    works: Vec<Progress>,
}

static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// Shows how far reading is, where standard error is a terminal.
pub(crate) fn show() {
    if stderr().is_terminal() {
        decode::tell_progress(listen);
    }
}

fn listen(progress: Progress) {
    let Ok(mut shown) = SHOWN.lock() else { return };
    let now = Instant::now();
    let shown = shown.get_or_insert_with(|| Shown { begun: now, last: None, works: Vec::new() });
    match shown.works.iter_mut().find(|work| work.what == progress.what) {
        Some(work) => *work = progress,
        None => shown.works.push(progress),
    }
    let over = shown.works.iter().all(|work| Some(work.done) == work.total);
    let early = now.duration_since(shown.begun) < PATIENCE;
    let soon = shown.last.is_some_and(|last| now.duration_since(last) < PAUSE);
    if over && shown.last.take().is_some() {
        crate::say::aside(format_args!("\r\x1b[K"));
    } else if !over && !early && !soon {
        shown.last = Some(now);
        crate::say::aside(format_args!("\r\x1b[K{}", line(&shown.works)));
    }
}

/// All works in one line.
fn line(works: &[Progress]) -> String {
    let one = |work: &Progress| match work.total {
        Some(total) => format!("{} {} %", work.what, work.done.saturating_mul(100) / total.max(1)),
        None => format!("{} {} records", work.what, work.done),
    };
    works.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_each_work_is() {
        let works = [
            Progress { what: "reading", done: 3, total: Some(4) },
            Progress { what: "checking", done: 1024, total: None },
            Progress { what: "nothing", done: 0, total: Some(0) },
        ];
        assert_eq!(line(&works), "reading 75 %, checking 1024 records, nothing 0 %");
    }
}
