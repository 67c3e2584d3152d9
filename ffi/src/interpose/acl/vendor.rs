//! The vendor's library: which it is, and what it answers.

use super::order::is_capturing;
use crate::acl::bindings as codes;
use crate::acl::codes::{Refusal, keep};
use crate::environment::variable;
use crate::interpose::front::{Front, Handle, Implied};
use crate::interpose::library::{Library, vendors, watch_forks};
use crate::vendor::{self, Vendor, VendorError};
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::ptr;
use std::sync::OnceLock;
use weir::policy::StreamKind;

/// Who answers.
pub(super) enum Side {
    /// The vendor's library does; weir has the pools.
    Vendor(Library),
    /// There is none.
    Emulation,
    /// One is named that does not load, and why.
    Broken(String),
}

static SIDE: OnceLock<Side> = OnceLock::new();

/// Who answers; decided by the first call.
pub(super) fn side() -> &'static Side {
    SIDE.get_or_init(|| match watch_forks() {
        Ok(()) => decide(),
        Err(code) => Side::Broken(format!("the system cannot tell of forks: pthread_atfork failed with {code}")),
    })
}

fn decide() -> Side {
    // A function that the emulation lacks: `libweir.so` may be in the process too.
    let behind = Library::BEHIND;
    if !behind.find(c"aclrtGetVersion").is_null() {
        return Side::Vendor(behind);
    }
    match vendor::load(Vendor::Acl) {
        Ok(handle) => Side::Vendor(Library::new(handle)),
        // What nobody asked for need not be there; one that lacks another library is broken.
        Err(VendorError::Library(text)) if asks_for_none() && text.starts_with("libascendcl.so:") => Side::Emulation,
        Err(error) => Side::Broken(error.to_string()),
    }
}

/// Whether no library is named.
fn asks_for_none() -> bool {
    variable(Vendor::Acl.variable()).is_none()
}

/// CANN's interface.
pub(super) struct Acl;

impl Front for Acl {
    fn vendor(&self) -> Vendor {
        Vendor::Acl
    }

    fn find(&self, name: &CStr) -> *mut c_void {
        match side() {
            Side::Vendor(library) => library.find(name),
            Side::Emulation | Side::Broken(_) => ptr::null_mut(),
        }
    }

    fn lacking(&self, name: &CStr) -> c_int {
        let text = format!("the vendor's library lacks {name:?}: it is too old");
        let refusal = Refusal::new(codes::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text);
        keep(refusal.text);
        refusal.code
    }

    fn context(&self) -> usize {
        let mut context: Handle = ptr::null_mut();
        match get_context(&mut context) {
            0 => context.addr(),
            _ => 0,
        }
    }

    fn device(&self) -> Option<u32> {
        let mut device = -1;
        (get_device(&mut device) == 0).then(|| u32::try_from(device).ok()).flatten()
    }

    /// The context that `aclrtSetDevice` gives.
    fn home(&self, device: u32) -> Result<usize, c_int> {
        let number = i32::try_from(device).unwrap_or(i32::MAX);
        let (mut before, mut found): (Handle, Handle) = (ptr::null_mut(), ptr::null_mut());
        let had = get_context(&mut before) == 0 && !before.is_null();
        let mut code = set_device(number);
        if code == 0 {
            code = get_context(&mut found);
            // The driver holds the device too, so it is not the last to let go.
            reset_device(number);
            if had {
                set_context(before);
            }
        }
        if code == 0 { Ok(found.addr()) } else { Err(code) }
    }

    /// The default stream of each context.
    fn implied(&self, stream: Handle) -> Option<Implied> {
        stream.is_null().then_some(Implied { kind: StreamKind::NonBlocking, thread: 0 })
    }

    fn identity(&self, _: Handle) -> Option<u64> {
        None
    }

    fn is_capturing(&self) -> bool {
        is_capturing()
    }

    fn is_captured(&self, stream: Handle) -> bool {
        let (mut status, mut model) = (0, ptr::null_mut());
        is_capturing() && (capture(stream, &mut status, &mut model) != 0 || status != 0)
    }

    fn step_aside(&self) -> c_int {
        0
    }

    fn rejoin(&self, _: c_int) {}
}

vendors! {
    /// The thread's context.
    fn get_context(context: &mut Handle) c"aclrtGetCurrentContext";
    fn set_context(context: Handle) c"aclrtSetCurrentContext";
    /// The device of the thread's context.
    fn get_device(device: &mut i32) c"aclrtGetDevice";
    fn count_devices(count: &mut u32) c"aclrtGetDeviceCount";
    fn set_device(device: i32) c"aclrtSetDevice";
    fn reset_device(device: i32) c"aclrtResetDevice";
    fn query_stream(stream: Handle, status: &mut c_uint) c"aclrtStreamQuery";
    fn synchronise_stream(stream: Handle) c"aclrtSynchronizeStream";
    fn synchronise_device() c"aclrtSynchronizeDevice";
    fn malloc(ptr: &mut *mut c_void, size: usize, policy: c_uint) c"aclrtMalloc";
    fn free(ptr: *mut c_void) c"aclrtFree";
    fn capture(stream: Handle, status: &mut c_uint, model: &mut Handle) c"aclmdlRICaptureGetInfo";
}
