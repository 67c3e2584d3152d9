//! The operations of a program.

use std::fmt;

/// Streams of a program.
pub const STREAMS: usize = 3;
/// Events of a program.
pub const EVENTS: usize = 2;
/// Blocks that are live at one time.
pub const BLOCKS: usize = 2;
/// Streams that a program can create in place of others.
pub const RENEWALS: usize = 2;
/// Driver calls that can fail in a program.
pub const FAULTS: u32 = 2;
/// The longest program.
pub const LONGEST: usize = 12;

/// One operation. Streams, events and blocks by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Into the first block that is not live, so many granules; the stream writes all of it.
    Malloc {
        /// 1 or 2.
        granules: u8,
        /// The stream.
        stream: u8,
    },
    /// Frees a block.
    Free {
        /// The block.
        block: u8,
        /// The stream.
        stream: u8,
    },
    /// A stream that did not allocate the block reads it and says so.
    Use {
        /// The block.
        block: u8,
        /// The stream.
        stream: u8,
    },
    /// Records an event.
    Record {
        /// The event.
        event: u8,
        /// The stream.
        stream: u8,
    },
    /// Waits for an event.
    Wait {
        /// The stream.
        stream: u8,
        /// The event.
        event: u8,
    },
    /// Queries an event and finds it complete. A query that finds it pending changes nothing.
    Query {
        /// The event.
        event: u8,
    },
    /// Synchronises a stream.
    SyncStream {
        /// The stream.
        stream: u8,
    },
    /// Synchronises an event.
    SyncEvent {
        /// The event.
        event: u8,
    },
    /// Synchronises the device.
    SyncDevice,
    /// Destroys a stream.
    DestroyStream {
        /// The stream.
        stream: u8,
    },
    /// Creates a stream in the place of one that was destroyed.
    CreateStream {
        /// The stream.
        stream: u8,
    },
}

/// An operation, and what the driver does in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// What it answers to the pool's queries: the `n`-th is complete if bit `n` is set.
    pub answers: u8,
    /// Which calls fail: the `n`-th if bit `n` is set.
    pub faults: u32,
}

/// Steps in a row.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    steps: [Step; LONGEST],
    length: u8,
}

impl Program {
    /// No steps.
    pub const EMPTY: Self = Self { steps: [Step { op: Op::SyncDevice, answers: 0, faults: 0 }; LONGEST], length: 0 };

    /// Its steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps[..usize::from(self.length)]
    }

    /// The program with one more step.
    #[must_use]
    pub fn with(mut self, step: Step) -> Self {
        self.steps[usize::from(self.length)] = step;
        self.length += 1;
        self
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Malloc { granules, stream } => write!(f, "malloc {granules} granules on s{stream}"),
            Self::Free { block, stream } => write!(f, "free b{block} on s{stream}"),
            Self::Use { block, stream } => write!(f, "use b{block} on s{stream}"),
            Self::Record { event, stream } => write!(f, "record e{event} on s{stream}"),
            Self::Wait { stream, event } => write!(f, "s{stream} waits for e{event}"),
            Self::Query { event } => write!(f, "query e{event}: complete"),
            Self::SyncStream { stream } => write!(f, "synchronise s{stream}"),
            Self::SyncEvent { event } => write!(f, "synchronise e{event}"),
            Self::SyncDevice => f.write_str("synchronise the device"),
            Self::DestroyStream { stream } => write!(f, "destroy s{stream}"),
            Self::CreateStream { stream } => write!(f, "create s{stream}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.steps().iter().enumerate() {
            let Step { op, answers, faults } = step;
            write!(f, "{}{op}", if n == 0 { "" } else { "; " })?;
            if *answers != 0 {
                write!(f, " (the pool's queries: complete where {answers:b} has a 1, from the right)")?;
            }
            if *faults != 0 {
                write!(f, " (the driver's calls: failing where {faults:b} has a 1, from the right)")?;
            }
        }
        Ok(())
    }
}
