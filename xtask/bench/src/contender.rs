//! Who is measured, at what, and how: counted by a profiler, or by the clock.

use crate::churn::{Allocator, Churn, Pair, Steady, room};
use crate::idle::Idle;
use crate::peers::{Buddy, Offset, Ordered, Rlsf, Talc};
use crate::pool::{Pool, Setting, Weir};
use crate::profile;
use crate::replay::{self, Replay};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use weir::trace::NullSink;
use weir_viz::import::Program;

/// An allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This project's pool.
    Weir,
    /// `offset-allocator`.
    Offset,
    /// `rlsf`.
    Rlsf,
    /// `talc`.
    Talc,
    /// `buddy_system_allocator`.
    Buddy,
    /// Best fit by ordered sets.
    Ordered,
}

impl Who {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Weir, Self::Offset, Self::Rlsf, Self::Talc, Self::Buddy, Self::Ordered];

    /// The name on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weir => "weir",
            Self::Offset => "offset-allocator",
            Self::Rlsf => "rlsf",
            Self::Talc => "talc",
            Self::Buddy => "buddy_system_allocator",
            Self::Ordered => "ordered-set",
        }
    }

    /// The allocator of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|who| who.name() == name)
    }

    /// By what all sizes are divided for what takes `bytes`. Allocators that write headers into what they manage need
    /// real memory: of 64 MiB a megabyte is left, and of a large log what fits into two gibibytes.
    fn scale(self, what: &What, bytes: u64) -> u64 {
        match (self, what) {
            (Self::Weir | Self::Offset | Self::Buddy | Self::Ordered, _) => 1,
            (Self::Rlsf | Self::Talc, What::Loop | What::Churn(_)) => 64,
            (Self::Rlsf | Self::Talc, What::Log(_)) => (bytes >> 31).next_power_of_two(),
        }
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The same size again and again.
    Loop,
    /// Random pairs over so many live blocks.
    Churn(usize),
    /// The allocations of a log.
    Log(PathBuf),
}

impl What {
    /// The loop of a name, or the log in a file.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "loop" => Self::Loop,
            "churn_1k" => Self::Churn(1_000),
            "churn_16k" => Self::Churn(16_000),
            "churn_1m" => Self::Churn(1_000_000),
            file => Self::Log(PathBuf::from(file)),
        }
    }
}

/// How long something is done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    warm: usize,
    counted: usize,
    round: usize,
}

impl Effort {
    /// As long as figures need that are compared.
    #[must_use]
    pub const fn full(what: &What) -> Self {
        match what {
            What::Loop => Self { warm: 1_000, counted: 10_000, round: 100_000 },
            What::Churn(live @ 0..100_000) => Self { warm: 8 * *live, counted: 20_000, round: 20_000 },
            // A million are set up as if after much churn.
            What::Churn(_) => Self { warm: 20_000, counted: 2_000, round: 2_000 },
            What::Log(_) => Self { warm: 1, counted: 1, round: 1 },
        }
    }

    /// Hardly at all: for tests.
    #[must_use]
    pub const fn least() -> Self {
        Self { warm: 1, counted: 3, round: 3 }
    }
}

/// An allocator that has been made ready.
pub trait Contest {
    /// Does it as the profiler counts it, and says how many pairs that were.
    ///
    /// # Errors
    /// The allocator refused.
    fn count(&mut self) -> Result<usize, String>;

    /// Does it for a while, and says how many pairs that were and how long they took.
    ///
    /// # Errors
    /// The allocator refused.
    fn round(&mut self) -> Result<(usize, Duration), String>;

    /// What was held at its peak for each byte that was live at its peak, where that says something.
    fn footprint(&self) -> Option<f64>;
}

