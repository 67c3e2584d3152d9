//! The search for the worst call: states that are made to be bad, and a random program, each at a full arena of blocks.
//!
//! In most scenes every call is counted. A program of very many calls is played several times by the clock first; those
//! that took longest, each by its shortest time, are counted then.

mod address;
mod index;
mod order;
mod program;

use crate::calls::{counted_free, counted_malloc, counted_record, counted_use, counted_wait};
use crate::idle::DEVICE;
use crate::pool::{Pool, Setting, text};
use crate::profile;
use std::time::{Duration, Instant};
use weir::id::{EventId, StreamId};
use weir::policy::{StreamKind, UseUntil};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, DevicePtr};

/// Streams of every scene.
const STREAMS: usize = 64;

/// How large the scenes are.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    blocks: usize,
    calls: usize,
}

impl Size {
    /// A million blocks.
    pub const FULL: Self = Self { blocks: 1 << 20, calls: 300_000 };

    /// Hardly any: for tests.
    pub const LEAST: Self = Self { blocks: 1 << 14, calls: 300 };

    /// The blocks of the arena.
    #[must_use]
    pub const fn blocks(self) -> usize {
        self.blocks
    }

    /// As many calls with so many times the blocks.
    #[must_use]
    pub const fn times(self, factor: usize) -> Self {
        Self { blocks: self.blocks * factor, ..self }
    }
}

/// The calls of a scene whose state is there.
type Build = Result<Box<dyn Calls>, String>;

/// A state and the calls that are made in it.
pub struct Scene {
    /// Its name on the command line.
    pub name: &'static str,
    /// What makes it bad.
    pub about: &'static str,
    kinds: fn() -> Vec<StreamKind>,
    bytes: fn(Size) -> u64,
    length: Length,
    build: fn(&Pool, Size) -> Build,
}

/// All scenes.
pub fn scenes() -> impl Iterator<Item = &'static Scene> {
    [index::SCENES, order::SCENES, address::SCENES, program::SCENES].into_iter().flatten()
}

/// Streams that only events order.
fn non_blocking() -> Vec<StreamKind> {
    vec![StreamKind::NonBlocking; STREAMS]
}

/// A call that is measured.
#[derive(Clone, Copy, Debug)]
enum Call {
    Malloc {
        size: u64,
        stream: StreamId,
    },
    Free {
        block: DevicePtr,
        stream: StreamId,
    },
    /// A free that is refused.
    Wrong {
        block: DevicePtr,
        stream: StreamId,
    },
    Use {
        block: DevicePtr,
        stream: StreamId,
        until: UseUntil,
    },
    Record {
        event: EventId,
        stream: StreamId,
    },
    Wait {
        stream: StreamId,
        event: EventId,
    },
}

/// What is called, for tables. Those of refused calls are told apart.
pub const VERBS: [&str; 6] = ["malloc", "free", "use", "record", "wait", "refused_free"];

impl Call {
    const fn verb(&self) -> &'static str {
        match self {
            Self::Malloc { .. } => "malloc",
            Self::Free { .. } => "free",
            Self::Use { .. } => "use",
            Self::Record { .. } => "record",
            Self::Wait { .. } => "wait",
            Self::Wrong { .. } => "refused_free",
        }
    }

    /// Makes the call; what a malloc gave.
    fn make(self, pool: &Pool) -> Result<Option<DevicePtr>, String> {
        match self {
            Self::Malloc { size, stream } => {
                return pool.runtime.malloc_async(pool.pool, Bytes(size), stream).map(Some).map_err(text);
            }
            Self::Free { block, stream } => pool.runtime.free_async(block, stream).map_err(text)?,
            Self::Wrong { block, stream } => refused(pool.runtime.free_async(block, stream))?,
            Self::Use { block, stream, until } => pool.runtime.record_use(block, stream, until).map_err(text)?,
            Self::Record { event, stream } => pool.runtime.record(event, stream).map_err(text)?,
            Self::Wait { stream, event } => pool.runtime.wait(stream, event).map_err(text)?,
        }
        Ok(None)
    }

    /// The same, counted.
    fn count(self, pool: &Pool) -> Result<Option<DevicePtr>, String> {
        match self {
            Self::Malloc { size, stream } => return counted_malloc(pool, size, stream).map(Some),
            Self::Free { block, stream } => counted_free(pool, block, stream)?,
            Self::Wrong { block, stream } => refused(counted_free(pool, block, stream))?,
            Self::Use { block, stream, until } => counted_use(pool, block, stream, until)?,
            Self::Record { event, stream } => counted_record(pool, event, stream)?,
            Self::Wait { stream, event } => counted_wait(pool, stream, event)?,
        }
        Ok(None)
    }
}

fn refused<E>(outcome: Result<(), E>) -> Result<(), String> {
    match outcome {
        Ok(()) => Err("a free that is wrong was accepted".into()),
        Err(_) => Ok(()),
    }
}

/// The calls of a scene, one after the other. What lies between them is made without being measured.
trait Calls {
    /// The next call; `last` is what the last malloc gave.
    fn next(&mut self, pool: &Pool, last: Option<DevicePtr>) -> Result<Option<Call>, String>;
}

/// Calls that are known from the start.
struct Listed(std::vec::IntoIter<Call>);

impl Listed {
    fn boxed(calls: Vec<Call>) -> Box<dyn Calls> {
        Box::new(Self(calls.into_iter()))
    }
}

impl Calls for Listed {
    fn next(&mut self, _: &Pool, _: Option<DevicePtr>) -> Result<Option<Call>, String> {
        Ok(self.0.next())
    }
}

/// Calls that a function makes up, by number.
struct Made<F>(usize, F);

