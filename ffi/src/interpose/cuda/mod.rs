//! `libweir_cuda.so`, preloaded in front of CUDA's runtime and driver: memory pools of weir's, under the names of both
//! interfaces. [`ways`] says which way each function goes.
//!
//! A stream is the same under both names, so there is one table of them. Null is the default stream that all threads
//! share or the thread's own, as the name of the function says (`_ptsz`); both are ordered against blocking streams as
//! CUDA documents. Whether a stream is captured is asked of the driver with each call, and so is, from CUDA 12 on,
//! whether its handle still names the stream that was seen to begin.
//!
//! # The end of the process
//!
//! From when the process exits on, pools allocate nothing and ask nothing of the driver, which may be gone: a free of a
//! pool's memory succeeds and does nothing.
//!
//! # Environment
//!
//! `WEIR_CUDA_LIBRARY` names the driver's library (an absolute path or a plain file name; anything else is refused),
//! `WEIR_LOG` a file for the pools' log (each device has one: see the README).

mod codes;
mod end;
mod ends;
mod memory;
mod order;
mod pools;
mod start;
mod threads;
mod vendor;
pub mod ways;

pub use super::front::Handle;
pub use super::library::Function;
pub use ends::*;
pub use memory::*;
pub use order::*;
pub use pools::*;
pub use start::start;

use super::front;
use super::library::{Inside, is_forked, watch_forks};
use codes::{NOT_INITIALIZED, Refusal, guard};
use core::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use vendor::Cuda;
use ways::Way;

/// `cudaIpcEventHandle_t`, `CUipcEventHandle`: passed by value, and never looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle([c_char; 64]);

/// `cudaExtent`: the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent([usize; 3]);

/// Whose function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    Runtime,
    Driver,
}

fn interface(name: &str) -> Interface {
    if name.starts_with("cuda") { Interface::Runtime } else { Interface::Driver }
}

/// Whether the system tells of forks.
fn forks_are_seen() -> bool {
    static WATCHED: OnceLock<bool> = OnceLock::new();
    *WATCHED.get_or_init(|| watch_forks().is_ok())
}

/// Lets a call be answered: by `see`, which passes it on and learns from it, or by `pass` alone, where nothing may be
/// learnt.
pub fn answer(way: Way, name: &str, see: impl FnOnce() -> c_int, pass: impl FnOnce() -> c_int) -> c_int {
    front::be(&Cuda);
    // The vendor's library calls itself: what matters about that is seen where the program called it.
    let Some(_inside) = Inside::enter() else { return pass() };
    // Asking for an error begins nothing that a fork would end.
    let gone = way != Way::Errors && (!forks_are_seen() || is_forked());
    let code = match way {
        Way::Pool if gone => guard(|| Err(Refusal(NOT_INITIALIZED))),
        // They look themselves whether the process is ending.
        Way::Pool | Way::Memory | Way::Errors if !gone => see_it(way, name, see),
        _ if gone || end::is_ending() => return pass(),
        _ => see_it(way, name, see),
    };
    match interface(name) {
        Interface::Runtime => codes::keep_refusal(),
        Interface::Driver => codes::drop_refusal(),
    }
    code
}

fn see_it(way: Way, name: &str, see: impl FnOnce() -> c_int) -> c_int {
    if interface(name) == Interface::Runtime && binds(way) && !end::is_ending() {
        vendor::bind_runtime();
    }
    catch_unwind(AssertUnwindSafe(see)).unwrap_or_else(|_| codes::defect())
}

/// Whether the runtime gives the thread a context with such a call: which stream the default one is depends on it.
fn binds(way: Way) -> bool {
    matches!(way, Way::Pool | Way::Records | Way::Waits | Way::Completes)
}

/// The thread's latest error, which is forgotten.
///
/// # Safety
/// None.
pub unsafe fn takes_error(pass: impl Fn() -> c_int) -> c_int {
    let own = codes::take_latest();
    match pass() {
        0 => own,
        code => code,
    }
}

/// The thread's latest error.
///
/// # Safety
/// None.
pub unsafe fn looks_at_error(pass: impl Fn() -> c_int) -> c_int {
    match pass() {
        0 => codes::latest(),
        code => code,
    }
}
