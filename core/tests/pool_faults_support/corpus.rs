//! The programs whose every driver call is made to fail.

use super::op::{At, Op, Shape};
use weir::policy::{Attribute, Destroy, Preference, Reuse, UseUntil};

use Op::{
    Default as DefaultPool, Drop as DropPool, DropEvent, DropStream, Event, Free, Malloc, Pause, Pool, Query, Record,
    Refused, Resume, Run, Set, Stream, SyncDevice, SyncEvent, SyncStream, Trim, Use, Wait, Work,
};

/// A program, and how many granules its device has.
pub struct Program {
    pub name: &'static str,
    pub total: u64,
    pub ops: Vec<Op>,
}

/// A program on a device of 64 granules.
type Row = (&'static str, &'static [Op]);

fn program((name, ops): Row) -> Program {
    Program { name, total: 64, ops: ops.to_vec() }
}

const NO: Reuse = Reuse::empty();
const KEEP: u64 = u64::MAX;

const fn pool(n: usize, limit: u64, reuse: Reuse) -> Op {
    Pool(n, Shape { limit, reuse, preference: Preference::GrowFirst, threshold: 0 })
}

const fn keeping(n: usize, limit: u64, reuse: Reuse) -> Op {
    Pool(n, Shape { limit, reuse, preference: Preference::GrowFirst, threshold: KEEP })
}

const fn waiting(n: usize, limit: u64, reuse: Reuse) -> Op {
    Pool(n, Shape { limit, reuse, preference: Preference::WaitFirst, threshold: KEEP })
}

/// A malloc of so many 64ths of a granule into block `b`.
const fn malloc(b: usize, pool: usize, parts: u64, stream: usize) -> Op {
    Malloc(b, pool, parts, stream)
}

/// A malloc of so many granules into block `b`.
const fn whole(b: usize, pool: usize, granules: u64, stream: usize) -> Op {
    Malloc(b, pool, granules * 64, stream)
}

/// All programs.
pub fn corpus() -> Vec<Program> {
    let rows = [GROWTHS, MOVES, ORDERS, ENDS].into_iter().flatten();
    let mut all: Vec<_> = rows.map(|&row| program(row)).collect();
    let after =
        RELEASES.iter().map(|&(name, ops)| Program { ops: [THREE_BLOCKS, ops].concat(), ..program((name, ops)) });
    all.extend(after);
    all.extend(FULL.iter().map(|&(total, row)| Program { total, ..program(row) }));
    all.push(more_frees_than_markers());
    all
}

fn more_frees_than_markers() -> Program {
    let round = |n| [whole(n, 0, 1, n % 3), Free(n, n % 3), malloc(20 + n, 0, 1, n % 3)];
    let mut ops = vec![Stream(0), Stream(1), Stream(2), keeping(0, 8, Reuse::all())];
    ops.extend((0..10).flat_map(round));
    Program { ops, ..program(("more frees than markers", &[])) }
}

