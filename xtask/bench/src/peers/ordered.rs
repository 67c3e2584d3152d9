//! Best fit by ordered sets: what most device allocators do, written for this comparison.

use super::UNIT;
use crate::churn::{Allocator, Refused};
use std::collections::{BTreeMap, BTreeSet};

/// The smallest free block that is large enough, the lowest of those; neighbours merge at once.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// Free blocks by size, then by offset.
    by_size: BTreeSet<(u64, u64)>,
    /// The size of each free block by its offset.
    by_offset: BTreeMap<u64, u64>,
    peak: u64,
}

/// A run of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its first address.
    pub(crate) at: u64,
    /// Its size, a multiple of 512.
    pub(crate) size: u64,
}

impl Ordered {
    /// An allocator of `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        let mut this = Self { by_size: BTreeSet::new(), by_offset: BTreeMap::new(), peak: 0 };
        this.insert(Span { at: 0, size: bytes / UNIT * UNIT });
        this
    }

    fn insert(&mut self, span: Span) {
        self.by_size.insert((span.size, span.at));
        self.by_offset.insert(span.at, span.size);
    }

    fn remove(&mut self, span: Span) {
        self.by_size.remove(&(span.size, span.at));
        self.by_offset.remove(&span.at);
    }
}

impl Allocator for Ordered {
    type Block = Span;

    fn malloc(&mut self, size: u64) -> Option<Span> {
        let size = size.next_multiple_of(UNIT);
        let (found, at) = self.by_size.range((size, 0)..).next().copied()?;
        self.remove(Span { at, size: found });
        if found > size {
            self.insert(Span { at: at + size, size: found - size });
        }
        Some(Span { at, size })
    }

    fn free(&mut self, block: Span) -> Result<(), Refused> {
        let mut whole = block;
        let before = self.by_offset.range(..block.at).next_back().map(|(at, size)| Span { at: *at, size: *size });
        if let Some(before) = before.filter(|before| before.at + before.size == block.at) {
            self.remove(before);
            whole = Span { at: before.at, size: before.size + whole.size };
        }
        let end = block.at + block.size;
        if let Some(size) = self.by_offset.get(&end).copied() {
            self.remove(Span { at: end, size });
            whole.size += size;
        }
        self.insert(whole);
        Ok(())
    }

    fn watch(&mut self, block: Span, _: u64) {
        self.peak = self.peak.max(block.at + block.size);
    }

    fn peak(&self) -> Option<u64> {
        Some(self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_size_is_taken_and_neighbours_merge() {
        let mut ordered = Ordered::new(64 << 10);
        let [a, wall, b, end] = [4096, 512, 2048, 512].map(|size| ordered.malloc(size).expect("there is room"));
        ordered.free(a).expect("is live");
        ordered.free(b).expect("is live");
        assert_eq!(ordered.malloc(2000), Some(b));
        ordered.free(b).expect("is live");
        ordered.free(wall).expect("is live");
        assert_eq!(ordered.malloc(6656), Some(Span { at: 0, size: 6656 }));
        ordered.free(Span { at: 0, size: 6656 }).expect("is live");
        ordered.free(end).expect("is live");
        assert_eq!(ordered.malloc(64 << 10), Some(Span { at: 0, size: 64 << 10 }));
        assert_eq!(ordered.malloc(1), None);
    }
}
