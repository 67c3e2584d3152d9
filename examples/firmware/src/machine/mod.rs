//! What a board needs of the machine below it.

mod flat;

pub use flat::{Flat, Frames};

use weir::units::Nanos;

/// The size of a granule.
pub const GRANULE: u64 = 2 << 20;

/// How many granules a device's address space has: 1 GiB.
pub const PLACES: usize = 512;

/// Where the device's addresses begin. No machine has anything else there.
pub const SPACE: u64 = 64 << 30;

/// The place of an address in the device's space: a granule's number and the byte in it.
#[must_use]
pub const fn place(at: u64) -> Option<(usize, u64)> {
    let Some(offset) = at.checked_sub(SPACE) else { return None };
    let place = offset / GRANULE;
    if place < PLACES as u64 { Some((place as usize, offset % GRANULE)) } else { None }
}

/// An access to an address where nothing is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address, as the machine reports it.
    pub at: u64,
}

/// Translation, bytes and time. Called from one thread; [`now`](Self::now) from interrupt handlers too.
pub trait Machine: Sync {
    /// Granules of physical memory.
    const FRAMES: usize;

    /// Maps the frame at the place. Nothing is mapped there, and the frame nowhere else.
    fn map(&self, place: usize, frame: usize);

    /// Ends the mapping at the place: no access reaches its frame any more when this returns.
    fn unmap(&self, place: usize);

    /// Writes a word as the device does.
    ///
    /// # Errors
    /// Nothing is mapped there.
    fn store(&self, at: u64, word: u64) -> Result<(), Fault>;

    /// Reads a word as the device does.
    ///
    /// # Errors
    /// Nothing is mapped there.
    fn load(&self, at: u64) -> Result<u64, Fault>;

    /// A monotonic clock.
    fn now(&self) -> Nanos;

    /// Sleeps until the next interrupt: of the timer, at the latest.
    fn sleep(&self);
}