/// New granules are mapped.
const GROWTHS: &[Row] = &[
    ("growth of one granule", &[Stream(0), pool(0, 4, NO), whole(0, 0, 1, 0), Free(0, 0), SyncStream(0)]),
    (
        "growth of four granules, all of the limit",
        &[Stream(0), pool(0, 4, NO), whole(0, 0, 4, 0), Free(0, 0), whole(1, 0, 4, 0), Free(1, 0), SyncDevice],
    ),
    (
        "growth beside a live block, then past the limit",
        &[
            Stream(0),
            pool(0, 4, NO),
            whole(0, 0, 2, 0),
            whole(1, 0, 2, 0),
            Refused(&whole(2, 0, 1, 0)),
            Free(0, 0),
            whole(2, 0, 2, 0),
        ],
    ),
    (
        "a block before the hole is extended",
        &[Stream(0), keeping(0, 6, NO), whole(0, 0, 1, 0), whole(1, 0, 1, 0), Free(1, 0), whole(2, 0, 3, 0)],
    ),
    (
        "a block behind the hole is extended",
        &[
            Stream(0),
            keeping(0, 4, NO),
            whole(0, 0, 2, 0),
            whole(1, 0, 1, 0),
            Free(0, 0),
            SyncStream(0),
            Trim(0, 1),
            Free(1, 0),
            whole(2, 0, 3, 0),
        ],
    ),
    (
        "small blocks share a granule, large ones take another",
        &[
            Stream(0),
            pool(0, 4, NO),
            malloc(0, 0, 1, 0),
            malloc(1, 0, 2, 0),
            malloc(2, 0, 40, 0),
            malloc(3, 0, 40, 0),
            Free(1, 0),
            Free(2, 0),
            malloc(4, 0, 1, 0),
            malloc(5, 0, 24, 0),
        ],
    ),
    (
        "at the limit small blocks go into a large one's granule",
        &[
            Stream(0),
            pool(0, 1, NO),
            malloc(0, 0, 40, 0),
            malloc(1, 0, 2, 0),
            Free(0, 0),
            Free(1, 0),
            whole(2, 0, 1, 0),
        ],
    ),
    (
        "the default pool",
        &[Stream(0), DefaultPool(0), whole(0, 0, 3, 0), DefaultPool(1), Free(0, 0), SyncDevice, whole(1, 0, 2, 0)],
    ),
    ("the first device call is a pool's", &[pool(0, 4, NO), Stream(0), whole(0, 0, 2, 0), Free(0, 0)]),
];

/// Granules are moved, or taken from other pools.
const MOVES: &[Row] = &[
    (
        "remap from settled blocks in pieces",
        &[
            Stream(0),
            keeping(0, 5, NO),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 0),
            whole(2, 0, 1, 0),
            whole(3, 0, 1, 0),
            whole(4, 0, 1, 0),
            Free(0, 0),
            Free(2, 0),
            Free(4, 0),
            SyncStream(0),
            whole(5, 0, 3, 0),
        ],
    ),
    (
        "remap of two and growth by one",
        &[
            Stream(0),
            keeping(0, 5, NO),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 0),
            whole(2, 0, 1, 0),
            whole(3, 0, 1, 0),
            Free(0, 0),
            Free(2, 0),
            SyncDevice,
            whole(4, 0, 3, 0),
            Free(1, 0),
            Free(3, 0),
            Free(4, 0),
        ],
    ),
    (
        "remap after asking about markers",
        &[
            Stream(0),
            Stream(1),
            keeping(0, 4, Reuse::OPPORTUNISTIC),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 0),
            whole(2, 0, 1, 0),
            Free(0, 0),
            Free(2, 0),
            malloc(3, 0, 1, 0),
            Run,
            whole(4, 0, 2, 0),
        ],
    ),
    (
        "remap from a block with a live neighbour in its last granule",
        &[
            Stream(0),
            keeping(0, 4, NO),
            malloc(0, 0, 160, 0),
            malloc(1, 0, 96, 0),
            Free(0, 0),
            SyncStream(0),
            whole(2, 0, 2, 0),
            Free(1, 0),
        ],
    ),
];

/// The device is full; with the granules that it has.
const FULL: &[(u64, Row)] = &[
    (
        4,
        (
            "release of other pools when the device is full",
            &[
                Stream(0),
                keeping(0, 4, NO),
                keeping(1, 4, NO),
                keeping(2, 4, NO),
                whole(0, 0, 2, 0),
                whole(1, 1, 2, 0),
                Free(0, 0),
                Free(1, 0),
                SyncDevice,
                whole(2, 2, 3, 0),
                Free(2, 0),
                SyncDevice,
                whole(3, 0, 4, 0),
            ],
        ),
    ),
    (
        3,
        (
            "the device is full and nobody can help",
            &[
                Stream(0),
                keeping(0, 3, NO),
                keeping(1, 3, NO),
                whole(0, 0, 2, 0),
                Refused(&whole(1, 1, 2, 0)),
                Free(0, 0),
                Refused(&whole(1, 1, 2, 0)),
                SyncStream(0),
                whole(1, 1, 2, 0),
            ],
        ),
    ),
];

