//! How far long work is, and whether it is to stop: what a terminal or a window shows beside it.
//!
//! Work begins tasks on a handle and says now and then how far they are; whoever waits looks at the handle when it likes,
//! from any thread. Nobody is called back.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A handle on long work. Clones are the same handle; one that nobody looks at costs next to nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    tasks: Mutex<Vec<Arc<Counts>>>,
}

/// What a task counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Records of a log.
    Records,
    /// Bytes of a file.
    Bytes,
    /// Calls of a program.
    Calls,
    /// Nothing: it only takes long.
    Nothing,
}

#[derive(Debug)]
struct Counts {
    what: &'static str,
    unit: Unit,
    begun: Instant,
    done: AtomicU64,
    total: Option<u64>,
}

/// How far one task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What is being done, such as `reading`.
    pub what: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How much is done.
    pub done: u64,
    /// How much there is, where that is known.
    pub total: Option<u64>,
    /// For how long it is being done.
    pub elapsed: Duration,
}

/// The work was stopped by whoever waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    // Not `Interrupted`, after which writers try again.
    fn from(stopped: Stopped) -> Self {
        Self::other(stopped)
    }
}

impl Progress {
    /// Begins a task: it is seen until the answer is dropped.
    #[must_use]
    pub fn begin(&self, what: &'static str, unit: Unit, total: Option<u64>) -> Task {
        let counts = Arc::new(Counts { what, unit, begun: Instant::now(), done: AtomicU64::new(0), total });
        self.tasks().push(Arc::clone(&counts));
        Task { progress: self.clone(), counts }
    }

    /// The tasks that were begun and are not over, the oldest first.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.tasks().iter().map(|counts| counts.seen()).collect()
    }

    /// Asks the work to stop. It does at its next look, and answers with an error that says so.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    ///
    /// # Errors
    /// It was.
    pub fn look(&self) -> Result<(), Stopped> {
        if self.0.stopped.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Arc<Counts>>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn seen(&self) -> Seen {
        let done = self.done.load(Ordering::Relaxed);
        Seen { what: self.what, unit: self.unit, done, total: self.total, elapsed: self.begun.elapsed() }
    }
}

/// Work of one kind that is going on.
#[derive(Debug)]
pub struct Task {
    progress: Progress,
    counts: Arc<Counts>,
}

impl Task {
    /// So much is done.
    ///
    /// # Errors
    /// The work is to stop.
    pub fn at(&self, done: u64) -> Result<(), Stopped> {
        self.counts.done.store(done, Ordering::Relaxed);
        self.progress.look()
    }

    /// So much more is done.
    ///
    /// # Errors
    /// The work is to stop.
    pub fn more(&self, by: u64) -> Result<(), Stopped> {
        self.counts.done.fetch_add(by, Ordering::Relaxed);
        self.progress.look()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.progress.tasks().retain(|counts| !Arc::ptr_eq(counts, &self.counts));
    }
}

/// A reader or writer whose bytes count as a task's.
#[derive(Debug)]
pub struct Counted<T> {
    inner: T,
    task: Task,
}

impl<T> Counted<T> {
    /// Counts what goes through `inner`.
    pub const fn new(inner: T, task: Task) -> Self {
        Self { inner, task }
    }
}

impl<R: io::Read> io::Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.task.more(read as u64)?;
        Ok(read)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.task.more(written as u64)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Seen {
    /// In a few words, for people: `reading 42 %, 3.1 M records/s`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = self.what.to_owned();
        if self.unit == Unit::Nothing || self.done == 0 {
            return words;
        }
        match self.total {
            Some(total) => words += &format!(" {} %", self.done.min(total).saturating_mul(100) / total.max(1)),
            None => words += &format!(" {}", self.unit.amount(self.done as f64)),
        }
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            words += &format!(", {}/s", self.unit.amount(self.done as f64 / seconds));
        }
        words
    }
}

impl Unit {
    /// An amount in three digits or so: `950 B`, `3.1 M records`.
    fn amount(self, count: f64) -> String {
        const LETTERS: [&str; 4] = ["", "k", "M", "G"];
        let (mut count, mut letter) = (count, 0);
        while count >= 1000.0 && letter + 1 < LETTERS.len() {
            (count, letter) = (count / 1000.0, letter + 1);
        }
        let (digits, letter) = (usize::from(letter > 0 && count < 99.95), LETTERS[letter]);
        let name = match self {
            Self::Bytes => return format!("{count:.digits$} {letter}B"),
            Self::Records => "records",
            Self::Calls => "calls",
            Self::Nothing => "",
        };
        let space = if letter.is_empty() { "" } else { " " };
        format!("{count:.digits$}{space}{letter} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_seen_while_they_last() {
        let progress = Progress::default();
        let (one, two) =
            (progress.begin("reading", Unit::Records, Some(4)), progress.begin("checking", Unit::Records, None));
        assert_eq!((one.at(3), two.more(2), two.more(5)), (Ok(()), Ok(()), Ok(())));
        let seen: Vec<_> = progress.clone().seen().iter().map(|seen| (seen.what, seen.done, seen.total)).collect();
        assert_eq!(seen, [("reading", 3, Some(4)), ("checking", 7, None)]);
        drop(one);
        assert_eq!(progress.seen().len(), 1);
        drop(two);
        assert_eq!(progress.seen(), []);
    }

    #[test]
    fn whoever_waits_can_stop_it() {
        let progress = Progress::default();
        let task = progress.begin("writing", Unit::Bytes, None);
        let mut out = Counted::new(Vec::new(), task);
        out.write_all(b"1234").expect("nobody stops it");
        assert_eq!(progress.seen()[0].done, 4);
        progress.clone().stop();
        assert_eq!(progress.look(), Err(Stopped));
        let error = out.write_all(b"5678").expect_err("it is stopped");
        assert!(error.get_ref().is_some_and(|inner| inner.is::<Stopped>()), "{error:?}");
    }

    #[test]
    fn words_say_the_part_and_the_rate() {
        let seen =
            |unit, done, total| Seen { what: "doing", unit, done, total, elapsed: Duration::from_secs(2) }.words();
        assert_eq!(seen(Unit::Records, 6_200_000, Some(12_400_000)), "doing 50 %, 3.1 M records/s");
        assert_eq!(seen(Unit::Bytes, 1_900, None), "doing 1.9 kB, 950 B/s");
        assert_eq!(seen(Unit::Calls, 500_000, None), "doing 500 k calls, 250 k calls/s");
        assert_eq!(seen(Unit::Calls, 7, None), "doing 7 calls, 4 calls/s");
        assert_eq!(seen(Unit::Records, 0, Some(0)), "doing");
        assert_eq!(seen(Unit::Nothing, 7, None), "doing");
    }
}
