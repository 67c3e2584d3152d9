//! A driver that does nothing and answers as a log says that its driver did.

use super::failures::{Failing, When, failures};
use super::refused::passed_over;
use crate::model::{EventIx, Kind, Model, Payload};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Pressure,
    Properties, Relief, Target,
};
use weir::id::DeviceId;
use weir::trace::{Record, UnmapReason};
use weir::units::{Bytes, DevicePtr, Nanos};

/// What a driver call is about, as far as that tells which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Nothing,
    Address(DevicePtr),
    /// A granule that could not be mapped.
    NotMapped,
    /// A granule that was neither mapped nor unmapped just before.
    KeptApart,
}

/// Answers from a log.
#[derive(Debug)]
pub(super) struct Answers<'m> {
    model: &'m Model,
    /// Queries and their answers, in the order of the calls.
    queries: RefCell<VecDeque<Result<bool, DriverError>>>,
    relieved: RefCell<VecDeque<bool>>,
    /// Where the next range lies.
    base: Cell<Option<DevicePtr>>,
    granules: Cell<u64>,
    /// Of the call in progress: driver calls that fail, in their order.
    failures: RefCell<VecDeque<Failing>>,
    /// Where the granule was that is destroyed next.
    last: Cell<About>,
    /// The first record behind the last call's own.
    from: Cell<EventIx>,
    /// Whether the log tells of any failure.
    fails: bool,
}

impl<'m> Answers<'m> {
    pub(super) fn new(model: &'m Model, begin: EventIx) -> Self {
        let (mut queries, mut relieved, mut fails) = (VecDeque::new(), VecDeque::new(), false);
        for at in begin.at()..model.events.len() {
            let at = EventIx::next_of(at);
            let Payload::Other(record) = model.events.payload(at) else { continue };
            match record {
                // Another run.
                Record::Begin { .. } if at > begin => break,
                Record::Asked { complete, .. } => queries.push_back(Ok(complete)),
                // An event that was never recorded is complete without a question.
                Record::Queried { complete, number, .. } if number > 0 => queries.push_back(Ok(complete)),
                Record::Pressed { relieved: answer, .. } => relieved.push_back(answer),
                Record::DriverFailed { .. } if passed_over(model, at).is_some() => {}
                Record::DriverFailed { error } if error.call == DriverCall::Query => queries.push_back(Err(error)),
                Record::DriverFailed { .. } => fails = true,
                _ => {}
            }
        }
        Self {
            model,
            queries: RefCell::new(queries),
            relieved: RefCell::new(relieved),
            base: Cell::new(None),
            granules: Cell::new(0),
            failures: RefCell::default(),
            last: Cell::new(About::KeptApart),
            from: Cell::new(begin),
            fails,
        }
    }

    /// The next range begins here.
    pub(super) fn next_base(&self, base: DevicePtr) {
        self.base.set(Some(base));
    }

    /// The call that this record ends comes next: what fails in it?
    pub(super) fn expect(&self, ends: EventIx) {
        if !self.fails {
            return;
        }
        let (from, mut to) = (self.from.get(), ends.at() + 1);
        // What a synchronisation or a destruction releases stands behind its record.
        if releases(self.model.events.kind(ends)) {
            to = end_of_release(self.model, to);
        }
        self.from.set(EventIx::next_of(to));
        self.last.set(About::KeptApart);
        self.failures.replace(failures(self.model, from, EventIx::next_of(to)).into());
    }

    /// One more driver call: whether the log says that it failed.
    fn attempt(&self, call: DriverCall, about: About) -> Result<(), DriverError> {
        let mut failures = self.failures.borrow_mut();
        let Some(next) = failures.front_mut().filter(|next| next.error.call == call) else { return Ok(()) };
        let fails = match &mut next.when {
            When::After(0) => true,
            When::After(calls) => {
                *calls -= 1;
                false
            }
            When::At(place) => about == About::Address(*place),
            When::Anywhere => matches!(about, About::Address(_)),
            When::NotMapped => about == About::NotMapped,
            When::KeptApart(0) => about == About::KeptApart,
            When::KeptApart(before) => {
                *before -= u64::from(about == About::KeptApart);
                false
            }
            When::Outside(ranges) => {
                matches!(about, About::Address(at) if !ranges.iter().any(|range| range.contains(&at.0)))
            }
        };
        if !fails {
            return Ok(());
        }
        let error = next.error;
        failures.pop_front();
        Err(error)
    }
}

