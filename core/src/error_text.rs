//! What errors say to people: what was wrong, with the numbers, and what to do. Not reachable from the pool's calls.

use crate::error::{
    ArenaFull, BadId, BadPointer, Corrupt, FreeError, LabelError, MallocError, OrderError, OutOfMemory, PendingOn,
    Point, PoolError, Unusable, UseError,
};
use crate::trace::MAX_NAME;
use core::fmt::{Display, Formatter, Result};

impl Display for Point {
    /// `stream 3 at 812`
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "stream {} at {}", self.stream, self.seq)
    }
}

impl Display for BadId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::UnknownStream(id) => write!(f, "stream {id} was never created"),
            Self::StaleStream(id) => write!(f, "stream {id} was destroyed"),
            Self::UnknownEvent(id) => write!(f, "event {id} was never created"),
            Self::StaleEvent(id) => write!(f, "event {id} was destroyed"),
            Self::UnknownPool(id) => write!(f, "pool {id} was never created"),
            Self::StalePool(id) => write!(f, "pool {id} was destroyed"),
        }
    }
}

impl Display for ArenaFull {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (name, capacity) = (self.arena.name(), self.capacity);
        write!(f, "all {capacity} {name} are taken: give the runtime storage for more {name}")
    }
}

impl Display for Corrupt {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "the bookkeeping contradicts itself ({}): the runtime refuses further calls", self.0)
    }
}

impl Display for Unusable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Busy => f.write_str("the call would have to wait for the lock or the driver: try again"),
            Self::Corrupt(corrupt) => corrupt.fmt(f),
        }
    }
}

impl Display for PendingOn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { stream, until, bytes } = self;
        write!(f, "{bytes} until stream {stream} has passed {until}")
    }
}

impl Display for OutOfMemory {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { requested, used, reserved, limit, largest_usable, unsettled, device_full, pending, pending_on } =
            self;
        write!(
            f,
            "out of memory: {requested} requested, {used} used and {reserved} reserved of a limit of {limit}, \
             the largest free block that the stream may use has {largest_usable}, {pending} are freed but pending"
        )?;
        for (at, on) in pending_on.iter().flatten().enumerate() {
            write!(f, "{} {on}", if at == 0 { ":" } else { "," })?;
        }
        if pending.0 > 0 {
            f.write_str("; synchronise those streams, or record an event there and wait for it")?;
        }
        if unsettled.0 > 0 {
            write!(
                f,
                "; {unsettled} in whole granules can be moved once their work is known to be complete: synchronise"
            )?;
        }
        if let Some(error) = device_full {
            write!(f, "; the device is full before the limit: {error}")?;
        }
        Ok(())
    }
}

impl Display for BadPointer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Unknown(ptr) => write!(f, "{ptr} is in no pool of this runtime"),
            Self::Interior { ptr, start, size, id } => {
                write!(f, "{ptr} is inside allocation {id}, which begins at {start} and has {size}: pass its start")
            }
            Self::OtherPool { ptr, pool } => write!(f, "{ptr} belongs to pool {pool}"),
            Self::AlreadyFree { ptr, freed_at, id } => {
                write!(f, "{ptr} is free already")?;
                match (id, freed_at) {
                    (Some(id), Some(at)) => write!(f, ": allocation {id} was freed on {at}"),
                    (Some(id), None) => write!(f, ": allocation {id} was freed, and its work is complete"),
                    (None, Some(at)) => write!(f, ": the free on {at} covers it"),
                    (None, None) => f.write_str(": the work of its free is complete"),
                }
            }
            Self::Unmapped { ptr, pool } => {
                write!(f, "{ptr} is in the range of pool {pool}, but no memory is mapped there (freed and released?)")
            }
        }
    }
}

impl Display for MallocError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::ZeroSize => f.write_str("zero bytes were asked for"),
            Self::AboveLimit { requested, limit } => {
                write!(f, "{requested} were asked for, and the pool's limit is {limit}: raise the limit")
            }
            Self::Overflow { requested } => write!(f, "{requested} cannot be rounded up within 64 bits"),
            Self::NoAddressRange { requested, range } => {
                write!(
                    f,
                    "no hole in the pool's {range} of addresses is {requested} long: trim, or free what lies between"
                )
            }
            Self::OtherDevice { stream, pool } => write!(f, "stream {stream} and pool {pool} are on different devices"),
            Self::Capturing(stream) => {
                write!(f, "stream {stream} is being captured: allocate by the vendor's call, or before the capture")
            }
            Self::OutOfMemory(oom) => oom.fmt(f),
            Self::BadId(bad) => bad.fmt(f),
            Self::ArenaFull(full) => full.fmt(f),
            Self::Driver(error) => error.fmt(f),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

impl Display for FreeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::BadPointer(bad) => bad.fmt(f),
            Self::Capturing(stream) => write!(f, "stream {stream} is being captured: free by the vendor's call"),
            Self::BadId(bad) => bad.fmt(f),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

impl Display for UseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::BadPointer(bad) => bad.fmt(f),
            Self::BadId(bad) => bad.fmt(f),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

impl Display for OrderError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::BadId(bad) => bad.fmt(f),
            Self::ArenaFull(full) => full.fmt(f),
            Self::Driver(error) => error.fmt(f),
            Self::StreamExists(stream) => write!(f, "stream {stream} is known by the same device, context and handle"),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

impl Display for PoolError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::BadId(bad) => bad.fmt(f),
            Self::ArenaFull(full) => full.fmt(f),
            Self::LimitAboveDevice { limit, total } => {
                write!(f, "a limit of {limit} does not fit the device, which has {total}")
            }
            Self::Overflow { limit } => write!(f, "a limit of {limit} cannot be rounded up within 64 bits"),
            Self::BadProperties { granularity, alignment, total } => write!(
                f,
                "the driver states a granularity of {granularity}, an alignment of {alignment} and a total of {total}: \
                 the first two must be powers of two, the alignment at most the granularity, and the total at least it"
            ),
            Self::BadRange { base, bytes } => write!(
                f,
                "the driver reserved {bytes} at {base}, which is not aligned to its granularity, wraps, or meets \
                 another pool's range"
            ),
            Self::LiveBlocks { count, bytes } => {
                write!(f, "{count} blocks of {bytes} are live: free them, or ask for destruction with live blocks")
            }
            Self::ReadOnly(attribute) => write!(f, "attribute {} is read only", *attribute as u32),
            Self::OnlyReset { attribute, value } => {
                write!(f, "attribute {} can only be reset by setting 0, not {value}", *attribute as u32)
            }
            Self::Driver(error) => error.fmt(f),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

impl Display for LabelError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::ArenaFull(full) => full.fmt(f),
            Self::TooLong { length } => write!(f, "a name of {length} bytes is too long: at most {MAX_NAME}"),
            Self::Unusable(unusable) => unusable.fmt(f),
        }
    }
}

macro_rules! errors {
    ($($name:ty)+) => {
        $(impl core::error::Error for $name {})+
    };
}
errors!(BadId ArenaFull Corrupt Unusable OutOfMemory BadPointer MallocError FreeError UseError OrderError PoolError LabelError);
errors!(crate::driver::DriverError);
