//! A runtime rebuilt from its log: the core itself makes the program's calls again, on a driver that answers as the log
//! says, and comes to be as it was just before any of them.
//!
//! A log has what that takes from its beginning on: capacities, properties of devices, settings of pools, every call that
//! changed something, and what the driver answered. The rebuilt runtime writes a log of its own, which is held against
//! the first; where they differ, all that follows is not recomputed, and says so. Three facts are in no log: what another
//! thread or a callback did in the middle of a call, where it left no trace on the same stream or event; which event a
//! record was of that the driver refused, where the numbers of later ones do not tell; and how many granules that were kept
//! apart went before one that did not.

mod answers;
mod calls;
mod compare;
mod failures;
mod refused;

pub use compare::Difference;

use crate::model::{EventIx, Kind, Model, Payload};
use crate::progress::{Stopped, Task};
use answers::Answers;
use calls::Calls;
use compare::{Pages, Twin};
use std::fmt;
use weir::error::MallocError;
use weir::id::{PoolId, StreamId};
use weir::trace::Record;
use weir::units::{Bytes, DevicePtr};
use weir::{Arenas, Candidate, Capacities, Local, Outlook};

/// Records between two tellings of how far it is.
const TOLD: u32 = 4096;

const FOREIGN: &str = "another allocator decided, and its log does not hold what it decided by";
const LATE: &str =
    "the beginning of the runtime is not there: it is lost, or this is a part of a log (leave --from out)";

/// Why a runtime cannot be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRecorded(pub String);

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not recorded: {}", self.0)
    }
}

impl std::error::Error for NotRecorded {}

/// When the core carries out a free: with the next call, of whatever kind. Calls that only look are in no log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// The program made none.
    #[default]
    Never,
    /// The program looked at the runtime behind each of its calls.
    Always,
}

/// A runtime that follows a log.
pub struct Rebuild<'m, 'a> {
    model: &'m Model,
    runtime: Local<'a, Answers<'m>, Pages>,
    pages: Pages,
    calls: Calls<'m>,
    /// The record that comes next.
    next: EventIx,
    twin: Twin<'m>,
    looks: Looks,
}

/// The beginning of the run that a record belongs to; the log must be whole from there to it.
fn beginning(model: &Model, target: EventIx) -> Result<EventIx, NotRecorded> {
    let begins = (0..=target.at()).rev().map(EventIx::next_of).find(|at| model.events.kind(*at) == Kind::Begin);
    let Some(begin) = begins else {
        let foreign = !model.unrecorded.is_empty();
        return Err(NotRecorded(if foreign { FOREIGN } else { LATE }.to_owned()));
    };
    let missing = |number: u64| NotRecorded(format!("records are missing before record {number}"));
    if let Some(gap) = model.gaps.iter().find(|gap| gap.event > begin && gap.event <= target) {
        return Err(missing(model.events.number(gap.event)));
    }
    let between = (begin.at()..target.at()).map(EventIx::next_of);
    match between.into_iter().find(|at| model.events.kind(*at) == Kind::Lost) {
        Some(lost) => Err(missing(model.events.number(lost))),
        None => Ok(begin),
    }
}

/// The capacities of the runtime that wrote a record, as its log states them.
///
/// # Errors
/// The log's beginning is not there, or records between it and the target are missing.
pub fn capacities(model: &Model, target: EventIx) -> Result<Capacities, NotRecorded> {
    let begin = beginning(model, target)?;
    let Payload::Other(Record::Begin { streams, events, markers, pools, blocks, granules, .. }) =
        model.events.payload(begin)
    else {
        return Err(NotRecorded("the log's beginning".to_owned()));
    };
    Ok(Capacities {
        streams: streams as usize,
        events: events as usize,
        markers: markers as usize,
        pools: pools as usize,
        blocks: blocks as usize,
        granules: granules as usize,
        labels: model.name_count() + 1,
        pages: 4,
    })
}

impl<'m, 'a> Rebuild<'m, 'a> {
    /// A runtime at its beginning, in arenas of the [`capacities`] that the log states.
    ///
    /// # Errors
    /// As [`capacities`].
    pub fn new(model: &'m Model, arenas: Arenas<'a>, target: EventIx, looks: Looks) -> Result<Self, NotRecorded> {
        let begin = beginning(model, target)?;
        let (answers, pages) = (Answers::new(model, begin), Pages::default());
        Ok(Self {
            model,
            runtime: Local::new(arenas, answers, pages.share()),
            pages,
            calls: Calls::new(model, begin),
            next: begin,
            twin: Twin::new(model, begin),
            looks,
        })
    }

    /// Makes the calls of all records up to a record that ends a call, and not that call's.
    pub fn run_before(&mut self, target: EventIx) {
        while self.next < target && self.twin.difference().is_none() {
            self.step();
        }
        self.compare();
    }

    /// [`Self::run_before`], and says how far that is.
    ///
    /// # Errors
    /// It was stopped on its way.
    pub fn follow_before(&mut self, target: EventIx, task: &Task) -> Result<(), Stopped> {
        while self.next < target && self.twin.difference().is_none() {
            task.at(u64::from(self.next.0))?;
            self.run_before(EventIx(target.0.min(self.next.0.saturating_add(TOLD))));
        }
        Ok(())
    }

    /// Makes the calls of all records up to this one.
    pub fn run_through(&mut self, target: EventIx) {
        while self.next <= target && self.next < self.model.events.end() && self.twin.difference().is_none() {
            self.step();
        }
        self.compare();
    }

    fn step(&mut self) {
        let at = self.next;
        self.next = self.calls.follow(&self.runtime, at);
        if self.looks == Looks::Always && Calls::ends_one(self.model, at) {
            let _ = self.runtime.block_at(DevicePtr(0));
        }
        if self.pages.is_long() {
            self.compare();
        }
    }

    fn compare(&mut self) {
        self.runtime.flush();
        self.twin.take(&self.pages);
    }

    /// Asks the core what a malloc would find now: see [`weir::Runtime::candidates`].
    ///
    /// # Errors
    /// The core refuses such a malloc without a search.
    pub fn candidates(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        f: impl FnMut(Candidate),
    ) -> Result<Outlook, MallocError> {
        self.runtime.candidates(pool, size, stream, f)
    }

    /// Where what the runtime does differs from what the log says it did, if anywhere up to where it was run.
    #[must_use]
    pub fn difference(&self) -> Option<&Difference> {
        self.twin.difference()
    }

    /// How many records the two logs agree on.
    #[must_use]
    pub fn agreed(&self) -> u64 {
        self.twin.agreed()
    }
}
