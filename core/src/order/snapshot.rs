//! Rows of positions that outlive a call: what a synchronisation in flight will publish, the epochs of blocks that more
//! streams use than fit beside them, and what streams came after whose slots are others' now.

use super::points::Marks;
use super::{Level, Order, Points, Reach, StreamSlot, Table, Tenancy, UNTIL_FREE};
use crate::id::{DeviceId, MAX_DEVICES};
use crate::order::Mark;
use crate::plant::{self, Plant};
use crate::policy::StreamKind;
use crate::units::Seq;

/// How many synchronisations may be in flight at once with all that they know; see [`Flight`].
pub(crate) const FLIGHTS: usize = 8;

/// Rows of the ring of epochs.
pub(crate) const EPOCHS: usize = 8;

/// All rows.
pub(crate) const SNAPSHOTS: usize = FLIGHTS + EPOCHS + MAX_DEVICES;

/// The facts of a synchronisation, taken before the driver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flight {
    /// A row of the snapshot table.
    Row(usize),
    /// No row was free: only the stream's own position is published.
    Position(Mark),
}

/// Whose streams may use memory that nobody says any more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// One device's.
    Of(DeviceId),
    /// Any device's.
    Anywhere,
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
                let own = Mark { stream, seq: self.stream(stream).head };
                self.write_clock(own, Table::Snapshots, row);
                Flight::Row(row)
            }
            None => Flight::Position(Mark { stream, seq: self.stream(stream).head }),
        }
    }

    /// What a synchronisation of the device will have seen: the heads of its streams, and whatever they waited for.
    /// `None`: no row is free; try again when another synchronisation has ended.
    pub(crate) fn begin_device_sync(&mut self, device: DeviceId) -> Option<Flight> {
        let row = self.take_flight()?;
        let gone = self.gone_row(device);
        self.snapshots.clear(row);
        for stream in 0..self.streams.len() {
            let (on_device, head) = {
                let slot = self.streams.get(stream);
                (slot.device == device, slot.head)
            };
            if on_device || plant::on(Plant::DeviceSyncForAll) {
                self.snapshots.join(row, self.clocks.row(stream));
                self.snapshots.raise(row, stream, head);
            }
            let gone = gone.map_or(Seq::ZERO, |gone| self.snapshots.cell(gone, stream));
            self.snapshots.raise(row, stream, gone);
        }
        Some(Flight::Row(row))
    }

    /// What was done on destroyed streams of the device whose slots were given away.
    fn gone_row(&self, device: DeviceId) -> Option<usize> {
        let place = self.gone.iter().position(|&other| other == device)?;
        Some(FLIGHTS.wrapping_add(EPOCHS).wrapping_add(place))
    }

    /// A slot is given away. Only weir may know that the last tenant's work is complete: the program sees that, and
    /// what the work came after, when it synchronises the device.
    pub(super) fn give_away(&mut self, slot: usize) {
        let StreamSlot { generation, device, head, .. } = *self.stream(slot);
        if generation == 0 {
            return;
        }
        if !self.gone.contains(&device) {
            // As many fit as the runtime knows devices.
            let _ = self.gone.push(device);
        }
        if let Some(row) = self.gone_row(device) {
            self.snapshots.join(row, self.clocks.row(slot));
            self.snapshots.raise(row, slot, head);
        }
    }

    /// Publishes what a synchronisation saw, or drops it.
    pub(crate) fn end_sync(&mut self, flight: Flight, succeeded: bool, level: Level) {
        match flight {
            Flight::Row(row) => {
                if plant::on(Plant::LateSynchronise) {
                    self.see_late(row);
                }
                if succeeded {
                    self.settle_row(Table::Snapshots, row, level);
                }
                self.flights &= !(1u32 << (row & 31));
            }
            Flight::Position(mark) if succeeded => self.settle(mark.stream, mark.seq, level),
            Flight::Position(_) => {}
        }
    }

    /// A planted fault: what was queued while the driver was asked counts as seen by it.
    fn see_late(&mut self, row: usize) {
        for stream in 0..self.streams.len() {
            if self.snapshots.cell(row, stream) > Seq::ZERO {
                let head = self.stream(stream).head;
                self.snapshots.raise(row, stream, head);
            }
        }
    }

    fn epoch_row(epoch: usize) -> usize {
        FLIGHTS.wrapping_add(epoch)
    }

    /// An epoch that covers all that is queued on the streams that `members` lets through. Where the ring is full the
    /// latest one is moved up: its blocks wait a little longer than they had to, which is safe.
    fn take_epoch(&mut self, members: impl Fn(&StreamSlot) -> bool) -> usize {
        let free = self.epoch_refs.iter().position(|&refs| refs == 0);
        let epoch = free.unwrap_or(self.epoch_last);
        self.epoch_last = epoch;
        let row = Self::epoch_row(epoch);
        if free.is_some() {
            self.snapshots.clear(row);
        }
        for stream in 0..self.streams.len() {
            if members(self.streams.get(stream)) {
                let seq = self.position_now(stream);
                self.snapshots.raise(row, stream, seq);
            }
        }
        self.hold_epoch(epoch);
        epoch
    }

    /// A position behind all that is queued on a stream. Kernels are not seen, so the head may be an old one that is
    /// complete already: a live stream gets a new one.
    fn position_now(&mut self, stream: usize) -> Seq {
        if self.stream(stream).tenancy != Tenancy::Live {
            return self.stream(stream).head;
        }
        self.tick_open(stream)
    }

    fn hold_epoch(&mut self, epoch: usize) {
        if let Some(refs) = self.epoch_refs.get_mut(epoch) {
            *refs = refs.saturating_add(1);
        }
    }

    /// A copy of the points is made for another block.
    #[inline]
    pub(crate) fn hold_points(&mut self, points: &Points) {
        if let Some(epoch) = points.epoch() {
            self.hold_epoch(epoch);
        }
    }

    /// A block drops its points.
    #[inline]
    pub(crate) fn drop_points(&mut self, points: &Points) {
        if let Some(refs) = points.epoch().and_then(|epoch| self.epoch_refs.get_mut(epoch)) {
            *refs = refs.saturating_sub(1);
        }
    }

    /// Whether a free may come after other streams by the rules of a legacy default stream alone.
    #[inline]
    pub(crate) fn has_legacy_streams(&self) -> bool {
        self.legacy_streams > 0
    }

    /// A free on `stream` at `seq` closes the points of a live block: uses up to the free get their positions, uses
    /// that the free comes after anyhow are dropped, and what did not fit becomes an epoch.
    pub(crate) fn close_points(&mut self, uses: Points, free: Mark) -> Points {
        let free = if plant::on(Plant::FreeOnAllocator) { self.misbooked(&uses).unwrap_or(free) } else { free };
        let uses = if plant::on(Plant::LostUse) { Points::NONE } else { uses };
        let mut points = uses.filter_map(|mark| {
            let seq = if mark.seq == UNTIL_FREE { self.position_now(mark.stream) } else { mark.seq };
            let mark = Mark { stream: mark.stream, seq };
            let before_free = mark.stream == free.stream
                || mark.seq <= self.clock(free.stream, mark.stream)
                || self.settled(mark, Level::Seen);
            (!before_free).then_some(mark)
        });
        // Always fits: uses leave a place.
        points.put(free);
        let fits = self.legacy_streams == 0 || self.put_implied(&mut points, free.stream);
        if points.wants_epoch_at_free() {
            let epoch = self.take_epoch(|_| true);
            points.set_epoch(epoch);
        } else if !fits {
            let StreamSlot { device, context, .. } = *self.stream(free.stream);
            let epoch =
                self.take_epoch(|s| (s.device, s.context) == (device, context) && s.kind != StreamKind::NonBlocking);
            points.set_epoch(epoch);
        }
        points
    }

    /// Adds what a free on the stream comes after by the rules of the legacy default stream alone. False: no place left.
    fn put_implied(&mut self, points: &mut Points, stream: usize) -> bool {
        for other in 0..self.streams.len() {
            if self.follows(stream, other) {
                let seq = self.position_now(other);
                let mark = Mark { stream: other, seq };
                if !self.settled(mark, Level::Seen) && !points.put(mark) {
                    return false;
                }
            }
        }
        true
    }

    /// Where the free goes that is planted wrong: the stream that allocated stands first.
    fn misbooked(&self, uses: &Points) -> Option<Mark> {
        uses.marks().next().map(|mark| Mark { seq: self.stream(mark.stream).head, ..mark })
    }

    /// All that is queued on these streams, as the points of memory whose users are unknown.
    pub(crate) fn points_of_everything(&mut self, users: Users) -> Points {
        let mut points = Points::NONE;
        let epoch = self.take_epoch(|stream| match users {
            Users::Of(device) => stream.device == device,
            Users::Anywhere => true,
        });
        points.set_epoch(epoch);
        points
    }

    /// Up to where an epoch covers a stream.
    pub(crate) fn epoch_seq(&self, epoch: usize, stream: usize) -> Seq {
        self.snapshots.cell(Self::epoch_row(epoch), stream)
    }

    /// The costliest way in which the points are reached by the stream.
    #[cfg_attr(feature = "compact", inline(never))]
    pub(crate) fn reach(&self, stream: usize, points: &Points, level: Level) -> Reach {
        let mut worst = None;
        self.any_mark(points, |mark| {
            let reach = self.reached(stream, mark, level);
            worst = worst.max(Some(reach));
            reach == Reach::Not
        });
        match worst {
            None => Reach::Settled,
            // What the stream freed itself is its own, though the free came after others by the legacy stream's rules.
            Some(Reach::Implied) if self.is_own(stream, points) && !plant::on(Plant::ImpliedIsNotOwn) => Reach::Own,
            Some(worst) => worst,
        }
    }

    /// Whether one of the points is the stream's own. An epoch covers every stream, so its positions do not say that.
    pub(crate) fn is_own(&self, stream: usize, points: &Points) -> bool {
        let born = self.stream(stream).born;
        points.marks().any(|mark| mark.stream == stream && mark.seq > born)
    }

    /// The points that a tied stream comes after by the rules of the legacy default stream alone, as uses of the block that
    /// it is given.
    #[cold]
    #[inline(never)]
    pub(crate) fn implied_only(&self, stream: usize, points: &Points) -> Points {
        let mut kept = Points::NONE;
        if points.wants_epoch_at_free() {
            kept.want_epoch_at_free();
        }
        for mark in self.all_marks(points) {
            let explicit = mark.seq <= self.clock(stream, mark.stream);
            if !explicit && self.reached(stream, mark, Level::Seen) == Reach::Implied {
                kept.add_use(mark);
            }
        }
        kept
    }

    /// Whether the points are complete.
    pub(crate) fn all_settled(&self, points: &Points, level: Level) -> bool {
        !self.any_mark(points, |mark| !self.settled(mark, level))
    }

    /// As [`merge`](Self::merge), where all positions are of one live stream and each other one of the device, if there is
    /// any, comes after them: then the two blocks are one to each stream. O(streams), mostly O(1).
    #[cold]
    #[inline(never)]
    pub(crate) fn merged_common(&self, a: &Points, b: &Points, device: DeviceId) -> Option<Mark> {
        if a.epoch().is_some() || b.epoch().is_some() {
            return None;
        }
        let later = self.later(a, b)?;
        let owner = self.stream(later.stream);
        let own = |mark: Mark| mark.seq > owner.born;
        let owned = owner.tenancy == Tenancy::Live && owner.device == device && a.marks().chain(b.marks()).all(own);
        let others = || self.streams().filter(|(slot, s)| *slot != later.stream && s.device == device);
        let mut live = others().filter(|(_, s)| s.tenancy == Tenancy::Live);
        (owned && live.all(|(slot, _)| later.seq <= self.clock(slot, later.stream))).then_some(later)
    }

    /// The later of all positions of two neighbours, where all are of one stream.
    fn later(&self, a: &Points, b: &Points) -> Option<Mark> {
        let mut marks = a.marks().chain(b.marks());
        let first = marks.next()?;
        marks.try_fold(first, |later, mark| {
            (mark.stream == later.stream).then_some(Mark { seq: later.seq.max(mark.seq), ..mark })
        })
    }

    /// The points of two neighbouring holes as one. Addresses that one stream has yet to unmap wait for the last of them:
    /// others find addresses elsewhere. Those that are there for all stay apart from them.
    #[cold]
    #[inline(never)]
    pub(crate) fn merge_holes(&self, a: &Points, b: &Points, into: &mut Points) -> bool {
        if self.merge(a, b, Level::Known, into) {
            return true;
        }
        if a.is_empty() || b.is_empty() {
            return false;
        }
        let Some(later) = self.later(a, b) else { return false };
        *into = Points::one(later);
        true
    }

    /// The later of two positions, in words, where both are of one stream and nobody else knows either, or will by a marker.
    #[inline]
    pub(crate) fn unknown(&self, a: u64, b: u64) -> Option<Mark> {
        self.later_beyond(a, b, |stream| stream.shared)
    }

    /// The later of two positions, in words, where both are of this stream and nobody else knows either.
    #[inline]
    pub(crate) fn untold(&self, stream: usize, a: u64, b: u64) -> Option<Mark> {
        self.later_beyond(a, b, |stream| stream.told).filter(|mark| mark.stream == stream)
    }

    #[inline(always)]
    fn later_beyond(&self, a: u64, b: u64, limit: impl FnOnce(&StreamSlot) -> Seq) -> Option<Mark> {
        let (first, second) = (Mark::of_word(a), Mark::of_word(b));
        let limit = limit(self.stream(first.stream));
        let beyond = first.stream == second.stream && limit < first.seq && limit < second.seq;
        beyond.then_some(if a < b { second } else { first })
    }

    /// The points of two neighbours as one block, where no stream loses by it (DESIGN: splitting and merging): written where
    /// they may merge. Not returned, since several of a call's frames would hold them.
    pub(crate) fn merge(&self, a: &Points, b: &Points, level: Level, into: &mut Points) -> bool {
        if a == b {
            *into = *a;
            return true;
        }
        if self.all_settled(a, level) && self.all_settled(b, level) {
            *into = Points::NONE;
            return true;
        }
        // The same streams on both sides, and of each nobody knows one position but not the other.
        let alike = |x: Mark| {
            let y = b.words().iter().map(|&word| Mark::of_word(word)).find(|y| y.stream == x.stream)?;
            let unknown =
                x.seq == y.seq || plant::on(Plant::MergeTooFar) || self.stream(x.stream).shared < x.seq.min(y.seq);
            unknown.then_some(Mark { stream: x.stream, seq: x.seq.max(y.seq) })
        };
        if a.epoch() != b.epoch() || a.words().len() != b.words().len() {
            return false;
        }
        *into = *a;
        for &word in a.words() {
            let Some(mark) = alike(Mark::of_word(word)) else { return false };
            into.put(mark);
        }
        true
    }
}

