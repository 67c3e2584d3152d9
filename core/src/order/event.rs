//! Events of the program: what each stands for, and recordings in flight.

use super::{Level, Mark, Order, StreamSlot, Table, what_is_bad};
use crate::arena::{Empty, Link, Slots};
use crate::driver::NativeStream;
use crate::error::{Arena, ArenaFull, BadId};
use crate::id::{DeviceId, EventId, StreamId};
use crate::plant::{self, Plant};
use crate::units::Seq;

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct EventSlot {
    /// The id, its slot counted from 1, while it names a live event; else the last one's generation alone. So that a call
    /// checks an id by one comparison.
    key: u64,
    /// Whether the event stands for a recording whose clock is in the row that `page` names.
    recorded: bool,
    /// Two recordings were in flight at once: which came last is unknown. It stands for something, but teaches nothing.
    murky: bool,
    page: bool,
    /// Counts recordings begun.
    number: u64,
    /// The number of the recording that the event stands for.
    stands_for: u64,
    /// The same where that can be learnt from: it is not murky, and no recording is in flux. Else 0.
    certain: u64,
    /// Recordings between their begin and their end.
    flux: u32,
    /// Other calls in flight that name the event.
    pins: u32,
    stream: u32,
    seq: Seq,
    /// The device of what the event stands for, else of the recording on its way: the stream may be gone by then.
    device: DeviceId,
    /// Of a slot without an event: the next such slot.
    next: Link,
}

impl Empty for EventSlot {
    const EMPTY: Self = Self {
        key: 0,
        recorded: false,
        murky: false,
        page: false,
        number: 0,
        stands_for: 0,
        certain: 0,
        flux: 0,
        pins: 0,
        stream: 0,
        seq: Seq::ZERO,
        device: DeviceId(0),
        next: Link::NONE,
    };
}

/// A recording, wait or query in flight: what was known before the driver call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recording {
    pub(crate) event: usize,
    pub(crate) stream: usize,
    pub(crate) seq: Seq,
    pub(crate) number: u64,
    pub(crate) device: DeviceId,
    steady: bool,
}

impl Recording {
    pub(crate) const NONE: Self =
        Self { event: 0, stream: 0, seq: Seq::ZERO, number: 0, device: DeviceId(0), steady: false };
}

/// What keeps a record or a wait from beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hindrance {
    /// A marker is due on the stream first.
    MarkerDue,
    Bad(BadId),
}

/// Whether a call lays the marker that is due on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marking {
    /// Before it begins.
    First,
    /// It did, or could not.
    Done,
}

impl EventSlot {
    /// Whether the id names the event.
    #[inline]
    const fn is(&self, id: EventId) -> bool {
        self.key == id.raw().wrapping_add(1)
    }

    const fn is_live(&self) -> bool {
        self.key as u32 != 0
    }

    /// How many events had the slot so far.
    pub(super) const fn generation(&self) -> u32 {
        (self.key >> 32) as u32
    }

    /// It stands for nothing any more.
    const fn forget(&mut self) {
        (self.recorded, self.certain) = (false, 0);
    }

    /// A recording was refused: where no other is in flux, the event stands for what it stood for before.
    const fn settle(&mut self) {
        if self.flux == 0 && self.recorded && !self.murky {
            self.certain = self.stands_for;
        }
    }

    /// Whether the event still stands for what it stood for, so that an answer about it may be published.
    #[inline]
    fn still(&self, look: &Recording) -> bool {
        look.steady && self.certain == look.number
    }

    /// The recording that a call is about of which nothing can be learnt; 0: none. A first one that is on its way counts: the
    /// driver decides whether it came before.
    #[cold]
    fn uncertain(&self) -> u64 {
        if self.recorded { self.stands_for } else { self.number.min(u64::from(self.flux)) }
    }

    /// Notes which recording a call is about, and pins the event.
    #[inline(always)]
    fn look(&mut self, event: usize, look: &mut Recording) {
        self.pins = self.pins.wrapping_add(1);
        let (number, steady) = match self.certain {
            0 => (self.uncertain(), false),
            number => (number, true),
        };
        let (stream, seq, device) = (self.stream as usize, self.seq, self.device);
        *look = Recording { event, stream, seq, number, device, steady };
    }
}

