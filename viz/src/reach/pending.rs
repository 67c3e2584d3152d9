//! Bytes that are free, but not for all: the work that was done with them is not known to be complete.

use super::walk::Walk;
use crate::check::order::{Order, Place};
use crate::model::{Curve, Death, EventIx, Fact, Kind, LifeIx, Model, Payload, Spans};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use weir::id::PoolId;
use weir::trace::Record;

/// The pending bytes of each pool: freed, and neither settled nor given to anybody nor unmapped. `None`: the log does not
/// record what is complete, or where blocks lie. O(n log n).
#[must_use]
pub fn pending(model: &Model) -> Option<Vec<Curve>> {
    let lacks = |fact| model.unrecorded.has(fact);
    if lacks(Fact::Order) || lacks(Fact::Addresses) || lacks(Fact::Streams) {
        return None;
    }
    let mut pools: Vec<Waiting> = model.pools.iter().map(|_| Waiting::default()).collect();
    let ids: HashMap<PoolId, usize> = model.pools.iter().enumerate().map(|(at, pool)| (pool.id, at)).collect();
    let mut walk = Walk::new(model);
    let mut open = Open::default();
    for event in (0..model.events.len()).map(EventIx::next_of) {
        let kind = model.events.kind(event);
        let may_settle = walk.step(event);
        match model.events.payload(event) {
            Payload::Life(at) => {
                let life = model.life(at);
                let pool = &mut pools[life.pool.at()];
                pool.take(event, life.offset.0, life.end());
                let freed = matches!(life.death, Death::Free { event: freed, .. } if freed == event);
                if kind == Kind::Free && freed && open.add(model, &mut walk.order, at, event) {
                    pool.put(event, at, life.offset.0, life.end());
                }
            }
            Payload::Other(
                Record::Unmapped { pool, offset, granules, .. }
                | Record::UnmappedInOrder { pool, offset, granules, .. },
            ) => {
                if let Some(at) = ids.get(&pool) {
                    let bytes = model.pools[*at].granularity.0.saturating_mul(u64::from(granules));
                    pools[*at].take(event, offset.0, offset.0.saturating_add(bytes));
                }
            }
            Payload::Other(Record::PoolDestroyed { pool, .. }) => {
                if let Some(at) = ids.get(&pool) {
                    pools[*at].take(event, 0, u64::MAX);
                }
            }
            Payload::Other(_) if kind == Kind::Begin => {
                open = Open::default();
                pools.iter_mut().for_each(|pool| pool.take(event, 0, u64::MAX));
            }
            Payload::Other(_) if may_settle => {
                for at in open.settled(&walk.order) {
                    let life = model.life(at);
                    pools[life.pool.at()].settle(event, at, life.offset.0, life.end());
                }
            }
            Payload::Other(_) => {}
        }
    }
    Some(pools.into_iter().map(|pool| Curve::new(0, &pool.changes)).collect())
}

/// Positions that are not known to be complete, and whose freed blocks wait for them.
#[derive(Default)]
struct Open {
    by_lane: Vec<BinaryHeap<Reverse<(u64, LifeIx)>>>,
    /// How many each block waits for.
    points: HashMap<LifeIx, usize>,
}

impl Open {
    /// A block is freed. Answers whether it has to wait.
    fn add(&mut self, model: &Model, order: &mut Order, life: LifeIx, event: EventIx) -> bool {
        let points = model.points_of(life, event);
        let places = points.iter().map(|point| Place { lane: order.lane(point.stream), seq: point.seq.0 });
        let places: Vec<Place> = places.collect();
        let waits: Vec<Place> = places.into_iter().filter(|place| !order.settled(*place)).collect();
        for place in &waits {
            if self.by_lane.len() <= place.lane {
                self.by_lane.resize_with(place.lane + 1, BinaryHeap::new);
            }
            self.by_lane[place.lane].push(Reverse((place.seq, life)));
        }
        if !waits.is_empty() {
            self.points.insert(life, waits.len());
        }
        !waits.is_empty()
    }

    /// The blocks that wait for nothing any more.
    fn settled(&mut self, order: &Order) -> Vec<LifeIx> {
        let mut done = Vec::new();
        for (lane, open) in self.by_lane.iter_mut().enumerate() {
            while let Some(Reverse((seq, life))) = open.peek().copied()
                && order.settled(Place { lane, seq })
            {
                open.pop();
                let left = self.points.get(&life).map_or(0, |points| points - 1);
                if left > 0 {
                    self.points.insert(life, left);
                } else {
                    self.points.remove(&life);
                    done.push(life);
                }
            }
        }
        done
    }
}

/// The bytes of a pool that wait, and whose they were.
#[derive(Default)]
struct Waiting {
    spans: Spans<LifeIx>,
    now: u64,
    changes: Vec<(EventIx, u64)>,
}

impl Waiting {
    fn put(&mut self, event: EventIx, life: LifeIx, start: u64, end: u64) {
        self.spans.put(start, end, life);
        self.change(event, self.now + (end - start));
    }

    /// Whatever waits there does so no longer.
    fn take(&mut self, event: EventIx, start: u64, end: u64) {
        let taken: u64 = self.spans.take(start, end).iter().map(|span| span.end - span.start).sum();
        self.change(event, self.now - taken);
    }

    /// What is left of the block waits for nothing any more; others' bytes may lie between.
    fn settle(&mut self, event: EventIx, life: LifeIx, start: u64, end: u64) {
        let mut settled = 0;
        for span in self.spans.take(start, end) {
            if span.value == life {
                settled += span.end - span.start;
            } else {
                self.spans.put(span.start, span.end, span.value);
            }
        }
        self.change(event, self.now - settled);
    }

    fn change(&mut self, event: EventIx, now: u64) {
        if now != self.now {
            self.now = now;
            self.changes.push((event, now));
        }
    }
}
