//! buddy_system_allocator: powers of two, free frames in ordered sets beside the memory.

use super::UNIT;
use crate::churn::{Allocator, Refused};
use buddy_system_allocator::FrameAllocator;

/// Orders: blocks of up to 2^33 units.
const ORDERS: usize = 34;

/// Its allocator of frames, which needs no memory to write to; a frame is 512 bytes.
pub(crate) struct Buddy {
    inner: FrameAllocator<ORDERS>,
    /// Frames of live blocks. It hands out from both ends of its range, so that the highest address says nothing.
    held: u64,
    peak: u64,
}

impl Buddy {
    /// An allocator of `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        let mut inner = FrameAllocator::new();
        inner.add_frame(0, (bytes / UNIT) as usize);
        Self { inner, held: 0, peak: 0 }
    }
}

impl Allocator for Buddy {
    type Block = (usize, usize);

    fn malloc(&mut self, size: u64) -> Option<(usize, usize)> {
        let frames = size.div_ceil(UNIT) as usize;
        Some((self.inner.alloc(frames)?, frames))
    }

    fn free(&mut self, (first, frames): (usize, usize)) -> Result<(), Refused> {
        self.inner.dealloc(first, frames);
        Ok(())
    }

    fn watch(&mut self, (_, frames): Self::Block, _: u64) {
        self.held += frames.next_power_of_two() as u64;
        self.peak = self.peak.max(self.held);
    }

    fn forget(&mut self, (_, frames): Self::Block) {
        self.held -= frames.next_power_of_two() as u64;
    }

    fn peak(&self) -> Option<u64> {
        Some(self.peak * UNIT)
    }
}
