//! Everything under the lock: the facts, the log, and the health of the whole.

use super::free::Freeing;
use super::malloc::NOT_PLAIN;
use super::storage::Singles;
use super::{Action, ActionKind, Arenas, Outcome};
use crate::arena::{Slots, any_trouble, note_trouble};
use crate::blocks::Blocks;
use crate::driver::{Completion, DriverError, MarkerSlot, NativeStream};
use crate::error::{Corrupt, Unusable};
use crate::facts::Facts;
use crate::free_index::{FreeIndex, IndexArenas};
use crate::granule::Granules;
use crate::id::{AllocId, DeviceId, PoolId, StreamId};
use crate::name::Names;
use crate::order::{Mark, Order, OrderArenas};
use crate::trace::{self, Log, Page, Record};
use crate::units::{Nanos, Seq};

/// Driver calls that succeeded, and what weir did of its own accord. Each counts from the runtime's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Granules created.
    pub create: u64,
    /// Granules destroyed.
    pub destroy: u64,
    /// Granules mapped.
    pub map: u64,
    /// Granules unmapped.
    pub unmap: u64,
    /// Markers laid: weir's own; the program's records are not among them.
    pub mark: u64,
    /// Queries for reuse; the program's own are not among them.
    pub query: u64,
    /// Waits inserted; the program's own are not among them.
    pub wait: u64,
    /// Synchronisations: the program's, and those of pools that may block.
    pub synchronise: u64,
    /// Times the embedder was asked to give memory back.
    pub pressed: u64,
    /// Driver calls that failed.
    pub failed: u64,
    /// Records of the log that were lost.
    pub records_lost: u64,
}

/// Everything under the lock.
pub struct State<'a> {
    pub(crate) facts: Facts<'a>,
    pub(crate) log: Log<'a>,
    pub(crate) counters: Counters,
    pub(super) time: Nanos,
    corrupt: Option<Corrupt>,
    capacities: super::Capacities,
    calls: u64,
    changes: u64,
    pub(super) allocations: u64,
    pub(super) frees: Frees<'a>,
    pub(super) freeing: Freeing,
    /// A pool and a stream of which a malloc needs no check, for nothing but mallocs and frees came since one was checked:
    /// both live and of one device, the stream neither captured nor tied to another nor in want of markers, and slots are
    /// left. That saves a loop 20 instructions a malloc.
    pub(super) plain: (PoolId, StreamId),
    /// What the block that is being taken waited for, for the record of its malloc.
    pub(super) waited_for: trace::Points,
}

/// How many frees are remembered by name.
pub(super) const RECENT: usize = 64;

/// A free that is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) at: u64,
    pub(crate) id: AllocId,
    pub(crate) mark: Mark,
}

impl Freed {
    pub(super) const NONE: Self = Self { at: 0, id: AllocId(0), mark: Mark { stream: 0, seq: Seq::ZERO } };
}

/// Counts frees, and remembers the latest, so that a double free is named although the block has merged since.
pub(super) struct Frees<'a> {
    pub(super) count: u64,
    latest: &'a mut [Freed; RECENT],
}

impl Frees<'_> {
    #[inline]
    pub(super) fn add(&mut self, freed: Freed) {
        self.count = self.count.wrapping_add(1);
        if let Some(place) = self.latest.get_mut(self.count as usize % RECENT) {
            *place = freed;
        }
    }

    /// The remembered free of the block that began at `at`.
    pub(super) fn recent(&self, at: u64) -> Option<Freed> {
        self.latest.iter().filter(|freed| freed.at == at).max_by_key(|freed| freed.id).copied()
    }
}

