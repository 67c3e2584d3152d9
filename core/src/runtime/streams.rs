//! Streams: making them known, and their end.

use super::state::Lay;
use super::{Action, Lock, Outcome, Plan, Runtime, State, Step};
use crate::driver::{Driver, NativeStream, Target};
use crate::error::{OrderError, Unusable};
use crate::id::{DeviceId, StreamId};
use crate::order::{Flight, Level, Tenancy};
use crate::policy::{Capture, StreamKind};
use crate::trace::{Record, Sink, Verb};
use crate::units::Seq;

/// A stream as it is made known. The driver or the vendor creates it; the runtime gives it an identity, so that a handle
/// that the vendor hands out again is a new stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StreamConfig {
    /// The device whose work it orders.
    pub device: DeviceId,
    /// The context it belongs to; 0 where there is but one. Together with `device` and `native` it is the stream's key.
    pub context: u64,
    /// What the driver calls it; a vendor's unique stream id where it has one.
    pub native: NativeStream,
    /// How it orders itself against others.
    pub kind: StreamKind,
}

impl StreamConfig {
    /// A stream that only events order, in the only context.
    #[must_use]
    pub const fn new(device: DeviceId, native: NativeStream) -> Self {
        Self { device, context: 0, native, kind: StreamKind::NonBlocking }
    }
}

/// Ends a stream: a marker behind its open points, so that its memory becomes known to be free without another
/// synchronisation.
struct Farewell {
    slot: usize,
    lay: Option<Lay>,
}

impl Plan for Farewell {
    type Output = ();

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<()> {
        if let (Some(outcome), Some(lay)) = (outcome, self.lay.take()) {
            state.commit_marker(lay, outcome);
            return Step::Done(());
        }
        let stream = *state.facts.order.stream(self.slot);
        // Kernels are not seen: whatever the last call's position says, work may be queued behind it.
        state.facts.order.tick(self.slot);
        if stream.capturing {
            return Step::Done(());
        }
        match state.lay_marker(self.slot, stream.native) {
            Some((lay, action)) => {
                self.lay = Some(lay);
                Step::Do(action)
            }
            None => Step::Done(()),
        }
    }
}

/// Asks whether destroyed streams are complete, so that their slots can be given away.
struct Reap {
    at: usize,
    /// The stream that was asked about, the marker, and where it stands.
    asked: Option<(usize, usize, Seq)>,
}

