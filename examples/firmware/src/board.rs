//! The driver: one device, whose granules are mapped in the machine's tables.

pub use crate::streams::{Found, Pattern, STREAMS, Work};

use crate::agent::{self, Agent, Served};
use crate::machine::{GRANULE, Machine, PLACES, SPACE, place};
use crate::streams::{Position, Progress, Streams};
use spin::Mutex;
use weir::agent::{Claim, MESSAGE_BYTES, Operation, Place};
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};

/// The device whose granules this driver maps itself. [`agent::DEVICE`] is the other one.
pub const DEVICE: DeviceId = DeviceId(0);

/// Streams of that device; the others are the agent's device's.
pub const PLAIN_STREAMS: usize = 4;

/// Events and markers of a runtime on a board.
pub const SLOTS: usize = 32;

/// Address ranges are handed out in windows of so many granules.
const WINDOW: usize = 32;

/// A board's devices as a driver.
#[derive(Debug)]
pub struct Board<'m, M> {
    machine: &'m M,
    device: Mutex<Device<'m, M>>,
}

#[derive(Debug)]
struct Device<'m, M> {
    streams: Streams,
    agent: Agent<'m, M>,
    /// Granules that the agent's device has given out.
    quota: u64,
    slots: [Position; SLOTS],
    /// One bit a frame.
    frames: u64,
    /// Windows of addresses that each range begins with and takes; 0 for none.
    ranges: [u8; PLACES / WINDOW],
    /// The frame at each place, from 1 on; 0 for none.
    mapped: [u8; PLACES],
}

/// Any granule of the agent's device: which one it is, the agent decides.
const OF_THE_AGENT: GranuleHandle = GranuleHandle(1 << 32);

/// What stands at a place where the agent's device has memory, as far as the host has asked for it.
const AGENT_HAS_IT: u8 = u8::MAX;

const fn failed(call: DriverCall, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code: 0, kind }
}

impl<'m, M: Machine> Board<'m, M> {
    /// Granules of [`DEVICE`].
    pub const FRAMES: usize = {
        assert!(M::FRAMES < 64, "frames are bits of a word");
        M::FRAMES - agent::FRAMES
    };

    /// Devices with nothing mapped. The agent needs [`agent::FRAMES`] places.
    pub fn new(machine: &'m M, places: &'m mut [Place]) -> Self {
        let device = Device {
            streams: Streams::default(),
            agent: Agent::new(machine, places),
            quota: 0,
            slots: [Position::default(); SLOTS],
            frames: 0,
            ranges: [0; PLACES / WINDOW],
            mapped: [0; PLACES],
        };
        Self { machine, device: Mutex::new(device) }
    }

    /// The machine below.
    pub const fn machine(&self) -> &M {
        self.machine
    }

    /// The stream of this number, from 0 to [`STREAMS`].
    #[must_use]
    pub const fn stream(number: u64) -> NativeStream {
        NativeStream(number)
    }

    /// Queues a kernel.
    ///
    /// # Errors
    /// There is no such stream, or its queue is full.
    pub fn launch(&self, stream: NativeStream, work: Work) -> Result<(), DriverError> {
        self.device.lock().streams.launch(stream.0 as usize, work)
    }

    /// Sends a message along a stream, whatever it says.
    ///
    /// # Errors
    /// There is no such stream, or its ring or queue is full.
    pub fn send(&self, stream: NativeStream, message: [u8; MESSAGE_BYTES]) -> Result<(), DriverError> {
        self.device.lock().send(stream.0 as usize, message)
    }

    /// What the agent did so far.
    pub fn served(&self) -> Served {
        self.device.lock().agent.served
    }

    /// What kernels found so far.
    pub fn found(&self) -> Found {
        self.device.lock().streams.found
    }

    /// Whether the machine's tables hold a mapping at the address, as the driver sees it.
    pub fn is_mapped(&self, at: DevicePtr) -> bool {
        let device = self.device.lock();
        place(at.0).is_some_and(|(place, _)| device.mapped.get(place).is_some_and(|frame| *frame != 0))
    }

