//! Long work that somebody watches: how far it is, and whether it is still wanted.

use crate::decode::Progress;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static WATCHED: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Somebody who watches work on another thread. Clones watch the same work.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

struct Shared {
    stopped: AtomicBool,
    progress: Mutex<Option<Progress>>,
    /// Called whenever it went on.
    wake: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.is_stopped()).field("progress", &self.progress()).finish()
    }
}

impl Watch {
    /// A watch that calls this whenever the work went on, from the work's thread.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { stopped: AtomicBool::new(false), progress: Mutex::new(None), wake: Box::new(wake) }))
    }

    /// The work is not wanted any more: it ends soon, without a result.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// How far it is; `None` before it said so.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work on this thread, watched. `None` where it was stopped.
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        WATCHED.set(Some(self.clone()));
        let result = work();
        WATCHED.set(None);
        (!self.is_stopped()).then_some(result)
    }
}

/// Whether this thread's work is watched.
pub(crate) fn is_watched() -> bool {
    WATCHED.with_borrow(Option::is_some)
}

/// Whether this thread's work is not wanted any more.
pub(crate) fn is_stopped() -> bool {
    WATCHED.with_borrow(|watch| watch.as_ref().is_some_and(Watch::is_stopped))
}

/// Tells whoever watches this thread how far it is.
pub(crate) fn tell(progress: Progress) {
    WATCHED.with_borrow(|watch| {
        if let Some(watch) = watch {
            *watch.0.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
            (watch.0.wake)();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watch_sees_how_far_the_work_is_and_stops_it() {
        let woken = Arc::new(AtomicBool::new(false));
        let wake = Arc::clone(&woken);
        let watch = Watch::new(move || wake.store(true, Ordering::Relaxed));
        let there = Progress { what: "reading", done: 3, total: Some(4) };
        let done = watch.over(|| {
            assert!(is_watched() && !is_stopped());
            tell(there);
            7
        });
        assert_eq!((done, watch.progress()), (Some(7), Some(there)));
        assert!(woken.load(Ordering::Relaxed) && !is_watched());
        watch.stop();
        assert_eq!(watch.over(is_stopped), None);
    }
}
