//! The report: what a log tells about its pools' memory, as numbers, as text and as a page to look at.
//!
//! Everything is worked out from the [model](crate::model) in one walk over the records, or a walk over the allocations
//! of a pool; what a log does not hold is `None` or left out, never made up. The same log gives the same bytes.

mod expression;
mod figures;
mod held;
mod html;
pub mod notable;
mod plot;
mod pool;
mod refusals;
mod sweep;
mod text;
mod waits;

pub use expression::{Expression, ExpressionError};
pub use figures::{Certainty, Figure, figures};
pub use held::{Held, Idle};
pub use html::page;
pub use notable::{Notable, Place, notable};
pub use pool::{Holder, Moved, Pair, Peak, PoolReport, Reused, pairs};
pub(crate) use refusals::refusal_reason;
pub use refusals::{Refused, refusal_words};
pub use sweep::Sample;
pub(crate) use text::or_not_recorded;
pub use text::text;
pub use waits::Waits;

use crate::check::{self, END_OF_PROGRAM, Fault, Told};
use crate::floor::Floor;
use crate::import::program_of;
use crate::model::{Death, EventIx, Fact, Kind, Model, PoolIx, Unrecorded};
use crate::part::Part;
use crate::progress::{Progress, Unit};
use crate::source::{self, Opened, SourceError};
use std::path::Path;

/// Programs of more calls get a lower bound in place of the ordered floor.
const MOST_CALLS: usize = 200_000;

/// What a log tells.
#[derive(Clone, Debug)]
pub struct Report {
    /// The log's name.
    pub name: String,
    /// The version of weir that wrote it, where the log's beginning is there.
    pub version: Option<(u16, u16, u16)>,
    /// Records, definitions not counted.
    pub records: u64,
    /// From the first record to the last, in nanoseconds.
    pub nanos: u64,
    /// The most bytes in live blocks, of all pools together.
    pub peak_used: u64,
    /// The most mapped bytes, of all pools together; `None`: not recorded.
    pub peak_reserved: Option<u64>,
    /// What no pool that adds no waits can do without: see [`Floor`]. `None`: the order is not recorded, or records are
    /// missing.
    pub floor: Option<Floor>,
    /// The pools, in the order of their first record.
    pub pools: Vec<PoolReport>,
    /// Inserted waits by pairs of streams, the most first.
    pub waits: Vec<Waits>,
    /// Waits of the pool's own on the host.
    pub host_waits: u64,
    /// Refused calls by their reasons, the most first.
    pub refusals: Vec<Refused>,
    /// Blocks that leaked: live when their pool was destroyed, or at the end of the program where the log says it. `None`:
    /// blocks are live at the log's end, and it says neither.
    pub leaks: Option<u64>,
    /// Blocks that were live at the log's end.
    pub live_at_end: u64,
    /// Their bytes.
    pub live_bytes_at_end: u64,
    /// What else the detector found, by the kind's name.
    pub findings: Vec<(&'static str, u64)>,
    /// Whether records are lost, so that numbers may be others: see [`Certainty`].
    pub lossy: bool,
    /// Whether this is a part of a log that does not begin at its beginning.
    pub begins_late: bool,
    /// What could not be read, a few lines.
    pub damages: Vec<String>,
    /// What is left open because this is a part of a log, in sentences.
    pub open_ends: Vec<String>,
    /// What the log lacks throughout.
    pub unrecorded: Unrecorded,
}

/// Opens and checks a part of the log at this path, one after the other, so that only one of them takes memory, and
/// reports on it.
///
/// # Errors
/// It does not exist, cannot be read, is empty, or is no log; there is no such part; or it was stopped.
pub fn open(log: &Path, part: &Part, progress: &Progress) -> Result<(Opened, Report), SourceError> {
    let bytes = source::load_part(log, part, progress)?;
    let checked = check::read_with(&log.display().to_string(), &bytes, Told::Accept, progress)?;
    let mut opened = source::read_file(log, &bytes, progress)?;
    drop(bytes);
    let _task = progress.begin("reporting", Unit::Nothing, None);
    let report = Report::of(&opened, &checked);
    opened.model.take_findings(checked);
    Ok((opened, report))
}

impl Report {
    /// The report of a log that was opened and checked. O(n log n) in the log's records, but for the ordered floor, which
    /// is a minimum cut over the places where streams meet; of a long log it is a lower bound.
    #[must_use]
    pub fn of(opened: &Opened, checked: &check::Report) -> Self {
        let model = &opened.model;
        let (peak_used, peak_reserved) = peaks(model);
        let all: Vec<PoolIx> = (0..model.pools.len()).map(PoolIx::next_of).collect();
        // Nothing of the one is needed for the other.
        let (pools, floor, (waits, host_waits)) = std::thread::scope(|threads| {
            let floor = threads.spawn(|| (floor(model, &all), waits::waits(model)));
            let each = all.iter().zip(sweep::samples(model)).zip(pool::Moves::of_all(model));
            let pools = each.map(|((pool, samples), moves)| PoolReport::of(model, *pool, samples, &moves));
            let pools: Vec<PoolReport> = pools.collect();
            let (floor, waits) = floor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (pools, floor, waits)
        });
        let live = model.lives.iter().filter(|life| life.died().is_none());
        let (live_at_end, live_bytes_at_end) =
            live.fold((0, 0_u64), |(count, bytes), life| (count + 1, bytes.saturating_add(life.given.0)));
        Self {
            name: opened.name.clone(),
            version: model.version,
            records: model.events.len() as u64,
            nanos: span(model),
            peak_used,
            peak_reserved,
            floor,
            pools,
            waits,
            host_waits,
            refusals: refusals::refusals(model),
            leaks: leaks(opened, checked, live_at_end),
            live_at_end,
            live_bytes_at_end,
            findings: checked.by_fault.iter().map(|(fault, count)| (fault.name(), *count)).collect(),
            lossy: is_lossy(opened),
            begins_late: opened.origin.begins_late(),
            damages: opened.summary(),
            open_ends: opened.origin.open_ends(),
            unrecorded: model.unrecorded,
        }
    }

