//! Status numbers: their names, and which one each refusal of the core has; the text is the core's own.

use super::failure::Failure;
use crate::bindings::weir_status as s;
use core::ffi::{CStr, c_int};
use weir::driver::{DriverError, DriverErrorKind};
use weir::error::{
    ArenaFull, BadId, BadPointer, FreeError, LabelError, MallocError, OrderError, PoolError, Unusable, UseError,
};

/// A refusal that has a status number.
trait Status: core::fmt::Display {
    fn status(&self) -> s::Type;
}

macro_rules! failures {
    ($($error:ty)+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.status(), format!("{error}"))
            }
        })+
    };
}
failures!(DriverError BadId ArenaFull Unusable BadPointer MallocError FreeError UseError OrderError PoolError LabelError);

impl Failure {
    /// By reference: the error of a malloc is large.
    pub(super) fn refused(error: &MallocError) -> Self {
        Self::new(error.status(), format!("{error}"))
    }
}

impl Status for DriverError {
    fn status(&self) -> s::Type {
        match self.kind {
            DriverErrorKind::TimedOut => s::WEIR_TIMED_OUT,
            DriverErrorKind::Exhausted | DriverErrorKind::Unsupported | DriverErrorKind::Failed => s::WEIR_DRIVER_ERROR,
        }
    }
}

impl Status for BadId {
    fn status(&self) -> s::Type {
        s::WEIR_BAD_HANDLE
    }
}

impl Status for ArenaFull {
    fn status(&self) -> s::Type {
        s::WEIR_CAPACITY
    }
}

impl Status for Unusable {
    fn status(&self) -> s::Type {
        match self {
            Self::Busy => s::WEIR_BUSY,
            Self::Corrupt(_) => s::WEIR_CORRUPT,
        }
    }
}

impl Status for BadPointer {
    fn status(&self) -> s::Type {
        match self {
            Self::AlreadyFree { .. } => s::WEIR_DOUBLE_FREE,
            Self::Unknown(_) | Self::Interior { .. } | Self::OtherPool { .. } | Self::Unmapped { .. } => {
                s::WEIR_BAD_POINTER
            }
        }
    }
}

impl Status for MallocError {
    fn status(&self) -> s::Type {
        match self {
            Self::ZeroSize => s::WEIR_ZERO_SIZE,
            Self::AboveLimit { .. } | Self::Overflow { .. } => s::WEIR_ABOVE_LIMIT,
            Self::NoAddressRange { .. } => s::WEIR_NO_ADDRESS_RANGE,
            Self::OtherDevice { .. } => s::WEIR_OTHER_DEVICE,
            Self::Capturing(_) => s::WEIR_CAPTURING,
            Self::OutOfMemory(_) => s::WEIR_OUT_OF_MEMORY,
            Self::BadId(bad) => bad.status(),
            Self::ArenaFull(full) => full.status(),
            Self::Driver(error) => error.status(),
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

impl Status for FreeError {
    fn status(&self) -> s::Type {
        match self {
            Self::BadPointer(bad) => bad.status(),
            Self::Capturing(_) => s::WEIR_CAPTURING,
            Self::BadId(bad) => bad.status(),
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

impl Status for UseError {
    fn status(&self) -> s::Type {
        match self {
            Self::BadPointer(bad) => bad.status(),
            Self::BadId(bad) => bad.status(),
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

impl Status for OrderError {
    fn status(&self) -> s::Type {
        match self {
            Self::BadId(bad) => bad.status(),
            Self::ArenaFull(full) => full.status(),
            Self::Driver(error) => error.status(),
            Self::StreamExists(_) => s::WEIR_EXISTS,
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

impl Status for PoolError {
    fn status(&self) -> s::Type {
        match self {
            Self::BadId(bad) => bad.status(),
            Self::ArenaFull(full) => full.status(),
            Self::LimitAboveDevice { .. } | Self::Overflow { .. } => s::WEIR_ABOVE_LIMIT,
            Self::BadProperties { .. } | Self::BadRange { .. } => s::WEIR_BAD_DRIVER,
            Self::LiveBlocks { .. } => s::WEIR_LIVE_BLOCKS,
            Self::ReadOnly(_) | Self::OnlyReset { .. } => s::WEIR_READ_ONLY,
            Self::Driver(error) => error.status(),
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

impl Status for LabelError {
    fn status(&self) -> s::Type {
        match self {
            Self::ArenaFull(full) => full.status(),
            Self::TooLong { .. } => s::WEIR_BAD_NAME,
            Self::Unusable(unusable) => unusable.status(),
        }
    }
}

/// A status by its name in the header.
pub(super) fn name(status: c_int) -> &'static CStr {
    let Ok(status) = u32::try_from(status) else { return c"unknown status" };
    match status {
        s::WEIR_OK => c"WEIR_OK",
        s::WEIR_INVALID_ARGUMENT => c"WEIR_INVALID_ARGUMENT",
        s::WEIR_BAD_HANDLE => c"WEIR_BAD_HANDLE",
        s::WEIR_BAD_POINTER => c"WEIR_BAD_POINTER",
        s::WEIR_DOUBLE_FREE => c"WEIR_DOUBLE_FREE",
        s::WEIR_ZERO_SIZE => c"WEIR_ZERO_SIZE",
        s::WEIR_ABOVE_LIMIT => c"WEIR_ABOVE_LIMIT",
        s::WEIR_OUT_OF_MEMORY => c"WEIR_OUT_OF_MEMORY",
        s::WEIR_NO_ADDRESS_RANGE => c"WEIR_NO_ADDRESS_RANGE",
        s::WEIR_OTHER_DEVICE => c"WEIR_OTHER_DEVICE",
        s::WEIR_CAPTURING => c"WEIR_CAPTURING",
        s::WEIR_CAPACITY => c"WEIR_CAPACITY",
        s::WEIR_DRIVER_ERROR => c"WEIR_DRIVER_ERROR",
        s::WEIR_TIMED_OUT => c"WEIR_TIMED_OUT",
        s::WEIR_LIVE_BLOCKS => c"WEIR_LIVE_BLOCKS",
        s::WEIR_READ_ONLY => c"WEIR_READ_ONLY",
        s::WEIR_EXISTS => c"WEIR_EXISTS",
        s::WEIR_BAD_NAME => c"WEIR_BAD_NAME",
        s::WEIR_BAD_DRIVER => c"WEIR_BAD_DRIVER",
        s::WEIR_NOT_HOST => c"WEIR_NOT_HOST",
        s::WEIR_SYSTEM => c"WEIR_SYSTEM",
        s::WEIR_BUSY => c"WEIR_BUSY",
        s::WEIR_CORRUPT => c"WEIR_CORRUPT",
        s::WEIR_INTERNAL => c"WEIR_INTERNAL",
        _ => c"unknown status",
    }
}
