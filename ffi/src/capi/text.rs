//! Which status number each refusal of the core has; the text is the core's own.

use super::failure::Failure;
use crate::bindings::weir_status as s;
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
                Self::new(error.status(), error.to_string())
            }
        })+
    };
}
failures!(DriverError BadId ArenaFull Unusable BadPointer MallocError FreeError UseError OrderError PoolError LabelError);

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