impl<'a> State<'a> {
    /// The state, and the page that is no part of it.
    #[inline]
    pub(super) fn new(arenas: Arenas<'a>) -> (Self, &'a mut Page) {
        let capacities = arenas.capacities();
        let Singles { page, freed, devices, spill, sentinels } = arenas.singles;
        let order = Order::new(OrderArenas {
            streams: Slots::new(arenas.streams, &mut sentinels.stream),
            clocks: arenas.clocks,
            events: Slots::new(arenas.events, &mut sentinels.event),
            event_clocks: arenas.event_clocks,
            markers: Slots::new(arenas.markers, &mut sentinels.marker),
            marker_clocks: arenas.marker_clocks,
            snapshots: arenas.snapshots,
        });
        let index = IndexArenas {
            bins: Slots::new(arenas.bins, &mut sentinels.bins),
            homes: Slots::new(arenas.homes, &mut sentinels.home),
            heads: Slots::new(arenas.heads, &mut sentinels.head),
            words: Slots::new(arenas.words, &mut sentinels.word),
        };
        let facts = Facts {
            order,
            blocks: Blocks::new(Slots::new(arenas.blocks, &mut sentinels.block), arenas.block_lookup),
            index: FreeIndex::new(index, capacities.pools, capacities.streams),
            granules: Granules::new(Slots::new(arenas.granules, &mut sentinels.granule), arenas.granule_lookup),
            pools: Slots::new(arenas.pools, &mut sentinels.pool),
            devices,
            names: Names::new(arenas.names),
        };
        let state = Self {
            facts,
            log: Log::new(arenas.pages, arenas.stamps, spill),
            counters: Counters::default(),
            time: Nanos::ZERO,
            corrupt: None,
            capacities,
            calls: 0,
            changes: 0,
            allocations: 0,
            frees: Frees { count: 0, latest: freed },
            freeing: Freeing::NONE,
            plain: NOT_PLAIN,
            waited_for: trace::Points::default(),
        };
        (state, page)
    }

    pub(super) fn begin_log(&mut self, now: Nanos) {
        self.time = now;
        let c = self.capacities;
        self.record(Record::Begin {
            version: trace::VERSION,
            policy: trace::POLICY,
            streams: c.streams as u32,
            events: c.events as u32,
            markers: c.markers as u32,
            pools: c.pools as u32,
            blocks: c.blocks as u32,
            granules: c.granules as u32,
        });
    }

    /// The start of every call: the time, and whether the bookkeeping can still be trusted.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline)]
    pub(super) fn begin(&mut self, now: Nanos) -> Result<(), Unusable> {
        self.resume(now);
        self.trust()
    }

    /// The second half of a call.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline)]
    pub(super) fn resume(&mut self, now: Nanos) {
        self.set_time(now);
        self.finish_free();
        self.plain.0 = NOT_PLAIN.0;
    }

    /// Whether the bookkeeping can still be trusted.
    #[inline]
    pub(super) fn trust(&mut self) -> Result<(), Unusable> {
        if any_trouble() { self.check_health() } else { Ok(()) }
    }

    #[cold]
    fn check_health(&mut self) -> Result<(), Unusable> {
        if self.facts.strayed() {
            self.fail("an accessor missed its arena");
        }
        if self.facts.order.is_spent() {
            self.fail("a stream has used all its positions");
        }
        match self.corrupt {
            Some(corrupt) => Err(Unusable::Corrupt(corrupt)),
            None => Ok(()),
        }
    }

    /// Two threads may read the clock in one order and enter in the other.
    #[inline]
    pub(super) fn set_time(&mut self, now: Nanos) {
        if now > self.time {
            self.time = now;
        }
    }

    /// A contradiction was found: further calls are refused.
    #[cold]
    pub(crate) fn fail(&mut self, place: &'static str) {
        note_trouble();
        self.corrupt = self.corrupt.or(Some(Corrupt(place)));
    }

    /// Counts a change of the state and logs it.
    pub(crate) fn record(&mut self, record: Record<'_>) {
        if self.note_change() {
            self.write(record);
        }
    }

