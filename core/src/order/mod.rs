//! Who is ordered before whom. This module answers that question and knows no memory.
//!
//! Every stream has a clock: for each stream, the latest position that it is known to come after. Recording an event
//! stores the clock, waiting joins it, so knowledge is transitive (vector clocks: Fidge 1988, Mattern 1989). A second
//! table holds what is complete on the device, which is before everything.
//!
//! The legacy default stream is ordered against the blocking streams of its context by every *action* on it. Kernels
//! are not seen here, so nothing is stored for them: whatever the legacy stream does *next* comes after all earlier
//! work of the blocking streams, and the other way round, and [`Order::reached`] answers from that rule directly. A free
//! is no action here: nothing is queued. So a free on such a stream carries positions on those that it is ordered after
//! by that rule alone, since its own stream may be complete without them.

mod event;
mod marker;
#[cfg(test)]
mod model;
mod points;
mod rows;
mod snapshot;
mod spare;
mod table;

pub use event::EventSlot;
pub(crate) use event::{Hindrance, Marking, Recording};
pub(crate) use marker::CoveredBy;
pub use marker::MarkerState;
pub(crate) use points::{LAST_SEQ, Mark, PLACES, Points, UNTIL_FREE};
pub use rows::ClockRows;
use snapshot::EPOCHS;
pub(crate) use snapshot::{Flight, SNAPSHOTS, Users};

use rows::Rows;
use spare::Spare;
use table::Table;

use crate::arena::{Empty, Link, Slots, note_trouble};
use crate::driver::NativeStream;
use crate::error::{Arena, ArenaFull, BadId, Point};
use crate::id::{DeviceId, MAX_DEVICES, StreamId};
use crate::plant::{self, Plant};
use crate::policy::StreamKind;
use crate::units::Seq;

/// What a stream slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tenancy {
    /// Nobody's; its positions up to the head are complete.
    #[default]
    Vacant,
    /// A stream.
    Live,
    /// A destroyed stream whose work is not known to be complete.
    Dying,
}

/// One stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamSlot {
    /// The id, counted from 1, while it names a live stream; else 0. So that a call checks an id by one comparison.
    key: u64,
    pub(crate) generation: u32,
    pub(crate) tenancy: Tenancy,
    pub(crate) kind: StreamKind,
    pub(crate) capturing: bool,
    /// Frees and uses on it want markers behind them; see `Facts::mind_markers`.
    pub(crate) marked: bool,
    pub(crate) device: DeviceId,
    pub(crate) context: u64,
    pub(crate) native: NativeStream,
    /// The legacy stream of the same context, where this one is blocking.
    pub(crate) legacy: Link,
    /// The head when this tenant came: what is not above is an earlier tenant's.
    pub(crate) born: Seq,
    /// The latest position that was handed out.
    pub(crate) head: Seq,
    /// Complete, and the program knows.
    pub(crate) seen: Seq,
    /// Complete, and weir knows; never below `seen`.
    pub(crate) known: Seq,
    /// The latest position that anybody else's clock, a recorded event or `known` covers.
    pub(crate) told: Seq,
    /// The same, and that of a marker: somebody may come to know it by that.
    pub(crate) shared: Seq,
    /// The latest free or use that no marker covers.
    pub(crate) open: Seq,
    /// Bytes that were freed here since the last call that summed them up; scratch of the out-of-memory report.
    pub(crate) pending: u64,
    pub(crate) pending_until: Seq,
    /// The last call that asked the driver about this stream.
    pub(crate) asked: u64,
    /// Calls in flight that name the stream.
    pub(crate) pins: u32,
    /// Markers on the slot, and the first and the last of their chain.
    markers: u32,
    first_marker: Link,
    last_marker: Link,
    /// A legacy stream's: it knows all that the streams that it follows knew at this count of waits.
    caught_up: u64,
}

impl Empty for StreamSlot {
    const EMPTY: Self = Self {
        key: 0,
        generation: 0,
        tenancy: Tenancy::Vacant,
        kind: StreamKind::NonBlocking,
        capturing: false,
        marked: false,
        device: DeviceId(0),
        context: 0,
        native: NativeStream(0),
        legacy: Link::NONE,
        born: Seq::ZERO,
        head: Seq::ZERO,
        seen: Seq::ZERO,
        known: Seq::ZERO,
        told: Seq::ZERO,
        shared: Seq::ZERO,
        open: Seq::ZERO,
        pending: 0,
        pending_until: Seq::ZERO,
        asked: 0,
        pins: 0,
        markers: 0,
        first_marker: Link::NONE,
        last_marker: Link::NONE,
        caught_up: 0,
    };
}

