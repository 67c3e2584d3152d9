//! Which way a function of a vendor's can go: the words of the tables in [`acl::ways`](super::acl::ways) and
//! [`cuda::ways`](super::cuda::ways).
//!
//! A call that changes what comes before what must be seen: memory would else be given out too early, not merely too
//! late. What only adds order need not be.

/// What the library does about a function of the vendor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// weir's own: memory pools.
    Pool,
    /// A stream begins, or is named for the first time.
    BeginsStream,
    /// A stream ends when its work is done.
    EndsStream,
    /// Work is given up, so that what was to come after it may come early: no order is believed until the device has
    /// been synchronised.
    Aborts,
    /// An event begins: a handle that was seen before is another event now.
    BeginsEvent,
    /// An event ends.
    EndsEvent,
    /// An event stands for what is queued on a stream.
    Records,
    /// An event stands for nothing any more.
    Resets,
    /// Something else than the program's calls records an event from now on: it is not believed any more.
    GivesAway,
    /// A stream comes after what an event stands for.
    Waits,
    /// Streams may go on without what they wait for: waits teach nothing.
    MayGiveUp,
    /// Tells that something is complete, by waiting or by its answer.
    Completes,
    /// Memory outside pools: where there is none the pools give theirs back; a pool's is freed into its pool.
    Memory,
    /// Devices and contexts begin and end, with all that is theirs.
    Ends,
    /// A stream's calls are captured, not queued: they teach nothing.
    Captures,
    /// Says what was wrong with the thread's calls, weir's among them.
    Errors,
    /// Nothing: it is there because the emulation has it.
    Passes,
}

/// Why a function that takes a stream or an event is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// It queues work, which a use covers like any other.
    Work,
    /// It orders streams by something else than events. weir does not learn of it: it may take memory later than it
    /// could.
    OtherOrder,
    /// It sets or reads what has nothing to do with order.
    Settings,
    /// It is about streams inside models and captures, whose own order is not the streams'.
    Graph,
    /// It asks something whose answer is not taken for completion.
    NotTaken,
    /// It names an event that weir has not seen begin: with the first call that uses it, no event of that context is
    /// believed any more.
    Unknown,
}
