//! What a rebuilt runtime lives in: arenas of the capacities that its log states, from the process's heap.

use weir::slots::{
    Bins, Block, ClockRows, Empty, EventSlot, Granule, HeadWord, Link, MarkerState, Name, PoolSlot, Singles,
    StreamSlot, bins_for, heads_for, words_for,
};
use weir::trace::{LogStamps, Page};
use weir::units::Seq;
use weir::{Arenas, Capacities};

/// No runtime has more: a log that says so is damaged.
const MOST_STREAMS: usize = 1 << 16;
const MOST_POOLS: usize = 512;
const MOST_BLOCKS: usize = 1 << 24;

macro_rules! storage {
    ($($field:ident: $slot:ty;)+) => {
        /// Untouched slots, to be lent to one runtime.
        pub struct Storage { $($field: Box<[$slot]>,)+ }

        /// How many there are of each.
        struct Counts { $($field: usize,)+ }

        impl Storage {
            fn of(counts: &Counts) -> Self {
                Self { $($field: std::iter::repeat_with(|| <$slot>::EMPTY).take(counts.$field).collect(),)+ }
            }
        }

        impl Counts {
            fn bytes(&self) -> Option<u64> {
                let parts = [$((self.$field, size_of::<$slot>()),)+];
                let bytes = parts.iter().try_fold(0_usize, |sum, (count, size)| sum.checked_add(count.checked_mul(*size)?));
                bytes.and_then(|bytes| u64::try_from(bytes).ok())
            }
        }
    };
}
storage! {
    streams: StreamSlot;
    clocks: Seq;
    clock_rows: u64;
    events: EventSlot;
    event_clocks: Seq;
    event_rows: u64;
    markers: MarkerState;
    marker_clocks: Seq;
    marker_rows: u64;
    snapshots: Seq;
    snapshot_rows: u64;
    pools: PoolSlot;
    bins: Bins;
    homes: u16;
    heads: Link;
    words: HeadWord;
    blocks: Block;
    block_lookup: Link;
    granules: Granule;
    granule_lookup: Link;
    names: Name;
    pages: Page;
    stream_stamps: u64;
    pool_stamps: u64;
    label_stamps: u64;
    singles: Singles;
}

impl Counts {
    /// `None`: no runtime has so many, or memory has not so many bytes.
    fn of(c: &Capacities) -> Option<Self> {
        if c.streams > MOST_STREAMS || c.pools > MOST_POOLS || c.blocks >= MOST_BLOCKS {
            return None;
        }
        let rows = |rows: usize| rows.checked_mul(c.streams);
        let twice = |slots: usize| slots.checked_mul(2);
        let (bins, heads) = (bins_for(c.pools, c.streams), heads_for(c.blocks));
        Some(Self {
            streams: c.streams,
            clocks: rows(c.streams)?,
            clock_rows: c.streams,
            events: c.events,
            event_clocks: rows(twice(c.events)?)?,
            event_rows: twice(c.events)?,
            markers: c.markers,
            marker_clocks: rows(c.markers)?,
            marker_rows: c.markers,
            snapshots: rows(Arenas::SNAPSHOT_ROWS)?,
            snapshot_rows: Arenas::SNAPSHOT_ROWS,
            pools: c.pools,
            bins,
            homes: rows(Arenas::HOMES * c.pools)?,
            heads: bins.checked_mul(heads)?,
            words: bins.checked_mul(words_for(heads))?,
            blocks: c.blocks,
            block_lookup: twice(c.blocks)?,
            granules: c.granules,
            granule_lookup: twice(c.granules)?,
            names: c.labels,
            pages: c.pages,
            stream_stamps: c.streams,
            pool_stamps: c.pools,
            label_stamps: c.labels,
            singles: 1,
        })
    }
}

impl Storage {
    /// Storage of these capacities; `None` where no runtime has such.
    #[must_use]
    pub fn new(capacities: &Capacities) -> Option<Self> {
        let counts = Counts::of(capacities)?;
        counts.bytes()?;
        Some(Self::of(&counts))
    }

    /// How many bytes it takes; `None` where no runtime has such capacities.
    #[must_use]
    pub fn bytes(capacities: &Capacities) -> Option<u64> {
        Counts::of(capacities)?.bytes()
    }

    /// Lends it to a runtime. What an earlier one left is cleared.
    pub fn lend(&mut self) -> Arenas<'_> {
        let mut arenas = Arenas {
            streams: &mut self.streams,
            clocks: ClockRows { entries: &mut self.clocks, present: &mut self.clock_rows },
            events: &mut self.events,
            event_clocks: ClockRows { entries: &mut self.event_clocks, present: &mut self.event_rows },
            markers: &mut self.markers,
            marker_clocks: ClockRows { entries: &mut self.marker_clocks, present: &mut self.marker_rows },
            snapshots: ClockRows { entries: &mut self.snapshots, present: &mut self.snapshot_rows },
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
            singles: &mut self.singles[0],
        };
        arenas.clear();
        arenas
    }
}
