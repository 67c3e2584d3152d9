//! Return codes: what a refusal is called in CANN, and what was wrong.

use super::bindings as acl;
use crate::host::HostError;
use core::cell::RefCell;
use core::ffi::c_char;
use core::fmt::Display;
use core::ptr;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use weir::driver::{DriverCall, DriverError, DriverErrorKind};
use weir::error::{Arena, ArenaFull, BadId, FreeError, MallocError, OrderError, PoolError};

/// A code of the headers, by any of the two types that they have.
pub(crate) trait Code {
    fn number(self) -> acl::aclError;
}

impl Code for i32 {
    fn number(self) -> acl::aclError {
        self
    }
}

impl Code for u32 {
    fn number(self) -> acl::aclError {
        self.cast_signed()
    }
}

/// Why a call is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: acl::aclError,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn new(code: impl Code, text: impl Into<String>) -> Self {
        Self { code: code.number(), text: text.into() }
    }

    /// A pointer that must not be null.
    pub(crate) fn null(name: &str) -> Self {
        Self::new(acl::ACL_ERROR_INVALID_PARAM, format!("`{name}` is null"))
    }

    /// An argument with a value that it cannot have.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(acl::ACL_ERROR_RT_PARAM_INVALID, text)
    }

    /// What is no pool, stream or event.
    pub(crate) fn handle(code: impl Code, kind: &str, handle: usize) -> Self {
        Self::new(code, format!("{handle:#x} is no {kind}: it was destroyed, or never created"))
    }

    /// An error under its code.
    fn with(code: impl Code, error: &impl Display) -> Self {
        Self::new(code, error.to_string())
    }
}

/// The code of a failed driver call.
fn driver_code(error: DriverError) -> acl::aclError {
    match error.kind {
        DriverErrorKind::Exhausted => acl::ACL_ERROR_RT_MEMORY_ALLOCATION.number(),
        DriverErrorKind::TimedOut => acl::ACL_ERROR_RT_WAIT_TIMEOUT.number(),
        DriverErrorKind::Unsupported => acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT.number(),
        // What the host driver answers after a fault of the device.
        DriverErrorKind::Failed if error.code == libc::EFAULT => acl::ACL_ERROR_RT_AICORE_EXCEPTION.number(),
        // A code of the vendor's says more.
        DriverErrorKind::Failed if error.code >= acl::ACL_ERROR_INVALID_PARAM => error.code,
        DriverErrorKind::Failed => acl::ACL_ERROR_RT_DRV_INTERNAL_ERROR.number(),
    }
}

impl From<ArenaFull> for Refusal {
    fn from(full: ArenaFull) -> Self {
        let code = match full.arena {
            Arena::Streams => acl::ACL_ERROR_RT_NO_STREAM_RESOURCE,
            Arena::Events => acl::ACL_ERROR_RT_NO_EVENT_RESOURCE,
            _ => acl::ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
        };
        let (name, capacity) = (full.arena.name(), full.capacity);
        Self::new(code, format!("all {capacity} {name} are taken: give back some that are no longer needed"))
    }
}

impl From<OrderError> for Refusal {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::BadId(_) => Self::with(acl::ACL_ERROR_RT_INVALID_HANDLE, &error),
            OrderError::ArenaFull(full) => full.into(),
            OrderError::Driver(failed) => Self::with(driver_code(failed), &error),
            OrderError::StreamExists(_) | OrderError::Unusable(_) => Self::with(acl::ACL_ERROR_INTERNAL_ERROR, &error),
        }
    }
}

impl From<PoolError> for Refusal {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::ArenaFull(full) => full.into(),
            PoolError::BadId(_) | PoolError::OnlyReset { .. } => Self::with(acl::ACL_ERROR_RT_INTERNAL_ERROR, &error),
            PoolError::LimitAboveDevice { .. } | PoolError::Overflow { .. } | PoolError::ReadOnly(_) => {
                Self::with(acl::ACL_ERROR_RT_PARAM_INVALID, &error)
            }
            PoolError::Driver(failed) => Self::with(driver_code(failed), &error),
            PoolError::BadProperties { .. }
            | PoolError::BadRange { .. }
            | PoolError::LiveBlocks { .. }
            | PoolError::Unusable(_) => Self::with(acl::ACL_ERROR_INTERNAL_ERROR, &error),
        }
    }
}

