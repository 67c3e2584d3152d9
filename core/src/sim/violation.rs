//! What the simulated device can complain about.

use crate::driver::{Completion, DriverCall, DriverErrorKind, GranuleHandle, NativeStream};
use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr};
use core::fmt;

/// The number of an operation: all queues of a [`Sim`](super::Sim) count together, from 1, in the order of the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Issue(pub u64);

/// How a piece of device work uses memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// It only reads.
    #[default]
    Read,
    /// It writes, or reads and writes.
    Write,
}

/// One access as the history remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Touch {
    /// The stream, by the handle that it had.
    pub stream: NativeStream,
    /// The number of the operation.
    pub issue: Issue,
    /// Reading or writing.
    pub access: Access,
    /// First byte, counted from the start of the granule.
    pub from: Bytes,
    /// One past the last byte, counted from the start of the granule.
    pub to: Bytes,
}

/// Something that a correct pool and a correct program never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Violation {
    /// A call names a stream that does not exist (any more).
    UnknownStream(NativeStream),
    /// A call names a granule that does not exist (any more).
    UnknownGranule {
        /// The call.
        call: DriverCall,
        /// The handle.
        granule: GranuleHandle,
    },
    /// Something belongs to another device than the one that was named.
    OtherDevice {
        /// The call.
        call: DriverCall,
        /// The device that was named.
        named: DeviceId,
        /// The device that owns the granule or the range.
        owner: DeviceId,
    },
    /// An address or a size is not a multiple of the granularity, or is zero.
    Misaligned {
        /// The call.
        call: DriverCall,
        /// The address or size.
        value: u64,
        /// The device's granularity.
        granularity: Bytes,
    },
    /// The range that should be released is not one that was reserved.
    UnknownRange {
        /// Its start.
        base: DevicePtr,
        /// Its size.
        bytes: Bytes,
    },
    /// The range that should be released has mappings.
    ReleaseMapped {
        /// Its start.
        base: DevicePtr,
        /// How many granules are mapped in it.
        mapped: u64,
    },
    /// A mapping outside every reserved range.
    OutsideRange(DevicePtr),
    /// A mapping where something is mapped.
    DoubleMap {
        /// The address.
        at: DevicePtr,
        /// The granule that is there.
        there: GranuleHandle,
    },
    /// A granule that is mapped is mapped a second time.
    MappedElsewhere {
        /// The granule.
        granule: GranuleHandle,
        /// Where it is mapped.
        at: DevicePtr,
    },
    /// Nothing is mapped where something should be unmapped.
    NothingMapped(DevicePtr),
    /// A granule that is mapped should be destroyed.
    DestroyMapped {
        /// The granule.
        granule: GranuleHandle,
        /// Where it is mapped.
        at: DevicePtr,
    },
    /// A call takes what an unmap in the order of a stream gives up, the address or the granule, and does not come
    /// after that unmap.
    BeforeUnmap {
        /// The call: a map, or the destroy or release that would pull memory or addresses from under the unmap.
        call: DriverCall,
        /// The address that is unmapped.
        at: DevicePtr,
        /// The number of the unmap.
        unmap: Issue,
        /// The stream in whose order it is made.
        unmapping: NativeStream,
        /// The stream that should come after it; `None`: the call acts at once, and the host has not learnt that the
        /// unmap is complete.
        by: Option<NativeStream>,
    },
    /// A granule is unmapped at once although the host has not learnt that all work on it is complete.
    UnmapInUse {
        /// Where it is mapped.
        at: DevicePtr,
        /// The granule.
        granule: GranuleHandle,
        /// The work; `None` where the history had no room for it.
        by: Option<Touch>,
        /// Whether the work happens to be complete already: then this is luck, and another seed shows it pending.
        state: Completion,
    },
    /// Work on an address where nothing is mapped: none is planned when it is queued, or none is there when it runs.
    AccessUnmapped {
        /// The stream.
        stream: NativeStream,
        /// The number of the operation.
        issue: Issue,
        /// The first such address in it.
        at: DevicePtr,
    },
    /// Two accesses overlap, at least one writes, and nothing orders them. A map or unmap in the order of a stream
    /// counts as a write to the whole granule.
    Race {
        /// The granule.
        granule: GranuleHandle,
        /// Where the granule is mapped now.
        at: DevicePtr,
        /// The access that was queued first.
        earlier: Touch,
        /// The access that was queued later.
        later: Touch,
    },
    /// A read found other bytes than it should.
    WrongContent {
        /// The stream.
        stream: NativeStream,
        /// The number of the operation.
        issue: Issue,
        /// The address of the first piece that is wrong.
        at: DevicePtr,
        /// The tag that should be there.
        expected: u64,
        /// The tag that is there for exactly this range, if any.
        found: Option<u64>,
    },
}

