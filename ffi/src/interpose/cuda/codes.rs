//! Codes: what a refusal is called in CUDA. The runtime's interface and the driver's have the same numbers for these.

use crate::interpose::world::Trouble;
use core::cell::Cell;
use core::ffi::c_int;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use weir::driver::{DriverCall, DriverError, DriverErrorKind};
use weir::error::{BadId, FreeError, MallocError, OrderError, PoolError};

/// `cudaErrorInvalidValue`, `CUDA_ERROR_INVALID_VALUE`.
pub(super) const INVALID_VALUE: c_int = 1;
/// `cudaErrorMemoryAllocation`, `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: c_int = 2;
/// `cudaErrorInitializationError`, `CUDA_ERROR_NOT_INITIALIZED`.
pub(super) const NOT_INITIALIZED: c_int = 3;
/// `cudaErrorCudartUnloading`, `CUDA_ERROR_DEINITIALIZED`.
pub(super) const DEINITIALIZED: c_int = 4;
/// `cudaErrorInvalidDevice`, `CUDA_ERROR_INVALID_DEVICE`.
pub(super) const INVALID_DEVICE: c_int = 101;
/// `cudaErrorOperatingSystem`, `CUDA_ERROR_OPERATING_SYSTEM`.
const OPERATING_SYSTEM: c_int = 304;
/// `cudaErrorInvalidResourceHandle`, `CUDA_ERROR_INVALID_HANDLE`.
const INVALID_HANDLE: c_int = 400;
/// `cudaErrorNotReady`, `CUDA_ERROR_NOT_READY`.
pub(super) const NOT_READY: c_int = 600;
/// `cudaErrorNotSupported`, `CUDA_ERROR_NOT_SUPPORTED`.
pub(super) const NOT_SUPPORTED: c_int = 801;
/// `cudaErrorStreamCaptureUnsupported`, `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`.
pub(super) const CAPTURE_UNSUPPORTED: c_int = 900;
/// `cudaErrorStreamCaptureImplicit`, `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`.
pub(super) const CAPTURE_IMPLICIT: c_int = 906;
/// `cudaErrorUnknown`, `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: c_int = 999;

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) c_int);

fn driver_code(error: DriverError) -> c_int {
    match error.kind {
        DriverErrorKind::Exhausted => OUT_OF_MEMORY,
        DriverErrorKind::Unsupported => NOT_SUPPORTED,
        DriverErrorKind::Failed if error.code > 0 => error.code,
        DriverErrorKind::Failed | DriverErrorKind::TimedOut => UNKNOWN,
    }
}

fn id_code(id: BadId) -> c_int {
    match id {
        BadId::UnknownPool(_) | BadId::StalePool(_) => INVALID_VALUE,
        BadId::UnknownStream(_) | BadId::StaleStream(_) | BadId::UnknownEvent(_) | BadId::StaleEvent(_) => {
            INVALID_HANDLE
        }
    }
}

impl From<MallocError> for Refusal {
    fn from(error: MallocError) -> Self {
        Self(match error {
            MallocError::OutOfMemory(_)
            | MallocError::AboveLimit { .. }
            | MallocError::Overflow { .. }
            | MallocError::NoAddressRange { .. }
            | MallocError::ArenaFull(_) => OUT_OF_MEMORY,
            MallocError::ZeroSize | MallocError::OtherDevice { .. } => INVALID_VALUE,
            MallocError::BadId(id) => id_code(id),
            // Not the vendor's word: nothing is made to wait on this stream, so what is there cannot be had.
            MallocError::Driver(DriverError { call: DriverCall::Wait, kind: DriverErrorKind::Unsupported, .. }) => {
                OUT_OF_MEMORY
            }
            MallocError::Driver(failed) => driver_code(failed),
            MallocError::Capturing(_) => CAPTURE_UNSUPPORTED,
            MallocError::Unusable(_) => UNKNOWN,
        })
    }
}

impl From<FreeError> for Refusal {
    fn from(error: FreeError) -> Self {
        Self(match error {
            FreeError::BadPointer(_) => INVALID_VALUE,
            FreeError::BadId(id) => id_code(id),
            FreeError::Capturing(_) => CAPTURE_UNSUPPORTED,
            FreeError::Unusable(_) => UNKNOWN,
        })
    }
}

