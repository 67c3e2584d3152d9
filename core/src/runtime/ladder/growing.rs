//! The rung that grows: where to, what comes before, and what was grown.

use super::{Doing, Malloc, Rung, SLOTS, Turn};
use crate::release;
use crate::runtime::grow::Grown;
use crate::runtime::{Action, Outcome, State};
use crate::trace::Source;

impl Malloc {
    /// What comes before a growth; nothing where that is of no use.
    #[inline(never)]
    pub(super) fn sweep(&mut self, state: &mut State<'_>) -> Turn {
        // A pool that released something, or a stream that is complete, gives the growth another chance.
        if self.grow_failed && !self.grow_due {
            return self.after_growth(state);
        }
        if state.facts.blocks.room() < SLOTS {
            state.facts.sweep_all();
        } else {
            state.facts.sweep(self.ask.pool);
        }
        // That may have joined what was apart.
        self.ask.choose(&state.facts).map_or(Turn::Plan, Turn::Take)
    }

    /// Where to grow; nothing where there is no place for it.
    #[inline(never)]
    pub(super) fn plan_growth(&mut self, state: &mut State<'_>) -> Turn {
        let growth = self.ask.growth(&state.facts);
        self.no_range = growth.is_none();
        let Some(growth) = growth else { return self.after_growth(state) };
        let movable = self.ask.movable(&state.facts, &growth);
        let spare = state.facts.pool(self.ask.pool).spare(self.ask.size);
        if movable.saturating_add(spare) < growth.bytes()
            && let Some(action) = self.before_creating(state)
        {
            return Turn::Do(action);
        }
        self.grow_due = false;
        self.doing = Doing::Planned { growth, movable };
        Turn::Begin
    }

    #[inline(never)]
    pub(super) fn begin_growth(&mut self, state: &mut State<'_>) -> Turn {
        let Doing::Planned { growth, movable } = self.doing else { return Turn::Search };
        self.doing = Doing::Nothing;
        match state.begin_grow(&self.ask, growth, self.call, movable) {
            Ok(grow) => self.doing = Doing::Growing(grow),
            Err(failure) => {
                self.note(failure);
                return self.after_growth(state);
            }
        }
        Turn::Grow(None)
    }

    /// Rather than creating memory, learn whether some that is free can be moved.
    #[inline(never)]
    fn before_creating(&mut self, state: &mut State<'_>) -> Option<Action> {
        let question = self.ask.settling_question(&state.facts, self.call);
        if let Some(action) = question.and_then(|question| self.put(state, question)) {
            return Some(action);
        }
        if release::held(&state.facts, self.ask.pool).pending == 0 {
            return None;
        }
        let device = state.facts.pool(self.ask.pool).device;
        state.begin_burst(device);
        // Not for this call: for the next, which can ask about it.
        let due = if self.laid { None } else { state.plan_marker(self.ask.stream) };
        self.laid = true;
        let (lay, action) = due?;
        self.doing = Doing::Laying(lay);
        Some(action)
    }

    /// Goes on with the growth that it is at.
    #[inline(always)]
    pub(super) fn continue_growth(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Turn {
        let (Doing::Growing(grow), resumed) = (&mut self.doing, outcome.is_some()) else { return Turn::Search };
        match grow.advance(state, &self.ask, outcome) {
            Grown::Do(action) => Turn::Do(action),
            Grown::Ready => Turn::Finish,
            // Not reached: the growth has ended then.
            Grown::Undone => Turn::Search,
            Grown::Failed(failure, lacking) => {
                self.doing = Doing::Nothing;
                self.lacking = lacking;
                self.note(failure);
                self.grow_failed = true;
                if resumed { Turn::Search } else { self.after_growth(state) }
            }
        }
    }

    #[inline(never)]
    pub(super) fn finish_growth(&mut self, state: &mut State<'_>) -> Turn {
        let Doing::Growing(grow) = &self.doing else { return Turn::Search };
        let slot = grow.finish(state, &self.ask);
        self.doing = Doing::Nothing;
        Turn::Publish(slot, Source::Grow)
    }

    /// There was no growth that the driver was called for: the rung is done with, but for other pools, which may have more to give.
    pub(super) fn after_growth(&mut self, state: &State<'_>) -> Turn {
        match self.rungs(state).get(self.rung) {
            Some(Rung::Others) => self.grow_due = false,
            _ => self.rung = self.rung.wrapping_add(1),
        }
        Turn::Climb
    }
}
