//! Which free blocks and holes there are, by size: exact best fit among those that somebody may use.
//!
//! Blocks that wait for the same are kept together: those that wait for nothing, those of one point by its stream, and
//! so on (see [`Whose`]). So a search for a stream looks once at each kind, up to the position of it that counts as reached,
//! instead of at blocks that it may not have. Each kind has *bins* by size, and a [tree](crate::tree) in each bin.

mod entries;
mod search;

pub(crate) use search::{End, PICKS, Sight, WAYS};

use crate::arena::{Empty, Link, Slots};
use crate::bins::{Bin, HeadWord, Heads};
use crate::block::{Block, Class, MAX_HOMES, State};
use crate::blocks::Blocks;
use crate::order::Mark;
use crate::tree::{All, Key, Scope, Watch};

/// What an entry of the index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Free(Class),
    Hole,
}

impl Kind {
    /// What a block is by its state.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        match block.state() {
            State::Free => Some(Self::Free(block.class())),
            State::Hole => Some(Self::Hole),
            _ => None,
        }
    }
}

/// What blocks wait for that are kept together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Whose {
    /// Nothing.
    #[default]
    Anyones,
    /// One position of this stream.
    Ones(u16),
    /// Two positions, of which the first is of this stream.
    Shared(u16),
    /// More, or those that found no place of their own. Holes, whatever they wait for.
    Mixed,
}

/// Whose position a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// Of the stream that has the slot.
    Present,
    /// Of one that had it before.
    Former,
}

/// The bins of one kind of blocks of one pool; their heads are kept apart.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    pool: u16,
    whose: Whose,
    watch: Watch,
    kind: Kind,
    /// Whether the stream is gone, and its slot another's.
    former: bool,
    /// log2 of the unit of sizes: the pool's alignment.
    unit: u8,
    /// The next bins of the pool and kind that wait for a stream; or the next spare ones.
    next: u16,
    /// Which words of the heads are not 0.
    words: u64,
}

impl Empty for Bins {
    const EMPTY: Self = Self {
        pool: 0,
        whose: Whose::Anyones,
        watch: Watch::No,
        kind: Kind::Free(Class::Large),
        former: false,
        unit: 0,
        next: 0,
        words: 0,
    };
}

/// Bins of a pool that are always there: of both classes, for nothing and for much; and holes.
const FIXED_BINS: usize = 5;

/// Bins for each pool: those, and some for streams, whichever pool's blocks they hold.
pub(crate) const POOL_BINS: usize = 16;

/// How many bins so many pools and streams should have: enough for two kinds of blocks of every stream.
#[must_use]
pub const fn bins_for(pools: usize, streams: usize) -> usize {
    let (shared, all) = (pools.saturating_mul(POOL_BINS), pools.saturating_mul(FIXED_BINS).saturating_add(2 * streams));
    let most = if shared > all { shared } else { all };
    if most < MAX_HOMES { most } else { MAX_HOMES }
}

/// Entries for a pool and stream: of both classes, for one point and for two.
pub(crate) const HOMES: usize = 4;

/// Heads from one to another.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    last: usize,
}

impl Span {
    const fn one(bin: usize) -> Self {
        Self { first: bin, last: bin }
    }

    /// The words that the heads up to the last stand in.
    const fn words(self) -> u64 {
        !0 >> (63_usize.saturating_sub(self.last / 64))
    }
}

/// The arenas of a free index.
pub(crate) struct IndexArenas<'a> {
    pub(crate) bins: Slots<'a, Bins>,
    pub(crate) homes: Slots<'a, u16>,
    pub(crate) heads: Slots<'a, Link>,
    pub(crate) words: Slots<'a, HeadWord>,
}

/// The free index of all pools.
pub(crate) struct FreeIndex<'a> {
    bins: Slots<'a, Bins>,
    /// For each pool and stream the bins of what waits for it, counted from 1.
    homes: Slots<'a, u16>,
    heads: Heads<'a>,
    pools: usize,
    streams: usize,
    /// Bins given back, counted from 1.
    spare: u16,
    /// Bins that were never used come after these.
    touched: usize,
}

impl<'a> FreeIndex<'a> {
    pub(crate) fn new(arenas: IndexArenas<'a>, pools: usize, streams: usize) -> Self {
        let bins = arenas.bins.at_most(MAX_HOMES);
        let kinds = bins.len();
        Self {
            bins,
            homes: arenas.homes,
            heads: Heads::new(arenas.heads, arenas.words, kinds),
            pools,
            streams,
            spare: 0,
            touched: pools.wrapping_mul(FIXED_BINS),
        }
    }

