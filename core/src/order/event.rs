//! Events of the program: what each stands for, and recordings in flight.

use super::{Level, Order, Table};
use crate::arena::Empty;
use crate::error::{Arena, ArenaFull, BadId};
use crate::id::{DeviceId, EventId};
use crate::plant::{self, Plant};
use crate::units::Seq;

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct EventSlot {
    generation: u32,
    live: bool,
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
    pub(crate) pins: u32,
    stream: u32,
    seq: Seq,
    /// The device of what the event stands for, else of the recording on its way: the stream may be gone by then.
    device: DeviceId,
}

impl Empty for EventSlot {
    const EMPTY: Self = Self {
        generation: 0,
        live: false,
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

impl Order<'_> {
    pub(crate) fn event_count(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn create_event(&mut self) -> Result<EventId, ArenaFull> {
        let full = ArenaFull { arena: Arena::Events, capacity: self.events.len() };
        let free = self.events.iter().find(|(_, e)| !e.live && e.pins == 0).map(|(slot, _)| slot);
        let slot = free.ok_or(full)?;
        let event = self.events.get_mut(slot);
        // Numbers go on from the old tenant's, so that a query in flight of the old one can never publish for the new.
        *event = EventSlot {
            generation: event.generation.wrapping_add(1),
            live: true,
            number: event.number,
            ..EventSlot::EMPTY
        };
        Ok(EventId::new(slot, event.generation))
    }

    pub(crate) fn destroy_event(&mut self, slot: usize) {
        let event = self.events.get_mut(slot);
        event.live = false;
        event.recorded = false;
    }

    pub(crate) fn find_event(&self, id: EventId) -> Result<usize, BadId> {
        let slot = id.slot();
        if slot >= self.events.len() || id.generation() == 0 {
            return Err(BadId::UnknownEvent(id));
        }
        let event = self.events.get(slot);
        match id.generation().cmp(&event.generation) {
            core::cmp::Ordering::Equal if event.live => Ok(slot),
            core::cmp::Ordering::Greater => Err(BadId::UnknownEvent(id)),
            _ => Err(BadId::StaleEvent(id)),
        }
    }

    pub(crate) fn event_mut(&mut self, slot: usize) -> &mut EventSlot {
        self.events.get_mut(slot)
    }

    pub(crate) fn event_pins(&self, slot: usize) -> u32 {
        self.events.get(slot).pins
    }

    fn event_row(slot: usize, page: bool) -> usize {
        slot.wrapping_mul(2).wrapping_add(usize::from(page))
    }

    /// Takes the facts before the driver call: the event is in flux, the clock is kept aside.
    pub(crate) fn begin_record(&mut self, event: usize, stream: usize) -> Recording {
        let seq = self.tick(stream);
        let device = self.stream(stream).device;
        let slot = self.events.get_mut(event);
        slot.number = slot.number.wrapping_add(1);
        slot.flux = slot.flux.saturating_add(1);
        if !slot.recorded {
            slot.device = device;
        }
        let (number, page, steady) = (slot.number, slot.page, slot.flux == 1);
        self.write_action(stream, Table::Events, Self::event_row(event, !page));
        // Raised even if the driver should refuse: it only keeps neighbours apart.
        let owner = self.streams.get_mut(stream);
        owner.shared = owner.shared.max(seq);
        Recording { event, stream, seq, number, device, steady }
    }

    /// The driver accepted or refused. Two recordings of one event at once leave it unknown which came last: then the
    /// event teaches nothing.
    pub(crate) fn end_record(&mut self, recording: Recording, accepted: bool) {
        if plant::on(Plant::RerecordedEvent) {
            self.keep_both(recording.event);
        }
        if plant::on(Plant::LateRecord) {
            self.record_late(recording);
        }
        let slot = self.events.get_mut(recording.event);
        slot.flux = slot.flux.saturating_sub(1);
        let alone = recording.steady && slot.number == recording.number || plant::on(Plant::MurkyEvent);
        if accepted {
            slot.device = recording.device;
        }
        match (accepted, alone) {
            (true, true) => {
                slot.page = !slot.page;
                slot.recorded = slot.live;
                slot.murky = false;
                slot.stands_for = recording.number;
                slot.stream = recording.stream as u32;
                slot.seq = recording.seq;
                let row = Self::event_row(recording.event, slot.page);
                self.keep_implied(recording.stream, Table::Events, row);
            }
            (true, false) => {
                slot.recorded = slot.live;
                slot.murky = true;
                slot.stands_for = slot.number;
            }
            (false, _) => {}
        }
    }

    /// Notes which recording a wait, query or synchronisation of the event is about.
    pub(crate) fn begin_look(&self, event: usize) -> Recording {
        let slot = self.events.get(event);
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

    /// Whether the event still stands for what it stood for, so that an answer about it may be published.
    fn still(&self, look: Recording) -> bool {
        let slot = self.events.get(look.event);
        look.steady && slot.flux == 0 && slot.recorded && slot.stands_for == look.number
    }

    /// The driver queued the wait: the stream comes after all that the event stands for.
    pub(crate) fn end_wait(&mut self, stream: usize, look: Recording) {
        if self.still(look) || plant::on(Plant::MovedEvent) && look.number > 0 {
            let row = Self::event_row(look.event, self.events.get(look.event).page);
            self.join_from(stream, Table::Events, row);
            if plant::on(Plant::StaleEvent) {
                self.overhear(stream, look.stream);
            }
        }
    }

    /// A planted fault: the clock takes another stream's head.
    pub(super) fn overhear(&mut self, stream: usize, other: usize) {
        let head = self.stream(other).head;
        self.streams.get_mut(other).shared = head;
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
    fn record_late(&mut self, recording: Recording) {
        let spare = !self.events.get(recording.event).page;
        self.write_action(recording.stream, Table::Events, Self::event_row(recording.event, spare));
        let owner = self.streams.get_mut(recording.stream);
        owner.shared = owner.head;
    }

    /// The event is complete: so is everything that it stands for.
    pub(crate) fn end_complete(&mut self, look: Recording, level: Level) {
        if self.still(look) || plant::on(Plant::MovedAnswer) && look.number > 0 {
            let row = Self::event_row(look.event, self.events.get(look.event).page);
            self.settle_row(Table::Events, row, level);
        }
    }

    /// Forgets what an event stands for (a vendor's reset).
    pub(crate) fn reset_event(&mut self, event: usize) {
        self.events.get_mut(event).recorded = false;
    }
}
