//! Events of the program: record, wait, query. Facts are taken before the driver call and published after it succeeded.

use super::state::event_slot;
use super::{Lock, Runtime, State};
use crate::driver::{Completion, Driver, DriverError, NativeStream, Target};
use crate::error::{BadId, OrderError, Unusable};
use crate::id::{EventId, StreamId};
use crate::order::{Hindrance, Level, Marking, Recording};
use crate::trace::{Record, Sink, Verb};

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// An event. It stands for nothing until it is recorded. O(1).
    ///
    /// # Errors
    /// The arena of events is full.
    pub fn create_event(&self) -> Result<EventId, OrderError> {
        self.enter(|state| {
            let created = state.facts.order.create_event();
            let event = created.map_err(|full| state.refuse_order(Verb::CreateEvent, None, full.into()))?;
            state.record(Record::EventCreated { event });
            Ok(event)
        })
    }

    /// Destroys an event; waits that were queued on it keep what they took. Waits for calls in flight that name it.
    ///
    /// # Errors
    /// The id is not live.
    pub fn destroy_event(&self, event: EventId) -> Result<(), OrderError> {
        let slot = self.enter(|state| {
            let slot = state.find_event(Verb::DestroyEvent, event)?;
            if state.facts.order.event_pins(slot) > 0 && !L::SHARED {
                return Err(Unusable::Busy.into());
            }
            state.facts.order.destroy_event(slot);
            state.record(Record::EventDestroyed { event });
            Ok::<_, OrderError>(slot)
        })?;
        while self.commit(|state| state.facts.order.event_pins(slot) > 0)? {
            L::relax();
        }
        Ok(())
    }

    /// Records the event on the stream: from now on it stands for everything queued there so far. Recording again
    /// replaces that; earlier waits keep what they took.
    ///
    /// O(streams that the stream knows of), at most O(streams); on a legacy default stream that once for each blocking
    /// stream of its context. At most one marker is laid before, at the same cost.
    ///
    /// # Errors
    /// An id is not live, or the driver refused: then the event stands for what it stood for before.
    pub fn record(&self, event: EventId, stream: StreamId) -> Result<(), OrderError> {
        self.record_by(event, stream, |call| {
            Ok(self.note_failure(self.driver.lay(event_slot(call.facts.event), call.native))?)
        })
    }

    /// As [`record`](Self::record), the driver's part being done by `perform`: for a layer that passes a vendor's call on.
    ///
    /// # Errors
    /// As `record`; whatever `perform` returns is passed on, and nothing is published then.
    pub fn record_with<E: From<OrderError>>(
        &self,
        event: EventId,
        stream: StreamId,
        perform: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.record_by(event, stream, |_| perform())
    }

    fn record_by<E: From<OrderError>>(
        &self,
        event: EventId,
        stream: StreamId,
        perform: impl FnOnce(&Call) -> Result<(), E>,
    ) -> Result<(), E> {
        let (names, mut call) = ((event, stream), Call::NEW);
        self.begin_call(Verb::Record, names, &mut call, State::begin_record)?;
        let performed = perform(&call);
        self.commit(|state| state.end_record(names, &call.facts, performed.is_ok())).map_err(OrderError::from)?;
        performed
    }

    /// Makes whatever is queued on the stream from now on come after what the event stands for. Waiting for an event that
    /// was never recorded is legal and adds nothing.
    ///
    /// O(streams that the recording stream knew of), at most O(streams). At most one marker is laid before; see
    /// [`record`](Self::record).
    ///
    /// # Errors
    /// An id is not live, or the driver refused: then nothing is ordered.
    pub fn wait(&self, stream: StreamId, event: EventId) -> Result<(), OrderError> {
        self.wait_by(stream, event, |call| match Recorded::of(call.facts) {
            Recorded::Yes => Ok(self.note_failure(self.driver.wait(call.native, event_slot(call.facts.event)))?),
            Recorded::Never => Ok(()),
        })
    }

    /// As [`wait`](Self::wait), the driver's part being done by `perform`.
    ///
    /// # Errors
    /// As `wait`; whatever `perform` returns is passed on, and nothing is published then.
    pub fn wait_with<E: From<OrderError>>(
        &self,
        stream: StreamId,
        event: EventId,
        perform: impl FnOnce(Recorded) -> Result<(), E>,
    ) -> Result<(), E> {
        self.wait_by(stream, event, |call| perform(Recorded::of(call.facts)))
    }

    fn wait_by<E: From<OrderError>>(
        &self,
        stream: StreamId,
        event: EventId,
        perform: impl FnOnce(&Call) -> Result<(), E>,
    ) -> Result<(), E> {
        let (names, mut call) = ((event, stream), Call::NEW);
        self.begin_call(Verb::Wait, names, &mut call, State::begin_wait)?;
        let performed = perform(&call);
        self.commit(|state| state.end_wait(names, &call.facts, performed.is_ok())).map_err(OrderError::from)?;
        performed
    }

    /// Begins a record or a wait. Where no marker is due before it, which is the rule, the lock is taken once.
    #[inline]
    fn begin_call(
        &self,
        verb: Verb,
        names: Names,
        call: &mut Call,
        begin: impl FnOnce(&mut State<'a>, Names, &mut Call),
    ) -> Result<(), OrderError> {
        let held = self.hold(|state, now| match state.begin(now) {
            Ok(()) => begin(state, names, call),
            Err(unusable) => call.stage = Stage::Refused(unusable.into()),
        });
        if matches!(call.stage, Stage::Begun) { Ok(()) } else { self.begin_later(held, verb, names, call) }
    }

    /// Begins a call that could not at first: behind a marker, or not at all.
    #[cold]
    #[inline(never)]
    fn begin_later(&self, held: Option<()>, verb: Verb, names: Names, call: &mut Call) -> Result<(), OrderError> {
        self.put_off(held, names, call)?;
        self.enter(|state| {
            state.begin_again(verb, names, call);
            Ok::<_, OrderError>(())
        })?;
        if matches!(call.stage, Stage::Begun) { Ok(()) } else { self.put_off(Some(()), names, call) }
    }

    /// What hinders a call is done, if it can be.
    #[cold]
    fn put_off(&self, held: Option<()>, (_, stream): Names, call: &Call) -> Result<(), OrderError> {
        match (held, &call.stage) {
            (None, _) => Err(Unusable::Busy.into()),
            (_, Stage::Refused(error)) => Err(*error),
            _ => Ok(self.lay_due_marker(stream.slot())?),
        }
    }

    /// Asks whether what the event stands for is complete, without waiting. An event that was never recorded is
    /// complete. The answer counts as seen by the program.
    ///
    /// O(streams that the recording stream knew of), and O(1) for each marker that the answer makes needless, which its
    /// lay has paid for.
    ///
    /// # Errors
    /// The id is not live, or the driver failed: then nothing is learnt.
    pub fn query(&self, event: EventId) -> Result<Completion, OrderError> {
        self.query_with(event, |recorded| {
            if recorded == Recorded::Never {
                return Ok(Completion::Complete);
            }
            let marker = event_slot(event.slot());
            Ok::<_, OrderError>(self.note_failure(self.driver.query(Target::Marker(marker)))?)
        })
    }

    /// As [`query`](Self::query), the driver's part being done by `perform`.
    ///
    /// # Errors
    /// As `query`; whatever `perform` returns is passed on.
    pub fn query_with<E: From<OrderError>>(
        &self,
        event: EventId,
        perform: impl FnOnce(Recorded) -> Result<Completion, E>,
    ) -> Result<Completion, E> {
        let look = self.begin_look(Verb::Query, event)?;
        let answer = perform(Recorded::of(look));
        let complete = matches!(answer, Ok(Completion::Complete));
        self.commit(|state| {
            if complete {
                state.facts.order.end_complete(look, Level::Seen);
            }
            match answer {
                Ok(_) => state.record(Record::Queried { event, number: look.number, complete }),
                Err(_) => state.refuse_by_driver(Verb::Query, None),
            }
            state.facts.order.unpin_event(look.event);
        })
        .map_err(OrderError::from)?;
        answer
    }

    /// Logs a failure of a driver call that the program asked for.
    pub(super) fn note_failure<T>(&self, outcome: Result<T, DriverError>) -> Result<T, DriverError> {
        if let Err(error) = outcome {
            // A lock that cannot be had only loses the record.
            let _ = self.commit(|state| state.note_driver_failure(error));
        }
        outcome
    }

    /// The facts about an event before a driver call; it is pinned.
    pub(super) fn begin_look(&self, verb: Verb, event: EventId) -> Result<Recording, OrderError> {
        self.enter(|state| {
            let slot = state.find_event(verb, event)?;
            Ok(state.facts.order.begin_look(slot))
        })
    }

    /// Forgets what the event stands for, as a vendor's reset does.
    ///
    /// # Errors
    /// The id is not live.
    pub fn reset_event(&self, event: EventId) -> Result<(), OrderError> {
        self.enter(|state| {
            let slot = state.find_event(Verb::ResetEvent, event)?;
            state.facts.order.reset_event(slot);
            state.record(Record::EventReset { event });
            Ok(())
        })
    }
}

