//! A refusal on its way to the caller: a number. Texts are for hosted programs; firmware links no formatting.

use crate::bindings::weir_status as s;
use core::ffi::c_int;

/// Why a call was refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) status: s::Type,
}

impl Failure {
    /// The text is nobody's.
    pub(crate) const fn new(status: s::Type, _: &str) -> Self {
        Self { status }
    }

    pub(crate) const fn invalid(text: &str) -> Self {
        Self::new(s::WEIR_INVALID_ARGUMENT, text)
    }
}

/// Runs the body of an exported function.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match work() {
        Ok(()) => s::WEIR_OK as c_int,
        Err(failure) => failure.status as c_int,
    }
}