/// What orders a stream after others beside events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Nothing.
    None,
    /// The rules of a legacy default stream.
    Legacy,
}

impl StreamSlot {
    /// Whether the id names the stream.
    #[inline]
    const fn is(&self, id: StreamId) -> bool {
        self.key == id.raw().wrapping_add(1)
    }

    /// Whether a marker is due behind its frees and uses.
    #[inline]
    pub(crate) fn wants_marker(&self) -> bool {
        self.marked && !self.capturing && self.open > self.known
    }

    /// What orders the stream after others beside events.
    #[inline]
    pub(crate) fn tie(&self) -> Tie {
        if self.kind == StreamKind::Legacy || self.legacy != Link::NONE { Tie::Legacy } else { Tie::None }
    }

    /// The next position.
    #[inline]
    pub(crate) fn tick(&mut self) -> Seq {
        self.head = Seq(self.head.0.wrapping_add(1));
        if self.head >= LAST_SEQ {
            // The next call is refused.
            note_trouble();
        }
        self.head
    }

    /// The next position, which wants a marker behind it.
    #[inline]
    pub(crate) fn tick_open(&mut self) -> Seq {
        self.open = self.tick();
        self.open
    }

    /// Somebody else comes to know all positions; returns the latest.
    #[inline]
    pub(super) fn share_all(&mut self) -> Seq {
        (self.told, self.shared) = (self.head, self.head);
        self.head
    }

    /// Somebody else comes to know a position.
    #[inline]
    pub(super) fn tell(&mut self, seq: Seq) {
        self.told = self.told.max(seq);
        self.shared = self.shared.max(seq);
    }

    /// Whether the legacy stream's next action comes after all of this stream's work. Only a legacy stream is ever
    /// linked to, so this says which kinds they are.
    fn blocks(&self, legacy: usize) -> bool {
        self.legacy == Link::to(legacy) && self.tenancy != Tenancy::Vacant
    }
}

/// Whose knowledge of completion counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What the program saw: its synchronisations and its own queries.
    Seen,
    /// What weir learnt from markers and the driver as well.
    Known,
}

/// How a point is reached, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Reach {
    Own,
    Settled,
    /// By the rules of the legacy default stream.
    Implied,
    Event,
    /// Not ordered.
    Not,
}

/// The arenas that order lives in.
pub(crate) struct OrderArenas<'a> {
    pub(crate) streams: Slots<'a, StreamSlot>,
    pub(crate) clocks: ClockRows<'a>,
    pub(crate) events: Slots<'a, EventSlot>,
    pub(crate) event_clocks: ClockRows<'a>,
    pub(crate) markers: Slots<'a, MarkerState>,
    pub(crate) marker_clocks: ClockRows<'a>,
    pub(crate) snapshots: ClockRows<'a>,
}

/// Streams, events, markers and what each knows.
pub(crate) struct Order<'a> {
    streams: Slots<'a, StreamSlot>,
    clocks: Rows<'a>,
    events: Slots<'a, EventSlot>,
    spare_events: Spare,
    /// Two rows an event: what it stands for, and what a recording in flight will make of it.
    event_clocks: Rows<'a>,
    markers: Slots<'a, MarkerState>,
    spare_markers: Spare,
    marker_clocks: Rows<'a>,
    /// `FLIGHTS` rows for synchronisations in flight, `EPOCHS` rows of heads, then one for each device in `gone`.
    snapshots: Rows<'a>,
    flights: u32,
    epoch_refs: [u32; EPOCHS],
    epoch_last: usize,
    /// Devices of streams whose slots were given away.
    gone: heapless::Vec<DeviceId, MAX_DEVICES>,
    legacy_streams: u32,
    /// Waits that a clock took something from, counted from 1.
    waits: u64,
}

