//! The simulated device, with the oracle looking on, and with queries answered as the exploration wants.

use crate::op::{EVENTS, STREAMS};
use crate::oracle::{By, Oracle, Set, What};
use std::cell::RefCell;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Target,
};
use weir::id::DeviceId;
use weir::sim::Sim;
use weir::units::{DevicePtr, Nanos};

/// How true the device is to its word. All but the first exist to show that the judge notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// It does what it says.
    Honest,
    /// It accepts waits and does not wait.
    DropsWaits,
    /// It says that everything is complete.
    SaysComplete,
}

/// What the exploration steers and sees.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The judge's facts.
    pub oracle: Oracle,
    /// Answers to the pool's queries, from the lowest bit on.
    pub answers: u8,
    /// The pool's queries that could have been answered either way.
    pub asked: u32,
    /// Which calls fail, from the lowest bit on.
    pub faults: u32,
    /// Calls that could have failed.
    pub attempts: u32,
    /// Calls that did.
    pub failed: u32,
    /// Driver calls other than laying markers, failed ones included.
    pub calls: u32,
    /// Waits that were inserted or asked for.
    pub waits: u32,
    /// Operations on memory that was unmapped before they were known to be complete.
    pub unmapped: Set,
    /// The driver's names of the streams that are live.
    natives: [Option<u64>; STREAMS],
}

impl Watch {
    fn what(&self, target: Target) -> What {
        match target {
            Target::Stream(native) => What::Stream(self.stream(native)),
            Target::Marker(slot) => What::Slot(slot.0 as usize),
            Target::Device(_) => What::Device,
        }
    }

    fn stream(&self, native: NativeStream) -> usize {
        self.natives.iter().position(|&known| known == Some(native.0)).unwrap_or(0)
    }

    /// A step begins.
    pub fn begin(&mut self, answers: u8, faults: u32) {
        (self.asked, self.calls, self.waits, self.attempts, self.failed) = (0, 0, 0, 0, 0);
        (self.answers, self.faults) = (answers, faults);
    }

    /// A call begins; it may be one that fails.
    fn attempt(&mut self, call: DriverCall) -> Result<(), DriverError> {
        let fails = self.faults & 1 << self.attempts.min(31) != 0;
        self.attempts += 1;
        self.calls += u32::from(call != DriverCall::Lay);
        if !fails {
            return Ok(());
        }
        self.failed += 1;
        let kind = match call {
            DriverCall::Create | DriverCall::Map => DriverErrorKind::Exhausted,
            DriverCall::Synchronise => DriverErrorKind::TimedOut,
            _ => DriverErrorKind::Failed,
        };
        Err(DriverError { call, code: 1, kind })
    }

    /// Whether a query finds its target complete.
    fn answer(&mut self, set: Set, by: By) -> Completion {
        if by == By::Program || set & !self.oracle.known() == 0 {
            return Completion::Complete;
        }
        let bit = self.answers & 1;
        self.answers >>= 1;
        self.asked += 1;
        if bit == 1 { Completion::Complete } else { Completion::Pending }
    }
}

/// The driver.
pub struct Watched<'a> {
    /// The device.
    pub sim: Sim<'a>,
    device: Device,
    /// What is seen of it.
    pub watch: RefCell<Watch>,
}

impl<'a> Watched<'a> {
    /// A device whose streams have these handles.
    #[must_use]
    pub fn new(sim: Sim<'a>, natives: [NativeStream; STREAMS], device: Device) -> Self {
        let natives = natives.map(|native| Some(native.0));
        let watch = Watch {
            oracle: Oracle::default(),
            answers: 0,
            asked: 0,
            faults: 0,
            attempts: 0,
            failed: 0,
            calls: 0,
            waits: 0,
            unmapped: 0,
            natives,
        };
        Self { sim, device, watch: RefCell::new(watch) }
    }

    /// The driver's handle of a live stream.
    #[must_use]
    pub fn native(&self, stream: usize) -> Option<NativeStream> {
        self.watch.borrow().natives[stream].map(NativeStream)
    }

    /// Which streams are live.
    #[must_use]
    pub fn live(&self) -> [bool; STREAMS] {
        self.watch.borrow().natives.map(|native| native.is_some())
    }

    /// A stream takes this place, or leaves it.
    pub fn set_native(&self, stream: usize, native: Option<NativeStream>) {
        let mut watch = self.watch.borrow_mut();
        watch.natives[stream] = native.map(|native| native.0);
        match native {
            Some(_) => watch.oracle.begin_stream(stream),
            None => watch.oracle.end_stream(stream),
        }
    }

    fn attempt(&self, call: DriverCall) -> Result<(), DriverError> {
        self.watch.borrow_mut().attempt(call)
    }

    fn note<T>(&self, result: Result<T, DriverError>, note: impl FnOnce(&mut Watch, &T)) -> Result<T, DriverError> {
        if let Ok(value) = &result {
            note(&mut self.watch.borrow_mut(), value);
        }
        result
    }
}

impl Driver for Watched<'_> {
    weir::hand_on! { self => self.sim; properties reserve release }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.attempt(DriverCall::Create)?;
        self.note(self.sim.create(device), |watch, handle| watch.oracle.create(handle.0))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.attempt(DriverCall::Destroy)?;
        self.note(self.sim.destroy(device, granule), |watch, ()| watch.oracle.destroy(granule.0))
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.attempt(DriverCall::Map)?;
        self.note(self.sim.map(device, at, granule, stream), |watch, ()| watch.oracle.map(at.0, granule.0))
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.attempt(DriverCall::Unmap)?;
        let unfinished = self.watch.borrow_mut().oracle.unmap(at.0);
        self.note(self.sim.unmap(device, at, stream), |watch, ()| watch.unmapped |= unfinished)
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.attempt(DriverCall::Lay)?;
        self.sim.lay(marker, stream)?;
        let mut watch = self.watch.borrow_mut();
        let stream = watch.stream(stream);
        watch.oracle.lay(marker.0 as usize, stream);
        Ok(())
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.attempt(DriverCall::Query)?;
        if self.device == Device::SaysComplete {
            return Ok(Completion::Complete);
        }
        let mut watch = self.watch.borrow_mut();
        let known = watch.what(what);
        let set = watch.oracle.stands_for(known);
        // The program asks about its events only; markers and streams are the pool's questions.
        let by = if matches!(known, What::Slot(slot) if slot < EVENTS) { By::Program } else { By::Pool };
        let answer = watch.answer(set, by);
        if answer == Completion::Complete {
            // The device is made to have done it.
            self.sim.synchronise(what)?;
            watch.oracle.learn(known, by);
        }
        Ok(answer)
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.attempt(DriverCall::Wait)?;
        if self.device == Device::DropsWaits {
            return Ok(());
        }
        self.note(self.sim.wait(stream, marker), |watch, ()| {
            watch.waits += 1;
            let stream = watch.stream(stream);
            watch.oracle.wait(stream, marker.0 as usize);
        })
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.attempt(DriverCall::Synchronise)?;
        self.note(self.sim.synchronise(what), |watch, ()| {
            let known = watch.what(what);
            watch.oracle.learn(known, By::Program);
        })
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }
}
