//! The detector: what a log shows to be wrong with the use of memory, by the program or by the pool.
//!
//! It works out anew who is ordered before whom, from the log's own records of events, waits, markers, queries and
//! synchronisations, and holds every malloc, use, free, mapping and unmapping against it. What the log lacks is held
//! against nobody: two operations with missing records between them are listed apart, as not judged.
//!
//! A program that ends without destroying its pools can say so by a mark of the name [`END_OF_PROGRAM`]: what is live
//! then has leaked.
//!
//! Where a log does not tell contexts apart, all default streams of a device count as of one context; and what was
//! complete when a synchronisation ended counts as complete, though another thread may have queued it meanwhile. Both
//! make the detector overlook, never accuse.

mod blocks;
mod claims;
mod clue;
mod finding;
mod follow;
mod judge;
mod memory;
pub(crate) mod order;
mod refusal;
mod text;

pub use finding::{Clue, Fault, Finding, Memory, Missing, Operation, What};
pub use judge::Checker;

use crate::decode;
use crate::model::Unrecorded;
use crate::origin::{Origin, more_damaged};
use crate::part::Part;
use crate::progress::Progress;
use crate::source::{self, SourceError};
use std::collections::BTreeMap;
use std::path::Path;
use weir::trace::{Damage, Stamped};

/// The mark that says that the program has ended.
pub const END_OF_PROGRAM: &str = "end of program";

/// Damages that are kept one by one; the rest are counted.
const MOST_DAMAGES: usize = 1000;

/// What to make of a free that does not come after a use which the pool was told of before. weir waits for both, so
/// that it is no fault here; it is one in pools that cannot be told of uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// It is right.
    #[default]
    Accept,
    /// Report it, but for uses that were announced to last until the free.
    Report,
}

/// What was found in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The log's name.
    pub name: String,
    /// What is wrong, in the order in which it shows.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub more: u64,
    /// All findings by their kinds.
    pub by_fault: BTreeMap<Fault, u64>,
    /// What would be wrong if the records that are missing in between change nothing. Held against nobody.
    pub not_judged: Vec<Finding>,
    /// More of that.
    pub more_not_judged: u64,
    /// What could not be read, in words.
    pub damages: Vec<String>,
    /// What is left open because this is a part of a log, in sentences.
    pub open_ends: Vec<String>,
    /// Records read, definitions not counted.
    pub records: u64,
    /// Mallocs among them.
    pub mallocs: u64,
    /// Frees among them.
    pub frees: u64,
    /// Uses among them.
    pub uses: u64,
    /// Uses that only the pool's knowledge of them protects: no event orders the free after them.
    pub told: u64,
    /// Streams that were named.
    pub streams: usize,
}

impl Report {
    /// Whether nothing is wrong, as far as the log tells.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many findings there are, those beyond the list among them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.findings.len() as u64 + self.more
    }
}

/// Checks a part of the log at this path.
///
/// # Errors
/// It does not exist, cannot be read, is empty, or is no log; there is no such part; or it was stopped.
pub fn open(path: &Path, part: &Part, told: Told, progress: &Progress) -> Result<Report, SourceError> {
    read_with(&path.display().to_string(), &source::load_part(path, part, progress)?, told, progress)
}

/// Checks a log in memory.
///
/// # Errors
/// It is empty, or no log.
pub fn read(name: &str, bytes: &[u8], told: Told) -> Result<Report, SourceError> {
    read_with(name, bytes, told, &Progress::default())
}

/// [`read`], of a long log.
///
/// # Errors
/// As `read`; or it was stopped.
pub fn read_with(name: &str, bytes: &[u8], told: Told, progress: &Progress) -> Result<Report, SourceError> {
    let mut checker = Checker::new(told);
    let mut damages = Vec::new();
    let (mut anything, mut more) = (false, 0_u64);
    let origin = Origin::of(bytes);
    let mut take = |read: Result<Stamped<'_>, Damage>| match read {
        Ok(stamped) => {
            anything = true;
            checker.push(&stamped);
        }
        Err(damage) if origin.expects(&damage) => checker.damage(damage.kind),
        Err(damage) => {
            checker.damage(damage.kind);
            if damages.len() < MOST_DAMAGES {
                damages.push(damage.to_string());
            } else {
                more += 1;
            }
        }
    };
    decode::each("checking", bytes, progress, |read| take(*read))
        .map_err(|stopped| SourceError::stopped(name, stopped))?;
    if !anything {
        // The source knows why.
        source::read(name, bytes)?;
    }
    if more > 0 {
        damages.push(more_damaged(more));
    }
    let open_ends = origin.open_ends();
    damages.extend(origin.damages);
    let mut report = Report { name: name.to_owned(), damages, open_ends, ..checker.finish() };
    report.spare(origin.unrecorded);
    Ok(report)
}

impl Report {
    /// Sets aside what a log shows that lacks these facts throughout: nobody can say.
    fn spare(&mut self, unrecorded: Unrecorded) {
        if unrecorded.is_empty() {
            return;
        }
        let open = |fault: Fault| fault.rests_on().iter().any(|fact| unrecorded.has(*fact));
        let (aside, kept) = self.findings.drain(..).partition(|finding| open(finding.fault));
        self.findings = kept;
        let aside: Vec<Finding> = aside;
        // Those beyond the list are of the kinds that are counted.
        let counted: u64 = self.by_fault.iter().filter(|(fault, _)| open(**fault)).map(|(_, count)| count).sum();
        let more = counted.saturating_sub(aside.len() as u64);
        self.by_fault.retain(|fault, _| !open(*fault));
        self.more = self.more.saturating_sub(more);
        self.more_not_judged += more;
        self.not_judged.extend(aside);
    }
}
