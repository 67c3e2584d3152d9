//! The last rung: what could not be released is tried again, and the device's other pools give back what they do not use.

use super::{Doing, Malloc, Turn};
use crate::driver::DriverErrorKind;
use crate::error::Arena;
use crate::release;
use crate::reuse::Ask;
use crate::runtime::grow::Failure;
use crate::runtime::release::Release;
use crate::runtime::{Action, Outcome, Plan, State, Step};
use crate::trace;

impl Malloc {
    /// Where the device itself is full, other pools' free memory can help. After each release the pool tries to grow.
    pub(super) fn release_others(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if self.grow_due { Some(Turn::Sweep) } else { self.next_release(state) }
    }

    /// What may bring memory back: the own pool's quarantine, once; then, where the device is full, the other pools.
    #[inline(never)]
    fn next_release(&mut self, state: &mut State<'_>) -> Option<Turn> {
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
            self.doing = Doing::Releasing(Release::new(self.ask.pool, 0, trace::UnmapReason::Undo));
            return Some(Turn::Release(None));
        }
        if !full {
            return None;
        }
        if let Some(action) = self.ask_others(state) {
            return Some(Turn::Do(action));
        }
        let mine = state.facts.pool(self.ask.pool).device;
        state.facts.sweep_all();
        let others = state.facts.pools.iter().skip(self.other);
        let found = others.map(|(slot, pool)| (slot, pool.device)).find(|&(slot, device)| {
            slot != self.ask.pool && device == mine && release::available(&state.facts, slot) > 0
        });
        let (slot, _) = found?;
        self.other = slot.wrapping_add(1);
        state.pin_pool(slot);
        let bytes = state.facts.pool(self.ask.pool).granule_up(self.lacking);
        self.doing = Doing::Releasing(Release::new(slot, bytes, trace::UnmapReason::Trim));
        Some(Turn::Release(None))
    }

    /// A question about free memory of the device's other pools whose work may be complete.
    #[inline(never)]
    fn ask_others(&mut self, state: &mut State<'_>) -> Option<Action> {
        let device = state.facts.pool(self.ask.pool).device;
        let others = state.facts.pools.iter().filter(|(slot, p)| *slot != self.ask.pool && p.device == device);
        let mut asks = others.map(|(slot, _)| Ask::about(slot, self.ask.stream));
        let question = asks.find_map(|ask| ask.settling_question(&state.facts, self.call));
        drop(asks);
        self.put(state, question?)
    }

    /// Goes on with the release that it is at.
    #[inline(never)]
    pub(super) fn continue_release(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Turn {
        let (Doing::Releasing(release), resumed) = (&mut self.doing, outcome.is_some()) else { return Turn::Search };
        match release.advance(state, outcome) {
            Step::Do(action) => Turn::Do(action),
            Step::Wait => Turn::Wait,
            Step::Done(()) => {
                state.unpin_pool(release.pool());
                self.doing = Doing::Nothing;
                self.grow_due = true;
                if resumed { Turn::Search } else { Turn::Climb }
            }
        }
    }
}
