//! What goes wrong on a host device, and how a test makes it go wrong.

use std::{fmt, io, sync::Mutex, sync::MutexGuard, sync::PoisonError};
use weir::driver::{DriverCall, DriverError, DriverErrorKind, NativeStream};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};

/// Something that a device cannot recover from. The first one of a device is kept: kernels queued behind it are not
/// run, and every query and synchronisation of the device fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A kernel named an address with no memory mapped behind it.
    NotMapped {
        /// The kernel's stream.
        stream: NativeStream,
        /// The first address without memory.
        ptr: DevicePtr,
    },
    /// A kernel named an address outside every reserved range of its device.
    NotReserved {
        /// The kernel's stream.
        stream: NativeStream,
        /// The first such address.
        ptr: DevicePtr,
    },
    /// A kernel named a run of bytes that begins inside a reserved range of its device and goes on behind its end.
    TooLong {
        /// The kernel's stream.
        stream: NativeStream,
        /// Where the run begins.
        ptr: DevicePtr,
        /// Its length.
        bytes: Bytes,
        /// The first address behind the range.
        end: DevicePtr,
    },
    /// Two kernels that run at the same time use the same bytes, and at least one writes them.
    Race {
        /// The stream of the kernel that came second.
        stream: NativeStream,
        /// The stream of the kernel that was running.
        running: NativeStream,
        /// The first byte that both use.
        ptr: DevicePtr,
        /// How many bytes both use.
        bytes: Bytes,
    },
    /// Two arguments of one kernel share bytes, and at least one is written.
    Aliased {
        /// The kernel's stream.
        stream: NativeStream,
        /// The first byte that both name.
        ptr: DevicePtr,
    },
    /// A granule was to be unmapped while a kernel used it. It stays mapped.
    UnmapInUse {
        /// The stream of that kernel.
        stream: NativeStream,
        /// The granule's address.
        at: DevicePtr,
    },
    /// A kernel panicked, or a C kernel reported a failure.
    Kernel {
        /// The kernel's stream.
        stream: NativeStream,
        /// What it said.
        message: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMapped { stream, ptr } => {
                write!(f, "a kernel on stream {} used {ptr}, where no memory is mapped", stream.0)
            }
            Self::NotReserved { stream, ptr } => {
                write!(f, "a kernel on stream {} used {ptr}, which is no address of its device", stream.0)
            }
            Self::TooLong { stream, ptr, bytes, end } => write!(
                f,
                "a kernel on stream {} used {bytes} from {ptr}, but the range of addresses there ends at {end}",
                stream.0
            ),
            Self::Race { stream, running, ptr, bytes } => write!(
                f,
                "a kernel on stream {} and one on stream {} used the same {bytes} from {ptr} at the same time",
                stream.0, running.0
            ),
            Self::Aliased { stream, ptr } => write!(
                f,
                "two arguments of a kernel on stream {} share bytes from {ptr} and one of them is written",
                stream.0
            ),
            Self::UnmapInUse { stream, at } => {
                write!(f, "the granule at {at} was to be unmapped while a kernel on stream {} used it", stream.0)
            }
            Self::Kernel { stream, message } => write!(f, "a kernel on stream {} failed: {message}", stream.0),
        }
    }
}

/// A call on the host driver itself (not through the [`Driver`](weir::driver::Driver) trait) was refused.
#[derive(Debug)]
pub enum HostError {
    /// The configuration makes no sense; what is wrong with it.
    BadConfig(&'static str),
    /// There is no such device; how many there are.
    UnknownDevice {
        /// The device that was named.
        device: DeviceId,
        /// The number of devices.
        devices: u32,
    },
    /// There is no such stream (any more).
    UnknownStream(NativeStream),
    /// The system refused memory or a thread.
    System(io::Error),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadConfig(what) => write!(f, "host device: {what}"),
            Self::UnknownDevice { device, devices } => {
                write!(f, "host device {device} does not exist: there are {devices}, counted from 0")
            }
            Self::UnknownStream(stream) => {
                write!(f, "host stream {} does not exist (any more)", stream.0)
            }
            Self::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl std::error::Error for HostError {}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Makes driver calls fail, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The call that fails.
    pub call: DriverCall,
    /// How many calls succeed before.
    pub after: u64,
    /// How many calls fail then.
    pub times: u64,
    /// The kind of failure.
    pub kind: DriverErrorKind,
    /// The code that is reported.
    pub code: i32,
}

/// The injections that are still to come.
#[derive(Debug, Default)]
pub(super) struct Injections(Mutex<Vec<Injection>>);

impl Injections {
    pub(super) fn add(&self, injection: Injection) {
        lock(&self.0).push(injection);
    }

    /// Counts one call, and answers the failure that is due for it.
    pub(super) fn due(&self, call: DriverCall) -> Result<(), DriverError> {
        let mut list = lock(&self.0);
        let Some(place) = list.iter().position(|i| i.call == call) else {
            return Ok(());
        };
        let entry = &mut list[place];
        if entry.after > 0 {
            entry.after -= 1;
            return Ok(());
        }
        let Injection { kind, code, .. } = *entry;
        entry.times = entry.times.saturating_sub(1);
        if entry.times == 0 {
            list.remove(place);
        }
        Err(DriverError { call, code, kind })
    }
}

/// Takes a lock. What it guards is whole between statements, so a panic elsewhere does not spoil it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A failure of `call` with a code of the system's (`errno`).
pub(super) fn failed(call: DriverCall, code: i32) -> DriverError {
    let kind = match code {
        libc::ENOMEM | libc::ENOSPC | libc::EMFILE | libc::ENFILE => DriverErrorKind::Exhausted,
        libc::ENOSYS | libc::EOPNOTSUPP => DriverErrorKind::Unsupported,
        libc::ETIMEDOUT => DriverErrorKind::TimedOut,
        _ => DriverErrorKind::Failed,
    };
    DriverError { call, code, kind }
}

/// A failure of `call` that the system reported.
pub(super) fn refused(call: DriverCall, error: &io::Error) -> DriverError {
    failed(call, error.raw_os_error().unwrap_or(libc::EIO))
}
