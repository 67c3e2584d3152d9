//! Markers: driver events of weir's own, laid behind frees and uses so that completion can be asked about and waited
//! for later. They come from a fixed pool; where it runs out, older ones make room for later ones of the same stream.
//!
//! The markers of a stream that are laid or on their way are a chain in the order in which they stand there, so that its
//! oldest and its latest are at hand; unused ones are in a chain of their own.

use super::{Level, Mark, Order, StreamSlot, Table, Tenancy};
use crate::arena::{Empty, Link};
use crate::id::DeviceId;
use crate::plant::{self, Plant};
use crate::units::Seq;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Unused,
    /// Its driver call is on the way.
    InFlight,
    Laid,
}

/// One marker.
#[derive(Clone, Copy, Debug)]
pub struct MarkerState {
    phase: Phase,
    /// Calls in flight that wait on it or query it.
    pins: u32,
    stream: u32,
    seq: Seq,
    /// Neighbours in the stream's chain: the one before, and the one behind or, of an unused slot, the next unused one.
    prev: Link,
    next: Link,
    /// How many waits there were when it was taken.
    waits: u64,
}

impl Empty for MarkerState {
    const EMPTY: Self =
        Self { phase: Phase::Unused, pins: 0, stream: 0, seq: Seq::ZERO, prev: Link::NONE, next: Link::NONE, waits: 0 };
}

/// What can tell whether a point is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoveredBy {
    /// This marker, which stands at `seq`.
    Marker {
        /// Its slot.
        slot: usize,
        /// Where it stands.
        seq: Seq,
    },
    /// No marker; the whole stream, up to its head now.
    Stream {
        /// Its head.
        head: Seq,
    },
    /// Nothing that may be asked.
    Nothing,
}

