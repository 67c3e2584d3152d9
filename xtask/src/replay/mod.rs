//! Replays: runs the program of a log on a pool, over a simulated or a host device.

mod around;
mod available;
mod baseline;
pub(crate) mod beside;
mod capacity;
#[cfg(target_os = "linux")]
mod host;
mod job;
mod model;
mod rules;
mod run;
mod sim;
mod sink;
mod sizing;
mod summary;
mod venue;

pub(crate) use available::Available;
pub(crate) use baseline::Baseline;

pub(crate) use capacity::{Capacity, least};
pub(crate) use rules::{Comparison, compare};
pub(crate) use summary::{Summary, table};

use crate::failure::Failure;
use job::{Around, Fit, Job, Rows, Synchronous};
use serde_json::{Value, json};
use std::path::PathBuf;
use weir::policy::{Preference, Reuse, Tuning};
use weir::units::Bytes;
use weir_viz::import::Program;
use weir_viz::progress::Progress;

/// What blocks are rounded up to, and where they begin, unless another alignment is asked for.
pub(crate) const ALIGNMENT: Bytes = Bytes(512);

/// Which rows' work a simulated device has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lag {
    /// That of all rows but this many.
    Rows(usize),
    /// Only what `sync` rows wait for.
    Never,
}

/// When a simulated device's maps and unmaps take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Maps {
    /// At once, as with CUDA's and CANN's virtual memory calls.
    #[default]
    AtOnce,
    /// When the stream that they name has come so far.
    InStreamOrder,
}

/// How a simulated device behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simulated {
    pub(crate) lag: Lag,
    pub(crate) maps: Maps,
}

impl Simulated {
    /// A device that is never behind.
    pub(crate) const DEFAULT: Self = Self { lag: Lag::Rows(0), maps: Maps::AtOnce };
}

/// The device that a log is replayed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Virtual time, every access checked for order, no bytes.
    Sim(Simulated),
    /// Memory and threads of this machine, kernels over real bytes.
    Host,
}

/// How a log is replayed.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) policy: &'static str,
    pub(crate) reuse: Reuse,
    pub(crate) preference: Preference,
    /// The pool's limit; none: so much that the log does not meet it.
    pub(crate) limit: Option<Bytes>,
    pub(crate) threshold: Bytes,
    pub(crate) small_limit: Option<Bytes>,
    pub(crate) tuning: Tuning,
    /// Of a simulated device.
    pub(crate) alignment: Bytes,
    pub(crate) on: On,
    /// Where the event log goes.
    pub(crate) log: Option<PathBuf>,
    /// Who is told how far it is.
    pub(crate) progress: Progress,
}

impl Options {
    /// A pool as it is by default.
    pub(crate) fn new(on: On) -> Self {
        Self {
            policy: "all",
            reuse: Reuse::all(),
            preference: Preference::GrowFirst,
            limit: None,
            threshold: Bytes::ZERO,
            small_limit: None,
            tuning: Tuning::DEFAULT,
            alignment: ALIGNMENT,
            on,
            log: None,
            progress: Progress::default(),
        }
    }
}

impl On {
    /// What a script should know of it.
    fn json(self) -> Value {
        match self {
            Self::Host => json!({ "driver": "host" }),
            Self::Sim(Simulated { lag, maps }) => json!({
                "driver": "sim",
                "lag": match lag {
                    Lag::Rows(rows) => json!(rows),
                    Lag::Never => json!("none"),
                },
                "maps": match maps {
                    Maps::AtOnce => "at-once",
                    Maps::InStreamOrder => "ordered",
                },
            }),
        }
    }

    /// The device that shows most: real bytes, where there is a driver for them.
    pub(crate) const fn best() -> Self {
        if cfg!(target_os = "linux") { Self::Host } else { Self::Sim(Simulated::DEFAULT) }
    }
}

/// Replays a log and adds nothing.
pub(crate) fn replay(program: &Program, options: &Options) -> Result<Summary, Failure> {
    perform(program, options, Rows)
}

