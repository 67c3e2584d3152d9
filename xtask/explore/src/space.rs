//! The pool's arenas, from the heap, and what can be seen of them afterwards.

use crate::op::{EVENTS, STREAMS};
use crate::oracle::MARKERS;
use weir::Arenas;
use weir::slots::{
    Bins, Block, Empty, EventSlot, Granule, HeadWord, Link, MarkerState, Name, PoolSlot, StreamSlot, heads_for,
    words_for,
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
    pub clocks: Vec<Seq>,
    /// One an event.
    pub events: Vec<EventSlot>,
    /// Their clocks.
    pub event_clocks: Vec<Seq>,
    /// One a marker.
    pub markers: Vec<MarkerState>,
    /// Their clocks.
    pub marker_clocks: Vec<Seq>,
    /// The pool.
    pub pools: Vec<PoolSlot>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    snapshots: Vec<Seq>,
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
}

fn slots<T: Empty>(count: usize) -> Vec<T> {
    std::iter::repeat_with(|| T::EMPTY).take(count).collect()
}

impl Default for Space {
    fn default() -> Self {
        Self {
            streams: slots(STREAMS),
            clocks: slots(STREAMS * STREAMS),
            events: slots(EVENTS),
            event_clocks: slots(2 * EVENTS * STREAMS),
            markers: slots(MARKERS),
            marker_clocks: slots(MARKERS * STREAMS),
            pools: slots(1),
            blocks: slots(BLOCKS),
            snapshots: slots(Arenas::SNAPSHOT_ROWS * STREAMS),
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
            clocks: &mut self.clocks,
            events: &mut self.events,
            event_clocks: &mut self.event_clocks,
            markers: &mut self.markers,
            marker_clocks: &mut self.marker_clocks,
            snapshots: &mut self.snapshots,
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
        };
        arenas.clear();
        arenas
    }
}
