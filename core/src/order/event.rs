//! Events of the program: what each stands for, and recordings in flight.

use super::{Level, Mark, Order, Table};
use crate::arena::{Empty, Link};
use crate::error::{Arena, ArenaFull, BadId};
use crate::id::{DeviceId, EventId};
use crate::plant::{self, Plant};
use crate::units::Seq;

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct EventSlot {
    /// The live event's id, else 0: a call checks an id by one comparison.
    key: u64,
    generation: u32,
    /// Whether the event stands for a recording whose clock is in the row that `page` names.
    recorded: bool,
    /// Two recordings were in flight at once: which came last is unknown. It stands for something, but teaches nothing.
    murky: bool,
    page: bool,
    /// Counts recordings begun.
    number: u64,
    /// The number of the recording that the event stands for.
    stands_for: u64,
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
        generation: 0,
        recorded: false,
        murky: false,
        page: false,
        number: 0,
        stands_for: 0,
        flux: 0,
        pins: 0,
        stream: 0,
        seq: Seq::ZERO,
        device: DeviceId(0),
        next: Link::NONE,
    };
}

/// A recording, wait or query in flight: what was known before the driver call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recording {
    pub(crate) event: usize,
    pub(crate) stream: usize,
    pub(crate) seq: Seq,
    pub(crate) number: u64,
    pub(crate) device: DeviceId,
    steady: bool,
}

impl EventSlot {
    /// Whether the event still stands for what it stood for, so that an answer about it may be published.
    #[inline]
    fn still(&self, look: &Recording) -> bool {
        look.steady && self.flux == 0 && self.recorded && self.stands_for == look.number
    }
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
        let id = EventId::new(slot, event.generation.wrapping_add(1));
        // Numbers go on from the old tenant's, so that a query in flight of the old one can never publish for the new.
        *event = EventSlot { key: id.raw(), generation: id.generation(), number: event.number, ..EventSlot::EMPTY };
        Ok(id)
    }

    pub(crate) fn destroy_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        event.key = 0;
        event.recorded = false;
        self.give_event(slot);
    }

    /// The slot of a live event.
    #[inline]
    pub(crate) fn find_event(&self, id: EventId) -> Result<usize, BadId> {
        let slot = id.slot();
        let found = slot < self.events.len() && id.generation() != 0 && self.events.get(slot).key == id.raw();
        if found { Ok(slot) } else { Err(self.why_no_event(id)) }
    }

    #[cold]
    fn why_no_event(&self, id: EventId) -> BadId {
        let slot = id.slot();
        let latest = if slot < self.events.len() { self.events.get(slot).generation } else { 0 };
        let ever = (1..=latest).contains(&id.generation());
        if ever { BadId::StaleEvent(id) } else { BadId::UnknownEvent(id) }
    }

    /// A call in flight ended that named the event, and was no recording.
    #[inline]
    pub(crate) fn unpin_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        event.pins = event.pins.wrapping_sub(1);
        if event.key == 0 {
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

    /// Takes the facts before the driver call: the event is in flux, the clock is kept aside. Both are pinned.
    #[inline]
    pub(crate) fn begin_record(&mut self, event: usize, stream: usize, facts: &mut Recording) {
        let owner = self.streams.get_mut(stream);
        owner.tick();
        // Shared even if the driver should refuse: it only keeps neighbours apart.
        let (seq, device) = (owner.share_all(), owner.device);
        owner.pins = owner.pins.wrapping_add(1);
        let slot = self.events.get_mut(event);
        slot.number = slot.number.wrapping_add(1);
        slot.flux = slot.flux.wrapping_add(1);
        if !slot.recorded {
            slot.device = device;
        }
        *facts = Recording { event, stream, seq, number: slot.number, device, steady: slot.flux == 1 };
        let row = Self::event_row(event, !slot.page);
        self.write_action(Mark { stream, seq }, Table::Events, row);
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
        let live = slot.key != 0;
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
            (false, _) => {}
        }
        if !live {
            self.give_event(recording.event);
        }
    }

    /// Notes which recording a query or synchronisation of the event is about. It is pinned.
    #[inline]
    pub(crate) fn begin_look(&mut self, event: usize) -> Recording {
        let slot = self.events.get_mut(event);
        slot.pins = slot.pins.wrapping_add(1);
        // A first recording that is on its way counts as one: the driver decides whether it came before.
        let number = if slot.recorded { slot.stands_for } else { slot.number.min(u64::from(slot.flux)) };
        Recording {
            event,
            stream: slot.stream as usize,
            seq: slot.seq,
            number,
            device: slot.device,
            steady: slot.flux == 0 && slot.recorded && !slot.murky,
        }
    }

    /// The same for a wait; the stream is pinned too.
    #[inline]
    pub(crate) fn begin_wait(&mut self, event: usize, stream: usize) -> Recording {
        let owner = self.streams.get_mut(stream);
        owner.pins = owner.pins.wrapping_add(1);
        self.begin_look(event)
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
        let (live, still, page) = (event.key != 0, event.still(look), event.page);
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
        self.events.get_mut(event).recorded = false;
    }

    /// What an event stands for, for the tests.
    #[cfg(test)]
    pub(super) fn event_entries(&self, slot: usize) -> &[Seq] {
        self.event_clocks.row(Self::event_row(slot, self.events.get(slot).page)).entries
    }
}
