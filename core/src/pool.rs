//! Pools: settings and counts. A pool is a reserved address range, a limit and a policy.

use crate::arena::{Empty, Link, Slots};
use crate::asking::Asking;
use crate::demand::Demand;
use crate::driver::Properties;
use crate::error::BadId;
use crate::id::{DeviceId, PoolId};
use crate::moves::Moves;
use crate::order::Level;
use crate::plant::{self, Plant};
use crate::policy::{Growth, PoolConfig, Preference, Reuse, Tuning};
use crate::trace::Source;
use crate::units::{Bytes, DevicePtr};

/// What a pool slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    #[default]
    Vacant,
    /// Its address range is being reserved.
    Coming,
    /// A pool.
    Live,
    /// Being destroyed: calls in flight that name it come to their end.
    Closing,
    /// A destroyed pool whose memory could not all be given back yet.
    Dying,
    /// A destroyed pool without memory, whose address range is being given back.
    Leaving,
}

/// One pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolSlot {
    pub(crate) generation: u32,
    pub(crate) standing: Standing,
    pub(crate) device: DeviceId,
    pub(crate) reuse: Reuse,
    pub(crate) preference: Preference,
    pub(crate) maps_in_order: bool,
    pub(crate) base: u64,
    pub(crate) range: u64,
    pub(crate) limit: u64,
    pub(crate) threshold: u64,
    pub(crate) small_limit: u64,
    pub(crate) tuning: Tuning,
    pub(crate) demand: Demand,
    pub(crate) moves: Moves,
    pub(crate) asking: Asking,
    /// Down to so many reserved bytes a synchronisation releases: the threshold, or more where that pays.
    pub(crate) kept: u64,
    pub(crate) granularity: u64,
    pub(crate) alignment: u64,
    /// The first block of the range.
    pub(crate) first: Link,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) requested: u64,
    pub(crate) requested_high: u64,
    /// Physical bytes: mapped, in transit and quarantined.
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    /// Physical bytes that calls in flight are about to create.
    pub(crate) coming: u64,
    pub(crate) frees: u64,
    pub(crate) refused: u64,
    pub(crate) by_source: [u64; Source::ALL.len()],
    /// Calls in flight that name the pool.
    pub(crate) pins: u32,
    /// Runs of granules that calls in flight are mapping or unmapping.
    pub(crate) transits: u32,
    /// Blocks that could not be unmapped.
    pub(crate) set_aside: u32,
}

impl Empty for PoolSlot {
    const EMPTY: Self = Self {
        generation: 0,
        standing: Standing::Vacant,
        device: DeviceId(0),
        reuse: Reuse::empty(),
        preference: Preference::GrowFirst,
        maps_in_order: false,
        base: 0,
        range: 0,
        limit: 0,
        threshold: 0,
        small_limit: 0,
        tuning: Tuning::DEFAULT,
        demand: Demand::NONE,
        moves: Moves::NONE,
        asking: Asking::NONE,
        kept: 0,
        granularity: 0,
        alignment: 0,
        first: Link::NONE,
        used: 0,
        used_high: 0,
        requested: 0,
        requested_high: 0,
        reserved: 0,
        reserved_high: 0,
        coming: 0,
        frees: 0,
        refused: 0,
        by_source: [0; Source::ALL.len()],
        pins: 0,
        transits: 0,
        set_aside: 0,
    };
}

/// The slot of a live pool.
#[inline]
pub(crate) fn find(pools: &Slots<'_, PoolSlot>, id: PoolId) -> Result<usize, BadId> {
    match pools.look(id.slot()) {
        Some(pool) if pool.generation == id.generation() && pool.standing == Standing::Live => Ok(id.slot()),
        pool => Err(what_is_bad(id, pool.map_or(0, |pool| pool.generation))),
    }
}

#[cold]
fn what_is_bad(id: PoolId, latest: u32) -> BadId {
    let ever = id.generation() > 0 && id.generation() <= latest;
    if ever { BadId::StalePool(id) } else { BadId::UnknownPool(id) }
}

