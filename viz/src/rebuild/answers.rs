//! A driver that does nothing and answers as a log says that its driver did.

use super::calls::Calls;
use crate::model::{EventIx, Kind, Model, Payload};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Pressure,
    Properties, Relief, Target,
};
use weir::id::DeviceId;
use weir::trace::{MapReason, Record};
use weir::units::{Bytes, DevicePtr, Nanos};

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
    /// Of the call in progress: driver calls that fail, and after how many of their kind that do not.
    failures: RefCell<Vec<(u64, DriverError)>>,
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
        let from = self.from.get();
        let mut to = ends.at() + 1;
        // What a synchronisation or a destruction releases stands behind its record.
        if releases(self.model.events.kind(ends)) {
            while to < self.model.events.len() && is_release(self.model, EventIx::next_of(to)) {
                to += 1;
            }
        }
        self.from.set(EventIx::next_of(to));
        let records = |range: std::ops::Range<usize>| {
            range.map(EventIx::next_of).filter_map(|at| match self.model.events.payload(at) {
                Payload::Other(record) => Some(record),
                Payload::Life(_) => None,
            })
        };
        let mut failures = Vec::new();
        for at in from.at()..to {
            let Payload::Other(Record::DriverFailed { error }) = self.model.events.payload(EventIx::next_of(at)) else {
                continue;
            };
            // A growth's maps are written when it ends, those before a failure too.
            let growth = (at..to).find(|at| {
                let at = EventIx::next_of(*at);
                self.model.events.kind(at) == Kind::GrowAborted || Calls::ends_one(self.model, at)
            });
            let until = match error.call {
                DriverCall::Create | DriverCall::Map => growth.unwrap_or(to),
                _ => at,
            };
            let before = records(from.at()..until).map(|record| calls_in(&record, error.call)).sum();
            failures.push((before, error));
        }
        self.failures.replace(failures);
    }

    /// One more driver call: whether the log says that it failed.
    fn attempt(&self, call: DriverCall) -> Result<(), DriverError> {
        if !self.fails {
            return Ok(());
        }
        let mut failures = self.failures.borrow_mut();
        let Some(at) = failures.iter().position(|(_, error)| error.call == call) else { return Ok(()) };
        match failures[at] {
            (0, error) => {
                failures.remove(at);
                Err(error)
            }
            _ => {
                failures.iter_mut().filter(|(_, error)| error.call == call).for_each(|(before, _)| *before -= 1);
                Ok(())
            }
        }
    }
}

const fn releases(kind: Kind) -> bool {
    matches!(kind, Kind::StreamSynchronized | Kind::EventSynchronized | Kind::DeviceSynchronized | Kind::PoolDestroyed)
}

fn is_release(model: &Model, at: EventIx) -> bool {
    match model.events.payload(at) {
        Payload::Other(Record::DriverFailed { error }) => {
            matches!(error.call, DriverCall::Unmap | DriverCall::Destroy | DriverCall::Release)
        }
        _ => matches!(model.events.kind(at), Kind::Unmapped | Kind::Kept | Kind::Quarantined),
    }
}

/// How many successful calls of a kind a record stands for.
fn calls_in(record: &Record<'_>, call: DriverCall) -> u64 {
    match (*record, call) {
        (Record::Mapped { granules, reason, .. }, DriverCall::Create)
        | (Record::MappedInOrder { granules, reason, .. }, DriverCall::Create)
            if reason != MapReason::Remap =>
        {
            u64::from(granules)
        }
        (Record::Mapped { granules, .. } | Record::MappedInOrder { granules, .. }, DriverCall::Map)
        | (Record::Unmapped { granules, .. } | Record::UnmappedInOrder { granules, .. }, DriverCall::Unmap) => {
            u64::from(granules)
        }
        (Record::MarkerLaid { .. }, DriverCall::Lay) | (Record::WaitInserted { .. }, DriverCall::Wait) => 1,
        _ => 0,
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

    fn release(&self, _: DeviceId, _: DevicePtr, _: Bytes) -> Result<(), DriverError> {
        self.attempt(DriverCall::Release)
    }

    fn create(&self, _: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.attempt(DriverCall::Create)?;
        self.granules.set(self.granules.get() + 1);
        Ok(GranuleHandle(self.granules.get()))
    }

    fn destroy(&self, _: DeviceId, _: GranuleHandle) -> Result<(), DriverError> {
        self.attempt(DriverCall::Destroy)
    }

    fn map(&self, _: DeviceId, _: DevicePtr, _: GranuleHandle, _: Option<NativeStream>) -> Result<(), DriverError> {
        self.attempt(DriverCall::Map)
    }

    fn unmap(&self, _: DeviceId, _: DevicePtr, _: Option<NativeStream>) -> Result<(), DriverError> {
        self.attempt(DriverCall::Unmap)
    }

    fn lay(&self, _: MarkerSlot, _: NativeStream) -> Result<(), DriverError> {
        self.attempt(DriverCall::Lay)
    }

    fn query(&self, _: Target) -> Result<Completion, DriverError> {
        let answer = self.queries.borrow_mut().pop_front();
        match answer.unwrap_or(Err(unknown(DriverCall::Query)))? {
            true => Ok(Completion::Complete),
            false => Ok(Completion::Pending),
        }
    }

    fn wait(&self, _: NativeStream, _: MarkerSlot) -> Result<(), DriverError> {
        self.attempt(DriverCall::Wait)
    }

    fn synchronise(&self, _: Target) -> Result<(), DriverError> {
        self.attempt(DriverCall::Synchronise)
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
