//! What long work shows on a terminal, and what stops it there.

use crate::output;
use crate::progress::{Progress, Seen};
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work that is over sooner is not told of on a terminal.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two lines where each stays.
const SELDOM: Duration = Duration::from_secs(1);

/// When to show how far long work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Where standard error is a terminal: in one line there, which is gone when the work is over.
    #[default]
    Terminal,
    /// Elsewhere, too: a line at the first look, and one each second.
    Always,
    /// Never.
    Never,
}

impl When {
    /// All of them, by the words that choose them.
    pub const ALL: [(&str, Self); 3] = [("auto", Self::Terminal), ("always", Self::Always), ("never", Self::Never)];
}

/// Whether a line stands on the terminal that is to go.
static SHOWN: Mutex<bool> = Mutex::new(false);

/// Shows how far the work on this handle is, on the standard error stream, from now on.
pub fn show(progress: &Progress, when: When) {
    let terminal = stderr().is_terminal();
    if when == When::Never || (when == When::Terminal && !terminal) {
        return;
    }
    let progress = progress.clone();
    // Without a thread nothing is shown; the work is done all the same.
    let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || watch(&progress, terminal));
}

fn watch(progress: &Progress, terminal: bool) {
    let mut last: Option<Instant> = None;
    let patience = if terminal { PATIENCE } else { Duration::ZERO };
    loop {
        std::thread::sleep(PAUSE);
        match (line(&progress.seen(), patience), terminal) {
            (Some(line), true) => redraw(&line),
            (None, true) => clear(),
            (Some(line), false) if last.is_none_or(|last| last.elapsed() >= SELDOM) => {
                last = Some(Instant::now());
                let _ = writeln!(stderr(), "{line}");
            }
            _ => {}
        }
    }
}

/// All tasks in one line, once one of them takes so long.
fn line(seen: &[Seen], patience: Duration) -> Option<String> {
    let long = seen.iter().any(|seen| seen.elapsed >= patience);
    long.then(|| seen.iter().map(Seen::words).collect::<Vec<_>>().join("; "))
}

fn redraw(line: &str) {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *shown = true;
    let _ = write!(stderr(), "\r\x1b[K{line}");
}

/// Takes the line away, before anything else is said.
pub fn clear() {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *shown) {
        let _ = write!(stderr(), "\r\x1b[K");
    }
}

/// The first signal only asks to stop.
static SOFTLY: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// What has no end of its own is to be asked to stop first, so that it can sum up; a second Ctrl-C ends it. Where
/// [`stop_cleanly`] does nothing, the first one does.
pub fn stop_softly() {
    SOFTLY.store(true, Ordering::Relaxed);
}

/// Whether it was asked to stop.
#[must_use]
pub fn is_asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From now on Ctrl-C, and being asked to end, take half-written files away first; then the process ends by that signal, as
/// it would have. A signal that the process was begun to ignore, as a shell's background jobs are, it goes on to ignore.
#[cfg(unix)]
pub fn stop_cleanly() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let heard = [SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(&status, *signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(heard) else { return };
    let wait = move || {
        for signal in signals.forever() {
            if SOFTLY.load(Ordering::Relaxed) && !ASKED.swap(true, Ordering::Relaxed) {
                continue;
            }
            output::abandon();
            clear();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Whether a process of this state, as Linux tells it, ignores the signal.
#[cfg(unix)]
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// Ctrl-C ends the process at once; a file that was half written stays, under its second name.
#[cfg(not(unix))]
pub fn stop_cleanly() {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Unit;

    #[cfg(unix)]
    #[test]
    fn ignored_signals_are_known() {
        let status = "Name:\tweir\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001002\n";
        assert_eq!([1, 2, 13, 15].map(|signal| is_ignored(status, signal)), [false, true, true, false]);
        assert!(!is_ignored("", 2), "not told");
    }

    #[test]
    fn a_line_says_how_far_each_task_is_once_one_takes_long() {
        let seen = |what, seconds| Seen {
            what,
            unit: Unit::Records,
            done: 3,
            total: Some(4),
            elapsed: Duration::from_millis(seconds),
        };
        assert_eq!(line(&[], PATIENCE), None);
        assert_eq!(line(&[seen("reading", 499)], PATIENCE), None);
        let both = line(&[seen("reading", 500), seen("checking", 100)], PATIENCE);
        assert_eq!(both.as_deref(), Some("reading 75 %, 6 records/s; checking 75 %, 30 records/s"));
    }
}
