//! The driver: one device, whose granules are mapped in the machine's tables.

pub use crate::streams::{Found, Pattern, STREAMS, Work};

use crate::machine::{GRANULE, Machine, PLACES, SPACE, place};
use crate::streams::{Position, Progress, Streams};
use spin::Mutex;
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};

/// The only device.
pub const DEVICE: DeviceId = DeviceId(0);

/// Events and markers of a runtime on a board.
pub const SLOTS: usize = 32;

/// Address ranges are handed out in windows of so many granules.
const WINDOW: usize = 32;

/// A board's device as a driver.
#[derive(Debug)]
pub struct Board<M> {
    machine: M,
    device: Mutex<Device>,
}

#[derive(Debug)]
struct Device {
    streams: Streams,
    slots: [Position; SLOTS],
    /// One bit a frame.
    frames: u64,
    /// Windows of addresses that each range begins with and takes; 0 for none.
    ranges: [u8; PLACES / WINDOW],
    /// The frame at each place, from 1 on; 0 for none.
    mapped: [u8; PLACES],
}

const fn failed(call: DriverCall, kind: DriverErrorKind) -> DriverError {
    DriverError { call, code: 0, kind }
}

impl<M: Machine> Board<M> {
    const FRAMES: usize = {
        assert!(M::FRAMES < 64, "frames are bits of a word");
        M::FRAMES
    };

    /// A device with nothing mapped.
    pub fn new(machine: M) -> Self {
        let device = Device {
            streams: Streams::default(),
            slots: [Position::default(); SLOTS],
            frames: 0,
            ranges: [0; PLACES / WINDOW],
            mapped: [0; PLACES],
        };
        Self { machine, device: Mutex::new(device) }
    }

    /// The machine below.
    pub const fn machine(&self) -> &M {
        &self.machine
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
            Target::Device(_) => device.streams.idle(),
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

impl Device {
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

impl<M: Machine> Driver for Board<M> {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        if device != DEVICE {
            return Err(failed(DriverCall::Properties, DriverErrorKind::Failed));
        }
        Ok(Properties {
            granularity: Bytes(GRANULE),
            alignment: Bytes(512),
            total: Bytes(GRANULE * Self::FRAMES as u64),
            capabilities: Capabilities::SPARSE_ADDRESSES,
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
            return Ok(());
        }
        if let Some(range) = device.ranges.get_mut(place / WINDOW) {
            *range = (length / WINDOW) as u8;
        }
        Err(refused)
    }

    fn create(&self, _: DeviceId) -> Result<GranuleHandle, DriverError> {
        let mut device = self.device.lock();
        let free = device.frames.trailing_ones() as usize;
        if free >= Self::FRAMES {
            return Err(failed(DriverCall::Create, DriverErrorKind::Exhausted));
        }
        device.frames |= 1 << free;
        Ok(GranuleHandle(free as u64 + 1))
    }

    fn destroy(&self, _: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        let mut device = self.device.lock();
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
        _: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Map, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let place = device.place(DriverCall::Map, at)?;
        let frame = granule.0.checked_sub(1).filter(|frame| *frame < Self::FRAMES as u64).ok_or(refused)?;
        let entry = device.mapped.get_mut(place).filter(|entry| **entry == 0).ok_or(refused)?;
        *entry = granule.0 as u8;
        self.machine.map(place, frame as usize);
        Ok(())
    }

    fn unmap(&self, _: DeviceId, at: DevicePtr, _: Option<NativeStream>) -> Result<(), DriverError> {
        let refused = failed(DriverCall::Unmap, DriverErrorKind::Failed);
        let mut device = self.device.lock();
        let place = device.place(DriverCall::Unmap, at)?;
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
        let _ = self.device.lock().streams.step(&self.machine);
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
            let progress = self.device.lock().streams.step(&self.machine);
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