impl PoolSlot {
    /// Whose knowledge of completion the pool allocates by: with switch 2 off only the program's, so that placement
    /// does not depend on timing.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        if self.reuse.contains(Reuse::OPPORTUNISTIC) { Level::Known } else { Level::Seen }
    }

    /// Whether points of the pool's blocks want markers.
    pub(crate) fn wants_markers(&self) -> bool {
        self.standing == Standing::Live && self.reuse.intersects(Reuse::OPPORTUNISTIC | Reuse::INTERNAL)
    }

    /// The first granule boundary at or after `at`.
    pub(crate) fn granule_up(&self, at: u64) -> u64 {
        let mask = self.granularity.wrapping_sub(1);
        at.wrapping_add(mask) & !mask
    }

    /// The last granule boundary at or before `at`.
    pub(crate) fn granule_down(&self, at: u64) -> u64 {
        at & !self.granularity.wrapping_sub(1)
    }

    /// The whole granules inside `[from, to)`.
    pub(crate) fn whole_granules(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let (from, to) = (self.granule_up(from), self.granule_down(to));
        (from < to).then_some((from, to))
    }

    pub(crate) fn begin_transit(&mut self) {
        self.transits = self.transits.wrapping_add(1);
    }

    pub(crate) fn end_transit(&mut self) {
        self.transits = self.transits.wrapping_sub(1);
    }

    /// Bytes that may still be created.
    pub(crate) fn headroom(&self) -> u64 {
        let coming = if plant::on(Plant::UncountedTransit) { 0 } else { self.coming };
        self.limit.saturating_sub(self.reserved).saturating_sub(coming)
    }

    pub(crate) fn holds(&self, at: u64) -> bool {
        self.standing == Standing::Live && self.base <= at && at.wrapping_sub(self.base) < self.range
    }

    #[inline]
    pub(crate) fn add_used(&mut self, given: u64, asked: u64, source: Source) {
        self.used = self.used.wrapping_add(given);
        // Comparing and jumping is cheaper than storing a maximum that is seldom a new one.
        if self.used > self.used_high {
            self.used_high = self.used;
        }
        self.demand.note_used(self.used);
        self.moves.note_malloc();
        self.requested = self.requested.wrapping_add(asked);
        if self.requested > self.requested_high {
            self.requested_high = self.requested;
        }
        if let Some(count) = self.by_source.get_mut(source as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// A block was freed and got back.
    #[inline]
    pub(crate) fn undo_free(&mut self) {
        self.frees = self.frees.wrapping_add(1);
        let [same_stream, ..] = &mut self.by_source;
        *same_stream = same_stream.wrapping_add(1);
    }

    /// So many bytes are asked for of a block, instead of those before.
    pub(crate) fn ask_again(&mut self, before: u64, asked: u64) {
        self.requested = self.requested.wrapping_sub(before).wrapping_add(asked);
        self.requested_high = self.requested_high.max(self.requested);
    }

    /// Successful mallocs.
    pub(crate) fn mallocs(&self) -> u64 {
        self.by_source.iter().fold(0, |sum, count| sum.wrapping_add(*count))
    }

    /// Blocks that were not freed yet.
    pub(crate) fn live_blocks(&self) -> u64 {
        self.mallocs().wrapping_sub(self.frees)
    }

    #[inline]
    pub(crate) fn take_used(&mut self, given: u64, asked: u64) {
        self.used = self.used.wrapping_sub(given);
        self.requested = self.requested.wrapping_sub(asked);
        self.frees = self.frees.wrapping_add(1);
    }

    pub(crate) fn add_reserved(&mut self, bytes: u64) {
        self.demand.note_created(bytes);
        self.reserved = self.reserved.wrapping_add(bytes);
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    pub(crate) fn take_reserved(&mut self, bytes: u64) {
        self.reserved = self.reserved.wrapping_sub(bytes);
    }

    /// Up to so many bytes are left beyond the threshold.
    pub(crate) fn kept_beyond(&self) -> u64 {
        self.kept.saturating_sub(self.threshold)
    }

    /// Bytes that may be created for a malloc of `size` although they could be moved.
    pub(crate) fn spare(&self, size: u64) -> u64 {
        let needed = self.demand.wanted().max(self.used.saturating_add(size));
        let worth = self.moves.worth(needed, self.granularity);
        let held = self.reserved.saturating_add(self.coming);
        self.granule_down(worth.saturating_sub(held).min(self.headroom()))
    }

    /// Bytes of an eager growth in whole granules; 0: frugal.
    pub(crate) fn step(&self) -> u64 {
        match self.tuning.growth {
            Growth::Frugal => 0,
            Growth::Eager(step) => self.granule_up(step.0.min(self.limit)),
        }
    }

    /// The pool's settings as they stand now.
    pub(crate) fn config(&self) -> PoolConfig {
        PoolConfig {
            device: self.device,
            limit: Bytes(self.limit),
            threshold: Bytes(self.threshold),
            reuse: self.reuse,
            preference: self.preference,
            small_limit: Some(Bytes(self.small_limit)),
            tuning: self.tuning,
        }
    }
}

/// A device that a pool or stream was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    pub(crate) properties: Properties,
    pub(crate) default_pool: Option<PoolId>,
    pub(crate) streams: u32,
    /// Frees that still get a marker although there is one stream: a growth met unsettled free memory.
    pub(crate) burst: u32,
}

/// Counts of one pool, as they stand at the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PoolStats {
    /// First address of the pool's range.
    pub base: DevicePtr,
    /// Bytes of addresses.
    pub range: Bytes,
    /// Bytes in live blocks, and the most since the last reset.
    pub used: Bytes,
    /// The most of `used`.
    pub used_high: Bytes,
    /// Bytes that were asked for, of live blocks.
    pub requested: Bytes,
    /// The most of `requested`.
    pub requested_high: Bytes,
    /// Physical bytes held.
    pub reserved: Bytes,
    /// The most of `reserved`.
    pub reserved_high: Bytes,
    /// Live blocks.
    pub live_blocks: u64,
    /// Successful mallocs.
    pub mallocs: u64,
    /// Successful frees.
    pub frees: u64,
    /// Refused mallocs.
    pub refused: u64,
    /// Bytes that a synchronisation released and that were created again before the next.
    pub thrash: Bytes,
    /// Up to so many reserved bytes are left beyond the threshold at a synchronisation, since releasing them did not pay;
    /// see [`Release::Hysteresis`](crate::policy::Release::Hysteresis).
    pub kept: Bytes,
    /// Bytes that were created although free granules could have been moved, since the pool had moved some again and again.
    pub spared: Bytes,
    /// Mallocs by what they relied on, in the order of [`Source::ALL`].
    pub by_source: [u64; Source::ALL.len()],
}