/// Replays a log up to the first allocation that is refused; whether there was none.
fn fits(program: &Program, options: &Options) -> Result<bool, Failure> {
    perform(program, options, Fit)
}

/// Replays a log of one stream with a copy and a communication stream around it.
pub(crate) fn replay_with_streams_around(program: &Program, options: &Options) -> Result<Summary, Failure> {
    perform(program, options, Around)
}

/// The log without a pool: see [`Baseline`].
pub(crate) fn synchronous(program: &Program, options: &Options) -> Result<Baseline, Failure> {
    perform(program, options, Synchronous)
}

/// Does a job on the device that the options name.
fn perform<J: Job>(program: &Program, options: &Options, job: J) -> Result<J::Output, Failure> {
    match options.on {
        On::Sim(device) => sim::perform(program, options, device, job),
        #[cfg(target_os = "linux")]
        On::Host => host::perform(program, options, job),
        #[cfg(not(target_os = "linux"))]
        On::Host => Err(Failure::Failed("the host driver is for Linux; replay with --driver sim".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use weir::units::MIB;

    /// 1,100 rows on one stream: blocks of 3 MiB and 100 bytes, each freed four rows later.
    fn program() -> Program {
        let mut text = "Thread,Time,Action,Pointer,Size,Stream\n".to_owned();
        for step in 0_u64..550 {
            let size = if step.is_multiple_of(2) { 3 * MIB } else { 100 };
            writeln!(text, "1,{step},allocate,{:#x},{size},0", step + 1).expect("is written");
            if let Some(old) = step.checked_sub(2) {
                writeln!(text, "1,{step},free,{:#x},0,0", old + 1).expect("is written");
            }
        }
        weir_viz::import::read(text.as_bytes(), None).expect("is a log")
    }

    fn options() -> Options {
        Options::new(On::Sim(Simulated { lag: Lag::Rows(300), ..Simulated::DEFAULT }))
    }

    /// The simulation refuses every access that is not ordered with another: the rounds hold their promises.
    #[test]
    fn streams_around_the_log_add_two_rounds_in_order() {
        let program = program();
        let summary = replay_with_streams_around(&program, &options()).expect("is replayed");
        assert_eq!(program.ops.len(), 1_098);
        assert_eq!(summary.events, 1_098 + 2 * 11);
        assert_eq!((summary.mallocs, summary.frees), (550 + 2 * 2, 548 + 2 * 2));
        // Each round checks an input, the largest block once more, and a bucket.
        assert_eq!(summary.bytes_checked, program.total() + 2 * (4 + 3 + 8) * MIB);
        assert_eq!(summary.calls.create, summary.calls.destroy);
    }

    #[test]
    fn without_a_pool_every_free_is_a_synchronisation() {
        let outcome = synchronous(&program(), &options()).expect("is replayed");
        assert_eq!((outcome.mallocs, outcome.frees, outcome.calls.synchronise), (550, 550, 550));
        // Two granules for 3 MiB, one for 100 bytes.
        assert_eq!((outcome.calls.create, outcome.calls.destroy), (275 * 3, 275 * 3));
        assert_eq!(outcome.peak_used, 2 * 3 * MIB + 100);
        assert_eq!(outcome.peak_reserved, 2 * 4 * MIB + 2 * MIB);
        assert_eq!(outcome.bytes_checked, program().total());
    }

    #[test]
    fn rows_count_and_a_pool_reuses() {
        let program = program();
        let summary = replay(&program, &options()).expect("is replayed");
        assert_eq!((summary.events, summary.mallocs, summary.frees), (1_098, 550, 548));
        // Three blocks live at once, all on one stream: three large ones' room is enough for ever.
        assert!(summary.peak_reserved <= 12 * MIB, "{}", summary.peak_reserved);
        assert_eq!(summary.bytes_checked, program.total());
    }
}
