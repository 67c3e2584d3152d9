//! The vendor's functions, and what has become of the process.

use super::front::front;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Whether this process was forked off one that had begun.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Notices forks from now on. To be called once.
///
/// # Errors
/// The system's code.
pub(super) fn watch_forks() -> Result<(), c_int> {
    // SAFETY: a function without a contract, which only sets a flag.
    match unsafe { libc::pthread_atfork(None, None, Some(forked)) } {
        0 => Ok(()),
        code => Err(code),
    }
}

/// Whether this is the child of a process that had begun: its threads, locks and device stayed there.
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A thread's being in a call of this library, until it is dropped.
pub(super) struct Inside;

impl Inside {
    /// `None`: the thread is in one already, so that the vendor's library is what calls.
    pub(super) fn enter() -> Option<Self> {
        // A thread that is ending keeps no account any more.
        let was = INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(false);
        (!was).then_some(Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.set(false));
    }
}

/// Where functions are looked for.
pub(super) struct Library(*mut c_void);

// SAFETY: only handed to `dlsym`, from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Whatever comes behind this library.
    pub(super) const BEHIND: Self = Self(libc::RTLD_NEXT);

    /// The system's handle of a library that stays open.
    pub(super) const fn new(handle: *mut c_void) -> Self {
        Self(handle)
    }

    pub(super) fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle that stays open, or the one for whatever comes behind this library; and a string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
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
        let found = front().find(self.name);
        self.address.store(found, Ordering::Relaxed);
        found
    }

    /// What a call answers where the library lacks it.
    pub fn lacking(&self) -> c_int {
        front().lacking(self.name)
    }
}

/// Calls a [`Function`] of the vendor's, which its header declares with these arguments and `int` as its answer; what the
/// library lacks is answered as that. Whoever calls keeps the header's promises about the arguments.
#[macro_export]
macro_rules! call_vendors {
    ($function:expr, $($arg:ident: $type:ty),*) => {{
        type Type = unsafe extern "C" fn($($type),*) -> ::core::ffi::c_int;
        let address = $function.address();
        if address.is_null() {
            $function.lacking()
        } else {
            // SAFETY: the vendor's header declares the function so.
            let function = unsafe { ::core::mem::transmute::<*mut ::core::ffi::c_void, Type>(address) };
            // SAFETY: the arguments are handed on as they came, with the caller's promises about them.
            unsafe { function($($arg),*) }
        }
    }};
}

/// Functions of the vendor's that the library calls itself.
macro_rules! vendors {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $symbol:literal;)+) => {
        $(
            $(#[$doc])*
            pub(super) fn $name($($arg: $type),*) -> core::ffi::c_int {
                use $crate::interpose::library::Function;
                static FUNCTION: Function = Function::new($symbol);
                // References are good, and handles are the program's or the vendor's own.
                $crate::call_vendors!(FUNCTION, $($arg: $type),*)
            }
        )+
    };
}
pub(super) use vendors;
