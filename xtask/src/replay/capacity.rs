//! The smallest limit at which a log completes without a refusal, beside what no pool can do without.

use super::{On, Options, Summary, fits, replay};
use crate::failure::Failure;
use crate::size;
use serde_json::{Value, json};
use weir::units::Bytes;
use weir_viz::floor::{Exactness, Floor};
use weir_viz::import::Program;

/// How near the search comes to the smallest limit: half a percent, or one granule where that is more.
const NEAR: u64 = 200;

/// The largest limit that is tried.
const MOST: u64 = 8 << 40;

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Capacity {
    /// A limit at which nothing is refused; a granule or half a percent below, something is.
    pub(crate) min_capacity: u64,
    pub(crate) floor: Floor,
    /// The replay without a limit.
    pub(crate) free: Summary,
    /// How many replays the search took.
    pub(crate) replays: u64,
    on: On,
}

/// Searches it by bisection over replays.
pub(crate) fn least(program: &Program, options: &Options) -> Result<Capacity, Failure> {
    let options = Options { limit: None, log: None, ..options.clone() };
    let free = replay(program, &options)?;
    if free.refused > 0 {
        let text = format!("{} allocations do not fit in any device that is simulated", free.refused);
        return Err(Failure::Failed(text));
    }
    let floor = Floor::of(program, options.alignment.0);
    let mut search = Search { program, options, granule: free.granule, replays: 0 };
    let granules = search.run(free.peak_used.div_ceil(free.granule), free.peak_reserved.div_ceil(free.granule))?;
    let min_capacity = granules * free.granule;
    Ok(Capacity { min_capacity, floor, replays: search.replays, on: search.options.on, free })
}

struct Search<'a> {
    program: &'a Program,
    options: Options,
    granule: u64,
    replays: u64,
}

impl Search<'_> {
    /// In granules: no fewer than `peak` can do, and `free` were enough without a limit.
    fn run(&mut self, peak: u64, free: u64) -> Result<u64, Failure> {
        if self.fits(peak)? {
            return Ok(peak);
        }
        let (mut refuses, mut fits) = (peak, free.max(peak + 1));
        while !self.fits(fits)? {
            refuses = fits;
            fits = fits + fits / 8 + 1;
        }
        while fits - refuses > (refuses / NEAR).max(1) {
            let middle = refuses.midpoint(fits);
            match self.fits(middle)? {
                true => fits = middle,
                false => refuses = middle,
            }
        }
        Ok(fits)
    }

    fn fits(&mut self, granules: u64) -> Result<bool, Failure> {
        let limit = granules.saturating_mul(self.granule);
        if limit > MOST {
            return Err(Failure::Failed(format!("no limit up to {} is enough", size::shown(MOST))));
        }
        self.replays += 1;
        // A log without allocations fits into nothing at all, which a limit cannot say.
        let options = Options { limit: Some(Bytes(limit)), ..self.options.clone() };
        if granules == 0 { Ok(true) } else { fits(self.program, &options) }
    }
}

impl Capacity {
    /// One object on one line. Fields are added, never renamed.
    pub(crate) fn json(&self) -> Value {
        json!({
            "policy": self.free.policy,
            "device": self.on.json(),
            "min_capacity_bytes": self.min_capacity,
            "peak_used_bytes": self.free.peak_used,
            "ordered_floor_bytes": self.floor.bytes,
            "ordered_floor_is": self.floor.exactness.name(),
            "peak_reserved_bytes": self.free.peak_reserved,
            "granule_bytes": self.free.granule,
            "replays": self.replays,
        })
    }

    /// Bytes over the ordered floor.
    pub(crate) fn over(&self, bytes: u64) -> f64 {
        if self.floor.bytes == 0 { 0.0 } else { bytes as f64 / self.floor.bytes as f64 }
    }

    pub(crate) const HEADING: [&'static str; 3] = ["", "bytes", "/ floor"];

    /// What is largest comes last.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let floor = match self.floor.exactness {
            Exactness::Exact => "ordered floor",
            Exactness::LowerBound => "ordered floor, at least",
        };
        let row = |name: &str, bytes: u64| {
            vec![name.to_owned(), format!("{} ({bytes})", size::shown(bytes)), format!("{:.4}", self.over(bytes))]
        };
        vec![
            row("peak used", self.free.peak_used),
            row(floor, self.floor.bytes),
            row("smallest limit", self.min_capacity),
            row("peak reserved, no limit", self.free.peak_reserved),
        ]
    }
}