impl Order<'_> {
    /// Whether any position that the points stand for is what is looked for. As by [`all_marks`](Self::all_marks), with less
    /// on the stack.
    #[inline]
    pub(crate) fn any_mark(&self, points: &Points, mut looked_for: impl FnMut(Mark) -> bool) -> bool {
        for &word in points.words() {
            if looked_for(Mark::of_word(word)) {
                return true;
            }
        }
        let Some(epoch) = points.epoch() else { return false };
        let entries = self.snapshots.row(Self::epoch_row(epoch)).entries;
        entries.iter().enumerate().any(|(stream, &seq)| looked_for(Mark { stream, seq }))
    }

    /// All positions that the points stand for.
    pub(crate) fn all_marks(&self, points: &Points) -> AllMarks<'_> {
        let epoch = points.epoch().map(|epoch| self.snapshots.row(Self::epoch_row(epoch)).entries);
        AllMarks { marks: points.marks(), stream: 0, epoch: epoch.unwrap_or_default() }
    }
}

/// The positions of points, then those of their epoch, one a stream.
pub(crate) struct AllMarks<'o> {
    marks: Marks,
    /// The stream of the epoch's first that is left.
    stream: usize,
    epoch: &'o [Seq],
}

impl Iterator for AllMarks<'_> {
    type Item = Mark;

    #[inline]
    fn next(&mut self) -> Option<Mark> {
        self.marks.next().or_else(|| self.next_of_epoch())
    }
}

impl AllMarks<'_> {
    #[cold]
    fn next_of_epoch(&mut self) -> Option<Mark> {
        let (&seq, rest) = self.epoch.split_first()?;
        let stream = self.stream;
        self.stream = stream.wrapping_add(1);
        self.epoch = rest;
        Some(Mark { stream, seq })
    }
}
