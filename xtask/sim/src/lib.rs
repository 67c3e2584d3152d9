//! Random programs for the pool on the simulated device, which runs queued work in any legal order.
//!
//! After every step three judges look: the pool's own `verify`; the simulation, which knows every access to every
//! physical byte; and an oracle that shares nothing with the pool. The oracle keeps, for every stream, the set of all
//! single operations that come before whatever it does next, and, for every byte of every pool, what must come before
//! its next use. With it a malloc is judged both ways: what was given out must have been allowed, and where the pool
//! asked, waited, grew or refused, nothing cheaper may have been there. Of what costs nothing the closest size must have
//! been taken, and of blocks of one size the stream's own before a settled one, that before one along an event, and
//! then the one that was freed last. A program runs on one to three devices: memory of one is never given to a stream of
//! another, and only events order their streams. What the pools say of used and reserved bytes is counted again.
//!
//! "There" is judged by what the pool could know: the recorded order, the driver's answers so far and the switches. Not
//! judged that way, because a rule lets the pool be coarser or because the oracle cannot tell:
//! * blocks that more than two streams used beside the free, or that a stream which is gone could use until the free;
//! * blocks that by the legacy default stream's rules wait for more streams than a pool has places for, and everything
//!   once a stream was destroyed that those rules order;
//! * everything once an event was used while it was being recorded;
//! * which of several blocks is taken where the pool may have merged them with others, or where waits are inserted;
//! * granules that a device which maps in stream order has set aside;
//! * parts of granules in a pool where small and large requests once shared one, until the call would be refused;
//! * programs in which the driver fails on demand.
//!
//! That memory was given out safely is judged always.

mod account;
mod bench;
mod blocks;
mod failure;
mod fit;
mod flux;
mod generate;
mod memory;
mod op;
mod oracle;
mod order;
mod places;
mod program;
mod random;
mod set;
mod shrink;
mod watch;
mod world;

pub use failure::{Failure, Kind};
pub use program::Judge;
pub use shrink::Small;
pub use world::Tally;

use bench::{Store, Surroundings};
use random::Random;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first program's seed; the others' follow from it.
    pub seed: u64,
    /// Steps of all programs together.
    pub steps: u64,
    /// Streams of every program; else each draws its own number.
    pub streams: Option<usize>,
    /// Of 1,000 driver calls so many fail.
    pub faults: u16,
    /// How much is looked at. Without the oracle all steps are one program.
    pub judge: Judge,
    /// Where the log goes: of the shrunk program, else of the last.
    pub log: Option<PathBuf>,
}

/// The most streams a program can have.
pub const MAX_STREAMS: usize = op::STREAMS;

/// A program that failed.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its seed: `--seed` with it begins with this program.
    pub seed: u64,
    /// The step that failed, from 1.
    pub step: u64,
    /// Steps of all programs up to then.
    pub after: u64,
    /// What was found.
    pub failure: Failure,
    /// The same in few steps. `None` where the steps were not kept.
    pub small: Option<Small>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Counts.
    pub tally: Tally,
    /// A hash of everything that happened.
    pub digest: u64,
    /// The first failure; nothing runs after it.
    pub found: Option<Found>,
}

/// The length of a program, by its seed.
fn length(seed: u64) -> u64 {
    Random::new(!seed).pick(&[60, 200, 600, 2000, 2000]).unwrap_or(600)
}

/// Runs programs until the steps are used up or one fails.
///
/// # Errors
/// The log cannot be written.
pub fn run(plan: &Plan) -> io::Result<Report> {
    let mut report = Report { tally: Tally::default(), digest: 0, found: None };
    let mut seeds = Random::new(plan.seed);
    let mut seed = plan.seed;
    while report.tally.steps < plan.steps {
        let left = plan.steps - report.tally.steps;
        let (steps, store) = match (plan.judge, &plan.log) {
            (Judge::All, _) => (length(seed).min(left), Store::Nowhere),
            (Judge::Simulation, None) => (left, Store::Nowhere),
            (Judge::Simulation, Some(log)) => (left, Store::File(BufWriter::new(File::create(partial(log))?))),
        };
        let last = steps == left;
        let surroundings = Surroundings::new(seed, plan.faults);
        let outcome = program::random(&surroundings, plan.streams, steps, plan.judge, store);
        report.tally.add(&outcome.tally);
        report.digest = report.digest.rotate_left(7) ^ outcome.digest;
        if let Store::File(mut file) = outcome.store {
            file.flush()?;
            if let Some(log) = &plan.log {
                std::fs::rename(partial(log), log)?;
            }
        }
        if let Some(failure) = outcome.failure {
            report.found = Some(found(plan, &surroundings, (&outcome.ops, outcome.tally), failure, &report)?);
            return Ok(report);
        }
        if let (Judge::All, Some(log), true) = (plan.judge, &plan.log, last) {
            write_log(&surroundings, &outcome.ops, log)?;
        }
        seed = seeds.next();
    }
    Ok(report)
}

fn found(
    plan: &Plan,
    surroundings: &Surroundings,
    (ops, tally): (&[op::Op], Tally),
    failure: Failure,
    report: &Report,
) -> io::Result<Found> {
    let small = (plan.judge == Judge::All).then(|| shrink::shrink(surroundings, ops, failure.clone()));
    if let (Some(small), Some(log)) = (&small, &plan.log) {
        write_log(surroundings, &small.ops, log)?;
    }
    Ok(Found { seed: surroundings.seed, step: tally.steps, after: report.tally.steps, failure, small })
}

/// Runs a written program once more, with its log.
fn write_log(surroundings: &Surroundings, ops: &[op::Op], log: &Path) -> io::Result<()> {
    let outcome = program::written(surroundings, ops, Store::Kept(Vec::new()));
    let Store::Kept(bytes) = outcome.store else { return Ok(()) };
    std::fs::write(partial(log), bytes)?;
    std::fs::rename(partial(log), log)
}

/// What a log is called until it is whole. What is no file, as a device is none, is written to as it is.
#[must_use]
pub fn partial(log: &Path) -> PathBuf {
    if log.metadata().is_ok_and(|there| !there.is_file()) {
        return log.to_path_buf();
    }
    let mut name = log.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
