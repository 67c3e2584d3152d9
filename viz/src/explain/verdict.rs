//! Why nothing cheaper was there, in bytes, and the least change.

use super::Call;
use super::reason::{Reasons, free_bytes, held_by};
use crate::scene::ticks;
use weir::policy::Reuse;
use weir::trace::Source;
use weir::{Access, Candidate, Outlook};

/// What a decision came down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory that was there was used again at no cost.
    Reuse,
    /// Enough was there for the stream, but in pieces.
    Fragmentation,
    /// Enough was free, but the stream does not come after some of it.
    StreamOrder,
    /// Less was free than was asked for.
    Demand,
}

impl Kind {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reuse => "reuse",
            Self::Fragmentation => "fragmentation",
            Self::StreamOrder => "stream_order",
            Self::Demand => "demand",
        }
    }
}

/// Why nothing cheaper was there. The three parts add up to the size that was needed, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it came down to.
    pub kind: Kind,
    /// Bytes that were free and usable, though perhaps in pieces.
    pub pieces: u64,
    /// Bytes that were free, but not ordered before the stream's next work.
    pub unordered: u64,
    /// Bytes that were not there.
    pub lacking: u64,
    /// The smallest block that is large enough and only not ordered, if there is one.
    pub whole: Option<u64>,
    /// The largest free block that the stream could use.
    pub largest_usable: u64,
    /// Free bytes of the pool in all.
    pub free: u64,
}

impl Verdict {
    pub(super) fn of(call: &Call, outlook: &Outlook, seen: &[Candidate]) -> Self {
        let (free, usable, largest) = free_bytes(seen);
        let needed = outlook.size.0;
        let pieces = usable.0.min(needed);
        let unordered = (free.0 - usable.0).min(needed - pieces);
        let lacking = needed - pieces - unordered;
        let whole = seen.iter().filter(|c| would_do(outlook, c)).map(|candidate| candidate.size.0).min();
        let kind = match call.source {
            Some(Source::SameStream | Source::Settled | Source::Event) => Kind::Reuse,
            _ if lacking > 0 => Kind::Demand,
            _ if unordered > 0 || whole.is_some() => Kind::StreamOrder,
            _ => Kind::Fragmentation,
        };
        Self { kind, pieces, unordered, lacking, whole, largest_usable: largest.0, free: free.0 }
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let bytes = ticks::bytes;
        match self.kind {
            Kind::Reuse => {
                "reuse: memory that was there is used again, and nothing had to be asked or waited for".to_owned()
            }
            Kind::Fragmentation => format!(
                "fragmentation: {} of free memory would do, but it lies in pieces of at most {}",
                bytes(self.pieces),
                bytes(self.largest_usable)
            ),
            Kind::StreamOrder if self.whole.is_some() => format!(
                "stream order: a block of {} is free, but the stream does not come after its last work",
                bytes(self.whole.unwrap_or(0))
            ),
            Kind::StreamOrder => format!(
                "stream order: {} of what is needed are free, but the stream does not come after their last work",
                bytes(self.unordered)
            ),
            Kind::Demand => format!(
                "real demand: {} more than all that is free ({}, of which the stream may use {})",
                bytes(self.lacking),
                bytes(self.free),
                bytes(self.free.min(self.pieces))
            ),
        }
    }
}

/// Whether only its order keeps the block from the stream.
fn would_do(outlook: &Outlook, candidate: &Candidate) -> bool {
    candidate.size >= outlook.size && !candidate.other_class && held_by(candidate).is_some()
}

/// The least change that would have made the call cheap, or possible.
pub(super) fn change(
    reasons: &Reasons<'_>,
    call: &Call,
    outlook: &Outlook,
    seen: &[Candidate],
    verdict: &Verdict,
) -> Option<String> {
    if verdict.kind == Kind::Reuse {
        return None;
    }
    // What a switch gives is less than what the program would have to do.
    let cost = |candidate: &&Candidate| {
        let kind = match candidate.access {
            Access::Usable(_) | Access::EventsOff(_) | Access::Unseen(_) => 0,
            Access::Marked(_) | Access::Unordered(_) => 1,
        };
        (kind, candidate.unreached, candidate.size.0, candidate.offset.0)
    };
    match seen.iter().filter(|candidate| would_do(outlook, candidate)).min_by_key(cost) {
        Some(candidate) => Some(for_block(reasons, call, outlook, candidate)),
        None => without_block(call, outlook, verdict),
    }
}

/// What makes one block usable.
fn for_block(reasons: &Reasons<'_>, call: &Call, outlook: &Outlook, candidate: &Candidate) -> String {
    let block = format!("the block of {} at offset {}", ticks::bytes(candidate.size.0), candidate.offset.0);
    let stream = call.stream;
    match candidate.access {
        Access::EventsOff(_) => format!("switch 1 (follow event dependencies): {block} is ordered by events already"),
        Access::Unseen(point) => format!(
            "switch 2 (opportunistic), or a query or synchronisation of the program's behind {}: {block} is complete",
            reasons.point(point)
        ),
        Access::Marked(point) | Access::Unordered(point) => {
            let more = match candidate.unreached {
                0 | 1 => String::new(),
                count => format!(" (and so for {} more streams or uses)", count - 1),
            };
            let waits = matches!(candidate.access, Access::Marked(_)) && !outlook.reuse.contains(Reuse::INTERNAL);
            let switch = if waits { "; or switch 3 (internal dependencies), which inserts that wait" } else { "" };
            format!(
                "an event recorded on stream {} behind {}, and stream {stream} waiting for it before this call{more}: then \
                 {block} could be used{switch}",
                point.stream,
                reasons.point(point)
            )
        }
        Access::Usable(_) => String::new(),
    }
}

/// What helps where no single block is large enough.
fn without_block(call: &Call, outlook: &Outlook, verdict: &Verdict) -> Option<String> {
    let bytes = ticks::bytes;
    if call.got.is_none() {
        let room = outlook.headroom.0.saturating_add(outlook.movable.0);
        let to_map = outlook.to_map.map_or(outlook.size.0, |to_map| to_map.0);
        let lacking = to_map.saturating_sub(room);
        return match outlook.to_map {
            None => Some("a longer range of addresses: no hole is long enough".to_owned()),
            Some(_) if lacking > 0 => Some(format!("a limit larger by {} ({lacking} B)", bytes(lacking))),
            Some(_) => None,
        };
    }
    match verdict.kind {
        Kind::StreamOrder => Some(format!(
            "no single free block is large enough; with every free ordered before stream {}, {} of free memory would do if \
             it lies together",
            call.stream,
            bytes(verdict.pieces.saturating_add(verdict.unordered))
        )),
        Kind::Fragmentation => Some(format!(
            "no wait and no switch: a free block of {} would have had to stay whole",
            bytes(outlook.size.0)
        )),
        Kind::Demand | Kind::Reuse => None,
    }
}
