//! A tree of blocks by size: exact best fit in a number of steps that the key's bits bound, whatever the order of
//! insertions, without rebalancing and without memory of its own.
//!
//! It is a digital search tree (Knuth, TAOCP 3, 6.3) that leaves out the bits in which all keys below agree, as PATRICIA
//! does (Morrison 1968), but has a key in each node. A node branches at its *level*, a bit of the key: all keys below it, its
//! own included, agree in the bits above. Its own key may lie on either side. Levels fall along every path, so no path is
//! longer than the key has bits; with keys as they come it has about log2 of their number.
//!
//! The key is the size, then the tie (the most recent first), then the address, so no two are equal.
//!
//! A tree can be *watched*: each node then knows the least first mark below it, so that a search for what lies not above a
//! mark enters no part of the tree without any.

use crate::arena::Link;
use crate::block::Block;
use crate::blocks::Blocks;
use crate::units::log2;

/// What the blocks of a tree are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) size: u64,
    pub(crate) tie: u64,
    pub(crate) at: u64,
}

/// Levels of a key: its bits, counted from the last.
const LEVELS: u32 = 3 * 64;

impl Key {
    /// The least key of a size.
    pub(crate) const fn of_size(size: u64) -> Self {
        Self { size, tie: 0, at: 0 }
    }

    pub(crate) const fn of(block: &Block) -> Self {
        Self { size: block.size, tie: block.tie(), at: block.at }
    }

    /// The next key.
    pub(crate) const fn after(self) -> Self {
        Self { at: self.at.wrapping_add(1), ..self }
    }

    /// The first bit in which two keys differ; 0 where they are the same.
    #[inline]
    const fn parting(&self, other: &Self) -> u32 {
        self.parting_and_order(other).0
    }

    /// The same, and whether the other key is not the smaller one.
    #[inline]
    const fn parting_and_order(&self, other: &Self) -> (u32, bool) {
        if self.size != other.size {
            (2 * 64 + log2(self.size ^ other.size), other.size > self.size)
        } else if self.tie != other.tie {
            (64 + log2(self.tie ^ other.tie), other.tie > self.tie)
        } else {
            (log2((self.at ^ other.at) | 1), other.at >= self.at)
        }
    }

    /// The bit of a level.
    const fn bit(&self, level: u32) -> u64 {
        let word = match level / 64 {
            0 => self.at,
            1 => self.tie,
            _ => self.size,
        };
        (word >> (level % 64)) & 1
    }
}

/// Which blocks of a tree a search looks at.
pub(crate) trait Scope {
    /// Whether it looks at the block.
    fn takes(&self, block: &Block) -> bool;
    /// Whether it looks at a tree whose least first mark is this.
    fn admits(&self, least: u64) -> bool;
    /// Whether it looks at the tree below the block.
    fn enters(&self, block: &Block) -> bool;

    /// The same, of the block in a slot.
    #[inline]
    fn enters_slot(&self, blocks: &Blocks<'_>, slot: usize) -> bool {
        self.enters(blocks.get(slot))
    }
}

/// All.
pub(crate) struct All;

/// Those of a watched tree whose first mark is not above this.
pub(crate) struct UpTo(pub(crate) u64);

impl Scope for All {
    fn takes(&self, _: &Block) -> bool {
        true
    }

    fn admits(&self, _: u64) -> bool {
        true
    }

    fn enters(&self, _: &Block) -> bool {
        true
    }

    fn enters_slot(&self, _: &Blocks<'_>, _: usize) -> bool {
        true
    }
}

impl Scope for UpTo {
    fn takes(&self, block: &Block) -> bool {
        block.first_mark() <= self.0
    }

    fn admits(&self, least: u64) -> bool {
        least <= self.0
    }

    fn enters(&self, block: &Block) -> bool {
        self.admits(block.least())
    }
}

