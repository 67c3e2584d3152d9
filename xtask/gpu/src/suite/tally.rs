//! What the programs came to.

use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use weir::trace::Source;
use weir::units::Bytes;
use weir_gpu_device::{Gpu, GpuDriver, GpuError};

/// How many failures are told one by one.
const MOST_TOLD: usize = 20;

/// Counts of programs, of what their kernels checked, and of where memory came from.
pub(crate) struct Tally {
    pub(super) gpu: &'static Gpu,
    /// The size of a granule in bytes.
    pub(super) granule: u64,
    is_quiet: bool,
    /// Programs, and blocks whose bytes a kernel compared.
    programs: u64,
    blocks: u64,
    failures: Vec<String>,
    by_source: [u64; Source::ALL.len()],
    moved: u64,
    parts: Map<String, Value>,
    left_out: Vec<String>,
    /// Programs, blocks and failures when the part began.
    begun: (u64, u64, usize),
}

impl Tally {
    pub(super) fn new(gpu: &'static Gpu, is_quiet: bool) -> Result<Self, GpuError> {
        let granule = GpuDriver::new(gpu, Bytes(u64::MAX))?.granule().0;
        let (by_source, failures, parts, left_out, begun) = Default::default();
        let (programs, blocks, moved) = (0, 0, 0);
        Ok(Self { gpu, granule, is_quiet, programs, blocks, failures, by_source, moved, parts, left_out, begun })
    }

    /// Runs a program and looks at what its kernels found; nothing where it failed.
    pub(super) fn run<T>(&mut self, name: &str, program: impl FnOnce() -> T) -> Result<Option<T>, GpuError> {
        // The message of a panic is on the standard error stream by then.
        let outcome = catch_unwind(AssertUnwindSafe(program)).ok();
        self.programs += 1;
        let lost = |error| GpuError::Failed(format!("{name}: {error}: the device does not answer any more"));
        let verdict = self.gpu.verdict().map_err(lost)?;
        self.blocks += verdict.checks;
        let (has_ended, is_right) = (outcome.is_some(), verdict.wrong.is_empty());
        if !has_ended {
            self.fail(format!("{name}: it did not end as it should"));
        }
        for wrong in verdict.wrong {
            self.fail(format!("{name}: {wrong}"));
        }
        Ok(outcome.filter(|_| is_right))
    }

    fn fail(&mut self, text: String) {
        if self.failures.len() < MOST_TOLD {
            eprintln!("FAILED {text}");
        }
        self.failures.push(text);
    }

    pub(super) fn add(&mut self, by_source: [u64; Source::ALL.len()], moved: u64) {
        self.by_source.iter_mut().zip(by_source).for_each(|(all, one)| *all += one);
        self.moved += moved;
    }

    /// A part is over.
    pub(super) fn part(&mut self, name: &str, about: &str) {
        let now = (self.programs, self.blocks, self.failures.len());
        let (programs, blocks, failed) = (now.0 - self.begun.0, now.1 - self.begun.1, now.2 - self.begun.2);
        self.begun = now;
        self.parts.insert(name.into(), json!({ "programs": programs, "blocks_checked": blocks, "failed": failed }));
        if !self.is_quiet {
            println!("{name:<8} {programs:>6} programs {blocks:>9} blocks checked {failed:>4} failed   {about}");
        }
    }

    /// Says what is not done.
    pub(super) fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push(format!("{name} ({why})"));
        if !self.is_quiet {
            println!("left out: {name} ({why})");
        }
    }

    /// The corpus is made so that memory comes from everywhere.
    pub(super) fn demand_every_kind(&mut self) {
        for source in Source::ALL {
            if self.by_source[source as usize] == 0 {
                self.fail(format!("no malloc took its memory from `{}`", source.name()));
            }
        }
        if self.moved == 0 {
            self.fail("no granule was moved".into());
        }
    }

    /// How many checks there were, and how many failed.
    pub(crate) fn counts(&self) -> (u64, usize) {
        (self.programs + self.blocks, self.failures.len())
    }

    /// Where memory came from, as a line.
    pub(crate) fn kinds(&self) -> String {
        let kinds = Source::ALL.map(|source| format!("{} {}", source.name(), self.by_source[source as usize]));
        format!("mallocs by source: {}; granules moved: {}", kinds.join(", "), self.moved)
    }

    /// The same for a script.
    pub(crate) fn json(&self) -> Value {
        let kinds = Source::ALL.map(|source| (source.name().to_owned(), json!(self.by_source[source as usize])));
        json!({
            "parts": self.parts,
            "mallocs_by_source": Map::from_iter(kinds),
            "granules_moved": self.moved,
            "left_out": self.left_out,
            "failures": self.failures,
        })
    }
}
