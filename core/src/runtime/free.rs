//! `free_async` and `record_use`.

use super::state::Freed;
use super::{Lock, Runtime, State, Step};
use crate::block::{self, Block};
use crate::driver::Driver;
use crate::error::{BadPointer, FreeError, Unusable, UseError};
use crate::id::{LabelId, PoolId, StreamId};
use crate::order::{Mark, UNTIL_FREE};
use crate::policy::UseUntil;
use crate::trace::{Record, Sink, Verb};
use crate::units::{Bytes, DevicePtr};

impl State<'_> {
    /// The live block that starts at `ptr`.
    pub(super) fn find_live(&self, ptr: DevicePtr) -> Result<usize, BadPointer> {
        match self.facts.blocks.find(ptr.0) {
            Some(slot) if self.facts.blocks.get(slot).state == block::State::Live => Ok(slot),
            _ => Err(self.explain_pointer(ptr)),
        }
    }

    /// Why a pointer is not the start of a live block. O(blocks of its pool).
    fn explain_pointer(&self, ptr: DevicePtr) -> BadPointer {
        let Some((slot, pool)) = self.facts.pools.iter().find(|(_, p)| p.holds(ptr.0)) else {
            return BadPointer::Unknown(ptr);
        };
        let pool_id = self.facts.pool_id(slot);
        let Some(holding) = self.facts.blocks.holding(pool.first, ptr.0) else {
            return BadPointer::Unknown(ptr);
        };
        let block = self.facts.blocks.get(holding);
        match block.state {
            block::State::Live => {
                BadPointer::Interior { ptr, start: DevicePtr(block.at), size: Bytes(block.size), id: block.id }
            }
            block::State::Free => {
                let own = block.at == ptr.0 && block.id.0 != 0;
                let recent = self.recent_free(ptr.0);
                let covering = block.points.marks().last();
                let mark = if own { covering } else { recent.map(|freed| freed.mark).or(covering) };
                let id = if own { Some(block.id) } else { recent.map(|freed| freed.id) };
                BadPointer::AlreadyFree { ptr, freed_at: mark.map(|mark| self.facts.order.point(mark)), id }
            }
            _ => BadPointer::Unmapped { ptr, pool: pool_id },
        }
    }

    fn free(&mut self, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        let slot = self.facts.order.find_stream(stream)?;
        if self.facts.order.stream(slot).capturing {
            return Err(FreeError::Capturing(stream));
        }
        let found = self.find_live(ptr)?;
        let Block { pool, size, asked, id, points, at, .. } = *self.facts.blocks.get(found);
        let pool = pool as usize;
        let seq = self.facts.order.tick_open(slot);
        let closed = self.facts.order.close_points(points, Mark { stream: slot, seq });
        let freed = self.next_free(Freed { at, id, mark: Mark { stream: slot, seq } });
        self.facts.blocks.withdraw(found);
        // The points were closed for this block alone: they are moved in, not copied.
        self.facts.describe(found, |b| {
            *b = Block { points: closed, freed, label: LabelId::NONE, asked: 0, ..*b };
        });
        let slot = self.facts.pool_mut(pool);
        slot.take_used(size, asked);
        let (base, generation) = (slot.base, slot.generation);
        self.record_frequent(move |_| Record::Free {
            pool: PoolId::new(pool, generation),
            stream,
            seq,
            id,
            offset: Bytes(at.wrapping_sub(base)),
            given: Bytes(size),
        });
        self.facts.settle_free(found);
        Ok(())
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
        block.points.add_use(mark);
        let (id, pool) = (block.id, block.pool as usize);
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
        self.enter(|state| state.free(ptr, stream).map_err(|error| state.refuse_free(Verb::Free, None, stream, error)))
    }

    /// As [`free_async`](Self::free_async), and refuses a block of any other pool than `pool`.
    ///
    /// # Errors
    /// [`BadPointer::OtherPool`]; else as `free_async`.
    pub fn free_to(&self, pool: PoolId, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        self.enter(|state| {
            let check = state.facts.find_pool(pool).map_err(FreeError::from).and_then(|slot| {
                let found = state.find_live(ptr)?;
                let owner = state.facts.blocks.get(found).pool as usize;
                let mine = owner == slot;
                let owner = state.facts.pool_id(owner);
                if mine { Ok(()) } else { Err(BadPointer::OtherPool { ptr, pool: owner }.into()) }
            });
            check
                .and_then(|()| state.free(ptr, stream))
                .map_err(|error| state.refuse_free(Verb::Free, Some(pool), stream, error))
        })
    }

    /// As [`free_async`](Self::free_async), for a handler that may not wait for the lock.
    ///
    /// # Errors
    /// [`Unusable::Busy`]: the lock is taken; else as `free_async`.
    pub fn try_free_async(&self, ptr: DevicePtr, stream: StreamId) -> Result<(), FreeError> {
        let now = self.driver.now();
        let freed = self.state.try_with(|state| {
            state.begin(now)?;
            state.free(ptr, stream).map_err(|error| state.refuse_free(Verb::Free, None, stream, error))
        });
        freed.unwrap_or(Err(Unusable::Busy.into()))
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