    fn complete(&self, what: Target) -> Completion {
        let device = self.device.lock();
        let complete = match what {
            Target::Device(agent::DEVICE) => device.streams.idle(PLAIN_STREAMS..STREAMS),
            Target::Device(_) => device.streams.idle(0..PLAIN_STREAMS),
            Target::Stream(stream) => {
                device.streams.head(stream.0 as usize).is_none_or(|head| device.streams.reached(head))
            }
            Target::Marker(slot) => {
                device.slots.get(slot.0 as usize).is_none_or(|position| device.streams.reached(*position))
            }
        };
        if complete { Completion::Complete } else { Completion::Pending }
    }
}

impl<M: Machine> Device<'_, M> {
    fn step(&mut self, machine: &M) -> Progress {
        self.streams.step(machine, &mut self.agent)
    }

    /// A message in the ring, and the work that stands for it.
    fn send(&mut self, stream: usize, message: [u8; MESSAGE_BYTES]) -> Result<(), DriverError> {
        let full = failed(DriverCall::Map, DriverErrorKind::Exhausted);
        // The queue is longer than the ring, so what follows in it cannot fail for want of room first.
        self.streams.announce(stream)?;
        self.agent.send(stream, message).ok_or(full)
    }

    /// Maps or frees one granule of the agent's device, in the order of a stream or at once.
    fn by_agent(
        &mut self,
        at: DevicePtr,
        operation: Operation,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        let call = if operation == Operation::Free { DriverCall::Unmap } else { DriverCall::Map };
        let message = Agent::<M>::message(at, operation).to_bytes();
        match (stream, operation) {
            (Some(stream), _) => self.send(stream.0 as usize, message),
            (None, Operation::Free) if self.agent.unmap_now(at) => Ok(()),
            (None, Operation::Malloc(_)) if self.agent.map_now(at) => Ok(()),
            (None, _) => Err(failed(call, DriverErrorKind::Failed)),
        }
    }

    /// The place of a granule that is aligned and inside a range.
    fn place(&self, call: DriverCall, at: DevicePtr) -> Result<usize, DriverError> {
        match place(at.0) {
            Some((place, 0)) if self.in_range(place / WINDOW) => Ok(place),
            _ => Err(failed(call, DriverErrorKind::Failed)),
        }
    }

    fn in_range(&self, window: usize) -> bool {
        self.ranges.iter().enumerate().any(|(first, length)| (first..first + usize::from(*length)).contains(&window))
    }
}

