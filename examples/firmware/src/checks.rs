//! Counts what holds and what does not.

use core::fmt::{Arguments, Write};

/// The checks of a run.
#[derive(Debug)]
pub struct Checks<W> {
    out: W,
    made: u32,
    failed: u32,
}

impl<W: Write> Checks<W> {
    /// None so far. What fails is written to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, made: 0, failed: 0 }
    }

    /// Counts one, and says what it was where it does not hold.
    pub fn holds(&mut self, holds: bool, what: Arguments<'_>) {
        self.made += 1;
        if !holds {
            self.failed += 1;
            self.say(format_args!("failed: {what}"));
        }
    }

    /// Two values that must be the same.
    pub fn same<T: PartialEq + core::fmt::Debug>(&mut self, found: T, expected: T, what: &str) {
        self.holds(found == expected, format_args!("{what}: found {found:?}, expected {expected:?}"));
    }

    /// The value of a call that must succeed.
    pub fn done<T, E: core::fmt::Debug>(&mut self, outcome: Result<T, E>, what: &str) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.holds(true, format_args!(""));
                Some(value)
            }
            Err(error) => {
                self.holds(false, format_args!("{what}: {error:?}"));
                None
            }
        }
    }

    /// A line for people.
    pub fn say(&mut self, line: Arguments<'_>) {
        // A serial line has nobody to tell that it is gone.
        let _ = writeln!(self.out, "{line}");
    }

    /// How many were made, and how many failed.
    #[must_use]
    pub const fn counts(&self) -> (u32, u32) {
        (self.made, self.failed)
    }

    /// The last line of a run; whether all hold.
    #[must_use]
    pub fn end(&mut self) -> bool {
        let (made, failed) = self.counts();
        self.say(format_args!("weir: {made} checks, {failed} failed"));
        made > 0 && failed == 0
    }
}
