//! Maps and unmaps, at once or in the order of a stream, and what may happen only after them.
//!
//! One that is made in the order of a stream counts as a write to the whole granule, as of its place in that order.
//! The granule and the address each remember the last one, so that none is ever forgotten for want of room.

use super::pages::Pages;
use super::queue::OpKind;
use super::state::State;
use super::storage::{Link, SimGranule, SimOp, SimPiece, Stamp};
use super::violation::{Issue, SimError, Violation};
use crate::agent::{self, Done, Granules, Message, Operation, Placement, Refusal};
use crate::driver::{Completion, DriverCall, GranuleHandle, NativeStream};
use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr};

/// How many places of the table each unmap in the order of a stream tidies: what is needed no more is gone after an
/// eighth as many unmaps as the table has places.
const TIDIED: usize = 8;

impl State<'_> {
    /// Maps a granule. In the order of a stream, that stream must come after the last unmap of the granule and of the
    /// address; at once, the host must know both to be complete.
    pub(super) fn map(
        &mut self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), SimError> {
        self.known(stream)?;
        let Some(stream) = stream.filter(|_| self.memory.maps_in_stream_order(device)) else {
            let link = self.mappable(device, at, granule, None)?;
            self.memory.map(device, at, link, Stamp::NONE, &self.order)?;
            return self.memory.pages.arrive(at.0, link);
        };
        self.attempt(stream, |state, touch| {
            let slot = touch.slot as usize;
            let link = state.mappable(device, at, granule, Some(slot))?;
            state.memory.map(device, at, link, stamp(touch), &state.order)?;
            state.queue.push(slot, SimOp { kind: OpKind::Map, at: at.0, granule: link, ..SimOp::EMPTY })
        })?;
        self.queued()
    }

    /// The granule that may be mapped at `at` by the next operation in place `after`, or at once.
    fn mappable(
        &mut self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        after: Option<usize>,
    ) -> Result<Link, SimError> {
        let link = self.memory.mappable(device, at, granule)?;
        let SimGranule { was, last, .. } = *self.memory.granules.at(link)?;
        self.after_unmap(DriverCall::Map, at.0, self.memory.pages.last(at.0), after)?;
        self.after_unmap(DriverCall::Map, was, last, after)?;
        Ok(link)
    }

    /// Checks that what comes next in place `after`, or what the host does now, comes after an unmap.
    fn after_unmap(&self, call: DriverCall, at: u64, unmap: Stamp, after: Option<usize>) -> Result<(), SimError> {
        if self.order.follows(after, unmap) {
            return Ok(());
        }
        let (at, unmapping) = (DevicePtr(at), self.queue.native(unmap.slot as usize));
        let (unmap, by) = (Issue(unmap.issue), after.map(|slot| self.queue.native(slot)));
        Err(Violation::BeforeUnmap { call, at, unmap, unmapping, by }.into())
    }

    /// Unmaps a granule. In the order of a stream, that stream must come after everything that uses the granule; at
    /// once, the host must know all of it to be complete.
    pub(super) fn unmap(
        &mut self,
        device: DeviceId,
        at: DevicePtr,
        stream: Option<NativeStream>,
    ) -> Result<(), SimError> {
        self.known(stream)?;
        let Some(stream) = stream.filter(|_| self.memory.maps_in_stream_order(device)) else {
            return self.unmap_now(device, at);
        };
        self.attempt(stream, |state, touch| {
            let link = state.memory.mapped_at(device, at)?;
            let touch = state.memory.whole(device, touch)?;
            state.check(link, touch, at.0)?;
            // Whoever comes after the unmap comes after all of it.
            state.forget(link)?;
            state.memory.unmap(device, link, stamp(touch))?;
            state.memory.pages.tidy(TIDIED, &state.order);
            let op = SimOp { kind: OpKind::Unmap, at: at.0, granule: link, ..SimOp::EMPTY };
            state.queue.push(touch.slot as usize, op)
        })?;
        self.queued()
    }

    fn unmap_now(&mut self, device: DeviceId, at: DevicePtr) -> Result<(), SimError> {
        let link = self.memory.mapped_at(device, at)?;
        let by = self.unknown(link)?;
        if by.is_some() || self.memory.granules.at(link)?.pending != 0 {
            let granule = self.memory.handle(link)?;
            let done = |piece: SimPiece| self.queue.stream(piece.slot as usize).is_ok_and(|s| s.done >= piece.word);
            let state = if by.is_some_and(done) { Completion::Complete } else { Completion::Pending };
            let by = by.map(|piece| self.touch(piece));
            return Err(Violation::UnmapInUse { at, granule, by, state }.into());
        }
        self.forget(link)?;
        self.memory.unmap(device, link, Stamp::NONE)?;
        self.memory.pages.leave(at.0, link)
    }

    /// Destroys a granule that is not mapped, on the device either, as far as the host knows.
    pub(super) fn destroy(&mut self, device: DeviceId, granule: GranuleHandle) -> Result<(), SimError> {
        let link = self.memory.destroyable(device, granule)?;
        let SimGranule { was, last, .. } = *self.memory.granules.at(link)?;
        self.after_unmap(DriverCall::Destroy, was, last, None)?;
        self.forget(link)?;
        self.forget_tags(link)?;
        self.memory.destroy(device, link)
    }

    /// Releases a range in which nothing is mapped, on the device either, as far as the host knows.
    pub(super) fn release(&mut self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), SimError> {
        let index = self.memory.releasable(device, base, bytes)?;
        if self.memory.maps_in_stream_order(device)
            && let Some(page) = self.memory.pages.leaving(base.0, bytes.0, &self.order)
        {
            self.after_unmap(DriverCall::Release, page.at, page.last, None)?;
        }
        self.memory.release(index);
        Ok(())
    }
}

