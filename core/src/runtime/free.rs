//! `free_async` and `record_use`.

use super::state::Freed;
use super::{Lock, Runtime, State, Step};
use crate::arena::Link;
use crate::block;
use crate::driver::Driver;
use crate::error::{BadPointer, FreeError, Unusable, UseError};
use crate::facts::Facts;
use crate::id::{AllocId, PoolId, StreamId};
use crate::order::{Mark, UNTIL_FREE};
use crate::policy::UseUntil;
use crate::trace::{Record, Sink};
use crate::units::{Bytes, DevicePtr, Nanos};

/// A free that has its position and its record, and is still to be carried out.
///
/// The next call begins with that, whatever it is, so nobody sees the difference; unless it is a malloc that would get
/// the block back as it was (see `State::malloc_at_once`): then neither the index nor the counts need to know of either. In a
/// loop that frees a block and takes it again that saves two thirds of the instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freeing {
    pub(super) block: Link,
    /// At its head, for nothing came after.
    pub(super) stream: usize,
}

impl Freeing {
    pub(super) const NONE: Self = Self { block: Link::NONE, stream: 0 };
}

impl State<'_> {
    /// The live block that starts at `ptr`.
    #[inline]
    pub(super) fn find_live(&self, ptr: DevicePtr) -> Result<usize, BadPointer> {
        match self.facts.blocks.find(ptr.0) {
            Some(slot) if self.facts.blocks.get(slot).state() == block::State::Live => Ok(slot),
            _ => Err(self.explain_pointer(ptr)),
        }
    }

    /// Why a pointer is not the start of a live block. O(blocks of its pool).
    #[cold]
    fn explain_pointer(&self, ptr: DevicePtr) -> BadPointer {
        let Some((slot, pool)) = self.facts.pools.iter().find(|(_, p)| p.holds(ptr.0)) else {
            return BadPointer::Unknown(ptr);
        };
        let pool_id = self.facts.pool_id(slot);
        let Some(holding) = self.facts.blocks.holding(pool.first, ptr.0) else {
            return BadPointer::Unknown(ptr);
        };
        let block = self.facts.blocks.get(holding);
        match block.state() {
            block::State::Live => {
                BadPointer::Interior { ptr, start: DevicePtr(block.at), size: Bytes(block.size), id: block.id() }
            }
            block::State::Free => {
                let recent = self.frees.recent(ptr.0);
                let covering = block.points().marks().last();
                let mark = recent.map(|freed| freed.mark).or(covering);
                let freed_at = mark.map(|mark| self.facts.order.point(mark));
                BadPointer::AlreadyFree { ptr, freed_at, id: recent.map(|freed| freed.id) }
            }
            _ => BadPointer::Unmapped { ptr, pool: pool_id },
        }
    }

    /// Frees a block. After an error nothing has changed.
    #[inline(always)]
    fn free(&mut self, pool: Option<PoolId>, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        if let Some(pool) = pool {
            self.check_owner(pool, ptr)?;
        }
        let Facts { order, blocks, .. } = &mut self.facts;
        let slot = order.find_stream(stream)?;
        let on = order.stream_mut(slot);
        if on.capturing {
            return Err(FreeError::Capturing(stream));
        }
        let Some(found) = blocks.find(ptr.0) else { return Err(self.explain_pointer(ptr).into()) };
        let block = blocks.get_mut(found);
        if block.state() != block::State::Live {
            return Err(self.explain_pointer(ptr).into());
        }
        let mark = Mark { stream: slot, seq: on.tick_open() };
        let id = block.id();
        self.frees.add(Freed { at: ptr.0, id, mark });
        self.freeing = Freeing { block: Link::to(found), stream: slot };
        if self.note_change() {
            self.write_free(found, id, mark);
        }
        Ok(())
    }

    /// Carries out what the last call freed, if it is a free and was not undone.
    #[inline]
    pub(super) fn finish_free(&mut self) {
        if let Some(found) = self.freeing.block.slot() {
            self.carry_out_free(found);
        }
    }

    #[inline(never)]
    fn carry_out_free(&mut self, found: usize) {
        let Freeing { stream, .. } = core::mem::replace(&mut self.freeing, Freeing::NONE);
        let Facts { blocks, order, pools, .. } = &mut self.facts;
        let mark = Mark { stream, seq: order.stream(stream).head };
        let block = blocks.get_mut(found);
        pools.get_mut(block.pool()).take_used(block.size, block.asked());
        // The points are closed for this block alone: they are moved in, not copied.
        if block.waits_for_nothing() && !order.has_legacy_streams() {
            block.wait_for(mark, self.frees.count);
        } else {
            let closed = order.close_points(block.points(), mark);
            block.set_points(closed);
            block.set_freed(self.frees.count);
        }
        self.facts.settle_free(found);
    }

    /// Whether a block is of this pool.
    fn check_owner(&self, pool: PoolId, ptr: DevicePtr) -> Result<(), FreeError> {
        let slot = self.facts.find_pool(pool)?;
        let found = self.find_live(ptr)?;
        let owner = self.facts.blocks.get(found).pool();
        if owner == slot { Ok(()) } else { Err(BadPointer::OtherPool { ptr, pool: self.facts.pool_id(owner) }.into()) }
    }

    /// As [`free`](Self::free), and a refusal is in the log. It is handed over apart: what is returned fits a register.
    #[inline(always)]
    fn free_or_refuse(
        &mut self,
        now: Nanos,
        pool: Option<PoolId>,
        ptr: DevicePtr,
        stream: StreamId,
        refusal: &mut Option<FreeError>,
    ) {
        self.set_time(now);
        self.finish_free();
        // No closure: the compiler would make a call of it.
        let freed = match self.trust() {
            Ok(()) => self.free(pool, ptr, stream),
            Err(unusable) => Err(unusable.into()),
        };
        if let Err(error) = freed {
            *refusal = Some(self.refuse_free(pool, stream, error));
        }
    }

    #[inline(never)]
    fn write_free(&mut self, found: usize, id: AllocId, mark: Mark) {
        let block = self.facts.blocks.get(found);
        let (at, size, pool) = (block.at, block.size, block.pool());
        self.write_frequent(move |facts| {
            let slot = facts.pool(pool);
            Record::Free {
                pool: PoolId::new(pool, slot.generation),
                stream: facts.order.stream_id(mark.stream),
                seq: mark.seq,
                id,
                offset: Bytes(at.wrapping_sub(slot.base)),
                given: Bytes(size),
            }
        });
    }

    fn add_use(&mut self, ptr: DevicePtr, stream: StreamId, until: UseUntil) -> Result<(), UseError> {
        let slot = self.facts.order.find_stream(stream)?;
        let found = self.find_live(ptr)?;
        let seq = self.facts.order.tick_open(slot);
        let mark = match until {
            UseUntil::Now => Mark { stream: slot, seq },
            UseUntil::Free => Mark { stream: slot, seq: UNTIL_FREE },
        };
        let block = self.facts.blocks.get_mut(found);
        let mut points = block.points();
        points.add_use(mark);
        block.set_points(points);
        let (id, pool) = (block.id(), block.pool());
        self.record_frequent(move |facts| Record::Use { pool: facts.pool_id(pool), stream, seq, id, until });
        Ok(())
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Frees a block in the order of `stream`: whatever is queued on it before this call may still use the memory. The
    /// free counts on this stream, whichever allocated. Uses by other streams are told by
    /// [`record_use`](Self::record_use), or ordered before this call by events.
    ///
    /// Makes no driver call, lays no marker and needs no slot of any arena, so it works in a host callback (only the
    /// driver's clock is read). Near constant time.
    ///
    /// An address of no pool is refused. (CANN takes any for memory of its synchronous allocator.)
    ///
    /// # Errors
    /// See [`FreeError`]; nothing is changed then.
    pub fn free_async(&self, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        self.free_of(None, ptr, stream)
    }

    #[inline]
    fn free_of(&self, pool: Option<PoolId>, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        let mut refusal = None;
        let held = self.hold(|state, now| state.free_or_refuse(now, pool, ptr, stream, &mut refusal));
        match (held, refusal) {
            (Some(()), None) => Ok(()),
            (_, refusal) => Err(refusal.unwrap_or(Unusable::Busy.into())),
        }
    }

    /// As [`free_async`](Self::free_async), and refuses a block of any other pool than `pool`.
    ///
    /// # Errors
    /// [`BadPointer::OtherPool`]; else as `free_async`.
    pub fn free_to(&self, pool: PoolId, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        self.free_of(Some(pool), ptr, stream)
    }

    /// As [`free_async`](Self::free_async), for a handler that may not wait for the lock.
    ///
    /// # Errors
    /// [`Unusable::Busy`]: the lock is taken; else as `free_async`.
    pub fn try_free_async(&self, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        let now = self.now();
        let mut refusal = None;
        let held = self.state.try_with(|state| state.free_or_refuse(now, None, ptr, stream, &mut refusal));
        match (held, refusal) {
            (Some(()), None) => Ok(()),
            (_, refusal) => Err(refusal.unwrap_or(Unusable::Busy.into())),
        }
    }

    /// Notes that another stream uses the block: reuse must wait for that stream too, beside the free. With
    /// [`UseUntil::Now`] a use covers what was queued on the stream before this call: call it after the launch. With
    /// [`UseUntil::Free`] it covers whatever is queued there until the block is freed.
    ///
    /// Near constant time; at most one marker is laid.
    ///
    /// # Errors
    /// See [`UseError`]; nothing is changed then.
    pub fn record_use(&self, ptr: DevicePtr, stream: StreamId, until: UseUntil) -> Result<(), UseError> {
        let found = self.enter(|state| {
            let found = state.facts.order.find_stream(stream);
            found.map_err(|bad| state.refuse_use(stream, bad.into()))
        })?;
        self.lay_due_marker(found)?;
        self.enter(|state| state.add_use(ptr, stream, until).map_err(|error| state.refuse_use(stream, error)))
    }
}

/// The marker that is due on a stream, laid by itself.
struct DueMarker {
    stream: usize,
    lay: Option<super::state::Lay>,
}

impl super::Plan for DueMarker {
    type Output = ();

    fn advance(&mut self, state: &mut State<'_>, outcome: Option<super::Outcome>) -> Step<()> {
        match (outcome, self.lay.take()) {
            (Some(outcome), Some(lay)) => {
                state.commit_marker(lay, outcome);
                state.unpin_stream(self.stream);
                Step::Done(())
            }
            _ => match state.plan_marker(self.stream) {
                Some((lay, action)) => {
                    self.lay = Some(lay);
                    state.pin_stream(self.stream);
                    Step::Do(action)
                }
                None => Step::Done(()),
            },
        }
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Lays the marker that frees or uses on the stream are due, if any.
    pub(super) fn lay_due_marker(&self, stream: usize) -> Result<(), Unusable> {
        self.drive(&mut DueMarker { stream, lay: None })
    }
}
