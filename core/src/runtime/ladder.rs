//! A malloc in flight: the ladder from memory that is there to an error with the whole picture.

mod growing;
mod relief;
mod resort;
mod rung;
mod waiting;

use super::beside::{ASKS, Beside, JOINS};
use super::grow::{Failure, Grow};
use super::malloc::Request;
use super::release::Release;
use super::state::{Lay, completion};
use super::{Action, Outcome, Plan, State, Step};
use crate::driver::{Completion, DriverErrorKind};
use crate::error::{ArenaFull, MallocError, OutOfMemory, Unusable};
use crate::facts::Facts;
use crate::growth::Growth;
use crate::order::{Flight, Level};
use crate::plant::{self, Plant};
use crate::policy::Reuse;
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
    /// Not yet: where it will grow, and how much of that can be moved.
    Planned {
        growth: Growth,
        movable: u64,
    },
    Growing(Grow),
    Releasing(Release),
    Blocking(Question, Option<Flight>),
    /// The state had changed so often.
    Pressing {
        changes: u64,
    },
    /// Nothing any more: the call is refused.
    Refused(MallocError),
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

/// Why a search or a rung ends the call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause {
    /// Nothing helped.
    Exhausted,
    /// No slot was left for what is over of a block.
    Full(ArenaFull),
    /// Only a driver call could help, from a handler.
    Busy,
}

/// What comes next. Each is a method of the plan that ends before the next one begins, so that a call needs stack for the
/// deepest of them, not for a chain.
enum Turn {
    /// Search again.
    Search,
    /// Nothing is usable as it is: the rungs, from where the call stands.
    Climb,
    /// Take what was found.
    Take(Choice),
    /// Where no slot was left for what is over of it: search once more, when all is joined that can be.
    TakeAfterSweep(ArenaFull),
    /// Join what can be joined and look again, before a growth.
    Sweep,
    /// Plan a growth.
    Plan,
    /// Begin the planned growth.
    Begin,
    /// Cut what was asked for out of the growth.
    Finish,
    /// Hand out the block in this slot.
    Publish(usize, Source),
    /// Go on with the growth.
    Grow(Option<Outcome>),
    /// Go on with the release.
    Release(Option<Outcome>),
    Do(Action),
    /// Let another call that is in flight go on, then search again.
    Wait,
    End(Result<DevicePtr, Cause>),
}

impl Plan for Malloc {
    /// Nothing where it was refused: see [`Malloc::refusal`].
    type Output = Option<DevicePtr>;

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<Self::Output> {
        if !self.begun {
            self.begun = true;
            match self.begin(state) {
                Ok(None) => {}
                Ok(Some(action)) => return Step::Do(action),
                Err(Refused) => return Step::Done(None),
            }
        }
        let mut turn = outcome.map_or(Turn::Search, |outcome| self.resume(state, outcome));
        loop {
            turn = match turn {
                Turn::Search => self.search(state),
                Turn::Climb => self.climb(state),
                Turn::Take(choice) => self.take(state, choice),
                Turn::TakeAfterSweep(full) => self.take_after_sweep(state, full),
                Turn::Sweep => self.sweep(state),
                Turn::Publish(slot, source) => Turn::End(Ok(self.publish(state, slot, source))),
                Turn::Plan => self.plan_growth(state),
                Turn::Begin => self.begin_growth(state),
                Turn::Finish => self.finish_growth(state),
                Turn::Grow(outcome) => self.continue_growth(state, outcome),
                Turn::Release(outcome) => self.continue_release(state, outcome),
                Turn::Do(action) => return Step::Do(action),
                Turn::Wait => return Step::Wait,
                Turn::End(result) => return Step::Done(self.end(state, result)),
            }
        }
    }
}

/// The call was refused, and the plan says why.
struct Refused;

