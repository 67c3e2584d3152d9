//! What a program of the corpus can do.

use weir::policy::{Attribute, Destroy, Preference, Reuse, UseUntil};

/// A pool as it is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// In granules.
    pub limit: u64,
    pub reuse: Reuse,
    pub preference: Preference,
    pub threshold: u64,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum At {
    Granules(u64),
    Number(u64),
}

/// One call. Streams, events, pools and blocks have numbers of the program's own.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Stream(usize),
    DropStream(usize),
    Event(usize),
    DropEvent(usize),
    Pool(usize, Shape),
    Default(usize),
    Drop(usize, Destroy),
    /// Block, pool, size in 64ths of a granule, stream.
    Malloc(usize, usize, u64, usize),
    Free(usize, usize),
    /// An access by the stream, and its announcement.
    Use(usize, usize, UseUntil),
    Record(usize, usize),
    Wait(usize, usize),
    Query(usize),
    SyncStream(usize),
    SyncEvent(usize),
    SyncDevice,
    /// Pool, granules to keep.
    Trim(usize, u64),
    Set(usize, Attribute, At),
    Work(usize),
    Pause(usize),
    Resume(usize),
    /// The device does everything that is queued.
    Run,
    /// A call that must be refused without any fault.
    Refused(&'static Op),
}

impl Op {
    /// The call itself.
    pub fn call(&self) -> &Op {
        match self {
            Op::Refused(op) => op.call(),
            op => op,
        }
    }
}
