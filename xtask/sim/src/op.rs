//! The steps of a program. They name places (stream 2, block 7), not handles, so that a step still means something when
//! others are left out; one whose places hold nothing does nothing.

use std::fmt;

/// How many places there are of each sort.
pub(crate) const DEVICES: usize = 3;
pub(crate) const STREAMS: usize = 8;
pub(crate) const EVENTS: usize = 6;
pub(crate) const POOLS: usize = 3;
pub(crate) const BLOCKS: usize = 24;

/// What kind of stream is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NonBlocking,
    Blocking,
    Legacy,
}

/// How a recorded use is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    Now,
    Free,
}

/// What a pool is made with; sizes in granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) device: u8,
    pub(crate) limit: u8,
    /// 255: never release.
    pub(crate) threshold: u8,
    pub(crate) reuse: u8,
    pub(crate) wait_first: bool,
    /// Small requests are packed apart.
    pub(crate) classes: bool,
    /// Releases at every synchronisation, even where that does not pay.
    pub(crate) always: bool,
    /// Granules of an eager growth; 0: frugal.
    pub(crate) step: u8,
    /// The host may wait before a refusal.
    pub(crate) blocks: bool,
}

/// What becomes of live blocks when their pool ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Refuse,
    Abandon,
}

/// What another thread does with an event, or with its stream, while the event is being recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    /// Records it on another stream.
    Record {
        stream: u8,
    },
    /// Makes a stream wait for it.
    Wait {
        stream: u8,
    },
    Query,
    Synchronise,
    /// Destroys it; on one thread that is refused.
    Destroy,
    /// Destroys the stream that it is recorded on; on one thread that is refused.
    DestroyStream,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    CreateStream {
        stream: u8,
        device: u8,
        kind: Kind,
    },
    DestroyStream {
        stream: u8,
    },
    CreateEvent {
        event: u8,
    },
    DestroyEvent {
        event: u8,
    },
    CreatePool {
        pool: u8,
        shape: Shape,
    },
    DestroyPool {
        pool: u8,
        live: Live,
    },
    Malloc {
        block: u8,
        pool: u8,
        stream: u8,
        bytes: u32,
        write: bool,
    },
    Free {
        block: u8,
        stream: u8,
    },
    /// Work that reads the block.
    Kernel {
        block: u8,
        stream: u8,
    },
    Use {
        block: u8,
        stream: u8,
        until: Until,
    },
    Record {
        event: u8,
        stream: u8,
    },
    /// A record that something is done in the middle of, before the driver or after it.
    RecordAround {
        event: u8,
        stream: u8,
        meanwhile: Meanwhile,
        driver_first: bool,
    },
    Wait {
        stream: u8,
        event: u8,
    },
    Query {
        event: u8,
    },
    SyncStream {
        stream: u8,
    },
    SyncEvent {
        event: u8,
    },
    SyncDevice {
        device: u8,
    },
    Trim {
        pool: u8,
        keep: u8,
    },
    Switch {
        pool: u8,
        number: u8,
        on: bool,
    },
    Threshold {
        pool: u8,
        granules: u8,
    },
    /// The device runs so many operations, chosen by the seed.
    Run {
        count: u8,
        seed: u16,
    },
    /// The device finishes a stream's work.
    Finish {
        stream: u8,
    },
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CreateStream { stream, device, kind } => {
                write!(f, "create stream s{stream} on device {device}, {kind:?}")
            }
            Self::DestroyStream { stream } => write!(f, "destroy stream s{stream}"),
            Self::CreateEvent { event } => write!(f, "create event e{event}"),
            Self::DestroyEvent { event } => write!(f, "destroy event e{event}"),
            Self::CreatePool { pool, shape } => {
                let Shape { device, limit, threshold, reuse, wait_first, classes, always, step, blocks } = shape;
                write!(
                    f,
                    "create pool p{pool} on device {device}: limit {limit} granules, threshold {threshold}, switches {reuse:03b}, "
                )?;
                write!(f, "{}", if wait_first { "waits first" } else { "grows first" })?;
                if always {
                    write!(f, ", always releases")?;
                }
                if step > 0 {
                    write!(f, ", grows by {step}")?;
                }
                if blocks {
                    write!(f, ", may block")?;
                }
                write!(f, "{}", if classes { ", small blocks apart" } else { "" })
            }
            Self::DestroyPool { pool, live } => write!(f, "destroy pool p{pool}, live blocks: {live:?}"),
            Self::Malloc { block, pool, stream, bytes, write } => {
                write!(
                    f,
                    "b{block} = malloc {bytes} bytes from p{pool} on s{stream}{}",
                    if write { ", and write it" } else { "" }
                )
            }
            Self::Free { block, stream } => write!(f, "free b{block} on s{stream}"),
            Self::Kernel { block, stream } => write!(f, "read b{block} on s{stream}"),
            Self::Use { block, stream, until } => write!(f, "record use of b{block} by s{stream} until {until:?}"),
            Self::Record { event, stream } => write!(f, "record e{event} on s{stream}"),
            Self::RecordAround { event, stream, meanwhile, driver_first } => {
                let when = if driver_first { "after" } else { "before" };
                write!(f, "record e{event} on s{stream}, and {when} the driver's part {meanwhile:?} by another thread")
            }
            Self::Wait { stream, event } => write!(f, "s{stream} waits for e{event}"),
            Self::Query { event } => write!(f, "query e{event}"),
            Self::SyncStream { stream } => write!(f, "synchronise s{stream}"),
            Self::SyncEvent { event } => write!(f, "synchronise e{event}"),
            Self::SyncDevice { device } => write!(f, "synchronise device {device}"),
            Self::Trim { pool, keep } => write!(f, "trim p{pool} to {keep} granules"),
            Self::Switch { pool, number, on } => {
                write!(f, "switch {number} of p{pool} {}", if on { "on" } else { "off" })
            }
            Self::Threshold { pool, granules } => write!(f, "threshold of p{pool}: {granules} granules"),
            Self::Run { count, seed } => write!(f, "the device runs {count} operations (order {seed})"),
            Self::Finish { stream } => write!(f, "the device finishes s{stream}"),
        }
    }
}
