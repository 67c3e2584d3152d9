//! The free blocks of a pool at one record, and what each has to wait for.

use super::owners::Spans;
use super::{EventIx, LifeIx, Model, Payload, PoolIx};
use weir::error::Point;
use weir::trace::Record;

/// Mapped addresses that nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeBlock {
    /// From the pool's base.
    pub start: u64,
    /// Past the last byte.
    pub end: u64,
    /// Who had it last; `None`: nobody that the log tells of.
    pub last: Option<LifeIx>,
}

impl FreeBlock {
    /// Its length.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

impl Model {
    /// The free blocks once the record has taken effect, in address order. O(n log n) in the allocations up to there.
    #[must_use]
    pub fn free_blocks(&self, pool: PoolIx, event: EventIx) -> Vec<FreeBlock> {
        let pool = self.pool(pool);
        let mut free = Spans::default();
        for run in pool.runs.iter().filter(|r| r.since <= event && r.unmapped.is_none_or(|u| u > event)) {
            free.take(run.start, run.end);
            free.put(run.start, run.end, ());
        }
        for life in pool.lives.iter().map(|at| self.life(*at)).filter(|life| life.live_after(event)) {
            free.take(life.offset.0, life.end());
        }
        let mut blocks = Vec::new();
        // The latest ones have the say.
        for at in pool.lives.iter().rev() {
            let life = self.life(*at);
            if life.died().is_some_and(|died| died <= event) {
                let had = free.take(life.offset.0, life.end()).into_iter();
                blocks.extend(had.map(|span| FreeBlock { start: span.start, end: span.end, last: Some(*at) }));
            }
        }
        blocks.extend(free.drain().into_iter().map(|span| FreeBlock { start: span.start, end: span.end, last: None }));
        blocks.sort_by_key(|block| block.start);
        blocks
    }

    /// What has to come before whoever gets the life's memory: its free, and the recorded uses up to that record.
    #[must_use]
    pub fn points_of(&self, life: LifeIx, event: EventIx) -> Vec<Point> {
        let uses = self.uses(life).filter(|use_| *use_ <= event).filter_map(|at| match self.events.payload(at) {
            Payload::Other(Record::Use { stream, seq, .. }) => Some(Point { stream, seq }),
            _ => None,
        });
        let free = match self.life(life).death {
            super::Death::Free { stream, seq, .. } => Some(Point { stream: self.stream(stream).id, seq }),
            _ => None,
        };
        free.into_iter().chain(uses).collect()
    }
}