impl Block {
    /// Makes it a tree of its own.
    #[inline]
    pub(crate) fn become_root(&mut self, mark: u64, watch: Watch) {
        self.set_kids([Link::NONE; 2]);
        self.set_up(Link::NONE, 0);
        if watch == Watch::Yes {
            self.set_least(mark);
        }
    }

    /// Whether it is a tree of its own.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.kids() == [Link::NONE; 2] && self.parent() == Link::NONE
    }
}

/// Whether the nodes of a tree know the least mark below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    No,
    Yes,
}

impl Blocks<'_> {
    /// Adds a block to the tree at `root`; returns the new root, if it is another. O(levels).
    pub(crate) fn plant(&mut self, root: usize, slot: usize, watch: Watch) -> Option<usize> {
        let block = self.get_mut(slot);
        let (key, mark) = (Key::of(block), block.first_mark());
        block.become_root(mark, watch);
        let mut at = root;
        for _ in 0..LEVELS {
            let node = self.get_mut(at);
            let (other, level) = (Key::of(node), node.level());
            let parting = key.parting(&other);
            if parting > level {
                if watch == Watch::Yes {
                    let least = self.get(at).least();
                    self.get_mut(slot).set_least(mark.min(least));
                }
                return self.plant_above(at, slot, (parting, other.bit(parting)));
            }
            if watch == Watch::Yes && mark < node.least() {
                node.set_least(mark);
            }
            let side = key.bit(level);
            match node.kid(side).slot() {
                Some(kid) => at = kid,
                None => {
                    node.set_kid(side, Link::to(slot));
                    self.get_mut(slot).set_parent(Link::to(at));
                    return None;
                }
            }
        }
        None
    }

    /// Puts a block where another one is, which goes below it on that side; returns it if it is the root now.
    fn plant_above(&mut self, below: usize, slot: usize, (level, side): (u32, u64)) -> Option<usize> {
        let parent = self.get(below).parent();
        let block = self.get_mut(slot);
        block.set_up(parent, level);
        block.set_kid(side, Link::to(below));
        self.get_mut(below).set_parent(Link::to(slot));
        self.replace_kid(parent, below, Link::to(slot))
    }

    /// Lets a parent have another kid instead of one; returns that where there is no parent: then it is the root.
    fn replace_kid(&mut self, parent: Link, kid: usize, new: Link) -> Option<usize> {
        let Some(parent) = parent.slot() else { return new.slot() };
        let node = self.get_mut(parent);
        let side = u64::from(node.kid(1) == Link::to(kid));
        node.set_kid(side, new);
        None
    }

    /// Takes a block out of a tree that has others; returns the new root, if it was the root. O(levels).
    pub(crate) fn uproot(&mut self, slot: usize, watch: Watch) -> Option<usize> {
        let leaf = self.leaf_below(slot);
        let block = self.get(slot);
        let (parent, mark) = (block.parent(), block.first_mark());
        if leaf == slot {
            let root = self.replace_kid(parent, slot, Link::NONE);
            if watch == Watch::Yes {
                self.recall(parent, mark);
            }
            return root;
        }
        let (least, moved) = (block.least(), self.get(leaf).first_mark());
        let from = self.inherit(slot, leaf);
        let root = self.replace_kid(parent, slot, Link::to(leaf));
        if watch == Watch::Yes {
            // What the tree below the old place knows, the heir being in it as before, but for what left.
            self.get_mut(leaf).set_least(least);
            self.recall(from, moved);
            self.recall(Link::to(leaf), mark);
        }
        root
    }

    /// A block below that has nothing below it; the block itself where nothing is.
    fn leaf_below(&self, slot: usize) -> usize {
        let mut leaf = slot;
        for _ in 0..LEVELS {
            let [zero, one] = self.get(leaf).kids();
            match zero.slot().or(one.slot()) {
                Some(kid) => leaf = kid,
                None => break,
            }
        }
        leaf
    }

    /// A leaf leaves its place for that of a block above it. Returns what is above its old place, as it is then.
    fn inherit(&mut self, slot: usize, leaf: usize) -> Link {
        let old = self.get(leaf).parent();
        self.replace_kid(old, leaf, Link::NONE);
        let (kids, parent, level) = (self.get(slot).kids(), self.get(slot).parent(), self.get(slot).level());
        let heir = self.get_mut(leaf);
        heir.set_kids(kids);
        heir.set_up(parent, level);
        for kid in kids.into_iter().filter_map(Link::slot) {
            self.get_mut(kid).set_parent(Link::to(leaf));
        }
        if old == Link::to(slot) { Link::to(leaf) } else { old }
    }

    /// A mark left the tree below a node: where it was the least, that is found anew, and so on upwards.
    fn recall(&mut self, mut at: Link, gone: u64) {
        for _ in 0..LEVELS {
            let Some(slot) = at.slot() else { return };
            let node = self.get(slot);
            if node.least() < gone {
                return;
            }
            let below = node.kids().into_iter().filter_map(Link::slot).map(|kid| self.get(kid).least());
            let least = below.fold(node.first_mark(), u64::min);
            if least == node.least() {
                return;
            }
            at = node.parent();
            self.get_mut(slot).set_least(least);
        }
    }

    /// The first block from `from` on. O(levels).
    pub(crate) fn first_from(&self, root: usize, from: &Key, scope: &impl Scope) -> Option<usize> {
        let mut best = Best::NONE;
        // Where all keys are larger than those still to come.
        let mut beyond = Link::NONE;
        let mut at = Link::to(root);
        for _ in 0..LEVELS {
            let Some(slot) = at.slot() else { break };
            let node = self.get(slot);
            if !scope.enters(node) {
                break;
            }
            let (key, level) = (Key::of(node), node.level());
            let (parting, behind) = from.parting_and_order(&key);
            if parting > level && behind {
                // All keys here are beyond what is sought.
                self.least_below(slot, scope, &mut best);
                return best.slot();
            }
            if behind && scope.takes(node) {
                best.offer(slot, key);
            }
            if parting > level {
                break;
            }
            let [zero, one] = node.kids();
            at = one;
            if from.bit(level) == 0 {
                at = zero;
                if one.slot().is_some_and(|one| scope.enters_slot(self, one)) {
                    beyond = one;
                }
            }
        }
        if let Some(beyond) = beyond.slot() {
            self.least_below(beyond, scope, &mut best);
        }
        best.slot()
    }

    /// The first block of a tree. O(levels).
    pub(crate) fn first_of(&self, root: usize, scope: &impl Scope) -> Option<usize> {
        let mut best = Best::NONE;
        if scope.enters(self.get(root)) {
            self.least_below(root, scope, &mut best);
        }
        best.slot()
    }

    /// Offers the blocks of a tree that can be its first.
    fn least_below(&self, slot: usize, scope: &impl Scope, best: &mut Best) {
        let (mut at, mut node) = (slot, self.get(slot));
        for _ in 0..LEVELS {
            if scope.takes(node) {
                best.offer(at, Key::of(node));
            }
            let [zero, one] = node.kids();
            if let Some(kid) = zero.slot() {
                let below = self.get(kid);
                if scope.enters(below) {
                    (at, node) = (kid, below);
                    continue;
                }
            }
            let Some(kid) = one.slot() else { return };
            (at, node) = (kid, self.get(kid));
            if !scope.enters(node) {
                return;
            }
        }
    }

    /// The blocks of the tree, in no order.
    pub(crate) fn tree(&self, root: Link) -> impl Iterator<Item = (usize, &Block)> {
        let mut tree = Tree::new(self, root);
        core::iter::from_fn(move || tree.next(self))
    }

    /// The second kid of the nearest node above whose first one was left behind.
    fn next_branch(&self, slot: usize) -> Link {
        let mut at = slot;
        for _ in 0..LEVELS {
            let Some(parent) = self.get(at).parent().slot() else { break };
            let [zero, one] = self.get(parent).kids();
            if zero == Link::to(at) && one != Link::NONE {
                return one;
            }
            at = parent;
        }
        Link::NONE
    }
}

