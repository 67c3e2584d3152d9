//! The arena of blocks, which tile each pool's range, and the lookup of live ones by address.

use crate::arena::{Empty, Link, Slots};
use crate::block::{Block, MAX_BLOCKS, State};
use crate::error::{Arena, ArenaFull};
use crate::lookup::Window;
use crate::tree::{All, Key, Watch};

/// The arena of blocks and the lookup of live ones by address.
pub(crate) struct Blocks<'a> {
    slots: Slots<'a, Block>,
    lookup: Window<'a>,
    /// A tree by address of the signposts to what the lookup has no cell for.
    signposts: Link,
    /// How many those are.
    posted: usize,
    /// Live blocks that no slot was left for a signpost to.
    lost: usize,
    /// Slots given back, linked by `next`.
    spare: Link,
    /// Slots that were never used come after this many.
    touched: usize,
    in_use: usize,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(slots: Slots<'a, Block>, lookup: &'a mut [Link]) -> Self {
        Self {
            slots: slots.at_most(MAX_BLOCKS),
            lookup: Window::new(lookup),
            signposts: Link::NONE,
            posted: 0,
            lost: 0,
            spare: Link::NONE,
            touched: 0,
            in_use: 0,
        }
    }

    /// The slot, if there is one.
    #[inline]
    pub(crate) fn look(&self, slot: usize) -> Option<&Block> {
        self.slots.look(slot)
    }

    /// The slot, if there is one.
    #[inline]
    pub(crate) fn look_mut(&mut self, slot: usize) -> Option<&mut Block> {
        self.slots.look_mut(slot)
    }

    /// Whether the link leads to a free block.
    #[inline]
    pub(crate) fn is_free(&self, link: Link) -> bool {
        link.slot().and_then(|slot| self.look(slot)).is_some_and(|block| block.state() == State::Free)
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> &Block {
        self.slots.get(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Block {
        self.slots.get_mut(slot)
    }

    pub(crate) fn strayed(&self) -> bool {
        self.slots.strayed()
    }

    /// Slots that are taken, signposts among them.
    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }

    /// Slots that hold blocks.
    pub(crate) fn count(&self) -> usize {
        self.in_use.saturating_sub(self.posted)
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
        self.withdraw(slot);
        self.give_back(slot);
    }

    fn give_back(&mut self, slot: usize) {
        let unused = self.slots.get_mut(slot);
        *unused = Block::EMPTY;
        unused.next = self.spare;
        self.spare = Link::to(slot);
        self.in_use = self.in_use.saturating_sub(1);
    }

    /// Cuts a block after `size` bytes; the second part inherits everything, its points and class included. It gets no
    /// place in any index.
    pub(crate) fn split(&mut self, slot: usize, size: u64) -> Result<usize, ArenaFull> {
        let first = *self.get(slot);
        let second = self.add(first.rest_after(size, slot))?;
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

    /// Makes a block findable by its address. It stays so while it begins there, free or live: most memory that is freed is
    /// soon taken again from the same address, and the lookup is not touched then.
    #[inline]
    pub(crate) fn publish(&mut self, slot: usize) {
        let block = self.slots.get_mut(slot);
        if block.is_findable() {
            return;
        }
        block.set_findable(true);
        let at = block.at;
        if !self.lookup.insert(at, slot) {
            self.post(at, slot);
        }
    }

    /// Puts up a signpost to a block. O(levels).
    #[cold]
    fn post(&mut self, at: u64, slot: usize) {
        let Ok(post) = self.add(Block::signpost(at, slot)) else {
            self.lost = self.lost.wrapping_add(1);
            return;
        };
        self.posted = self.posted.wrapping_add(1);
        let root = match self.signposts.slot() {
            Some(root) => self.plant(root, post, Watch::No),
            None => Some(post),
        };
        self.signposts = root.map_or(self.signposts, Link::to);
    }

    /// Takes a block out of the lookup.
    #[inline]
    fn withdraw(&mut self, slot: usize) {
        let block = self.slots.get_mut(slot);
        if block.is_findable() {
            block.set_findable(false);
            let at = block.at;
            if !self.lookup.remove(at, slot) {
                self.take_down(at);
            }
        }
    }

    /// Takes down the signpost to the block at an address. O(levels).
    #[cold]
    fn take_down(&mut self, at: u64) {
        let Some(post) = self.signpost_to(at) else {
            self.lost = self.lost.saturating_sub(1);
            return;
        };
        if self.get(post).is_alone() {
            self.signposts = Link::NONE;
        } else if let Some(root) = self.uproot(post, Watch::No) {
            self.signposts = Link::to(root);
        }
        self.posted = self.posted.saturating_sub(1);
        self.give_back(post);
    }

    fn signpost_to(&self, at: u64) -> Option<usize> {
        let key = Key::of(&Block::signpost(at, 0));
        let post = self.first_from(self.signposts.slot()?, &key, &All)?;
        (self.get(post).at == at).then_some(post)
    }

    /// The block that starts at `at`, if it is live; one that is not may be found as well. O(1), but for addresses that
    /// collide: O(levels).
    #[inline]
    pub(crate) fn find(&self, at: u64) -> Option<usize> {
        let found = self.lookup.find(at, |slot| self.slots.is(slot, |block| block.at == at));
        if found.is_none() && (self.posted > 0 || self.lost > 0) { self.find_posted(at) } else { found }
    }

    #[cold]
    fn find_posted(&self, at: u64) -> Option<usize> {
        match self.signpost_to(at) {
            Some(post) => self.get(post).next.slot(),
            // A full arena and addresses that collide: the one case without a bound.
            None if self.lost > 0 => {
                let mut all = self.slots.iter();
                all.find(|(_, block)| block.is_findable() && block.at == at).map(|(slot, _)| slot)
            }
            None => None,
        }
    }

    /// The blocks of a range in address order, beginning with `first`.
    pub(crate) fn walk(&self, first: Link) -> Walk<'_, 'a> {
        Walk { blocks: self, next: first, way: Way::Up, steps: self.slots.len() }
    }

    /// The same backwards, beginning with `last`.
    pub(crate) fn walk_back(&self, last: Link) -> Walk<'_, 'a> {
        Walk { way: Way::Down, ..self.walk(last) }
    }

    /// The block that holds `at`; walks the range, for error reports.
    pub(crate) fn holding(&self, first: Link, at: u64) -> Option<usize> {
        self.walk(first).find(|&(_, b)| b.at <= at && at < b.end()).map(|(slot, _)| slot)
    }
}

/// Which way a walk goes.
#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// Blocks in address order, or against it.
pub(crate) struct Walk<'b, 'a> {
    blocks: &'b Blocks<'a>,
    next: Link,
    way: Way,
    /// A bound, so that a damaged list ends too.
    steps: usize,
}

impl<'b> Iterator for Walk<'b, '_> {
    type Item = (usize, &'b Block);

    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.next.slot()?;
        self.steps = self.steps.checked_sub(1)?;
        let block = self.blocks.get(slot);
        self.next = match self.way {
            Way::Up => block.next,
            Way::Down => block.prev,
        };
        Some((slot, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    /// Addresses that all have their home in the first cells: multiples of the multiplier's inverse.
    fn collide(n: u64) -> u64 {
        0xf1de_83e1_9937_733d_u64.wrapping_mul(n)
    }

    #[test]
    fn blocks_at_addresses_that_collide_are_found() {
        let (mut slots, mut cells) = (vec![Block::EMPTY; 400], vec![Link::NONE; 800]);
        let mut blocks = Blocks::new(Slots::of(&mut slots), &mut cells);
        let live: Vec<usize> = (1..=150)
            .map(|n| {
                let slot = blocks.add(Block::new(0, collide(n), 512, State::Live)).expect("there is room");
                blocks.publish(slot);
                slot
            })
            .collect();
        assert!(blocks.posted > 100 && blocks.lost == 0, "{} signposts", blocks.posted);
        assert_eq!((blocks.count(), blocks.in_use()), (150, 150 + blocks.posted));
        // Every third goes; the others stay where they are.
        for (slot, n) in live.iter().zip(1..).filter(|(_, n)| n % 3 == 0) {
            assert_eq!(blocks.find(collide(n)), Some(*slot));
            blocks.remove(*slot);
        }
        for (slot, n) in live.iter().zip(1..) {
            assert_eq!(blocks.find(collide(n)), (n % 3 != 0).then_some(*slot), "{n}");
        }
        live.iter().zip(1..).filter(|(_, n)| n % 3 != 0).for_each(|(slot, _)| blocks.remove(*slot));
        assert_eq!((blocks.in_use(), blocks.posted, blocks.lost), (0, 0, 0));
        assert!(blocks.find(collide(5)).is_none() && blocks.signposts == Link::NONE);
    }

    #[test]
    fn blocks_are_found_where_no_slot_is_left_for_a_signpost() {
        let (mut slots, mut cells) = (vec![Block::EMPTY; 50], vec![Link::NONE; 100]);
        let mut blocks = Blocks::new(Slots::of(&mut slots), &mut cells);
        let live: Vec<usize> =
            (1..=50).map(|n| blocks.add(Block::new(0, collide(n), 512, State::Live)).expect("there is room")).collect();
        live.iter().for_each(|&slot| blocks.publish(slot));
        assert!(blocks.posted == 0 && blocks.lost > 0);
        assert!(live.iter().zip(1..).all(|(slot, n)| blocks.find(collide(n)) == Some(*slot)));
        // A slot that becomes free is used for a signpost again.
        live.iter().take(40).for_each(|&slot| blocks.remove(slot));
        let late = blocks.add(Block::new(0, collide(60), 512, State::Live)).expect("there is room");
        blocks.publish(late);
        assert_eq!(blocks.find(collide(60)), Some(late));
        live.iter().skip(40).chain([&late]).for_each(|&slot| blocks.remove(slot));
        assert_eq!((blocks.in_use(), blocks.posted, blocks.lost), (0, 0, 0));
    }
}
