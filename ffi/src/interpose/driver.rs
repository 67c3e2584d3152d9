//! The vendor's device as the pools use it. A synchronisation that the program asked for is made by its own call, so
//! that it is made once, and with the program's time limit.

use super::front::{Handle, front};
use crate::vendor::VendorDriver;
use core::cell::RefCell;
use core::ffi::c_int;
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use weir::driver::{Completion, Driver, DriverCall, DriverError, DriverErrorKind, MarkerSlot, NativeStream, Target};

/// A call of the program's that waits, and its code.
pub(super) type Synchronisation = Box<dyn FnOnce() -> c_int>;

/// Set in the runtime's name of a stream that is no handle of the vendor's alone: it is a thread's own, or none of the
/// vendor's at all.
const NO_HANDLE: u64 = 1 << 63;

/// The runtime's name of a stream that the vendor is never asked about.
pub(super) const QUIET: u64 = NO_HANDLE;

/// The runtime's name of a thread's own stream. Only that thread can ask the vendor about it, under the handle that is
/// another stream for every other thread.
pub(super) fn own_stream(thread: u64, handle: Handle) -> u64 {
    NO_HANDLE | thread << 8 | handle.addr() as u64
}

/// Whether streams may give up what they wait for.
static WAITS_END: AtomicBool = AtomicBool::new(false);

/// Streams may give up what they wait for, from now on.
pub(super) fn distrust_waits() {
    WAITS_END.store(true, Ordering::SeqCst);
}

pub(super) fn waits_are_believed() -> bool {
    !WAITS_END.load(Ordering::SeqCst)
}

thread_local! {
    /// What the thread's next synchronisation is made by.
    static INSTEAD: RefCell<Option<Synchronisation>> = const { RefCell::new(None) };
}

/// Runs `work`, in which the first synchronisation is made by `call`.
pub(super) fn synchronise_by<R>(call: Synchronisation, work: impl FnOnce() -> R) -> R {
    INSTEAD.set(Some(call));
    let done = work();
    INSTEAD.take();
    done
}

/// The vendor's driver, and whether what it says of completion is to be believed: after work was given up, what waited
/// for it is complete before what that waited for.
pub(super) struct Passing {
    driver: VendorDriver,
    suspect: Arc<AtomicBool>,
}

/// The driver, for one call that captures do not mind.
struct Aside<'a> {
    driver: &'a VendorDriver,
    before: c_int,
}

impl Deref for Aside<'_> {
    type Target = VendorDriver;

    fn deref(&self) -> &VendorDriver {
        self.driver
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        front().rejoin(self.before);
    }
}

fn unsupported(call: DriverCall) -> DriverError {
    DriverError { call, code: 0, kind: DriverErrorKind::Unsupported }
}

/// What the shim calls a stream that the vendor can be asked about, on this thread. In a capture it would take the
/// question for work.
fn asked(stream: NativeStream) -> Option<NativeStream> {
    let (handle, name) = match stream.0 & NO_HANDLE {
        0 => (stream.0, stream.0),
        // `SHIM_CALLERS_STREAM`, where the vendor's handle is CUDA's.
        _ if front().thread() == Some((stream.0 ^ NO_HANDLE) >> 8) => (stream.0 & 0xff, NO_HANDLE | stream.0 & 0xff),
        _ => return None,
    };
    let handle: Handle = core::ptr::without_provenance_mut(usize::try_from(handle).ok()?);
    (!front().is_captured(handle)).then_some(NativeStream(name))
}

/// The same for whatever is asked about.
fn asked_of(what: Target) -> Option<Target> {
    match what {
        Target::Stream(stream) => asked(stream).map(Target::Stream),
        other => Some(other),
    }
}

impl Passing {
    pub(super) fn new(driver: VendorDriver, suspect: Arc<AtomicBool>) -> Self {
        Self { driver, suspect }
    }

    fn aside(&self) -> Aside<'_> {
        Aside { driver: &self.driver, before: front().step_aside() }
    }
}

impl Driver for Passing {
    weir::hand_on! { self => self.aside(); properties reserve release create destroy map unmap }
    weir::hand_on! { self => self.driver; now }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        let stream = asked(stream).ok_or(unsupported(DriverCall::Lay))?;
        self.aside().lay(marker, stream)
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        let what = asked_of(what).ok_or(unsupported(DriverCall::Query))?;
        let answer = self.aside().query(what)?;
        // Looked at afterwards: whoever gives work up says so first.
        Ok(if self.suspect.load(Ordering::SeqCst) { Completion::Pending } else { answer })
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        // One that may end early is none.
        let stream = asked(stream).filter(|_| waits_are_believed()).ok_or(unsupported(DriverCall::Wait))?;
        self.aside().wait(stream, marker)
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        match INSTEAD.take().map(|call| call()) {
            Some(0) => Ok(()),
            Some(code) => Err(DriverError { call: DriverCall::Synchronise, code, kind: DriverErrorKind::Failed }),
            None => self.aside().synchronise(asked_of(what).ok_or(unsupported(DriverCall::Synchronise))?),
        }
    }
}
