//! A device in virtual time: the driver for tests, replays and machines without an accelerator.
//!
//! A [`Sim`] is a [`Driver`] for one or more devices. Streams are queues of operations (accesses to memory, plain work,
//! markers, waits) that nothing runs until it is asked to: [`step`](Sim::step) runs one that can run, chosen by the
//! seed; [`complete_issued_before`](Sim::complete_issued_before), [`run_stream`](Sim::run_stream) and
//! [`run_all`](Sim::run_all) run more; [`synchronise`](Driver::synchronise) runs what its target needs and no more.
//!
//! ```
//! use weir::driver::{Driver, MarkerSlot};
//! use weir::id::DeviceId;
//! use weir::sim::{Access, DeviceConfig, Sim, SimStorage, Violation};
//! use weir::units::Bytes;
//!
//! let mut storage = SimStorage::<1, 4, 16, 4, 8, 64, 64>::new();
//! let sim = Sim::new(storage.arenas(), &[DeviceConfig::new(Bytes::mib(32))], 42).unwrap();
//! let (copy, compute) = (sim.create_stream(DeviceId(0)).unwrap(), sim.create_stream(DeviceId(0)).unwrap());
//! let at = sim.reserve(DeviceId(0), Bytes::mib(2)).unwrap();
//! let granule = sim.create(DeviceId(0)).unwrap();
//! sim.map(DeviceId(0), at, granule, None).unwrap();
//!
//! sim.access(copy, at, Bytes(512), Access::Write).unwrap();
//! sim.lay(MarkerSlot(0), copy).unwrap();
//! // Without this line the next access is refused as a race, whatever the seed.
//! sim.wait(compute, MarkerSlot(0)).unwrap();
//! sim.access(compute, at, Bytes(512), Access::Read).unwrap();
//! sim.run_all();
//! assert_eq!(sim.violation(), None);
//! ```
//!
//! # What is checked
//! * Every argument of every driver call: see [`Violation`]. A violation is a fault of the pool's or the program's,
//!   never of the device's; the first is kept in [`Sim::violation`], and the call returns
//!   [`DriverErrorKind::Failed`] and changes nothing.
//! * Every access against all earlier ones to the same bytes of the same granule. Two that overlap, at least one of
//!   them a write, must be ordered by the program: by their stream, by a wait for a marker, through other streams, by a
//!   synchronisation or a query that said "complete" before the later one was queued, or by the legacy default
//!   stream. All this is settled when the access is queued, by vector clocks that know nothing of weir's, so that a
//!   missing wait is found with every seed and however the work happens to run.
//! * That a granule is unmapped at once only when the host knows all work on it to be complete.
//! * Tags: a write can leave a number for exactly its range, and a later read can expect it. These are compared when
//!   the work runs, so they check the order that really happened, independently of the clocks.
//!
//! What could not be checked because an arena was full is counted: [`Sim::unchecked`].
//!
//! # Maps and unmaps in the order of a stream
//! With [`MAP_IN_STREAM_ORDER`](crate::driver::Capabilities::MAP_IN_STREAM_ORDER) a map or unmap that names a stream is
//! an operation of that stream, and counts as a write to the whole granule. All others act at once. What is mapped is
//! therefore kept twice. *As planned*, it changes with the call, and later calls are checked against it; *on the
//! device*, it changes when the operation runs, and an access that runs finds what is there then.
//! * An unmap comes after every access to the granule and after its map, else it is a [`Violation::Race`].
//! * An access comes after the map, or it races. One that is queued after the unmap was called finds nothing planned.
//! * A map comes after the last unmap of its address and of its granule: in the order of its stream, or, where it acts
//!   at once, because the host knows the unmap to be complete. Else it is a [`Violation::BeforeUnmap`].
//! * A granule is destroyed, and a range released, when the host knows the unmaps to be complete. Else it is the same.
//!
//! The device executes them as the messages of [`agent`](crate::agent), by the same code as firmware, on the granule that
//! the call named.
//!
//! An address that was unmapped so keeps its entry in [`SimArenas::pages`] until the host knows the unmap to be complete.
//!
//! # What is not modelled
//! Work of two streams does not overlap in time: [`now`](Driver::now) is the sum of all costs (1 ns a driver call and
//! an operation, and 1 ns a KiB that an access touches). A device has one context. Any stream may use any device's
//! memory. There is no capture. The host does not touch device memory. Memory has tags, not bytes.
//!
//! # Cost
//! A driver call takes expected constant time, apart from: reserve and release, linear in the ranges; lay, wait and
//! what the host learns, linear in the streams; an access, linear in its granules and in the accesses remembered
//! for them; an unmap or a destroy, in those remembered for the granule. Running one operation is linear in the streams.
//! Where maps are in the order of streams, such a map or unmap is linear in the streams too, a release in the table of
//! mappings. A map that finds this table full is linear in it.

