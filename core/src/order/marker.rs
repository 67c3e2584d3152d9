//! Markers: driver events of weir's own, laid behind frees and uses so that completion can be asked about and waited
//! for later. They come from a fixed pool; where it runs out, older ones make room for later ones of the same stream.

use super::{Level, Mark, Order, Table, Tenancy};
use crate::arena::Empty;
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
}

impl Empty for MarkerState {
    const EMPTY: Self = Self { phase: Phase::Unused, pins: 0, stream: 0, seq: Seq::ZERO };
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
    pub(crate) fn begin_lay(&mut self, stream: usize) -> Option<(usize, Seq)> {
        let slot = self.marker_slot_for(stream)?;
        let seq = self.tick(stream);
        *self.markers.get_mut(slot) = MarkerState { phase: Phase::InFlight, pins: 0, stream: stream as u32, seq };
        self.write_action(stream, Table::Markers, slot);
        let owner = self.streams.get_mut(stream);
        owner.shared = owner.shared.max(seq);
        Some((slot, seq))
    }

    /// An unused slot, else the oldest of the same stream, else the oldest of the stream that has most.
    fn marker_slot_for(&mut self, stream: usize) -> Option<usize> {
        if let Some((slot, _)) = self.markers.iter().find(|(_, m)| m.phase == Phase::Unused && m.pins == 0) {
            return Some(slot);
        }
        self.oldest_marker(stream).or_else(|| {
            let count = |stream: u32| self.markers.iter().filter(|(_, m)| m.stream == stream).count();
            let busiest = self.markers.iter().max_by_key(|(_, m)| count(m.stream)).map(|(_, m)| m.stream)?;
            self.oldest_marker(busiest as usize)
        })
    }

    fn oldest_marker(&self, stream: usize) -> Option<usize> {
        self.markers
            .iter()
            .filter(|(_, m)| m.phase == Phase::Laid && m.pins == 0 && m.stream as usize == stream)
            .min_by_key(|(_, m)| m.seq)
            .map(|(slot, _)| slot)
    }

    pub(crate) fn end_lay(&mut self, slot: usize, accepted: bool) {
        let marker = self.markers.get_mut(slot);
        marker.phase = if accepted { Phase::Laid } else { Phase::Unused };
        let (stream, seq) = (marker.stream as usize, marker.seq);
        let owner = self.streams.get_mut(stream);
        if accepted && owner.open <= seq {
            owner.open = Seq::ZERO;
        }
        let complete = owner.known >= seq;
        if accepted {
            self.keep_implied(stream, Table::Markers, slot);
        }
        if complete {
            self.markers.get_mut(slot).phase = Phase::Unused;
        }
    }

    /// What can tell whether `mark` is complete: the earliest marker behind it, else the stream as a whole.
    pub(crate) fn covered_by(&self, mark: Mark) -> CoveredBy {
        let earliest = self
            .markers
            .iter()
            .filter(|(_, m)| m.phase == Phase::Laid && m.stream as usize == mark.stream && m.seq >= mark.seq)
            .min_by_key(|(_, m)| m.seq);
        match earliest {
            Some((slot, m)) => CoveredBy::Marker { slot, seq: m.seq },
            // A query of a stream that is being captured would end the capture.
            None if self.stream(mark.stream).tenancy == Tenancy::Live && !self.stream(mark.stream).capturing => {
                CoveredBy::Stream { head: self.stream(mark.stream).head }
            }
            None => CoveredBy::Nothing,
        }
    }

    /// The latest laid marker of a stream.
    pub(crate) fn latest_marker(&self, stream: usize) -> Option<(usize, Seq)> {
        self.markers
            .iter()
            .filter(|(_, m)| m.phase == Phase::Laid && m.stream as usize == stream)
            .max_by_key(|(_, m)| m.seq)
            .map(|(slot, m)| (slot, m.seq))
    }

    pub(crate) fn pin_marker(&mut self, slot: usize) {
        let marker = self.markers.get_mut(slot);
        marker.pins = marker.pins.saturating_add(1);
    }

    fn unpin_marker(&mut self, slot: usize) {
        let marker = self.markers.get_mut(slot);
        marker.pins = marker.pins.saturating_sub(1);
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
            self.join_from(stream, Table::Markers, slot);
            if plant::on(Plant::MarkerCoversAll) {
                self.overhear(stream, self.markers.get(slot).stream as usize);
            }
        }
        self.unpin_marker(slot);
    }

    /// Markers that say no more than what is known are given back.
    pub(super) fn drop_complete_markers(&mut self, stream: usize) {
        let known = self.streams.get(stream).known;
        for (_, marker) in self.markers.iter_mut() {
            if marker.phase == Phase::Laid && marker.stream as usize == stream && marker.seq <= known {
                marker.phase = Phase::Unused;
            }
        }
    }

    pub(super) fn check_markers(&self) -> Result<(), &'static str> {
        for (_, marker) in self.markers.iter() {
            if marker.phase == Phase::Laid && marker.seq > self.stream(marker.stream as usize).shared {
                return Err("order: a marker is counted in its stream's `shared`");
            }
        }
        Ok(())
    }
}