/// A walk through a tree.
pub(crate) struct Tree {
    next: Link,
    /// A bound, so that a damaged tree ends too.
    steps: usize,
}

impl Tree {
    pub(crate) fn new(blocks: &Blocks<'_>, root: Link) -> Self {
        Self { next: root, steps: blocks.in_use() }
    }

    pub(crate) fn next<'b>(&mut self, blocks: &'b Blocks<'_>) -> Option<(usize, &'b Block)> {
        self.steps = self.steps.checked_sub(1)?;
        let slot = self.next.slot()?;
        let block = blocks.get(slot);
        let [zero, one] = block.kids();
        self.next = if zero != Link::NONE {
            zero
        } else if one != Link::NONE {
            one
        } else {
            blocks.next_branch(slot)
        };
        Some((slot, block))
    }
}

impl Blocks<'_> {
    /// Whether a block of a tree does not know what is below it.
    pub(crate) fn is_astray(&self, slot: usize, watch: Watch) -> bool {
        let node = self.get(slot);
        let kids = || node.kids().into_iter().filter_map(Link::slot);
        let below = |kid: usize| {
            let (kid, level) = (self.get(kid), node.level());
            kid.parent() == Link::to(slot)
                && (kid.level() < level || level == 0)
                && Key::of(kid).parting(&Key::of(node)) <= level
        };
        let least = kids().map(|kid| self.get(kid).least()).fold(node.first_mark(), u64::min);
        !kids().all(below) || watch == Watch::Yes && least != node.least()
    }
}

