//! The simulated device behind a driver that writes down every call and fails those that a plan names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Properties,
    Target,
};
use weir::id::DeviceId;
use weir::sim::Sim;
use weir::units::{Bytes, DevicePtr, Nanos};

/// Which driver calls fail, counted from 1 over the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Nothing,
    /// The `k`-th call.
    One(usize, DriverErrorKind),
    /// Two calls, each with its kind.
    Two((usize, DriverErrorKind), (usize, DriverErrorKind)),
    /// From the `k`-th call on until the program's call returns: no undo succeeds.
    UntilReturn(usize, DriverErrorKind),
    /// From the `k`-th call on until the device is healed.
    Outage(usize, DriverErrorKind),
}

/// A driver call as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    pub call: DriverCall,
    /// The slot of a marker that the call names.
    pub slot: Option<u32>,
    pub failed: Option<DriverErrorKind>,
    /// It failed by plan, not because the device is full.
    pub planned: bool,
}

#[derive(Debug)]
struct Book {
    plan: Plan,
    calls: Vec<Made>,
    ranges: BTreeMap<u64, u64>,
    /// Readings of the clock since the program's call began: one or two for each driver call, and one for each wait.
    readings: u32,
}

/// More readings of the clock than any call of the corpus takes.
const ENDLESS: u32 = 2000;

impl Book {
    fn due(&mut self) -> Option<DriverErrorKind> {
        let n = self.calls.len() + 1;
        match self.plan {
            Plan::Nothing => None,
            Plan::One(k, kind) => (n == k).then_some(kind),
            Plan::Two((k, kind), _) if n == k => Some(kind),
            Plan::Two(_, (k, kind)) => (n == k).then_some(kind),
            Plan::UntilReturn(k, kind) | Plan::Outage(k, kind) => (n >= k).then_some(kind),
        }
    }
}

/// The code of planned failures.
pub const CODE: i32 = -7;

/// The driver.
pub struct Faulty<'a> {
    pub sim: Sim<'a>,
    book: RefCell<Book>,
}

impl<'a> Faulty<'a> {
    pub fn new(sim: Sim<'a>, plan: Plan) -> Self {
        Self { sim, book: RefCell::new(Book { plan, calls: Vec::new(), ranges: BTreeMap::new(), readings: 0 }) }
    }

    /// A call of the program returned.
    pub fn returned(&self) {
        let mut book = self.book.borrow_mut();
        book.readings = 0;
        if let Plan::UntilReturn(k, _) = book.plan
            && book.calls.len() >= k
        {
            book.plan = Plan::Nothing;
        }
    }

    /// No call fails any more.
    pub fn heal(&self) {
        self.book.borrow_mut().plan = Plan::Nothing;
    }

    /// How many calls were made.
    pub fn made(&self) -> usize {
        self.book.borrow().calls.len()
    }

    /// The calls from number `from` on, counted from 0.
    pub fn calls_since(&self, from: usize) -> Vec<Made> {
        self.book.borrow().calls[from..].to_vec()
    }

    /// Ranges that were reserved and not released.
    pub fn ranges(&self) -> usize {
        self.book.borrow().ranges.len()
    }

    fn call<T>(
        &self,
        call: DriverCall,
        slot: Option<MarkerSlot>,
        perform: impl FnOnce(&Sim<'a>) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let due = self.book.borrow_mut().due();
        let result = match due {
            Some(kind) => Err(DriverError { call, code: CODE, kind }),
            None => perform(&self.sim),
        };
        let failed = result.as_ref().err().map(|error| error.kind);
        let made = Made { call, slot: slot.map(|slot| slot.0), failed, planned: due.is_some() };
        self.book.borrow_mut().calls.push(made);
        result
    }
}

fn slot_of(what: Target) -> Option<MarkerSlot> {
    match what {
        Target::Marker(slot) => Some(slot),
        Target::Stream(_) | Target::Device(_) => None,
    }
}

impl Driver for Faulty<'_> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.call(DriverCall::Properties, None, |sim| sim.properties(device))
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        let base = self.call(DriverCall::Reserve, None, |sim| sim.reserve(device, bytes))?;
        self.book.borrow_mut().ranges.insert(base.0, bytes.0);
        Ok(base)
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.call(DriverCall::Release, None, |sim| sim.release(device, base, bytes))?;
        assert_eq!(self.book.borrow_mut().ranges.remove(&base.0), Some(bytes.0), "a whole range is given back");
        Ok(())
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.call(DriverCall::Create, None, |sim| sim.create(device))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.call(DriverCall::Destroy, None, |sim| sim.destroy(device, granule))
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.call(DriverCall::Map, None, |sim| sim.map(device, at, granule, stream))
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.call(DriverCall::Unmap, None, |sim| sim.unmap(device, at, stream))
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.call(DriverCall::Lay, Some(marker), |sim| sim.lay(marker, stream))
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.call(DriverCall::Query, slot_of(what), |sim| sim.query(what))
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.call(DriverCall::Wait, Some(marker), |sim| sim.wait(stream, marker))
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.call(DriverCall::Synchronise, slot_of(what), |sim| sim.synchronise(what))
    }

    fn now(&self) -> Nanos {
        let mut book = self.book.borrow_mut();
        book.readings += 1;
        let last = &book.calls[book.calls.len().saturating_sub(8)..];
        assert!(book.readings < ENDLESS, "a call does not end; its latest driver calls are {last:?}");
        drop(book);
        self.sim.now()
    }
}
