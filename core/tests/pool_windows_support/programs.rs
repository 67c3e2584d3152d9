//! The programs: one for each window that a call leaves open, and all pairs of calls.

use super::explore::Program;
use super::world::{Op, Setting};
use Op::{Free, Malloc, NewEvent, NewStream, Query, Record, SyncDevice, SyncEvent, SyncStream, Trim, Wait};
use weir::policy::{Preference, Reuse};
use weir::sim::Progress;

/// All calls, on either stream.
pub const CALLS: [Op; 16] = [
    Malloc(0, 1),
    Malloc(1, 1),
    Malloc(1, 2),
    Free,
    Record(0),
    Record(1),
    Wait(0),
    Wait(1),
    Query,
    SyncEvent,
    SyncStream(0),
    SyncDevice,
    Trim,
    NewEvent,
    NewStream(0),
    NewStream(1),
];

/// The switches and the device at its laziest and at its most eager.
pub const SETTINGS: [Setting; 3] = [
    Setting { reuse: Reuse::EVENT, preference: Preference::GrowFirst, progress: Progress::OnRequest },
    Setting { reuse: Reuse::EVENT, preference: Preference::GrowFirst, progress: Progress::Immediate },
    Setting { reuse: Reuse::all(), preference: Preference::WaitFirst, progress: Progress::OnRequest },
];

/// Both streams freed a granule, and the event stands for the first one's.
pub const BEFORE: &[Op] = &[Malloc(0, 1), Malloc(1, 1), Free, Free, Record(0), Malloc(0, 1)];

/// Asks for everything from each stream, before and after it waits for the event.
pub const AFTER: &[Op] = &[Malloc(1, 1), Wait(1), Malloc(1, 1), Malloc(0, 1)];

/// Mallocs of all memory behind the event.
const BEHIND_EVENT: &[Op] = &[Wait(1), Malloc(1, 2), Malloc(1, 1)];

/// Mallocs of all memory without waiting.
const AT_ONCE: &[Op] = &[Malloc(1, 2), Malloc(1, 1)];

/// A window, and what can come into it.
pub const WINDOWS: [(&str, Program<'static>); 15] = [
    (
        "work and a free between a record and its driver call",
        Program { before: &[], threads: [&[Record(0)], &[Malloc(0, 1), Free]], after: BEHIND_EVENT },
    ),
    (
        "a record while the event is waited for",
        Program {
            before: &[Malloc(0, 1), Record(0)],
            threads: [&[Wait(1), Malloc(1, 1)], &[Free, Record(0)]],
            after: AT_ONCE,
        },
    ),
    (
        "a record while the event is asked about",
        Program {
            before: &[Record(0)],
            threads: [&[Query, Malloc(1, 2)], &[Malloc(0, 1), Free, Record(0)]],
            after: AT_ONCE,
        },
    ),
    (
        "a record while the event is synchronised",
        Program {
            before: &[Record(0)],
            threads: [&[SyncEvent, Malloc(1, 2)], &[Malloc(0, 1), Free, Record(0)]],
            after: AT_ONCE,
        },
    ),
    (
        "two records of one event",
        Program {
            before: &[Malloc(1, 1), Free],
            threads: [&[Malloc(0, 1), Free, Record(0)], &[Record(1)]],
            after: BEHIND_EVENT,
        },
    ),
    (
        "two records of an event that stands for something else",
        Program {
            before: &[Malloc(0, 1), Free, Record(0)],
            threads: [&[Record(1)], &[Record(1)]],
            after: BEHIND_EVENT,
        },
    ),
    (
        "another event in the place of one that is being recorded",
        Program { before: &[Malloc(0, 1), Free], threads: [&[Record(0)], &[NewEvent, Record(1)]], after: BEHIND_EVENT },
    ),
    (
        "another event in the place of one that is waited for",
        Program {
            before: &[Malloc(0, 1), Free, Record(1)],
            threads: [&[Wait(1), Malloc(1, 1)], &[NewEvent, Record(0)]],
            after: AT_ONCE,
        },
    ),
    (
        "work and a free while their stream is synchronised",
        Program {
            before: &[Malloc(0, 1), Free],
            threads: [&[SyncStream(0), Malloc(1, 1)], &[Malloc(0, 1), Free]],
            after: AT_ONCE,
        },
    ),
    (
        "work and a free while the device is synchronised",
        Program {
            before: &[Malloc(0, 1), Free],
            threads: [&[SyncDevice, Malloc(1, 1)], &[Malloc(0, 1), Free]],
            after: AT_ONCE,
        },
    ),
    (
        "a stream that ends while it is used",
        Program {
            before: &[Malloc(0, 1)],
            threads: [&[NewStream(0), Malloc(1, 1)], &[Malloc(0, 1), Free]],
            after: AT_ONCE,
        },
    ),
    (
        "two threads that grow at once",
        Program { before: &[], threads: [&[Malloc(0, 2), Free], &[Malloc(1, 1), Malloc(1, 1), Free]], after: AFTER },
    ),
    (
        "growing while all free memory goes back",
        Program { before: &[Malloc(0, 2), Free, SyncDevice], threads: [&[Trim], &[Malloc(0, 1), Free]], after: AFTER },
    ),
    (
        "two threads that submit to one stream",
        Program {
            before: &[],
            threads: [&[Malloc(0, 1), Free, Malloc(0, 2)], &[Malloc(0, 1), Free, Malloc(0, 2)]],
            after: AFTER,
        },
    ),
    (
        "two threads that hand memory over in opposite directions",
        Program {
            before: &[Malloc(0, 1), Free],
            threads: [&[Record(0), Wait(1), Malloc(1, 1)], &[Malloc(1, 1), Free, Record(1), Wait(0)]],
            after: AFTER,
        },
    ),
];