impl Plan for Reap {
    type Output = ();

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<Outcome>) -> Step<()> {
        if let (Some(outcome), Some((slot, marker, seq))) = (outcome, self.asked.take()) {
            let answer = super::state::completion(outcome);
            let complete = matches!(answer, Ok(crate::driver::Completion::Complete));
            state.facts.order.end_marker_query(marker, complete, Level::Known);
            if answer.is_ok() {
                let stream = state.facts.order.stream_id(slot);
                state.record(Record::Asked { stream, seq, complete });
            }
        }
        while self.at < state.facts.order.width() {
            let slot = self.at;
            self.at = self.at.wrapping_add(1);
            let dying = state.facts.order.stream(slot).tenancy == Tenancy::Dying;
            if let Some((marker, seq)) = state.facts.order.latest_marker(slot).filter(|_| dying) {
                state.facts.order.pin_marker(marker);
                self.asked = Some((slot, marker, seq));
                return Step::Do(Action::Query { what: Target::Marker(state.marker_slot(marker)) });
            }
        }
        Step::Done(())
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Makes a stream known. O(streams).
    ///
    /// # Errors
    /// A live stream has the same key; no slot is left (destroyed streams keep theirs until their work is complete); or
    /// the driver does not know the device.
    pub fn create_stream(&self, config: StreamConfig) -> Result<StreamId, OrderError> {
        if let Err(error) = self.know_device(config.device) {
            let error = OrderError::from(error);
            return Err(self.commit(|state| state.refuse_order(Verb::CreateStream, None, error))?);
        }
        match self.enter(|state| state.create_stream(config)) {
            Err(OrderError::ArenaFull(_)) => {
                self.reap()?;
                self.enter(|state| {
                    state.create_stream(config).map_err(|error| state.refuse_order(Verb::CreateStream, None, error))
                })
            }
            other => other,
        }
    }

    /// Asks about destroyed streams, where there are any.
    pub(super) fn reap(&self) -> Result<(), Unusable> {
        self.drive(&mut Reap { at: 0, asked: None })
    }

    /// Ends a stream. Memory that was freed or used on it becomes reusable when its work is complete; where the driver
    /// cannot lay a marker, a device synchronisation makes it so. Waits for calls in flight that name the stream.
    ///
    /// Call it before the vendor's stream is destroyed. O(markers).
    ///
    /// # Errors
    /// The id is not live.
    pub fn destroy_stream(&self, stream: StreamId) -> Result<(), OrderError> {
        let slot = self.enter(|state| {
            let slot = state.find_stream(Verb::DestroyStream, stream)?;
            if state.facts.order.stream(slot).pins > 0 && !L::SHARED {
                return Err(Unusable::Busy.into());
            }
            state.pin_stream(slot);
            Ok::<_, OrderError>(slot)
        })?;
        self.drive(&mut Farewell { slot, lay: None })?;
        self.enter(|state| {
            state.unpin_stream(slot);
            // Another thread may have been faster.
            state.find_stream(Verb::DestroyStream, stream)?;
            let device = state.facts.order.stream(slot).device;
            state.record(Record::StreamDestroyed { stream });
            state.facts.order.retire_stream(slot);
            state.facts.count_streams(device, |streams| streams.saturating_sub(1));
            Ok::<_, OrderError>(())
        })?;
        while self.commit(|state| state.facts.order.stream(slot).pins > 0)? {
            L::relax();
        }
        Ok(self.commit(|state| state.facts.order.settle(slot, Seq::ZERO, Level::Known))?)
    }

    /// The driver's name of a stream.
    ///
    /// # Errors
    /// The id is not live.
    pub fn native_stream(&self, stream: StreamId) -> Result<NativeStream, OrderError> {
        self.enter(|state| {
            let slot = state.facts.order.find_stream(stream)?;
            Ok(state.native(slot))
        })
    }

    /// Says that a stream's calls are being captured, or no longer are.
    ///
    /// # Errors
    /// The id is not live.
    pub fn set_capture(&self, stream: StreamId, capture: Capture) -> Result<(), OrderError> {
        self.enter(|state| {
            let slot = state.find_stream(Verb::SetCapture, stream)?;
            state.facts.order.stream_mut(slot).capturing = capture == Capture::Active;
            state.record(Record::CaptureSet { stream, capture });
            Ok(())
        })
    }

    /// The facts of a synchronisation of a stream.
    pub(super) fn begin_stream_sync(&self, stream: StreamId) -> Result<(usize, Flight), OrderError> {
        self.enter(|state| {
            let slot = state.find_stream(Verb::Synchronize, stream)?;
            state.pin_stream(slot);
            Ok((slot, state.facts.order.begin_stream_sync(slot)))
        })
    }

    /// The facts of a synchronisation of a device; waits while too many others are in flight.
    pub(super) fn begin_device_sync(&self, device: DeviceId) -> Result<Flight, Unusable> {
        loop {
            if let Some(flight) = self.enter(|state| Ok::<_, Unusable>(state.facts.order.begin_device_sync(device)))? {
                return Ok(flight);
            }
            L::relax();
        }
    }
}

impl State<'_> {
    fn create_stream(&mut self, config: StreamConfig) -> Result<StreamId, OrderError> {
        let twin = self.facts.order.streams().find(|(_, s)| {
            s.tenancy == Tenancy::Live
                && (s.device, s.context, s.native) == (config.device, config.context, config.native)
        });
        if let Some((slot, _)) = twin {
            let exists = OrderError::StreamExists(self.facts.order.stream_id(slot));
            return Err(self.refuse_order(Verb::CreateStream, None, exists));
        }
        let StreamConfig { device, context, native, kind } = config;
        let stream = self.facts.order.create_stream(device, context, native, kind)?;
        self.facts.index.part_with(stream.slot());
        self.facts.count_streams(device, |streams| streams.saturating_add(1));
        self.log.forget_stream(stream);
        self.record(Record::StreamCreated { stream });
        Ok(stream)
    }
}
