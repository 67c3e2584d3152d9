//! Runs one program from the start and judges its last step; the steps before it were judged as the last ones of shorter
//! programs.

use crate::digest::digest;
use crate::driver::{Device, Watched};
use crate::op::{BLOCKS, EVENTS, Op, Program, STREAMS, Step};
use crate::oracle::{By, MARKERS, Oracle, Set};
use crate::space::Space;
use std::fmt;
use weir::driver::Completion;
use weir::error::MallocError;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{PoolConfig, Preference, Reuse, UseUntil};
use weir::sim::{Access, DeviceConfig, Sim, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Local, StreamConfig};

const DEVICE: DeviceId = DeviceId(0);
const GRANULE: u64 = 2 << 20;
/// The pool's limit, in granules.
const LIMIT: u64 = 2;

type SimSpace = SimStorage<1, 1, 4, STREAMS, { EVENTS + MARKERS }, 64, 64>;

/// How the pool is set, and what is under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its switches.
    pub reuse: Reuse,
    /// Whether synchronisations release all that is free, or nothing.
    pub threshold: Threshold,
    /// What comes first.
    pub preference: Preference,
    /// Streams that are registered from the start, and used at most.
    pub streams: usize,
    /// The device under it.
    pub device: Device,
}

/// What a synchronisation leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Nothing that is free.
    Nothing,
    /// Everything.
    Everything,
}

impl Setting {
    /// All of them: the 8 combinations of the switches, each releasing at synchronisations and growing first, and the
    /// other way round; with all streams, and with one alone, for which no markers are laid.
    pub fn all() -> impl Iterator<Item = Self> {
        let manners = [(Threshold::Nothing, Preference::GrowFirst), (Threshold::Everything, Preference::WaitFirst)];
        let switches = (0..8).map(Reuse::from_bits_truncate);
        switches.flat_map(move |reuse| {
            manners.into_iter().flat_map(move |(threshold, preference)| {
                [STREAMS, 1].map(|streams| Self { reuse, threshold, preference, streams, device: Device::Honest })
            })
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switches = self.reuse.iter_names().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>().join("+");
        let switches = if switches.is_empty() { "no switch" } else { &switches };
        let Self { threshold, preference, streams, .. } = self;
        write!(f, "{switches}, keeps {threshold:?}, {preference:?}, {streams} streams")
    }
}

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// Its address.
    pub at: u64,
    /// Its size in granules.
    pub granules: u64,
    /// The stream that allocated it.
    pub owner: u8,
    /// The write that its owner did, as the `n`-th operation of its stream.
    pub write: u32,
}

/// Where a program leads.
#[derive(Clone, Debug)]
pub struct End {
    /// The facts.
    pub oracle: Oracle,
    /// Live blocks.
    pub held: [Option<Held>; BLOCKS],
    /// Queries of the last step whose answers were free.
    pub asked: u32,
    /// The state's name, if it was wanted.
    pub digest: u128,
}

/// Whether a state's name is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// It is.
    Digest,
    /// It is not.
    Nothing,
}

type Rt<'a> = Local<'a, &'a Watched<'a>, NullSink>;

/// A program under way.
struct Run<'a> {
    rt: Rt<'a>,
    driver: &'a Watched<'a>,
    setting: Setting,
    pool: PoolId,
    streams: [Option<StreamId>; STREAMS],
    events: [EventId; EVENTS],
    held: [Option<Held>; BLOCKS],
}

/// Runs a program.
///
/// # Errors
/// What is wrong with the last step.
pub fn run(space: &mut Space, setting: Setting, program: &Program, want: Want) -> Result<End, String> {
    let mut sim_space = SimSpace::new();
    let sim = Sim::new(sim_space.arenas(), &[DeviceConfig::new(Bytes(8 * GRANULE))], 1)
        .map_err(|error| format!("no simulator: {error:?}"))?;
    let natives = [(); STREAMS].map(|()| sim.create_stream(DEVICE).unwrap_or_default());
    let driver = Watched::new(sim, natives, setting.device);
    let (held, asked) = {
        let mut run = Run::new(space, &driver, setting)?;
        let last = program.steps().len().wrapping_sub(1);
        for (n, &step) in program.steps().iter().enumerate() {
            run.step(step)?;
            if n == last {
                run.check()?;
            }
        }
        (run.held, driver.watch.borrow().asked)
    };
    let oracle = driver.watch.borrow().oracle.clone();
    let digest = if want == Want::Digest { digest(space, &oracle, &held) } else { 0 };
    Ok(End { oracle, held, asked, digest })
}

