//! Granules that a malloc took from where they were idle and mapped where it needed them.

use super::{EventIx, Kind, Model, PoolIx};
use std::collections::VecDeque;
use weir::trace::{MapReason, UnmapReason};

/// Physical memory that went from one address to another in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The record that mapped it.
    pub event: EventIx,
    /// Where it was, from the pool's base.
    pub from: u64,
    /// Where it went.
    pub to: u64,
    /// How much.
    pub bytes: u64,
}

/// An end of one: its record, its first address, its bytes.
type End = (EventIx, u64, u64);

impl Model {
    /// What was moved in a pool, in the order of the records. A call maps what it unmapped in that order. O(n log n) in
    /// the pool's mappings the first time, then at hand.
    #[must_use]
    pub fn moves(&self, pool: PoolIx) -> &[Move] {
        self.pool(pool).moves.get_or_init(|| self.find_moves(pool))
    }

    fn find_moves(&self, pool: PoolIx) -> Vec<Move> {
        let runs = &self.pool(pool).runs;
        let taken = runs.iter().filter(|run| run.why == Some(UnmapReason::Remap));
        let mut taken: Vec<End> = taken.filter_map(|r| Some((r.unmapped?, r.start, r.end - r.start))).collect();
        let put = runs.iter().filter(|run| run.mapped == Some(MapReason::Remap));
        let mut put: Vec<End> = put.map(|run| (run.since, run.start, run.end - run.start)).collect();
        taken.sort_unstable();
        put.sort_unstable();
        let mut taken: VecDeque<End> = taken.into();
        let mut moves = Vec::new();
        for (event, mut to, mut left) in put {
            while taken.front().is_some_and(|end| self.is_over(end.0, event)) {
                taken.pop_front();
            }
            while left > 0
                && let Some((_, from, there)) = taken.front_mut().filter(|end| end.0 < event)
            {
                let bytes = left.min(*there);
                moves.push(Move { event, from: *from, to, bytes });
                (to, left) = (to + bytes, left - bytes);
                (*from, *there) = (*from + bytes, *there - bytes);
                if *there == 0 {
                    taken.pop_front();
                }
            }
        }
        moves
    }

    /// Whether the call that unmapped at one record ended before another: what it took then went nowhere.
    fn is_over(&self, unmapped: EventIx, now: EventIx) -> bool {
        let ends = |at: usize| {
            matches!(
                self.events.kind(EventIx::next_of(at)),
                Kind::Malloc | Kind::OutOfMemory | Kind::Refused | Kind::GrowAborted | Kind::Begin
            )
        };
        unmapped < now && (unmapped.at()..now.at()).any(ends)
    }
}
