//! Calls in flight: whoever ends something waits for them.

use core::cell::RefCell;
use core::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Counts the calls that are in something.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: Mutex<u64>,
    ended: Condvar,
}

thread_local! {
    /// Where this thread's calls are: the addresses of what counts them.
    static HERE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Something that counts the calls that are in it.
pub(crate) trait Counted {
    /// The count.
    fn calls(&self) -> &Calls;
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, u64> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this thread is in something that must end before the calls of it can: a call, or work that an end
    /// waits for.
    pub(crate) fn here(&self) -> Here {
        Here::at(self.place())
    }

    /// What [`Here::at`] takes, for work on other threads.
    pub(crate) fn place(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Whether this thread is in a call of it, so that waiting for all calls would never end.
    pub(crate) fn is_here(&self) -> bool {
        HERE.try_with(|here| here.borrow().contains(&self.place())).unwrap_or(false)
    }

    /// Waits until all calls have ended. The caller made sure that no more begin.
    pub(crate) fn wait(&self) {
        let mut open = self.open();
        while *open > 0 {
            open = self.ended.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread's being in something, until it is dropped on that thread.
pub(crate) struct Here(usize);

impl Here {
    /// Only compared: what it is the address of may be gone.
    pub(crate) fn at(place: usize) -> Self {
        // A thread that is ending keeps no account any more.
        let _ = HERE.try_with(|here| here.borrow_mut().push(place));
        Self(place)
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = HERE.try_with(|here| {
            let mut here = here.borrow_mut();
            if let Some(latest) = here.iter().rposition(|other| *other == self.0) {
                here.remove(latest);
            }
        });
    }
}

/// One call in flight, from when it is made until it is dropped, on one thread.
pub(crate) struct Call<T: Counted> {
    counted: Arc<T>,
    _here: Here,
}

impl<T: Counted> Call<T> {
    /// Begins a call. Made under the lock through which `counted` was found, it is one that an end waits for.
    pub(crate) fn begin(counted: &Arc<T>) -> Self {
        let calls = counted.calls();
        *calls.open() += 1;
        Self { counted: Arc::clone(counted), _here: calls.here() }
    }
}

impl<T: Counted> Deref for Call<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted
    }
}

impl<T: Counted> Drop for Call<T> {
    fn drop(&mut self) {
        let calls = self.counted.calls();
        let mut open = calls.open();
        *open -= 1;
        if *open == 0 {
            calls.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[derive(Default)]
    struct Thing {
        calls: Calls,
        over: AtomicBool,
    }

    impl Counted for Thing {
        fn calls(&self) -> &Calls {
            &self.calls
        }
    }

    #[test]
    fn an_end_waits_for_every_call_and_a_thread_knows_where_it_is() {
        let thing = Arc::new(Thing::default());
        assert!(!thing.calls.is_here());
        let (first, second) = (Call::begin(&thing), Call::begin(&thing));
        assert!(thing.calls.is_here());
        drop(first);
        assert!(thing.calls.is_here());
        let waiting = Arc::clone(&thing);
        let end = thread::spawn(move || {
            assert!(!waiting.calls.is_here());
            waiting.calls.wait();
            waiting.over.load(Ordering::SeqCst)
        });
        thing.over.store(true, Ordering::SeqCst);
        drop(second);
        assert!(end.join().unwrap(), "it waited for the second call");
        assert!(!thing.calls.is_here());
        thing.calls.wait();
    }
}
