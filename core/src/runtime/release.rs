//! Giving granules back to the driver: at synchronisations, by trim, at a pool's end, and for another pool's need.

use super::place::Moving;
use super::report::Pending;
use super::{Action, Lock, Outcome, Plan, Runtime, State, Step};
use crate::block;
use crate::driver::Driver;
use crate::error::{PendingOn, Point, PoolError};
use crate::granule::Place;
use crate::id::PoolId;
use crate::order::{Level, Mark};
use crate::policy;
use crate::pool::Standing;
use crate::release::{self, Releasable};
use crate::reuse::is_settled;
use crate::trace::{Record, Sink, UnmapReason, Verb};
use crate::units::{Bytes, DevicePtr};

/// What a trim reached, and what held the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Trimmed {
    /// Reserved bytes afterwards.
    pub reserved: Bytes,
    /// Bytes in live blocks.
    pub live: Bytes,
    /// Bytes of whole granules that are free, but whose work is not known to be complete.
    pub pending: Bytes,
    /// Free bytes in granules that are only partly free.
    pub partial: Bytes,
    /// How many streams hold pending bytes back.
    pub pending_streams: u32,
    /// The four of them with the most freed bytes in such granules, most first. Bytes that several streams hold back count
    /// with each. A granule goes when all that hold a part of it are complete.
    pub pending_on: [Option<PendingOn>; 4],
}

/// What the driver is doing for a release.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Unmapping { granule: usize },
    Destroying { granule: usize },
}

/// What an earlier failure left.
#[derive(Clone, Copy, Debug)]
enum Retry {
    /// A run to unmap.
    Run,
    /// A granule to destroy.
    Granule(usize),
    Nothing,
}

/// Releases granules of one pool.
#[derive(Debug)]
pub(super) struct Release {
    pool: usize,
    reason: UnmapReason,
    /// Bytes that are still to go; shrinks with each granule.
    left: u64,
    doing: Doing,
    moving: Option<Moving>,
    /// Where the granules begin that were unmapped one after the other.
    from: u64,
    unmapped: u32,
    begun: bool,
    /// The driver refused once: no more is tried in this call.
    refused: bool,
}

impl Release {
    pub(super) fn new(pool: usize, bytes: u64, reason: UnmapReason) -> Self {
        Self {
            pool,
            reason,
            left: bytes,
            doing: Doing::Nothing,
            moving: None,
            from: 0,
            unmapped: 0,
            begun: false,
            refused: false,
        }
    }

    /// The pool whose granules go.
    pub(super) fn pool(&self) -> usize {
        self.pool
    }

    /// Commits what the driver did; says whether it refused.
    #[inline(never)]
    fn commit(&mut self, state: &mut State<'_>, outcome: Outcome) -> bool {
        let granularity = state.facts.pool(self.pool).granularity;
        match (core::mem::replace(&mut self.doing, Doing::Nothing), outcome) {
            (Doing::Unmapping { granule }, Ok(_)) => {
                state.facts.granules.unmapped(granule);
                if let Some(moving) = &mut self.moving {
                    if self.unmapped == 0 {
                        self.from = moving.at;
                    }
                    moving.at = moving.at.wrapping_add(granularity);
                }
                self.unmapped = self.unmapped.wrapping_add(1);
                self.doing = Doing::Destroying { granule };
            }
            (Doing::Unmapping { .. }, Err(_)) => self.refused = true,
            (Doing::Destroying { granule }, Ok(_)) => {
                state.facts.granules.end(granule);
                if self.moving.is_none() {
                    // One that was kept apart.
                    state.log_undestroyed(self.pool);
                }
                let pool = state.facts.pool_mut(self.pool);
                pool.take_reserved(granularity);
                if self.reason == UnmapReason::Threshold {
                    pool.demand.note_released(granularity);
                }
                self.left = self.left.saturating_sub(granularity);
            }
            (Doing::Destroying { granule }, Err(_)) => {
                self.refused = true;
                self.end_run(state);
                state.quarantine(self.pool, granule, Mark::default());
            }
            (Doing::Nothing, _) => {}
        }
        outcome.is_err()
    }

    /// Takes up the next run, if there is one. Where there is no slot to cut its block with, less is released and nothing lost.
    #[inline(never)]
    fn begin_run(&mut self, state: &mut State<'_>) -> bool {
        match release::next(&state.facts, self.pool, self.left) {
            Some(ref next) => self.take_up(state, next),
            None => false,
        }
    }

    #[inline(never)]
    fn take_up(&mut self, state: &mut State<'_>, next: &Releasable) -> bool {
        self.moving = state.facts.begin_moving(*next).ok();
        self.moving.is_some()
    }

    /// The run that was being released is at its end, or the driver refused.
    #[inline(never)]
    fn end_run(&mut self, state: &mut State<'_>) {
        let Some(moving) = self.moving.take() else { return };
        state.facts.end_moving(&moving, None);
        if self.unmapped > 0 {
            self.log_unmapped(state);
        }
        self.unmapped = 0;
    }