/// Makes an allocator ready for what is to be done, warmed up.
///
/// # Errors
/// It cannot do that; why not.
pub fn ready(who: Who, what: &What, effort: Effort) -> Result<Box<dyn Contest>, String> {
    let program = match what {
        What::Log(path) => Some(replay::read(path)?),
        What::Loop | What::Churn(_) => None,
    };
    let (bytes, blocks) = match (what, &program) {
        (What::Churn(live), _) => (room(*live + live / 3), live * 2),
        (_, Some(program)) => (replay::room(program), program.blocks.len() * 2 + 8),
        _ => (64 << 20, 64),
    };
    let scale = who.scale(what, bytes);
    let bytes = bytes / scale;
    match who {
        Who::Weir => {
            let setting = Setting::new(blocks, bytes);
            let pool = match &program {
                // It grows as it needs to, so that what it holds at its peak can be seen.
                Some(program) => {
                    let setting = Setting { device: Idle::done(), ..setting };
                    Pool::new(setting.streams(program.streams.len(), program.events), NullSink)?
                }
                None => {
                    let pool = Pool::new(setting, NullSink)?;
                    pool.grow(bytes)?;
                    pool
                }
            };
            contest(Weir::new(pool)?, what, program.as_ref(), scale, effort)
        }
        Who::Offset => contest(Offset::new(bytes, blocks)?, what, program.as_ref(), scale, effort),
        Who::Rlsf => contest(Rlsf::new(bytes)?, what, program.as_ref(), scale, effort),
        Who::Talc => contest(Talc::new(bytes)?, what, program.as_ref(), scale, effort),
        Who::Buddy => contest(Buddy::new(2 * bytes), what, program.as_ref(), scale, effort),
        Who::Ordered => contest(Ordered::new(bytes), what, program.as_ref(), scale, effort),
    }
}

fn contest<A: Allocator + 'static>(
    allocator: A,
    what: &What,
    program: Option<&Program>,
    scale: u64,
    effort: Effort,
) -> Result<Box<dyn Contest>, String> {
    let contest: Box<dyn Contest> = match (what, program) {
        (What::Churn(live), _) => {
            let many = *live >= 100_000;
            let made = if many { Churn::thinned } else { Churn::new };
            let mut churn = made(allocator, *live, scale)?;
            churn.warm(effort.warm)?;
            Box::new(Churning { churn, effort })
        }
        (_, Some(program)) => {
            let mut replay = Replay::new(allocator, program, scale);
            replay.watched()?;
            Box::new(replay)
        }
        _ => {
            let mut steady = Steady::new(allocator, scale)?;
            steady.through(effort.warm)?;
            Box::new(Steadily { steady, effort })
        }
    };
    Ok(contest)
}

struct Churning<A: Allocator> {
    churn: Churn<A>,
    effort: Effort,
}

impl<A: Allocator> Contest for Churning<A> {
    fn count(&mut self) -> Result<usize, String> {
        let plan: Vec<Pair> = self.churn.plan(self.effort.counted);
        profile::begin();
        self.churn.count(&plan)?;
        Ok(plan.len())
    }

    fn round(&mut self) -> Result<(usize, Duration), String> {
        let plan = self.churn.plan(self.effort.round);
        let begun = Instant::now();
        self.churn.through(&plan)?;
        Ok((plan.len(), begun.elapsed()))
    }

    fn footprint(&self) -> Option<f64> {
        self.churn.footprint()
    }
}

struct Steadily<A: Allocator> {
    steady: Steady<A>,
    effort: Effort,
}

impl<A: Allocator> Contest for Steadily<A> {
    fn count(&mut self) -> Result<usize, String> {
        profile::begin();
        self.steady.count(self.effort.counted)?;
        Ok(self.effort.counted)
    }

    fn round(&mut self) -> Result<(usize, Duration), String> {
        let begun = Instant::now();
        self.steady.through(self.effort.round)?;
        Ok((self.effort.round, begun.elapsed()))
    }

    fn footprint(&self) -> Option<f64> {
        None
    }
}

impl<A: Allocator> Contest for Replay<A> {
    fn count(&mut self) -> Result<usize, String> {
        profile::begin();
        Self::count(self)?;
        Ok(self.pairs())
    }

    fn round(&mut self) -> Result<(usize, Duration), String> {
        let begun = Instant::now();
        self.through()?;
        Ok((self.pairs(), begun.elapsed()))
    }

    fn footprint(&self) -> Option<f64> {
        Self::footprint(self)
    }
}
