//! The storage that the embedder gives: arenas of a fixed capacity, all zero when untouched.

use super::state::{Freed, RECENT};
use crate::arena::{Empty, Link};
use crate::bins::{HeadWord, LEAST_HEADS, words_for};
use crate::block::{Block, MAX_BLOCKS, MAX_POOLS};
use crate::free_index::{Bins, HOMES, POOL_BINS};
use crate::granule::Granule;
use crate::id::MAX_DEVICES;
use crate::name::Name;
use crate::order::{ClockRows, EventSlot, MarkerState, SNAPSHOTS, StreamSlot};
use crate::pool::{Device, PoolSlot};
use crate::trace::{LogStamps, Page, Spill};
use crate::units::Seq;

/// How many of each a runtime can hold. Memory for clocks grows with `streams * (streams + 2 * events + markers)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacities {
    /// Streams at once, at most 65,536.
    pub streams: usize,
    /// Events at once.
    pub events: usize,
    /// Markers of weir's own at once.
    pub markers: usize,
    /// Pools at once, at most 512.
    pub pools: usize,
    /// Blocks at once: live, free and holes together; at most 16,777,214.
    pub blocks: usize,
    /// Granules at once.
    pub granules: usize,
    /// Names of labels and marks.
    pub labels: usize,
    /// Pages of the log that wait for the sink. Zero: no log.
    pub pages: usize,
}

impl Default for Capacities {
    /// Enough for one process on one accelerator; about 12 MB.
    fn default() -> Self {
        Self {
            streams: 64,
            events: 1024,
            markers: 256,
            pools: 16,
            blocks: 65_536,
            granules: 32_768,
            labels: 1024,
            pages: 16,
        }
    }
}

const WORDS: usize = words_for(LEAST_HEADS);

/// The slices that a runtime lives in. All must be untouched (all zero); [`Arenas::clear`] makes used ones so.
pub struct Arenas<'a> {
    /// One a stream.
    pub streams: &'a mut [StreamSlot],
    /// One row a stream, one entry a stream.
    pub clocks: ClockRows<'a>,
    /// One an event.
    pub events: &'a mut [EventSlot],
    /// Two rows an event, one entry a stream.
    pub event_clocks: ClockRows<'a>,
    /// One a marker.
    pub markers: &'a mut [MarkerState],
    /// One row a marker, one entry a stream.
    pub marker_clocks: ClockRows<'a>,
    /// `SNAPSHOT_ROWS` rows, one entry a stream.
    pub snapshots: ClockRows<'a>,
    /// One a pool.
    pub pools: &'a mut [PoolSlot],
    /// Kinds of free blocks that are kept apart: `POOL_BINS` a pool or more. All but five of each pool's are for whichever
    /// streams have freed; where they run out, blocks are kept with others and judged one by one.
    pub bins: &'a mut [Bins],
    /// `HOMES` for each pool and stream.
    pub homes: &'a mut [u16],
    /// [`heads_for`](crate::slots::heads_for) the blocks, for each of `bins`.
    pub heads: &'a mut [Link],
    /// [`words_for`](crate::slots::words_for) those heads, for each of `bins`.
    pub words: &'a mut [HeadWord],
    /// One a block.
    pub blocks: &'a mut [Block],
    /// Two a block.
    pub block_lookup: &'a mut [Link],
    /// One a granule.
    pub granules: &'a mut [Granule],
    /// Two a granule.
    pub granule_lookup: &'a mut [Link],
    /// One a label.
    pub names: &'a mut [Name],
    /// One a page.
    pub pages: &'a mut [Page],
    /// What each page of the log has defined.
    pub stamps: LogStamps<'a>,
    /// What there is one of.
    pub singles: &'a mut Singles,
}

/// What a runtime has one of, whatever its capacities. Lent like the arenas, since it is too large to travel through the
/// stack while a runtime is made.
pub struct Singles {
    /// The page that is on its way to the sink.
    pub(super) page: Page,
    /// The latest frees.
    pub(super) freed: [Freed; RECENT],
    /// The devices that were named.
    pub(super) devices: heapless::Vec<Device, MAX_DEVICES>,
    /// What the log needs at a page's end.
    pub(super) spill: Spill,
    /// What is met where a slot is missing.
    pub(super) sentinels: Sentinels,
}

impl Empty for Singles {
    const EMPTY: Self = Self {
        page: Page::EMPTY,
        freed: [Freed::NONE; RECENT],
        devices: heapless::Vec::new(),
        spill: Spill::EMPTY,
        sentinels: Sentinels::EMPTY,
    };
}

