//! Blocks: runs of addresses in one state that tile each pool's range. Knows addresses and states, not order.

use crate::arena::{Empty, Link, Lookup, Slots};
use crate::error::{Arena, ArenaFull};
use crate::id::{AllocId, LabelId};
use crate::order::{Mark, PLACES, Points};
use core::fmt;

/// What a run of addresses is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Not a block: an unused slot of the arena.
    #[default]
    Unused = 0,
    /// Allocated.
    Live = 1,
    /// Not mapped.
    Hole = 2,
    /// Being mapped or unmapped by a call in flight; offered to nobody.
    Transit = 3,
    /// An unmap failed; offered to nobody, tried again at the next release.
    Quarantined = 4,
    /// Mapped and reusable. The largest number in the highest bits of the tag: one comparison tells.
    Free = 7,
}

/// Small blocks are packed apart, so that they do not pin the granules of large ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    #[default]
    Large,
    Small,
}

/// One block, in 64 bytes: a line of most caches.
///
/// What a block needs depends on its state, so some words serve twice. A live block has at most two points (uses), which
/// leaves a word for the allocation's id. A free one has at most three; with one or none the second word counts its free,
/// and with one or two the third is the index's.
#[derive(Clone, Copy)]
pub struct Block {
    /// First address.
    pub(crate) at: u64,
    pub(crate) size: u64,
    words: [u64; PLACES],
    pub(crate) prev: Link,
    pub(crate) next: Link,
    /// Live: the label, and the low half of the bytes that were not asked for. Free: below it in the index.
    links: [u32; 2],
    /// Live: the high half of those bytes. Free: above it in the index.
    up: u32,
    tag: u32,
}

const _: () = assert!(size_of::<Block>() == 64);

/// A part of the tag: so many bits from there on.
struct Part {
    from: u32,
    bits: u32,
}

impl Part {
    const HOME: Self = Self { from: 0, bits: 12 };
    const FINDABLE: Self = Self { from: 12, bits: 1 };
    const EPOCH: Self = Self { from: 13, bits: 4 };
    const USED: Self = Self { from: 17, bits: 2 };
    const CLASS: Self = Self { from: 19, bits: 1 };
    const POOL: Self = Self { from: 20, bits: 9 };
    const STATE: Self = Self { from: 29, bits: 3 };

    const fn most(&self) -> u32 {
        (1 << self.bits) - 1
    }

    const fn mask(&self) -> u32 {
        self.most() << self.from
    }

    const fn of(&self, tag: u32) -> u32 {
        (tag >> self.from) & self.most()
    }

    const fn put(&self, tag: u32, value: u32) -> u32 {
        (tag & !(self.most() << self.from)) | ((value & self.most()) << self.from)
    }
}

/// The most pools that blocks can belong to.
pub(crate) const MAX_POOLS: usize = 1 << Part::POOL.bits;

/// The most trees of free blocks.
pub(crate) const MAX_HOMES: usize = 1 << Part::HOME.bits;

/// Bits of a link in the index, beside a level.
const UP_BITS: u32 = 24;

/// The most blocks that such a link can tell apart.
pub(crate) const MAX_BLOCKS: usize = (1 << UP_BITS) - 2;

impl Block {
    /// A block of a pool, alone and without points.
    pub(crate) fn new(pool: usize, at: u64, size: u64, state: State) -> Self {
        let tag = Part::STATE.put(Part::POOL.put(0, pool as u32), state as u32);
        Self { at, size, tag, ..Self::EMPTY }
    }

    /// Whether the lookup leads to it: it is live, or was, and has not merged into the block before it since.
    #[inline]
    pub(crate) const fn is_findable(&self) -> bool {
        Part::FINDABLE.of(self.tag) != 0
    }

    const fn set_findable(&mut self, findable: bool) {
        self.tag = Part::FINDABLE.put(self.tag, findable as u32);
    }

    /// Whether it is of this pool and class and waits for nothing: one comparison.
    #[inline]
    pub(crate) const fn is_plain(&self, pool: usize, class: Class) -> bool {
        let mask = Part::POOL.mask() | Part::CLASS.mask() | Part::USED.mask() | Part::EPOCH.mask();
        self.tag & mask == Part::CLASS.put(Part::POOL.put(0, pool as u32), class as u32)
    }

    /// Whether it has no points.
    #[inline]
    pub(crate) const fn waits_for_nothing(&self) -> bool {
        self.tag & (Part::USED.mask() | Part::EPOCH.mask()) == 0
    }