impl Malloc {
    /// Checks everything, takes a position on the stream, and lays the marker that is due.
    #[inline(never)]
    fn begin(&mut self, state: &mut State<'_>) -> Result<Option<Action>, Refused> {
        if !self.admit(state) {
            self.refuse(state);
            return Err(Refused);
        }
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

    /// Whether nothing speaks against the call; else it is refused.
    #[inline(never)]
    fn admit(&mut self, state: &State<'_>) -> bool {
        let Facts { order, pools, .. } = &state.facts;
        match self.request.admit(order, pools) {
            Some(admitted) => self.ask = admitted.ask,
            None => {
                self.doing = Doing::Refused(self.request.why_not(order, pools));
                return false;
            }
        }
        true
    }

    /// Why the call ended without an address.
    pub(super) const fn refusal(&self) -> &MallocError {
        match &self.doing {
            Doing::Refused(error) => error,
            // Not reached: who is refused says why.
            _ => &MallocError::Unusable(Unusable::Busy),
        }
    }

    /// The call cannot even be made.
    pub(super) fn refused_by(&mut self, unusable: Unusable) -> &MallocError {
        self.doing = Doing::Refused(MallocError::Unusable(unusable));
        self.refusal()
    }

    /// Lets go of what the call named, and says in the log why it is refused.
    #[inline(never)]
    fn end(&mut self, state: &mut State<'_>, result: Result<DevicePtr, Cause>) -> Option<DevicePtr> {
        if let Err(cause) = result {
            match cause {
                Cause::Exhausted => self.exhaust(state),
                Cause::Full(full) => self.doing = Doing::Refused(MallocError::ArenaFull(full)),
                Cause::Busy => self.doing = Doing::Refused(MallocError::Unusable(Unusable::Busy)),
            }
            self.refuse(state);
        }
        state.unpin_pool(self.ask.pool);
        state.unpin_stream(self.ask.stream);
        result.ok()
    }

    #[inline(never)]
    fn refuse(&mut self, state: &mut State<'_>) {
        if let Doing::Refused(error) = &self.doing {
            state.refuse_malloc(&self.request, error);
        }
    }

    /// Commits what the driver did.
    #[inline(never)]
    fn resume(&mut self, state: &mut State<'_>, outcome: Outcome) -> Turn {
        match self.doing {
            Doing::Growing(_) => return Turn::Grow(Some(outcome)),
            Doing::Releasing(_) => return Turn::Release(Some(outcome)),
            Doing::Nothing | Doing::Planned { .. } | Doing::Refused(_) => {}
            Doing::Laying(lay) => {
                self.doing = Doing::Nothing;
                state.commit_marker(lay, outcome);
            }
            Doing::Asking(question, flight) => {
                self.doing = Doing::Nothing;
                self.commit_question(state, question, flight, outcome);
            }
            Doing::Waiting(dependency) => {
                self.doing = Doing::Nothing;
                self.commit_wait(state, dependency, &outcome);
            }
            Doing::Blocking(question, flight) => {
                self.doing = Doing::Nothing;
                self.commit_block(state, question, flight, outcome);
            }
            Doing::Pressing { changes } => {
                self.doing = Doing::Nothing;
                self.commit_pressure(state, changes, outcome);
            }
        }
        Turn::Search
    }

    /// Searches for what is usable now.
    #[inline(never)]
    fn search(&mut self, state: &mut State<'_>) -> Turn {
        while let Some(choice) = self.ask.choose(&state.facts) {
            match self.before_cut(state, choice) {
                Before::Nothing => return Turn::Take(choice),
                Before::Joined => {}
                Before::Do(action) => return Turn::Do(action),
            }
        }
        if self.patience == Patience::None {
            return Turn::End(Err(Cause::Busy));
        }
        self.number(state);
        Turn::Climb
    }

    /// Takes the next rung.
    #[inline(always)]
    fn climb(&mut self, state: &mut State<'_>) -> Turn {
        let rungs = self.rungs(state);
        while let Some(&rung) = rungs.get(self.rung) {
            let turn = match rung {
                Rung::Ask => self.question(state),
                Rung::Grow => Some(Turn::Sweep),
                Rung::Mix => self.ask.choose_mixed(&state.facts).map(Turn::Take),
                Rung::Wait => self.wait(state),
                Rung::WaitAndGrow => self.wait_and_grow(state),
                Rung::Others => self.release_others(state),
                Rung::Block => self.block(state),
                Rung::Press => self.press(state),
            };
            if let Some(turn) = turn {
                return turn;
            }
            self.rung = self.rung.wrapping_add(1);
        }
        if state.facts.pool(self.ask.pool).transits > 0 {
            // What another thread is mapping or unmapping may be what is missing here: begin anew when it is done.
            self.begin_anew();
            return Turn::Wait;
        }
        Turn::End(Err(Cause::Exhausted))
    }

    /// Joins a block that is to be cut with what lies beside it, or asks whether that can be.
    #[inline(never)]
    fn before_cut(&mut self, state: &mut State<'_>, choice: Choice) -> Before {
        let Taken::Front(block) = choice.taken else { return Before::Nothing };
        let call = self.number(state);
        match state.facts.beside(block, (self.ask.size, self.ask.stream), call) {
            Beside::Joins if self.joins < JOINS => {
                self.joins = self.joins.wrapping_add(1);
                state.facts.join_beside(block, self.ask.stream);
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

    #[inline(never)]
    fn take(&mut self, state: &mut State<'_>, choice: Choice) -> Turn {
        match state.take(&self.ask, choice) {
            Ok(slot) => Turn::Publish(slot, self.ask.source(choice.reach)),
            Err(full) => Turn::TakeAfterSweep(full),
        }
    }

    /// What could be one block must not hold the slots that the call needs. O(blocks).
    #[cold]
    #[inline(never)]
    fn take_after_sweep(&self, state: &mut State<'_>, full: ArenaFull) -> Turn {
        state.facts.sweep_all();
        let choice = self.ask.choose(&state.facts).or_else(|| self.ask.choose_mixed(&state.facts));
        let taken = choice.and_then(|choice| Some((state.take(&self.ask, choice).ok()?, choice.reach)));
        match taken {
            Some((slot, reach)) => Turn::Publish(slot, self.ask.source(reach)),
            None => Turn::End(Err(Cause::Full(full))),
        }
    }

    fn publish(&self, state: &mut State<'_>, slot: usize, source: Source) -> DevicePtr {
        let stream = self.ask.stream;
        let tie = state.facts.order.stream(stream).tie();
        state.publish(self.request, (stream, tie), self.seq, slot, source)
    }

    /// Asks about one more stream.
    #[inline(never)]
    fn question(&mut self, state: &mut State<'_>) -> Option<Turn> {
        if !state.facts.pool(self.ask.pool).reuse.contains(Reuse::OPPORTUNISTIC) {
            return None;
        }
        while let Some(question) = self.ask.question(&state.facts, self.call) {
            if let Some(action) = self.put(state, question) {
                return Some(Turn::Do(action));
            }
        }
        None
    }

    /// Puts a question to the driver, unless nobody can answer it. Its stream is not asked about again in this call.
    #[inline(never)]
    fn put(&mut self, state: &mut State<'_>, question: Question) -> Option<Action> {
        state.facts.order.stream_mut(question.stream).asked =
            self.call.max(state.facts.order.stream(question.stream).asked);
        let (what, flight) = state.look_at(question)?;
        self.doing = Doing::Asking(question, flight);
        Some(Action::Query { what })
    }

    #[inline(never)]
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

    /// A shortage of the device or of an arena is named in the end, unless something else helps.
    fn note(&mut self, failure: Failure) {
        if failure != Failure::NoRoom {
            self.failure = Some(failure);
        }
    }

    /// Nothing helped. The error, which is large, is made where it stays.
    #[cold]
    #[inline(never)]
    fn exhaust(&mut self, state: &mut State<'_>) {
        let device_full = match self.failure {
            Some(Failure::Driver(error)) if error.kind != DriverErrorKind::Exhausted => {
                self.doing = Doing::Refused(MallocError::Driver(error));
                return;
            }
            Some(Failure::Arena(full)) => {
                self.doing = Doing::Refused(MallocError::ArenaFull(full));
                return;
            }
            Some(Failure::Driver(error)) => Some(error),
            Some(Failure::NoRoom) | None => None,
        };
        self.doing = Doing::Refused(MallocError::OutOfMemory(OutOfMemory::NOTHING));
        let Doing::Refused(MallocError::OutOfMemory(picture)) = &mut self.doing else { return };
        picture.device_full = device_full;
        state.paint(&self.ask, picture);
        let requested = picture.requested;
        if self.no_range && picture.limit.0.saturating_sub(picture.reserved.0) >= requested.0 {
            let range = Bytes(state.facts.pool(self.ask.pool).range);
            self.doing = Doing::Refused(MallocError::NoAddressRange { requested, range });
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
