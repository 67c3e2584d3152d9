//! Blocks that were held long, and those that were idle while they were.

use crate::model::{Axis, EventIx, LifeIx, Model, PoolIx};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many are told.
const MOST: usize = 10;

/// A block and how long it was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The allocation.
    pub life: LifeIx,
    /// From its malloc to its free or the log's end, in nanoseconds; in records where the log's clock stands still.
    pub length: u64,
}

/// A block of whose use the log knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The allocation.
    pub life: LifeIx,
    /// From its malloc to the first recorded use: allocated too early. Unit as in [`Held::length`].
    pub early: u64,
    /// From the last recorded use to its free: freed too late.
    pub late: u64,
    /// How many uses are recorded.
    pub uses: u64,
}

/// The blocks that were held most (bytes times length), and those that were most idle by the recorded uses.
pub(super) fn held(model: &Model, pool: PoolIx) -> (Vec<Held>, Vec<Idle>) {
    let axis = axis(model);
    let end = model.events.extent(axis);
    let place = |event: EventIx| if event < model.events.end() { model.events.position(axis, event) } else { end };
    let mut held: Most<Held> = Most::default();
    let mut idle: Most<Idle> = Most::default();
    for &at in &model.pool(pool).lives {
        let life = model.life(at);
        let (born, died) = (place(life.since()), life.died().map_or(end, place));
        let length = died.saturating_sub(born);
        held.push(weight(life.given.0, length), at, Held { life: at, length });
        let mut uses = model.uses(at);
        let Some(first) = uses.next() else { continue };
        let (last, count) = uses.fold((first, 1), |(_, count), event| (event, count + 1));
        let (early, late) = (place(first).saturating_sub(born), died.saturating_sub(place(last)));
        idle.push(weight(life.given.0, early + late), at, Idle { life: at, early, late, uses: count });
    }
    (held.finish(), idle.finish())
}

/// Time, where the log's clock goes on.
pub(super) fn axis(model: &Model) -> Axis {
    if model.events.extent(Axis::Time) > 1 { Axis::Time } else { Axis::Record }
}

fn weight(bytes: u64, length: u64) -> u128 {
    u128::from(bytes) * u128::from(length)
}

/// Those of the greatest weight, the first of equals first.
struct Most<T> {
    heap: BinaryHeap<Reverse<(u128, Reverse<LifeIx>, usize)>>,
    kept: Vec<T>,
}

impl<T> Default for Most<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), kept: Vec::new() }
    }
}

impl<T: Copy> Most<T> {
    fn push(&mut self, weight: u128, life: LifeIx, what: T) {
        if self.kept.len() < MOST {
            self.heap.push(Reverse((weight, Reverse(life), self.kept.len())));
            self.kept.push(what);
        } else if let Some(Reverse((least, _, slot))) = self.heap.peek().copied()
            && weight > least
        {
            self.heap.pop();
            self.heap.push(Reverse((weight, Reverse(life), slot)));
            self.kept[slot] = what;
        }
    }

    fn finish(self) -> Vec<T> {
        let mut order: Vec<(u128, Reverse<LifeIx>, usize)> = self.heap.into_iter().map(|entry| entry.0).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        order.into_iter().map(|(.., slot)| self.kept[slot]).collect()
    }
}