    /// Makes it wait for one mark, and nothing else: that of the free that counts so.
    #[inline]
    pub(crate) const fn wait_for(&mut self, mark: Mark, freed: u64) {
        let [.., last] = self.words;
        self.words = [mark.word(), freed, last];
        self.tag = Part::EPOCH.put(Part::USED.put(self.tag, 1), 0);
    }

    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.at.wrapping_add(self.size)
    }

    #[inline]
    pub(crate) const fn pool(&self) -> usize {
        Part::POOL.of(self.tag) as usize
    }

    #[inline]
    pub(crate) const fn state(&self) -> State {
        match Part::STATE.of(self.tag) {
            1 => State::Live,
            2 => State::Hole,
            3 => State::Transit,
            4 => State::Quarantined,
            7 => State::Free,
            _ => State::Unused,
        }
    }

    /// Whether it belongs in the free index.
    #[inline]
    pub(crate) const fn is_listed(&self) -> bool {
        matches!(self.state(), State::Free | State::Hole)
    }

    #[inline]
    pub(crate) const fn set_state(&mut self, state: State) {
        self.tag = Part::STATE.put(self.tag, state as u32);
    }

    #[inline]
    pub(crate) const fn class(&self) -> Class {
        if Part::CLASS.of(self.tag) == 0 { Class::Large } else { Class::Small }
    }

    pub(crate) const fn set_class(&mut self, class: Class) {
        self.tag = Part::CLASS.put(self.tag, class as u32);
    }

    /// What must come before the next use.
    #[inline]
    pub(crate) fn points(&self) -> Points {
        Points::of_parts(self.words, Part::USED.of(self.tag) as u8, Part::EPOCH.of(self.tag) as u8)
    }

    /// How many marks the points have, beside an epoch.
    #[inline]
    pub(crate) const fn marks(&self) -> u32 {
        Part::USED.of(self.tag)
    }

    /// The first mark's word, where there is one.
    #[inline]
    pub(crate) const fn first_mark(&self) -> u64 {
        let [first, ..] = self.words;
        first
    }

    /// Whether the points are one mark and nothing else.
    #[inline]
    pub(crate) const fn is_ones(&self) -> bool {
        self.marks() == 1 && !self.has_epoch()
    }

    /// Whether the points have an epoch beside the marks.
    #[inline]
    pub(crate) const fn has_epoch(&self) -> bool {
        Part::EPOCH.of(self.tag) != 0
    }

    #[inline]
    pub(crate) fn set_points(&mut self, points: Points) {
        let (words, used, epoch) = points.parts();
        let [first, second, third] = words;
        let [_, kept, last] = self.words;
        let kept = if self.marks() <= 1 { kept } else { 0 };
        self.words = match used {
            0 | 1 => [first, kept, last],
            2 => [first, second, last],
            _ => [first, second, third],
        };
        self.tag = Part::EPOCH.put(Part::USED.put(self.tag, u32::from(used)), u32::from(epoch));
    }

    /// Counts frees: the larger, the more recent. 0 where several points left no place for it.
    #[inline]
    pub(crate) const fn freed(&self) -> u64 {
        let [_, freed, _] = self.words;
        if self.marks() <= 1 { freed } else { 0 }
    }

    #[inline]
    pub(crate) const fn set_freed(&mut self, count: u64) {
        if self.marks() <= 1 {
            let [_, freed, _] = &mut self.words;
            *freed = count;
        }
    }

    /// Makes it live; `uses` are at most two.
    #[inline]
    pub(crate) fn become_live(&mut self, id: AllocId, asked: u64, label: LabelId, uses: Points) {
        self.set_points(uses);
        self.set_state(State::Live);
        self.rename(id, label);
        self.set_asked(asked);
    }

    /// Says which malloc a live block is of.
    #[inline]
    pub(crate) const fn rename(&mut self, id: AllocId, label: LabelId) {
        let ([.., last], [first, _]) = (&mut self.words, &mut self.links);
        (*last, *first) = (id.0, label.0);
    }

    /// Says how many bytes of a live block were asked for.
    #[inline]
    pub(crate) const fn set_asked(&mut self, asked: u64) {
        let (spare, [_, low]) = (self.size.wrapping_sub(asked), &mut self.links);
        (*low, self.up) = (spare as u32, (spare >> 32) as u32);
    }

    /// The allocation, of a live block.
    #[inline]
    pub(crate) const fn id(&self) -> AllocId {
        let [.., id] = self.words;
        AllocId(id)
    }

    /// The bytes that were asked for, of a live block.
    #[inline]
    pub(crate) const fn asked(&self) -> u64 {
        let [_, low] = self.links;
        self.size.wrapping_sub(((self.up as u64) << 32) | low as u64)
    }

    /// The label of a live block.
    pub(crate) const fn label(&self) -> LabelId {
        let [label, _] = self.links;
        LabelId(label)
    }
}