impl<F: FnMut(&Pool, usize, Option<DevicePtr>) -> Result<Option<Call>, String>> Calls for Made<F> {
    fn next(&mut self, pool: &Pool, last: Option<DevicePtr>) -> Result<Option<Call>, String> {
        let number = self.0;
        self.0 += 1;
        (self.1)(pool, number, last)
    }
}

/// How a scene is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Each of its calls is counted.
    Short,
    /// Only those are that take longest by the clock.
    Long,
}

/// How many times a long scene is played by the clock.
const PLAYS: usize = 3;

/// Of each verb so many calls of a long scene are counted.
const MOST: usize = 24;

/// For so long a play of a long scene goes on.
const PATIENCE: Duration = Duration::from_secs(10);

impl Scene {
    /// The scene of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        scenes().find(|scene| scene.name == name)
    }

    /// `long` where calls are to be searched for, `short` where all are counted.
    #[must_use]
    pub const fn length(&self) -> &'static str {
        match self.length {
            Length::Short => "short",
            Length::Long => "long",
        }
    }

    /// The pool before the calls.
    fn set(&self, size: Size) -> Result<(Pool, Box<dyn Calls>), String> {
        let bytes = (self.bytes)(size);
        let mut setting = Setting::new(size.blocks, bytes);
        setting.capacities.blocks = size.blocks;
        setting.kinds = (self.kinds)();
        setting.events = 2 * STREAMS;
        let pool = Pool::new(setting, NullSink)?;
        pool.grow(bytes)?;
        // Whatever is asked for, something settled is large enough: no malloc takes a run of blocks.
        pool.runtime.synchronize_device(DEVICE).map_err(text)?;
        let calls = (self.build)(&pool, size)?;
        Ok((pool, calls))
    }

    /// Plays the scene several times by the clock; the numbers of those calls of each verb that took longest, each by the
    /// shortest time that it took.
    ///
    /// # Errors
    /// The runtime refused what the scene needs.
    pub fn search(&self, size: Size) -> Result<Vec<usize>, String> {
        let mut all: Vec<(&str, Duration)> = Vec::new();
        for play in 0..PLAYS {
            let (pool, mut calls) = self.set(size)?;
            let (mut last, begun) = (None, Instant::now());
            for number in 0.. {
                let late = if play == 0 { begun.elapsed() > PATIENCE } else { number == all.len() };
                let Some(call) = calls.next(&pool, last)?.filter(|_| !late) else { break };
                let begun = Instant::now();
                let given = call.make(&pool)?;
                let took = begun.elapsed();
                last = given.or(last);
                match all.get_mut(number) {
                    Some((_, least)) => *least = took.min(*least),
                    None => all.push((call.verb(), took)),
                }
            }
        }
        let of = |verb: &'static str| {
            let some = all.iter().enumerate().filter(move |(_, (other, _))| *other == verb);
            let mut some: Vec<(Duration, usize)> = some.map(|(number, (_, took))| (*took, number)).collect();
            some.sort_unstable_by(|one, other| other.cmp(one));
            some.into_iter().take(MOST).map(|(_, number)| number)
        };
        Ok(VERBS.into_iter().flat_map(of).collect())
    }

    /// Plays the scene and measures each of its calls by the difference of what `clock` says; what was called, as in
    /// [`count`](Self::count), and how much it took.
    ///
    /// # Errors
    /// The runtime refused what the scene needs.
    pub fn measure(&self, size: Size, clock: impl Fn() -> u64) -> Result<Vec<(&'static str, u64)>, String> {
        let (pool, mut calls) = self.set(size)?;
        let (mut last, mut measured) = (None, Vec::new());
        while let Some(call) = calls.next(&pool, last)? {
            let (served_before, before) = (served(&pool)?, clock());
            let given = call.make(&pool)?;
            let took = clock() - before;
            measured.push((called(&pool, call, given, served_before)?, took));
            last = given.or(last);
        }
        Ok(measured)
    }

    /// Plays the scene and counts its calls, or those of these numbers, each in a function of its own. What was called,
    /// in the order in which it was; `aside` where a malloc was not served by what was there.
    ///
    /// # Errors
    /// The runtime refused what the scene needs.
    pub fn count(&self, size: Size, numbers: Option<&[usize]>) -> Result<Vec<&'static str>, String> {
        let (pool, mut calls) = self.set(size)?;
        let end = numbers.map_or(usize::MAX, |some| some.iter().max().map_or(0, |last| last + 1));
        let (mut last, mut counted) = (None, Vec::new());
        profile::begin();
        for number in 0..end {
            let Some(call) = calls.next(&pool, last)? else { break };
            let given = if numbers.is_none_or(|some| some.contains(&number)) {
                let before = served(&pool)?;
                let given = call.count(&pool)?;
                counted.push(called(&pool, call, given, before)?);
                given
            } else {
                call.make(&pool)?
            };
            last = given.or(last);
        }
        Ok(counted)
    }
}

/// The verb of a call; `aside` where it is a malloc that what was there did not serve: so many were served before it.
fn called(pool: &Pool, call: Call, given: Option<DevicePtr>, before: u64) -> Result<&'static str, String> {
    let aside = given.is_some() && served(pool)? == before;
    Ok(if aside { "aside" } else { call.verb() })
}

/// Mallocs that were served by what was there.
fn served(pool: &Pool) -> Result<u64, String> {
    let stats = pool.runtime.stats(pool.pool).map_err(text)?;
    let of = |source: Source| stats.by_source.get(source as usize).copied().unwrap_or(0);
    Ok(of(Source::SameStream) + of(Source::Settled) + of(Source::Event))
}
