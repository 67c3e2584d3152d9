//! Runs one program from the start and judges its last step; the steps before it were judged as the last ones of shorter
//! programs.

use crate::digest::{Essence, digest};
use crate::driver::{Device, Watch, Watched};
use crate::op::{BLOCKS, EVENTS, Op, Program, RENEWALS, STREAMS, Step};
use crate::oracle::{MARKERS, Oracle, Tenant};
use std::fmt;
use weir::driver::Completion;
use weir::driver::NativeStream;
use weir::error::OrderError;
use weir::id::{DeviceId, EventId, PoolId, StreamId};
use weir::policy::{PoolConfig, Preference, Reuse, UseUntil};
use weir::sim::{Access, DeviceConfig, Sim, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Capacities, Local, StreamConfig};
use weir_heap::HeapArenas;

const DEVICE: DeviceId = DeviceId(0);
pub(crate) const GRANULE: u64 = 2 << 20;
/// The pool's limit, in granules.
pub(crate) const LIMIT: u64 = 2;

/// The pool's arenas: as small as its programs let them be, for they are cleared before each.
const CAPACITIES: Capacities = Capacities {
    streams: STREAMS,
    events: EVENTS,
    markers: MARKERS,
    pools: 1,
    blocks: 12,
    granules: 4,
    labels: 1,
    pages: 0,
};

type SimSpace = SimStorage<1, 1, 4, { STREAMS + RENEWALS }, { EVENTS + MARKERS }, 64, 64>;

/// What is enumerated beside mallocs, frees, uses, records, waits, queries and synchronisations. All of it at once would
/// be too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Nothing.
    Plain,
    /// Streams are destroyed, and others created in their places.
    Streams,
    /// Up to two driver calls fail, at any point, in undoing too.
    Faults,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Streams, Self::Faults];

    /// How many operations fewer than of the plain family its longest programs have, in about the same time.
    #[must_use]
    pub const fn shorter_by(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Streams | Self::Faults => 1,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Streams => "streams",
            Self::Faults => "faults",
        })
    }
}

