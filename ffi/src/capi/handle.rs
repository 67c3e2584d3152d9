//! Handles as C has them: which runtime they belong to, and what they name.

use super::failure::Failure;
use crate::bindings::{weir_event, weir_pool, weir_runtime, weir_status as s, weir_stream};
use weir::id::{EventId, PoolId, StreamId};

/// What a handle names; part of it, so that an event is never taken for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pool = 1,
    Stream = 2,
    Event = 3,
}

/// Slots of one kind that a handle can name; the bits above, up to the generation's, tell the kinds apart.
pub(super) const MAX_SLOTS: usize = 1 << KIND_SHIFT;
const KIND_SHIFT: u32 = 28;
const KIND_MASK: u64 = 0xf << KIND_SHIFT;

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Stream => "stream",
            Self::Event => "event",
        }
    }

    const fn bits(self) -> u64 {
        (self as u64) << KIND_SHIFT
    }
}

/// The handle of a pool.
pub(super) fn pool_handle(runtime: weir_runtime, pool: PoolId) -> weir_pool {
    weir_pool { id: pool.raw() | Kind::Pool.bits(), runtime: runtime.id }
}

/// Whoever gives out handles.
pub(crate) trait Handles {
    /// The number of its runtime.
    fn serial(&self) -> u64;

    /// The id in a handle, if it is of this kind and of this runtime. Not inlined: most calls name several.
    #[inline(never)]
    fn accept(&self, kind: Kind, id: u64, owner: u64) -> Result<u64, Failure> {
        let name = kind.name();
        let bad = |text| Err(Failure::new(s::WEIR_BAD_HANDLE, text));
        if id == 0 {
            return bad(format!("the {name} handle is 0, which names nothing"));
        }
        if owner != self.serial() {
            return bad(format!("the {name} handle {id:#x} is not of runtime {}, but of {owner}", self.serial()));
        }
        if id & KIND_MASK != kind.bits() {
            return bad(format!("the handle {id:#x} is no {name}"));
        }
        Ok(id & !KIND_MASK)
    }

    fn pool(&self, pool: weir_pool) -> Result<PoolId, Failure> {
        self.accept(Kind::Pool, pool.id, pool.runtime).map(PoolId::from_raw)
    }

    fn stream(&self, stream: weir_stream) -> Result<StreamId, Failure> {
        self.accept(Kind::Stream, stream.id, stream.runtime).map(StreamId::from_raw)
    }

    fn event(&self, event: weir_event) -> Result<EventId, Failure> {
        self.accept(Kind::Event, event.id, event.runtime).map(EventId::from_raw)
    }

    fn give_pool(&self, pool: PoolId) -> weir_pool {
        pool_handle(weir_runtime { id: self.serial() }, pool)
    }

    fn give_stream(&self, stream: StreamId) -> weir_stream {
        weir_stream { id: stream.raw() | Kind::Stream.bits(), runtime: self.serial() }
    }

    fn give_event(&self, event: EventId) -> weir_event {
        weir_event { id: event.raw() | Kind::Event.bits(), runtime: self.serial() }
    }
}
