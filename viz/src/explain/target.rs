//! What is to be explained: which record.

use super::Untried;
use crate::model::{EventIx, Kind, Model, Payload};
use crate::progress::Stopped;
use crate::rebuild::{Difference, NotRecorded};
use std::fmt;
use weir::trace::{POLICY, Record, Verb};

/// What a user asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An allocation by its id: they count the runtime's successful mallocs from 1.
    Alloc(u64),
    /// A record by its number: a malloc, a refusal, or what a malloc did on its way, such as a growth.
    Record(u64),
}

/// Why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplainError {
    /// There is no such allocation.
    NoAlloc {
        /// The one that was asked for.
        asked: u64,
        /// The first and the last there are.
        ids: Option<(u64, u64)>,
    },
    /// The allocation's malloc is not in the log.
    NoMalloc(u64),
    /// There is no such record.
    NoRecord(u64),
    /// The record has to do with no malloc.
    NoCall(u64),
    /// The log does not hold what it takes.
    NotRecorded(NotRecorded),
    /// What the core does and what the log says part before the call, or at it.
    Parted(Difference),
    /// The call was refused before anything was looked for, for this reason.
    Refused(Box<Untried>),
    /// Whoever waited for it stopped it.
    Stopped,
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAlloc { asked, ids: None } => write!(f, "there is no allocation {asked}: the log has none"),
            Self::NoAlloc { asked, ids: Some((first, last)) } => {
                let others = if (first..last).contains(&asked) { "others, from " } else { "" };
                write!(f, "there is no allocation {asked}: the log has {others}{first} to {last}")
            }
            Self::NoMalloc(id) => write!(f, "not recorded: allocation {id} is freed in the log, its malloc is missing"),
            Self::NoRecord(number) => write!(f, "there is no record {number} in the log"),
            Self::NoCall(number) => {
                write!(f, "record {number} belongs to no malloc; name a malloc, a refusal, or a growth")
            }
            Self::NotRecorded(what) => what.fmt(f),
            Self::Parted(difference @ Difference { rules: Some(rules), .. }) => write!(
                f,
                "not recorded: {difference}\nthe log's pools decided by other rules (number {rules}) than this weir's (number \
                 {POLICY}): the weir that wrote it explains it"
            ),
            Self::Parted(difference) => write!(
                f,
                "not recorded: {difference}\nno log tells fully what other threads and callbacks do in the middle of a call, \
                 which event a refused record was of, and how many granules that were kept apart went before one that did \
                 not"
            ),
            Self::Refused(untried) => write!(f, "{}; what helps: {}", untried.verdict(), untried.change),
            Self::Stopped => Stopped.fmt(f),
        }
    }
}

impl std::error::Error for ExplainError {}

impl From<Stopped> for ExplainError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<NotRecorded> for ExplainError {
    fn from(what: NotRecorded) -> Self {
        Self::NotRecorded(what)
    }
}

/// The record of the malloc that is asked about. O(n) for an allocation.
///
/// # Errors
/// There is none.
pub fn target(model: &Model, what: What) -> Result<EventIx, ExplainError> {
    match what {
        What::Alloc(asked) => {
            let Some(life) = model.life_of_id(asked) else {
                let ids = model.lives.iter().map(|life| life.id.0);
                let ids = ids.clone().min().zip(ids.max());
                return Err(ExplainError::NoAlloc { asked, ids });
            };
            model.life(life).born().ok_or(ExplainError::NoMalloc(asked))
        }
        What::Record(number) => {
            let records = (0..model.events.len()).rev().map(EventIx::next_of);
            let mut found = records.skip_while(|at| model.events.number(*at) != number);
            let at = found.next().ok_or(ExplainError::NoRecord(number))?;
            let end = (at.at()..model.events.len()).map(EventIx::next_of).find(|at| !is_on_the_way(model, *at));
            end.filter(|end| is_malloc(model, *end)).ok_or(ExplainError::NoCall(number))
        }
    }
}

fn is_malloc(model: &Model, at: EventIx) -> bool {
    match model.events.payload(at) {
        Payload::Life(_) => model.events.kind(at) == Kind::Malloc,
        Payload::Other(record) => {
            matches!(record, Record::OutOfMemory { .. } | Record::Refused { verb: Verb::Malloc, .. })
        }
    }
}

/// Whether a call writes the record on its way.
fn is_on_the_way(model: &Model, at: EventIx) -> bool {
    matches!(
        model.events.kind(at),
        Kind::MarkerLaid
            | Kind::Asked
            | Kind::WaitInserted
            | Kind::GrowPlanned
            | Kind::GrowAborted
            | Kind::Mapped
            | Kind::MappedInOrder
            | Kind::Unmapped
            | Kind::UnmappedInOrder
            | Kind::Quarantined
            | Kind::Undestroyed
            | Kind::Blocked
            | Kind::Pressed
            | Kind::DriverFailed
    )
}

/// The records of a call that a record ends.
pub(super) fn way_to(model: &Model, end: EventIx) -> impl Iterator<Item = EventIx> + use<> {
    let before = (0..end.at()).rev().take_while(|at| is_on_the_way(model, EventIx::next_of(*at))).count();
    (end.at() - before..=end.at()).map(EventIx::next_of)
}
