//! Blocks: runs of addresses in one state that tile each pool's range. Knows addresses and states, not order.

use crate::arena::{Empty, Link, Lookup, Slots};
use crate::error::{Arena, ArenaFull};
use crate::id::{AllocId, LabelId};
use crate::order::Points;

/// What a run of addresses is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Not a block: an unused slot of the arena.
    #[default]
    Unused,
    /// Allocated.
    Live,
    /// Mapped and reusable.
    Free,
    /// Not mapped.
    Hole,
    /// Being mapped or unmapped by a call in flight; offered to nobody.
    Transit,
    /// An unmap failed; offered to nobody, tried again at the next release.
    Quarantined,
}

/// Small blocks are packed apart, so that they do not pin the granules of large ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    #[default]
    Large,
    Small,
}

/// One block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// First address.
    pub(crate) at: u64,
    pub(crate) size: u64,
    /// Bytes that were asked for, where live.
    pub(crate) asked: u64,
    /// The allocation, where live or freed and not merged since.
    pub(crate) id: AllocId,
    /// Counts frees: the larger, the more recent.
    pub(crate) freed: u64,
    pub(crate) points: Points,
    pub(crate) label: LabelId,
    pub(crate) pool: u32,
    pub(crate) prev: Link,
    pub(crate) next: Link,
    /// Neighbours in the list of the free index.
    pub(crate) bin_prev: Link,
    pub(crate) bin_next: Link,
    pub(crate) state: State,
    pub(crate) class: Class,
}

impl Block {
    pub(crate) const fn end(&self) -> u64 {
        self.at.wrapping_add(self.size)
    }
}

impl Empty for Block {
    const EMPTY: Self = Self {
        at: 0,
        size: 0,
        asked: 0,
        id: AllocId(0),
        freed: 0,
        points: Points::NONE,
        label: LabelId::NONE,
        pool: 0,
        prev: Link::NONE,
        next: Link::NONE,
        bin_prev: Link::NONE,
        bin_next: Link::NONE,
        state: State::Unused,
        class: Class::Large,
    };
}

/// The arena of blocks and the lookup of live ones by address.
pub(crate) struct Blocks<'a> {
    slots: Slots<'a, Block>,
    lookup: Lookup<'a>,
    /// Slots given back, linked by `next`.
    spare: Link,
    /// Slots that were never used come after this many.
    touched: usize,
    in_use: usize,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(slots: &'a mut [Block], lookup: &'a mut [Link]) -> Self {
        Self { slots: Slots::new(slots), lookup: Lookup::new(lookup), spare: Link::NONE, touched: 0, in_use: 0 }
    }

    pub(crate) fn get(&self, slot: usize) -> &Block {
        self.slots.get(slot)
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Block {
        self.slots.get_mut(slot)
    }

    pub(crate) fn strayed(&self) -> bool {
        self.slots.strayed()
    }

    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }

    /// Slots that are left.
    pub(crate) fn room(&self) -> usize {
        self.slots.len().saturating_sub(self.in_use)
    }

    pub(crate) fn full(&self) -> ArenaFull {
        ArenaFull { arena: Arena::Blocks, capacity: self.slots.len() }
    }

    /// A slot for `block`, not linked to any neighbour.
    pub(crate) fn add(&mut self, block: Block) -> Result<usize, ArenaFull> {
        let slot = match self.spare.slot() {
            Some(slot) => {
                self.spare = self.slots.get(slot).next;
                slot
            }
            None if self.touched < self.slots.len() => {
                self.touched = self.touched.wrapping_add(1);
                self.touched.wrapping_sub(1)
            }
            None => return Err(self.full()),
        };
        self.in_use = self.in_use.wrapping_add(1);
        *self.slots.get_mut(slot) = block;
        Ok(slot)
    }

    /// Gives a slot back.
    pub(crate) fn remove(&mut self, slot: usize) {
        *self.slots.get_mut(slot) = Block { next: self.spare, ..Block::EMPTY };
        self.spare = Link::to(slot);
        self.in_use = self.in_use.saturating_sub(1);
    }

    /// Cuts a block after `size` bytes; the second part inherits everything, its points and class included. It gets no
    /// place in any index.
    pub(crate) fn split(&mut self, slot: usize, size: u64) -> Result<usize, ArenaFull> {
        let first = *self.get(slot);
        let second = self.add(Block {
            at: first.at.wrapping_add(size),
            size: first.size.wrapping_sub(size),
            id: AllocId(0),
            prev: Link::to(slot),
            bin_prev: Link::NONE,
            bin_next: Link::NONE,
            ..first
        })?;
        if let Some(next) = first.next.slot() {
            self.get_mut(next).prev = Link::to(second);
        }
        let block = self.get_mut(slot);
        block.size = size;
        block.next = Link::to(second);
        Ok(second)
    }

    /// Joins a block with its successor, which must be in no index; its facts are the caller's concern.
    pub(crate) fn absorb_next(&mut self, slot: usize) {
        let Some(second) = self.get(slot).next.slot() else {
            return;
        };
        let Block { size, next, .. } = *self.get(second);
        let first = self.get_mut(slot);
        first.size = first.size.wrapping_add(size);
        first.next = next;
        if let Some(next) = next.slot() {
            self.get_mut(next).prev = Link::to(slot);
        }
        self.remove(second);
    }

    /// Makes a block findable by its address.
    #[must_use]
    pub(crate) fn publish(&mut self, slot: usize) -> bool {
        let at = self.get(slot).at;
        self.lookup.insert(at, slot)
    }

    /// Takes a live block out of the lookup.
    pub(crate) fn withdraw(&mut self, slot: usize) {
        let at = self.get(slot).at;
        let slots = &self.slots;
        self.lookup.remove(at, |s| slots.get(s).at);
    }

    /// The live block that starts at `at`.
    pub(crate) fn find(&self, at: u64) -> Option<usize> {
        self.lookup.find(at, |s| self.slots.get(s).at)
    }

    /// The blocks of a range in address order, beginning with `first`.
    pub(crate) fn walk(&self, first: Link) -> Walk<'_, 'a> {
        Walk { blocks: self, next: first, steps: self.slots.len() }
    }

    /// The same backwards, beginning with `last`.
    pub(crate) fn walk_back(&self, last: Link) -> impl Iterator<Item = (usize, &Block)> {
        let mut next = last;
        (0..self.slots.len()).map_while(move |_| {
            let slot = next.slot()?;
            let block = self.slots.get(slot);
            next = block.prev;
            Some((slot, block))
        })
    }

    /// The block that holds `at`; walks the range, for error reports.
    pub(crate) fn holding(&self, first: Link, at: u64) -> Option<usize> {
        self.walk(first).find(|&(_, b)| b.at <= at && at < b.end()).map(|(slot, _)| slot)
    }
}

/// Blocks in address order.
pub(crate) struct Walk<'b, 'a> {
    blocks: &'b Blocks<'a>,
    next: Link,
    /// A bound, so that a damaged list ends too.
    steps: usize,
}

impl<'b> Iterator for Walk<'b, '_> {
    type Item = (usize, &'b Block);

    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.next.slot()?;
        self.steps = self.steps.checked_sub(1)?;
        let block = self.blocks.get(slot);
        self.next = block.next;
        Some((slot, block))
    }
}
