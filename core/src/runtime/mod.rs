//! The runtime: pools, streams and events together. The only module that calls the driver and writes the log.
//!
//! **Plan, perform, commit.** A call looks at the facts under the lock and decides on one driver call; the driver is
//! called without the lock; the outcome is committed under the lock, and the call decides again. What is half way is in
//! transit: counted, offered to nobody. A call that needs no driver call takes the lock once.
//!
//! # Locks
//! There are two, and they nest in this order:
//!
//! 1. the outlet's: the sink, and the page on its way there. It is taken when no lock of weir's is held, and by calls that
//!    hand a page on without waiting: who finds it taken leaves.
//! 2. the state's, which is the embedder's [`Lock`]: everything else. It is taken once per decision, for a time that the
//!    facts bound and no device does, and nothing that can wait is called under it.
//!
//! * The driver is called with neither of the two. Whatever locks a driver has come after weir's, so it may call back:
//!   into any call from its clock on, apart from one that waits for the call in flight itself.
//! * A sink runs under the outlet's lock and not under the state's: it may make calls, whose pages then wait for it. It must
//!   not ask for itself ([`Runtime::with_sink`], which would wait for ever).
//! * What waits for other calls (destroying what is pinned, a malloc for memory in transit) waits with neither, by
//!   [`Lock::relax`].
//!
//! # Interrupt handlers
//! A handler may call [`Runtime::try_malloc_async`] and [`Runtime::try_free_async`], and no other function: these two take the
//! lock where it is free and answer [`Unusable::Busy`](crate::error::Unusable::Busy) where it is not, make no driver call but
//! reading the clock, and leave finished pages to the next other call. Every other function would wait for ever for whom it
//! interrupted. `examples/firmware` makes the two calls from a software interrupt, with the lock free and held.
//!
//! # Steps
//! What a call looks at is bounded by the capacities: slots of arenas, cells of lookups and entries of clocks are its steps,
//! each of a few instructions. With `S` streams and trees of `d` levels (the log2 of the blocks, as keys come; at most the
//! bits of a key, 192):
//!
//! | call | steps at most |
//! | --- | --- |
//! | malloc that one block serves | 100 + 6 (S + 64) (20 + 2 d): one search for each stream that has freed, and 64 blocks that wait for several positions; up to six times, where blocks are joined before one is cut |
//! | free | 64 + 4 d: 32 cells of the lookup, more only where addresses collide; the next call carries it out |
//! | use, record, wait | 100 + 6 S |
//! | malloc from a run of blocks, growth, trim, release, synchronisation | some for each block, granule and stream of the device |
//! | free of a wrong pointer | some, and one for each block of its pool |
//!
//! Two cases are not in the table: a free in a full arena of blocks whose addresses collide, and a malloc there that needs
//! one more slot: O(blocks) each. Every scene of the search for the worst call is held to the table
//! (`xtask/bench/tests/steps.rs`).

mod beside;
mod events;
mod free;
mod grow;
mod judge;
mod ladder;
mod lock;
mod malloc;
mod picture;
mod place;
mod pools;
mod refusal;
mod release;
mod report;
mod state;
mod storage;
mod streams;
mod sync;
mod verify;

pub use crate::policy::Capture;
pub use events::Recorded;
pub use judge::{Access, Candidate, Outlook};
pub use lock::Lock;
pub use release::Trimmed;
pub use report::BlockInfo;
pub use state::{Counters, State};
pub use storage::{Arenas, Capacities, Singles, Storage};
pub use streams::StreamConfig;
pub use verify::Violation;

use crate::driver::{
    Completion, Driver, DriverError, GranuleHandle, MarkerSlot, NativeStream, Pressure, Relief, Target,
};
use crate::error::Unusable;
use crate::id::DeviceId;
use crate::trace::{Page, Sink, records_in};
use crate::units::{DevicePtr, Nanos};
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// A pool runtime over lent arenas, a driver, a sink for the log, and the embedder's choice of lock.
///
/// All methods take `&self`. With a [`spin::Mutex`] (see [`Shared`](crate::Shared)) it may be called from several
/// threads; with a `RefCell` (see [`Local`](crate::Local)) from one.
pub struct Runtime<'a, D, S, L> {
    state: L,
    driver: D,
    outlet: spin::Mutex<Outlet<'a, S>>,
    arenas: PhantomData<&'a ()>,
}