    /// The pools with most mallocs, in the order of their first record.
    #[must_use]
    pub fn busiest(&self, most: usize) -> Vec<&PoolReport> {
        let mut pools: Vec<&PoolReport> = self.pools.iter().collect();
        pools.sort_by_key(|pool| (std::cmp::Reverse(pool.mallocs), pool.at));
        pools.truncate(most);
        pools.sort_by_key(|pool| pool.at);
        pools
    }

    /// What lost records mean for the numbers; `None` where none are lost.
    #[must_use]
    pub fn caveat(&self) -> Option<&'static str> {
        let words = "records are missing: of what is counted there is at least so much, and peaks and what is live at the \
                     end may have been higher or lower";
        self.lossy.then_some(words)
    }

    /// A count in words, as far as it is known.
    pub(crate) fn counted(&self, count: u64) -> String {
        let least = if self.lossy { "at least " } else { "" };
        format!("{least}{}", crate::scene::ticks::count(count))
    }

    /// Mallocs that were refused, whatever the reason.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refusals.iter().filter(|refused| refused.malloc).map(|refused| refused.count).sum()
    }

    /// Waits that the pools inserted.
    #[must_use]
    pub fn waits_inserted(&self) -> u64 {
        self.waits.iter().map(|waits| waits.count).sum()
    }

    /// Mallocs and their bytes by what they relied on, of all pools, in the order of [`weir::trace::Source::ALL`].
    #[must_use]
    pub fn reuse(&self) -> [Reused; 6] {
        let mut all = [Reused::default(); 6];
        for pool in &self.pools {
            for (all, of) in all.iter_mut().zip(pool.reuse) {
                all.count += of.count;
                all.bytes = all.bytes.saturating_add(of.bytes);
            }
        }
        all
    }
}

/// How many blocks leaked, where the log tells it.
fn leaks(opened: &Opened, checked: &check::Report, live_at_end: u64) -> Option<u64> {
    let model = &opened.model;
    let found = checked.by_fault.get(&Fault::Leak).copied().unwrap_or(0);
    let ended = || model.marks.iter().any(|mark| model.name(mark.name) == END_OF_PROGRAM);
    // A block that ended without a record may have leaked before.
    let ended_unseen = || model.lives.iter().any(|life| matches!(life.death, Death::NotRecorded(_)));
    let whole = !model.unrecorded.has(Fact::Blocks) && opened.origin.part.is_empty();
    let none = whole && live_at_end == 0 && !ended_unseen();
    (found > 0 || none || ended()).then_some(found)
}

/// Whether records are lost: the log is damaged, their numbers have holes, or the log says so itself.
fn is_lossy(opened: &Opened) -> bool {
    let model = &opened.model;
    let said = || (0..model.events.len()).any(|at| model.events.kind(EventIx::next_of(at)) == Kind::Lost);
    !model.gaps.is_empty() || opened.damaged > model.odd || said()
}

fn span(model: &Model) -> u64 {
    let last = model.events.len().checked_sub(1);
    last.map_or(0, |last| model.events.time(EventIx::next_of(last)) - model.events.time(EventIx(0)))
}

/// Where a free is missing its block would count for ever, and where a malloc is, not at all.
fn floor(model: &Model, pools: &[PoolIx]) -> Option<Floor> {
    let whole = model.gaps.is_empty() && model.oddities.is_empty() && model.lives.iter().all(|l| l.born().is_some());
    if !whole || model.unrecorded.has(Fact::Order) {
        return None;
    }
    let alignments = model.devices.iter().map(|(_, properties)| properties.alignment.0);
    Some(Floor::within(&program_of(model, pools), alignments.min().unwrap_or(512), MOST_CALLS))
}

#[derive(Clone, Copy)]
enum Which {
    Used,
    Reserved,
}

/// The most used bytes of all pools together, and the most mapped ones; `None`: not recorded.
pub(crate) fn peaks(model: &Model) -> (u64, Option<u64>) {
    let all: Vec<PoolIx> = (0..model.pools.len()).map(PoolIx::next_of).collect();
    let reserved = || peak_of_all(model, &all, Which::Reserved);
    (peak_of_all(model, &all, Which::Used), (!model.unrecorded.has(Fact::Reserved)).then(reserved))
}

/// The largest sum of the pools' curves.
fn peak_of_all(model: &Model, pools: &[PoolIx], which: Which) -> u64 {
    let curve = |pool: PoolIx| match which {
        Which::Used => &model.pool(pool).used,
        Which::Reserved => &model.pool(pool).reserved,
    };
    if let [one] = pools {
        return curve(*one).peak().0;
    }
    let mut changes: Vec<(EventIx, usize, u64)> = Vec::new();
    for (at, pool) in pools.iter().enumerate() {
        changes.extend(curve(*pool).steps().map(|(event, value)| (event, at, value)));
    }
    // Stable: of several changes of a pool at one record the last holds.
    changes.sort_by_key(|(event, ..)| *event);
    let mut now: Vec<u64> = pools.iter().map(|pool| curve(*pool).start()).collect();
    let mut sum: u128 = now.iter().map(|value| u128::from(*value)).sum();
    let mut peak = sum;
    for (_, at, value) in changes {
        sum = sum - u128::from(now[at]) + u128::from(value);
        now[at] = value;
        peak = peak.max(sum);
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}