    pub(crate) fn strayed(&self) -> bool {
        self.bins.strayed() || self.homes.strayed() || self.heads.strayed()
    }

    /// Makes the bins of a new pool, whose sizes are multiples of its alignment. O(heads).
    pub(crate) fn open(&mut self, pool: usize, alignment: u64) {
        for (place, (whose, kind)) in FIXED.into_iter().enumerate() {
            let home = fixed(pool, place);
            let unit = alignment.trailing_zeros() as u8;
            *self.bins.get_mut(home) = Bins { pool: pool as u16, whose, kind, unit, ..Bins::EMPTY };
            self.heads.clear(home);
        }
    }

    /// Forgets a pool's blocks. O(heads of all its bins).
    pub(crate) fn close(&mut self, pool: usize) {
        for class in [Class::Small, Class::Large] {
            let chain = chain_of(pool, Kind::Free(class));
            while let Some(home) = home_of(self.bins.get(chain).next) {
                self.bins.get_mut(chain).next = self.bins.get(home).next;
                if self.bins.get(home).words != 0 {
                    self.heads.clear(home);
                }
                self.forget_home(home);
                self.give_back(home);
            }
        }
        for place in 0..FIXED_BINS {
            self.heads.clear(fixed(pool, place));
            self.bins.get_mut(fixed(pool, place)).words = 0;
        }
    }

    /// A stream slot has a new tenant: what waits for the old one is kept apart. O(pools).
    pub(crate) fn part_with(&mut self, stream: usize) {
        for place in (0..self.pools).flat_map(|pool| (0..HOMES).map(move |form| (pool, form))) {
            let (pool, form) = place;
            let entry = self.entry(pool, stream, form);
            if let Some(home) = home_of(*self.homes.get(entry)) {
                *self.homes.get_mut(entry) = 0;
                self.bins.get_mut(home).former = true;
            }
        }
    }

    const fn entry(&self, pool: usize, stream: usize, form: usize) -> usize {
        (pool.wrapping_mul(self.streams).wrapping_add(stream)).wrapping_mul(HOMES).wrapping_add(form)
    }

    /// The bins that a block belongs to.
    #[inline]
    fn home_for(&mut self, block: &Block, tenant: Tenant) -> Option<usize> {
        let pool = block.pool();
        let class = match Kind::of(block)? {
            Kind::Free(class) => class,
            Kind::Hole => return Some(fixed(pool, HOLES)),
        };
        if block.is_ones() && tenant == Tenant::Present {
            // By far the most.
            let stream = Mark::of_word(block.first_mark()).stream;
            if let Some(home) = home_of(*self.homes.get(self.entry(pool, stream, ONES + class as usize))) {
                return Some(home);
            }
        }
        let form = match (block.marks(), block.has_epoch(), tenant) {
            (0, false, _) => return Some(fixed(pool, ANYONES + class as usize)),
            (1, false, Tenant::Present) => ONES + class as usize,
            (2, false, Tenant::Present) => SHARED + class as usize,
            _ => return Some(fixed(pool, MIXED + class as usize)),
        };
        let stream = Mark::of_word(block.first_mark()).stream;
        let entry = self.entry(pool, stream, form);
        let home = home_of(*self.homes.get(entry)).or_else(|| self.new_home(pool, stream, (form, class)));
        Some(home.unwrap_or(fixed(pool, MIXED + class as usize)))
    }

    /// Bins for what waits for a stream. `None`: all are in use.
    #[cold]
    fn new_home(&mut self, pool: usize, stream: usize, (form, class): (usize, Class)) -> Option<usize> {
        let home = self.take_spare().or_else(|| self.take_empty())?;
        let kind = Kind::Free(class);
        let chain = chain_of(pool, kind);
        let Bins { next, unit, .. } = *self.bins.get(chain);
        let whose = if form < SHARED { Whose::Ones(stream as u16) } else { Whose::Shared(stream as u16) };
        *self.bins.get_mut(home) =
            Bins { pool: pool as u16, whose, watch: Watch::Yes, kind, unit, next, ..Bins::EMPTY };
        self.bins.get_mut(chain).next = number(home);
        let entry = self.entry(pool, stream, form);
        *self.homes.get_mut(entry) = number(home);
        Some(home)
    }

    fn take_spare(&mut self) -> Option<usize> {
        if let Some(home) = home_of(self.spare) {
            self.spare = self.bins.get(home).next;
            return Some(home);
        }
        let home = self.touched;
        (home < self.bins.len()).then(|| {
            self.touched = home.wrapping_add(1);
            home
        })
    }

