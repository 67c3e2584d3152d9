//! Refusals in the log: every error that a call returns is written down with its numbers.

use super::State;
use super::malloc::Request;
use crate::driver::{DriverCall, DriverError, DriverErrorKind};
use crate::error::{
    ArenaFull, BadId, BadPointer, FreeError, MallocError, OrderError, OutOfMemory, PoolError, UseError,
};
use crate::id::{PoolId, StreamId};
use crate::trace::{Record, Refusal, Verb};
use crate::units::Bytes;

impl From<BadId> for Refusal {
    fn from(bad: BadId) -> Self {
        match bad {
            BadId::UnknownStream(_) | BadId::UnknownEvent(_) | BadId::UnknownPool(_) => Self::Unknown,
            BadId::StaleStream(_) | BadId::StaleEvent(_) | BadId::StalePool(_) => Self::Stale,
        }
    }
}

impl From<ArenaFull> for Refusal {
    fn from(full: ArenaFull) -> Self {
        Self::ArenaFull(full.arena, full.capacity as u64)
    }
}

impl From<BadPointer> for Refusal {
    fn from(bad: BadPointer) -> Self {
        match bad {
            BadPointer::Unknown(ptr) => Self::BadPointer(ptr),
            BadPointer::Interior { ptr, start, .. } => Self::Interior(ptr, start),
            BadPointer::OtherPool { ptr, pool } => Self::OtherPool(ptr, pool),
            BadPointer::AlreadyFree { ptr, freed_at, .. } => Self::AlreadyFree(ptr, freed_at),
            BadPointer::Unmapped { ptr, .. } => Self::Unmapped(ptr),
        }
    }
}

impl State<'_> {
    fn refused(&mut self, verb: Verb, pool: Option<PoolId>, stream: Option<StreamId>, size: Bytes, reason: Refusal) {
        // Only ids that name something appear: a wrong one would be read as a fact.
        let pool = pool.filter(|&id| self.facts.find_pool(id).is_ok());
        let stream = stream.filter(|&id| self.facts.order.find_stream(id).is_ok());
        self.record(Record::Refused { verb, pool, stream, size, reason });
    }

    #[cold]
    pub(super) fn refuse_malloc(&mut self, request: &Request, error: &MallocError) {
        let Request { pool, stream, asked, .. } = *request;
        if matches!(error, MallocError::Unusable(_)) {
            return;
        }
        if let Ok(slot) = self.facts.find_pool(pool) {
            let pool = self.facts.pool_mut(slot);
            pool.refused = pool.refused.wrapping_add(1);
        }
        let reason = match *error {
            MallocError::OutOfMemory(ref picture) => return self.log_out_of_memory(pool, stream, picture),
            MallocError::ZeroSize => Refusal::ZeroSize,
            MallocError::AboveLimit { limit, .. } => Refusal::AboveLimit(limit),
            MallocError::Overflow { .. } => Refusal::Overflow,
            MallocError::NoAddressRange { range, .. } => Refusal::NoAddressRange(range),
            MallocError::OtherDevice { .. } => Refusal::OtherDevice,
            MallocError::Capturing(_) => Refusal::Capturing,
            MallocError::BadId(bad) => bad.into(),
            MallocError::ArenaFull(full) => full.into(),
            MallocError::Driver(error) => Refusal::Driver(error),
            MallocError::Unusable(_) => return,
        };
        self.refused(Verb::Malloc, Some(pool), Some(stream), asked, reason);
    }

    #[inline(never)]
    fn log_out_of_memory(&mut self, pool: PoolId, stream: StreamId, picture: &OutOfMemory) {
        let OutOfMemory { requested, used, reserved, limit, largest_usable, pending, .. } = *picture;
        self.record(Record::OutOfMemory { pool, stream, requested, used, reserved, limit, largest_usable, pending });
    }

    #[cold]
    pub(super) fn refuse_free(&mut self, pool: Option<PoolId>, stream: StreamId, error: FreeError) -> FreeError {
        let reason = match error {
            FreeError::BadPointer(bad) => bad.into(),
            FreeError::Capturing(_) => Refusal::Capturing,
            FreeError::BadId(bad) => bad.into(),
            FreeError::Unusable(_) => return error,
        };
        self.refused(Verb::Free, pool, Some(stream), Bytes::ZERO, reason);
        error
    }

    pub(super) fn refuse_use(&mut self, stream: StreamId, error: UseError) -> UseError {
        let reason = match error {
            UseError::BadPointer(bad) => bad.into(),
            UseError::BadId(bad) => bad.into(),
            UseError::Unusable(_) => return error,
        };
        self.refused(Verb::Use, None, Some(stream), Bytes::ZERO, reason);
        error
    }

    pub(super) fn refuse_order(&mut self, verb: Verb, stream: Option<StreamId>, error: OrderError) -> OrderError {
        let reason = match error {
            OrderError::BadId(bad) => bad.into(),
            OrderError::ArenaFull(full) => full.into(),
            OrderError::Driver(error) => Refusal::Driver(error),
            OrderError::StreamExists(_) => Refusal::Exists,
            OrderError::Unusable(_) => return error,
        };
        self.refused(verb, None, stream, Bytes::ZERO, reason);
        error
    }

    pub(super) fn refuse_pool(&mut self, verb: Verb, pool: Option<PoolId>, error: PoolError) -> PoolError {
        let reason = match error {
            PoolError::BadId(bad) => bad.into(),
            PoolError::ArenaFull(full) => full.into(),
            PoolError::LimitAboveDevice { limit, .. } | PoolError::Overflow { limit } => Refusal::BadValue(limit.0),
            PoolError::BadProperties { granularity, .. } => Refusal::BadValue(granularity.0),
            PoolError::BadRange { base, .. } => Refusal::BadValue(base.0),
            PoolError::LiveBlocks { count, bytes } => Refusal::LiveBlocks(count, bytes),
            PoolError::ReadOnly(attribute) => Refusal::BadValue(attribute as u64),
            PoolError::OnlyReset { value, .. } => Refusal::BadValue(value),
            PoolError::Driver(error) => Refusal::Driver(error),
            PoolError::Unusable(_) => return error,
        };
        self.refused(verb, pool, None, Bytes::ZERO, reason);
        error
    }

    /// The driver, or the vendor behind a layer, refused what the program asked for.
    pub(super) fn refuse_by_driver(&mut self, verb: Verb, stream: Option<usize>) {
        let call = match verb {
            Verb::Record => DriverCall::Lay,
            Verb::Wait => DriverCall::Wait,
            Verb::Query => DriverCall::Query,
            _ => DriverCall::Synchronise,
        };
        let stream = stream.map(|slot| self.facts.order.stream_id(slot));
        let reason = Refusal::Driver(DriverError { call, code: 0, kind: DriverErrorKind::Failed });
        self.refused(verb, None, stream, Bytes::ZERO, reason);
    }
}