mod access;
mod device;
mod fault;
mod mapping;
mod order;
mod pages;
mod queue;
mod state;
mod storage;
mod stream;
mod violation;

/// How often runtimes of this process have looked at a slot of an arena, a cell of a lookup or an entry of a clock: the
/// steps that [`Runtime`](crate::Runtime) states bounds for, for tests that hold calls to them. Wraps where numbers have 32 bits.
#[must_use]
pub fn steps() -> u64 {
    crate::arena::STEPS.load(core::sync::atomic::Ordering::Relaxed) as u64
}

pub use device::DeviceConfig;
pub use queue::{OpKind, Ran};
pub use storage::{
    SimArenas, SimDevice, SimGranule, SimMarker, SimOp, SimPage, SimPiece, SimRange, SimStorage, SimStream,
};
pub use violation::{Access, Issue, SimArena, SimError, Touch, Violation};

use crate::driver::{
    Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot, NativeStream, Properties,
    Target,
};
use crate::id::DeviceId;
use crate::policy::StreamKind;
use crate::units::{Bytes, DevicePtr, Nanos};
use state::State;

/// When queued work runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Progress {
    /// When it is asked for.
    #[default]
    OnRequest,
    /// As soon as it is queued, apart from what stands behind a paused stream.
    Immediate,
}

/// The simulated devices. See the module's page.
pub struct Sim<'a> {
    state: spin::Mutex<State<'a>>,
}

impl<'a> Sim<'a> {
    /// Devices 0, 1, ... as configured, in lent storage, with this seed for every choice.
    ///
    /// # Errors
    /// [`SimError::BadProperties`], or [`SimError::Full`]: too few devices or clock words.
    pub fn new(arenas: SimArenas<'a>, devices: &[DeviceConfig], seed: u64) -> Result<Self, SimError> {
        let state = spin::Mutex::new(State::new(arenas, devices, seed)?);
        Ok(Self { state })
    }

