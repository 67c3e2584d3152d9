//! The arrows between lanes, by the record that they lead to.

use super::{EventIx, Lane};

/// What ties two lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// Memory: freed on one stream, allocated on another.
    Reuse,
    /// The host came after a stream.
    Sync,
    /// A recorded event was waited for.
    Wait,
    /// The pool made one stream wait for another.
    Inserted,
}

impl Tie {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reuse, Self::Sync, Self::Wait, Self::Inserted];
}

/// One arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Where it begins.
    pub from: EventIx,
    /// On which lane.
    pub from_lane: Lane,
    /// Where it leads to; the lane is that record's.
    pub to: EventIx,
}

/// The arrows of one kind, by the record that they lead to.
#[derive(Clone, Debug, Default)]
pub struct Arrows {
    from: Vec<EventIx>,
    from_lane: Vec<u32>,
    to: Vec<EventIx>,
}

impl Arrows {
    pub(super) fn push(&mut self, from: EventIx, lane: Lane, to: EventIx) {
        self.from.push(from);
        self.from_lane.push(lane.code());
        self.to.push(to);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, at: usize) -> Arrow {
        let from_lane = Lane::of_code(self.from_lane[at]).unwrap_or(Lane::Host);
        Arrow { from: self.from[at], from_lane, to: self.to[at] }
    }

    /// The first one that leads to this record or a later one. O(log n).
    #[must_use]
    pub fn first_to(&self, event: EventIx) -> usize {
        self.to.partition_point(|e| *e < event)
    }
}
