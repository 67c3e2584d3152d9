//! The rungs before a refusal that go beyond the device: the host waits, or the embedder gives memory back.

use super::{Doing, Malloc, Turn};
use crate::driver::{Pressure, Relief, Target};
use crate::order::{CoveredBy, Flight, Level, Mark};
use crate::policy::Blocking;
use crate::reuse::Question;
use crate::runtime::{Action, Answer, Outcome, State};
use crate::trace::Record;
use crate::units::{Bytes, Seq};

/// How often one call asks the embedder for memory.
const PRESSURES: u32 = 8;

impl Malloc {
    /// Lets the host wait for the pending free that helps most: the earliest of a block that is large enough, else of
    /// one whose pieces or granules may serve. Each stream is waited for at most once a call.
    #[inline(never)]
    pub(super) fn block(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if state.facts.pool(self.ask.pool).tuning.blocking == Blocking::Never {
            return None;
        }
        if self.block_call == 0 {
            self.block_call = state.next_call();
        }
        let question = self
            .ask
            .question(&state.facts, self.block_call)
            .or_else(|| self.ask.settling_question(&state.facts, self.block_call))?;
        let asked = &mut state.facts.order.stream_mut(question.stream).asked;
        *asked = self.block_call.max(*asked);
        let (what, flight) = state.look_at(question)?;
        self.doing = Doing::Blocking(question, flight);
        Some(Turn::Do(Action::Synchronise { what }))
    }

    #[inline(never)]
    pub(super) fn commit_block(
        &mut self,
        state: &mut State<'_>,
        question: Question,
        flight: Option<Flight>,
        outcome: Outcome,
    ) {
        // The program waited too: whatever its pool's switches, it comes after what is complete now.
        let seq = state.end_look(question, flight, outcome.is_ok(), Level::Seen);
        if outcome.is_ok() {
            let on = state.facts.order.point(Mark { stream: question.stream, seq });
            state.record(Record::Blocked { pool: self.request.pool, stream: self.request.stream, on });
            self.begin_anew();
        }
    }

    /// Asks the embedder.
    #[inline(never)]
    pub(super) fn press(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if self.pressed == PRESSURES {
            return None;
        }
        if state.facts.pool(self.ask.pool).transits > 0 {
            self.begin_anew();
            return Some(Turn::Wait);
        }
        self.pressed = self.pressed.wrapping_add(1);
        let device = state.facts.pool(self.ask.pool).device;
        self.doing = Doing::Pressing { changes: state.changes() };
        let pressure = Pressure { pool: self.request.pool, device, bytes: Bytes(self.ask.size) };
        Some(Turn::Do(Action::Press { pressure }))
    }

    #[inline(never)]
    pub(super) fn commit_pressure(&mut self, state: &mut State<'_>, changes: u64, outcome: Outcome) {
        let relieved = matches!(outcome, Ok(Answer::Relief(Relief::Some)));
        if !relieved {
            self.pressed = PRESSURES;
        }
        // Other threads may have freed, or learnt of something, meanwhile.
        if relieved || state.changes() != changes {
            self.begin_anew();
        }
        state.record(Record::Pressed { pool: self.request.pool, bytes: Bytes(self.ask.size), relieved });
    }
}

impl State<'_> {
    /// Pins what a question is about until [`end_look`](Self::end_look). `None`: nobody can answer it.
    pub(super) fn look_at(&mut self, question: Question) -> Option<(Target, Option<Flight>)> {
        match question.about {
            CoveredBy::Marker { slot, .. } => {
                self.facts.order.pin_marker(slot);
                Some((Target::Marker(self.marker_slot(slot)), None))
            }
            CoveredBy::Stream { .. } => {
                self.pin_stream(question.stream);
                let flight = self.facts.order.begin_stream_sync(question.stream);
                Some((Target::Stream(self.native(question.stream)), Some(flight)))
            }
            CoveredBy::Nothing => None,
        }
    }

    /// Publishes what was learnt, and returns up to which position.
    pub(super) fn end_look(&mut self, question: Question, flight: Option<Flight>, complete: bool, level: Level) -> Seq {
        match question.about {
            CoveredBy::Marker { slot, seq } => {
                self.facts.order.end_marker_query(slot, complete, level);
                seq
            }
            CoveredBy::Stream { head } => {
                self.unpin_stream(question.stream);
                if let Some(flight) = flight {
                    self.facts.order.end_sync(flight, complete, level);
                }
                head
            }
            CoveredBy::Nothing => Seq::ZERO,
        }
    }
}