/// One slot beside each arena.
pub(super) struct Sentinels {
    pub(super) stream: StreamSlot,
    pub(super) event: EventSlot,
    pub(super) marker: MarkerState,
    pub(super) pool: PoolSlot,
    pub(super) bins: Bins,
    pub(super) home: u16,
    pub(super) head: Link,
    pub(super) word: HeadWord,
    pub(super) block: Block,
    pub(super) granule: Granule,
}

impl Empty for Sentinels {
    const EMPTY: Self = Self {
        stream: StreamSlot::EMPTY,
        event: EventSlot::EMPTY,
        marker: MarkerState::EMPTY,
        pool: PoolSlot::EMPTY,
        bins: Bins::EMPTY,
        home: 0,
        head: Link::NONE,
        word: HeadWord::EMPTY,
        block: Block::EMPTY,
        granule: Granule::EMPTY,
    };
}

impl Arenas<'_> {
    /// Rows of `snapshots`.
    pub const SNAPSHOT_ROWS: usize = SNAPSHOTS;

    /// Of `bins`, so many for each pool at least.
    pub const POOL_BINS: usize = POOL_BINS;

    /// Of `homes`, those for each pool and stream.
    pub const HOMES: usize = HOMES;

    pub(super) fn capacities(&self) -> Capacities {
        Capacities {
            streams: self.streams.len(),
            events: self.events.len(),
            markers: self.markers.len(),
            pools: self.pools.len(),
            blocks: self.blocks.len(),
            granules: self.granules.len(),
            labels: self.names.len(),
            pages: self.pages.len(),
        }
    }

    /// Empties every arena, so that storage can be lent again. Pages and stamps are left: the log overwrites them.
    pub fn clear(&mut self) {
        fn empty<T: Empty>(slots: &mut [T]) {
            slots.fill_with(|| T::EMPTY);
        }
        empty(self.streams);
        empty(self.events);
        empty(self.markers);
        empty(self.pools);
        empty(self.bins);
        self.homes.fill(0);
        self.heads.fill(Link::NONE);
        empty(self.words);
        empty(self.blocks);
        empty(self.granules);
        empty(self.names);
        for rows in [&mut self.clocks, &mut self.event_clocks, &mut self.marker_clocks, &mut self.snapshots] {
            rows.clear();
        }
        self.block_lookup.fill(Link::NONE);
        self.granule_lookup.fill(Link::NONE);
        self.singles.freed.fill(Freed::NONE);
        self.singles.devices.clear();
        self.singles.sentinels = Sentinels::EMPTY;
    }
}

/// Storage of constant capacity. As a `static` behind a mutex it lies in .bss; `spin::MutexGuard::leak` lends it for
/// ever without unsafe code.
pub struct Storage<
    const STREAMS: usize,
    const EVENTS: usize,
    const MARKERS: usize,
    const POOLS: usize,
    const BLOCKS: usize,
    const GRANULES: usize,
    const LABELS: usize,
    const PAGES: usize,
> {
    streams: [StreamSlot; STREAMS],
    clocks: [[Seq; STREAMS]; STREAMS],
    clocks_present: [u64; STREAMS],
    events: [EventSlot; EVENTS],
    event_clocks: [[[Seq; STREAMS]; 2]; EVENTS],
    event_clocks_present: [[u64; 2]; EVENTS],
    markers: [MarkerState; MARKERS],
    marker_clocks: [[Seq; STREAMS]; MARKERS],
    marker_clocks_present: [u64; MARKERS],
    snapshots: [[Seq; STREAMS]; SNAPSHOTS],
    snapshots_present: [u64; SNAPSHOTS],
    pools: [PoolSlot; POOLS],
    bins: [[Bins; POOL_BINS]; POOLS],
    homes: [[[u16; HOMES]; STREAMS]; POOLS],
    heads: [[[Link; LEAST_HEADS]; POOL_BINS]; POOLS],
    words: [[[HeadWord; WORDS]; POOL_BINS]; POOLS],
    blocks: [Block; BLOCKS],
    block_lookup: [[Link; 2]; BLOCKS],
    granules: [Granule; GRANULES],
    granule_lookup: [[Link; 2]; GRANULES],
    names: [Name; LABELS],
    pages: [Page; PAGES],
    stream_stamps: [u64; STREAMS],
    pool_stamps: [u64; POOLS],
    label_stamps: [u64; LABELS],
    singles: Singles,
    lent: bool,
}

