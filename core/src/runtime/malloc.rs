//! `malloc_async` and its forms.
//!
//! Most calls find one block that the stream may use, need no marker, and are done under one hold of the lock: see
//! [`State::malloc_at_once`]. Only the others become a [`Malloc`] plan, which can take several driver calls.

use super::beside::Beside;
use super::ladder::{Malloc, Patience};
use super::{Lock, Plan, Runtime, State, Step};
use crate::arena::{Link, Slots};
use crate::driver::Driver;
use crate::error::{ArenaFull, MallocError, Point, Unusable};
use crate::facts::Facts;
use crate::id::{AllocId, LabelId, PoolId, StreamId};
use crate::order::{Mark, Order, Points, StreamSlot, Tie};
use crate::plant::{self, Plant};
use crate::pool::{self, PoolSlot};
use crate::reuse::{Ask, Choice};
use crate::trace::{self, Record, Sink, Source};
use crate::units::{Bytes, DevicePtr, Nanos, Seq};

/// No pool and no stream: no arena has such a slot.
pub(super) const NOT_PLAIN: (PoolId, StreamId) = (PoolId::from_raw(u64::MAX), StreamId::from_raw(u64::MAX));

/// What a malloc was called with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) pool: PoolId,
    pub(super) stream: StreamId,
    pub(super) asked: Bytes,
    pub(super) label: LabelId,
}

/// A malloc that nothing speaks against, and the stream that it is on.
pub(super) struct Admitted<'f> {
    pub(super) ask: Ask,
    on: &'f StreamSlot,
}

impl Request {
    /// Checks everything that the malloc names. Changes nothing.
    #[inline(always)]
    pub(super) fn admit<'f>(self, order: &'f Order<'_>, pools: &'f Slots<'_, PoolSlot>) -> Option<Admitted<'f>> {
        let (stream, pool) = (order.find_stream(self.stream).ok()?, pool::find(pools, self.pool).ok()?);
        let (on, of) = (order.stream(stream), pools.get(pool));
        let ask = Ask::new((pool, of), stream, self.asked);
        // What overflows is 0 here, and 0 wraps to the largest number.
        let barred = on.device != of.device || on.capturing || ask.size.wrapping_sub(1) >= of.limit;
        (!barred).then_some(Admitted { ask, on })
    }

    /// Why it is not admitted. Found out apart: the error is large, and every malloc would have room for it on its stack.
    #[cold]
    pub(super) fn why_not(self, order: &Order<'_>, pools: &Slots<'_, PoolSlot>) -> MallocError {
        let Self { stream, pool, asked, .. } = self;
        let found =
            order.find_stream(stream).and_then(|on| Ok((order.stream(on), pools.get(pool::find(pools, pool)?))));
        match found {
            Err(bad) => MallocError::BadId(bad),
            Ok(_) if asked == Bytes::ZERO => MallocError::ZeroSize,
            Ok((on, of)) if on.device != of.device => MallocError::OtherDevice { stream, pool },
            Ok((on, _)) if on.capturing => MallocError::Capturing(stream),
            Ok((_, of)) if asked.round_up(Bytes(of.alignment)).is_none() => MallocError::Overflow { requested: asked },
            Ok((_, of)) => MallocError::AboveLimit { requested: asked, limit: Bytes(of.limit) },
        }
    }
}

