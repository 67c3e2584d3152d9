//! A block: a run of addresses in one state. Knows addresses and states, not order.

use crate::arena::{Empty, Link};
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
    /// Not a block: it says where a live one is that the lookup has no cell for.
    Signpost = 5,
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

    /// What lies behind the first `size` bytes of a block in this slot: it inherits everything but a place in the lookup.
    pub(crate) fn rest_after(&self, size: u64, slot: usize) -> Self {
        Self {
            at: self.at.wrapping_add(size),
            size: self.size.wrapping_sub(size),
            prev: Link::to(slot),
            tag: Part::FINDABLE.put(self.tag, 0),
            ..*self
        }
    }

    /// Says where the block that starts at `at` is.
    pub(crate) const fn signpost(at: u64, slot: usize) -> Self {
        let tag = Part::STATE.put(0, State::Signpost as u32);
        Self { at, next: Link::to(slot), tag, ..Self::EMPTY }
    }

    pub(crate) const fn set_findable(&mut self, findable: bool) {
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
            5 => State::Signpost,
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
