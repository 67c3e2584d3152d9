//! What a runtime's storage takes, arena by arena.

use weir::slots::ClockRows;
use weir::trace::{LogStamps, NullSink};
use weir::{Arenas, Capacities, Shared};
use weir_heap::HeapArenas;

/// One arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
}

/// The arenas of a runtime, and the runtime itself with a spinning lock, without its driver and sink.
pub(crate) fn parts(capacities: Capacities) -> Vec<Part> {
    let mut arenas = HeapArenas::new(capacities);
    // Without `..`: whoever adds an arena is led here.
    let Arenas {
        streams,
        clocks,
        events,
        event_clocks,
        markers,
        marker_clocks,
        snapshots,
        pools,
        bins,
        homes,
        heads,
        words,
        blocks,
        block_lookup,
        granules,
        granule_lookup,
        names,
        pages,
        stamps: LogStamps { streams: stream_stamps, pools: pool_stamps, labels: label_stamps },
        singles,
    } = arenas.lend();
    let part = |name, bytes| Part { name, bytes };
    let rows = |rows: &ClockRows<'_>| size_of_val(&*rows.entries) + size_of_val(&*rows.present);
    vec![
        part("blocks", size_of_val(blocks)),
        part("block lookup", size_of_val(block_lookup)),
        part("bins", size_of_val(bins) + size_of_val(homes)),
        part("bin heads", size_of_val(heads) + size_of_val(words)),
        part("granules", size_of_val(granules)),
        part("granule lookup", size_of_val(granule_lookup)),
        part("streams", size_of_val(streams)),
        part("clocks", rows(&clocks)),
        part("events", size_of_val(events)),
        part("event clocks", rows(&event_clocks)),
        part("markers", size_of_val(markers)),
        part("marker clocks", rows(&marker_clocks)),
        part("snapshots", rows(&snapshots)),
        part("pools", size_of_val(pools)),
        part("names", size_of_val(names)),
        part("log pages", size_of_val(pages)),
        part("log stamps", size_of_val(stream_stamps) + size_of_val(pool_stamps) + size_of_val(label_stamps)),
        part("singles", size_of_val(singles)),
        part("runtime", size_of::<Shared<'static, (), NullSink>>()),
    ]
}

/// All parts together.
pub(crate) fn total(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.bytes).sum()
}

/// What one more block takes, in whichever arenas.
pub(crate) fn per_block() -> f64 {
    const MORE: usize = 1 << 14;
    let few = Capacities::default();
    let many = Capacities { blocks: few.blocks + MORE, ..few };
    (total(&parts(many)) - total(&parts(few))) as f64 / MORE as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::Storage;

    const FEW: Capacities =
        Capacities { streams: 4, events: 8, markers: 8, pools: 2, blocks: 64, granules: 32, labels: 4, pages: 2 };

    #[test]
    fn the_parts_are_what_a_static_takes() {
        let parts = parts(FEW);
        let lent = total(&parts) - size_of::<Shared<'static, (), NullSink>>();
        let storage = size_of::<Storage<4, 8, 8, 2, 64, 32, 4, 2>>();
        // Beside the arenas a static holds a flag, and what alignment asks for.
        assert!((lent..lent + 64).contains(&storage), "{storage} {lent}");
        assert_eq!(HeapArenas::bytes(FEW), Some(lent));
    }

    #[test]
    fn what_a_block_takes_is_in_the_arenas_of_blocks() {
        let of = |blocks| {
            let parts = parts(Capacities { blocks, ..FEW });
            parts.iter().filter(|part| part.name.starts_with("block")).map(|part| part.bytes).sum::<usize>()
        };
        assert_eq!(per_block(), (of(1024) - of(0)) as f64 / 1024.0);
    }
}
