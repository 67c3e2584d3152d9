//! The runtime's lock. It can interrupt the processor while it is held, to try what a handler may do then.

use super::machine;
use core::sync::atomic::{AtomicBool, Ordering};
use weir::Lock;

/// Whether the next time the lock is held an interrupt comes.
static ARMED: AtomicBool = AtomicBool::new(false);

/// Lets an interrupt come the next time that the lock is held.
pub(super) fn arm() {
    ARMED.store(true, Ordering::Relaxed);
}

/// A spin lock.
#[derive(Debug)]
pub(super) struct Interrupted<T>(spin::Mutex<T>);

impl<T> Lock<T> for Interrupted<T> {
    const SHARED: bool = true;

    fn new(value: T) -> Self {
        Self(spin::Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value = self.0.lock();
        if ARMED.load(Ordering::Relaxed) {
            ARMED.store(false, Ordering::Relaxed);
            machine::interrupt();
        }
        Some(f(&mut value))
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.try_lock().map(|mut value| f(&mut value))
    }

    fn relax() {
        core::hint::spin_loop();
    }
}