impl<'a> Run<'a> {
    fn new(space: &'a mut Space, driver: &'a Watched<'a>, setting: Setting) -> Result<Self, String> {
        let broken = |what: &dyn fmt::Debug| format!("the run cannot begin: {what:?}");
        let rt = Local::new(space.lend(), driver, NullSink);
        let config = PoolConfig {
            limit: Bytes(LIMIT * GRANULE),
            threshold: Bytes(if setting.threshold == Threshold::Nothing { 0 } else { u64::MAX }),
            reuse: setting.reuse,
            preference: setting.preference,
            ..PoolConfig::new(DEVICE)
        };
        let pool = rt.create_pool(config).map_err(|error| broken(&error))?;
        let mut streams = [None; STREAMS];
        for (stream, native) in streams.iter_mut().zip(driver.natives()).take(setting.streams) {
            *stream = Some(rt.create_stream(StreamConfig::new(DEVICE, native)).map_err(|error| broken(&error))?);
        }
        let event = || rt.create_event().map_err(|error| broken(&error));
        let events = [event()?, event()?];
        Ok(Self { rt, driver, setting, pool, streams, events, held: [None; BLOCKS] })
    }

    fn stream(&self, n: u8) -> Result<StreamId, String> {
        self.streams[usize::from(n)].ok_or_else(|| format!("s{n} is not registered"))
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        {
            let mut watch = self.driver.watch.borrow_mut();
            (watch.asked, watch.calls, watch.waits, watch.answers) = (0, 0, 0, step.answers);
            watch.by = if matches!(step.op, Op::Malloc { .. }) { By::Pool } else { By::Program };
        }
        let rt = &self.rt;
        let refused = |error: &dyn fmt::Debug| format!("{} is refused: {error:?}", step.op);
        match step.op {
            Op::Malloc { granules, stream } => self.malloc(u64::from(granules), stream),
            Op::Free { block, stream } => self.free(block, stream),
            Op::Use { block, stream } => self.use_block(block, stream),
            Op::Record { event, stream } => {
                rt.record(self.events[usize::from(event)], self.stream(stream)?).map_err(|e| refused(&e))
            }
            Op::Wait { stream, event } => {
                rt.wait(self.stream(stream)?, self.events[usize::from(event)]).map_err(|e| refused(&e))
            }
            Op::Query { event } => match rt.query(self.events[usize::from(event)]) {
                Ok(Completion::Complete) => Ok(()),
                other => Err(refused(&other)),
            },
            Op::SyncStream { stream } => rt.synchronize_stream(self.stream(stream)?).map_err(|e| refused(&e)),
            Op::SyncEvent { event } => rt.synchronize_event(self.events[usize::from(event)]).map_err(|e| refused(&e)),
            Op::SyncDevice => rt.synchronize_device(DEVICE).map_err(|e| refused(&e)),
        }
    }

    fn held(&self, block: u8) -> Result<Held, String> {
        self.held[usize::from(block)].ok_or_else(|| format!("b{block} is not live"))
    }

    fn malloc(&mut self, granules: u64, stream: u8) -> Result<(), String> {
        let could = self.usable(granules, stream);
        let malloc = self.rt.malloc_async(self.pool, Bytes(granules * GRANULE), self.stream(stream)?);
        let calls = self.driver.watch.borrow().calls;
        if could && (malloc.is_err() || calls > 0) {
            return Err(format!("usable memory was there, but {calls} driver calls were made: {malloc:?}"));
        }
        match malloc {
            Ok(ptr) => self.accept(ptr, granules, stream),
            Err(MallocError::OutOfMemory(_)) => self.excuse(granules, stream),
            Err(error) => Err(format!("the malloc is refused: {error:?}")),
        }
    }

    /// Judges memory that was handed out.
    fn accept(&mut self, ptr: DevicePtr, granules: u64, stream: u8) -> Result<(), String> {
        let (s, bytes) = (usize::from(stream), granules * GRANULE);
        let overlaps = |h: &&Held| h.at < ptr.0 + bytes && ptr.0 < h.at + h.granules * GRANULE;
        if let Some(held) = self.held.iter().flatten().find(overlaps) {
            return Err(format!("the malloc got {ptr:?}, where {held:?} is live"));
        }
        let events = self.setting.reuse.contains(Reuse::EVENT) || self.driver.watch.borrow().waits > 0;
        let write = {
            let oracle = &mut self.driver.watch.borrow_mut().oracle;
            let Some(history) = oracle.history(ptr.0, bytes, GRANULE) else {
                return Err(format!("the malloc got {ptr:?}, where nothing is mapped"));
            };
            if history & !oracle.before_next(s) != 0 {
                return Err(format!("s{stream} got {ptr:?}, and nothing orders it after what was done there"));
            }
            if !events && !oracle.is_within(history, oracle.of(s) | oracle.known()) {
                return Err(format!("s{stream} got {ptr:?} along an event, and switch 1 is off"));
            }
            let op = oracle.act(s);
            oracle.touch(op, ptr.0, bytes);
            oracle.of(s).count_ones() - 1
        };
        let access = self.driver.sim.access(self.driver.natives()[s], ptr, Bytes(bytes), Access::Write);
        access.map_err(|error| format!("the simulator refuses the write: {error:?}"))?;
        let free = self.held.iter().position(Option::is_none).ok_or("all blocks are live")?;
        self.held[free] = Some(Held { at: ptr.0, granules, owner: stream, write });
        Ok(())
    }

