//! Threads, each of which has a default stream of its own.

use super::end::is_ending;
use crate::interpose::handles;
use crate::interpose::library::is_forked;
use crate::interpose::world;
use core::sync::atomic::{AtomicU64, Ordering};

/// A thread, by a number that no other has had.
struct Thread(u64);

impl Drop for Thread {
    fn drop(&mut self) {
        // The thread has no number any more, so nothing is asked of the driver about its stream.
        if !is_ending() && !is_forked() {
            handles::take_thread(self.0).iter().for_each(|stream| world::retire(stream));
        }
    }
}

thread_local! {
    static THREAD: Thread = Thread({
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    });
}

/// The thread's number; `None`: it is ending.
pub(super) fn number() -> Option<u64> {
    THREAD.try_with(|thread| thread.0).ok()
}
