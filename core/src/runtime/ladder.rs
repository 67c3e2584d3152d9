//! A malloc in flight: the ladder from memory that is there to an error with the whole picture.

mod relief;
mod resort;
mod rung;
mod waiting;

use super::beside::{ASKS, Beside, JOINS};
use super::grow::{Failure, Grow, Grown};
use super::malloc::Request;
use super::release::Release;
use super::state::{Lay, completion};
use super::{Action, Outcome, Plan, State, Step};
use crate::driver::{Completion, DriverErrorKind};
use crate::error::{MallocError, OutOfMemory, Unusable};
use crate::order::{Flight, Level, Reach};
use crate::plant::{self, Plant};
use crate::policy::Reuse;
use crate::release;
use crate::reuse::{Ask, Choice, Dependency, Question, Taken};
use crate::trace::{Record, Source};
use crate::units::{Bytes, DevicePtr, Seq};
use rung::Rung;

/// Slots for blocks that a growth may need: what is left on either side of its bytes, and of granules that are moved.
const SLOTS: usize = 4;

/// The driver call that was asked for last.
#[derive(Debug)]
enum Doing {
    Nothing,
    Laying(Lay),
    Asking(Question, Option<Flight>),
    Waiting(Dependency),
    Growing(Grow),
    Releasing(Release),
    Blocking(Question, Option<Flight>),
    /// The state had changed so often.
    Pressing {
        changes: u64,
    },
}

/// What comes before a block is taken.
enum Before {
    Nothing,
    /// The closest size may be another now.
    Joined,
    Do(Action),
}

/// Whether the call may call the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// As much as it takes.
    Full,
    /// Not at all: from a handler.
    None,
}

/// A malloc in flight.
#[derive(Debug)]
pub(super) struct Malloc {
    request: Request,
    patience: Patience,
    ask: Ask,
    seq: Seq,
    call: u64,
    rung: usize,
    /// The next pool that may be asked to release something.
    other: usize,
    /// What the own pool had in quarantine was tried again.
    retried: bool,
    /// Something was released, or learnt, since the pool last tried to grow.
    grow_due: bool,
    begun: bool,
    /// How often it joined a block that it was about to cut, and how often it asked about one.
    joins: u8,
    asks: u8,
    /// A marker was laid, or refused, for the calls that come after.
    laid: bool,
    /// The driver refused a wait, or a growth failed: that rung is done with.
    wait_failed: bool,
    grow_failed: bool,
    /// Waits for blocks beside a hole have led to a growth.
    bridged: bool,
    /// What the last growth lacked.
    lacking: u64,
    /// Number of the call's waits on the host; no stream is waited for twice.
    block_call: u64,
    pressed: u32,
    doing: Doing,
    /// The device or the arena, not the limit, ended a growth.
    failure: Option<Failure>,
    no_range: bool,
}

impl Plan for Malloc {
    type Output = Result<DevicePtr, MallocError>;

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<Self::Output> {
        if !self.begun {
            self.begun = true;
            match self.begin(state) {
                Ok(None) => {}
                Ok(Some(action)) => return Step::Do(action),
                Err(error) => return Step::Done(Err(state.refuse_malloc(&self.request, error))),
            }
        }
        let step = match self.resume(state, outcome) {
            Some(step) => step,
            None => self.climb(state),
        };
        if let Step::Done(result) = &step {
            let result = *result;
            state.unpin_pool(self.ask.pool);
            state.unpin_stream(self.ask.stream);
            return Step::Done(result.map_err(|e| state.refuse_malloc(&self.request, e)));
        }
        step
    }
}

impl Malloc {
    /// Checks everything, takes a position on the stream, and lays the marker that is due.
    fn begin(&mut self, state: &mut State<'_>) -> Result<Option<Action>, MallocError> {
        self.ask = self.request.admit(&state.facts.order, &state.facts.pools)?.ask;
        let Ask { pool, stream, .. } = self.ask;
        let marker = match self.patience {
            Patience::Full => state.plan_marker(stream),
            Patience::None => None,
        };
        self.seq = state.facts.order.tick(stream);
        state.pin_pool(pool);
        state.pin_stream(stream);
        Ok(marker.map(|(lay, action)| {
            self.doing = Doing::Laying(lay);
            action
        }))
    }