impl From<MallocError> for Refusal {
    fn from(error: MallocError) -> Self {
        match error {
            MallocError::OutOfMemory(_) | MallocError::AboveLimit { .. } | MallocError::NoAddressRange { .. } => {
                Self::with(acl::ACL_ERROR_RT_MEMORY_ALLOCATION, &error)
            }
            MallocError::ZeroSize | MallocError::Overflow { .. } | MallocError::OtherDevice { .. } => {
                Self::with(acl::ACL_ERROR_RT_PARAM_INVALID, &error)
            }
            MallocError::BadId(BadId::UnknownStream(_) | BadId::StaleStream(_)) => {
                Self::with(acl::ACL_ERROR_RT_INVALID_HANDLE, &error)
            }
            MallocError::BadId(_) => Self::with(acl::ACL_ERROR_RT_INTERNAL_ERROR, &error),
            MallocError::ArenaFull(full) => full.into(),
            // The driver is the one that stands in front of the vendor's: streams may not wait, so there is nothing.
            MallocError::Driver(DriverError { call: DriverCall::Wait, kind: DriverErrorKind::Unsupported, .. }) => {
                Self::with(acl::ACL_ERROR_RT_MEMORY_ALLOCATION, &error)
            }
            MallocError::Driver(failed) => Self::with(driver_code(failed), &error),
            MallocError::Capturing(_) => Self::with(acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, &error),
            MallocError::Unusable(_) => Self::with(acl::ACL_ERROR_INTERNAL_ERROR, &error),
        }
    }
}

impl From<FreeError> for Refusal {
    fn from(error: FreeError) -> Self {
        let code = match error {
            FreeError::BadPointer(_) => acl::ACL_ERROR_RT_PARAM_INVALID.number(),
            FreeError::BadId(_) => acl::ACL_ERROR_RT_INVALID_HANDLE.number(),
            FreeError::Capturing(_) => acl::ACL_ERROR_RT_FEATURE_NOT_SUPPORT.number(),
            FreeError::Unusable(_) => acl::ACL_ERROR_INTERNAL_ERROR,
        };
        Self::with(code, &error)
    }
}

impl From<HostError> for Refusal {
    fn from(error: HostError) -> Self {
        let code = match &error {
            HostError::BadConfig(_) => acl::ACL_ERROR_INVALID_PARAM,
            HostError::UnknownDevice { .. } => acl::ACL_ERROR_RT_INVALID_DEVICEID.number(),
            HostError::UnknownStream(_) => acl::ACL_ERROR_RT_INVALID_HANDLE.number(),
            HostError::System(_) => acl::ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.number(),
        };
        Self::with(code, &error)
    }
}

/// What the thread's calls said last, and what it was given.
#[derive(Default)]
struct Texts {
    latest: Option<CString>,
    given: CString,
}

thread_local! {
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// Runs the body of an exported function: keeps the text of a refusal, and stops a panic.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Refusal>) -> acl::aclError {
    let refusal = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return acl::ACL_SUCCESS,
        Ok(Err(refusal)) => refusal,
        Err(_) => Refusal::new(acl::ACL_ERROR_INTERNAL_ERROR, "a defect of weir: a panic was caught"),
    };
    keep(refusal.text);
    refusal.code
}

/// Keeps what was wrong for the thread's next `aclGetRecentErrMsg`.
pub(crate) fn keep(text: String) {
    // No text has a 0 in it.
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no place for it any more; nobody can ask then either.
    let _ = TEXTS.try_with(|texts| texts.borrow_mut().latest = Some(text));
}

/// See `acl/acl.h`.
pub unsafe extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    let taken = TEXTS.try_with(|texts| {
        let mut texts = texts.borrow_mut();
        match texts.latest.take() {
            Some(text) => {
                texts.given = text;
                texts.given.as_ptr()
            }
            None => ptr::null(),
        }
    });
    taken.unwrap_or(ptr::null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;

    #[test]
    fn a_text_is_taken_once() {
        assert_eq!(guard(|| Err(Refusal::null("ptr"))), 100_000);
        // SAFETY: it has no contract.
        let text = unsafe { aclGetRecentErrMsg() };
        // SAFETY: just given, and the thread has not asked again.
        assert_eq!(unsafe { CStr::from_ptr(text) }, c"`ptr` is null");
        // SAFETY: it has no contract.
        assert!(unsafe { aclGetRecentErrMsg() }.is_null());
    }

    #[test]
    fn a_panic_is_a_code() {
        assert_eq!(guard(|| unreachable!("on purpose")), 500_000);
    }

    #[test]
    fn driver_failures_have_codes_of_their_own() {
        let failed = |kind, code| driver_code(DriverError { call: DriverCall::Synchronise, code, kind });
        assert_eq!(failed(DriverErrorKind::Exhausted, libc::ENOMEM), 207_001);
        assert_eq!(failed(DriverErrorKind::TimedOut, libc::ETIMEDOUT), 107_019);
        assert_eq!(failed(DriverErrorKind::Unsupported, libc::ENOSYS), 207_000);
        assert_eq!(failed(DriverErrorKind::Failed, libc::EFAULT), 507_015);
        assert_eq!(failed(DriverErrorKind::Failed, libc::EIO), 507_899);
        assert_eq!(failed(DriverErrorKind::Failed, 107_017), 107_017, "the vendor's own");
    }
}
