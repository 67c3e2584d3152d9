//! What is done on a device once there is one.

use super::baseline::{self, Baseline};
use super::run::Run;
use super::sink::LogSink;
use super::venue::Venue;
use super::{Options, Summary, around};
use crate::failure::Failure;
use weir::Arenas;
use weir_viz::import::Program;
use weir_viz::progress::{Task, Unit};

/// Something to do on a device of any kind.
pub(super) trait Job {
    /// What comes of it.
    type Output;

    /// Does it. The arenas are for the job's own runtime.
    fn run<V: Venue>(
        self,
        venue: &V,
        arenas: Arenas<'_>,
        program: &Program,
        options: &Options,
    ) -> Result<Self::Output, Failure>;
}

/// Says how far a replay is.
struct Told(Task);

impl Told {
    fn new(program: &Program, options: &Options) -> Self {
        Self(options.progress.begin("replaying", Unit::Calls, Some(program.ops.len() as u64)))
    }

    fn at(&self, row: usize) {
        // Nobody stops a replay but by ending the process.
        let _ = self.0.at(row as u64 + 1);
    }
}

/// The log's rows on a pool.
pub(super) struct Rows;

/// The same up to the first allocation that is refused: whether there was none.
pub(super) struct Fit;

/// The log's rows with streams around them.
pub(super) struct Around;

/// The log's rows without a pool.
pub(super) struct Synchronous;

impl Job for Rows {
    type Output = Summary;

    fn run<V: Venue>(
        self,
        venue: &V,
        arenas: Arenas<'_>,
        program: &Program,
        options: &Options,
    ) -> Result<Summary, Failure> {
        let mut run = Run::new(venue, arenas, program, options, LogSink::new(options.log.as_deref())?)?;
        let told = Told::new(program, options);
        for row in 0..program.ops.len() {
            run.row(row)?;
            told.at(row);
        }
        run.finish()
    }
}

impl Job for Fit {
    type Output = bool;

    fn run<V: Venue>(
        self,
        venue: &V,
        arenas: Arenas<'_>,
        program: &Program,
        options: &Options,
    ) -> Result<bool, Failure> {
        let mut run = Run::new(venue, arenas, program, options, LogSink::new(None)?)?;
        let told = Told::new(program, options);
        for row in 0..program.ops.len() {
            run.row(row)?;
            told.at(row);
            if run.refused() > 0 {
                return Ok(false);
            }
        }
        run.finish().map(|_| true)
    }
}

impl Job for Around {
    type Output = Summary;

    fn run<V: Venue>(
        self,
        venue: &V,
        arenas: Arenas<'_>,
        program: &Program,
        options: &Options,
    ) -> Result<Summary, Failure> {
        let mut run = Run::new(venue, arenas, program, options, LogSink::new(options.log.as_deref())?)?;
        let mut around = around::Around::new(&run)?;
        for row in 0..program.ops.len() {
            run.row(row)?;
            around.after(row, &mut run)?;
        }
        around.end(&run)?;
        run.finish()
    }
}

impl Job for Synchronous {
    type Output = Baseline;

    fn run<V: Venue>(self, venue: &V, _: Arenas<'_>, program: &Program, _: &Options) -> Result<Baseline, Failure> {
        baseline::run(venue, program)
    }
}