impl<'a> Order<'a> {
    pub(crate) fn new(arenas: OrderArenas<'a>) -> Self {
        let width = arenas.streams.len();
        Self {
            streams: arenas.streams,
            clocks: Rows::new(arenas.clocks, width),
            events: arenas.events,
            spare_events: Spare::NONE,
            event_clocks: Rows::new(arenas.event_clocks, width),
            markers: arenas.markers,
            spare_markers: Spare::NONE,
            marker_clocks: Rows::new(arenas.marker_clocks, width),
            snapshots: Rows::new(arenas.snapshots, width),
            flights: 0,
            epoch_refs: [0; EPOCHS],
            epoch_last: 0,
            gone: heapless::Vec::new(),
            legacy_streams: 0,
            waits: 1,
        }
    }

    pub(crate) fn strayed(&self) -> bool {
        self.streams.strayed()
            || self.events.strayed()
            || self.markers.strayed()
            || self.clocks.strayed()
            || self.event_clocks.strayed()
            || self.marker_clocks.strayed()
            || self.snapshots.strayed()
    }

    /// Whether a stream has no positions left: whatever it does then could not be told apart.
    #[cold]
    pub(crate) fn is_spent(&self) -> bool {
        self.streams.iter().any(|(_, stream)| stream.head >= LAST_SEQ)
    }

    #[inline]
    pub(crate) fn stream(&self, slot: usize) -> &StreamSlot {
        self.streams.get(slot)
    }

    #[inline]
    pub(crate) fn stream_mut(&mut self, slot: usize) -> &mut StreamSlot {
        self.streams.get_mut(slot)
    }

    pub(crate) fn streams(&self) -> impl Iterator<Item = (usize, &StreamSlot)> {
        self.streams.iter()
    }

    pub(crate) fn width(&self) -> usize {
        self.streams.len()
    }

    /// The id of the slot's tenant, or of its last one.
    #[inline]
    pub(crate) fn stream_id(&self, slot: usize) -> StreamId {
        StreamId::new(slot, self.stream(slot).generation)
    }

    #[inline]
    pub(crate) fn point(&self, mark: Mark) -> Point {
        Point { stream: self.stream_id(mark.stream), seq: mark.seq }
    }

    /// The slot of a live stream.
    #[inline]
    pub(crate) fn find_stream(&self, id: StreamId) -> Result<usize, BadId> {
        match self.streams.look(id.slot()) {
            Some(stream) if stream.is(id) => Ok(id.slot()),
            stream => Err(what_is_bad(id, stream.map_or(0, |stream| stream.generation))),
        }
    }

    /// A slot for a new stream: never used, or one whose every position is complete. Positions go on after the old
    /// head, so a stale point never names the new tenant's future.
    pub(crate) fn create_stream(
        &mut self,
        device: DeviceId,
        context: u64,
        native: NativeStream,
        kind: StreamKind,
    ) -> Result<StreamId, ArenaFull> {
        let full = ArenaFull { arena: Arena::Streams, capacity: self.streams.len() };
        let slot = self.vacant_slot().ok_or(full)?;
        self.give_away(slot);
        let legacy = match kind {
            StreamKind::Blocking | StreamKind::PerThread => self.legacy_of(device, context),
            StreamKind::NonBlocking | StreamKind::Legacy => Link::NONE,
        };
        let stream = self.streams.get_mut(slot);
        let id = StreamId::new(slot, stream.generation.wrapping_add(1));
        *stream = StreamSlot {
            key: id.raw().wrapping_add(1),
            generation: id.generation(),
            tenancy: Tenancy::Live,
            kind,
            device,
            context,
            native,
            legacy,
            born: stream.head,
            head: stream.head,
            // What only weir has learnt of the old tenant stays unseen by the program.
            seen: stream.seen,
            known: stream.head,
            told: stream.head,
            shared: stream.head,
            // A marker of the old tenant may be on its way yet.
            markers: stream.markers,
            first_marker: stream.first_marker,
            last_marker: stream.last_marker,
            ..StreamSlot::EMPTY
        };
        self.clocks.clear(slot);
        if kind == StreamKind::Legacy {
            self.legacy_streams = self.legacy_streams.saturating_add(1);
            self.point_blocking_at(device, context, Link::to(slot));
        }
        Ok(id)
    }

    /// A vacant slot: rather one of which the program saw all.
    fn vacant_slot(&self) -> Option<usize> {
        let vacant = self.streams.iter().filter(|(_, s)| s.tenancy == Tenancy::Vacant);
        vacant.min_by_key(|(_, s)| s.seen != s.head).map(|(slot, _)| slot)
    }

