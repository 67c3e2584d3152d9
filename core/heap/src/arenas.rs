//! Arenas for a runtime.

use weir::slots::{
    Bins, Block, ClockRows, Empty, EventSlot, Granule, HeadWord, Link, MarkerState, Name, PoolSlot, Singles,
    StreamSlot, bins_for, heads_for, words_for,
};
use weir::trace::{LogStamps, Page};
use weir::units::Seq;
use weir::{Arenas, Capacities};

/// Boxed slices of untouched slots, to be lent to one runtime.
pub struct HeapArenas {
    streams: Box<[StreamSlot]>,
    clocks: Clocks,
    events: Box<[EventSlot]>,
    event_clocks: Clocks,
    markers: Box<[MarkerState]>,
    marker_clocks: Clocks,
    snapshots: Clocks,
    pools: Box<[PoolSlot]>,
    bins: Box<[Bins]>,
    homes: Box<[u16]>,
    heads: Box<[Link]>,
    words: Box<[HeadWord]>,
    blocks: Box<[Block]>,
    block_lookup: Box<[Link]>,
    granules: Box<[Granule]>,
    granule_lookup: Box<[Link]>,
    names: Box<[Name]>,
    pages: Box<[Page]>,
    stream_stamps: Box<[u64]>,
    pool_stamps: Box<[u64]>,
    label_stamps: Box<[u64]>,
    singles: Box<Singles>,
    lent: bool,
}

/// Rows of clock entries.
struct Clocks {
    entries: Box<[Seq]>,
    present: Box<[u64]>,
}

impl Clocks {
    fn new(rows: usize, width: usize) -> Self {
        Self { entries: slots(rows * width), present: slots(rows) }
    }

    fn lend(&mut self) -> ClockRows<'_> {
        ClockRows { entries: &mut self.entries, present: &mut self.present }
    }
}

fn slots<T: Empty>(count: usize) -> Box<[T]> {
    std::iter::repeat_with(|| T::EMPTY).take(count).collect()
}

impl HeapArenas {
    /// Arenas of these capacities.
    ///
    /// # Panics
    /// More than 65,536 streams, or the sizes overflow the address space.
    #[must_use]
    pub fn new(capacities: Capacities) -> Self {
        let c = capacities;
        assert!(c.streams <= 1 << 16, "at most 65,536 streams, not {}", c.streams);
        let (kinds, heads) = (bins_for(c.pools, c.streams), heads_for(c.blocks));
        Self {
            streams: slots(c.streams),
            clocks: Clocks::new(c.streams, c.streams),
            events: slots(c.events),
            event_clocks: Clocks::new(2 * c.events, c.streams),
            markers: slots(c.markers),
            marker_clocks: Clocks::new(c.markers, c.streams),
            snapshots: Clocks::new(Arenas::SNAPSHOT_ROWS, c.streams),
            pools: slots(c.pools),
            bins: slots(kinds),
            homes: slots(Arenas::HOMES * c.pools * c.streams),
            heads: slots(kinds * heads),
            words: slots(kinds * words_for(heads)),
            blocks: slots(c.blocks),
            block_lookup: slots(2 * c.blocks),
            granules: slots(c.granules),
            granule_lookup: slots(2 * c.granules),
            names: slots(c.labels),
            pages: slots(c.pages),
            stream_stamps: slots(c.streams),
            pool_stamps: slots(c.pools),
            label_stamps: slots(c.labels),
            singles: Box::new(Singles::EMPTY),
            lent: false,
        }
    }

    /// How many bytes arenas of these capacities take, or `None` where the number overflows.
    #[must_use]
    pub fn bytes(capacities: Capacities) -> Option<usize> {
        let c = capacities;
        let (kinds, heads) = (bins_for(c.pools, c.streams), heads_for(c.blocks));
        let rows = c.streams.checked_add(c.events.checked_mul(2)?)?;
        let rows = rows.checked_add(c.markers)?.checked_add(Arenas::SNAPSHOT_ROWS)?;
        let parts = [
            (rows.checked_mul(c.streams)?, size_of::<Seq>()),
            (rows, size_of::<u64>()),
            (c.streams, size_of::<StreamSlot>() + size_of::<u64>()),
            (c.events, size_of::<EventSlot>()),
            (c.markers, size_of::<MarkerState>()),
            (c.pools, size_of::<PoolSlot>() + size_of::<u64>()),
            (kinds, size_of::<Bins>()),
            (kinds.checked_mul(heads)?, size_of::<Link>()),
            (kinds.checked_mul(words_for(heads))?, size_of::<HeadWord>()),
            (c.pools.checked_mul(c.streams)?, Arenas::HOMES * size_of::<u16>()),
            (c.blocks, size_of::<Block>() + 2 * size_of::<Link>()),
            (c.granules, size_of::<Granule>() + 2 * size_of::<Link>()),
            (c.labels, size_of::<Name>() + size_of::<u64>()),
            (c.pages, size_of::<Page>()),
            (1, size_of::<Singles>()),
        ];
        parts.iter().try_fold(0usize, |sum, (count, size)| sum.checked_add(count.checked_mul(*size)?))
    }

    /// Lends them; what an earlier runtime left is cleared.
    pub fn lend(&mut self) -> Arenas<'_> {
        let used = std::mem::replace(&mut self.lent, true);
        let mut arenas = self.as_left();
        if used {
            arenas.clear();
        }
        arenas
    }

    /// The arenas as the last runtime left them: to look at, not for another one.
    pub fn as_left(&mut self) -> Arenas<'_> {
        Arenas {
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
            stamps: LogStamps {
                streams: &mut self.stream_stamps,
                pools: &mut self.pool_stamps,
                labels: &mut self.label_stamps,
            },
            singles: &mut self.singles,
        }
    }
}