/// A lent arena of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SimArena {
    /// Devices.
    Devices,
    /// Reserved address ranges.
    Ranges,
    /// The table of mappings.
    Pages,
    /// Granules.
    Granules,
    /// Streams, the destroyed ones that the host does not know to be complete among them.
    Streams,
    /// Marker slots.
    Markers,
    /// One of the three slices of clock words.
    Clocks,
    /// Queued operations.
    Ops,
    /// Planned faults.
    Faults,
}

/// A call of the simulation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SimError {
    /// The caller's fault; also kept in [`Sim::violation`](super::Sim::violation).
    Violation(Violation),
    /// The device has no physical memory or addresses left.
    Exhausted,
    /// A lent arena is too small.
    Full(SimArena),
    /// What should be waited for cannot complete: a stream that it needs is paused.
    Deadlock,
    /// There is no such device.
    UnknownDevice(DeviceId),
    /// The device has a legacy default stream already.
    LegacyExists(NativeStream),
    /// Granularity or alignment is not a power of two, alignment does not divide granularity, or granularity is above
    /// 1 GiB.
    BadProperties {
        /// The granularity.
        granularity: Bytes,
        /// The alignment.
        alignment: Bytes,
    },
    /// A fault that was asked for.
    Injected(DriverErrorKind),
    /// The simulation contradicts itself: a fault of its own. Names the place.
    Corrupt(&'static str),
}

impl SimError {
    /// The driver's code and the kind of failure under which the pool sees this.
    #[must_use]
    pub const fn code(self) -> (i32, DriverErrorKind) {
        match self {
            Self::Violation(_) => (1, DriverErrorKind::Failed),
            Self::Exhausted => (2, DriverErrorKind::Exhausted),
            Self::Full(_) => (3, DriverErrorKind::Exhausted),
            Self::Deadlock => (4, DriverErrorKind::TimedOut),
            Self::UnknownDevice(_) => (5, DriverErrorKind::Unsupported),
            Self::LegacyExists(_) => (6, DriverErrorKind::Unsupported),
            Self::BadProperties { .. } => (8, DriverErrorKind::Unsupported),
            Self::Injected(kind) => (-1, kind),
            Self::Corrupt(_) => (-2, DriverErrorKind::Failed),
        }
    }
}

impl From<Violation> for SimError {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, from, to) = (self.access, self.from.0, self.to.0);
        write!(f, "{verb:?} of bytes {from}..{to} by operation {} ", self.issue.0)?;
        write!(f, "on stream {:#x}", self.stream.0)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Race { granule, at, earlier, later } => {
                write!(f, "nothing orders two accesses to granule {:#x} at {at}: ", granule.0)?;
                write!(f, "{earlier}, and {later}")
            }
            Self::UnmapInUse { at, granule, by: Some(by), state } => {
                write!(f, "granule {:#x} at {at} is unmapped under work ", granule.0)?;
                write!(f, "not known to be complete (in fact {state:?}): {by}")
            }
            Self::BeforeUnmap { call, at, unmap, unmapping, by } => {
                write!(f, "{} needs operation {} on stream {:#x} first, ", call.name(), unmap.0, unmapping.0)?;
                write!(f, "which unmaps {at}: ")?;
                match by {
                    Some(by) => write!(f, "nothing orders stream {:#x} after it", by.0),
                    None => f.write_str("the host does not know it to be complete"),
                }
            }
            Self::AccessUnmapped { stream, issue, at } => {
                write!(f, "operation {} on stream {:#x} uses {at}, ", issue.0, stream.0)?;
                f.write_str("where nothing is mapped")
            }
            Self::WrongContent { stream, issue, at, expected, found } => {
                write!(f, "operation {} on stream {:#x} expects ", issue.0, stream.0)?;
                write!(f, "tag {expected:#x} at {at} and finds {found:x?}")
            }
            other => write!(f, "{other:?}"),
        }
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Full(arena) => write!(f, "the simulation's arena {arena:?} is too small; lend a larger one"),
            Self::Deadlock => f.write_str("what is waited for needs a stream that is paused; resume it first"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl core::error::Error for Violation {}
impl core::error::Error for SimError {}
