//! Every access checked against earlier ones to the same physical bytes, and the tags that stand in them.

use super::device::Span;
use super::queue::OpKind;
use super::state::State;
use super::storage::{Arena, Link, SimGranule, SimOp, SimPiece, Stamp};
use super::violation::{Access, Issue, SimError, Touch, Violation};
use crate::driver::NativeStream;
use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr};

/// What becomes of a piece in a list.
enum Fate {
    Keep,
    Drop,
    /// It becomes two, where there is room for the second; else it stays as it was.
    Split(SimPiece, SimPiece),
}

/// Walks a list, lets `judge` decide about each piece, and returns the new start.
fn sift(
    pieces: &mut Arena<'_, SimPiece>,
    mut head: Link,
    mut judge: impl FnMut(&mut SimPiece) -> Fate,
) -> Result<Link, SimError> {
    let mut last = Link::NONE;
    let mut link = head;
    while link != Link::NONE {
        let piece = pieces.at_mut(link)?;
        let next = piece.next;
        match judge(piece) {
            Fate::Keep => last = link,
            Fate::Drop => {
                if last == Link::NONE {
                    head = next;
                } else {
                    pieces.at_mut(last)?.next = next;
                }
                pieces.give(link)?;
            }
            Fate::Split(left, right) => {
                last = link;
                if let Some(extra) = pieces.take() {
                    *pieces.at_mut(link)? = SimPiece { next: extra, ..left };
                    *pieces.at_mut(extra)? = SimPiece { next, ..right };
                    last = extra;
                }
            }
        }
        link = next;
    }
    Ok(head)
}

/// Looks for a piece.
fn find(
    pieces: &Arena<'_, SimPiece>,
    head: Link,
    mut wanted: impl FnMut(&SimPiece) -> bool,
) -> Result<Option<SimPiece>, SimError> {
    let mut link = head;
    while link != Link::NONE {
        let piece = pieces.at(link)?;
        if wanted(piece) {
            return Ok(Some(*piece));
        }
        link = piece.next;
    }
    Ok(None)
}

fn overlap(one: &SimPiece, other: &SimPiece) -> bool {
    one.from < other.to && other.from < one.to
}

/// What is left of an access that comes before one which covers part of it: nothing that has an order to lose.
fn uncovered(piece: &mut SimPiece, span: &SimPiece) -> Fate {
    let (left, right) = (piece.from < span.from, piece.to > span.to);
    match (left, right) {
        (false, false) => return Fate::Drop,
        (true, true) => {
            let (left, right) = (SimPiece { to: span.from, ..*piece }, SimPiece { from: span.to, ..*piece });
            return Fate::Split(left, right);
        }
        (true, false) => piece.to = span.from,
        (false, true) => piece.from = span.to,
    }
    Fate::Keep
}