    fn act<T>(&self, act: impl FnOnce(&mut State<'a>) -> Result<T, SimError>) -> Result<T, SimError> {
        let mut state = self.state.lock();
        let result = act(&mut state);
        state.settle(result)
    }

    fn call<T>(
        &self,
        call: DriverCall,
        act: impl FnOnce(&mut State<'a>) -> Result<T, SimError>,
    ) -> Result<T, DriverError> {
        let mut state = self.state.lock();
        let result = state.enter(call).and_then(|()| act(&mut state));
        state.settle(result).map_err(|error| state.refuse(call, error))
    }

    fn queue(&self, act: impl FnOnce(&mut State<'a>) -> Result<Issue, SimError>) -> Result<Issue, SimError> {
        self.act(|state| {
            let issue = act(state)?;
            state.queued().map(|()| issue)
        })
    }

    /// A stream that is ordered only by markers.
    ///
    /// # Errors
    /// See [`create_stream_of_kind`](Self::create_stream_of_kind).
    pub fn create_stream(&self, device: DeviceId) -> Result<NativeStream, SimError> {
        self.create_stream_of_kind(device, StreamKind::NonBlocking)
    }

    /// A stream of any kind. Handles are small numbers, and a handle that was destroyed is the first to be given out
    /// again, even while its old work is unfinished. A device has at most one legacy stream.
    ///
    /// # Errors
    /// [`SimError::UnknownDevice`], [`SimError::LegacyExists`], or [`SimError::Full`]: a destroyed stream keeps its
    /// place until the host knows its work to be complete.
    pub fn create_stream_of_kind(&self, device: DeviceId, kind: StreamKind) -> Result<NativeStream, SimError> {
        self.act(|state| state.create_stream(device, kind))
    }

    /// Destroys a stream. Its work runs on, and markers that it laid stay good.
    ///
    /// # Errors
    /// [`Violation::UnknownStream`].
    pub fn destroy_stream(&self, stream: NativeStream) -> Result<(), SimError> {
        self.act(|state| state.destroy_stream(stream))
    }

    /// Nothing of this stream runs until [`resume`](Self::resume): work that takes as long as a test wants.
    ///
    /// # Errors
    /// [`Violation::UnknownStream`].
    pub fn pause(&self, stream: NativeStream) -> Result<(), SimError> {
        self.act(|state| state.pause(stream))
    }

    /// Ends [`pause`](Self::pause).
    ///
    /// # Errors
    /// [`Violation::UnknownStream`].
    pub fn resume(&self, stream: NativeStream) -> Result<(), SimError> {
        self.act(|state| state.resume(stream))
    }

    /// Queues work of so many virtual nanoseconds that touches no memory.
    ///
    /// # Errors
    /// [`Violation::UnknownStream`]; [`SimError::Full`] where the queues are full and everything is paused.
    pub fn work(&self, stream: NativeStream, cost: Nanos) -> Result<Issue, SimError> {
        self.queue(|state| state.work(stream, cost.0))
    }

    /// Queues an access to `bytes` bytes at `at`.
    ///
    /// # Errors
    /// [`Violation::Race`], [`Violation::AccessUnmapped`], [`Violation::UnknownStream`]: nothing was queued.
    pub fn access(&self, stream: NativeStream, at: DevicePtr, bytes: Bytes, access: Access) -> Result<Issue, SimError> {
        let kind = match access {
            Access::Read => OpKind::Read,
            Access::Write => OpKind::Write,
        };
        self.touch(stream, at, bytes, kind, 0)
    }

    /// Queues a write that leaves `tag` for exactly this range.
    ///
    /// # Errors
    /// As [`access`](Self::access).
    pub fn access_write_tag(
        &self,
        stream: NativeStream,
        at: DevicePtr,
        bytes: Bytes,
        tag: u64,
    ) -> Result<Issue, SimError> {
        self.touch(stream, at, bytes, OpKind::WriteTag, tag)
    }

    /// Queues a read that expects `tag`, left for exactly this range and not written over since, not even in part.
    /// Another content is found when the read runs: [`Violation::WrongContent`].
    ///
    /// # Errors
    /// As [`access`](Self::access).
    pub fn access_read_expect(
        &self,
        stream: NativeStream,
        at: DevicePtr,
        bytes: Bytes,
        tag: u64,
    ) -> Result<Issue, SimError> {
        self.touch(stream, at, bytes, OpKind::ReadExpect, tag)
    }

    fn touch(
        &self,
        stream: NativeStream,
        at: DevicePtr,
        bytes: Bytes,
        kind: OpKind,
        tag: u64,
    ) -> Result<Issue, SimError> {
        let (at, bytes, word) = (at.0, bytes.0, tag);
        let op = SimOp { at, bytes, word, kind, ..SimOp::EMPTY };
        self.queue(|state| state.access(stream, op))
    }

    /// Runs one operation that can run, chosen by the seed, and says which. `None`: nothing is queued, or what is
    /// stands behind a paused stream.
    pub fn step(&self) -> Option<Ran> {
        let ran = self.act(|state| {
            state.queue.need_all(u64::MAX);
            state.run_one()
        });
        ran.ok().flatten()
    }

    /// Runs everything that can run; how many operations that were.
    pub fn run_all(&self) -> u64 {
        self.complete_issued_before(Issue(u64::MAX))
    }

    /// Runs everything that is queued on a stream, and what it stands behind; how many operations that were.
    ///
    /// # Errors
    /// [`Violation::UnknownStream`], or [`SimError::Deadlock`] where it stands behind a paused stream.
    pub fn run_stream(&self, stream: NativeStream) -> Result<u64, SimError> {
        let what = Target::Stream(stream);
        self.act(|state| {
            state.queue.need_only(what)?;
            let count = state.run_needed()?;
            match state.queue.completion(what)? {
                Completion::Complete => Ok(count),
                Completion::Pending => Err(SimError::Deadlock),
            }
        })
    }

    /// Runs every operation with a number below `limit`, whatever its stream, apart from what stands behind a paused
    /// one; how many that were. Always legal: an operation stands behind earlier ones only.
    pub fn complete_issued_before(&self, limit: Issue) -> u64 {
        let ran = self.act(|state| {
            state.queue.need_all(limit.0.saturating_sub(1));
            state.run_needed()
        });
        ran.unwrap_or(0)
    }

    /// The number that the next operation gets.
    pub fn issued(&self) -> Issue {
        Issue(self.state.lock().queue.next)
    }

    /// How many operations are queued and have not run.
    pub fn queued(&self) -> usize {
        self.state.lock().queue.ops.used()
    }

    /// When queued work runs; at the start, on request.
    pub fn set_progress(&self, progress: Progress) {
        self.state.lock().progress = progress;
    }

    /// Begins a new sequence of choices.
    pub fn reseed(&self, seed: u64) {
        self.state.lock().rng = fault::Rng::new(seed);
    }

    /// The first violation. Tests end with `assert_eq!(sim.violation(), None)`.
    pub fn violation(&self) -> Option<Violation> {
        self.state.lock().first
    }

    /// How many violations there were.
    pub fn violations(&self) -> u64 {
        self.state.lock().violations
    }

    /// How many parts of accesses were not remembered, or tags not compared, because the pieces ran out.
    pub fn unchecked(&self) -> u64 {
        self.state.lock().unchecked
    }

    /// How many operations ran early because the queues were full.
    pub fn squeezed(&self) -> u64 {
        self.state.lock().squeezed
    }

    /// The first arena that was too small for a call.
    pub fn arena_full(&self) -> Option<SimArena> {
        self.state.lock().full
    }

    /// Bytes of physical memory that exist on a device; 0 for one that does not exist.
    pub fn created(&self, device: DeviceId) -> Bytes {
        Bytes(self.state.lock().memory.device(device).map_or(0, |d| d.created))
    }

    /// Bytes of physical memory that are mapped on a device, as planned; 0 for one that does not exist.
    pub fn mapped(&self, device: DeviceId) -> Bytes {
        Bytes(self.state.lock().memory.device(device).map_or(0, |d| d.mapped))
    }

    /// How often a driver call was made, failed ones included.
    pub fn calls(&self, call: DriverCall) -> u64 {
        self.state.lock().faults.calls(call)
    }

    /// How many calls failed on demand.
    pub fn injected(&self) -> u64 {
        self.state.lock().faults.injected()
    }

    /// The `n`-th driver call from now on (1: the next), counting only `call` if one is named, fails once with `kind`
    /// and changes nothing.
    ///
    /// # Errors
    /// [`SimError::Full`]: 16 failures are planned already.
    pub fn fail_nth(&self, call: Option<DriverCall>, n: u64, kind: DriverErrorKind) -> Result<(), SimError> {
        self.act(|state| state.faults.plan(call, n, kind))
    }

    /// From now on so many of 1,000 driver calls fail, chosen by `seed`, each with the kind that is likely for it. 0
    /// ends it.
    pub fn fail_rate(&self, seed: u64, per_mille: u16) {
        self.state.lock().faults.rate(seed, per_mille);
    }

    /// Ends all failures on demand.
    pub fn fail_never(&self) {
        self.state.lock().faults.clear();
    }

    /// A hash of everything that happened and of the state that it led to. The same calls with the same seed give the
    /// same digest.
    pub fn digest(&self) -> u64 {
        self.state.lock().digest()
    }
}

impl Driver for Sim<'_> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        self.call(DriverCall::Properties, |state| state.memory.properties(device))
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        self.call(DriverCall::Reserve, |state| state.memory.reserve(device, bytes))
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.call(DriverCall::Release, |state| state.release(device, base, bytes))
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        self.call(DriverCall::Create, |state| state.memory.create(device))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.call(DriverCall::Destroy, |state| state.destroy(device, granule))
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.call(DriverCall::Map, |state| {
            state.fold(at.0 ^ granule.0);
            state.map(device, at, granule, stream)
        })
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.call(DriverCall::Unmap, |state| {
            state.fold(at.0);
            state.unmap(device, at, stream)
        })
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.call(DriverCall::Lay, |state| {
            state.lay(marker, stream)?;
            state.queued()
        })
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        self.call(DriverCall::Query, |state| {
            state.exists(what)?;
            state.query(what)
        })
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.call(DriverCall::Wait, |state| {
            state.wait(stream, marker)?;
            state.queued()
        })
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        self.call(DriverCall::Synchronise, |state| {
            state.exists(what)?;
            state.synchronise(what)
        })
    }

    fn now(&self) -> Nanos {
        let mut state = self.state.lock();
        state.now = state.now.saturating_add(1);
        Nanos(state.now)
    }
}
