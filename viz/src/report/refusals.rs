//! Refused calls by their reasons.

use crate::model::{EventIx, Model, Payload};
use crate::scene::ticks;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use weir::trace::{Record, Refusal, Verb};

/// Calls that were refused for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was called, as the log names it.
    pub verb: &'static str,
    /// Whether that is a malloc.
    pub malloc: bool,
    /// The reason's name in the log.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
    /// Bytes asked for, in all.
    pub bytes: u64,
    /// The first record.
    pub at: EventIx,
    /// Its number.
    pub record: u64,
    /// The first one in words.
    pub first: String,
}

/// All refused calls, the most frequent reason first.
pub(super) fn refusals(model: &Model) -> Vec<Refused> {
    let foreign = !model.unrecorded.is_empty();
    let mut found: BTreeMap<(&'static str, &'static str), Refused> = BTreeMap::new();
    for at in 0..model.events.len() {
        let at = EventIx::next_of(at);
        let Payload::Other(record) = model.events.payload(at) else { continue };
        let Some(reason) = refusal_reason(&record) else { continue };
        let (verb, bytes) = match record {
            Record::OutOfMemory { requested, .. } => (Verb::Malloc, requested.0),
            Record::Refused { verb, size, .. } => (verb, size.0),
            _ => continue,
        };
        // What other programs' logs do not say.
        let reason = if foreign && verb == Verb::Malloc { "not_recorded" } else { reason };
        let told = || refusal_words(&record).filter(|_| !(foreign && verb == Verb::Malloc));
        let record_number = model.events.number(at);
        let first = || Refused {
            verb: verb.name(),
            malloc: verb == Verb::Malloc,
            reason,
            count: 0,
            bytes: 0,
            at,
            record: record_number,
            first: told().unwrap_or_else(|| format!("{} asked for", ticks::bytes(bytes))),
        };
        let refused = found.entry((verb.name(), reason)).or_insert_with(first);
        refused.count += 1;
        refused.bytes = refused.bytes.saturating_add(bytes);
    }
    let mut list: Vec<Refused> = found.into_values().collect();
    list.sort_by_key(|refused| (Reverse(refused.count), refused.record));
    list
}

/// A refusal's reason, as the log names it; `None` for other records.
pub(crate) fn refusal_reason(record: &Record<'_>) -> Option<&'static str> {
    match record {
        Record::OutOfMemory { .. } => Some("out_of_memory"),
        Record::Refused { reason, .. } => Some(reason.name()),
        _ => None,
    }
}

/// A refusal in words; `None` for other records.
#[must_use]
pub fn refusal_words(record: &Record<'_>) -> Option<String> {
    let bytes = ticks::bytes;
    Some(match *record {
        Record::OutOfMemory { requested, used, reserved, limit, largest_usable, pending, .. } => format!(
            "{} asked for; used {}, reserved {} of {}; the largest block that the stream may use has {}, {} are freed but \
             wait for work",
            bytes(requested.0),
            bytes(used.0),
            bytes(reserved.0),
            bytes(limit.0),
            bytes(largest_usable.0),
            bytes(pending.0)
        ),
        Record::Refused { reason, size, .. } => match reason {
            Refusal::AboveLimit(limit) => format!("{} asked for, the limit is {}", bytes(size.0), bytes(limit.0)),
            Refusal::NoAddressRange(range) => {
                format!("{} asked for, no hole in {} of addresses is as long", bytes(size.0), bytes(range.0))
            }
            Refusal::ArenaFull(arena, capacity) => format!("the arena {arena:?} of {capacity} slots is full"),
            Refusal::Driver(error) => error.to_string(),
            Refusal::LiveBlocks(count, of) => format!("{count} blocks of {} are live", bytes(of.0)),
            Refusal::StillHeld(of) => format!("{} could not be given back", bytes(of.0)),
            Refusal::BadPointer(ptr) => format!("{:#x} is in no pool", ptr.0),
            Refusal::Interior(ptr, start) => format!("{:#x} is inside the block at {:#x}", ptr.0, start.0),
            Refusal::OtherPool(ptr, pool) => format!("{:#x} is of pool {pool}", ptr.0),
            Refusal::AlreadyFree(ptr, None) => format!("{:#x} is free already", ptr.0),
            Refusal::AlreadyFree(ptr, Some(by)) => {
                format!("{:#x} is free already, by stream {} at {}", ptr.0, by.stream, by.seq)
            }
            Refusal::Unmapped(ptr) => format!("nothing is mapped at {:#x}", ptr.0),
            Refusal::BadValue(value) => format!("{value} is no value for it"),
            other => other.name().replace('_', " "),
        },
        _ => return None,
    })
}
