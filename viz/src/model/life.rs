//! One allocation from its malloc to its free.

use super::{EventIx, NameIx, PoolIx, StreamIx};
use weir::error::Point;
use weir::id::{AllocId, LabelId};
use weir::trace::Source;
use weir::units::{Bytes, Seq};

/// How a life began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// With this malloc.
    Malloc(EventIx),
    /// Before this record: before the log's first one, or in the missing records before it. Only its free is there.
    NotRecorded(EventIx),
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// It was live when the log ended.
    Live,
    /// With this free.
    Free {
        /// The free.
        event: EventIx,
        /// The stream that freed.
        stream: StreamIx,
        /// Its position there.
        seq: Seq,
    },
    /// With its pool, or with the program: a log that begins again at this record.
    Destroyed(EventIx),
    /// Some time before this record, which is the first one after missing records where the log lacks any: its addresses
    /// were given away although no free is in the log.
    NotRecorded(EventIx),
}

/// One allocation.
#[derive(Clone, Debug)]
pub struct Life {
    /// Its pool.
    pub pool: PoolIx,
    /// Its id, counted by the runtime.
    pub id: AllocId,
    /// See [`asked`](Self::asked).
    pub(super) asked: Bytes,
    /// What it got.
    pub given: Bytes,
    /// From the pool's base.
    pub offset: Bytes,
    /// The stream that allocated; the one that freed where the malloc is not recorded.
    pub stream: StreamIx,
    /// The malloc's position on it.
    pub seq: Seq,
    /// Its label.
    pub label: LabelId,
    /// The label's name.
    pub name: NameIx,
    /// What the malloc had to rely on; `None` where it is not recorded.
    pub source: Option<Source>,
    /// How it began.
    pub birth: Birth,
    /// How it ended.
    pub death: Death,
    /// Where its points begin; they end where the next life's begin.
    pub(super) points: u32,
    /// Where its links begin.
    pub(super) from: u32,
}

impl Life {
    /// What was asked for; `None` where the malloc is not recorded.
    #[must_use]
    pub const fn asked(&self) -> Option<Bytes> {
        match self.birth {
            Birth::Malloc(_) => Some(self.asked),
            Birth::NotRecorded(_) => None,
        }
    }

    /// The first address past it, from the pool's base.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.0.saturating_add(self.given.0)
    }

    /// The record that it begins with, if that is in the log.
    #[must_use]
    pub const fn born(&self) -> Option<EventIx> {
        match self.birth {
            Birth::Malloc(event) => Some(event),
            Birth::NotRecorded(_) => None,
        }
    }

    /// The first record that it was surely there at.
    #[must_use]
    pub const fn since(&self) -> EventIx {
        match self.birth {
            Birth::Malloc(event) | Birth::NotRecorded(event) => event,
        }
    }

    /// The record that it ended with or before.
    #[must_use]
    pub const fn died(&self) -> Option<EventIx> {
        match self.death {
            Death::Live => None,
            Death::Free { event, .. } | Death::Destroyed(event) | Death::NotRecorded(event) => Some(event),
        }
    }

    /// Whether it was live once the record had taken effect.
    #[must_use]
    pub fn live_after(&self, event: EventIx) -> bool {
        self.since() <= event && self.died().is_none_or(|d| d > event)
    }
}

/// The points that a malloc's bytes had waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitedFor<'m> {
    /// The points, at most three.
    pub points: &'m [Point],
    /// Where they did not all fit: the epoch whose heads of all streams it waited for. 0: none.
    pub epoch: u64,
}
