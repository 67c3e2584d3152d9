//! The free memory of every pool at places along the log: how much, and the largest piece of it.

use crate::model::{EventIx, Kind, LifeIx, Model, Payload, Pool, PoolIx};
use std::collections::BTreeMap;

/// Places of a pool that are looked at, beside the peaks; in logs of many pools fewer of those that change often.
const PLACES: usize = 200;
const FEW_PLACES: usize = 50;
/// Pools are many from here on.
const MANY_POOLS: usize = 9;

/// A pool at one place of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The record; the pool is as it was just after.
    pub event: EventIx,
    /// Bytes in live blocks.
    pub used: u64,
    /// Mapped bytes.
    pub reserved: u64,
    /// The release threshold.
    pub threshold: u64,
    /// The largest run of mapped bytes without a live block, whoever may use them.
    pub largest_free: u64,
}

impl Sample {
    /// Mapped bytes that nobody uses.
    #[must_use]
    pub const fn free(&self) -> u64 {
        self.reserved.saturating_sub(self.used)
    }

    /// External fragmentation: the part of the free bytes that is not in the largest run. 0 where nothing is free.
    #[must_use]
    pub fn fragmentation(&self) -> f64 {
        let free = self.free();
        if free == 0 { 0.0 } else { 1.0 - self.largest_free.min(free) as f64 / free as f64 }
    }
}

/// For each pool its samples, in order. O(n log n) in the records, and O(blocks) a sample.
pub(super) fn samples(model: &Model) -> Vec<Vec<Sample>> {
    let places: Vec<Vec<EventIx>> = model.pools.iter().map(|pool| places(model, pool)).collect();
    let mut all: Vec<(EventIx, usize)> =
        places.iter().enumerate().flat_map(|(pool, places)| places.iter().map(move |place| (*place, pool))).collect();
    all.sort_unstable();
    let mut live: Vec<BTreeMap<u64, (u64, LifeIx)>> = vec![BTreeMap::new(); model.pools.len()];
    for (at, life) in model.lives.iter().enumerate().filter(|(_, life)| life.born().is_none()) {
        live[life.pool.at()].insert(life.offset.0, (life.end(), LifeIx::next_of(at)));
    }
    let mut samples = vec![Vec::new(); model.pools.len()];
    let mut next = all.into_iter().peekable();
    for at in 0..model.events.len() {
        let event = EventIx::next_of(at);
        follow(model, event, &mut live);
        while let Some((place, pool)) = next.next_if(|(place, _)| *place <= event) {
            samples[pool].push(sample(model, PoolIx::next_of(pool), place, &live[pool]));
        }
    }
    samples
}

/// At every change of the pool where those are few, and else evenly along its life; its peaks, and the log's ends.
fn places(model: &Model, pool: &Pool) -> Vec<EventIx> {
    let Some(last) = model.events.len().checked_sub(1) else { return Vec::new() };
    let count = if model.pools.len() < MANY_POOLS { PLACES } else { FEW_PLACES };
    let changes = || pool.used.steps().chain(pool.reserved.steps()).map(|(event, _)| event);
    let mut places: Vec<EventIx> = changes().take(PLACES + 1).collect();
    if places.len() > PLACES {
        let life = changes().min().zip(changes().max());
        let [from, to] = life.map_or([0, last], |(from, to)| [from.at(), to.at()]);
        places = (0..count).map(|place| EventIx::next_of(from + (to - from) * place / (count - 1))).collect();
    }
    places.extend(pool.used.peak().1.into_iter().chain(pool.reserved.peak().1));
    places.extend([EventIx(0), EventIx::next_of(last)]);
    places.sort_unstable();
    places.dedup();
    places
}

fn follow(model: &Model, event: EventIx, live: &mut [BTreeMap<u64, (u64, LifeIx)>]) {
    let at = match model.events.payload(event) {
        Payload::Life(at) => at,
        Payload::Other(_) => return,
    };
    let life = model.life(at);
    let live = &mut live[life.pool.at()];
    if model.events.kind(event) == Kind::Malloc {
        live.insert(life.offset.0, (life.end(), at));
    } else if live.get(&life.offset.0).is_some_and(|(_, there)| *there == at) {
        live.remove(&life.offset.0);
    }
}

fn sample(model: &Model, at: PoolIx, event: EventIx, live: &BTreeMap<u64, (u64, LifeIx)>) -> Sample {
    let pool = model.pool(at);
    let mut mapped: Vec<(u64, u64)> = pool
        .runs
        .iter()
        .filter(|run| run.since <= event && run.unmapped.is_none_or(|unmapped| unmapped > event))
        .map(|run| (run.start, run.end))
        .collect();
    mapped.sort_unstable();
    // Runs that meet are one piece of memory.
    mapped.dedup_by(|next, last| {
        let meets = next.0 <= last.1;
        if meets {
            last.1 = last.1.max(next.1);
        }
        meets
    });
    let mut blocks = live.iter().filter(|(_, (_, life))| model.life(*life).live_after(event)).peekable();
    let mut largest = 0;
    for (start, end) in mapped {
        let mut from = start;
        while let Some((at, (stop, _))) = blocks.next_if(|(at, _)| **at < end) {
            largest = largest.max(at.saturating_sub(from));
            from = from.max(*stop);
        }
        largest = largest.max(end.saturating_sub(from));
    }
    Sample {
        event,
        used: pool.used.after(event),
        reserved: pool.reserved.after(event),
        threshold: pool.threshold.after(event),
        largest_free: largest,
    }
}
