//! Translation in software, for machines without a memory management unit: the device has its own addresses, and its
//! kernels look each one up.

use super::{Fault, PLACES, place};
use spin::Mutex;

/// Physical memory by frame and byte.
pub trait Frames: Sync {
    /// Writes a word.
    fn store(&self, frame: usize, offset: u64, word: u64);
    /// Reads a word.
    fn load(&self, frame: usize, offset: u64) -> u64;
}

/// A table from places to frames.
#[derive(Debug)]
pub struct Flat<F> {
    /// Frame numbers from 1 on; 0 where nothing is mapped.
    table: Mutex<[u8; PLACES]>,
    frames: F,
}

impl<F: Frames> Flat<F> {
    /// Nothing is mapped.
    pub const fn new(frames: F) -> Self {
        Self { table: Mutex::new([0; PLACES]), frames }
    }

    /// See [`Machine::map`](super::Machine::map).
    pub fn map(&self, place: usize, frame: usize) {
        if let Some(entry) = self.table.lock().get_mut(place) {
            *entry = frame as u8 + 1;
        }
    }

    /// See [`Machine::unmap`](super::Machine::unmap).
    pub fn unmap(&self, place: usize) {
        if let Some(entry) = self.table.lock().get_mut(place) {
            *entry = 0;
        }
    }

    /// See [`Machine::store`](super::Machine::store).
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub fn store(&self, at: u64, word: u64) -> Result<(), Fault> {
        let (frame, offset) = self.find(at)?;
        self.frames.store(frame, offset, word);
        Ok(())
    }

    /// See [`Machine::load`](super::Machine::load).
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub fn load(&self, at: u64) -> Result<u64, Fault> {
        let (frame, offset) = self.find(at)?;
        Ok(self.frames.load(frame, offset))
    }

    fn find(&self, at: u64) -> Result<(usize, u64), Fault> {
        let (place, offset) = place(at).ok_or(Fault { at })?;
        let entry = self.table.lock().get(place).copied().unwrap_or(0);
        match usize::from(entry).checked_sub(1) {
            Some(frame) => Ok((frame, offset)),
            None => Err(Fault { at }),
        }
    }
}