    /// Bins that hold nothing now. O(bins).
    fn take_empty(&mut self) -> Option<usize> {
        let from = self.pools.wrapping_mul(FIXED_BINS);
        let home = (from..self.bins.len()).find(|&home| self.bins.get(home).words == 0)?;
        let Bins { pool, kind, next, .. } = *self.bins.get(home);
        let mut before = chain_of(pool as usize, kind);
        for _ in 0..self.bins.len() {
            match home_of(self.bins.get(before).next) {
                Some(other) if other != home => before = other,
                _ => break,
            }
        }
        self.bins.get_mut(before).next = next;
        self.forget_home(home);
        Some(home)
    }

    /// A stream's blocks have these bins no more.
    fn forget_home(&mut self, home: usize) {
        let Bins { pool, whose, kind, former, .. } = *self.bins.get(home);
        let (form, stream) = match whose {
            Whose::Ones(stream) => (ONES, stream),
            Whose::Shared(stream) => (SHARED, stream),
            Whose::Anyones | Whose::Mixed => return,
        };
        if let (Kind::Free(class), false) = (kind, former) {
            let entry = self.entry(pool as usize, stream as usize, form + class as usize);
            *self.homes.get_mut(entry) = 0;
        }
    }

    fn give_back(&mut self, home: usize) {
        *self.bins.get_mut(home) = Bins { next: self.spare, ..Bins::EMPTY };
        self.spare = number(home);
    }

    /// Adds a free block or hole, whose first point is of that tenant; others are left alone. O(levels).
    pub(crate) fn insert(&mut self, blocks: &mut Blocks<'_>, slot: usize, tenant: Tenant) {
        let Some(home) = self.home_for(blocks.get(slot), tenant) else { return };
        self.insert_in(blocks, slot, home);
    }

    /// Adds what was left of a block that was in these bins. O(levels).
    #[inline]
    pub(crate) fn insert_in(&mut self, blocks: &mut Blocks<'_>, slot: usize, home: usize) {
        let block = blocks.get_mut(slot);
        block.set_home(home);
        let mark = block.first_mark();
        let bins = self.bins.get_mut(home);
        let bin = Bin { kind: home, bin: self.heads.of_size(block.size >> bins.unit) };
        self.heads.fill(bin, mark, &mut bins.words);
        match self.heads.head(bin).slot() {
            None => {
                block.become_root(mark, bins.watch);
                self.heads.set_head(bin, Link::to(slot));
            }
            Some(root) => {
                if let Some(new) = blocks.plant(root, slot, bins.watch) {
                    self.heads.set_head(bin, Link::to(new));
                }
            }
        }
    }

    /// Removes a free block or hole; others are left alone. Its size and points must be those it was added with. O(levels).
    pub(crate) fn remove(&mut self, blocks: &mut Blocks<'_>, slot: usize) {
        let block = blocks.get(slot);
        if !block.is_listed() {
            return;
        }
        let (home, mark) = (block.home(), block.first_mark());
        let bins = self.bins.get_mut(home);
        let bin = Bin { kind: home, bin: self.heads.of_size(block.size >> bins.unit) };
        if block.is_alone() {
            self.heads.set_head(bin, Link::NONE);
            self.heads.empty(bin, &mut bins.words);
        } else if let Some(new) = blocks.uproot(slot, bins.watch) {
            self.heads.set_head(bin, Link::to(new));
        }
        if bins.watch == Watch::Yes {
            let blocks = &*blocks;
            self.heads.raise(bin, mark, |root| root.slot().map_or(u64::MAX, |slot| blocks.get(slot).least()));
        }
    }

    /// The head of a size in a pool.
    #[inline]
    fn bin_of(&self, pool: usize, size: u64) -> usize {
        self.heads.of_size(size >> self.bins.get(fixed(pool, 0)).unit)
    }

    /// The first block of some bins from a key on, of those that the scope takes; of those that have no head in the span
    /// any or none. The span begins with the key's head.
    fn first(&self, blocks: &Blocks<'_>, home: usize, (from, span): (&Key, Span), scope: &impl Scope) -> Option<usize> {
        let bin = Bin { kind: home, bin: span.first };
        // What is sought is often just there.
        if let Some(slot) = self.first_in(blocks, bin, from, scope) {
            return Some(slot);
        }
        self.first_behind(blocks, bin, span, scope)
    }