impl State<'_> {
    /// Does something with a stream's next operation in view. Where it is refused, the stream is as before.
    pub(super) fn attempt<T>(
        &mut self,
        stream: NativeStream,
        act: impl FnOnce(&mut Self, SimPiece) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        let slot = self.approach(stream)?;
        let saved = self.queue.streams.iter_mut().map(|stream| &mut stream.saved);
        self.order.save(slot, saved)?;
        self.tie(slot)?;
        let (word, slot32) = (self.queue.next, slot as u32);
        let touch = SimPiece { word, slot: slot32, write: true, ..SimPiece::EMPTY };
        let result = act(self, touch);
        if result.is_err() {
            let saved = self.queue.streams.iter().map(|stream| &stream.saved);
            self.order.restore(slot, saved)?;
        }
        result
    }

    /// Queues an access after checking it against everything that is not ordered before it.
    pub(super) fn access(&mut self, stream: NativeStream, op: SimOp) -> Result<Issue, SimError> {
        let write = matches!(op.kind, OpKind::Write | OpKind::WriteTag);
        self.attempt(stream, |state, touch| {
            let touch = SimPiece { write, ..touch };
            state.each_part(touch, op, |state, link, touch, at| state.check(link, touch, at))?;
            state.each_part(touch, op, |state, link, touch, _| {
                state.memory.granules.at_mut(link)?.pending += 1;
                state.remember(link, touch)
            })?;
            state.queue.push(touch.slot as usize, op)
        })
    }

    /// Calls `act` with every granule that an access touches, the part of it, and where it is mapped.
    fn each_part(
        &mut self,
        touch: SimPiece,
        op: SimOp,
        mut act: impl FnMut(&mut Self, Link, SimPiece, u64) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let (stream, issue) = (self.queue.native(touch.slot as usize), Issue(touch.word));
        let unmapped = |at| Violation::AccessUnmapped { stream, issue, at: DevicePtr(at) };
        for Span { page, from, to } in self.memory.spans(op.at, op.bytes).ok_or(unmapped(op.at))? {
            let link = self.memory.pages.planned(page);
            if link == Link::NONE {
                return Err(unmapped(page.max(op.at)).into());
            }
            act(self, link, SimPiece { from, to, ..touch }, page)?;
        }
        Ok(())
    }

    /// Compares an access, or the unmap of a whole granule, with what is before it and is not ordered with it.
    pub(super) fn check(&self, link: Link, touch: SimPiece, page: u64) -> Result<(), SimError> {
        let SimGranule { history, last, device, .. } = *self.memory.granules.at(link)?;
        let after = touch.slot as usize;
        let clash = if self.order.follows(Some(after), last) {
            find(&self.pieces, history, |piece| {
                overlap(piece, &touch)
                    && (piece.write || touch.write)
                    && !self.order.before(piece.slot as usize, piece.word, after)
            })?
        } else {
            Some(self.mapping(DeviceId(device), last)?)
        };
        let Some(piece) = clash else {
            return Ok(());
        };
        let (granule, at) = (self.memory.handle(link)?, DevicePtr(page));
        let (earlier, later) = (self.touch(piece), self.touch(touch));
        Err(Violation::Race { granule, at, earlier, later }.into())
    }

    /// A map in the order of a stream, as the write that it counts as.
    fn mapping(&self, device: DeviceId, last: Stamp) -> Result<SimPiece, SimError> {
        self.memory.whole(device, SimPiece { word: last.issue, slot: last.slot, write: true, ..SimPiece::EMPTY })
    }

    /// Something that uses a granule and that the host does not know to be complete.
    pub(super) fn unknown(&self, link: Link) -> Result<Option<SimPiece>, SimError> {
        let SimGranule { history, last, device, .. } = *self.memory.granules.at(link)?;
        if !self.order.follows(None, last) {
            return self.mapping(DeviceId(device), last).map(Some);
        }
        find(&self.pieces, history, |piece| !self.order.host_knows(piece.slot as usize, piece.word))
    }

    /// Drops a granule's history: everything later comes after it.
    pub(super) fn forget(&mut self, link: Link) -> Result<(), SimError> {
        let history = core::mem::replace(&mut self.memory.granules.at_mut(link)?.history, Link::NONE);
        sift(&mut self.pieces, history, |_| Fate::Drop).map(|_| ())
    }

    /// Drops a granule's content.
    pub(super) fn forget_tags(&mut self, link: Link) -> Result<(), SimError> {
        let tags = core::mem::replace(&mut self.memory.granules.at_mut(link)?.tags, Link::NONE);
        sift(&mut self.pieces, tags, |_| Fate::Drop).map(|_| ())
    }

    pub(super) fn touch(&self, piece: SimPiece) -> Touch {
        Touch {
            stream: self.queue.native(piece.slot as usize),
            issue: Issue(piece.word),
            access: if piece.write { Access::Write } else { Access::Read },
            from: Bytes(u64::from(piece.from)),
            to: Bytes(u64::from(piece.to)),
        }
    }

    /// Adds an access to a granule's history. What it covers and comes after is dropped: whoever is not ordered with
    /// that is not ordered with this one either, unless a read would hide a write. So is what the host knows to be
    /// complete: everything later comes after it.
    fn remember(&mut self, link: Link, touch: SimPiece) -> Result<(), SimError> {
        let order = &self.order;
        let granule = self.memory.granules.at_mut(link)?;
        let head = sift(&mut self.pieces, granule.history, |piece| {
            let slot = piece.slot as usize;
            if order.host_knows(slot, piece.word) {
                return Fate::Drop;
            }
            let covers = touch.write || !piece.write;
            if covers && overlap(piece, &touch) && order.before(slot, piece.word, touch.slot as usize) {
                return uncovered(piece, &touch);
            }
            Fate::Keep
        })?;
        granule.history = head;
        if self.pieces.is_full() {
            self.sweep()?;
        }
        let Some(new) = self.pieces.take() else {
            self.unchecked += 1;
            return Ok(());
        };
        let granule = self.memory.granules.at_mut(link)?;
        let next = core::mem::replace(&mut granule.history, new);
        *self.pieces.at_mut(new)? = SimPiece { next, ..touch };
        Ok(())
    }

    /// Drops everywhere what the host knows to be complete, if it has learnt anything since the last time.
    fn sweep(&mut self) -> Result<(), SimError> {
        let version = self.order.version();
        if core::mem::replace(&mut self.swept, version) == version {
            return Ok(());
        }
        for index in 0..self.memory.granules.touched() {
            let granule = self.memory.granules.at_mut(Link::to(index))?;
            let order = &self.order;
            granule.history = sift(&mut self.pieces, granule.history, |piece| {
                if order.host_knows(piece.slot as usize, piece.word) { Fate::Drop } else { Fate::Keep }
            })?;
        }
        Ok(())
    }

    /// An access runs: its addresses are translated now, and tags are left or compared.
    pub(super) fn finish_access(&mut self, slot: usize, op: SimOp) -> Result<(), SimError> {
        let Some(spans) = self.memory.spans(op.at, op.bytes) else {
            return Ok(());
        };
        let (stream, issue) = (self.queue.native(slot), Issue(op.issue));
        let mut wrong = None;
        for span in spans {
            let link = self.memory.pages.actual(span.page);
            let at = DevicePtr(span.page.max(op.at));
            let Ok(granule) = self.memory.granules.at_mut(link) else {
                self.note(Violation::AccessUnmapped { stream, issue, at });
                continue;
            };
            granule.pending = granule.pending.saturating_sub(1);
            match op.kind {
                OpKind::Write => self.overwrite(link, span, None)?,
                OpKind::WriteTag => self.overwrite(link, span, Some(op.word))?,
                OpKind::ReadExpect => {
                    let (expected, found) = (op.word, self.tag(link, span)?);
                    if found != Some(expected) && wrong.is_none() && !self.excused(link, found)? {
                        wrong = Some(Violation::WrongContent { stream, issue, at, expected, found });
                    }
                }
                _ => {}
            }
        }
        if let Some(violation) = wrong {
            self.note(violation);
        }
        Ok(())
    }

    /// Whether a tag may be missing only because it had no room.
    fn excused(&mut self, link: Link, found: Option<u64>) -> Result<bool, SimError> {
        let excused = found.is_none() && self.memory.granules.at(link)?.lossy;
        self.unchecked += u64::from(excused);
        Ok(excused)
    }

    /// Drops the tags that overlap a write and leaves its own.
    fn overwrite(&mut self, link: Link, span: Span, tag: Option<u64>) -> Result<(), SimError> {
        let (word, from, to) = (tag.unwrap_or(0), span.from, span.to);
        let new = SimPiece { word, from, to, ..SimPiece::EMPTY };
        let granule = self.memory.granules.at_mut(link)?;
        let gone = |piece: &mut SimPiece| if overlap(piece, &new) { Fate::Drop } else { Fate::Keep };
        granule.tags = sift(&mut self.pieces, granule.tags, gone)?;
        if tag.is_none() {
            return Ok(());
        }
        let Some(place) = self.pieces.take() else {
            granule.lossy = true;
            return Ok(());
        };
        let next = core::mem::replace(&mut granule.tags, place);
        *self.pieces.at_mut(place)? = SimPiece { next, ..new };
        Ok(())
    }

    /// The tag that stands for exactly this part.
    fn tag(&self, link: Link, span: Span) -> Result<Option<u64>, SimError> {
        let tags = self.memory.granules.at(link)?.tags;
        let exact = find(&self.pieces, tags, |piece| (piece.from, piece.to) == (span.from, span.to))?;
        Ok(exact.map(|piece| piece.word))
    }
}
