//! The log's records in order: number, time, kind, and where the rest of each is kept.

use super::packed::Packed;
use super::times::Times;
use super::{EventIx, LifeIx};
use std::ops::Range;
use weir::trace::Record;

/// What runs along the x axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The record's number: every record has the same width, whatever the clock says.
    #[default]
    Record,
    /// The driver's clock, from the first record on.
    Time,
}

macro_rules! kinds {
    ($($kind:ident $name:literal)+) => {
        /// The kind of a record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "named as the records")]
        pub enum Kind { $($kind,)+ }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The kind of this record; `None` for definitions, which are facts and no events.
            #[must_use]
            pub const fn of(record: &Record<'_>) -> Option<Self> {
                match record {
                    $(Record::$kind { .. } => Some(Self::$kind),)+
                    _ => None,
                }
            }

            /// Short, for lists.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }
        }
    };
}
kinds! {
    Begin "begin"
    PoolCreated "pool created" PoolTuned "pool tuned" PoolDestroyed "pool destroyed"
    StreamCreated "stream created" StreamDestroyed "stream destroyed" CaptureSet "capture"
    EventCreated "event created" EventDestroyed "event destroyed" EventReset "event reset"
    AttributeSet "attribute" Malloc "malloc" Free "free" Use "use"
    Recorded "record" Waited "wait" Queried "query"
    MarkerLaid "marker" Asked "asked" WaitInserted "wait inserted"
    StreamSynchronized "sync stream" EventSynchronized "sync event" DeviceSynchronized "sync device"
    GrowPlanned "grow planned" GrowAborted "grow aborted"
    Mapped "map" MappedInOrder "map in order" Unmapped "unmap" UnmappedInOrder "unmap in order"
    Quarantined "quarantined" Undestroyed "undestroyed" Kept "kept" Blocked "host waits" Pressed "pressure"
    Trimmed "trim" TrimPending "trim: pending" OutOfMemory "out of memory" Refused "refused" DriverFailed "driver failed"
    Mark "mark" Lost "lost"
}

/// The records, a column each.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// From this record on, the numbers count up from that one, up to the next entry.
    numbers: Vec<(EventIx, u64)>,
    time: Times,
    kind: Vec<Kind>,
    /// A life, or a place among the others: its lower half.
    payload: Vec<u32>,
    others: Packed,
    /// The records from which on the places' upper half is one more.
    carries: Vec<EventIx>,
    /// From this record on, the numbers are shifted by so much on the axis: a log that begins again continues.
    shifts: Vec<(EventIx, u64)>,
}

/// Where the rest of a record is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// In the life: a malloc or free.
    Life(LifeIx),
    /// Here, by value. A mark's name is kept by the model.
    Other(Record<'static>),
}

/// How far from where a record is expected it is looked for first, and how many times as far then.
const GUESS: usize = 16;

impl Events {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// The index one past the last.
    #[must_use]
    pub fn end(&self) -> EventIx {
        EventIx::next_of(self.len())
    }

    /// The number as it stands in the log. O(log n) in the places where numbers are missing or begin again.
    #[must_use]
    pub fn number(&self, event: EventIx) -> u64 {
        assert!(event < self.end(), "no such record");
        let (from, first) = self.numbers[self.numbers.partition_point(|run| run.0 <= event) - 1];
        first + u64::from(event.0 - from.0)
    }

    /// The clock in nanoseconds, never going back.
    #[must_use]
    pub fn time(&self, event: EventIx) -> u64 {
        self.time.of(event)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self, event: EventIx) -> Kind {
        self.kind[event.at()]
    }

