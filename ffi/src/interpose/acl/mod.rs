//! `libweir_acl.so` in front of the vendor's library: memory pools of weir's, and every call that has a say in what
//! comes before what passed on and learnt from.
//!
//! The first call decides who answers. Where the vendor's library is behind this one (the program is linked with it) or
//! can be loaded, it does; else the [emulation](crate::acl). [`ways`] says which function goes which way.
//!
//! # What is believed
//!
//! A vendor's handle is known from the call that gave it out until the call that ended it; the same handle given out
//! again is another stream or event. Order is followed on the streams of a device's default context. A stream or event
//! that was not seen to begin shows that calls go round this library: no event of that context is believed from then
//! on. After work was given up (an abort, a stream destroyed by force) no order is believed until the device was
//! synchronised. Events that other processes share, and waits that may end without what they wait for, teach nothing.
//!
//! # Forks
//!
//! The child of a process that has made a call here has neither its threads nor its device: there all pools and the
//! emulation answer an error, and the vendor's functions are called with nothing learnt. A child that was forked before
//! the first call, or that executes another program, begins anew.
//!
//! # Environment
//!
//! `WEIR_ACL_LIBRARY` names the vendor's library (an absolute path or a plain file name; anything else is refused),
//! `WEIR_LOG` a file for the pools' log (each device has one: see the README), `WEIR_HOST_BYTES` the size of the emulated device.
#![allow(clippy::missing_safety_doc, reason = "each says what it needs, which is nothing for most")]

mod ends;
mod memory;
mod order;
mod vendor;
pub mod ways;

pub use super::front::Handle;
pub use super::library::Function;
pub use ends::*;
pub use memory::*;
pub use order::*;

use super::front;
use super::library::{Inside, is_forked};
use super::world::Trouble;
use crate::acl;
use crate::acl::bindings as codes;
use crate::acl::codes::{Refusal, guard, keep};
use core::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use vendor::{Acl, Side, side};
use ways::Way;

fn refuse(code: impl acl::codes::Code, text: &str) -> c_int {
    guard(|| Err(Refusal::new(code, text)))
}

/// Lets a call be answered: by the emulation, by `see`, which passes it on and learns from it, or by `pass` alone,
/// where nothing may be learnt.
pub fn answer(
    way: Way,
    emulate: impl FnOnce() -> c_int,
    see: impl FnOnce() -> c_int,
    pass: impl FnOnce() -> c_int,
) -> c_int {
    const AFTER_FORK: &str = "this process was forked off one that had begun: only the parent can go on";
    front::be(&Acl);
    let forked = is_forked();
    match side() {
        Side::Emulation if forked => refuse(codes::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, AFTER_FORK),
        Side::Emulation => emulate(),
        Side::Broken(text) => refuse(codes::ACL_ERROR_INVALID_FILE, text),
        Side::Vendor(_) if forked && way == Way::Pool => refuse(codes::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, AFTER_FORK),
        Side::Vendor(_) if forked => pass(),
        Side::Vendor(_) => match Inside::enter() {
            // The vendor's library calls itself: what matters about that is seen where the program called it.
            None => pass(),
            Some(_inside) => catch_unwind(AssertUnwindSafe(see))
                .unwrap_or_else(|_| refuse(codes::ACL_ERROR_INTERNAL_ERROR, "a defect of weir: a panic was caught")),
        },
    }
}

/// What the emulation answers to a function that it lacks.
pub fn lacking(name: &str) -> c_int {
    let text = format!("the emulation has no {name}, and there is no vendor's library: see WEIR_ACL_LIBRARY");
    keep(text);
    codes::ACL_ERROR_RT_FEATURE_NOT_SUPPORT.cast_signed()
}

/// `aclGetRecentErrMsg`: what weir said, or else what the vendor has to say.
///
/// # Safety
/// None.
pub unsafe fn recent_message(vendors: &Function) -> *const c_char {
    front::be(&Acl);
    // SAFETY: it has no contract.
    let own = unsafe { acl::aclGetRecentErrMsg() };
    let address = match side() {
        Side::Vendor(_) if own.is_null() => vendors.address(),
        _ => return own,
    };
    if address.is_null() {
        return own;
    }
    // SAFETY: the vendor's header declares the function so.
    let function = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(address) };
    // SAFETY: it has no contract.
    unsafe { function() }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Vendor(error) => Self::new(codes::ACL_ERROR_RT_FEATURE_NOT_SUPPORT, error.to_string()),
            Trouble::Pool(error) => error.into(),
            Trouble::Order(error) => error.into(),
            Trouble::Free(error) => error.into(),
            Trouble::Code(code, text) => Self::new(code, text),
            Trouble::Argument(text) => Self::argument(text),
            Trouble::Log(text) => acl::settings::bad_log(text),
        }
    }
}
