//! talc: bins by size, headers in the memory.

use super::storage::lazy;
use crate::churn::{Allocator, Refused};
use std::alloc::Layout;
use std::ptr::NonNull;
use talc::DefaultBinning;
use talc::base::Talc as Inner;
use talc::source::Manual;

/// Alignment of what is asked for.
const ALIGN: usize = 8;

/// Its allocator over a range that is backed where it is written to.
pub(crate) struct Talc {
    inner: Inner<Manual, DefaultBinning>,
    base: usize,
    peak: usize,
}

impl Talc {
    /// An allocator of `bytes`.
    ///
    /// # Errors
    /// The system has no such range.
    pub(crate) fn new(bytes: u64) -> Result<Self, String> {
        let memory = lazy(bytes)?;
        let base = memory.as_ptr().addr();
        let mut inner = Inner::new(Manual);
        // SAFETY: the range is leaked memory that nobody else knows of.
        let claimed = unsafe { inner.claim(memory.as_mut_ptr().cast(), memory.len()) };
        claimed.ok_or("talc takes no such range")?;
        Ok(Self { inner, base, peak: 0 })
    }
}

impl Allocator for Talc {
    type Block = (NonNull<u8>, Layout);

    fn malloc(&mut self, size: u64) -> Option<(NonNull<u8>, Layout)> {
        let layout = Layout::from_size_align((size as usize).max(1), ALIGN).ok()?;
        // SAFETY: the size is at least 1.
        let block = unsafe { self.inner.allocate(layout) }?;
        Some((block, layout))
    }

    fn free(&mut self, (block, layout): (NonNull<u8>, Layout)) -> Result<(), Refused> {
        // SAFETY: the loops free what `malloc` above gave, once, with the layout that it was asked for with.
        unsafe { self.inner.deallocate(block.as_ptr(), layout) };
        Ok(())
    }

    fn watch(&mut self, (block, _): Self::Block, size: u64) {
        self.peak = self.peak.max(block.addr().get() + size as usize - self.base);
    }

    fn peak(&self) -> Option<u64> {
        Some(self.peak as u64)
    }
}
