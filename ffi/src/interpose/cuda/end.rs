//! The end of the process: from then on nothing is asked of a driver that may be gone already.

use crate::interpose::library::is_forked;
use crate::interpose::world;
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::catch_unwind;
use std::sync::Once;

static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the process is ending.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

extern "C" fn ending() {
    ENDING.store(true, Ordering::SeqCst);
    // The log is the parent's, and so are the threads that may hold its locks.
    if is_forked() {
        return;
    }
    // What is left of the log; a panic has nobody to go to.
    let _ = catch_unwind(world::flush);
}

/// Notices the end, from the first call on. What the program registered before that ends after it.
pub(super) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: a function that does not unwind. Without it the log may lack its end, and nothing else.
        unsafe { libc::atexit(ending) };
    });
}
