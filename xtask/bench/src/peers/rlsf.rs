//! rlsf: two-level segregated fit, constant time, headers in the memory.

use super::storage::lazy;
use crate::churn::{Allocator, Refused};
use rlsf::Tlsf;
use std::alloc::Layout;
use std::ptr::NonNull;

/// Blocks of up to 2^34 bytes, each octave in 32 parts.
type Inner = Tlsf<'static, u32, u32, 30, 32>;

/// Alignment of what is asked for.
const ALIGN: usize = 8;

/// Its allocator over a range that is backed where it is written to.
pub(crate) struct Rlsf {
    inner: Inner,
    base: usize,
    peak: usize,
}

impl Rlsf {
    /// An allocator of `bytes`.
    ///
    /// # Errors
    /// The system has no such range.
    pub(crate) fn new(bytes: u64) -> Result<Self, String> {
        let memory = lazy(bytes)?;
        let base = memory.as_ptr().addr();
        let mut inner = Inner::new();
        let _ = inner.insert_free_block(memory);
        Ok(Self { inner, base, peak: 0 })
    }
}

impl Allocator for Rlsf {
    type Block = NonNull<u8>;

    fn malloc(&mut self, size: u64) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(size as usize, ALIGN).ok()?;
        self.inner.allocate(layout)
    }

    fn free(&mut self, block: NonNull<u8>) -> Result<(), Refused> {
        // SAFETY: the loops free what `malloc` above gave, once, and it was asked for with this alignment.
        unsafe { self.inner.deallocate(block, ALIGN) };
        Ok(())
    }

    fn watch(&mut self, block: NonNull<u8>, size: u64) {
        self.peak = self.peak.max(block.addr().get() + size as usize - self.base);
    }

    fn peak(&self) -> Option<u64> {
        Some(self.peak as u64)
    }
}