    /// Judges a refusal: the pool had nothing that it could know to be usable.
    fn excuse(&self, granules: u64, stream: u8) -> Result<(), String> {
        if self.usable(granules, stream) {
            return Err("the malloc is refused, though usable memory is there".into());
        }
        let oracle = &self.driver.watch.borrow().oracle;
        let movable = self.free_granules(oracle).filter(|&(_, history)| history & !oracle.known() == 0).count();
        let room = LIMIT - oracle.granules() as u64;
        if room + movable as u64 >= granules {
            return Err(format!("the malloc is refused, though {room} granules may be made and {movable} moved"));
        }
        Ok(())
    }

    fn free_granules<'o>(&'o self, oracle: &'o Oracle) -> impl Iterator<Item = (u64, Set)> + 'o {
        let live = |at: u64| self.held.iter().flatten().any(|h| (h.at..h.at + h.granules * GRANULE).contains(&at));
        oracle.mapped().filter(move |&(at, _)| !live(at))
    }

    /// Whether adjacent free granules are there that the pool could know the stream may use.
    fn usable(&self, granules: u64, stream: u8) -> bool {
        let oracle = &self.driver.watch.borrow().oracle;
        let reuse = self.setting.reuse;
        let s = usize::from(stream);
        let settled = if reuse.contains(Reuse::OPPORTUNISTIC) { oracle.known() } else { oracle.seen() };
        let told = if reuse.contains(Reuse::EVENT) { oracle.told(s) } else { 0 };
        let reached = oracle.of(s) | settled | told;
        let mut run = (0, 0);
        let mut at: Vec<u64> = self
            .free_granules(oracle)
            .filter(|&(_, history)| oracle.is_within(history, reached))
            .map(|(at, _)| at)
            .collect();
        at.sort_unstable();
        at.into_iter().any(|at| {
            run = if at == run.0 { (at + GRANULE, run.1 + 1) } else { (at + GRANULE, 1) };
            run.1 >= granules
        })
    }

    fn free(&mut self, block: u8, stream: u8) -> Result<(), String> {
        let held = self.held(block)?;
        let freed = self.rt.free_async(DevicePtr(held.at), self.stream(stream)?);
        freed.map_err(|error| format!("the free of b{block} is refused: {error:?}"))?;
        self.touch(usize::from(stream), held);
        self.held[usize::from(block)] = None;
        Ok(())
    }

    /// An operation of a stream on a block.
    fn touch(&self, stream: usize, held: Held) {
        let oracle = &mut self.driver.watch.borrow_mut().oracle;
        let op = oracle.act(stream);
        oracle.touch(op, held.at, held.granules * GRANULE);
    }

    fn use_block(&mut self, block: u8, stream: u8) -> Result<(), String> {
        let (held, s) = (self.held(block)?, usize::from(stream));
        let (ptr, bytes) = (DevicePtr(held.at), Bytes(held.granules * GRANULE));
        let access = self.driver.sim.access(self.driver.natives()[s], ptr, bytes, Access::Read);
        access.map_err(|error| format!("the simulator refuses the use of b{block}: {error:?}"))?;
        // The work, and the announcement, which takes a position of its own: what is laid in between covers the work, but
        // the pool need not know that.
        self.touch(s, held);
        let told = self.rt.record_use(ptr, self.stream(stream)?, UseUntil::Now);
        self.touch(s, held);
        told.map_err(|error| format!("the use of b{block} is refused: {error:?}"))
    }

    /// What must hold after every step.
    fn check(&self) -> Result<(), String> {
        self.rt.verify().map_err(|violation| format!("an invariant does not hold: {violation:?}"))?;
        let sim = &self.driver.sim;
        if let Some(violation) = sim.violation() {
            return Err(format!("the simulator found: {violation:?}"));
        }
        if sim.unchecked() + sim.squeezed() > 0 {
            return Err("the simulator's storage is too small".into());
        }
        let watch = self.driver.watch.borrow();
        if watch.unmapped != 0 {
            return Err("memory was unmapped before all work on it was known to be complete".into());
        }
        let stats = self.rt.stats(self.pool).map_err(|error| format!("no statistics: {error:?}"))?;
        let used = self.held.iter().flatten().map(|held| held.granules * GRANULE).sum::<u64>();
        let reserved = watch.oracle.granules() as u64 * GRANULE;
        if (stats.used.get(), stats.reserved.get()) != (used, reserved) {
            return Err(format!(
                "{used} bytes are used and {reserved} reserved, not {} and {}",
                stats.used, stats.reserved
            ));
        }
        Ok(())
    }
}
