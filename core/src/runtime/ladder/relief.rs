//! The last rung: what could not be released is tried again, and the device's other pools give back what they do not use.

use super::{Doing, Malloc};
use crate::driver::DriverErrorKind;
use crate::error::{Arena, MallocError};
use crate::release;
use crate::reuse::Ask;
use crate::runtime::grow::Failure;
use crate::runtime::release::Release;
use crate::runtime::{Action, Outcome, Plan, State, Step};
use crate::trace;
use crate::units::DevicePtr;

/// What may bring memory back.
enum Relief {
    Ask(Action),
    Release(Release),
}

impl Malloc {
    /// Where the device itself is full, other pools' free memory can help. After each release the pool tries to grow.
    pub(super) fn release_others(&mut self, state: &mut State<'_>) -> Option<Step<Result<DevicePtr, MallocError>>> {
        loop {
            if self.grow_due {
                if let Some(step) = self.grow(state) {
                    return Some(step);
                }
                self.grow_due = false;
            }
            let step = match self.next_release(state)? {
                Relief::Ask(action) => Some(Step::Do(action)),
                Relief::Release(release) => self.continue_release(state, release, None),
            };
            if step.is_some() {
                return step;
            }
        }
    }

    /// What may bring memory back: the own pool's quarantine, once; then, where the device is full, the other pools.
    fn next_release(&mut self, state: &mut State<'_>) -> Option<Relief> {
        // An arena of as many granules as the device has is full before the driver says that the device is.
        let full = match self.failure {
            Some(Failure::Driver(error)) => error.kind == DriverErrorKind::Exhausted,
            Some(Failure::Arena(full)) => full.arena == Arena::Granules,
            _ => false,
        };
        let refused = !full && matches!(self.failure, Some(Failure::Driver(_)));
        if !refused && !self.retried && state.is_quarantined(self.ask.pool) {
            self.retried = true;
            state.pin_pool(self.ask.pool);
            return Some(Relief::Release(Release::new(self.ask.pool, 0, trace::UnmapReason::Undo)));
        }
        if !full {
            return None;
        }
        if let Some(action) = self.ask_others(state) {
            return Some(Relief::Ask(action));
        }
        let mine = *state.facts.pool(self.ask.pool);
        state.facts.sweep_all();
        let others = state.facts.pools.iter().skip(self.other);
        let found = others.map(|(slot, pool)| (slot, pool.device)).find(|&(slot, device)| {
            slot != self.ask.pool && device == mine.device && release::available(&state.facts, slot) > 0
        });
        let (slot, _) = found?;
        self.other = slot.wrapping_add(1);
        state.pin_pool(slot);
        Some(Relief::Release(Release::new(slot, mine.granule_up(self.lacking), trace::UnmapReason::Trim)))
    }

    /// A question about free memory of the device's other pools whose work may be complete.
    fn ask_others(&mut self, state: &mut State<'_>) -> Option<Action> {
        let device = state.facts.pool(self.ask.pool).device;
        let others = state.facts.pools.iter().filter(|(slot, p)| *slot != self.ask.pool && p.device == device);
        let mut asks = others.map(|(slot, _)| Ask::about(slot, self.ask.stream));
        let question = asks.find_map(|ask| ask.settling_question(&state.facts, self.call));
        drop(asks);
        self.put(state, question?)
    }

    pub(super) fn continue_release(
        &mut self,
        state: &mut State<'_>,
        mut release: Release,
        outcome: Option<Outcome>,
    ) -> Option<Step<Result<DevicePtr, MallocError>>> {
        match release.advance(state, outcome) {
            Step::Do(action) => {
                self.doing = Doing::Releasing(release);
                Some(Step::Do(action))
            }
            Step::Wait => Some(Step::Wait),
            Step::Done(()) => {
                state.unpin_pool(release.pool());
                self.grow_due = true;
                None
            }
        }
    }
}