/// What the programs of releases begin with.
const THREE_BLOCKS: &[Op] =
    &[Stream(0), Event(0), pool(0, 8, NO), whole(0, 0, 2, 0), whole(1, 0, 1, 0), whole(2, 0, 2, 0)];

/// Memory goes back.
const RELEASES: &[Row] = &[
    (
        "release at a stream's synchronisation",
        &[Free(0, 0), Free(2, 0), SyncStream(0), whole(3, 0, 3, 0), Free(3, 0), SyncStream(0)],
    ),
    (
        "release at an event's synchronisation",
        &[Free(0, 0), Record(0, 0), SyncEvent(0), Free(2, 0), Record(0, 0), SyncEvent(0), whole(3, 0, 4, 0)],
    ),
    ("release at a device's synchronisation", &[Free(0, 0), SyncDevice, Free(1, 0), Free(2, 0), SyncDevice]),
    (
        "release down to a threshold",
        &[
            Set(0, Attribute::ReleaseThreshold, At::Granules(2)),
            Free(0, 0),
            Free(2, 0),
            SyncStream(0),
            whole(3, 0, 2, 0),
            Set(0, Attribute::ReleaseThreshold, At::Number(0)),
            Free(3, 0),
            SyncStream(0),
        ],
    ),
    (
        "trims of settled and of pending memory",
        &[
            Set(0, Attribute::ReleaseThreshold, At::Number(KEEP)),
            Pause(0),
            Work(0),
            Free(0, 0),
            Trim(0, 0),
            Resume(0),
            SyncStream(0),
            Trim(0, 4),
            Trim(0, 0),
            Free(2, 0),
            Trim(0, 0),
            whole(3, 0, 2, 0),
        ],
    ),
];

/// Records, waits, queries, uses, markers and inserted waits.
const ORDERS: &[Row] = &[
    (
        "a hand-over along an event",
        &[
            Stream(0),
            Stream(1),
            Event(0),
            keeping(0, 2, Reuse::EVENT),
            whole(0, 0, 2, 0),
            Free(0, 0),
            Record(0, 0),
            Wait(1, 0),
            whole(1, 0, 2, 1),
            Free(1, 1),
            Record(0, 1),
            Wait(0, 0),
            whole(2, 0, 2, 0),
        ],
    ),
    (
        "a free on another stream",
        &[
            Stream(0),
            Stream(1),
            Event(0),
            keeping(0, 3, Reuse::all()),
            whole(0, 0, 1, 0),
            Record(0, 0),
            Wait(1, 0),
            Free(0, 1),
            whole(1, 0, 1, 0),
            Query(0),
            SyncStream(1),
            whole(2, 0, 2, 1),
        ],
    ),
    (
        "the program's own query",
        &[
            Stream(0),
            Stream(1),
            Event(0),
            Event(1),
            keeping(0, 2, NO),
            whole(0, 0, 2, 0),
            Query(1),
            Wait(1, 1),
            Free(0, 0),
            Record(0, 0),
            Run,
            Query(0),
            whole(1, 0, 2, 1),
            DropEvent(0),
            Event(0),
            Query(0),
        ],
    ),
    (
        "opportunistic reuse by markers",
        &[
            Stream(0),
            Stream(1),
            Stream(2),
            keeping(0, 3, Reuse::OPPORTUNISTIC),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 1),
            Free(0, 0),
            Free(1, 1),
            malloc(2, 0, 1, 0),
            Refused(&whole(3, 0, 2, 2)),
            Run,
            whole(3, 0, 2, 2),
        ],
    ),
    (
        "inserted waits at the limit",
        &[
            Stream(0),
            Stream(1),
            Stream(2),
            Event(0),
            keeping(0, 2, Reuse::INTERNAL),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 1),
            Free(0, 0),
            Free(1, 1),
            Record(0, 0),
            Record(0, 1),
            whole(2, 0, 2, 2),
            Free(2, 2),
            Record(0, 2),
            whole(3, 0, 2, 1),
        ],
    ),
    (
        "an inserted wait before growth",
        &[
            Stream(0),
            Stream(1),
            Stream(2),
            waiting(0, 6, Reuse::INTERNAL),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 1),
            Free(0, 0),
            Free(1, 1),
            Work(0),
            malloc(2, 0, 1, 0),
            malloc(3, 0, 1, 1),
            whole(4, 0, 1, 2),
            whole(5, 0, 1, 2),
            whole(6, 0, 1, 2),
        ],
    ),
    (
        "uses by other streams, all switches",
        &[
            Stream(0),
            Stream(1),
            Stream(2),
            Event(0),
            keeping(0, 4, Reuse::all()),
            whole(0, 0, 1, 0),
            Record(0, 0),
            Wait(1, 0),
            Wait(2, 0),
            Use(0, 1, UseUntil::Now),
            Use(0, 2, UseUntil::Free),
            Free(0, 0),
            malloc(1, 0, 3, 1),
            malloc(2, 0, 3, 2),
            malloc(3, 0, 3, 0),
            Run,
            whole(4, 0, 1, 0),
        ],
    ),
    (
        "markers after a growth with one stream",
        &[
            Stream(0),
            keeping(0, 5, NO),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 0),
            whole(2, 0, 1, 0),
            Free(0, 0),
            Free(2, 0),
            whole(3, 0, 2, 0),
            Free(3, 0),
            malloc(4, 0, 1, 0),
            Free(4, 0),
            malloc(5, 0, 1, 0),
            Run,
            whole(6, 0, 3, 0),
        ],
    ),
];