/// Whether an event stands for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Recorded {
    /// It was recorded.
    Yes,
    /// It never was, or it was reset.
    Never,
}

impl Recorded {
    fn of(look: Recording) -> Self {
        if look.number == 0 { Self::Never } else { Self::Yes }
    }
}

/// What a record or a wait names.
type Names = (EventId, StreamId);

/// A record or a wait: once it has begun, the facts that were taken and the driver's name of the stream. It stays where it
/// is, since to hand it on from the lock outwards took 80 instructions.
struct Call {
    stage: Stage,
    facts: Recording,
    native: NativeStream,
}

/// How far a call came.
enum Stage {
    New,
    /// A marker is due on its stream: it begins when that is laid.
    BehindMarker,
    Begun,
    Refused(OrderError),
}

impl Call {
    const NEW: Self = Self { stage: Stage::New, facts: Recording::NONE, native: NativeStream(0) };

    #[inline]
    const fn marking(&self) -> Marking {
        if matches!(self.stage, Stage::New) { Marking::First } else { Marking::Done }
    }
}

impl State<'_> {
    pub(super) fn find_event(&mut self, verb: Verb, event: EventId) -> Result<usize, OrderError> {
        let found = self.facts.order.find_event(event);
        found.map_err(|bad| self.refuse_order(verb, None, bad.into()))
    }

    pub(super) fn find_stream(&mut self, verb: Verb, stream: StreamId) -> Result<usize, OrderError> {
        let found = self.facts.order.find_stream(stream);
        found.map_err(|bad| self.refuse_order(verb, Some(stream), bad.into()))
    }

    /// The first half of a record.
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn begin_record(&mut self, names: Names, call: &mut Call) {
        let begun = self.facts.order.begin_record(names, call.marking(), &mut call.facts);
        self.note_begun(Verb::Record, call, begun);
    }

    /// The first half of a wait.
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn begin_wait(&mut self, names: Names, call: &mut Call) {
        let begun = self.facts.order.begin_wait(names, call.marking(), &mut call.facts);
        self.note_begun(Verb::Wait, call, begun);
    }

    /// The first half of either, apart from where it is part of its call.
    #[cold]
    #[inline(never)]
    fn begin_again(&mut self, verb: Verb, names: Names, call: &mut Call) {
        match verb {
            Verb::Wait => self.begin_wait(names, call),
            _ => self.begin_record(names, call),
        }
    }

    /// How far a call came.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn note_begun(&mut self, verb: Verb, call: &mut Call, begun: Result<NativeStream, Hindrance>) {
        match begun {
            Ok(native) => (call.native, call.stage) = (native, Stage::Begun),
            Err(Hindrance::MarkerDue) => call.stage = Stage::BehindMarker,
            Err(Hindrance::Bad(bad)) => self.refuse_call(verb, call, bad),
        }
    }

    #[cold]
    fn refuse_call(&mut self, verb: Verb, call: &mut Call, bad: BadId) {
        call.stage = Stage::Refused(self.refuse_order(verb, None, bad.into()));
    }

    /// The second half of a record.
    #[inline]
    fn end_record(&mut self, (event, stream): Names, facts: &Recording, accepted: bool) {
        self.facts.order.end_record(facts, accepted);
        let Recording { seq, number, .. } = *facts;
        if accepted {
            self.record_frequent(move |_| Record::Recorded { event, stream, seq, number });
        } else {
            self.refuse_by_driver(Verb::Record, Some(stream.slot()));
        }
    }

    /// The second half of a wait.
    #[inline]
    fn end_wait(&mut self, (event, stream): Names, facts: &Recording, accepted: bool) {
        let seq = self.facts.order.end_wait(stream.slot(), facts, accepted);
        let Recording { number, .. } = *facts;
        if accepted {
            self.record_frequent(move |_| Record::Waited { stream, seq, event, number });
        } else {
            self.refuse_by_driver(Verb::Wait, Some(stream.slot()));
        }
    }
}
