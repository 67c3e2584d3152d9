//! The rungs that make the stream wait, on the device, for another one's work.

use super::{Doing, Malloc, Turn};
use crate::policy::Reuse;
use crate::reuse::{Dependency, Towards};
use crate::runtime::grow::Failure;
use crate::runtime::{Action, Outcome, State};
use crate::trace::Record;

impl Malloc {
    /// Inserts one more wait.
    #[inline(never)]
    pub(super) fn wait(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if self.wait_failed || !state.facts.pool(self.ask.pool).reuse.contains(Reuse::INTERNAL) {
            return None;
        }
        let dependency = match self.ask.towards(&state.facts)? {
            Towards::Wait(dependency) => dependency,
            Towards::Ready(choice) => {
                self.ask.waited = true;
                return Some(Turn::Take(choice));
            }
        };
        Some(self.insert(state, dependency))
    }

    /// Waits for free blocks beside a hole, then grows by what they lack.
    #[inline(never)]
    pub(super) fn wait_and_grow(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if self.wait_failed || !state.facts.pool(self.ask.pool).reuse.contains(Reuse::INTERNAL) {
            return None;
        }
        if let Some(dependency) = self.ask.towards_growth(&state.facts)? {
            return Some(self.insert(state, dependency));
        }
        // Once: what the driver refuses now it has refused.
        if !self.ask.waited || core::mem::replace(&mut self.bridged, true) {
            return None;
        }
        self.grow_failed = false;
        Some(Turn::Sweep)
    }

    fn insert(&mut self, state: &mut State<'_>, dependency: Dependency) -> Turn {
        state.facts.order.pin_marker(dependency.marker);
        self.doing = Doing::Waiting(dependency);
        let marker = state.marker_slot(dependency.marker);
        Turn::Do(Action::Wait { stream: state.native(self.ask.stream), marker })
    }

    #[inline(never)]
    pub(super) fn commit_wait(&mut self, state: &mut State<'_>, dependency: Dependency, outcome: &Outcome) {
        state.facts.order.end_marker_wait(self.ask.stream, dependency.marker, outcome.is_ok());
        if let Err(error) = *outcome {
            self.failure = Some(Failure::Driver(error));
            self.wait_failed = true;
            return;
        }
        self.ask.waited = true;
        let on = state.facts.order.point(dependency.on);
        let marker = dependency.marker as u32;
        state.record(Record::WaitInserted { stream: self.request.stream, seq: self.seq, marker, on });
    }
}
