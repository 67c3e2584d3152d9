//! Everything under the lock: the facts, the log, and the health of the whole.

use super::{Action, Arenas, Outcome};
use crate::arena::Slots;
use crate::block::Blocks;
use crate::driver::{Completion, DriverError, MarkerSlot, NativeStream};
use crate::error::{Corrupt, Unusable};
use crate::facts::Facts;
use crate::free_index::{FreeIndex, IndexArenas};
use crate::granule::Granules;
use crate::id::{AllocId, DeviceId};
use crate::name::Names;
use crate::order::{Mark, Order, OrderArenas};
use crate::trace::{self, Log, Record};
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
    allocations: u64,
    frees: u64,
    /// The latest frees, so that a double free is named although the block has merged since.
    recent: [Freed; RECENT],
}

/// How many frees are remembered by name.
const RECENT: usize = 64;

/// A free that is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) at: u64,
    pub(crate) id: AllocId,
    pub(crate) mark: Mark,
}

impl<'a> State<'a> {
    pub(super) fn new(arenas: Arenas<'a>) -> Self {
        let capacities = arenas.capacities();
        let order = Order::new(OrderArenas {
            streams: arenas.streams,
            clocks: arenas.clocks,
            events: arenas.events,
            event_clocks: arenas.event_clocks,
            markers: arenas.markers,
            marker_clocks: arenas.marker_clocks,
            snapshots: arenas.snapshots,
        });
        let index = IndexArenas { bins: arenas.bins, homes: arenas.homes, heads: arenas.heads, words: arenas.words };
        let facts = Facts {
            order,
            blocks: Blocks::new(arenas.blocks, arenas.block_lookup),
            index: FreeIndex::new(index, capacities.pools, capacities.streams),
            granules: Granules::new(arenas.granules, arenas.granule_lookup),
            pools: Slots::new(arenas.pools),
            devices: heapless::Vec::new(),
            names: Names::new(arenas.names),
        };
        Self {
            facts,
            log: Log::new(arenas.pages, arenas.stamps),
            counters: Counters::default(),
            time: Nanos::ZERO,
            corrupt: None,
            capacities,
            calls: 0,
            changes: 0,
            allocations: 0,
            frees: 0,
            recent: [Freed { at: 0, id: AllocId(0), mark: Mark { stream: 0, seq: Seq::ZERO } }; RECENT],
        }
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
    pub(super) fn begin(&mut self, now: Nanos) -> Result<(), Unusable> {
        self.set_time(now);
        if self.facts.strayed() {
            self.fail("an accessor missed its arena");
        }
        match self.corrupt {
            Some(corrupt) => Err(Unusable::Corrupt(corrupt)),
            None => Ok(()),
        }
    }

    /// Two threads may read the clock in one order and enter in the other.
    pub(super) fn set_time(&mut self, now: Nanos) {
        self.time = self.time.max(now);
    }

    /// A contradiction was found: further calls are refused.
    pub(crate) fn fail(&mut self, place: &'static str) {
        self.corrupt = self.corrupt.or(Some(Corrupt(place)));
    }

    pub(crate) fn record(&mut self, record: Record<'_>) {
        self.changes = self.changes.wrapping_add(1);
        self.log.append(self.time, record, &self.facts);
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

    /// A number for a free, which is remembered.
    pub(crate) fn next_free(&mut self, freed: Freed) -> u64 {
        self.frees = self.frees.wrapping_add(1);
        if let Some(place) = self.recent.get_mut(self.frees as usize % RECENT) {
            *place = freed;
        }
        self.frees
    }

    /// The remembered free of the block that began at `at`.
    pub(crate) fn recent_free(&self, at: u64) -> Option<Freed> {
        self.recent.iter().filter(|freed| freed.at == at).max_by_key(|freed| freed.id).copied()
    }

    /// Counts a driver call that a plan asked for, and logs its failure.
    pub(super) fn count(&mut self, action: Action, outcome: &Outcome) {
        if let Err(error) = *outcome {
            self.note_driver_failure(error);
            return;
        }
        let counters = &mut self.counters;
        let counter = match action {
            Action::Create { .. } => &mut counters.create,
            Action::Destroy { .. } => &mut counters.destroy,
            Action::Map { .. } => &mut counters.map,
            Action::Unmap { .. } => &mut counters.unmap,
            Action::Lay { .. } => &mut counters.mark,
            Action::Query { .. } => &mut counters.query,
            Action::Wait { .. } => &mut counters.wait,
            Action::Synchronise { .. } => &mut counters.synchronise,
            Action::Press { .. } => &mut counters.pressed,
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

    /// Lays a marker behind the stream's open frees and uses, where the device's pools want one.
    pub(super) fn plan_marker(&mut self, stream: usize) -> Option<(Lay, Action)> {
        self.marker_due(stream).then(|| self.lay_marker(stream, self.native(stream)))?
    }

    /// Whether a marker is to be laid behind the stream's open frees and uses. O(1) where there are none, else O(pools).
    #[inline]
    pub(super) fn marker_due(&self, stream: usize) -> bool {
        let slot = self.facts.order.stream(stream);
        self.facts.order.is_open(stream) && !slot.capturing && self.facts.wants_markers(slot.device)
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
            let device = self.facts.order.stream(lay.mark.stream).device;
            if let Some(device) = self.facts.device_mut(device) {
                device.burst = device.burst.saturating_sub(1);
            }
            let point = self.facts.order.point(lay.mark);
            self.record(Record::MarkerLaid { marker: lay.marker as u32, stream: point.stream, seq: point.seq });
        }
    }

    /// A growth met free memory whose work was unfinished: the next frees get markers, even with one stream.
    pub(super) fn begin_burst(&mut self, device: DeviceId) {
        if let Some(device) = self.facts.device_mut(device) {
            device.burst = BURST;
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
