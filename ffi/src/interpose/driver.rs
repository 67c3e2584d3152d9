//! The vendor's device as the pools use it. A synchronisation that the program asked for is made by its own call, so
//! that it is made once, and with the program's time limit.

use crate::vendor::VendorDriver;
use core::cell::RefCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use weir::driver::{Completion, Driver, DriverCall, DriverError, DriverErrorKind, MarkerSlot, NativeStream, Target};

/// A call of the program's that waits, and its code.
pub(super) type Synchronisation = Box<dyn FnOnce() -> c_int>;

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

impl Passing {
    pub(super) fn new(driver: VendorDriver, suspect: Arc<AtomicBool>) -> Self {
        Self { driver, suspect }
    }
}

impl Driver for Passing {
    weir::hand_on! { self => self.driver; properties reserve release create destroy map unmap lay now }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        let answer = self.driver.query(what)?;
        // Looked at afterwards: whoever gives work up says so first.
        Ok(if self.suspect.load(Ordering::SeqCst) { Completion::Pending } else { answer })
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        // One that may end early is none.
        if !waits_are_believed() {
            return Err(DriverError { call: DriverCall::Wait, code: 0, kind: DriverErrorKind::Unsupported });
        }
        self.driver.wait(stream, marker)
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        match INSTEAD.take().map(|call| call()) {
            None => self.driver.synchronise(what),
            Some(0) => Ok(()),
            Some(code) => Err(DriverError { call: DriverCall::Synchronise, code, kind: DriverErrorKind::Failed }),
        }
    }
}