/// The first of the blocks that were offered.
struct Best {
    slot: Link,
    key: Key,
}

impl Best {
    const NONE: Self = Self { slot: Link::NONE, key: Key { size: u64::MAX, tie: u64::MAX, at: u64::MAX } };

    fn offer(&mut self, slot: usize, key: Key) {
        if key < self.key {
            *self = Self { slot: Link::to(slot), key };
        }
    }

    fn slot(&self) -> Option<usize> {
        self.slot.slot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Empty, Slots};
    use crate::block::State;
    use crate::order::{Mark, Points};
    use crate::units::Seq;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    const BLOCKS: usize = 300;

    /// The same numbers in every run (Knuth's MMIX generator).
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
    }

    /// A tree and, beside it, the list of what is in it.
    struct Both<'a> {
        blocks: Blocks<'a>,
        root: Link,
        watch: Watch,
        there: Vec<usize>,
    }

    impl Both<'_> {
        fn insert(&mut self, slot: usize) {
            let root = match self.root.slot() {
                Some(root) => self.blocks.plant(root, slot, self.watch),
                None => {
                    let mark = self.blocks.get(slot).first_mark();
                    self.blocks.get_mut(slot).become_root(mark, self.watch);
                    Some(slot)
                }
            };
            self.root = root.map_or(self.root, Link::to);
            self.there.push(slot);
        }

        fn remove(&mut self, place: usize) -> usize {
            let slot = self.there.swap_remove(place);
            if self.blocks.get(slot).is_alone() {
                self.root = Link::NONE;
            } else if let Some(root) = self.blocks.uproot(slot, self.watch) {
                self.root = Link::to(root);
            }
            slot
        }

        /// The first block from a size on whose mark is not above this one, by looking at all.
        fn first(&self, from: &Key, up_to: u64) -> Option<usize> {
            let keys = self.there.iter().map(|&slot| (Key::of(self.blocks.get(slot)), slot));
            let fits = keys.filter(|(key, slot)| key >= from && self.blocks.get(*slot).first_mark() <= up_to);
            fits.min().map(|(_, slot)| slot)
        }

        fn check(&self, numbers: &mut Numbers, sizes: u64) {
            let in_tree: Vec<usize> = self.blocks.tree(self.root).map(|(slot, _)| slot).collect();
            assert_eq!(in_tree.len(), self.there.len());
            assert!(in_tree.iter().all(|slot| self.there.contains(slot)));
            assert!(in_tree.iter().all(|&slot| !self.blocks.is_astray(slot, self.watch)));
            let Some(root) = self.root.slot() else { return };
            let from = Key { size: numbers.below(sizes + 2), tie: !numbers.below(40), at: numbers.below(4_000) };
            for from in [from, Key::of_size(from.size)] {
                assert_eq!(self.blocks.first_from(root, &from, &All), self.first(&from, u64::MAX), "{from:?}");
                if self.watch == Watch::Yes {
                    let up_to = mark(numbers.below(50));
                    assert_eq!(self.blocks.first_from(root, &from, &UpTo(up_to)), self.first(&from, up_to), "{from:?}");
                    assert_eq!(self.blocks.first_of(root, &UpTo(up_to)), self.first(&Key::of_size(0), up_to));
                }
            }
            assert_eq!(self.blocks.first_of(root, &All), self.first(&Key::of_size(0), u64::MAX));
        }
    }

    fn mark(seq: u64) -> u64 {
        Mark { stream: 3, seq: Seq(seq) }.word()
    }

    fn block(numbers: &mut Numbers, at: u64, sizes: u64) -> Block {
        let mut block = Block::new(0, at, numbers.below(sizes) + 1, State::Free);
        block.set_points(Points::one(Mark { stream: 3, seq: Seq(numbers.below(50)) }));
        block.set_freed(numbers.below(40));
        block
    }

    /// Few sizes, so that many are the same, and many.
    #[test]
    fn a_tree_agrees_with_a_list() {
        for (seed, sizes) in [(1, 3), (2, 20), (3, 100_000), (4, 1 << 40)] {
            for watch in [Watch::No, Watch::Yes] {
                let (mut slots, mut cells) = (vec![Block::EMPTY; BLOCKS], vec![Link::NONE; 2 * BLOCKS]);
                let blocks = Blocks::new(Slots::of(&mut slots), &mut cells);
                let mut both = Both { blocks, root: Link::NONE, watch, there: Vec::new() };
                let mut numbers = Numbers(seed);
                for step in 0..3_000_u64 {
                    let grow = numbers.below(BLOCKS as u64) >= both.there.len() as u64;
                    if grow && let Ok(slot) = both.blocks.add(block(&mut numbers, step, sizes)) {
                        both.insert(slot);
                    } else if !both.there.is_empty() {
                        let place = numbers.below(both.there.len() as u64) as usize;
                        let slot = both.remove(place);
                        both.blocks.remove(slot);
                    }
                    both.check(&mut numbers, sizes);
                }
            }
        }
    }

    /// Keys that part in one bit each make the deepest tree: no deeper than the key has bits.
    #[test]
    fn no_path_is_longer_than_the_key() {
        let (mut slots, mut cells) = (vec![Block::EMPTY; 64], vec![Link::NONE; 128]);
        let blocks = Blocks::new(Slots::of(&mut slots), &mut cells);
        let mut both = Both { blocks, root: Link::NONE, watch: Watch::No, there: Vec::new() };
        for bit in (0..60).rev() {
            let slot = both.blocks.add(Block::new(0, bit, 1 << bit, State::Free)).expect("there is room");
            both.insert(slot);
        }
        let depth = |mut slot: usize| {
            let mut depth = 0;
            while let Some(parent) = both.blocks.get(slot).parent().slot() {
                assert!(both.blocks.get(parent).level() > both.blocks.get(slot).level());
                (slot, depth) = (parent, depth + 1);
            }
            depth
        };
        assert!(both.there.iter().map(|&slot| depth(slot)).max() < Some(64));
    }
}