/// Streams and pools end.
const ENDS: &[Row] = &[
    (
        "destroy of an empty pool and of one with free memory",
        &[
            Stream(0),
            pool(0, 4, NO),
            DropPool(0, Destroy::IfEmpty),
            pool(1, 4, NO),
            whole(0, 1, 3, 0),
            Free(0, 0),
            DropPool(1, Destroy::IfEmpty),
            SyncStream(0),
            pool(2, 4, NO),
            whole(1, 2, 1, 0),
        ],
    ),
    (
        "destroy of a pool whose memory is settled",
        &[
            Stream(0),
            keeping(0, 4, NO),
            whole(0, 0, 3, 0),
            Free(0, 0),
            SyncStream(0),
            DropPool(0, Destroy::IfEmpty),
            keeping(1, 4, NO),
            whole(1, 1, 2, 0),
            SyncDevice,
        ],
    ),
    (
        "destroy of a pool with live blocks",
        &[
            Stream(0),
            Stream(1),
            pool(0, 4, Reuse::all()),
            whole(0, 0, 2, 0),
            malloc(1, 0, 5, 1),
            Refused(&DropPool(0, Destroy::IfEmpty)),
            DropPool(0, Destroy::WithLiveBlocks),
            SyncStream(0),
            SyncDevice,
            pool(1, 4, Reuse::all()),
            whole(2, 1, 4, 1),
        ],
    ),
    (
        "the default pool ends and is made again",
        &[
            Stream(0),
            DefaultPool(0),
            whole(0, 0, 1, 0),
            Free(0, 0),
            DropPool(0, Destroy::IfEmpty),
            DefaultPool(1),
            whole(1, 1, 1, 0),
        ],
    ),
    (
        "streams end with open frees, and slots are given away",
        &[
            Stream(0),
            Stream(1),
            Stream(2),
            Stream(3),
            keeping(0, 4, Reuse::OPPORTUNISTIC),
            whole(0, 0, 1, 0),
            whole(1, 0, 1, 1),
            Free(0, 0),
            Free(1, 1),
            DropStream(0),
            DropStream(1),
            Run,
            Stream(0),
            Stream(1),
            whole(2, 0, 2, 2),
            whole(3, 0, 2, 0),
        ],
    ),
    (
        "a stream ends while its work is held back",
        &[
            Stream(0),
            Stream(1),
            keeping(0, 2, Reuse::all()),
            whole(0, 0, 2, 0),
            Work(0),
            Free(0, 0),
            DropStream(0),
            SyncDevice,
            whole(1, 0, 2, 1),
        ],
    ),
];
