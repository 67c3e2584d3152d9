//! A record in the middle of which another thread does something to the same event or stream.

use crate::op::Meanwhile;
use crate::world::{Done, World, refusal};
use weir::driver::{Driver, MarkerSlot};
use weir::error::{OrderError, Unusable};

impl World<'_> {
    /// Records an event; `meanwhile` happens between the facts that the pool takes and what it publishes, before the
    /// driver's part or after it.
    pub(crate) fn record_around(
        &mut self,
        (event, stream): (u8, u8),
        meanwhile: Meanwhile,
        driver_first: bool,
    ) -> Done {
        let (Some(id), Some(on)) = (self.event(event), self.stream(stream)) else { return Ok(()) };
        // The pool may not learn from an event in flux what the device orders by it.
        self.oracle().order.vague = true;
        // Events come first among the driver's slots.
        let slot = MarkerSlot(id.raw() as u32);
        let mut inside = Ok(());
        let recorded = self.rt.record_with(id, on.id, || {
            if !driver_first {
                inside = self.meanwhile((event, stream), meanwhile);
            }
            self.rt.driver().lay(slot, on.native)?;
            if driver_first {
                inside = self.meanwhile((event, stream), meanwhile);
            }
            Ok::<_, OrderError>(())
        });
        inside?;
        self.allow("record", recorded)
    }

    fn meanwhile(&self, (event, stream): (u8, u8), what: Meanwhile) -> Done {
        let (Some(event), Some(stream)) = (self.event(event), self.stream(stream)) else { return Ok(()) };
        let other = |place| self.stream(place);
        match what {
            Meanwhile::Record { stream } => match other(stream) {
                Some(other) => self.allow("record of an event in flux", self.rt.record(event, other.id)),
                None => Ok(()),
            },
            Meanwhile::Wait { stream } => match other(stream) {
                Some(other) => self.allow("wait for an event in flux", self.rt.wait(other.id, event)),
                None => Ok(()),
            },
            Meanwhile::Query => self.allow("query of an event in flux", self.rt.query(event).map(drop)),
            Meanwhile::Synchronise => {
                self.allow("synchronisation of an event in flux", self.rt.synchronize_event(event))
            }
            // The call that is under this one would be waited for in vain.
            Meanwhile::Destroy => is_busy("destroy an event in flux", self.rt.destroy_event(event)),
            Meanwhile::DestroyStream => is_busy("destroy a stream in flux", self.rt.destroy_stream(stream.id)),
        }
    }
}

fn is_busy(what: &str, result: Result<(), OrderError>) -> Done {
    match result {
        Err(OrderError::Unusable(Unusable::Busy)) => Ok(()),
        other => Err(refusal(what, other)),
    }
}