impl<M: Machine> Driver for Board<'_, M> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        let (frames, more) = match device {
            DEVICE => (Self::FRAMES, Capabilities::empty()),
            agent::DEVICE => (agent::FRAMES, Capabilities::MAP_IN_STREAM_ORDER),
            _ => return Err(failed(DriverCall::Properties, DriverErrorKind::Failed)),
        };
        Ok(Properties {
            granularity: Bytes(GRANULE),
            alignment: Bytes(512),
            total: Bytes(GRANULE * frames as u64),
            capabilities: Capabilities::SPARSE_ADDRESSES | more,
        })
    }

    fn reserve(&self, _: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        let windows = bytes.0.div_ceil(GRANULE * WINDOW as u64) as usize;
        let mut device = self.device.lock();
        let count = device.ranges.len();
        let fits = |first: &usize| (*first..*first + windows).all(|window| window < count && !device.in_range(window));
        let first = (0..count).find(fits).filter(|_| windows > 0);
        let first = first.ok_or(failed(DriverCall::Reserve, DriverErrorKind::Exhausted))?;
        if let Some(range) = device.ranges.get_mut(first) {
            *range = windows as u8;
        }
        Ok(DevicePtr(SPACE + (first * WINDOW) as u64 * GRANULE))
    }

    fn release(&self, _: DeviceId, base: DevicePtr, _: Bytes) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Release, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let place = device.place(DriverCall::Release, base)?;
        let range = device.ranges.get_mut(place / WINDOW).ok_or(refused)?;
        let length = usize::from(core::mem::take(range)) * WINDOW;
        let places = device.mapped.get(place..place + length).unwrap_or_default();
        if place.is_multiple_of(WINDOW) && places.iter().all(|frame| *frame == 0) {
            // What the agent keeps there is of no use any more.
            for place in place..place + length {
                device.agent.forget(DevicePtr(SPACE + place as u64 * GRANULE));
            }
            return Ok(());
        }
        if let Some(range) = device.ranges.get_mut(place / WINDOW) {
            *range = (length / WINDOW) as u8;
        }
        Err(refused)
    }

    fn create(&self, owner: DeviceId) -> Result<GranuleHandle, DriverError> {
        let mut device = self.device.lock();
        if owner == agent::DEVICE {
            // The agent has the memory; the host has a right to so much of it.
            if device.quota >= agent::FRAMES as u64 {
                return Err(failed(DriverCall::Create, DriverErrorKind::Exhausted));
            }
            device.quota += 1;
            return Ok(OF_THE_AGENT);
        }
        let free = device.frames.trailing_ones() as usize;
        if free >= Self::FRAMES {
            return Err(failed(DriverCall::Create, DriverErrorKind::Exhausted));
        }
        device.frames |= 1 << free;
        Ok(GranuleHandle(free as u64 + 1))
    }

    fn destroy(&self, _: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        let mut device = self.device.lock();
        if granule == OF_THE_AGENT {
            device.quota = device.quota.saturating_sub(1);
            let quota = device.quota;
            device.agent.limit(quota);
            return Ok(());
        }
        let used = device.mapped.iter().any(|frame| u64::from(*frame) == granule.0);
        let bit = granule.0.checked_sub(1).and_then(|frame| 1_u64.checked_shl(frame as u32)).unwrap_or(0);
        if used || device.frames & bit == 0 {
            return Err(failed(DriverCall::Destroy, DriverErrorKind::Failed));
        }
        device.frames &= !bit;
        Ok(())
    }

    fn map(
        &self,
        _: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Map, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let place = device.place(DriverCall::Map, at)?;
        if granule == OF_THE_AGENT {
            device.mapped.get(place).filter(|entry| **entry == 0).ok_or(refused)?;
            device.by_agent(at, Operation::Malloc(Claim::Fresh), stream)?;
            *device.mapped.get_mut(place).ok_or(refused)? = AGENT_HAS_IT;
            return Ok(());
        }
        let frame = granule.0.checked_sub(1).filter(|frame| *frame < Self::FRAMES as u64).ok_or(refused)?;
        let entry = device.mapped.get_mut(place).filter(|entry| **entry == 0).ok_or(refused)?;
        *entry = granule.0 as u8;
        self.machine.map(place, frame as usize);
        Ok(())
    }

    fn unmap(&self, _: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Unmap, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let place = device.place(DriverCall::Unmap, at)?;
        if device.mapped.get(place) == Some(&AGENT_HAS_IT) {
            device.by_agent(at, Operation::Free, stream)?;
            *device.mapped.get_mut(place).ok_or(refused)? = 0;
            return Ok(());
        }
        let entry = device.mapped.get_mut(place).filter(|entry| **entry != 0).ok_or(refused)?;
        *entry = 0;
        self.machine.unmap(place);
        Ok(())
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Lay, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let head = device.streams.head(stream.0 as usize).ok_or(refused)?;
        *device.slots.get_mut(marker.0 as usize).ok_or(refused)? = head;
        Ok(())
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        // Whoever asks again and again makes the device go on.
        let _ = self.device.lock().step(self.machine);
        Ok(self.complete(what))
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Wait, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let position = *device.slots.get(marker.0 as usize).ok_or(refused)?;
        device.streams.wait(stream.0 as usize, position)
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        while self.complete(what) == Completion::Pending {
            let progress = self.device.lock().step(self.machine);
            match progress {
                Progress::Some => {}
                Progress::Sleeps => self.machine.sleep(),
                // Two streams wait for each other.
                Progress::Nothing => return Err(failed(DriverCall::Synchronise, DriverErrorKind::TimedOut)),
            }
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.machine.now()
    }
}
