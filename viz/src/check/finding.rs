//! What is reported: kinds of faults, the operations they are about, and what is missing between those.

use crate::model::{Fact, Kind};
use weir::id::{AllocId, EventId, PoolId, StreamId};
use weir::trace::Verb;
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A stream uses a block without coming after its allocation.
    UseBeforeMalloc,
    /// A block is used after it was freed.
    UseAfterFree,
    /// A block is freed on a stream that does not come after its allocation.
    FreeBeforeMalloc,
    /// A free does not come after a use on another stream, of which the pool did not know in time.
    FreeBeforeUse,
    /// A block is freed twice.
    DoubleFree,
    /// A block is live when its pool is destroyed, or when the program is recorded as ended.
    Leak,
    /// Memory is given to a stream that does not come after the free.
    ReuseBeforeFree,
    /// Memory is given to a stream that does not come after another stream's use.
    ReuseBeforeUse,
    /// Memory is given away while it is live.
    GivenTwice,
    /// A wait that the pool inserted is for a marker that stands before what it is to wait for.
    WaitTooShort,
    /// Memory of a live block is unmapped.
    UnmappedInUse,
    /// Memory is unmapped while work on it may be unfinished.
    UnmappedPending,
    /// Memory is mapped where some is mapped already.
    MappedTwice,
    /// Addresses are given away with no memory behind them.
    NotMapped,
    /// A pointer that is no block's is freed or used.
    NotABlock,
    /// A pointer into a block, not to its start, is freed or used.
    InsideBlock,
    /// A block is freed to a pool that it is not from.
    OtherPool,
    /// A block is freed or used after its pool was destroyed.
    PoolGone,
    /// A call names a stream, event or pool that was destroyed or never was.
    StaleId,
    /// The log contradicts itself: what a record names is not there, or what it makes is there already.
    NotThere,
    /// The log contradicts itself: two calls have one position on a stream, or one is named that no call can have yet.
    OutOfStep,
    /// The log contradicts itself: a record's figures are not what those before it come to.
    WrongFigures,
    /// Memory is unmapped where none is mapped.
    NotHeld,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 23] = [
        Self::UseBeforeMalloc,
        Self::UseAfterFree,
        Self::FreeBeforeMalloc,
        Self::FreeBeforeUse,
        Self::DoubleFree,
        Self::Leak,
        Self::ReuseBeforeFree,
        Self::ReuseBeforeUse,
        Self::GivenTwice,
        Self::WaitTooShort,
        Self::UnmappedInUse,
        Self::UnmappedPending,
        Self::MappedTwice,
        Self::NotMapped,
        Self::NotABlock,
        Self::InsideBlock,
        Self::OtherPool,
        Self::PoolGone,
        Self::StaleId,
        Self::NotThere,
        Self::OutOfStep,
        Self::WrongFigures,
        Self::NotHeld,
    ];

    /// What the log must record for this to be told.
    #[must_use]
    pub const fn rests_on(self) -> &'static [Fact] {
        match self {
            Self::UseBeforeMalloc
            | Self::FreeBeforeMalloc
            | Self::FreeBeforeUse
            | Self::ReuseBeforeFree
            | Self::ReuseBeforeUse => &[Fact::Order, Fact::Addresses],
            Self::UnmappedPending => &[Fact::Order, Fact::Reserved],
            Self::GivenTwice => &[Fact::Addresses],
            Self::UnmappedInUse | Self::MappedTwice | Self::NotMapped | Self::NotHeld => {
                &[Fact::Reserved, Fact::Addresses]
            }
            _ => &[],
        }
    }

    /// The kind's name, for scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UseBeforeMalloc => "use_before_malloc",
            Self::UseAfterFree => "use_after_free",
            Self::FreeBeforeMalloc => "free_before_malloc",
            Self::FreeBeforeUse => "free_before_use",
            Self::DoubleFree => "double_free",
            Self::Leak => "leak",
            Self::ReuseBeforeFree => "reuse_before_free",
            Self::ReuseBeforeUse => "reuse_before_use",
            Self::GivenTwice => "given_twice",
            Self::WaitTooShort => "wait_too_short",
            Self::UnmappedInUse => "unmapped_in_use",
            Self::UnmappedPending => "unmapped_pending",
            Self::MappedTwice => "mapped_twice",
            Self::NotMapped => "not_mapped",
            Self::NotABlock => "not_a_block",
            Self::InsideBlock => "inside_block",
            Self::OtherPool => "other_pool",
            Self::PoolGone => "pool_gone",
            Self::StaleId => "stale_id",
            Self::NotThere => "not_there",
            Self::OutOfStep => "out_of_step",
            Self::WrongFigures => "wrong_figures",
            Self::NotHeld => "not_held",
        }
    }

    /// The kind as a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::UseBeforeMalloc => "a stream uses a block without coming after its allocation",
            Self::UseAfterFree => "a block is used after it was freed",
            Self::FreeBeforeMalloc => "a block is freed on a stream that does not come after its allocation",
            Self::FreeBeforeUse => "a free does not come after a use on another stream",
            Self::DoubleFree => "a block is freed twice",
            Self::Leak => "a block is never freed",
            Self::ReuseBeforeFree => "memory is given to a stream that does not come after the free",
            Self::ReuseBeforeUse => "memory is given to a stream that does not come after another stream's use",
            Self::GivenTwice => "memory is given away while it is live",
            Self::WaitTooShort => "an inserted wait is for a marker that does not cover what it is to wait for",
            Self::UnmappedInUse => "memory of a live block is unmapped",
            Self::UnmappedPending => "memory is unmapped while work on it may be unfinished",
            Self::MappedTwice => "memory is mapped where some is mapped already",
            Self::NotMapped => "addresses are given away with no memory behind them",
            Self::NotABlock => "a pointer is passed that is no block's",
            Self::InsideBlock => "a pointer is passed that points into a block, not to its start",
            Self::OtherPool => "a block is freed to a pool that it is not from",
            Self::PoolGone => "a block is freed or used after its pool was destroyed",
            Self::StaleId => "a call names a stream, event or pool that was destroyed or never was",
            Self::NotThere => {
                "the log names what it does not make, or makes what is there: its records contradict each other"
            }
            Self::OutOfStep => {
                "a position on a stream is taken twice, or before its time: the log's records contradict each other"
            }
            Self::WrongFigures => "a record's figures are not what those before it come to: the log contradicts itself",
            Self::NotHeld => "memory is unmapped where none is mapped",
        }
    }
}

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Allocated.
    Malloc(AllocId),
    /// Freed.
    Free(AllocId),
    /// Used, as the program told the pool.
    Use(AllocId),
    /// Tried, and was refused.
    Refused(Verb, Option<DevicePtr>),
    /// The pool mapped memory.
    Mapped,
    /// The pool unmapped memory.
    Unmapped,
    /// The pool inserted a wait.
    WaitInserted,
    /// A marker of the pool's.
    Marker,
    /// Destroyed the pool.
    PoolDestroyed,
    /// The program's end, as a mark says.
    ProgramEnded,
    /// Another record, which says what cannot be.
    Record(Kind),
}

