//! The lock is the embedder's choice.

use core::cell::RefCell;

/// A lock around the runtime's state. weir takes it once per decision and never while it calls a driver or a sink, so
/// whoever needs no driver call never waits for one. Of weir's locks it is the last: see `runtime/mod.rs`.
pub trait Lock<T> {
    /// Whether another thread can be under way while this one waits.
    const SHARED: bool;

    /// A lock around `value`.
    fn new(value: T) -> Self;

    /// Waits for the lock and runs `f`. `None`: it can never be had (re-entered on one thread).
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R>;

    /// Runs `f` if the lock is free now.
    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R>;

    /// Lets others run while a call of theirs that is in flight is waited for.
    fn relax();
}

impl<T> Lock<T> for spin::Mutex<T> {
    const SHARED: bool = true;

    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        Some(f(&mut taken(self)))
    }

    #[inline(always)]
    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_lock().map(|mut value| f(&mut value))
    }

    fn relax() {
        core::hint::spin_loop();
    }
}

/// Waits for a lock. One of it is enough where room is short.
#[cfg_attr(feature = "compact", inline(never))]
#[cfg_attr(not(feature = "compact"), inline(always))]
fn taken<T>(lock: &spin::Mutex<T>) -> spin::MutexGuard<'_, T> {
    lock.lock()
}

/// For a single thread.
impl<T> Lock<T> for RefCell<T> {
    const SHARED: bool = false;

    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_with(f)
    }

    #[inline(always)]
    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_borrow_mut().ok().map(|mut value| f(&mut value))
    }

    fn relax() {}
}