    /// Commits what the driver did. `None`: search again.
    fn resume(
        &mut self,
        state: &mut State<'_>,
        outcome: Option<Outcome>,
    ) -> Option<Step<Result<DevicePtr, MallocError>>> {
        let outcome = outcome?;
        match core::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing => None,
            Doing::Laying(lay) => {
                state.commit_marker(lay, outcome);
                None
            }
            Doing::Asking(question, flight) => {
                self.commit_question(state, question, flight, outcome);
                None
            }
            Doing::Waiting(dependency) => {
                self.commit_wait(state, dependency, &outcome);
                None
            }
            Doing::Growing(grow) => self.continue_growth(state, grow, Some(outcome)),
            Doing::Releasing(release) => self.continue_release(state, release, Some(outcome)),
            Doing::Blocking(question, flight) => {
                self.commit_block(state, question, flight, outcome);
                None
            }
            Doing::Pressing { changes } => {
                self.commit_pressure(state, changes, outcome);
                None
            }
        }
    }

    /// Searches, and where nothing is there, takes the next rung.
    fn climb(&mut self, state: &mut State<'_>) -> Step<Result<DevicePtr, MallocError>> {
        while let Some(choice) = self.ask.choose(&state.facts) {
            match self.before_cut(state, choice) {
                Before::Nothing => return Step::Done(self.take(state, choice)),
                Before::Joined => {}
                Before::Do(action) => return Step::Do(action),
            }
        }
        if self.patience == Patience::None {
            return Step::Done(Err(MallocError::Unusable(Unusable::Busy)));
        }
        self.number(state);
        let rungs = self.rungs(state);
        while let Some(&rung) = rungs.get(self.rung) {
            let step = match rung {
                Rung::Ask => self.question(state),
                Rung::Grow => self.grow(state),
                Rung::Mix => self.ask.choose_mixed(&state.facts).map(|choice| Step::Done(self.take(state, choice))),
                Rung::Wait => self.wait(state),
                Rung::WaitAndGrow => self.wait_and_grow(state),
                Rung::Others => self.release_others(state),
                Rung::Block => self.block(state),
                Rung::Press => self.press(state),
            };
            if let Some(step) = step {
                return step;
            }
            self.rung = self.rung.wrapping_add(1);
        }
        if state.facts.pool(self.ask.pool).transits > 0 {
            // What another thread is mapping or unmapping may be what is missing here: begin anew when it is done.
            self.begin_anew();
            return Step::Wait;
        }
        Step::Done(Err(self.exhausted(state)))
    }

    /// Joins a block that is to be cut with what lies beside it, or asks whether that can be.
    fn before_cut(&mut self, state: &mut State<'_>, choice: Choice) -> Before {
        let Taken::Front(block) = choice.taken else { return Before::Nothing };
        let call = self.number(state);
        match state.facts.beside(block, self.ask.size, call) {
            Beside::Joins if self.joins < JOINS => {
                self.joins = self.joins.wrapping_add(1);
                state.facts.join_beside(block);
                Before::Joined
            }
            Beside::Unknown(question) if self.asks < ASKS && self.patience == Patience::Full => {
                self.asks = self.asks.wrapping_add(1);
                self.put(state, question).map_or(Before::Nothing, Before::Do)
            }
            Beside::Nothing | Beside::Joins | Beside::Unknown(_) => Before::Nothing,
        }
    }

    /// The call's number among those that may ask the driver.
    fn number(&mut self, state: &mut State<'_>) -> u64 {
        if self.call == 0 {
            self.call = state.next_call();
        }
        self.call
    }

    fn rungs(&self, state: &State<'_>) -> &'static [Rung] {
        rung::ladder(state.facts.pool(self.ask.pool).preference)
    }

    fn rung_is_growth(&self, state: &State<'_>) -> bool {
        self.rungs(state).get(self.rung) == Some(&Rung::Grow)
    }

    /// Something has changed that every rung may profit from.
    fn begin_anew(&mut self) {
        (self.rung, self.other, self.failure) = (0, 0, None);
        (self.wait_failed, self.grow_failed, self.no_range) = (false, false, false);
    }

    fn take(&mut self, state: &mut State<'_>, choice: Choice) -> Result<DevicePtr, MallocError> {
        let (slot, reach) = match state.take(&self.ask, choice) {
            Ok(slot) => (slot, choice.reach),
            Err(full) => self.take_after_sweep(state).ok_or(full)?,
        };
        Ok(self.publish(state, slot, self.ask.source(reach)))
    }

    /// What could be one block must not hold the slots that the call needs. O(blocks).
    #[cold]
    fn take_after_sweep(&self, state: &mut State<'_>) -> Option<(usize, Reach)> {
        state.facts.sweep_all();
        let choice = self.ask.choose(&state.facts).or_else(|| self.ask.choose_mixed(&state.facts))?;
        state.take(&self.ask, choice).ok().map(|slot| (slot, choice.reach))
    }

    fn publish(&self, state: &mut State<'_>, slot: usize, source: Source) -> DevicePtr {
        let stream = self.ask.stream;
        let tie = state.facts.order.stream(stream).tie();
        state.publish(self.request, (stream, tie), self.seq, slot, source)
    }

    /// Asks about one more stream.
    fn question(&mut self, state: &mut State<'_>) -> Option<Step<Result<DevicePtr, MallocError>>> {
        if !state.facts.pool(self.ask.pool).reuse.contains(Reuse::OPPORTUNISTIC) {
            return None;
        }
        while let Some(question) = self.ask.question(&state.facts, self.call) {
            if let Some(action) = self.put(state, question) {
                return Some(Step::Do(action));
            }
        }
        None
    }

    /// Puts a question to the driver, unless nobody can answer it. Its stream is not asked about again in this call.
    fn put(&mut self, state: &mut State<'_>, question: Question) -> Option<Action> {
        state.facts.order.stream_mut(question.stream).asked =
            self.call.max(state.facts.order.stream(question.stream).asked);
        let (what, flight) = state.look_at(question)?;
        self.doing = Doing::Asking(question, flight);
        Some(Action::Query { what })
    }

    fn commit_question(&mut self, state: &mut State<'_>, question: Question, flight: Option<Flight>, outcome: Outcome) {
        let answer = completion(outcome);
        state.facts.pool_mut(self.ask.pool).asking.note(answer.unwrap_or(Completion::Pending));
        let complete = matches!(answer, Ok(Completion::Complete)) || plant::on(Plant::PendingIsComplete);
        let seq = state.end_look(question, flight, complete, Level::Known);
        if answer.is_ok() {
            let stream = state.facts.order.stream_id(question.stream);
            state.record_frequent(move |_| Record::Asked { stream, seq, complete });
        }
        // What was learnt may let granules be moved, where a growth failed before.
        self.grow_due |= complete && self.grow_failed;
        if complete {
            // Other pools may have more to give than when they were asked.
            self.other = 0;
        }
        if complete && self.rung_is_growth(state) {
            // What can be moved depends on all that is complete: while the answers are yes, they are asked for.
            state.facts.order.stream_mut(question.stream).asked = 0;
        }
        // Without switch 2 the pool does not allocate by what weir learns.
        self.ask.asked |= complete && state.facts.pool(self.ask.pool).reuse.contains(Reuse::OPPORTUNISTIC);
    }

    fn grow(&mut self, state: &mut State<'_>) -> Option<Step<Result<DevicePtr, MallocError>>> {
        // A pool that released something, or a stream that is complete, gives the growth another chance.
        if self.grow_failed && !self.grow_due {
            return None;
        }
        if state.facts.blocks.room() < SLOTS {
            state.facts.sweep_all();
        } else {
            state.facts.sweep(self.ask.pool);
        }
        // The sweep may have joined what was apart.
        if let Some(choice) = self.ask.choose(&state.facts) {
            return Some(Step::Done(self.take(state, choice)));
        }
        let growth = self.ask.growth(&state.facts);
        self.no_range = growth.is_none();
        let growth = growth?;
        let movable = self.ask.movable(&state.facts, &growth);
        let spare = state.facts.pool(self.ask.pool).spare(self.ask.size);
        if movable.saturating_add(spare) < growth.bytes() {
            // Rather than creating memory, learn whether some that is free can be moved.
            let question = self.ask.settling_question(&state.facts, self.call);
            if let Some(action) = question.and_then(|question| self.put(state, question)) {
                return Some(Step::Do(action));
            }
            if release::held(&state.facts, self.ask.pool).pending > 0 {
                let device = state.facts.pool(self.ask.pool).device;
                state.begin_burst(device);
                // Not for this call: for the next, which can ask about it.
                let due = if self.laid { None } else { state.plan_marker(self.ask.stream) };
                self.laid = true;
                if let Some((lay, action)) = due {
                    self.doing = Doing::Laying(lay);
                    return Some(Step::Do(action));
                }
            }
        }
        self.grow_due = false;
        match state.begin_grow(&self.ask, growth, self.call, movable) {
            Ok(grow) => self.continue_growth(state, grow, None),
            Err(failure) => {
                self.note(failure);
                None
            }
        }
    }

    fn continue_growth(
        &mut self,
        state: &mut State<'_>,
        mut grow: Grow,
        outcome: Option<Outcome>,
    ) -> Option<Step<Result<DevicePtr, MallocError>>> {
        match grow.advance(state, &self.ask, outcome) {
            Grown::Do(action) => {
                self.doing = Doing::Growing(grow);
                Some(Step::Do(action))
            }
            Grown::Ready { run, growth, points: fresh } => {
                state.waited_for = state.points_of_growth(run, &growth);
                let slot = state.finish_grow(&self.ask, run, &growth, fresh);
                Some(Step::Done(Ok(self.publish(state, slot, Source::Grow))))
            }
            Grown::Failed(failure, lacking) => {
                self.lacking = lacking;
                self.note(failure);
                self.grow_failed = true;
                None
            }
        }
    }

    /// A shortage of the device or of an arena is named in the end, unless something else helps.
    fn note(&mut self, failure: Failure) {
        if failure != Failure::NoRoom {
            self.failure = Some(failure);
        }
    }

    /// Nothing helped.
    fn exhausted(&self, state: &mut State<'_>) -> MallocError {
        match self.failure {
            Some(Failure::Driver(error)) if error.kind != DriverErrorKind::Exhausted => MallocError::Driver(error),
            Some(Failure::Arena(full)) => MallocError::ArenaFull(full),
            _ => {
                let device_full = match self.failure {
                    Some(Failure::Driver(error)) => Some(error),
                    _ => None,
                };
                let picture = OutOfMemory { device_full, ..state.picture(&self.ask) };
                let room = picture.limit.0.saturating_sub(picture.reserved.0) >= picture.requested.0;
                if self.no_range && room {
                    let range = Bytes(state.facts.pool(self.ask.pool).range);
                    return MallocError::NoAddressRange { requested: picture.requested, range };
                }
                MallocError::OutOfMemory(picture)
            }
        }
    }
}

impl Malloc {
    pub(super) fn new(request: Request, patience: Patience) -> Self {
        Self {
            request,
            patience,
            ask: Ask::about(0, 0),
            seq: Seq::ZERO,
            call: 0,
            rung: 0,
            other: 0,
            retried: false,
            grow_due: false,
            begun: false,
            joins: 0,
            asks: 0,
            laid: false,
            wait_failed: false,
            grow_failed: false,
            bridged: false,
            lacking: 0,
            block_call: 0,
            pressed: 0,
            doing: Doing::Nothing,
            failure: None,
            no_range: false,
        }
    }
}