/// The slots of a stream and an event that a call names.
#[inline(always)]
fn named<'o>(
    (streams, stream): (&'o mut Slots<'_, StreamSlot>, StreamId),
    (events, event): (&'o mut Slots<'_, EventSlot>, EventId),
    marking: Marking,
) -> Result<(&'o mut StreamSlot, &'o mut EventSlot), Hindrance> {
    let on = match streams.look_mut(stream.slot()) {
        Some(on) if on.is(stream) => on,
        on => return Err(Hindrance::Bad(what_is_bad(stream, on.map_or(0, |on| on.generation)))),
    };
    if marking == Marking::First && on.wants_marker() {
        return Err(Hindrance::MarkerDue);
    }
    match events.look_mut(event.slot()) {
        Some(of) if of.is(event) => Ok((on, of)),
        of => Err(Hindrance::Bad(why_no_event(event, of.map_or(0, |of| of.generation())))),
    }
}

#[cold]
fn why_no_event(id: EventId, latest: u32) -> BadId {
    if (1..=latest).contains(&id.generation()) { BadId::StaleEvent(id) } else { BadId::UnknownEvent(id) }
}

impl Order<'_> {
    pub(crate) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// A slot for a new event. O(1).
    pub(crate) fn create_event(&mut self) -> Result<EventId, ArenaFull> {
        let full = ArenaFull { arena: Arena::Events, capacity: self.events.len() };
        let events = &self.events;
        let slot = self.spare_events.take(events.len(), |slot| events.get(slot).next).ok_or(full)?;
        let event = self.events.get_mut(slot);
        let id = EventId::new(slot, event.generation().wrapping_add(1));
        // Numbers go on from the old tenant's, so that a query in flight of the old one can never publish for the new.
        *event = EventSlot { key: id.raw().wrapping_add(1), number: event.number, ..EventSlot::EMPTY };
        Ok(id)
    }

    pub(crate) fn destroy_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        event.key &= !u64::from(u32::MAX);
        event.forget();
        self.give_event(slot);
    }

    /// The slot of a live event.
    #[inline]
    pub(crate) fn find_event(&self, id: EventId) -> Result<usize, BadId> {
        match self.events.look(id.slot()) {
            Some(event) if event.is(id) => Ok(id.slot()),
            event => Err(why_no_event(id, event.map_or(0, |event| event.generation()))),
        }
    }

    /// A call in flight ended that named the event, and was no recording.
    #[inline]
    pub(crate) fn unpin_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        event.pins = event.pins.wrapping_sub(1);
        if !event.is_live() {
            self.give_event(slot);
        }
    }

    /// Gives back the slot of a destroyed event that no call in flight names any more.
    #[cold]
    fn give_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        if event.pins == 0 && event.flux == 0 {
            event.next = self.spare_events.give(slot);
        }
    }

    /// Calls in flight that name the event.
    pub(crate) fn event_pins(&self, slot: usize) -> u32 {
        let event = self.events.get(slot);
        event.pins.wrapping_add(event.flux)
    }

    fn event_row(slot: usize, page: bool) -> usize {
        slot.wrapping_mul(2).wrapping_add(usize::from(page))
    }

    /// Takes the facts before the driver call: the event is in flux, the clock is kept aside. Both are pinned. Returns
    /// the driver's name of the stream.
    #[inline(always)]
    pub(crate) fn begin_record(
        &mut self,
        (event, stream): (EventId, StreamId),
        marking: Marking,
        facts: &mut Recording,
    ) -> Result<NativeStream, Hindrance> {
        let (on, of) = named((&mut self.streams, stream), (&mut self.events, event), marking)?;
        on.tick();
        // Shared even if the driver should refuse: it only keeps neighbours apart.
        let (seq, device, native) = (on.share_all(), on.device, on.native);
        on.pins = on.pins.wrapping_add(1);
        of.number = of.number.wrapping_add(1);
        of.flux = of.flux.wrapping_add(1);
        of.certain = 0;
        if !of.recorded {
            of.device = device;
        }
        let (event, stream) = (event.slot(), stream.slot());
        *facts = Recording { event, stream, seq, number: of.number, device, steady: of.flux == 1 };
        let row = Self::event_row(event, !of.page);
        self.write_action(Mark { stream, seq }, Table::Events, row);
        Ok(native)
    }

    /// The driver accepted or refused. Two recordings of one event at once leave it unknown which came last: then the
    /// event teaches nothing.
    #[inline]
    pub(crate) fn end_record(&mut self, recording: &Recording, accepted: bool) {
        if plant::on(Plant::RerecordedEvent) {
            self.keep_both(recording.event);
        }
        if plant::on(Plant::LateRecord) {
            self.record_late(recording);
        }
        let owner = self.streams.get_mut(recording.stream);
        owner.pins = owner.pins.wrapping_sub(1);
        let slot = self.events.get_mut(recording.event);
        slot.flux = slot.flux.wrapping_sub(1);
        let live = slot.is_live();
        let alone = recording.steady && slot.number == recording.number || plant::on(Plant::MurkyEvent);
        if accepted {
            slot.device = recording.device;
        }
        match (accepted, alone) {
            (true, true) => {
                slot.page = !slot.page;
                slot.recorded = live;
                slot.murky = false;
                slot.stands_for = recording.number;
                slot.certain = if live { recording.number } else { 0 };
                slot.stream = recording.stream as u32;
                slot.seq = recording.seq;
                let row = Self::event_row(recording.event, slot.page);
                self.keep_implied(recording.stream, Table::Events, row);
            }
            (true, false) => {
                slot.recorded = live;
                slot.murky = true;
                slot.stands_for = slot.number;
            }
            (false, _) => slot.settle(),
        }
        if !live {
            self.give_event(recording.event);
        }
    }

    /// Notes which recording a query or synchronisation of the event is about. It is pinned.
    #[inline]
    pub(crate) fn begin_look(&mut self, event: usize) -> Recording {
        let mut look = Recording::NONE;
        self.events.get_mut(event).look(event, &mut look);
        look
    }

    /// The same for a wait; the stream is pinned too. Returns the driver's name of the stream.
    #[inline(always)]
    pub(crate) fn begin_wait(
        &mut self,
        (event, stream): (EventId, StreamId),
        marking: Marking,
        facts: &mut Recording,
    ) -> Result<NativeStream, Hindrance> {
        let (on, of) = named((&mut self.streams, stream), (&mut self.events, event), marking)?;
        on.pins = on.pins.wrapping_add(1);
        of.look(event.slot(), facts);
        Ok(on.native)
    }

    /// The driver queued the wait, and the stream comes after all that the event stands for; or it refused to. Returns
    /// the position of the wait.
    #[inline]
    pub(crate) fn end_wait(&mut self, stream: usize, look: &Recording, accepted: bool) -> Seq {
        let owner = self.streams.get_mut(stream);
        owner.pins = owner.pins.wrapping_sub(1);
        let seq = owner.tick();
        let event = self.events.get_mut(look.event);
        event.pins = event.pins.wrapping_sub(1);
        let (live, still, page) = (event.is_live(), event.still(look), event.page);
        if !live {
            self.give_event(look.event);
        }
        if accepted && (still || plant::on(Plant::MovedEvent) && look.number > 0) {
            let row = Self::event_row(look.event, page);
            self.learn(stream, Table::Events, row);
            if plant::on(Plant::StaleEvent) {
                self.overhear(stream, look.stream);
            }
        }
        seq
    }

    /// A planted fault: the clock takes another stream's head.
    pub(super) fn overhear(&mut self, stream: usize, other: usize) {
        let head = self.streams.get_mut(other).share_all();
        self.clocks.raise(stream, other, head);
    }

    /// A planted fault: the recording that is under way takes over what the event stood for.
    fn keep_both(&mut self, event: usize) {
        let slot = *self.events.get(event);
        for stream in (0..self.streams.len()).filter(|_| slot.recorded) {
            let old = self.event_clocks.cell(Self::event_row(event, slot.page), stream);
            self.event_clocks.raise(Self::event_row(event, !slot.page), stream, old);
        }
    }

    /// A planted fault: the clock is read again, after the driver call.
    fn record_late(&mut self, recording: &Recording) {
        let spare = !self.events.get(recording.event).page;
        let now = Mark { stream: recording.stream, seq: self.stream(recording.stream).head };
        self.write_action(now, Table::Events, Self::event_row(recording.event, spare));
        self.streams.get_mut(recording.stream).share_all();
    }

    /// The event is complete: so is everything that it stands for.
    pub(crate) fn end_complete(&mut self, look: Recording, level: Level) {
        let event = self.events.get(look.event);
        if event.still(&look) || plant::on(Plant::MovedAnswer) && look.number > 0 {
            self.settle_row(Table::Events, Self::event_row(look.event, event.page), level);
        }
    }

    /// Forgets what an event stands for (a vendor's reset).
    pub(crate) fn reset_event(&mut self, event: usize) {
        self.events.get_mut(event).forget();
    }

    /// What an event stands for, for the tests.
    #[cfg(test)]
    pub(super) fn event_entries(&self, slot: usize) -> &[Seq] {
        self.event_clocks.row(Self::event_row(slot, self.events.get(slot).page)).entries
    }
}