const fn releases(kind: Kind) -> bool {
    matches!(kind, Kind::StreamSynchronized | Kind::EventSynchronized | Kind::DeviceSynchronized | Kind::PoolDestroyed)
}

/// Where a release is over that begins at a place.
fn end_of_release(model: &Model, from: usize) -> usize {
    let records = from..model.events.len();
    let mut to = records.clone().find(|at| !is_release(model, EventIx::next_of(*at))).unwrap_or(records.end);
    let next = (to < records.end).then(|| model.events.payload(EventIx::next_of(to)));
    let trims = matches!(
        next,
        Some(Payload::Other(Record::Unmapped { reason: UnmapReason::Trim, .. } | Record::Trimmed { .. }))
    );
    // Granules that could not be destroyed just before are the trim's.
    let of_trim = |at: usize| {
        matches!(model.events.kind(EventIx::next_of(at)), Kind::DriverFailed | Kind::Quarantined | Kind::Undestroyed)
    };
    while trims && to > from && of_trim(to - 1) {
        to -= 1;
    }
    to
}

fn is_release(model: &Model, at: EventIx) -> bool {
    match model.events.payload(at) {
        Payload::Other(Record::DriverFailed { error }) => {
            matches!(error.call, DriverCall::Unmap | DriverCall::Destroy | DriverCall::Release | DriverCall::Query)
                && passed_over(model, at).is_none()
        }
        Payload::Other(Record::Unmapped { reason, .. }) => {
            matches!(reason, UnmapReason::Threshold | UnmapReason::Destroy)
        }
        // What is known of destroyed streams is asked first.
        _ => matches!(model.events.kind(at), Kind::Kept | Kind::Quarantined | Kind::Undestroyed | Kind::Asked),
    }
}

/// The log does not say what the driver answered here: the two have parted.
const fn unknown(call: DriverCall) -> DriverError {
    DriverError { call, code: 0, kind: DriverErrorKind::Failed }
}

impl Driver for Answers<'_> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        let found = self.model.devices.iter().find(|(id, _)| *id == device);
        found.map(|(_, properties)| *properties).ok_or(unknown(DriverCall::Properties))
    }

    fn reserve(&self, _: DeviceId, _: Bytes) -> Result<DevicePtr, DriverError> {
        self.base.take().ok_or(unknown(DriverCall::Reserve))
    }

    fn release(&self, _: DeviceId, base: DevicePtr, _: Bytes) -> Result<(), DriverError> {
        self.attempt(DriverCall::Release, About::Address(base))
    }

    fn create(&self, _: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.attempt(DriverCall::Create, About::Nothing)?;
        self.granules.set(self.granules.get() + 1);
        Ok(GranuleHandle(self.granules.get()))
    }

    fn destroy(&self, _: DeviceId, _: GranuleHandle) -> Result<(), DriverError> {
        self.attempt(DriverCall::Destroy, self.last.replace(About::KeptApart))
    }

    fn map(&self, _: DeviceId, at: DevicePtr, _: GranuleHandle, _: Option<NativeStream>) -> Result<(), DriverError> {
        self.last.set(About::NotMapped);
        self.attempt(DriverCall::Map, About::Address(at))?;
        self.last.set(About::KeptApart);
        Ok(())
    }

    fn unmap(&self, _: DeviceId, at: DevicePtr, _: Option<NativeStream>) -> Result<(), DriverError> {
        self.attempt(DriverCall::Unmap, About::Address(at))?;
        self.last.set(About::Address(at));
        Ok(())
    }

    fn lay(&self, _: MarkerSlot, _: NativeStream) -> Result<(), DriverError> {
        self.attempt(DriverCall::Lay, About::Nothing)
    }

    fn query(&self, _: Target) -> Result<Completion, DriverError> {
        let answer = self.queries.borrow_mut().pop_front();
        match answer.unwrap_or(Err(unknown(DriverCall::Query)))? {
            true => Ok(Completion::Complete),
            false => Ok(Completion::Pending),
        }
    }

    fn wait(&self, _: NativeStream, _: MarkerSlot) -> Result<(), DriverError> {
        self.attempt(DriverCall::Wait, About::Nothing)
    }

    fn synchronise(&self, _: Target) -> Result<(), DriverError> {
        self.attempt(DriverCall::Synchronise, About::Nothing)
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }

    fn pressure(&self, _: Pressure) -> Relief {
        match self.relieved.borrow_mut().pop_front() {
            Some(true) => Relief::Some,
            Some(false) | None => Relief::Nothing,
        }
    }
}
