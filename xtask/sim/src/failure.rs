//! What a run can find.

use std::fmt;

/// Which of the judges spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An invariant of the pool's own does not hold.
    Invariant,
    /// The simulated device saw a misuse: two unordered accesses to the same bytes, an unmap under work, a double map.
    Device,
    /// The oracle: memory was given out, or released, that nothing orders before.
    Unsafe,
    /// The oracle: memory was there, and the pool refused, grew, waited or kept it.
    Missed,
    /// The oracle: a block was given out, and another one that costs nothing either fits better or comes first.
    Fit,
    /// The oracle: used and reserved bytes are not what is live and what exists.
    Account,
    /// A call was refused that no rule refuses.
    Refusal,
    /// Something was left behind at the end.
    Leak,
    /// The code under test panicked.
    Panic,
}

/// The first thing that went wrong in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who found it.
    pub kind: Kind,
    /// What it is.
    pub text: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invariant => "an invariant of the pool does not hold",
            Self::Device => "the simulated device was misused",
            Self::Unsafe => "memory in use was given out or released",
            Self::Missed => "memory was there",
            Self::Fit => "another block should have been taken",
            Self::Account => "the pool's sums are wrong",
            Self::Refusal => "a call was refused without a reason",
            Self::Leak => "something was left behind",
            Self::Panic => "panic",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}