impl<
    const STREAMS: usize,
    const EVENTS: usize,
    const MARKERS: usize,
    const POOLS: usize,
    const BLOCKS: usize,
    const GRANULES: usize,
    const LABELS: usize,
    const PAGES: usize,
> Storage<STREAMS, EVENTS, MARKERS, POOLS, BLOCKS, GRANULES, LABELS, PAGES>
{
    /// Untouched storage.
    #[must_use]
    pub const fn new() -> Self {
        const {
            assert!(STREAMS <= 1 << 16, "at most 65,536 streams");
            assert!(POOLS <= MAX_POOLS, "at most 512 pools");
            assert!(BLOCKS <= MAX_BLOCKS, "at most 16,777,214 blocks");
        }
        Self {
            streams: [const { StreamSlot::EMPTY }; STREAMS],
            clocks: [[Seq::ZERO; STREAMS]; STREAMS],
            clocks_present: [0; STREAMS],
            events: [const { EventSlot::EMPTY }; EVENTS],
            event_clocks: [[[Seq::ZERO; STREAMS]; 2]; EVENTS],
            event_clocks_present: [[0; 2]; EVENTS],
            markers: [const { MarkerState::EMPTY }; MARKERS],
            marker_clocks: [[Seq::ZERO; STREAMS]; MARKERS],
            marker_clocks_present: [0; MARKERS],
            snapshots: [[Seq::ZERO; STREAMS]; SNAPSHOTS],
            snapshots_present: [0; SNAPSHOTS],
            pools: [const { PoolSlot::EMPTY }; POOLS],
            bins: [[const { Bins::EMPTY }; POOL_BINS]; POOLS],
            homes: [[[0; HOMES]; STREAMS]; POOLS],
            heads: [[[Link::NONE; LEAST_HEADS]; POOL_BINS]; POOLS],
            words: [[[HeadWord::EMPTY; WORDS]; POOL_BINS]; POOLS],
            blocks: [const { Block::EMPTY }; BLOCKS],
            block_lookup: [[Link::NONE; 2]; BLOCKS],
            granules: [const { Granule::EMPTY }; GRANULES],
            granule_lookup: [[Link::NONE; 2]; GRANULES],
            names: [const { Name::EMPTY }; LABELS],
            pages: [const { Page::EMPTY }; PAGES],
            stream_stamps: [0; STREAMS],
            pool_stamps: [0; POOLS],
            label_stamps: [0; LABELS],
            singles: Singles::EMPTY,
            lent: false,
        }
    }

    /// Lends the storage to a runtime; what an earlier runtime left is cleared.
    pub fn arenas(&mut self) -> Arenas<'_> {
        let used = core::mem::replace(&mut self.lent, true);
        let mut arenas = Arenas {
            streams: &mut self.streams,
            clocks: ClockRows { entries: self.clocks.as_flattened_mut(), present: &mut self.clocks_present },
            events: &mut self.events,
            event_clocks: ClockRows {
                entries: self.event_clocks.as_flattened_mut().as_flattened_mut(),
                present: self.event_clocks_present.as_flattened_mut(),
            },
            markers: &mut self.markers,
            marker_clocks: ClockRows {
                entries: self.marker_clocks.as_flattened_mut(),
                present: &mut self.marker_clocks_present,
            },
            snapshots: ClockRows { entries: self.snapshots.as_flattened_mut(), present: &mut self.snapshots_present },
            pools: &mut self.pools,
            bins: self.bins.as_flattened_mut(),
            homes: self.homes.as_flattened_mut().as_flattened_mut(),
            heads: self.heads.as_flattened_mut().as_flattened_mut(),
            words: self.words.as_flattened_mut().as_flattened_mut(),
            blocks: &mut self.blocks,
            block_lookup: self.block_lookup.as_flattened_mut(),
            granules: &mut self.granules,
            granule_lookup: self.granule_lookup.as_flattened_mut(),
            names: &mut self.names,
            pages: &mut self.pages,
            stamps: LogStamps {
                streams: &mut self.stream_stamps,
                pools: &mut self.pool_stamps,
                labels: &mut self.label_stamps,
            },
            singles: &mut self.singles,
        };
        if used {
            arenas.clear();
        }
        arenas
    }
}

impl<
    const STREAMS: usize,
    const EVENTS: usize,
    const MARKERS: usize,
    const POOLS: usize,
    const BLOCKS: usize,
    const GRANULES: usize,
    const LABELS: usize,
    const PAGES: usize,
> Default for Storage<STREAMS, EVENTS, MARKERS, POOLS, BLOCKS, GRANULES, LABELS, PAGES>
{
    fn default() -> Self {
        Self::new()
    }
}