    #[inline(never)]
    fn log_unmapped(&self, state: &mut State<'_>) {
        let pool = state.facts.pool_id(self.pool);
        let offset = Bytes(self.from.wrapping_sub(state.facts.pool(self.pool).base));
        state.record(Record::Unmapped { pool, offset, granules: self.unmapped, reason: self.reason });
    }

    fn destroy(&mut self, state: &State<'_>, granule: usize) -> Action {
        self.doing = Doing::Destroying { granule };
        Action::Destroy { device: state.facts.pool(self.pool).device, handle: state.facts.granules.get(granule).handle }
    }

    /// The next granule of the run.
    #[inline(never)]
    fn unmap_next(&mut self, state: &State<'_>) -> Option<Action> {
        let moving = self.moving.as_mut()?;
        let pool = state.facts.pool(self.pool);
        let (device, granularity) = (pool.device, pool.granularity);
        while moving.at < moving.to {
            if let Some(granule) = state.facts.granules.at(moving.at) {
                self.doing = Doing::Unmapping { granule };
                return Some(Action::Unmap { device, at: DevicePtr(moving.at), stream: None });
            }
            // Only runs that were set aside have gaps.
            moving.at = moving.at.wrapping_add(granularity);
        }
        None
    }

    /// Takes up what an earlier failure set aside, if it can be tried again.
    #[inline(never)]
    fn retry(&mut self, state: &mut State<'_>) -> Retry {
        let first = state.facts.pool(self.pool).first;
        let settled = |b: &block::Block| is_settled(&state.facts, b);
        let ready = |b: &block::Block| b.state() == block::State::Quarantined && settled(b);
        let any = state.facts.pool(self.pool).set_aside > 0;
        let aside = if any { state.facts.blocks.walk(first).find(|(_, b)| ready(b)) } else { None };
        if let Some((slot, _)) = aside {
            self.moving = Some(state.facts.begin_moving_aside(slot));
            return Retry::Run;
        }
        let settled = |mark| state.facts.order.settled(mark, Level::Known);
        let Some(granule) = state.facts.granules.quarantined_of(self.pool, settled) else { return Retry::Nothing };
        state.facts.granules.retry(granule);
        Retry::Granule(granule)
    }
}

impl Plan for Release {
    type Output = ();

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<()> {
        if let Some(outcome) = outcome
            && self.commit(state, outcome)
        {
            self.end_run(state);
        }
        if !self.begun {
            self.begun = true;
            state.facts.sweep(self.pool);
        }
        let mut retried = false;
        loop {
            if let Doing::Destroying { granule } = self.doing {
                return Step::Do(self.destroy(state, granule));
            }
            if let Some(action) = self.unmap_next(state) {
                return Step::Do(action);
            }
            self.end_run(state);
            if self.refused || retried {
                return Step::Done(());
            }
            if !self.begin_run(state) {
                // Last, so that what fails for ever holds nothing else up.
                match self.retry(state) {
                    Retry::Run => retried = true,
                    Retry::Granule(granule) => return Step::Do(self.destroy(state, granule)),
                    Retry::Nothing => return Step::Done(()),
                }
            }
        }
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Releases free granules until `keep` bytes are reserved, or nothing more can go; the threshold does not matter.
    /// Memory in use and memory whose work is not known to be complete stays; that is no error, and neither is a `keep`
    /// above the limit. (CANN refuses both.)
    ///
    /// O(blocks of the pool) and two driver calls a granule.
    ///
    /// # Errors
    /// The pool's id is not live.
    pub fn trim_to(&self, pool: PoolId, keep: Bytes) -> Result<Trimmed, PoolError> {
        let slot = self.enter(|state| {
            let found = state.facts.find_pool(pool);
            let slot = found.map_err(|bad| state.refuse_pool(Verb::Trim, Some(pool), bad.into()))?;
            state.pin_pool(slot);
            Ok::<_, PoolError>(slot)
        })?;
        let bytes = self.commit(|state| release::surplus(&state.facts, slot, keep.0))?;
        self.drive(&mut Release::new(slot, bytes, UnmapReason::Trim))?;
        Ok(self.commit(|state| {
            state.unpin_pool(slot);
            state.report_trim(slot, keep)
        })?)
    }

    /// Releases what stands above the thresholds, and what is left of destroyed pools. Runs after a synchronisation.
    pub(super) fn release_surplus(&self, device: crate::id::DeviceId) -> Result<(), crate::error::Unusable> {
        self.reap()?;
        self.commit(|state| state.end_rounds(device))?;
        let mut from = 0;
        while let Some(slot) = self.commit(|state| state.next_surplus(device, from))? {
            self.give_back(slot)?;
            from = slot.wrapping_add(1);
        }
        Ok(())
    }

    /// Releases what one pool has above its threshold; all of it, and its range, where the pool was destroyed.
    pub(super) fn give_back(&self, slot: usize) -> Result<(), crate::error::Unusable> {
        let (bytes, reason) = self.commit(|state| {
            state.pin_pool(slot);
            let pool = state.facts.pool(slot);
            let (keep, reason) = match pool.standing {
                Standing::Dying => (0, UnmapReason::Destroy),
                _ => (pool.kept, UnmapReason::Threshold),
            };
            (release::surplus(&state.facts, slot, keep), reason)
        })?;
        self.drive(&mut Release::new(slot, bytes, reason))?;
        self.commit(|state| state.unpin_pool(slot))?;
        self.bury(slot)
    }
}

impl State<'_> {
    /// What a trim to `target` reached, for the caller and for the log.
    fn report_trim(&mut self, slot: usize, target: Bytes) -> Trimmed {
        let (pool, held) = (self.facts.pool_id(slot), release::held(&self.facts, slot));
        let holders = self.holders(slot, Pending::InWholeGranules);
        let (reached, live) = (Bytes(self.facts.pool(slot).reserved), Bytes(held.live));
        let (pending, partial) = (Bytes(held.pending), Bytes(held.partial));
        self.record(Record::Trimmed { pool, target, reached, live, pending, partial });
        for PendingOn { stream, until, bytes } in holders.most.into_iter().flatten() {
            let on = Point { stream, seq: until };
            self.record(Record::TrimPending { pool, on, bytes, streams: holders.streams });
        }
        let (pending_streams, pending_on) = (holders.streams, holders.most);
        Trimmed { reserved: reached, live, pending, partial, pending_streams, pending_on }
    }

