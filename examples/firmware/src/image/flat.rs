//! A machine without a memory management unit: the device's memory is an array, and its kernels look addresses up.

use super::machine;
use core::ptr;
use weir::units::Nanos;
use weir_firmware::machine::{Flat, Frames, GRANULE};
use weir_firmware::{Fault, Machine};

unsafe extern "C" {
    static mut weir_frames: u8;
}

/// What the device calls physical memory.
struct Ram;

const FRAMES: usize = 8;

impl Ram {
    fn at(frame: usize, offset: u64) -> *mut u64 {
        assert!(frame < FRAMES && offset < GRANULE && offset.is_multiple_of(8), "outside the device's memory");
        let offset = frame as u64 * GRANULE + offset;
        (&raw mut weir_frames).wrapping_add(offset as usize).cast()
    }
}

impl Frames for Ram {
    fn store(&self, frame: usize, offset: u64, word: u64) {
        // SAFETY: inside the device's memory, aligned, and nothing but this function and `load` touches it.
        unsafe { ptr::write_volatile(Self::at(frame, offset), word) }
    }
    fn load(&self, frame: usize, offset: u64) -> u64 {
        // SAFETY: as for `store`.
        unsafe { ptr::read_volatile(Self::at(frame, offset)) }
    }
}

/// The machine.
pub(super) struct Hardware(Flat<Ram>);

impl Hardware {
    pub(super) const fn new() -> Self {
        Self(Flat::new(Ram))
    }
}

impl Machine for Hardware {
    const FRAMES: usize = FRAMES;
    fn map(&self, place: usize, frame: usize) {
        self.0.map(place, frame);
    }
    fn unmap(&self, place: usize) {
        self.0.unmap(place);
    }
    fn store(&self, at: u64, word: u64) -> Result<(), Fault> {
        self.0.store(at, word)
    }
    fn load(&self, at: u64) -> Result<u64, Fault> {
        self.0.load(at)
    }
    fn now(&self) -> Nanos {
        machine::now()
    }
    fn sleep(&self) {
        // SAFETY: waits for an interrupt, of which the timer has one coming.
        unsafe { core::arch::asm!("wfi") };
    }
}
