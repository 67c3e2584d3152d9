//! What can go wrong.

use core::fmt;

/// Why a GPU does not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuError {
    /// There is none: the vendor's library is not there, or says that there is no device; or, of a
    /// [`VendorPool`](crate::VendorPool), no such pool.
    None(String),
    /// There is one, and a call failed or the library does not do. The text names which.
    Failed(String),
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for GpuError {}