    /// A synchronisation ends a round of the device's pools: what each keeps is worked out anew.
    fn end_rounds(&mut self, device: crate::id::DeviceId) {
        for slot in 0..self.facts.pools.len() {
            let pool = self.facts.pool_mut(slot);
            if pool.device != device || pool.standing != Standing::Live {
                continue;
            }
            let (kept, thrashed) = (pool.kept_beyond(), pool.demand.thrashes());
            let worth = pool.demand.end_round(pool.used);
            pool.kept = match pool.tuning.release {
                policy::Release::Hysteresis => pool.threshold.max(worth),
                policy::Release::Always => pool.threshold,
            };
            let (now, thrash) = (pool.kept_beyond(), pool.demand.thrash);
            if thrashed || now != kept {
                let pool = self.facts.pool_id(slot);
                self.record(Record::Kept { pool, kept: Bytes(now), thrash: Bytes(thrash) });
            }
        }
    }

    /// The next pool of the device, from slot `from` on, that holds more than it should.
    fn next_surplus(&mut self, device: crate::id::DeviceId, from: usize) -> Option<usize> {
        self.facts.pools.iter().skip(from).find_map(|(slot, pool)| {
            let held = match pool.standing {
                Standing::Live => release::surplus(&self.facts, slot, pool.kept) > 0 || self.is_quarantined(slot),
                Standing::Dying => true,
                Standing::Vacant | Standing::Coming | Standing::Closing | Standing::Leaving => false,
            };
            (pool.device == device && held).then_some(slot)
        })
    }

    /// A granule of the pool that is mapped nowhere stays, until a release destroys it.
    #[inline(never)]
    pub(super) fn quarantine(&mut self, slot: usize, granule: usize, after: Mark) {
        self.facts.granules.quarantine(granule, after);
        self.log_quarantined(slot, 1);
        self.log_undestroyed(slot);
    }

    /// A function of its own: no stack holds a record beside another one.
    #[inline(never)]
    pub(super) fn log_quarantined(&mut self, slot: usize, granules: u32) {
        let pool = self.facts.pool_id(slot);
        self.record(Record::Quarantined { pool, granules });
    }

    #[inline(never)]
    fn log_undestroyed(&mut self, slot: usize) {
        let (pool, granules) = (self.facts.pool_id(slot), self.facts.granules.quarantined_in(slot));
        self.record(Record::Undestroyed { pool, granules });
    }

    /// Whether anything of the pool waits for a release to try again.
    pub(super) fn is_quarantined(&self, slot: usize) -> bool {
        self.facts.pool(slot).set_aside > 0 || self.facts.granules.quarantined_of(slot, |_| true).is_some()
    }

    pub(super) fn pin_pool(&mut self, slot: usize) {
        let pool = self.facts.pool_mut(slot);
        pool.pins = pool.pins.saturating_add(1);
    }

    pub(super) fn unpin_pool(&mut self, slot: usize) {
        let pool = self.facts.pool_mut(slot);
        pool.pins = pool.pins.saturating_sub(1);
    }

    /// Whether every granule of the pool is mapped or quarantined; used by checks.
    pub(super) fn physical_bytes(&self, slot: usize) -> u64 {
        let granularity = self.facts.pool(slot).granularity;
        let mine = self.facts.granules.iter().filter(|(_, g)| g.pool as usize == slot && g.place != Place::Unused);
        mine.fold(0u64, |sum, _| sum.wrapping_add(granularity))
    }
}
