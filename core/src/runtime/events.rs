//! Events of the program: record, wait, query. Facts are taken before the driver call and published after it succeeded.

use super::{Lock, Runtime, State};
use crate::driver::{Completion, Driver, DriverError, Target};
use crate::error::{OrderError, Unusable};
use crate::id::{EventId, StreamId};
use crate::order::{Level, Recording};
use crate::trace::{Record, Sink, Verb};

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// An event. It stands for nothing until it is recorded. O(events).
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
    /// O(streams).
    ///
    /// # Errors
    /// An id is not live, or the driver refused: then the event stands for what it stood for before.
    pub fn record(&self, event: EventId, stream: StreamId) -> Result<(), OrderError> {
        self.record_with(event, stream, || {
            let (marker, native) =
                self.commit(|state| (state.event_slot(event.slot()), state.native(stream.slot())))?;
            Ok(self.note_failure(self.driver.lay(marker, native))?)
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
        let slot = self.enter(|state| state.find_stream(Verb::Record, stream))?;
        self.lay_due_marker(slot).map_err(OrderError::from)?;
        let recording = self.enter(|state| {
            let slot = state.find_stream(Verb::Record, stream)?;
            let event = state.find_event(Verb::Record, event)?;
            state.pin_event(event);
            state.pin_stream(slot);
            Ok::<_, OrderError>(state.facts.order.begin_record(event, slot))
        })?;
        let performed = perform();
        self.end_recording(event, recording, performed.is_ok())?;
        performed
    }

    fn end_recording(&self, event: EventId, recording: Recording, accepted: bool) -> Result<(), OrderError> {
        self.commit(|state| {
            state.facts.order.end_record(recording, accepted);
            state.unpin_event(recording.event);
            state.unpin_stream(recording.stream);
            if accepted {
                let Recording { stream, seq, number, .. } = recording;
                state.record_frequent(move |facts| Record::Recorded {
                    event,
                    stream: facts.order.stream_id(stream),
                    seq,
                    number,
                });
            } else {
                state.refuse_by_driver(Verb::Record, Some(recording.stream));
            }
        })?;
        Ok(())
    }

    /// Makes whatever is queued on the stream from now on come after what the event stands for. Waiting for an event that
    /// was never recorded is legal and adds nothing.
    ///
    /// O(streams).
    ///
    /// # Errors
    /// An id is not live, or the driver refused: then nothing is ordered.
    pub fn wait(&self, stream: StreamId, event: EventId) -> Result<(), OrderError> {
        self.wait_with(stream, event, |recorded| {
            if recorded == Recorded::Never {
                return Ok(());
            }
            let (native, marker) =
                self.commit(|state| (state.native(stream.slot()), state.event_slot(event.slot())))?;
            Ok::<_, OrderError>(self.note_failure(self.driver.wait(native, marker))?)
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
        let slot = self.enter(|state| state.find_stream(Verb::Wait, stream))?;
        self.lay_due_marker(slot).map_err(OrderError::from)?;
        let (slot, look) = self.enter(|state| {
            let slot = state.find_stream(Verb::Wait, stream)?;
            let event = state.find_event(Verb::Wait, event)?;
            state.pin_event(event);
            state.pin_stream(slot);
            Ok::<_, OrderError>((slot, state.facts.order.begin_look(event)))
        })?;
        let performed = perform(if look.number == 0 { Recorded::Never } else { Recorded::Yes });
        let accepted = performed.is_ok();
        self.commit(|state| {
            let seq = state.facts.order.tick(slot);
            if accepted {
                state.facts.order.end_wait(slot, look);
                state.record_frequent(move |_| Record::Waited { stream, seq, event, number: look.number });
            } else {
                state.refuse_by_driver(Verb::Wait, Some(slot));
            }
            state.unpin_event(look.event);
            state.unpin_stream(slot);
        })
        .map_err(OrderError::from)?;
        performed
    }

    /// Asks whether what the event stands for is complete, without waiting. An event that was never recorded is
    /// complete. The answer counts as seen by the program.
    ///
    /// O(streams).
    ///
    /// # Errors
    /// The id is not live, or the driver failed: then nothing is learnt.
    pub fn query(&self, event: EventId) -> Result<Completion, OrderError> {
        self.query_with(event, |recorded| {
            if recorded == Recorded::Never {
                return Ok(Completion::Complete);
            }
            let marker = self.commit(|state| state.event_slot(event.slot()))?;
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
        let answer = perform(if look.number == 0 { Recorded::Never } else { Recorded::Yes });
        let complete = matches!(answer, Ok(Completion::Complete));
        self.commit(|state| {
            if complete {
                state.facts.order.end_complete(look, Level::Seen);
            }
            match answer {
                Ok(_) => state.record(Record::Queried { event, number: look.number, complete }),
                Err(_) => state.refuse_by_driver(Verb::Query, None),
            }
            state.unpin_event(look.event);
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
            state.pin_event(slot);
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
pub enum Recorded {
    /// It was recorded.
    Yes,
    /// It never was, or it was reset.
    Never,
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

    pub(super) fn pin_event(&mut self, slot: usize) {
        let event = self.facts.order.event_mut(slot);
        event.pins = event.pins.saturating_add(1);
    }

    pub(super) fn unpin_event(&mut self, slot: usize) {
        let event = self.facts.order.event_mut(slot);
        event.pins = event.pins.saturating_sub(1);
    }
}