impl State<'_> {
    /// The device executes a map or an unmap, of which the pool's agent is told by a message.
    pub(super) fn execute(&mut self, op: SimOp, operation: Operation) -> Result<(), SimError> {
        let device = DeviceId(self.memory.granules.at(op.granule)?.device);
        let size = self.memory.properties(device)?.granularity;
        let message = Message { size, va: DevicePtr(op.at), pool: 0, device, operation };
        let mut named = Named { pages: &mut self.memory.pages, granule: op.granule, size };
        match agent::execute(&message.to_bytes(), device, &mut named) {
            Ok(Done::Done) => Ok(()),
            Ok(Done::Retry) | Err(_) => Err(SimError::Corrupt("the agent refuses what was planned")),
        }
    }
}

/// What the device has mapped, with the granule that a call named in the agent's place. Nothing is kept: what was unmapped
/// is no longer there.
struct Named<'p, 'a> {
    pages: &'p mut Pages<'a>,
    granule: Link,
    size: Bytes,
}

impl Granules for Named<'_, '_> {
    fn size(&self) -> Bytes {
        self.size
    }

    fn placement(&self, _: u64, at: DevicePtr) -> Placement {
        match self.pages.actual(at.0) {
            Link::NONE => Placement::Absent,
            there if there == self.granule => Placement::Live,
            _ => Placement::Foreign,
        }
    }

    fn spare(&self) -> usize {
        1
    }

    fn attach(&mut self, _: u64, at: DevicePtr) -> Result<(), Refusal> {
        self.pages.arrive(at.0, self.granule).map_err(|_| Refusal::Corrupt)
    }

    /// Nothing is ever kept.
    fn revive(&mut self, _: u64, _: DevicePtr) {}

    fn keep(&mut self, _: u64, at: DevicePtr) -> Result<(), Refusal> {
        self.pages.leave(at.0, self.granule).map_err(|_| Refusal::Corrupt)
    }
}

/// The next operation, which is in view.
fn stamp(touch: SimPiece) -> Stamp {
    Stamp { issue: touch.word, slot: touch.slot }
}
