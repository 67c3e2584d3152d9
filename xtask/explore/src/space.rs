//! The pool's arenas, from the heap, and what can be seen of them afterwards.

use crate::op::{EVENTS, STREAMS};
use crate::oracle::MARKERS;
use weir::Arenas;
use weir::slots::{
    Bins, Block, ClockRows, Empty, EventSlot, Granule, HeadWord, Link, MarkerState, Name, PoolSlot, Singles,
    StreamSlot, heads_for, words_for,
};
use weir::trace::{LogStamps, Page};
use weir::units::Seq;

const BLOCKS: usize = 12;
const GRANULES: usize = 4;

/// Arenas for one pool.
pub struct Space {
    /// One a stream.
    pub streams: Vec<StreamSlot>,
    /// Their clocks.
    pub clocks: Clocks,
    /// One an event.
    pub events: Vec<EventSlot>,
    /// Their clocks.
    pub event_clocks: Clocks,
    /// One a marker.
    pub markers: Vec<MarkerState>,
    /// Their clocks.
    pub marker_clocks: Clocks,
    /// The pool.
    pub pools: Vec<PoolSlot>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    snapshots: Clocks,
    bins: Vec<Bins>,
    homes: Vec<u16>,
    heads: Vec<Link>,
    words: Vec<HeadWord>,
    block_lookup: Vec<Link>,
    granules: Vec<Granule>,
    granule_lookup: Vec<Link>,
    names: Vec<Name>,
    pages: Vec<Page>,
    stamps: [u64; STREAMS + 2],
    singles: Box<Singles>,
}

/// Rows of clock entries.
pub struct Clocks {
    /// One a stream, row after row.
    pub entries: Vec<Seq>,
    present: Vec<u64>,
}

impl Clocks {
    fn new(rows: usize) -> Self {
        Self { entries: slots(rows * STREAMS), present: slots(rows) }
    }

    fn lend(&mut self) -> ClockRows<'_> {
        ClockRows { entries: &mut self.entries, present: &mut self.present }
    }
}

fn slots<T: Empty>(count: usize) -> Vec<T> {
    std::iter::repeat_with(|| T::EMPTY).take(count).collect()
}

impl Default for Space {
    fn default() -> Self {
        Self {
            streams: slots(STREAMS),
            clocks: Clocks::new(STREAMS),
            events: slots(EVENTS),
            event_clocks: Clocks::new(2 * EVENTS),
            markers: slots(MARKERS),
            marker_clocks: Clocks::new(MARKERS),
            pools: slots(1),
            blocks: slots(BLOCKS),
            snapshots: Clocks::new(Arenas::SNAPSHOT_ROWS),
            bins: slots(Arenas::POOL_BINS),
            homes: slots(Arenas::HOMES * STREAMS),
            heads: slots(Arenas::POOL_BINS * heads_for(0)),
            words: slots(Arenas::POOL_BINS * words_for(heads_for(0))),
            block_lookup: slots(2 * BLOCKS),
            granules: slots(GRANULES),
            granule_lookup: slots(2 * GRANULES),
            names: slots(1),
            pages: Vec::new(),
            stamps: [0; STREAMS + 2],
            singles: Box::new(Singles::EMPTY),
        }
    }
}

impl Space {
    /// Lends the arenas, cleared.
    pub fn lend(&mut self) -> Arenas<'_> {
        let (streams, rest) = self.stamps.split_at_mut(STREAMS);
        let (pools, labels) = rest.split_at_mut(1);
        let mut arenas = Arenas {
            streams: &mut self.streams,
            clocks: self.clocks.lend(),
            events: &mut self.events,
            event_clocks: self.event_clocks.lend(),
            markers: &mut self.markers,
            marker_clocks: self.marker_clocks.lend(),
            snapshots: self.snapshots.lend(),
            pools: &mut self.pools,
            bins: &mut self.bins,
            homes: &mut self.homes,
            heads: &mut self.heads,
            words: &mut self.words,
            blocks: &mut self.blocks,
            block_lookup: &mut self.block_lookup,
            granules: &mut self.granules,
            granule_lookup: &mut self.granule_lookup,
            names: &mut self.names,
            pages: &mut self.pages,
            stamps: LogStamps { streams, pools, labels },
            singles: &mut self.singles,
        };
        arenas.clear();
        arenas
    }
}
