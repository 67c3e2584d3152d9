//! The driver between the pool and the simulated device: it tells the oracle what is asked of the device and answered.

use crate::failure::Kind;
use crate::oracle::{Oracle, Way};
use std::cell::RefCell;
use weir::driver::{
    Completion, Driver, DriverCall, DriverError, GranuleHandle, MarkerSlot, NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::sim::Sim;
use weir::units::{Bytes, DevicePtr, Nanos};

pub(crate) struct Watch<'a> {
    pub(crate) sim: Sim<'a>,
    pub(crate) oracle: RefCell<Oracle>,
}

impl Watch<'_> {
    /// A call by the pool begins.
    fn enter(&self, call: DriverCall, way: Option<Way>) {
        let mut oracle = self.oracle.borrow_mut();
        if oracle.quiet {
            oracle.fail(Kind::Refusal, format!("a free made the driver call `{}`", call.name()));
        }
        if let Some(way) = way {
            oracle.turns_to(way);
        }
    }

    fn tell<T>(&self, outcome: Result<T, DriverError>, tell: impl FnOnce(&mut Oracle, &T)) -> Result<T, DriverError> {
        if let Ok(answer) = &outcome {
            tell(&mut self.oracle.borrow_mut(), answer);
        }
        outcome
    }
}

/// How often one step may read the clock, before it counts as endless.
const MOST_LOOKS: u64 = 100_000;

impl Driver for Watch<'_> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.sim.properties(device)
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.enter(DriverCall::Reserve, None);
        self.sim.reserve(device, bytes)
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.enter(DriverCall::Release, None);
        self.tell(self.sim.release(device, base, bytes), |oracle, ()| oracle.released(base.0))
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.enter(DriverCall::Create, Some(Way::Grows));
        self.sim.create(device)
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.enter(DriverCall::Destroy, Some(Way::Grows));
        self.sim.destroy(device, granule)
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.enter(DriverCall::Map, Some(Way::Grows));
        let mapped = self.sim.map(device, at, granule, stream);
        self.tell(mapped, |oracle, ()| oracle.mapped(at.0, stream.map(|s| s.0)))
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.enter(DriverCall::Unmap, Some(Way::Grows));
        self.tell(self.sim.unmap(device, at, stream), |oracle, ()| {
            oracle.unmapped(at.0, stream.map(|s| s.0));
        })
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.enter(DriverCall::Lay, None);
        self.tell(self.sim.lay(marker, stream), |oracle, ()| oracle.laid(marker.0 as usize, stream.0))
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.enter(DriverCall::Query, Some(Way::Asks));
        self.tell(self.sim.query(what), |oracle, &answer| {
            if answer == Completion::Complete {
                oracle.complete(what);
            }
        })
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.enter(DriverCall::Wait, Some(Way::Waits));
        let waited = self.sim.wait(stream, marker);
        self.tell(waited, |oracle, ()| oracle.waits(stream.0, marker.0 as usize))
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.enter(DriverCall::Synchronise, None);
        self.tell(self.sim.synchronise(what), |oracle, ()| oracle.synchronised(what))
    }

    fn now(&self) -> Nanos {
        // The clock is read whenever a call takes the lock.
        let mut oracle = self.oracle.borrow_mut();
        oracle.looks += 1;
        assert!(oracle.looks < MOST_LOOKS, "a call does not end");
        self.sim.now()
    }
}