impl Order<'_> {
    /// Whether frees and uses on a device's streams want markers behind them from now on.
    pub(crate) fn mind_markers(&mut self, device: DeviceId, marked: bool) {
        for (_, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.device == device) {
            stream.marked = marked;
        }
    }

    /// A new position on the stream that wants a marker behind it.
    #[inline]
    pub(crate) fn tick_open(&mut self, stream: usize) -> Seq {
        self.streams.get_mut(stream).tick_open()
    }

    /// A slot for a marker behind everything on the stream so far; `None` where all are in use by calls in flight.
    /// O(streams), as [`write_action`](Self::write_action).
    pub(crate) fn begin_lay(&mut self, stream: usize) -> Option<(usize, Seq)> {
        let slot = self.marker_slot_for(stream)?;
        let seq = self.tick(stream);
        self.chain_marker(slot, stream, seq);
        self.write_action(Mark { stream, seq }, Table::Markers, slot);
        let owner = self.streams.get_mut(stream);
        owner.shared = owner.shared.max(seq);
        Some((slot, seq))
    }

    /// An unused slot, else the oldest of the same stream, else the oldest of the stream that has most (of several that
    /// have as many, the last by slot). O(1) while there are unused slots, else O(streams + markers in flight or pinned).
    fn marker_slot_for(&mut self, stream: usize) -> Option<usize> {
        let markers = &self.markers;
        if let Some(slot) = self.spare_markers.take(markers.len(), |slot| markers.get(slot).next) {
            return Some(slot);
        }
        let slot = self.oldest_marker(stream).or_else(|| {
            let (busiest, _) = self.streams.iter().max_by_key(|(_, s)| s.markers)?;
            self.oldest_marker(busiest)
        })?;
        self.unchain_marker(slot);
        Some(slot)
    }

    fn oldest_marker(&self, stream: usize) -> Option<usize> {
        let mut chain = self.chain_from(self.stream(stream).first_marker, |marker| marker.next);
        chain.find(|(_, m)| m.phase == Phase::Laid && m.pins == 0).map(|(slot, _)| slot)
    }

    /// Some marker and those that come after it by `next`.
    fn chain_from(
        &self,
        first: Link,
        next: impl Fn(&MarkerState) -> Link,
    ) -> impl Iterator<Item = (usize, &MarkerState)> {
        let mut at = first;
        // A bound, so that a damaged chain ends too.
        (0..self.markers.len()).map_while(move |_| {
            let slot = at.slot()?;
            let marker = self.markers.get(slot);
            at = next(marker);
            Some((slot, marker))
        })
    }

    /// Puts a marker that is on its way behind all others of its stream: none stands at a later position.
    fn chain_marker(&mut self, slot: usize, stream: usize, seq: Seq) {
        let owner = self.streams.get_mut(stream);
        owner.markers = owner.markers.wrapping_add(1);
        let prev = core::mem::replace(&mut owner.last_marker, Link::to(slot));
        match prev.slot() {
            Some(prev) => self.markers.get_mut(prev).next = Link::to(slot),
            None => owner.first_marker = Link::to(slot),
        }
        let (phase, stream, waits) = (Phase::InFlight, stream as u32, self.waits);
        *self.markers.get_mut(slot) = MarkerState { phase, stream, seq, prev, waits, ..MarkerState::EMPTY };
    }

    /// Takes a marker out of its stream's chain.
    fn unchain_marker(&mut self, slot: usize) {
        let MarkerState { stream, prev, next, .. } = *self.markers.get(slot);
        let owner = self.streams.get_mut(stream as usize);
        owner.markers = owner.markers.wrapping_sub(1);
        match prev.slot() {
            Some(prev) => self.markers.get_mut(prev).next = next,
            None => owner.first_marker = next,
        }
        match next.slot() {
            Some(next) => self.markers.get_mut(next).prev = prev,
            None => owner.last_marker = prev,
        }
    }

    /// The marker says nothing any more. Its slot is free, or will be when nobody waits on it or asks about it.
    fn retire_marker(&mut self, slot: usize) {
        self.unchain_marker(slot);
        let marker = self.markers.get_mut(slot);
        marker.phase = Phase::Unused;
        if marker.pins == 0 {
            self.give_marker(slot);
        }
    }

    fn give_marker(&mut self, slot: usize) {
        *self.markers.get_mut(slot) = MarkerState { next: self.spare_markers.give(slot), ..MarkerState::EMPTY };
    }

    pub(crate) fn end_lay(&mut self, slot: usize, accepted: bool) {
        let marker = self.markers.get_mut(slot);
        marker.phase = Phase::Laid;
        let (stream, seq, waits) = (marker.stream as usize, marker.seq, marker.waits);
        let owner = self.streams.get_mut(stream);
        if accepted && owner.open <= seq {
            owner.open = Seq::ZERO;
        }
        if accepted {
            owner.caught_up = waits;
        }
        let complete = owner.known >= seq;
        if accepted {
            self.keep_implied(stream, Table::Markers, slot);
        }
        if complete || !accepted {
            self.retire_marker(slot);
        }
    }

    /// Whether a marker that is laid covers the position, or it is known to be complete.
    #[inline(never)]
    pub(crate) fn is_marked_or_settled(&self, mark: Mark) -> bool {
        matches!(self.covered_by(mark), CoveredBy::Marker { .. }) || self.settled(mark, Level::Known)
    }

    /// What can tell whether `mark` is complete: the earliest marker behind it, else the stream as a whole.
    /// O(markers of the stream), near constant where the mark is among its oldest or behind its latest marker.
    pub(crate) fn covered_by(&self, mark: Mark) -> CoveredBy {
        let stream = self.stream(mark.stream);
        // Where the last one does not stand behind it, none does.
        let within = stream.last_marker.slot().is_some_and(|last| self.markers.get(last).seq >= mark.seq);
        let first = if within { stream.first_marker } else { Link::NONE };
        let mut chain = self.chain_from(first, |marker| marker.next);
        match chain.find(|(_, m)| m.phase == Phase::Laid && m.seq >= mark.seq) {
            Some((slot, m)) => CoveredBy::Marker { slot, seq: m.seq },
            // A query of a stream that is being captured would end the capture.
            None if stream.tenancy == Tenancy::Live && !stream.capturing => CoveredBy::Stream { head: stream.head },
            None => CoveredBy::Nothing,
        }
    }

    /// The latest laid marker of a stream. O(markers in flight).
    pub(crate) fn latest_marker(&self, stream: usize) -> Option<(usize, Seq)> {
        let mut chain = self.chain_from(self.stream(stream).last_marker, |marker| marker.prev);
        chain.find(|(_, m)| m.phase == Phase::Laid).map(|(slot, m)| (slot, m.seq))
    }

    pub(crate) fn pin_marker(&mut self, slot: usize) {
        let marker = self.markers.get_mut(slot);
        marker.pins = marker.pins.wrapping_add(1);
    }

    fn unpin_marker(&mut self, slot: usize) {
        let marker = self.markers.get_mut(slot);
        marker.pins = marker.pins.wrapping_sub(1);
        if marker.pins == 0 && marker.phase == Phase::Unused {
            self.give_marker(slot);
        }
    }

    /// The driver answered about a pinned marker. The row is still that of the lay that was asked about: a pinned slot
    /// is not laid again.
    pub(crate) fn end_marker_query(&mut self, slot: usize, complete: bool, level: Level) {
        if complete {
            self.settle_row(Table::Markers, slot, level);
        }
        self.unpin_marker(slot);
    }

    /// The driver queued a wait for a pinned marker, or refused to.
    pub(crate) fn end_marker_wait(&mut self, stream: usize, slot: usize, accepted: bool) {
        if accepted {
            let MarkerState { stream: of, seq, .. } = *self.markers.get(slot);
            self.streams.get_mut(of as usize).tell(seq);
            self.learn(stream, Table::Markers, slot);
            if plant::on(Plant::MarkerCoversAll) {
                self.overhear(stream, self.markers.get(slot).stream as usize);
            }
        }
        self.unpin_marker(slot);
    }

    /// Markers that say no more than what is known are given back: O(1) each, which its lay has paid for, and each one
    /// that is on its way is passed by.
    pub(super) fn drop_complete_markers(&mut self, stream: usize) {
        let StreamSlot { known, first_marker, .. } = *self.stream(stream);
        let mut at = first_marker;
        for _ in 0..self.markers.len() {
            let Some(slot) = at.slot() else { return };
            let marker = *self.markers.get(slot);
            if marker.seq > known {
                return;
            }
            at = marker.next;
            if marker.phase == Phase::Laid {
                self.retire_marker(slot);
            }
        }
    }

    pub(super) fn check_markers(&self) -> Result<(), &'static str> {
        let mut chained = 0usize;
        for (stream, owner) in self.streams.iter() {
            let (mut count, mut before) = (0, (Link::NONE, Seq::ZERO));
            for (slot, marker) in self.chain_from(owner.first_marker, |marker| marker.next) {
                if marker.phase == Phase::Unused || marker.stream as usize != stream || marker.prev != before.0 {
                    return Err("order: a stream's markers are linked both ways");
                }
                if marker.seq <= before.1 || marker.seq > owner.shared {
                    return Err(
                        "order: markers stand one behind the other, and are counted in their stream's `shared`",
                    );
                }
                (count, before) = (count + 1, (Link::to(slot), marker.seq));
            }
            if owner.markers != count || owner.last_marker != before.0 {
                return Err("order: a stream knows its markers");
            }
            chained += count as usize;
        }
        let used = self.markers.iter().filter(|(_, marker)| marker.phase != Phase::Unused).count();
        if used != chained {
            return Err("order: a marker that is in use is in its stream's chain");
        }
        Ok(())
    }
}