    /// The same, where a head seldom holds what the scope takes.
    #[inline]
    fn first_of_few(
        &self,
        blocks: &Blocks<'_>,
        home: usize,
        (from, span): (&Key, Span),
        scope: &impl Scope,
    ) -> Option<usize> {
        if cfg!(feature = "compact") {
            return self.first(blocks, home, (from, span), scope);
        }
        let (first, words) = (Bin { kind: home, bin: span.first }, self.bins.get(home).words & span.words());
        let bin = self.heads.next_filled(first, words, |least| scope.admits(least))?;
        if bin.bin > span.last {
            return None;
        }
        let there = if bin == first {
            self.first_in(blocks, bin, from, scope)
        } else {
            self.heads.head(bin).slot().and_then(|root| blocks.first_of(root, scope))
        };
        there.or_else(|| self.first_behind(blocks, bin, span, scope))
    }

    /// The first block of a bin from a key on.
    #[inline(always)]
    fn first_in(&self, blocks: &Blocks<'_>, bin: Bin, from: &Key, scope: &impl Scope) -> Option<usize> {
        let root = self.heads.head(bin).slot()?;
        let block = blocks.get(root);
        if block.is_alone() {
            return (Key::of(block) >= *from && scope.takes(block)).then_some(root);
        }
        blocks.first_from(root, from, scope)
    }

    /// The first block behind a bin, where everything is larger than what is sought.
    #[inline(always)]
    fn first_behind(&self, blocks: &Blocks<'_>, bin: Bin, span: Span, scope: &impl Scope) -> Option<usize> {
        let words = self.bins.get(bin.kind).words & span.words();
        let mut bin = bin;
        loop {
            bin = self.heads.next_filled(bin.next(), words, |least| scope.admits(least))?;
            if bin.bin > span.last {
                return None;
            }
            if let Some(root) = self.heads.head(bin).slot()
                && let Some(slot) = blocks.first_of(root, scope)
            {
                return Some(slot);
            }
        }
    }

    /// Checks a pool's part of the index: each entry is where it is looked for, and what is said of many is true of all.
    pub(crate) fn check(&self, blocks: &Blocks<'_>, pool: usize) -> Result<(), &'static str> {
        let kinds = [Kind::Free(Class::Large), Kind::Free(Class::Small), Kind::Hole];
        for home in kinds.into_iter().flat_map(|kind| self.homes_of(pool, kind)) {
            let bins = self.bins.get(home);
            for bin in self.heads.filled(Bin { kind: home, bin: 0 }, bins.words) {
                for (slot, block) in blocks.tree(self.heads.head(bin)) {
                    let right = block.home() == home && bin.bin == self.heads.of_size(block.size >> bins.unit);
                    let span = Span { first: bin.bin, last: usize::MAX };
                    let reached = self.first(blocks, home, (&Key::of(block), span), &All) == Some(slot);
                    if !right || !reached || blocks.is_astray(slot, bins.watch) {
                        return Err("the index: an entry is where it is looked for");
                    }
                }
            }
            let least_of = |root: Link| root.slot().map_or(u64::MAX, |slot| blocks.get(slot).least());
            if bins.watch == Watch::Yes && self.heads.is_astray(home, bins.words, least_of) {
                return Err("the index: the least mark is the least");
            }
        }
        Ok(())
    }
}

const ANYONES: usize = 0;
const MIXED: usize = 2;
const HOLES: usize = 4;
const ONES: usize = 0;
const SHARED: usize = 2;

/// What the bins are for that a pool always has.
const FIXED: [(Whose, Kind); FIXED_BINS] = [
    (Whose::Anyones, Kind::Free(Class::Large)),
    (Whose::Anyones, Kind::Free(Class::Small)),
    (Whose::Mixed, Kind::Free(Class::Large)),
    (Whose::Mixed, Kind::Free(Class::Small)),
    (Whose::Mixed, Kind::Hole),
];

/// The bins behind which those of the same pool and kind come that wait for a stream.
const fn chain_of(pool: usize, kind: Kind) -> usize {
    fixed(
        pool,
        match kind {
            Kind::Free(class) => ANYONES + class as usize,
            Kind::Hole => HOLES,
        },
    )
}

const fn fixed(pool: usize, place: usize) -> usize {
    pool.wrapping_mul(FIXED_BINS).wrapping_add(place)
}

/// Bins by their number, counted from 1.
const fn home_of(number: u16) -> Option<usize> {
    (number as usize).checked_sub(1)
}

const fn number(home: usize) -> u16 {
    (home as u16).wrapping_add(1)
}