/// What is said of a block, not how it is kept.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Block");
        text.field("at", &self.at).field("size", &self.size).field("pool", &self.pool());
        text.field("prev", &self.prev).field("next", &self.next);
        text.field("state", &self.state()).field("class", &self.class()).field("points", &self.points());
        if self.state() == State::Live {
            text.field("id", &self.id()).field("asked", &self.asked()).field("label", &self.label());
        } else {
            text.field("freed", &self.freed());
        }
        text.finish()
    }
}

/// What the free index keeps in a block.
impl Block {
    pub(crate) const fn home(&self) -> usize {
        Part::HOME.of(self.tag) as usize
    }

    pub(crate) const fn set_home(&mut self, home: usize) {
        self.tag = Part::HOME.put(self.tag, home as u32);
    }

    /// Breaks ties between blocks of one size: the most recent first.
    pub(crate) const fn tie(&self) -> u64 {
        let [_, second, _] = self.words;
        !second
    }

    /// The least first mark of the tree below.
    pub(crate) const fn least(&self) -> u64 {
        let [.., least] = self.words;
        least
    }

    pub(crate) const fn set_least(&mut self, mark: u64) {
        let [.., least] = &mut self.words;
        *least = mark;
    }

    pub(crate) const fn kids(&self) -> [Link; 2] {
        let [zero, one] = self.links;
        [Link::of_bits(zero), Link::of_bits(one)]
    }

    /// The kid on a side: the second for any number but 0.
    pub(crate) const fn kid(&self, side: u64) -> Link {
        let [zero, one] = self.links;
        Link::of_bits(if side == 0 { zero } else { one })
    }

    pub(crate) const fn set_kid(&mut self, side: u64, kid: Link) {
        let [zero, one] = &mut self.links;
        *(if side == 0 { zero } else { one }) = kid.bits();
    }

    pub(crate) const fn set_kids(&mut self, kids: [Link; 2]) {
        let [zero, one] = kids;
        self.links = [zero.bits(), one.bits()];
    }

    pub(crate) const fn parent(&self) -> Link {
        Link::of_bits(self.up & ((1 << UP_BITS) - 1))
    }

    pub(crate) const fn level(&self) -> u32 {
        self.up >> UP_BITS
    }

    pub(crate) const fn set_parent(&mut self, parent: Link) {
        self.up = (self.up & !((1 << UP_BITS) - 1)) | parent.bits();
    }

    pub(crate) const fn set_up(&mut self, parent: Link, level: u32) {
        self.up = (level << UP_BITS) | parent.bits();
    }
}

impl Empty for Block {
    const EMPTY: Self =
        Self { at: 0, size: 0, words: [0; PLACES], prev: Link::NONE, next: Link::NONE, links: [0; 2], up: 0, tag: 0 };
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
        let most = slots.len().min(MAX_BLOCKS);
        let slots = slots.get_mut(..most).unwrap_or_default();
        Self { slots: Slots::new(slots), lookup: Lookup::new(lookup), spare: Link::NONE, touched: 0, in_use: 0 }
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

    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }

    /// Slots that are left.
    pub(crate) fn room(&self) -> usize {
        self.slots.len().saturating_sub(self.in_use)
    }

    /// Whether so many slots are left.
    #[inline]
    pub(crate) fn has_room(&self, slots: usize) -> bool {
        self.in_use.wrapping_add(slots) <= self.slots.len()
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
            prev: Link::to(slot),
            tag: Part::FINDABLE.put(first.tag, 0),
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

    /// Makes a block findable by its address. It stays so while it begins there, free or live: most memory that is freed is
    /// soon taken again from the same address, and the lookup is not touched then.
    #[must_use]
    pub(crate) fn publish(&mut self, slot: usize) -> bool {
        let block = self.slots.get_mut(slot);
        if block.is_findable() {
            return true;
        }
        block.set_findable(true);
        self.lookup.insert(block.at, slot)
    }

    /// Takes a block out of the lookup.
    fn withdraw(&mut self, slot: usize) {
        let block = self.slots.get_mut(slot);
        if block.is_findable() {
            block.set_findable(false);
            let (at, slots) = (block.at, &self.slots);
            self.lookup.remove(at, |s| slots.get(s).at);
        }
    }

    /// The block that starts at `at`, if it is live; one that is not may be found as well.
    #[inline]
    pub(crate) fn find(&self, at: u64) -> Option<usize> {
        self.lookup.find(at, |slot| self.slots.is(slot, |block| block.at == at))
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