/// An operation, and where it stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The record's place in the log, counted from 0, definitions left out.
    pub at: u64,
    /// The record's number.
    pub record: u64,
    /// Its time.
    pub time: Nanos,
    /// What it did.
    pub what: What,
    /// Its stream, where it has one.
    pub stream: Option<StreamId>,
    /// Its position there.
    pub seq: Option<Seq>,
}

/// The memory that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its pool.
    pub pool: PoolId,
    /// From the pool's base.
    pub offset: Bytes,
    /// How much.
    pub bytes: Bytes,
}

/// The order that is missing: an event, recorded on one stream and waited for on another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The stream on which an event must be recorded ...
    pub record_on: StreamId,
    /// ... behind this position.
    pub after: Seq,
    /// The stream that must wait for it; `None`: the host must, by a synchronisation or a query that says "complete".
    pub wait_on: Option<StreamId>,
    /// The position before which it must wait, where it has one.
    pub before: Option<Seq>,
    /// What the log has that comes near.
    pub clues: Vec<Clue>,
}

/// What the log has that comes near to the order that is missing. Records are named by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The event is there: only the wait for it is missing.
    Recorded {
        /// Which record records it.
        record: u64,
        /// The event.
        event: EventId,
        /// Which of its recordings.
        number: u64,
        /// The stream it is recorded on.
        stream: StreamId,
    },
    /// There is a wait, behind what it was to hold back.
    TooLate {
        /// The wait.
        record: u64,
        /// The event.
        event: EventId,
    },
    /// There is a wait, for a recording that stands before what it was to cover.
    TooEarly {
        /// The wait.
        record: u64,
        /// The event.
        event: EventId,
        /// The recording it took.
        recorded: u64,
    },
    /// There is a wait for an event that was not recorded then, which orders nothing.
    NeverRecorded {
        /// The wait.
        record: u64,
        /// The event.
        event: EventId,
    },
    /// There is a wait, but its event was recorded anew while it was being queued: nobody can say what it took.
    Replaced {
        /// The wait.
        record: u64,
        /// The event.
        event: EventId,
    },
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub fault: Fault,
    /// The allocation that it is about, where it is about one that is known.
    pub allocation: Option<AllocId>,
    /// The memory that it is about.
    pub memory: Option<Memory>,
    /// The operation that should have come first, where it is recorded.
    pub first: Option<Operation>,
    /// The operation where it shows.
    pub second: Operation,
    /// What would have ordered the two.
    pub missing: Option<Missing>,
}
