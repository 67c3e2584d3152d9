//! What the vendors' interfaces differ in, as far as the parts that they share ask for it.

use crate::vendor::Vendor;
use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use weir::policy::StreamKind;

/// A handle of the vendor's: only compared and handed on.
pub type Handle = *mut c_void;

/// A vendor's interface.
pub(super) trait Front: Sync {
    /// Whose it is.
    fn vendor(&self) -> Vendor;

    /// The vendor's function of this name; null: there is none.
    fn find(&self, name: &CStr) -> *mut c_void;

    /// What a call answers where the vendor's library lacks it.
    fn lacking(&self, name: &CStr) -> c_int;

    /// The thread's context, or 0 where it has none.
    fn context(&self) -> usize;

    /// The device of the thread's context.
    fn device(&self) -> Option<u32>;

    /// The context of a device whose streams have their order followed. The thread's own stays.
    ///
    /// # Errors
    /// The vendor's code.
    fn home(&self, device: u32) -> Result<usize, c_int>;

    /// Which stream a handle names that is one without having been created.
    fn implied(&self, stream: Handle) -> Option<Implied>;

    /// The thread's number, counted from 1, where threads have streams of their own.
    fn thread(&self) -> Option<u64> {
        None
    }

    /// What tells a stream from others that had its handle, where the vendor says that.
    fn identity(&self, stream: Handle) -> Option<u64>;

    /// Whether any stream's calls are being captured, where nothing can be learnt meanwhile.
    fn is_capturing(&self) -> bool {
        false
    }

    /// Whether a stream's calls are being captured, as far as the vendor says.
    fn is_captured(&self, stream: Handle) -> bool;

    /// Lets the thread make calls that captures would not allow. The answer is for [`rejoin`](Self::rejoin).
    fn step_aside(&self) -> c_int;

    /// Ends what [`step_aside`](Self::step_aside) began.
    fn rejoin(&self, before: c_int);
}

/// A stream that exists without having been created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Implied {
    pub(super) kind: StreamKind,
    /// The thread that it is of, counted from 1; 0: it is of the context.
    pub(super) thread: u64,
}

static FRONT: OnceLock<&'static dyn Front> = OnceLock::new();

/// Says whose interface this library is. Each exported function does so before anything else.
pub(super) fn be(front: &'static dyn Front) {
    FRONT.get_or_init(|| front);
}

/// Whose interface this library is.
pub(super) fn front() -> &'static dyn Front {
    *FRONT.get().unwrap_or_else(|| unreachable!("each exported function says whose it is"))
}