    /// Counts a change of the state, and says whether the log wants its record. The calls that must be quick make no
    /// record before they know.
    #[inline]
    pub(super) fn note_change(&mut self) -> bool {
        self.changes = self.changes.wrapping_add(1);
        self.log.is_on()
    }

    /// Writes the record of a change that was counted.
    pub(super) fn write(&mut self, record: Record<'_>) {
        self.log.append(self.time, record, &self.facts);
    }

    /// As [`record`](Self::record), for the kinds of which a log has most. Inlined, and `make` with it: each caller holds
    /// the writing of its one kind, see `trace/ordinary.rs`.
    #[inline(always)]
    pub(crate) fn record_frequent<'r>(&mut self, make: impl Fn(&Facts<'_>) -> Record<'r> + Copy) {
        if self.note_change() {
            self.write_frequent(make);
        }
    }

    /// Writes the record of a change that was counted, of a kind of which a log has most.
    #[inline(always)]
    pub(super) fn write_frequent<'r>(&mut self, make: impl Fn(&Facts<'_>) -> Record<'r> + Copy) {
        if cfg!(feature = "compact") {
            self.log.append(self.time, make(&self.facts), &self.facts);
        } else if !self.log.append_ordinary(self.time, &make(&self.facts)) {
            self.append_frequent(make);
        }
    }

    /// Writes what is not ordinary, or stands at a page's end. Makes the record anew, so that the fast way never builds it.
    #[cold]
    #[inline(never)]
    fn append_frequent<'r>(&mut self, make: impl Fn(&Facts<'_>) -> Record<'r>) {
        if !self.log.append_at_end(self.time, &make(&self.facts)) {
            self.append_rest(make);
        }
    }

    #[cold]
    #[inline(never)]
    fn append_rest<'r>(&mut self, make: impl Fn(&Facts<'_>) -> Record<'r>) {
        self.log.append(self.time, make(&self.facts), &self.facts);
    }

    /// Counts the changes of the state: each has a record, whether the log is on or off.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// A number for a call that asks, grows or waits.
    pub(crate) fn next_call(&mut self) -> u64 {
        self.calls = self.calls.wrapping_add(1);
        self.calls
    }

    pub(crate) fn next_allocation(&mut self) -> AllocId {
        self.allocations = self.allocations.wrapping_add(1);
        AllocId(self.allocations)
    }

    /// Counts a driver call that a plan asked for, and logs its failure.
    pub(super) fn count(&mut self, kind: ActionKind, outcome: &Outcome) {
        if let Err(error) = *outcome {
            self.note_driver_failure(error);
            return;
        }
        let counters = &mut self.counters;
        let counter = match kind {
            ActionKind::Create => &mut counters.create,
            ActionKind::Destroy => &mut counters.destroy,
            ActionKind::Map => &mut counters.map,
            ActionKind::Unmap => &mut counters.unmap,
            ActionKind::Lay => &mut counters.mark,
            ActionKind::Query => &mut counters.query,
            ActionKind::Wait => &mut counters.wait,
            ActionKind::Synchronise => &mut counters.synchronise,
            ActionKind::Press => &mut counters.pressed,
        };
        *counter = counter.wrapping_add(1);
    }

    pub(super) fn note_driver_failure(&mut self, error: DriverError) {
        self.counters.failed = self.counters.failed.wrapping_add(1);
        self.record(Record::DriverFailed { error });
    }

    pub(super) fn counters(&self) -> Counters {
        Counters { records_lost: self.log.lost(), ..self.counters }
    }

    /// The driver's slot of a marker: they come after the events.
    pub(super) fn marker_slot(&self, marker: usize) -> MarkerSlot {
        MarkerSlot((self.facts.order.event_count().wrapping_add(marker)) as u32)
    }

    pub(super) fn native(&self, stream: usize) -> NativeStream {
        self.facts.order.stream(stream).native
    }

    /// Lays the marker that is due on the stream, if any.
    pub(super) fn plan_marker(&mut self, stream: usize) -> Option<(Lay, Action)> {
        self.marker_due(stream).then(|| self.lay_marker(stream, self.native(stream)))?
    }

    /// Whether a marker is to be laid behind the stream's open frees and uses.
    #[inline]
    pub(super) fn marker_due(&self, stream: usize) -> bool {
        self.facts.order.stream(stream).wants_marker()
    }

    pub(super) fn lay_marker(&mut self, stream: usize, native: NativeStream) -> Option<(Lay, Action)> {
        let (marker, seq) = self.facts.order.begin_lay(stream)?;
        Some((
            Lay { marker, mark: Mark { stream, seq } },
            Action::Lay { marker: self.marker_slot(marker), stream: native },
        ))
    }

    /// The driver laid the marker, or refused; the call goes on without it then.
    pub(super) fn commit_marker(&mut self, lay: Lay, outcome: Outcome) {
        self.facts.order.end_lay(lay.marker, outcome.is_ok());
        if outcome.is_ok() {
            let Lay { marker, mark } = lay;
            let slot = self.facts.order.stream(mark.stream);
            let (device, stream) = (slot.device, StreamId::new(mark.stream, slot.generation));
            let burst = self.facts.device(device).map_or(0, |device| device.burst);
            if burst > 0 {
                self.set_burst(device, burst.wrapping_sub(1));
            }
            self.record_frequent(move |_| Record::MarkerLaid { marker: marker as u32, stream, seq: mark.seq });
        }
    }

    /// A growth met free memory whose work was unfinished: the next frees get markers, even with one stream.
    pub(super) fn begin_burst(&mut self, device: DeviceId) {
        self.set_burst(device, BURST);
    }

    fn set_burst(&mut self, device: DeviceId, left: u32) {
        let Some(slot) = self.facts.device_mut(device) else { return };
        let before = core::mem::replace(&mut slot.burst, left);
        if (before > 0) != (left > 0) {
            self.facts.mind_markers(device);
        }
    }
}

