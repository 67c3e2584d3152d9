//! Synchronisation: the host waits, learns, and gives back what stands above the thresholds.

use super::state::event_slot;
use super::{Action, Lock, Runtime, State};
use crate::driver::{Driver, DriverError, Target};
use crate::error::{OrderError, Point};
use crate::id::{DeviceId, EventId, StreamId};
use crate::order::{Flight, Level, Recording};
use crate::trace::{Record, Sink, Verb};

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Waits on the host for everything queued on the stream so far. Then every pool of the device releases what stands
    /// above its threshold.
    ///
    /// O(streams), then O(blocks) for each pool that releases, and two driver calls a granule.
    ///
    /// # Errors
    /// The id is not live, or the driver failed or ran out of time: then nothing is learnt and nothing released.
    pub fn synchronize_stream(&self, stream: StreamId) -> Result<(), OrderError> {
        let native = self.enter(|state| {
            let slot = state.find_stream(Verb::Synchronize, stream)?;
            Ok::<_, OrderError>(state.native(slot))
        })?;
        self.synchronize_stream_with(stream, || Ok(self.synchronise(Target::Stream(native))?))
    }

    /// As [`synchronize_stream`](Self::synchronize_stream), the driver's part being done by `perform`.
    ///
    /// # Errors
    /// As `synchronize_stream`; whatever `perform` returns is passed on.
    pub fn synchronize_stream_with<E: From<OrderError>>(
        &self,
        stream: StreamId,
        perform: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let (slot, flight) = self.begin_stream_sync(stream)?;
        let head = self.commit(|state| state.facts.order.stream(slot).head).map_err(OrderError::from)?;
        let performed = perform();
        let device = self
            .commit(|state| {
                state.end_stream_sync(flight, Point { stream, seq: head }, performed.is_ok());
                state.facts.order.stream(slot).device
            })
            .map_err(OrderError::from)?;
        performed?;
        self.release_surplus(device).map_err(OrderError::from)?;
        Ok(())
    }

    /// Waits on the host for what the event stands for; an event that was never recorded is complete. Then every pool of
    /// the device that it was recorded on releases what stands above its threshold.
    ///
    /// # Errors
    /// As [`synchronize_stream`](Self::synchronize_stream).
    pub fn synchronize_event(&self, event: EventId) -> Result<(), OrderError> {
        let look = self.begin_look(Verb::Synchronize, event)?;
        let marker = event_slot(look.event);
        let performed = if look.number == 0 { Ok(()) } else { self.synchronise(Target::Marker(marker)) };
        self.commit(|state| {
            state.end_event_sync(look, event, performed.is_ok());
        })?;
        performed?;
        if look.number > 0 {
            self.release_surplus(look.device)?;
        }
        Ok(())
    }

    /// Waits on the host for everything queued on the device so far. Then every pool of the device releases what stands
    /// above its threshold, and what is left of destroyed pools goes.
    ///
    /// # Errors
    /// As [`synchronize_stream`](Self::synchronize_stream).
    pub fn synchronize_device(&self, device: DeviceId) -> Result<(), OrderError> {
        let flight = self.begin_device_sync(device)?;
        let performed = self.synchronise(Target::Device(device));
        self.commit(|state| state.end_device_sync(flight, device, performed.is_ok()))?;
        performed?;
        Ok(self.release_surplus(device)?)
    }

    /// A synchronisation of the driver, counted.
    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        let action = Action::Synchronise { what };
        let outcome = self.perform(&action);
        // A lock that cannot be had only loses the count.
        let _ = self.commit(|state| state.count(action.kind(), &outcome));
        outcome.map(|_| ())
    }
}

impl State<'_> {
    #[inline(never)]
    fn end_device_sync(&mut self, flight: Flight, device: DeviceId, complete: bool) {
        self.facts.order.end_sync(flight, complete, Level::Seen);
        self.end_any_sync(Record::DeviceSynchronized { device }, None, complete);
    }

    /// `up_to`: where the stream stood.
    #[inline(never)]
    fn end_stream_sync(&mut self, flight: Flight, up_to: Point, complete: bool) {
        let (Point { stream, seq }, slot) = (up_to, up_to.stream.slot());
        self.facts.order.end_sync(flight, complete, Level::Seen);
        self.end_any_sync(Record::StreamSynchronized { stream, seq }, Some(slot), complete);
        self.unpin_stream(slot);
    }

    #[inline(never)]
    fn end_event_sync(&mut self, look: Recording, event: EventId, complete: bool) {
        if complete {
            self.facts.order.end_complete(look, Level::Seen);
        }
        self.end_any_sync(Record::EventSynchronized { event, number: look.number }, None, complete);
        self.facts.order.unpin_event(look.event);
    }

    fn end_any_sync(&mut self, done: Record<'_>, stream: Option<usize>, complete: bool) {
        if complete {
            self.record(done);
        } else {
            self.refuse_by_driver(Verb::Synchronize, stream);
        }
    }
}
