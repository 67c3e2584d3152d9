//! Streams as queues of work, and the scheduler that runs them.
//!
//! Nothing is pre-empted: a step of a kernel handles some words and returns. Every stream counts what it was given and what
//! it has done, so that a marker is a stream and a number.

use crate::agent::Agent;
use crate::machine::{Fault, Machine};
use heapless::Deque;
use weir::driver::{DriverCall, DriverError, DriverErrorKind};
use weir::units::Nanos;

/// Streams of a board.
pub const STREAMS: usize = 6;

/// Work that can wait in a stream.
const DEPTH: usize = 64;

/// Words that a kernel handles in one step.
const STEP: u64 = 4096;

/// Up to where a stream must have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stream: usize,
    pub(crate) count: u32,
}

/// Words of memory and what stands in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Where they begin; a multiple of 8.
    pub at: u64,
    /// How many bytes there are; a multiple of 8.
    pub bytes: u64,
    /// What they hold: another pattern for each seed.
    pub seed: u64,
}

impl Pattern {
    /// The word at `offset` bytes: a permutation of the two numbers (the finaliser of splitmix64).
    const fn word(&self, offset: u64) -> u64 {
        let mut z = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(offset);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// One piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A kernel that writes every word.
    Fill(Pattern),
    /// A kernel that reads every word and counts the wrong ones.
    Check(Pattern),
    /// A kernel that takes this long and touches nothing.
    Pause(Nanos),
}

/// What stands in a queue.
#[derive(Clone, Copy, Debug)]
enum Item {
    Work(Work),
    Wait(Position),
    /// The next message in the stream's ring.
    Message,
}

/// What kernels found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Words that were compared.
    pub compared: u64,
    /// Those that were not what they should be.
    pub wrong: u64,
    /// Kernels that ended with a fault.
    pub faults: u32,
    /// The address of the latest fault.
    pub latest: Option<Fault>,
}

#[derive(Debug, Default)]
struct Stream {
    queue: Deque<Item, DEPTH>,
    /// Items queued and finished since the board was made.
    queued: u32,
    done: u32,
    /// Bytes that the kernel at the head has handled.
    handled: u64,
    /// When the pause at the head ends.
    until: Option<Nanos>,
}

/// What one look at the streams came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Something was done.
    Some,
    /// All that there is waits for time to pass.
    Sleeps,
    /// Nothing is left, or nothing can go on.
    Nothing,
}

/// All streams of a board.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: [Stream; STREAMS],
    pub(crate) found: Found,
}

const fn refused(call: DriverCall, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code: 0, kind }
}

impl Streams {
    /// Queues a kernel.
    pub(crate) fn launch(&mut self, stream: usize, work: Work) -> Result<(), DriverError> {
        self.push(DriverCall::Lay, stream, Item::Work(work))
    }

    /// Queues a wait.
    pub(crate) fn wait(&mut self, stream: usize, position: Position) -> Result<(), DriverError> {
        self.push(DriverCall::Wait, stream, Item::Wait(position))
    }

    /// Queues a message, which is in the ring.
    pub(crate) fn announce(&mut self, stream: usize) -> Result<(), DriverError> {
        self.push(DriverCall::Map, stream, Item::Message)
    }

    fn push(&mut self, call: DriverCall, stream: usize, item: Item) -> Result<(), DriverError> {
        let stream = self.streams.get_mut(stream).ok_or(refused(call, DriverErrorKind::Failed))?;
        stream.queue.push_back(item).map_err(|_| refused(call, DriverErrorKind::Exhausted))?;
        stream.queued = stream.queued.wrapping_add(1);
        Ok(())
    }

    /// Behind all that a stream was given.
    pub(crate) fn head(&self, stream: usize) -> Option<Position> {
        self.streams.get(stream).map(|found| Position { stream, count: found.queued })
    }

    /// Whether a stream has come that far.
    pub(crate) fn reached(&self, position: Position) -> bool {
        self.streams
            .get(position.stream)
            .is_none_or(|stream| stream.done.wrapping_sub(position.count).cast_signed() >= 0)
    }

    /// Whether all of some streams is done.
    pub(crate) fn idle(&self, streams: core::ops::Range<usize>) -> bool {
        self.streams.get(streams).is_none_or(|some| some.iter().all(|stream| stream.queue.is_empty()))
    }

    /// One step of each stream.
    pub(crate) fn step<M: Machine>(&mut self, machine: &M, agent: &mut Agent<'_, M>) -> Progress {
        let mut progress = Progress::Nothing;
        for index in 0..STREAMS {
            match (self.step_one(index, machine, agent), progress) {
                (Progress::Some, _) => progress = Progress::Some,
                (Progress::Sleeps, Progress::Nothing) => progress = Progress::Sleeps,
                _ => {}
            }
        }
        progress
    }

    fn step_one<M: Machine>(&mut self, index: usize, machine: &M, agent: &mut Agent<'_, M>) -> Progress {
        let Some(item) = self.streams.get(index).and_then(|stream| stream.queue.front().copied()) else {
            return Progress::Nothing;
        };
        let goes_on = match item {
            Item::Wait(position) => self.reached(position),
            Item::Message => agent.serve(index),
            Item::Work(_) => true,
        };
        let Some(stream) = self.streams.get_mut(index).filter(|_| goes_on) else { return Progress::Nothing };
        match item {
            Item::Wait(_) | Item::Message => stream.finish(),
            Item::Work(Work::Pause(length)) => {
                let now = machine.now();
                let until = *stream.until.get_or_insert(Nanos(now.0.saturating_add(length.0)));
                if now < until {
                    return Progress::Sleeps;
                }
                stream.finish();
            }
            Item::Work(work) => match stream.run(work, machine, &mut self.found) {
                Ok(false) => {}
                Ok(true) => stream.finish(),
                Err(fault) => {
                    self.found.faults += 1;
                    self.found.latest = Some(fault);
                    stream.finish();
                }
            },
        }
        Progress::Some
    }
}

impl Stream {
    fn finish(&mut self) {
        let _ = self.queue.pop_front();
        self.done = self.done.wrapping_add(1);
        self.handled = 0;
        self.until = None;
    }

    /// Some words of a kernel; whether it is done.
    fn run(&mut self, work: Work, machine: &impl Machine, found: &mut Found) -> Result<bool, Fault> {
        let (Work::Fill(pattern) | Work::Check(pattern)) = work else { return Ok(true) };
        let end = pattern.bytes.min(self.handled.saturating_add(8 * STEP));
        while self.handled < end {
            let (at, word) = (pattern.at.wrapping_add(self.handled), pattern.word(self.handled));
            if let Work::Fill(_) = work {
                machine.store(at, word)?;
            } else {
                found.wrong += u64::from(machine.load(at)? != word);
                found.compared += 1;
            }
            self.handled += 8;
        }
        Ok(self.handled >= pattern.bytes)
    }
}