/// The sink, and the page on its way there.
struct Outlet<'a, S> {
    sink: S,
    page: &'a mut Page,
}

/// One driver call that a plan asks for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "compact", repr(u32))]
pub(crate) enum Action {
    Create { device: DeviceId },
    Destroy { device: DeviceId, handle: GranuleHandle },
    Map { device: DeviceId, at: DevicePtr, handle: GranuleHandle, stream: Option<NativeStream> },
    Unmap { device: DeviceId, at: DevicePtr, stream: Option<NativeStream> },
    Lay { marker: MarkerSlot, stream: NativeStream },
    Query { what: Target },
    Wait { stream: NativeStream, marker: MarkerSlot },
    Synchronise { what: Target },
    Press { pressure: Pressure },
}

/// The kinds of driver calls, as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionKind {
    Create,
    Destroy,
    Map,
    Unmap,
    Lay,
    Query,
    Wait,
    Synchronise,
    Press,
}

impl Action {
    pub(crate) const fn kind(&self) -> ActionKind {
        match self {
            Self::Create { .. } => ActionKind::Create,
            Self::Destroy { .. } => ActionKind::Destroy,
            Self::Map { .. } => ActionKind::Map,
            Self::Unmap { .. } => ActionKind::Unmap,
            Self::Lay { .. } => ActionKind::Lay,
            Self::Query { .. } => ActionKind::Query,
            Self::Wait { .. } => ActionKind::Wait,
            Self::Synchronise { .. } => ActionKind::Synchronise,
            Self::Press { .. } => ActionKind::Press,
        }
    }
}

/// What a driver call answered.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "compact", repr(u32))]
pub(crate) enum Answer {
    Done,
    Handle(GranuleHandle),
    Completion(Completion),
    Relief(Relief),
}

/// The outcome of a driver call.
pub(crate) type Outcome = Result<Answer, DriverError>;

/// What a plan wants next.
#[must_use]
pub(crate) enum Step<T> {
    Do(Action),
    /// Let another call that is in flight go on, then decide again.
    Wait,
    Done(T),
}

/// A call that may take several driver calls: decides under the lock, one driver call at a time.
pub(crate) trait Plan {
    type Output;

    /// Commits the outcome of the driver call that was asked for last, if any, and decides what comes next.
    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<Self::Output>;
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// A runtime with nothing in it. The arenas must be untouched or cleared.
    pub fn new(arenas: Arenas<'a>, driver: D, sink: S) -> Self {
        let runtime = Self::fresh(arenas, driver, sink);
        runtime.begin_log();
        runtime
    }

    /// As [`new`](Self::new), made where it stays: its kilobyte does not travel through the stack.
    pub fn new_in<'p>(place: &'p mut MaybeUninit<Self>, arenas: Arenas<'a>, driver: D, sink: S) -> &'p Self {
        let runtime = Self::put(place, arenas, driver, sink);
        runtime.begin_log();
        runtime
    }

    /// Apart, so that what it takes of the stack is free again when the log begins.
    #[inline(never)]
    fn put<'p>(place: &'p mut MaybeUninit<Self>, arenas: Arenas<'a>, driver: D, sink: S) -> &'p Self {
        place.write(Self::fresh(arenas, driver, sink))
    }

    #[inline(always)]
    fn fresh(arenas: Arenas<'a>, driver: D, sink: S) -> Self {
        let (state, page) = State::new(arenas);
        Self { state: L::new(state), driver, outlet: spin::Mutex::new(Outlet { sink, page }), arenas: PhantomData }
    }

    /// Nobody else has the lock yet.
    fn begin_log(&self) {
        let now = self.now();
        let _ = self.state.with(|state| state.begin_log(now));
    }

    /// The driver, for what is beyond pools: launching work, creating streams.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Ends the current page of the log and hands everything to the sink.
    pub fn flush(&self) {
        let _ = self.state.with(|state| state.log.seal());
        self.drain();
    }