/// Frees that get a marker after such a growth.
const BURST: u32 = 64;

/// The driver's slot of an event.
pub(super) fn event_slot(event: usize) -> MarkerSlot {
    MarkerSlot(event as u32)
}

/// A marker whose driver call is on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lay {
    pub(super) marker: usize,
    pub(super) mark: Mark,
}

/// The answer to a query, or the failure.
pub(super) fn completion(outcome: Outcome) -> Result<Completion, DriverError> {
    outcome.map(|answer| match answer {
        super::Answer::Completion(completion) => completion,
        super::Answer::Done | super::Answer::Handle(_) | super::Answer::Relief(_) => Completion::Pending,
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::driver::{Capabilities, Driver, GranuleHandle, Properties, Target};
    use crate::policy::{PoolConfig, UseUntil};
    use crate::runtime::{Runtime, Storage, StreamConfig};
    use crate::trace::NullSink;
    use crate::units::{Bytes, DevicePtr};
    use core::cell::{Cell, RefCell};
    use std::boxed::Box;

    /// A device of 64 granules on which everything is complete at once.
    struct Idle;

    impl Driver for Idle {
        fn properties(&self, _: DeviceId) -> Result<Properties, DriverError> {
            let (granularity, alignment, total) = (Bytes::mib(2), Bytes(512), Bytes::mib(128));
            Ok(Properties { granularity, alignment, total, capabilities: Capabilities::empty() })
        }
        fn reserve(&self, _: DeviceId, _: Bytes) -> Result<DevicePtr, DriverError> {
            Ok(DevicePtr(1 << 40))
        }
        fn release(&self, _: DeviceId, _: DevicePtr, _: Bytes) -> Result<(), DriverError> {
            Ok(())
        }
        fn create(&self, _: DeviceId) -> Result<GranuleHandle, DriverError> {
            Ok(GranuleHandle(1))
        }
        fn destroy(&self, _: DeviceId, _: GranuleHandle) -> Result<(), DriverError> {
            Ok(())
        }
        fn map(&self, _: DeviceId, _: DevicePtr, _: GranuleHandle, _: Option<NativeStream>) -> Result<(), DriverError> {
            Ok(())
        }
        fn unmap(&self, _: DeviceId, _: DevicePtr, _: Option<NativeStream>) -> Result<(), DriverError> {
            Ok(())
        }
        fn lay(&self, _: MarkerSlot, _: NativeStream) -> Result<(), DriverError> {
            Ok(())
        }
        fn query(&self, _: Target) -> Result<Completion, DriverError> {
            Ok(Completion::Complete)
        }
        fn wait(&self, _: NativeStream, _: MarkerSlot) -> Result<(), DriverError> {
            Ok(())
        }
        fn synchronise(&self, _: Target) -> Result<(), DriverError> {
            Ok(())
        }
        fn now(&self) -> Nanos {
            Nanos(7)
        }
    }

    type Idling = Runtime<'static, Idle, NullSink, RefCell<State<'static>>>;

    /// Calls of every frequent kind on two streams, and what the changes were counted as after each.
    fn changes_of_some_calls(rt: &Idling) -> [u64; 35] {
        let device = DeviceId(0);
        let pool = rt.create_pool(PoolConfig::new(device)).expect("a pool");
        let [a, b] =
            [1, 2].map(|native| rt.create_stream(StreamConfig::new(device, NativeStream(native))).expect("one"));
        let event = rt.create_event().expect("an event");
        let mut counts = [0; 35];
        for (round, counts) in counts.as_chunks_mut::<7>().0.iter_mut().enumerate() {
            let mut places = counts.iter_mut();
            let mut count = || *places.next().expect("seven") = rt.state.borrow().changes();
            let size = Bytes(1000 << round);
            let ptr = rt.malloc_async(pool, size, a).expect("there is room");
            count();
            rt.record_use(ptr, b, UseUntil::Now).expect("it is live");
            count();
            rt.record(event, b).expect("accepted");
            count();
            rt.wait(a, event).expect("accepted");
            count();
            rt.free_async(ptr, a).expect("it is live");
            count();
            assert!(rt.free_async(ptr, a).is_err());
            count();
            rt.synchronize_stream(a).expect("accepted");
            count();
        }
        counts
    }

    #[test]
    fn changes_count_the_same_whether_the_log_is_on_or_off() {
        let on = Box::leak(Box::new(Storage::<4, 4, 8, 4, 64, 64, 4, 8>::new()));
        let off = Box::leak(Box::new(Storage::<4, 4, 8, 4, 64, 64, 4, 0>::new()));
        let [on, off] = [on.arenas(), off.arenas()].map(|arenas| Idling::new(arenas, Idle, NullSink));
        let (with, without) = (changes_of_some_calls(&on), changes_of_some_calls(&off));
        assert_eq!(with, without);
        assert!(with.iter().zip(with.iter().skip(1)).all(|(before, after)| before < after), "{with:?}");
        // Each change is one record.
        let state = on.state.borrow();
        assert_eq!(state.log.next(), state.changes());
        assert_eq!(off.state.borrow().log.next(), 0);
    }

    #[test]
    fn nothing_is_made_for_a_log_that_is_off() {
        let storage = Box::leak(Box::new(Storage::<4, 4, 8, 4, 64, 64, 4, 0>::new()));
        let (mut state, _) = State::new(storage.arenas());
        let made = Cell::new(0);
        let make = |_: &Facts<'_>| {
            made.set(made.get() + 1);
            Record::Lost { records: 0 }
        };
        state.record_frequent(make);
        state.record(Record::Lost { records: 0 });
        assert_eq!((state.changes(), made.get()), (2, 0));
    }
}
