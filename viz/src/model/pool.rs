//! One pool: its settings, its curves, its allocations, and what was mapped when.

use super::blocks::Owned;
use super::owners::{Span, Spans};
use super::stays::Stays;
use super::summary::Summary;
use super::{Curve, EventIx, Groups, LifeIx, Move};
use std::sync::OnceLock;
use weir::id::PoolId;
use weir::policy::PoolConfig;
use weir::trace::{MapReason, UnmapReason};
use weir::units::{Bytes, DevicePtr};

/// Addresses that were mapped without a break, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// From the pool's base.
    pub start: u64,
    /// Past the last byte.
    pub end: u64,
    /// The record that mapped them, or the first one after the missing records in which that happened.
    pub since: EventIx,
    /// Why; `None` where the mapping is not recorded.
    pub mapped: Option<MapReason>,
    /// The record that unmapped them, or the first one after the missing records in which that happened; `None`: they
    /// were mapped at the end of the log.
    pub unmapped: Option<EventIx>,
    /// Why; `None` where that is not recorded.
    pub why: Option<UnmapReason>,
}

impl Run {
    /// Of a span of the mapped addresses.
    pub(super) fn from_span(
        span: Span<(EventIx, Option<MapReason>)>,
        unmapped: Option<EventIx>,
        why: Option<UnmapReason>,
    ) -> Self {
        let Span { start, end, value: (since, mapped) } = span;
        Self { start, end, since, mapped, unmapped, why }
    }
}

/// Addresses that were mapped before, and are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// From the pool's base.
    pub start: u64,
    /// Past the last byte.
    pub end: u64,
    /// The record that unmapped them.
    pub since: EventIx,
    /// The record that mapped them again; `None`: none did.
    pub until: Option<EventIx>,
}

impl Hole {
    /// All of them, of runs in the order in which they were mapped.
    pub(super) fn between(runs: &[Run]) -> Vec<Self> {
        let mut gone = Spans::default();
        let mut holes = Vec::new();
        let hole = |span: Span<EventIx>, until| Self { start: span.start, end: span.end, since: span.value, until };
        for run in runs {
            let filled = gone.take(run.start, run.end).into_iter().filter(|span| span.value < run.since);
            holes.extend(filled.map(|span| hole(span, Some(run.since))));
            if let Some(unmapped) = run.unmapped {
                gone.put(run.start, run.end, unmapped);
            }
        }
        holes.extend(gone.drain().into_iter().map(|span| hole(span, None)));
        holes
    }
}

/// What a pool looked like when a definition stated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its first address.
    pub base: DevicePtr,
    /// Bytes of addresses.
    pub range: Bytes,
    /// Its settings.
    pub config: PoolConfig,
}

/// One pool.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its id.
    pub id: PoolId,
    /// Its first definition; `None` where the log has none.
    pub definition: Option<Definition>,
    /// The record that created it; `None` where it was there before the log, or that is not recorded.
    pub created: Option<EventIx>,
    /// The record that destroyed it.
    pub destroyed: Option<EventIx>,
    /// Bytes of one granule.
    pub granularity: Bytes,
    /// Bytes in live blocks.
    pub used: Curve,
    /// Mapped bytes.
    pub reserved: Curve,
    /// The release threshold.
    pub threshold: Curve,
    /// Its allocations in the order of their mallocs; those that began before the log come first.
    pub lives: Vec<LifeIx>,
    /// What was mapped when.
    pub runs: Vec<Run>,
    /// All addresses that ever were mapped: from where to where, in order.
    pub covered: Vec<(u64, u64)>,
    /// Addresses that were unmapped for a while.
    pub holes: Vec<Hole>,
    pub(super) stays: Stays,
    /// By stream, label, source and length, once those were asked for.
    pub(super) summaries: [OnceLock<Summary>; 4],
    pub(super) owned: Owned,
    /// Its own waits on the host; see [`Model::syncs`](super::Model::syncs).
    pub(super) waits: Vec<EventIx>,
    /// Trims.
    pub trims: Vec<EventIx>,
    /// Mallocs that it refused.
    pub refused: u64,
    /// Refused calls that name it; see [`Model::refusals`](super::Model::refusals).
    pub(super) refusals: Vec<EventIx>,
    /// The first ones of the model's synchronisations and refusals that were after its first record.
    pub(super) shared_from: (usize, usize),
    /// Where findings show, one for each, once the log was checked.
    pub findings: Vec<EventIx>,
    /// Mallocs by what they relied on, in the order of `Source::ALL`.
    pub by_source: [Vec<EventIx>; 6],
    /// Its blocks by label, stream and size, once those were asked for.
    pub(super) groups: [OnceLock<Groups>; 3],
    /// What was moved, once that was asked for.
    pub(super) moves: OnceLock<Vec<Move>>,
}

impl Pool {
    /// The limit, where it is known and set.
    #[must_use]
    pub fn limit(&self) -> Option<Bytes> {
        self.definition.map(|d| d.config.limit).filter(|l| l.0 > 0)
    }
}

/// A pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Bytes in live blocks.
    pub used: u64,
    /// Mapped bytes.
    pub reserved: u64,
    /// The release threshold.
    pub threshold: u64,
    /// Live allocations.
    pub live: usize,
}

/// Records of one kind that a picture of a pool shows: those that are the pool's own, and those that concern all pools and
/// are kept once. Both are in the log's order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs<'m> {
    pub(super) own: &'m [EventIx],
    pub(super) shared: &'m [EventIx],
}

impl<'m> Signs<'m> {
    /// Of one list.
    #[must_use]
    pub const fn own(own: &'m [EventIx]) -> Self {
        Self { own, shared: &[] }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.own.len() + self.shared.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many stand before the record. O(log n).
    #[must_use]
    pub fn before(&self, event: EventIx) -> usize {
        let before = |list: &[EventIx]| list.partition_point(|at| *at < event);
        before(self.own) + before(self.shared)
    }
}
