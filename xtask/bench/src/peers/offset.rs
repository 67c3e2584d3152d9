//! offset-allocator: constant time, bins by size, metadata beside the memory.

use super::UNIT;
use crate::churn::{Allocator, Refused};
use offset_allocator::{Allocation, Allocator as Inner};

/// Its sizes and offsets are 32 bits wide; here in units of 512 bytes.
pub(crate) struct Offset {
    inner: Inner,
    peak: u64,
}

impl Offset {
    /// An allocator of `bytes`, for at most `blocks` blocks, free ones included.
    ///
    /// # Errors
    /// It cannot be that large.
    pub(crate) fn new(bytes: u64, blocks: usize) -> Result<Self, String> {
        let units = u32::try_from(bytes / UNIT).map_err(|_| "offset-allocator counts in 32 bits".to_owned())?;
        let blocks = u32::try_from(blocks).map_err(|_| "offset-allocator counts in 32 bits".to_owned())?;
        Ok(Self { inner: Inner::with_max_allocs(units, blocks), peak: 0 })
    }
}

impl Allocator for Offset {
    type Block = Allocation;

    fn malloc(&mut self, size: u64) -> Option<Allocation> {
        let units = size.div_ceil(UNIT) as u32;
        self.inner.allocate(units)
    }

    fn free(&mut self, block: Allocation) -> Result<(), Refused> {
        self.inner.free(block);
        Ok(())
    }

    fn watch(&mut self, block: Allocation, size: u64) {
        self.peak = self.peak.max(u64::from(block.offset) + size.div_ceil(UNIT));
    }

    fn peak(&self) -> Option<u64> {
        Some(self.peak * UNIT)
    }
}