impl State<'_> {
    /// The malloc of one block that is usable at once, where nothing else comes first. Otherwise changes nothing.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn malloc_at_once(
        &mut self,
        now: Nanos,
        (pool, stream): (PoolId, StreamId),
        (asked, label): (Bytes, LabelId),
        patience: Patience,
    ) -> Option<DevicePtr> {
        self.set_time(now);
        self.trust().ok()?;
        if self.plain == (pool, stream)
            && let Some(ptr) = self.undo_free((pool, stream), (asked, label))
        {
            return Some(ptr);
        }
        self.malloc_closest(Request { pool, stream, asked, label }, patience)
    }

    /// The malloc of the block that the last call freed, if the stream would get it back as it is: the two undo each other.
    /// The malloc must be admitted, and the stream not be tied to others.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn undo_free(&mut self, (pool, stream): (PoolId, StreamId), (asked, label): (Bytes, LabelId)) -> Option<DevicePtr> {
        let slot = self.freeing.block.slot()?;
        if self.freeing.stream != stream.slot() {
            return None;
        }
        let (on, of) = (self.facts.order.stream_mut(stream.slot()), self.facts.pools.get_mut(pool.slot()));
        let ask = Ask::new((pool.slot(), of), stream.slot(), asked);
        let block = ask.gets_back(&mut self.facts.blocks, slot)?;
        self.freeing.block = Link::NONE;
        self.allocations = self.allocations.wrapping_add(1);
        block.rename(AllocId(self.allocations), label);
        if block.asked() != asked.0 {
            of.ask_again(block.asked(), asked.0);
            block.set_asked(asked.0);
        }
        of.undo_free();
        let (at, freed, seq) = (block.at, on.head, on.tick());
        if self.note_change() {
            // Made here: what is handed on in memory would be written there on every call.
            let request = Request { pool, stream, asked, label };
            self.waited_for = trace::Points::one(Point { stream, seq: freed });
            self.write_malloc(request, seq, slot, Source::SameStream);
        }
        Some(DevicePtr(at))
    }

    /// The malloc of the block of the closest size.
    #[inline(never)]
    fn malloc_closest(&mut self, request: Request, patience: Patience) -> Option<DevicePtr> {
        let Facts { blocks, order, pools, .. } = &mut self.facts;
        let Admitted { ask, on, .. } = request.admit(order, pools)?;
        if patience == Patience::Full && on.wants_marker() {
            return None;
        }
        let (marked, tie) = (on.marked, on.tie());
        if tie == Tie::None
            && let Some(slot) = self.freeing.block.slot()
            && ask.gets_back(blocks, slot).is_some()
            && let Some(ptr) = self.undo_free((request.pool, request.stream), (request.asked, request.label))
        {
            if !marked {
                self.plain = (request.pool, request.stream);
            }
            return Some(ptr);
        }
        self.finish_free();
        let (block, reach) = ask.choose_block(&self.facts)?;
        if self.facts.beside(block, (ask.size, ask.stream), u64::MAX) != Beside::Nothing {
            return None;
        }
        self.note_points(block, ask.size);
        // Where the arena has no slot for what is left over, that is made first: elsewhere.
        let slot = self.facts.take_front(block, ask.size).ok()?;
        let seq = self.facts.order.tick(ask.stream);
        self.plain = NOT_PLAIN;
        Some(self.publish(request, (ask.stream, tie), seq, slot, ask.source(reach)))
    }

    /// Takes what was chosen. All or nothing.
    pub(super) fn take(&mut self, ask: &Ask, choice: Choice) -> Result<usize, ArenaFull> {
        self.note_points(choice.taken.first(), ask.size);
        self.facts.take(choice, ask.size)
    }

    /// Notes, for the log, what so many bytes from a block on wait for.
    #[inline]
    fn note_points(&mut self, first: usize, size: u64) {
        if self.log.is_on() {
            self.waited_for = self.points_from(first, size);
        }
    }

    /// Makes a block in transit the malloc's that stands at `seq`.
    #[inline]
    pub(super) fn publish(
        &mut self,
        request: Request,
        (stream, tie): (usize, Tie),
        seq: Seq,
        slot: usize,
        source: Source,
    ) -> DevicePtr {
        let id = self.next_allocation();
        let Facts { blocks, order, pools, .. } = &mut self.facts;
        let block = blocks.get_mut(slot);
        if block.has_epoch() {
            order.drop_points(&block.points());
        }
        let kept = match tie {
            Tie::None => Points::NONE,
            // What the stream comes after by the legacy stream's rules alone is not behind it yet: its free is no action.
            Tie::Legacy => order.implied_only(stream, &block.points()),
        };
        block.become_live(id, request.asked.0, request.label, kept);
        if plant::on(Plant::FreeOnAllocator) {
            block.set_points(Points::one(Mark { stream, seq }));
        }
        let (at, findable) = (block.at, block.is_findable());
        pools.get_mut(block.pool()).add_used(block.size, request.asked.0, source);
        self.finish(request, (slot, findable), seq, source);
        DevicePtr(at)
    }

    /// Tells of a block that has become live.
    #[inline]
    fn finish(&mut self, request: Request, (slot, findable): (usize, bool), seq: Seq, source: Source) {
        if !findable {
            self.facts.blocks.publish(slot);
        }
        if self.note_change() {
            self.write_malloc(request, seq, slot, source);
        }
    }

    #[inline(never)]
    fn write_malloc(&mut self, request: Request, seq: Seq, slot: usize, source: Source) {
        let block = self.facts.blocks.get(slot);
        let (at, size, id, pool) = (block.at, block.size, block.id(), block.pool());
        let (offset, points) = (Bytes(at.wrapping_sub(self.facts.pool(pool).base)), self.waited_for);
        self.write_frequent(move |_| Record::Malloc {
            pool: request.pool,
            stream: request.stream,
            seq,
            id,
            asked: request.asked,
            given: Bytes(size),
            offset,
            source,
            label: request.label,
            points,
        });
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Allocates `size` bytes for work that is queued on `stream` from now on. The host does not wait for the device.
    ///
    /// The size is rounded up to the device's alignment. The free block of the closest size that the stream may use is
    /// taken; see [`Source`] for the kinds of reuse, and the pool's switches.
    /// Zero bytes are an error here; CANN answers success and no pointer.
    ///
    /// Where one free block is usable: O(1 + s) searches of O(64) steps each, of which most end at once, s being the streams
    /// whose free blocks the pool has; near constant for a block of just the size. Before a block is cut, up to five more such
    /// searches join it with what lies beside it. Driver calls only where nothing free is usable; at most one marker; and,
    /// where a block is to be cut beside free memory that a marker covers, a query of that (with switch 2, and ever less
    /// often where the answer is no).
    ///
    /// # Errors
    /// See [`MallocError`]. After an error blocks, used bytes and handles are as before; what was learnt, waited for
    /// and released on the way stays, and is in the log.
    #[inline]
    pub fn malloc_async(&self, pool: PoolId, size: Bytes, stream: StreamId) -> Result<DevicePtr, MallocError> {
        self.malloc_labelled(pool, size, stream, LabelId::NONE)
    }

    /// As [`malloc_async`](Self::malloc_async); the label travels with the allocation through the log.
    ///
    /// # Errors
    /// As `malloc_async`.
    pub fn malloc_labelled(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        label: LabelId,
    ) -> Result<DevicePtr, MallocError> {
        self.malloc_with(pool, size, stream, label, |error| *error)
    }

    /// As [`malloc_labelled`](Self::malloc_labelled), with an error of the caller's own: a [`MallocError`] is large, and where
    /// stacks are short need not be on each on the way.
    ///
    /// # Errors
    /// What `refuse` makes of it.
    #[inline(always)]
    pub fn malloc_with<E>(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        label: LabelId,
        refuse: impl FnOnce(&MallocError) -> E,
    ) -> Result<DevicePtr, E> {
        let now = self.now();
        match self.malloc_of_one(now, &Request { pool, stream, asked: size, label }) {
            Some(ptr) => Ok(ptr),
            // Made here: what is handed on in memory would be written there on every call.
            None => self.malloc_by_plan(now, &Request { pool, stream, asked: size, label }, refuse),
        }
    }

    /// A malloc of one block that is there. Apart, where stacks are short: what it needs is free again then.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn malloc_of_one(&self, now: Nanos, request: &Request) -> Option<DevicePtr> {
        let Request { pool, stream, asked, label } = *request;
        let of_one =
            |state: &mut State<'_>, now| state.malloc_at_once(now, (pool, stream), (asked, label), Patience::Full);
        self.hold_at(now, of_one).flatten()
    }

    /// A malloc that may need more than one block that is there.
    #[cold]
    #[inline(never)]
    fn malloc_by_plan<E>(
        &self,
        now: Nanos,
        request: &Request,
        refuse: impl FnOnce(&MallocError) -> E,
    ) -> Result<DevicePtr, E> {
        let mut plan = Malloc::new(*request, Patience::Full);
        match self.drive_from(now, &mut plan) {
            Ok(Some(ptr)) => Ok(ptr),
            Ok(None) => Err(refuse(plan.refusal())),
            Err(unusable) => Err(refuse(plan.refused_by(unusable))),
        }
    }

    /// As [`malloc_async`](Self::malloc_async), for a handler that may neither wait for the lock nor call the driver:
    /// succeeds only with memory that is usable at once.
    ///
    /// # Errors
    /// [`Unusable::Busy`]: the lock is taken, or a driver call would be needed; else as `malloc_async`.
    pub fn try_malloc_async(&self, pool: PoolId, size: Bytes, stream: StreamId) -> Result<DevicePtr, MallocError> {
        self.try_malloc_with(pool, size, stream, |error| *error)
    }

    /// As [`try_malloc_async`](Self::try_malloc_async), with an error as of [`malloc_with`](Self::malloc_with).
    ///
    /// # Errors
    /// What `refuse` makes of it.
    #[inline(always)]
    pub fn try_malloc_with<E>(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        refuse: impl FnOnce(&MallocError) -> E,
    ) -> Result<DevicePtr, E> {
        let request = Request { pool, stream, asked: size, label: LabelId::NONE };
        let now = self.now();
        match self.try_malloc_of_one(now, &request) {
            Some(ptr) => Ok(ptr),
            // Where the lock is taken this most likely finds it so, and says it.
            None => self.try_malloc_by_plan(now, &request, refuse),
        }
    }

    /// As [`malloc_of_one`](Self::malloc_of_one), if the lock is free.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn try_malloc_of_one(&self, now: Nanos, request: &Request) -> Option<DevicePtr> {
        let Request { pool, stream, asked, label } = *request;
        let of_one = |state: &mut State<'_>| state.malloc_at_once(now, (pool, stream), (asked, label), Patience::None);
        self.state.try_with(of_one).flatten()
    }

    /// A malloc that may need more than one block that is there, without the driver.
    #[cold]
    #[inline(never)]
    fn try_malloc_by_plan<E>(
        &self,
        now: Nanos,
        request: &Request,
        refuse: impl FnOnce(&MallocError) -> E,
    ) -> Result<DevicePtr, E> {
        let mut plan = Malloc::new(*request, Patience::None);
        let tried = self.state.try_with(|state| {
            state.begin(now)?;
            match plan.advance(state, None) {
                Step::Done(ptr) => Ok(ptr),
                Step::Do(_) | Step::Wait => Err(Unusable::Busy),
            }
        });
        match tried.unwrap_or(Err(Unusable::Busy)) {
            Ok(Some(ptr)) => Ok(ptr),
            Ok(None) => Err(refuse(plan.refusal())),
            Err(unusable) => Err(refuse(plan.refused_by(unusable))),
        }
    }
}