impl From<PoolError> for Refusal {
    fn from(error: PoolError) -> Self {
        Self(match error {
            PoolError::BadId(id) => id_code(id),
            PoolError::ArenaFull(_) => OUT_OF_MEMORY,
            PoolError::OnlyReset { .. }
            | PoolError::ReadOnly(_)
            | PoolError::LimitAboveDevice { .. }
            | PoolError::Overflow { .. } => INVALID_VALUE,
            PoolError::Driver(failed) => driver_code(failed),
            PoolError::BadProperties { .. } => NOT_SUPPORTED,
            PoolError::BadRange { .. } | PoolError::LiveBlocks { .. } | PoolError::Unusable(_) => UNKNOWN,
        })
    }
}

impl From<OrderError> for Refusal {
    fn from(error: OrderError) -> Self {
        Self(match error {
            OrderError::BadId(id) => id_code(id),
            OrderError::ArenaFull(_) => OUT_OF_MEMORY,
            OrderError::Driver(failed) => driver_code(failed),
            OrderError::StreamExists(_) | OrderError::Unusable(_) => UNKNOWN,
        })
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Vendor(error) => {
                announce(&error.to_string());
                Self(NOT_INITIALIZED)
            }
            Trouble::Log(text) => {
                announce(&text);
                Self(OPERATING_SYSTEM)
            }
            Trouble::Pool(error) => error.into(),
            Trouble::Order(error) => error.into(),
            Trouble::Free(error) => error.into(),
            Trouble::Code(code, _) => Self(code),
            Trouble::Argument(_) => Self(INVALID_VALUE),
        }
    }
}

/// Says something once on the standard error stream: CUDA has codes only, and these are for whoever set the library up.
pub(super) fn announce(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        eprintln!("weir: {text}");
    }
}

thread_local! {
    /// The code of a refusal of weir's that the thread's call is about to answer.
    static REFUSED: Cell<c_int> = const { Cell::new(0) };
    /// The latest one of a function of the runtime's interface that was not asked for.
    static LATEST: Cell<c_int> = const { Cell::new(0) };
}

/// Runs the body of a function: answers the code of a refusal, and stops a panic.
pub(super) fn guard(work: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    let code = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return 0,
        Ok(Err(Refusal(code))) => code,
        Err(_) => defect(),
    };
    // A thread that is ending has no place for it any more; nobody can ask then either.
    let _ = REFUSED.try_with(|refused| refused.set(code));
    code
}

/// What a call answers that met a panic.
pub(super) fn defect() -> c_int {
    announce("a defect of weir: a panic was caught");
    UNKNOWN
}

/// Keeps the refusal of a call of the runtime's interface, if it was one, for `cudaGetLastError`.
pub(super) fn keep_refusal() {
    let refused = REFUSED.try_with(|refused| refused.replace(0)).unwrap_or(0);
    if refused != 0 {
        let _ = LATEST.try_with(|latest| latest.set(refused));
    }
}

/// Drops it: the driver's interface keeps none.
pub(super) fn drop_refusal() {
    let _ = REFUSED.try_with(|refused| refused.set(0));
}

/// The latest refusal that was not asked for.
pub(super) fn latest() -> c_int {
    LATEST.try_with(Cell::get).unwrap_or(0)
}

/// The same, which counts as asked for from then on.
pub(super) fn take_latest() -> c_int {
    LATEST.try_with(|latest| latest.replace(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_code() {
        assert_eq!(guard(|| unreachable!("on purpose")), 999);
    }

    #[test]
    fn a_refusal_is_asked_for_once() {
        assert_eq!(guard(|| Err(Refusal(OUT_OF_MEMORY))), 2);
        keep_refusal();
        assert_eq!((latest(), take_latest(), take_latest()), (2, 2, 0));
        assert_eq!(guard(|| Err(Refusal(NOT_SUPPORTED))), 801);
        drop_refusal();
        keep_refusal();
        assert_eq!(latest(), 0);
    }

    #[test]
    fn driver_failures_have_the_vendors_codes() {
        let failed = |kind, code| driver_code(DriverError { call: DriverCall::Map, code, kind });
        assert_eq!(failed(DriverErrorKind::Exhausted, 2), 2);
        assert_eq!(failed(DriverErrorKind::Unsupported, -6), 801);
        assert_eq!(failed(DriverErrorKind::Failed, 719), 719);
        assert_eq!(failed(DriverErrorKind::Failed, -3), 999);
    }
}