    fn legacy_of(&self, device: DeviceId, context: u64) -> Link {
        self.streams
            .iter()
            .find(|(_, s)| {
                let here = s.device == device || plant::on(Plant::LegacyEverywhere);
                s.kind == StreamKind::Legacy && s.tenancy == Tenancy::Live && here && s.context == context
            })
            .map_or(Link::NONE, |(slot, _)| Link::to(slot))
    }

    fn point_blocking_at(&mut self, device: DeviceId, context: u64, legacy: Link) {
        for (_, stream) in self.streams.iter_mut() {
            let blocking = matches!(stream.kind, StreamKind::Blocking | StreamKind::PerThread);
            if blocking && stream.device == device && stream.context == context {
                stream.legacy = legacy;
            }
        }
    }

    /// Ends a stream: its id is stale at once, its slot is free again when its work is complete.
    pub(crate) fn retire_stream(&mut self, slot: usize) {
        let stream = self.streams.get_mut(slot);
        if plant::on(Plant::ReusedStreamId) {
            stream.known = stream.share_all();
        }
        stream.key = 0;
        stream.tenancy = if stream.known == stream.head { Tenancy::Vacant } else { Tenancy::Dying };
        if stream.kind == StreamKind::Legacy {
            let (device, context) = (stream.device, stream.context);
            self.legacy_streams = self.legacy_streams.saturating_sub(1);
            self.point_blocking_at(device, context, Link::NONE);
        }
        self.drop_complete_markers(slot);
    }

    /// The next position of a stream: every malloc, free, use, record, wait and marker takes one.
    #[inline]
    pub(crate) fn tick(&mut self, slot: usize) -> Seq {
        self.streams.get_mut(slot).tick()
    }

    /// What is known complete on a stream.
    #[inline]
    pub(crate) fn done(&self, slot: usize, level: Level) -> Seq {
        let stream = self.stream(slot);
        match level {
            Level::Seen => stream.seen,
            Level::Known => stream.known,
        }
    }

    #[inline]
    pub(crate) fn settled(&self, mark: Mark, level: Level) -> bool {
        mark.seq <= self.done(mark.stream, level)
    }

    /// What a stream's clock says of another, without what the legacy default stream implies.
    #[inline]
    pub(crate) fn clock(&self, slot: usize, of: usize) -> Seq {
        self.clocks.cell(slot, of)
    }

    /// Whether a position is of a tenant that its stream's slot had before.
    pub(crate) fn is_former(&self, mark: Mark) -> bool {
        mark.seq <= self.stream(mark.stream).born
    }

    /// How `mark` is ordered before whatever the stream does next.
    pub(crate) fn reached(&self, slot: usize, mark: Mark, level: Level) -> Reach {
        if mark.stream == slot && mark.seq > self.stream(slot).born {
            Reach::Own
        } else if self.settled(mark, level) {
            Reach::Settled
        } else if self.implied(slot, mark) {
            Reach::Implied
        } else if mark.seq <= self.clocks.cell(slot, mark.stream) {
            Reach::Event
        } else {
            Reach::Not
        }
    }

    /// Whether the rules of the legacy default stream order a stream's next action after all of another's earlier work.
    fn follows(&self, slot: usize, other: usize) -> bool {
        self.stream(other).blocks(slot) || self.stream(slot).legacy == Link::to(other)
    }

    /// What the legacy default stream implies; see the module's page.
    fn implied(&self, slot: usize, mark: Mark) -> bool {
        if self.legacy_streams == 0 {
            return false;
        }
        mark.seq <= self.implied_up_to(slot, mark.stream)
    }

    /// Up to which position of another stream what the legacy default stream implies reaches.
    #[inline]
    pub(crate) fn implied_up_to(&self, slot: usize, of: usize) -> Seq {
        if self.legacy_streams == 0 { Seq::ZERO } else { self.implied_by_legacy(slot, of) }
    }

