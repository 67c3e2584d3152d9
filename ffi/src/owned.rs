//! A runtime that owns the arenas it lives in, for programs that make and end runtimes as they go.

use crate::arenas::HeapArenas;
use crate::lock::Parking;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use weir::driver::Driver;
use weir::trace::Sink;
use weir::{Capacities, Runtime, State};

/// A runtime for several threads, with its arenas on the heap.
pub(crate) struct Owned<D, S> {
    runtime: ManuallyDrop<Runtime<'static, D, S, Parking<State<'static>>>>,
    arenas: Lent,
}

/// The arenas that a runtime was lent.
struct Lent(NonNull<HeapArenas>);

// SAFETY: nobody looks at the arenas but the runtime that they are lent to, until they are freed.
unsafe impl Send for Lent {}
// SAFETY: as above; there is no way to them through a shared reference.
unsafe impl Sync for Lent {}

impl<D: Driver, S: Sink> Owned<D, S> {
    /// A runtime with nothing in it.
    pub(crate) fn new(capacities: Capacities, driver: D, sink: S) -> Self {
        let mut arenas = NonNull::from(Box::leak(Box::new(HeapArenas::new(capacities))));
        // SAFETY: just leaked, so it lives until `drop` frees it, and nobody else has a reference to it.
        let lent = unsafe { arenas.as_mut() };
        let runtime = ManuallyDrop::new(Runtime::new(lent.lend(), driver, sink));
        Self { runtime, arenas: Lent(arenas) }
    }
}

impl<D, S> Deref for Owned<D, S> {
    type Target = Runtime<'static, D, S, Parking<State<'static>>>;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}

impl<D, S> Drop for Owned<D, S> {
    fn drop(&mut self) {
        // SAFETY: this is the only place that drops it, and `self` is going away.
        unsafe { ManuallyDrop::drop(&mut self.runtime) };
        // SAFETY: the box was given up in `new`, and the runtime that borrowed it is gone.
        drop(unsafe { Box::from_raw(self.arenas.0.as_ptr()) });
    }
}
