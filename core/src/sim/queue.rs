//! Streams as queues of operations, and the running of them in any order that is legal.

use super::state::State;
use super::storage::{Arena, Link, SimMarker, SimOp, SimStream};
use super::violation::{Issue, SimArena, SimError, Violation};
use crate::agent::{Claim, Operation};
use crate::driver::{Completion, MarkerSlot, NativeStream, Target};
use crate::policy::StreamKind;

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum OpKind {
    /// Takes time.
    #[default]
    Work = 0,
    /// Reads memory.
    Read = 1,
    /// Writes memory.
    Write = 2,
    /// Reads memory and expects a tag.
    ReadExpect = 3,
    /// Writes memory and leaves a tag.
    WriteTag = 4,
    /// A marker.
    Lay = 5,
    /// Waits for a marker.
    Wait = 6,
    /// Maps a granule in stream order.
    Map = 7,
    /// Unmaps a granule in stream order.
    Unmap = 8,
}

/// An operation that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ran {
    /// The stream, by the handle that it had.
    pub stream: NativeStream,
    /// The operation's number.
    pub issue: Issue,
    /// What it did.
    pub kind: OpKind,
}

/// The state of the first operation of a queue.
enum Head {
    /// There is none, or it may not run.
    Idle,
    /// It can run.
    Ready(SimOp),
    /// Operation `issue` can run when everything up to `until` in place `other` has.
    Behind { issue: u64, other: usize, until: u64 },
}

pub(super) struct Queue<'a> {
    pub(super) streams: &'a mut [SimStream],
    pub(super) markers: &'a mut [SimMarker],
    pub(super) ops: Arena<'a, SimOp>,
    /// The number of the next operation.
    pub(super) next: u64,
    /// Places that were ever in use.
    pub(super) high: usize,
}

/// Whether each of two streams waits for earlier work of the other: one is the legacy default stream, the other blocks.
pub(super) fn tied(one: &SimStream, other: &SimStream) -> bool {
    let blocking = |kind| matches!(kind, StreamKind::Blocking | StreamKind::PerThread);
    one.device == other.device
        && ((one.kind == StreamKind::Legacy && blocking(other.kind))
            || (blocking(one.kind) && other.kind == StreamKind::Legacy))
}

impl<'a> Queue<'a> {
    pub(super) fn new(streams: &'a mut [SimStream], markers: &'a mut [SimMarker], ops: &'a mut [SimOp]) -> Self {
        streams.fill(SimStream::EMPTY);
        markers.fill(SimMarker::EMPTY);
        Self { streams, markers, ops: Arena::new(ops), next: 1, high: 0 }
    }

    pub(super) fn stream(&self, slot: usize) -> Result<&SimStream, SimError> {
        self.streams.get(slot).ok_or(SimError::Corrupt("a stream's place is outside"))
    }

    pub(super) fn stream_mut(&mut self, slot: usize) -> Result<&mut SimStream, SimError> {
        self.streams.get_mut(slot).ok_or(SimError::Corrupt("a stream's place is outside"))
    }

    pub(super) fn native(&self, slot: usize) -> NativeStream {
        NativeStream(self.streams.get(slot).map_or(0, |s| u64::from(s.handle) + 1))
    }

    /// The place behind a handle.
    pub(super) fn place(&self, stream: NativeStream) -> Result<usize, SimError> {
        let handle = stream.0.checked_sub(1).and_then(|handle| usize::try_from(handle).ok());
        let tenant = handle.and_then(|handle| self.streams.get(handle)).and_then(|s| s.tenant.index());
        Ok(tenant.ok_or(Violation::UnknownStream(stream))?)
    }

    pub(super) fn marker(&self, marker: MarkerSlot) -> Result<SimMarker, SimError> {
        self.markers.get(marker.0 as usize).copied().ok_or(SimError::Full(SimArena::Markers))
    }

    /// Appends an operation; its number is the next.
    pub(super) fn push(&mut self, slot: usize, op: SimOp) -> Result<Issue, SimError> {
        let issue = self.next;
        let link = self.ops.take().ok_or(SimError::Full(SimArena::Ops))?;
        *self.ops.at_mut(link)? = SimOp { issue, next: Link::NONE, ..op };
        let stream = self.stream_mut(slot)?;
        let tail = core::mem::replace(&mut stream.tail, link);
        stream.last = issue;
        if stream.head == Link::NONE {
            stream.head = link;
        }
        if tail != Link::NONE {
            self.ops.at_mut(tail)?.next = link;
        }
        self.next += 1;
        Ok(Issue(issue))
    }