    /// Calls `f` with the sink, once all finished pages are there. While it runs, other threads' pages wait.
    pub fn with_sink<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        self.flush();
        f(&mut self.outlet.lock().sink)
    }

    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline)]
    pub(super) fn now(&self) -> Nanos {
        self.driver.now()
    }

    /// Runs `f` on the state under the lock, with the clock read before; hands finished pages on afterwards. `None`: the
    /// lock can never be had.
    #[inline]
    fn hold<R>(&self, f: impl FnOnce(&mut State<'a>, Nanos) -> R) -> Option<R> {
        self.hold_at(self.now(), f)
    }

    /// As [`hold`](Self::hold), with the clock read before.
    #[inline]
    fn hold_at<R>(&self, now: Nanos, f: impl FnOnce(&mut State<'a>, Nanos) -> R) -> Option<R> {
        let mut pages = false;
        let result = self.state.with(|state| {
            let result = f(state, now);
            pages = state.log.has_page();
            result
        });
        if pages {
            self.drain();
        }
        result
    }

    /// A call, or its first half: refused where the state cannot be trusted.
    fn enter<R, E: From<Unusable>>(&self, f: impl FnOnce(&mut State<'a>) -> Result<R, E>) -> Result<R, E> {
        let entered = self.hold(|state, now| {
            state.begin(now)?;
            f(state)
        });
        entered.unwrap_or_else(|| Err(Unusable::Busy.into()))
    }

    /// The second half of a call: a corrupt state is no reason to stop half way.
    fn commit<R>(&self, f: impl FnOnce(&mut State<'a>) -> R) -> Result<R, Unusable> {
        let entered = self.hold(|state, now| {
            state.resume(now);
            f(state)
        });
        entered.ok_or(Unusable::Busy)
    }

    /// Hands finished pages to the sink. Whoever finds the sink busy leaves: the thread that is there takes all.
    #[cold]
    fn drain(&self) {
        loop {
            let Some(mut outlet) = self.outlet.try_lock() else {
                return;
            };
            let Outlet { sink, page } = &mut *outlet;
            let page = page.room();
            while let Some(Some(length)) = self.state.with(|state| state.log.take_page(page)) {
                let kept = page.get(..length).is_some_and(|page| sink.page(page).is_ok());
                if !kept {
                    let _ = self.state.with(|state| state.log.count_lost(records_in(page)));
                }
            }
            drop(outlet);
            // A page may have been finished between the last look and the release of the sink.
            if self.state.with(|state| state.log.has_page()) != Some(true) {
                return;
            }
        }
    }

    /// Performs one driver call, without the lock.
    #[cfg_attr(feature = "compact", inline(never))]
    fn perform(&self, action: &Action) -> Outcome {
        let driver = &self.driver;
        match *action {
            Action::Create { device } => driver.create(device).map(Answer::Handle),
            Action::Destroy { device, handle } => driver.destroy(device, handle).map(|()| Answer::Done),
            Action::Map { device, at, handle, stream } => driver.map(device, at, handle, stream).map(|()| Answer::Done),
            Action::Unmap { device, at, stream } => driver.unmap(device, at, stream).map(|()| Answer::Done),
            Action::Lay { marker, stream } => driver.lay(marker, stream).map(|()| Answer::Done),
            Action::Query { what } => driver.query(what).map(Answer::Completion),
            Action::Wait { stream, marker } => driver.wait(stream, marker).map(|()| Answer::Done),
            Action::Synchronise { what } => driver.synchronise(what).map(|()| Answer::Done),
            Action::Press { pressure } => Ok(Answer::Relief(driver.pressure(pressure))),
        }
    }

    /// Runs a plan to its end.
    fn drive<P: Plan>(&self, plan: &mut P) -> Result<P::Output, Unusable> {
        self.drive_from(self.now(), plan)
    }

    /// As [`drive`](Self::drive), for a call that read the clock.
    fn drive_from<P: Plan>(&self, mut now: Nanos, plan: &mut P) -> Result<P::Output, Unusable> {
        let (mut entered, mut done) = (false, None);
        loop {
            let mut step = Step::Wait;
            let held = self.hold_at(now, |state, now| {
                if entered {
                    state.resume(now);
                } else {
                    state.begin(now)?;
                }
                if let Some((kind, outcome)) = &done {
                    state.count(*kind, outcome);
                }
                // Put where it is read: handed on, a step would be on the stack several times.
                step = plan.advance(state, done.map(|(_, outcome)| outcome));
                Ok(())
            });
            (entered, done) = (true, None);
            held.unwrap_or(Err(Unusable::Busy))?;
            match step {
                Step::Done(output) => return Ok(output),
                Step::Wait => L::relax(),
                Step::Do(action) => done = Some((action.kind(), self.perform(&action))),
            }
            now = self.now();
        }
    }
}
