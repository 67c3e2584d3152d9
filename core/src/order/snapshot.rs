//! Rows of positions that outlive a call: what a synchronisation in flight will publish, and the epochs of blocks that
//! more streams use than fit beside them.

use super::{Level, Order, Points, Reach, Table, UNTIL_FREE};
use crate::id::DeviceId;
use crate::order::Mark;
use crate::units::Seq;

/// How many synchronisations may be in flight at once with all that they know; see [`Flight`].
pub(crate) const FLIGHTS: usize = 8;

/// Rows of the ring of epochs.
pub(crate) const EPOCHS: usize = 8;

/// The facts of a synchronisation, taken before the driver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flight {
    /// A row of the snapshot table.
    Row(usize),
    /// No row was free: only the stream's own position is published.
    Position(Mark),
}

impl Order<'_> {
    fn take_flight(&mut self) -> Option<usize> {
        let row = (0..FLIGHTS).find(|row| self.flights & (1 << row) == 0)?;
        self.flights |= 1 << row;
        Some(row)
    }

    /// What a synchronisation of the stream will have seen.
    pub(crate) fn begin_stream_sync(&mut self, stream: usize) -> Flight {
        match self.take_flight() {
            Some(row) => {
                self.write_clock(stream, Table::Snapshots, row);
                Flight::Row(row)
            }
            None => Flight::Position(Mark { stream, seq: self.stream(stream).head }),
        }
    }

    /// What a synchronisation of the device will have seen: the heads of its streams, and whatever they waited for.
    /// `None`: no row is free; try again when another synchronisation has ended.
    pub(crate) fn begin_device_sync(&mut self, device: DeviceId) -> Option<Flight> {
        let row = self.take_flight()?;
        self.snapshots.row_mut(row).fill(Seq::ZERO);
        for stream in 0..self.streams.len() {
            let (on_device, head) = {
                let slot = self.streams.get(stream);
                (slot.device == device, slot.head)
            };
            if on_device {
                super::join(self.snapshots.row_mut(row), self.clocks.row(stream));
                self.snapshots.raise(row, stream, head);
            }
        }
        Some(Flight::Row(row))
    }

    /// Publishes what a synchronisation saw, or drops it.
    pub(crate) fn end_sync(&mut self, flight: Flight, succeeded: bool) {
        match flight {
            Flight::Row(row) => {
                if succeeded {
                    self.settle_row(Table::Snapshots, row, Level::Seen);
                }
                self.flights &= !(1u32 << (row & 31));
            }
            Flight::Position(mark) if succeeded => self.settle(mark.stream, mark.seq, Level::Seen),
            Flight::Position(_) => {}
        }
    }

    fn epoch_row(epoch: usize) -> usize {
        FLIGHTS.wrapping_add(epoch)
    }

    /// An epoch that covers the heads of all streams now. Where the ring is full the latest one is moved up: its blocks
    /// wait a little longer than they had to, which is safe.
    fn take_epoch(&mut self) -> usize {
        let free = self.epoch_refs.iter().position(|&refs| refs == 0);
        let epoch = free.unwrap_or(self.epoch_last);
        self.epoch_last = epoch;
        for stream in 0..self.streams.len() {
            let head = self.streams.get(stream).head;
            if let Some(cell) = self.snapshots.row_mut(Self::epoch_row(epoch)).get_mut(stream) {
                *cell = head;
            }
        }
        self.hold_epoch(epoch);
        epoch
    }

    fn hold_epoch(&mut self, epoch: usize) {
        if let Some(refs) = self.epoch_refs.get_mut(epoch) {
            *refs = refs.saturating_add(1);
        }
    }

    /// A copy of the points is made for another block.
    pub(crate) fn hold_points(&mut self, points: &Points) {
        if let Some(epoch) = points.epoch() {
            self.hold_epoch(epoch);
        }
    }

    /// A block drops its points.
    pub(crate) fn drop_points(&mut self, points: &Points) {
        if let Some(refs) = points.epoch().and_then(|epoch| self.epoch_refs.get_mut(epoch)) {
            *refs = refs.saturating_sub(1);
        }
    }

    /// A free on `stream` at `seq` closes the points of a live block: uses up to the free get their positions, uses
    /// that the free comes after anyhow are dropped, and what did not fit becomes an epoch.
    pub(crate) fn close_points(&mut self, uses: Points, free: Mark) -> Points {
        let mut points = uses.filter_map(|mark| {
            let seq = if mark.seq == UNTIL_FREE { self.stream(mark.stream).head } else { mark.seq };
            let mark = Mark { stream: mark.stream, seq };
            let before_free = mark.stream == free.stream
                || mark.seq <= self.clock(free.stream, mark.stream)
                || self.settled(mark, Level::Seen);
            (!before_free).then_some(mark)
        });
        points.put(free);
        if points.wants_epoch_at_free() {
            let epoch = self.take_epoch();
            points.set_epoch(epoch);
        }
        points
    }

    /// Every stream's head, as the points of memory whose users are unknown.
    pub(crate) fn points_of_everything(&mut self) -> Points {
        let mut points = Points::NONE;
        let epoch = self.take_epoch();
        points.set_epoch(epoch);
        points
    }

    /// The marks of an epoch, one a stream.
    pub(crate) fn epoch_marks(&self, epoch: usize) -> impl Iterator<Item = Mark> {
        self.snapshots.row(Self::epoch_row(epoch)).iter().enumerate().map(|(stream, &seq)| Mark { stream, seq })
    }

    /// All positions that the points stand for.
    pub(crate) fn all_marks(&self, points: &Points) -> impl Iterator<Item = Mark> {
        let epoch = points.epoch().map(|epoch| self.epoch_marks(epoch));
        points.marks().chain(epoch.into_iter().flatten())
    }

    /// The costliest way in which the points are reached by the stream.
    pub(crate) fn reach(&self, stream: usize, points: &Points, level: Level) -> Reach {
        let mut worst = None;
        for mark in points.marks() {
            let reach = self.reached(stream, mark, level);
            worst = worst.max(Some(reach));
            if reach == Reach::Not {
                return Reach::Not;
            }
        }
        if let Some(epoch) = points.epoch() {
            for mark in self.epoch_marks(epoch) {
                worst = worst.max(Some(self.reached(stream, mark, level)));
            }
        }
        worst.unwrap_or(Reach::Settled)
    }

    /// Whether the points are complete.
    pub(crate) fn all_settled(&self, points: &Points, level: Level) -> bool {
        self.all_marks(points).all(|mark| self.settled(mark, level))
    }

    /// The points of two neighbours as one block, where no stream loses by it (DESIGN: splitting and merging).
    pub(crate) fn merged(&self, a: &Points, b: &Points, level: Level) -> Option<Points> {
        if a == b {
            return Some(*a);
        }
        if self.all_settled(a, level) && self.all_settled(b, level) {
            return Some(Points::NONE);
        }
        let (x, y) = (a.single()?, b.single()?);
        let unknown = self.stream(x.stream).shared < x.seq.min(y.seq);
        (x.stream == y.stream && unknown).then(|| Points::one(Mark { stream: x.stream, seq: x.seq.max(y.seq) }))
    }
}
