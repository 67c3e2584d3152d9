//! Everything behind the lock of a simulation.

use super::device::Memory;
use super::fault::{Faults, Rng};
use super::order::Order;
use super::queue::Queue;
use super::storage::{Arena, SimArenas, SimPiece};
use super::violation::{SimArena, SimError, Violation};
use super::{DeviceConfig, Progress};
use crate::driver::{DriverCall, DriverError, NativeStream, Target};

pub(super) struct State<'a> {
    pub(super) memory: Memory<'a>,
    pub(super) queue: Queue<'a>,
    pub(super) order: Order<'a>,
    pub(super) pieces: Arena<'a, SimPiece>,
    pub(super) faults: Faults,
    pub(super) rng: Rng,
    pub(super) progress: Progress,
    /// Virtual nanoseconds.
    pub(super) now: u64,
    /// A hash of everything that happened.
    trace: u64,
    pub(super) first: Option<Violation>,
    pub(super) violations: u64,
    pub(super) full: Option<SimArena>,
    pub(super) unchecked: u64,
    pub(super) squeezed: u64,
    /// What the host knew when the history was last swept.
    pub(super) swept: u64,
}

/// One step of a hash.
const fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 32)
}

impl<'a> State<'a> {
    pub(super) fn new(arenas: SimArenas<'a>, devices: &[DeviceConfig], seed: u64) -> Result<Self, SimError> {
        let SimArenas { streams, host_clock, stream_clocks, marker_clocks, markers, .. } = arenas;
        let (width, count) = (streams.len(), markers.len());
        let (Some(host), Some(stream_rows), Some(marker_rows)) = (
            host_clock.get_mut(..width),
            stream_clocks.get_mut(..width.saturating_mul(width)),
            marker_clocks.get_mut(..width.saturating_mul(count)),
        ) else {
            return Err(SimError::Full(SimArena::Clocks));
        };
        let SimArenas { ranges, pages, granules, ops, pieces, .. } = arenas;
        Ok(Self {
            memory: Memory::new(arenas.devices, ranges, pages, granules, devices)?,
            queue: Queue::new(streams, markers, ops),
            order: Order::new(host, stream_rows, marker_rows),
            pieces: Arena::new(pieces),
            faults: Faults::new(),
            rng: Rng::new(seed),
            progress: Progress::OnRequest,
            now: 0,
            trace: 0,
            first: None,
            violations: 0,
            full: None,
            unchecked: 0,
            squeezed: 0,
            swept: 0,
        })
    }

    /// Takes a word into the hash of everything that happened.
    pub(super) fn fold(&mut self, word: u64) {
        self.trace = mix(self.trace, word);
    }

    pub(super) fn note(&mut self, violation: Violation) {
        self.first = self.first.or(Some(violation));
        self.violations += 1;
    }

    /// Keeps what went wrong for whoever asks later.
    pub(super) fn settle<T>(&mut self, result: Result<T, SimError>) -> Result<T, SimError> {
        match result {
            Err(SimError::Violation(violation)) => self.note(violation),
            Err(SimError::Full(arena)) => self.full = self.full.or(Some(arena)),
            _ => {}
        }
        result
    }

    /// A driver call begins.
    pub(super) fn enter(&mut self, call: DriverCall) -> Result<(), SimError> {
        self.now = self.now.saturating_add(1);
        self.fold(call as u64 + 1);
        self.faults.enter(call)
    }

    pub(super) fn refuse(&mut self, call: DriverCall, error: SimError) -> DriverError {
        let (code, kind) = error.code();
        self.fold(code as u64);
        DriverError { call, code, kind }
    }

    /// Something was queued; runs it where work completes at once.
    pub(super) fn queued(&mut self) -> Result<(), SimError> {
        if self.progress == Progress::Immediate {
            self.queue.need_all(u64::MAX);
            self.run_needed()?;
        }
        Ok(())
    }

    /// A device that is waited for or asked about must exist.
    pub(super) fn exists(&self, what: Target) -> Result<(), SimError> {
        match what {
            Target::Device(device) => self.memory.device(device).map(|_| ()),
            Target::Stream(_) | Target::Marker(_) => Ok(()),
        }
    }

    /// A stream that a map or unmap names must exist.
    pub(super) fn known(&self, stream: Option<NativeStream>) -> Result<(), SimError> {
        stream.map_or(Ok(()), |stream| self.queue.place(stream).map(|_| ()))
    }

    pub(super) fn digest(&self) -> u64 {
        let mut hash = mix(self.trace, self.now);
        for word in [
            self.queue.next,
            self.queue.ops.used() as u64,
            self.memory.granules.used() as u64,
            self.violations,
            self.unchecked,
            self.squeezed,
        ] {
            hash = mix(hash, word);
        }
        for stream in self.queue.streams.iter().take(self.queue.high) {
            hash = mix(mix(hash, stream.done), stream.last);
        }
        hash
    }
}