/// How the pool is set, and what is under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What is enumerated.
    pub family: Family,
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
    /// All of a family: the 8 combinations of the switches, each releasing at synchronisations and growing first, and the
    /// other way round; with all streams, and with one alone, for which no markers are laid.
    pub fn all(family: Family) -> impl Iterator<Item = Self> {
        let manners = [(Threshold::Nothing, Preference::GrowFirst), (Threshold::Everything, Preference::WaitFirst)];
        let switches = (0..8).map(Reuse::from_bits_truncate);
        switches.flat_map(move |reuse| {
            manners.into_iter().flat_map(move |(threshold, preference)| {
                let device = Device::Honest;
                [STREAMS, 1].map(|streams| Self { family, reuse, threshold, preference, streams, device })
            })
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switches = self.reuse.iter_names().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>().join("+");
        let switches = if switches.is_empty() { "no switch" } else { &switches };
        let Self { family, threshold, preference, streams, .. } = self;
        write!(f, "{family}: {switches}, keeps {threshold:?}, {preference:?}, {streams} streams")
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
    pub owner: Tenant,
    /// The write that its owner did, as the `n`-th operation of its stream.
    pub write: u32,
    /// Streams that said they use it: as many as a pool has places for.
    pub users: [Option<Tenant>; 2],
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
    /// Driver calls of the last step.
    pub attempts: u32,
    /// Streams that are live.
    pub live: [bool; STREAMS],
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
pub(crate) struct Run<'a> {
    pub(crate) rt: Rt<'a>,
    pub(crate) driver: &'a Watched<'a>,
    pub(crate) setting: Setting,
    pub(crate) pool: PoolId,
    streams: [Option<StreamId>; STREAMS],
    events: [EventId; EVENTS],
    pub(crate) held: [Option<Held>; BLOCKS],
}

/// Runs a program.
///
/// # Errors
/// What is wrong with the last step.
pub fn run(room: &mut Room, setting: Setting, program: &Program, want: Want) -> Result<End, String> {
    let Room { arenas, sim, essence } = room;
    let sim = Sim::new(sim.arenas(), &[DeviceConfig::new(Bytes(8 * GRANULE))], 1)
        .map_err(|error| format!("no simulator: {error:?}"))?;
    let natives = [(); STREAMS].map(|()| sim.create_stream(DEVICE).unwrap_or_default());
    let driver = Watched::new(sim, natives, setting.device);
    let held = {
        let mut run = Run::new(arenas, &driver, setting)?;
        let last = program.steps().len().wrapping_sub(1);
        for (n, &step) in program.steps().iter().enumerate() {
            run.step(step)?;
            if n == last {
                run.check()?;
            }
        }
        run.held
    };
    let live = driver.live();
    let Watch { ref oracle, asked, attempts, .. } = *driver.watch.borrow();
    let oracle = oracle.clone();
    let digest = if want == Want::Digest { digest(&arenas.as_left(), &oracle, &held, essence) } else { 0 };
    Ok(End { oracle, held, asked, attempts, live, digest })
}

/// Where programs run, one after the other.
pub struct Room {
    arenas: HeapArenas,
    sim: Box<SimSpace>,
    essence: Essence,
}

impl Default for Room {
    fn default() -> Self {
        Self { arenas: HeapArenas::new(CAPACITIES), sim: Box::new(SimSpace::new()), essence: Essence::default() }
    }
}

impl<'a> Run<'a> {
    fn new(arenas: &'a mut HeapArenas, driver: &'a Watched<'a>, setting: Setting) -> Result<Self, String> {
        let broken = |what: &dyn fmt::Debug| format!("the run cannot begin: {what:?}");
        let rt = Local::new(arenas.lend(), driver, NullSink);
        let config = PoolConfig {
            limit: Bytes(LIMIT * GRANULE),
            threshold: Bytes(if setting.threshold == Threshold::Nothing { 0 } else { u64::MAX }),
            reuse: setting.reuse,
            preference: setting.preference,
            ..PoolConfig::new(DEVICE)
        };
        let pool = rt.create_pool(config).map_err(|error| broken(&error))?;
        let mut streams = [None; STREAMS];
        for (place, stream) in streams.iter_mut().enumerate().take(setting.streams) {
            let native = driver.native(place).unwrap_or_default();
            *stream = Some(rt.create_stream(StreamConfig::new(DEVICE, native)).map_err(|error| broken(&error))?);
        }
        let event = || rt.create_event().map_err(|error| broken(&error));
        let events = [event()?, event()?];
        Ok(Self { rt, driver, setting, pool, streams, events, held: [None; BLOCKS] })
    }

    pub(crate) fn stream(&self, n: u8) -> Result<StreamId, String> {
        self.streams[usize::from(n)].ok_or_else(|| format!("s{n} is not registered"))
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        self.driver.watch.borrow_mut().begin(step.answers, step.faults);
        let done = self.perform(step.op);
        // A call of the program's that failed on demand may be refused; then nothing is changed.
        let failed = self.driver.watch.borrow().failed > 0;
        match done {
            Err(Wrong::Driver(_)) if failed => Ok(()),
            Err(Wrong::Driver(what) | Wrong::Other(what)) => Err(what),
            Ok(()) => Ok(()),
        }
    }

    fn perform(&mut self, op: Op) -> Result<(), Wrong> {
        let rt = &self.rt;
        let refused = |error: OrderError| {
            let text = format!("{op} is refused: {error:?}");
            if matches!(error, OrderError::Driver(_)) { Wrong::Driver(text) } else { Wrong::Other(text) }
        };
        match op {
            Op::Malloc { granules, stream } => Ok(self.malloc(u64::from(granules), stream)?),
            Op::Free { block, stream } => Ok(self.free(block, stream)?),
            Op::Use { block, stream } => Ok(self.use_block(block, stream)?),
            Op::Record { event, stream } => {
                rt.record(self.events[usize::from(event)], self.stream(stream)?).map_err(refused)
            }
            Op::Wait { stream, event } => {
                rt.wait(self.stream(stream)?, self.events[usize::from(event)]).map_err(refused)
            }
            Op::Query { event } => match rt.query(self.events[usize::from(event)]) {
                Ok(Completion::Complete) => Ok(()),
                Ok(Completion::Pending) => Err(Wrong::Other(format!("{op} says pending"))),
                Err(error) => Err(refused(error)),
            },
            Op::SyncStream { stream } => rt.synchronize_stream(self.stream(stream)?).map_err(refused),
            Op::SyncEvent { event } => rt.synchronize_event(self.events[usize::from(event)]).map_err(refused),
            Op::SyncDevice => rt.synchronize_device(DEVICE).map_err(refused),
            Op::DestroyStream { stream } => Ok(self.destroy_stream(stream)?),
            Op::CreateStream { stream } => Ok(self.create_stream(stream)?),
        }
    }

    fn destroy_stream(&mut self, stream: u8) -> Result<(), String> {
        let (id, place) = (self.stream(stream)?, usize::from(stream));
        self.rt.destroy_stream(id).map_err(|error| format!("the end of s{stream} is refused: {error:?}"))?;
        self.streams[place] = None;
        if let Some(native) = self.driver.native(place) {
            let ended = self.driver.sim.destroy_stream(native);
            ended.map_err(|error| format!("the simulator refuses the end of s{stream}: {error:?}"))?;
        }
        self.driver.set_native(place, None);
        Ok(())
    }

    /// A stream in an empty place. Destroyed ones keep their slots until their work is known to be complete.
    fn create_stream(&mut self, stream: u8) -> Result<(), String> {
        let place = usize::from(stream);
        let native: NativeStream =
            self.driver.sim.create_stream(DEVICE).map_err(|error| format!("the simulator is full: {error:?}"))?;
        match self.rt.create_stream(StreamConfig::new(DEVICE, native)) {
            Ok(id) => {
                self.streams[place] = Some(id);
                self.driver.set_native(place, Some(native));
                Ok(())
            }
            Err(error) => {
                let _ = self.driver.sim.destroy_stream(native);
                let live = self.streams.iter().flatten().count();
                let full = live + self.driver.watch.borrow().oracle.unfinished() >= STREAMS;
                match error {
                    OrderError::ArenaFull(_) if full => Ok(()),
                    error => Err(format!("s{stream} is refused, though a place is free: {error:?}")),
                }
            }
        }
    }

    fn held(&self, block: u8) -> Result<Held, String> {
        self.held[usize::from(block)].ok_or_else(|| format!("b{block} is not live"))
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
        let (mut held, s) = (self.held(block)?, usize::from(stream));
        let native = self.driver.native(s).ok_or("the stream is not live")?;
        let (ptr, bytes) = (DevicePtr(held.at), Bytes(held.granules * GRANULE));
        let access = self.driver.sim.access(native, ptr, bytes, Access::Read);
        access.map_err(|error| format!("the simulator refuses the use of b{block}: {error:?}"))?;
        // The work, and the announcement, which takes a position of its own: what is laid in between covers the work, but
        // the pool need not know that.
        self.touch(s, held);
        let told = self.rt.record_use(ptr, self.stream(stream)?, UseUntil::Now);
        self.touch(s, held);
        let tenant = self.driver.watch.borrow().oracle.tenant(s);
        if !held.users.contains(&Some(tenant))
            && let Some(place) = held.users.iter_mut().find(|user| user.is_none())
        {
            *place = Some(tenant);
        }
        self.held[usize::from(block)] = Some(held);
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

/// Why a step failed.
enum Wrong {
    /// The driver failed, and the call passed that on.
    Driver(String),
    /// Anything else.
    Other(String),
}

impl From<String> for Wrong {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}
