//! The vendor's library: which it is, and its functions.

use crate::acl::codes::{Refusal, keep};
use crate::environment::variable;
use crate::vendor::{self, Vendor, VendorError};
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::OnceLock;

/// A handle of the vendor's: only compared and handed on.
pub type Handle = *mut c_void;

/// Where the vendor's functions are looked for.
pub(super) struct Library(*mut c_void);

// SAFETY: only handed to `dlsym`, from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle that stays open, or the one for whatever comes behind this library; and a string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
}

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
/// Whether this process was forked off one that had begun.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Who answers; decided by the first call.
pub(super) fn side() -> &'static Side {
    SIDE.get_or_init(|| {
        // SAFETY: a function without a contract, which only sets a flag.
        let watched = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        match watched {
            0 => decide(),
            code => Side::Broken(format!("the system cannot tell of forks: pthread_atfork failed with {code}")),
        }
    })
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Whether this is the child of a process that had begun: its threads, locks and device stayed there.
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

fn decide() -> Side {
    // A function that the emulation lacks: `libweir.so` may be in the process too.
    let behind = Library(libc::RTLD_NEXT);
    if !behind.find(c"aclrtGetVersion").is_null() {
        return Side::Vendor(behind);
    }
    match vendor::load(Vendor::Acl) {
        Ok(handle) => Side::Vendor(Library(handle)),
        // What nobody asked for need not be there; one that lacks another library is broken.
        Err(VendorError::Library(text)) if asks_for_none() && text.starts_with("libascendcl.so:") => Side::Emulation,
        Err(error) => Side::Broken(error.to_string()),
    }
}

/// Whether no library is named.
fn asks_for_none() -> bool {
    variable(Vendor::Acl.variable()).is_none()
}

/// One of the vendor's functions.
pub struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    /// The function of this name, which is looked for when it is first called.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The same, for a name that ends with a 0. An empty name where it does not: no library has that.
    #[must_use]
    pub const fn of(name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self::new(name),
            Err(_) => Self::new(c""),
        }
    }

    /// Its address, or null where the library lacks it.
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        let Side::Vendor(library) = side() else { return ptr::null_mut() };
        let found = library.find(self.name);
        self.address.store(found, Ordering::Relaxed);
        found
    }

    /// What a call answers where the library lacks it.
    pub fn lacking(&self) -> c_int {
        let text = format!("the vendor's library lacks {:?}: it is too old", self.name);
        let refusal = Refusal::new(crate::acl::bindings::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text);
        keep(refusal.text);
        refusal.code
    }
}

macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $symbol:literal;)+) => {
        $(
            $(#[$doc])*
            pub(super) fn $name($($arg: $type),*) -> c_int {
                static FUNCTION: Function = Function::new($symbol);
                let address = FUNCTION.address();
                if address.is_null() {
                    return FUNCTION.lacking();
                }
                // SAFETY: the vendor's header declares the function so.
                let function = unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address) };
                // SAFETY: references are good, and handles are the program's or the vendor's own.
                unsafe { function($($arg),*) }
            }
        )+
    };
}

calls! {
    /// The thread's context.
    fn get_context(context: &mut Handle) c"aclrtGetCurrentContext";
    fn set_context(context: Handle) c"aclrtSetCurrentContext";
    /// The device of the thread's context.
    fn get_device(device: &mut i32) c"aclrtGetDevice";
    fn count_devices(count: &mut u32) c"aclrtGetDeviceCount";
    fn set_device(device: i32) c"aclrtSetDevice";
    fn reset_device(device: i32) c"aclrtResetDevice";
    fn create_stream(stream: &mut Handle) c"aclrtCreateStream";
    fn query_stream(stream: Handle, status: &mut c_uint) c"aclrtStreamQuery";
    fn synchronise_stream(stream: Handle) c"aclrtSynchronizeStream";
    fn synchronise_device() c"aclrtSynchronizeDevice";
    fn malloc(ptr: &mut *mut c_void, size: usize, policy: c_uint) c"aclrtMalloc";
    fn free(ptr: *mut c_void) c"aclrtFree";
    fn capture(stream: Handle, status: &mut c_uint, model: &mut Handle) c"aclmdlRICaptureGetInfo";
}
