//! A lock that parks the thread which waits for it, for hosted programs: a spinning one wastes the processor where more
//! threads than cores meet.

use std::sync::{Mutex, PoisonError, TryLockError};
use weir::Lock;

/// [`std::sync::Mutex`] as a runtime's lock.
#[derive(Debug, Default)]
pub struct Parking<T>(Mutex<T>);

impl<T> Lock<T> for Parking<T> {
    const SHARED: bool = true;

    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        Some(f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        match self.0.try_lock() {
            Ok(mut value) => Some(f(&mut value)),
            Err(TryLockError::Poisoned(value)) => Some(f(&mut value.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn relax() {
        std::thread::yield_now();
    }
}