    #[inline(never)]
    fn implied_by_legacy(&self, slot: usize, of: usize) -> Seq {
        let stream = self.stream(slot);
        let through = |other: usize| if other == of { UNTIL_FREE } else { self.clocks.cell(other, of) };
        match stream.kind {
            StreamKind::NonBlocking => Seq::ZERO,
            StreamKind::Blocking | StreamKind::PerThread => stream.legacy.slot().map_or(Seq::ZERO, through),
            StreamKind::Legacy if self.follows(slot, of) => UNTIL_FREE,
            StreamKind::Legacy => {
                let others = (0..self.streams.len()).filter(|&other| self.follows(slot, other));
                others.map(through).max().unwrap_or(Seq::ZERO)
            }
        }
    }

    /// Marks (S, seq) and everything in `row` as complete.
    fn settle_entry(&mut self, slot: usize, seq: Seq, level: Level) {
        let stream = self.streams.get_mut(slot);
        let seq = seq.min(stream.head);
        stream.known = stream.known.max(seq);
        stream.tell(seq);
        if level == Level::Seen {
            stream.seen = stream.seen.max(seq);
        }
        if stream.tenancy == Tenancy::Dying && stream.known == stream.head && stream.pins == 0 {
            stream.tenancy = Tenancy::Vacant;
        }
    }

    /// Everything up to (stream, seq) is complete; where its clock at that position is not at hand.
    pub(crate) fn settle(&mut self, slot: usize, seq: Seq, level: Level) {
        self.settle_entry(slot, seq, level);
        self.drop_complete_markers(slot);
    }

    /// Checks that nothing is known that has not happened, and that completion never runs ahead.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        for (slot, stream) in self.streams.iter() {
            if stream.seen > stream.known || stream.known > stream.head {
                return Err("order: seen <= known <= head");
            }
            if stream.shared > stream.head || stream.told > stream.shared || stream.known > stream.told {
                return Err("order: known <= told <= shared <= head");
            }
            let live = stream.tenancy == Tenancy::Live;
            if stream.key != if live { self.stream_id(slot).raw().wrapping_add(1) } else { 0 } {
                return Err("order: the key is that of the live stream");
            }
            if stream.tenancy == Tenancy::Vacant && stream.known != stream.head {
                return Err("order: a vacant slot's work is complete");
            }
            for (other, &seq) in self.clocks.row(slot).entries.iter().enumerate() {
                if other != slot && seq > self.streams.get(other).told {
                    return Err("order: a clock knows no more than `told` says");
                }
            }
        }
        if ![&self.clocks, &self.event_clocks, &self.marker_clocks, &self.snapshots].iter().all(|rows| rows.whole()) {
            return Err("order: a row's word says where its entries are");
        }
        self.check_markers()
    }
}

#[cold]
fn what_is_bad(id: StreamId, latest: u32) -> BadId {
    let ever = id.generation() > 0 && id.generation() <= latest;
    if ever { BadId::StaleStream(id) } else { BadId::UnknownStream(id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::any_trouble;

    /// What a stream's calls get just before its positions end can be told apart from each other and from a use that
    /// counts up to the free; then the runtime is told.
    #[test]
    fn a_stream_that_has_used_all_its_positions_is_noticed() {
        let (mut streams, mut clock, mut word) = ([StreamSlot::EMPTY; 1], [Seq::ZERO; 1], [0; 1]);
        let (mut snapshots, mut words) = ([Seq::ZERO; SNAPSHOTS], [0; SNAPSHOTS]);
        let mut order = Order::new(OrderArenas {
            streams: Slots::of(&mut streams),
            clocks: ClockRows { entries: &mut clock, present: &mut word },
            events: Slots::of(&mut []),
            event_clocks: ClockRows { entries: &mut [], present: &mut [] },
            markers: Slots::of(&mut []),
            marker_clocks: ClockRows { entries: &mut [], present: &mut [] },
            snapshots: ClockRows { entries: &mut snapshots, present: &mut words },
        });
        let stream = order.create_stream(DeviceId(0), 0, NativeStream(1), StreamKind::NonBlocking);
        assert!(stream.is_ok() && !order.is_spent());
        order.stream_mut(0).head = Seq(LAST_SEQ.0.wrapping_sub(1));
        let [last, beyond] = [order.tick(0), order.tick(0)].map(|seq| Mark { stream: 0, seq });
        assert!(order.is_spent() && any_trouble());
        assert!(last.word() < beyond.word() && beyond.seq < UNTIL_FREE);
        assert_eq!(Mark::of_word(beyond.word()), beyond);
    }
}
