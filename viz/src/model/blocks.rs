//! The free blocks of a pool at one record, and what each has to wait for.

use super::owners::{Span, Spans};
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

/// Whose each address was, noted from time to time while the log is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned {
    notes: Vec<Noted>,
    /// Mallocs since the last one.
    since: usize,
}

#[derive(Clone, Debug)]
struct Noted {
    /// After this malloc.
    at: EventIx,
    spans: Vec<Span<LifeIx>>,
}

/// Mallocs from one note to the next, at least.
const APART: usize = 8192;

impl Owned {
    /// After each malloc. Notes at most one span for every two mallocs, so that the memory stays a small part of theirs.
    pub(super) fn note(&mut self, at: EventIx, owners: &Spans<LifeIx>) {
        self.since += 1;
        if self.since >= APART.max(2 * owners.len()) {
            self.since = 0;
            self.notes.push(Noted { at, spans: owners.iter().collect() });
        }
    }

    fn before(&self, event: EventIx) -> Option<&Noted> {
        self.notes.get(self.notes.partition_point(|noted| noted.at <= event).checked_sub(1)?)
    }
}

/// Free addresses whose last owner is looked for.
struct Free {
    /// Since when they are mapped.
    spans: Spans<EventIx>,
    blocks: Vec<FreeBlock>,
}

impl Free {
    /// Who had what is left of these addresses, if it was there in this record, when they were mapped already.
    fn give(&mut self, start: u64, end: u64, life: LifeIx, there: EventIx) {
        for span in self.spans.take(start, end) {
            let last = (span.value <= there).then_some(life);
            self.blocks.push(FreeBlock { start: span.start, end: span.end, last });
        }
    }

    fn finish(mut self) -> Vec<FreeBlock> {
        let rest = self.spans.drain().into_iter();
        self.blocks.extend(rest.map(|span| FreeBlock { start: span.start, end: span.end, last: None }));
        self.blocks.sort_by_key(|block| block.start);
        self.blocks.dedup_by(|next, block| {
            let one = block.end == next.start && block.last.is_none() && next.last.is_none();
            if one {
                block.end = next.end;
            }
            one
        });
        self.blocks
    }
}

impl Model {
    /// The free blocks once the record has taken effect, in address order. What lies between the record and the latest
    /// one before it at which the owners were noted is walked; that is bounded, and with it the time.
    #[must_use]
    pub fn free_blocks(&self, pool: PoolIx, event: EventIx) -> Vec<FreeBlock> {
        let mut free = Free { spans: Spans::default(), blocks: Vec::new() };
        let of = self.pool(pool);
        for run in of.runs.iter().filter(|r| r.since <= event && r.unmapped.is_none_or(|u| u > event)) {
            free.spans.take(run.start, run.end);
            free.spans.put(run.start, run.end, run.since);
        }
        self.each_live(pool, event, |at| {
            let life = self.life(at);
            free.spans.take(life.offset.0, life.end());
        });
        let noted = of.owned.before(event);
        let first = noted.map_or(0, |noted| of.stays.first_born(EventIx(noted.at.0 + 1)));
        let past = of.stays.first_born(EventIx(event.0.saturating_add(1)));
        // The latest ones have the say.
        for at in of.lives[first.min(past)..past].iter().rev() {
            if free.spans.is_empty() {
                break;
            }
            let life = self.life(*at);
            if life.died().is_some_and(|died| died <= event) {
                free.give(life.offset.0, life.end(), *at, life.since());
            }
        }
        for span in noted.iter().flat_map(|noted| &noted.spans) {
            free.give(span.start, span.end, span.value, noted.map_or(event, |noted| noted.at));
        }
        free.finish()
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