    /// The kinds of all records.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kind
    }

    /// The rest of the record.
    #[must_use]
    pub fn payload(&self, event: EventIx) -> Payload {
        let payload = self.payload[event.at()];
        match self.kind(event) {
            Kind::Malloc | Kind::Free => Payload::Life(LifeIx(payload)),
            _ => {
                let upper = self.carries.partition_point(|from| *from <= event) as u64;
                Payload::Other(self.others.get((upper << 32) | u64::from(payload)))
            }
        }
    }

    /// Where the record stands on the axis, counted from the first record's place.
    #[must_use]
    pub fn position(&self, axis: Axis, event: EventIx) -> u64 {
        match axis {
            Axis::Time => self.time(event) - self.time(EventIx(0)),
            Axis::Record => {
                let shift = match self.shifts.partition_point(|s| s.0 <= event) {
                    0 => 0,
                    n => self.shifts[n - 1].1,
                };
                self.number(event).saturating_add(shift).saturating_sub(self.numbers[0].1)
            }
        }
    }

    /// Length of the whole axis: just past the last record, at least 1.
    #[must_use]
    pub fn extent(&self, axis: Axis) -> u64 {
        let Some(last) = self.len().checked_sub(1) else {
            return 1;
        };
        let last = self.position(axis, EventIx::next_of(last));
        match axis {
            Axis::Record => last.saturating_add(1),
            // A little room, or what the last record did could not be seen.
            Axis::Time => last.saturating_add(last / 256 + 1),
        }
    }

    /// The first record at or after this place on the axis (or one past the last).
    #[must_use]
    pub fn first_from(&self, axis: Axis, position: f64) -> EventIx {
        if axis == Axis::Record && self.numbers.len() <= 1 {
            // Each has the place of its index.
            return EventIx::next_of((position.ceil() as usize).min(self.len()));
        }
        EventIx::next_of(self.first_between(axis, position, 0..self.len()))
    }

    /// The first record of these at or after this place, or their end.
    fn first_between(&self, axis: Axis, position: f64, Range { start: mut low, end: mut high }: Range<usize>) -> usize {
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.is_before(axis, middle, position) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn is_before(&self, axis: Axis, at: usize, position: f64) -> bool {
        (self.position(axis, EventIx::next_of(at)) as f64) < position
    }

    /// [`first_from`](Self::first_from) of each of these places, which ascend. Neighbouring parts of the axis have about as
    /// many records, so each is looked for where the one before lets it be expected first: a search through all records
    /// looks at a dozen of them that are far apart in memory.
    #[must_use]
    pub fn firsts_from(&self, axis: Axis, positions: impl Iterator<Item = f64>) -> Vec<EventIx> {
        if axis == Axis::Record && self.numbers.len() <= 1 {
            return positions.map(|position| self.first_from(axis, position)).collect();
        }
        let (mut last, mut step) = (0, self.len());
        let mut first = |position| {
            let low = last;
            let mut reach = GUESS;
            let mut range = low + step.saturating_sub(reach)..low + step + reach;
            while range.start > low && !self.is_before(axis, range.start.min(self.len()) - 1, position) {
                reach *= GUESS;
                range = low + step.saturating_sub(reach)..range.start;
            }
            while range.end < self.len() && self.is_before(axis, range.end, position) {
                reach *= GUESS;
                range = range.end..range.end + reach;
            }
            last = self.first_between(axis, position, range.start.min(self.len())..range.end.min(self.len()));
            step = last - low;
            EventIx::next_of(last)
        };
        positions.map(&mut first).collect()
    }

    /// The last record at or before this place, if any.
    #[must_use]
    pub fn last_until(&self, axis: Axis, position: f64) -> Option<EventIx> {
        let past = self.first_from(axis, position.next_up());
        past.0.checked_sub(1).map(EventIx)
    }

    pub(super) fn push(&mut self, number: u64, time: u64, kind: Kind, payload: u32) -> EventIx {
        let event = self.end();
        let last = self.len().checked_sub(1).map(|last| self.number(EventIx::next_of(last)));
        if last.and_then(|last| last.checked_add(1)) != Some(number) {
            self.shift_if_restarted(event, last, number);
            self.numbers.push((event, number));
        }
        self.time.push(time);
        self.kind.push(kind);
        self.payload.push(payload);
        event
    }

    /// The place where a record is kept that is no malloc or free.
    pub(super) fn keep(&mut self, record: &Record<'_>) -> u32 {
        let place = self.others.keep(record);
        if place >> 32 > self.carries.len() as u64 {
            self.carries.push(self.end());
        }
        place as u32
    }

    fn shift_if_restarted(&mut self, event: EventIx, last: Option<u64>, number: u64) {
        if let Some(last) = last.filter(|last| number <= *last) {
            let shift = self.shifts.last().map_or(0, |s| s.1);
            self.shifts.push((event, last.saturating_add(shift).saturating_add(1).saturating_sub(number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records in bursts and after pauses, some of whose numbers are missing; looked for at places of all densities.
    #[test]
    fn ascending_places_are_found_as_one_by_one() {
        let mut state = 5_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        for count in [0, 1, 17, 5_000] {
            let mut events = Events::default();
            let (mut time, mut number) = (1_000, 0);
            for _ in 0..count {
                time += [0, 1, next(1_000), next(50) * next(50) * next(50)][next(4) as usize];
                number += if next(100) == 0 { 1 + next(500) } else { 1 };
                events.push(number, time, Kind::Mark, 0);
            }
            for axis in [Axis::Time, Axis::Record] {
                let extent = if count == 0 { 1 } else { events.extent(axis) } as f64;
                for columns in [1, 7, 300, 9_000] {
                    for (from, to) in [(-0.1, 1.1), (0.0, 1.0), (0.3, 0.31), (0.9, 3.0)] {
                        let place = |at: usize| extent * (from + (to - from) * at as f64 / columns as f64);
                        let found = events.firsts_from(axis, (0..=columns).map(place));
                        let one_by_one: Vec<EventIx> =
                            (0..=columns).map(|at| events.first_from(axis, place(at))).collect();
                        assert_eq!(found, one_by_one, "{count} records, {columns} columns, {from} to {to}");
                    }
                }
            }
        }
    }
}