    fn pop(&mut self, slot: usize) -> Result<(), SimError> {
        let head = self.stream(slot)?.head;
        let SimOp { issue, next, .. } = *self.ops.at(head)?;
        let stream = self.stream_mut(slot)?;
        stream.head = next;
        if next == Link::NONE {
            stream.tail = Link::NONE;
        }
        stream.done = issue;
        self.ops.give(head)
    }

    fn head(&self, slot: usize) -> Result<Head, SimError> {
        let stream = self.stream(slot)?;
        if stream.head == Link::NONE || stream.paused {
            return Ok(Head::Idle);
        }
        let op = *self.ops.at(stream.head)?;
        let (issue, other, until) = (op.issue, op.slot as usize, op.word);
        if op.kind == OpKind::Wait && self.streams.get(other).is_some_and(|by| by.done < until) {
            return Ok(Head::Behind { issue, other, until });
        }
        let until = issue.saturating_sub(1);
        Ok(match self.tied_before(stream, until)? {
            Some(other) => Head::Behind { issue, other, until },
            None => Head::Ready(op),
        })
    }

    /// A stream whose unfinished work up to `until` comes before this one's first operation, by the legacy rule.
    fn tied_before(&self, stream: &SimStream, until: u64) -> Result<Option<usize>, SimError> {
        if stream.kind == StreamKind::NonBlocking {
            return Ok(None);
        }
        for (other, before) in self.streams.iter().take(self.high).enumerate() {
            if before.head != Link::NONE && tied(stream, before) && self.ops.at(before.head)?.issue <= until {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    fn raise_need(&mut self, slot: usize, until: u64) -> bool {
        match self.streams.get_mut(slot) {
            Some(stream) if stream.need < until => {
                stream.need = until;
                true
            }
            _ => false,
        }
    }

    /// What should run from now on: in every place up to `until`.
    pub(super) fn need_all(&mut self, until: u64) {
        for stream in self.streams.iter_mut().take(self.high) {
            stream.need = until;
        }
    }

    /// The places and operations that a target stands for, one after the other.
    fn goal(&self, what: Target, from: usize) -> Result<Option<(usize, u64)>, SimError> {
        let only = |slot, issue| Ok((from == 0).then_some((slot, issue)));
        match what {
            Target::Stream(stream) => {
                let slot = self.place(stream)?;
                only(slot, self.stream(slot)?.last)
            }
            Target::Marker(marker) => {
                let laid = self.marker(marker)?;
                only(laid.slot as usize, laid.issue)
            }
            Target::Device(device) => {
                let places = self.streams.iter().take(self.high).enumerate().skip(from);
                let mut mine = places.filter(|(_, stream)| stream.device == device.0);
                Ok(mine.next().map(|(slot, stream)| (slot, stream.last)))
            }
        }
    }

    /// Calls `each` with every place and operation that a target stands for.
    fn each_goal(
        &mut self,
        what: Target,
        mut each: impl FnMut(&mut Self, usize, u64) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let mut from = 0;
        while let Some((slot, issue)) = self.goal(what, from)? {
            each(self, slot, issue)?;
            from = slot + 1;
        }
        Ok(())
    }

    pub(super) fn completion(&mut self, what: Target) -> Result<Completion, SimError> {
        let mut completion = Completion::Complete;
        self.each_goal(what, |queue, slot, issue| {
            if queue.streams.get(slot).is_some_and(|stream| stream.done < issue) {
                completion = Completion::Pending;
            }
            Ok(())
        })?;
        Ok(completion)
    }

    /// Sets what should run: what the target stands for, and nothing else.
    pub(super) fn need_only(&mut self, what: Target) -> Result<(), SimError> {
        self.need_all(0);
        self.each_goal(what, |queue, slot, issue| {
            queue.raise_need(slot, issue);
            Ok(())
        })
    }

    /// An operation that can run, at or behind place `start`, among those that should. Raises what should run by what
    /// it stands behind.
    fn choose(&mut self, start: usize) -> Result<Option<(usize, SimOp)>, SimError> {
        loop {
            let mut raised = false;
            for slot in (start..self.high).chain(0..start) {
                let need = self.stream(slot)?.need;
                match self.head(slot)? {
                    Head::Ready(op) if op.issue <= need => return Ok(Some((slot, op))),
                    Head::Behind { issue, other, until } if issue <= need => raised |= self.raise_need(other, until),
                    _ => {}
                }
            }
            if !raised {
                return Ok(None);
            }
        }
    }

    /// The operation with the lowest number that can run.
    pub(super) fn oldest(&self) -> Result<Option<(usize, SimOp)>, SimError> {
        let mut oldest: Option<(usize, SimOp)> = None;
        for slot in 0..self.high {
            if let Head::Ready(op) = self.head(slot)?
                && oldest.is_none_or(|(_, best)| op.issue < best.issue)
            {
                oldest = Some((slot, op));
            }
        }
        Ok(oldest)
    }
}

impl State<'_> {
    pub(super) fn work(&mut self, stream: NativeStream, cost: u64) -> Result<Issue, SimError> {
        let slot = self.arrive(stream)?;
        let (kind, word) = (OpKind::Work, cost);
        self.queue.push(slot, SimOp { kind, word, ..SimOp::EMPTY })
    }

    pub(super) fn lay(&mut self, marker: MarkerSlot, stream: NativeStream) -> Result<Issue, SimError> {
        self.queue.marker(marker)?;
        let slot = self.arrive(stream)?;
        self.order.lay(marker.0 as usize, slot)?;
        let (kind, word) = (OpKind::Lay, u64::from(marker.0));
        let issue = self.queue.push(slot, SimOp { kind, word, ..SimOp::EMPTY })?;
        if let Some(laid) = self.queue.markers.get_mut(marker.0 as usize) {
            (laid.issue, laid.slot) = (issue.0, slot as u32);
        }
        Ok(issue)
    }

    pub(super) fn wait(&mut self, stream: NativeStream, marker: MarkerSlot) -> Result<Issue, SimError> {
        let laid = self.queue.marker(marker)?;
        let slot = self.arrive(stream)?;
        if laid.issue != 0 {
            self.order.wait(slot, marker.0 as usize, laid.slot as usize, laid.issue)?;
        }
        let (kind, word) = (OpKind::Wait, laid.issue);
        self.queue.push(slot, SimOp { kind, word, slot: laid.slot, ..SimOp::EMPTY })
    }

    /// Runs one operation among those that should run.
    pub(super) fn run_one(&mut self) -> Result<Option<Ran>, SimError> {
        let start = self.rng.below(self.queue.high);
        let Some((slot, op)) = self.queue.choose(start)? else {
            return Ok(None);
        };
        self.perform(slot, op).map(Some)
    }

    /// Runs everything that should and can.
    pub(super) fn run_needed(&mut self) -> Result<u64, SimError> {
        let mut count = 0;
        while self.run_one()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    pub(super) fn perform(&mut self, slot: usize, op: SimOp) -> Result<Ran, SimError> {
        self.queue.pop(slot)?;
        for word in [slot as u64, op.issue, op.at, op.bytes, op.word] {
            self.fold(word);
        }
        let issue = Issue(op.issue);
        let (stream, kind) = (self.queue.native(slot), op.kind);
        let cost = if kind == OpKind::Work { op.word } else { 1 + op.bytes.div_ceil(1024) };
        self.now = self.now.saturating_add(cost);
        match kind {
            OpKind::Read | OpKind::Write | OpKind::ReadExpect | OpKind::WriteTag => self.finish_access(slot, op)?,
            OpKind::Map => self.execute(op, Operation::Malloc(Claim::Fresh))?,
            OpKind::Unmap => self.execute(op, Operation::Free)?,
            OpKind::Work | OpKind::Lay | OpKind::Wait => {}
        }
        Ok(Ran { stream, issue, kind })
    }

    /// The host learns that what a target stands for is complete.
    pub(super) fn learn(&mut self, what: Target) -> Result<(), SimError> {
        let order = &mut self.order;
        if let Target::Marker(marker) = what {
            let laid = self.queue.marker(marker)?;
            return match laid.issue {
                0 => Ok(()),
                issue => order.learn_marker(marker.0 as usize, laid.slot as usize, issue),
            };
        }
        self.queue.each_goal(what, |_, slot, issue| order.learn_stream(slot, issue))
    }

    pub(super) fn query(&mut self, what: Target) -> Result<Completion, SimError> {
        let completion = self.queue.completion(what)?;
        if completion == Completion::Complete {
            self.learn(what)?;
        }
        self.fold(completion as u64);
        Ok(completion)
    }

    pub(super) fn synchronise(&mut self, what: Target) -> Result<(), SimError> {
        self.queue.need_only(what)?;
        self.run_needed()?;
        match self.query(what)? {
            Completion::Complete => Ok(()),
            Completion::Pending => Err(SimError::Deadlock),
        }
    }
}
