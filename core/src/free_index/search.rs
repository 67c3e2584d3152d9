//! Searches in the index: the closest size among what somebody may use, and what is left to look at one by one.

use super::{ANYONES, FreeIndex, Kind, MIXED, ONES, Span, Whose, chain_of, fixed, home_of};
use crate::bins::Bin;
use crate::block::{Block, Class};
use crate::blocks::Blocks;
use crate::order::Mark;
use crate::plant::{self, Plant};
use crate::tree::{All, Key, Scope, Tree, UpTo};
use crate::units::Seq;
use core::cmp::Reverse;

/// Blocks that a search judges one by one: enough for what programs do, few enough for a bound.
const LOOKS: usize = 64;

/// Ways in which one position of another stream may be reached.
pub(crate) const WAYS: usize = 3;

/// How somebody sees blocks that wait for something.
pub(crate) trait Sight<R> {
    /// Whose blocks come first.
    fn stream(&self) -> usize;
    /// How those are seen that wait for one position of it alone.
    fn own(&self) -> R;
    /// How blocks are seen that wait for nothing.
    fn anyones(&self) -> R;
    /// Up to which positions of another stream, or of a former tenant of this one's slot, blocks are seen that wait for one
    /// of them alone: by ways of reaching them, the best first; each at least as far as the one before.
    fn reaches(&self, stream: usize) -> [Seq; WAYS];
    /// The last of them.
    fn reaches_to(&self, stream: usize) -> Seq;
    /// How blocks are seen that are reached in one of those ways.
    fn way(&self, way: usize) -> R;
    /// Up to which position of a stream a block of several positions may be seen at all.
    fn furthest(&self, stream: usize, former: bool) -> Mark;
    /// How a block is seen, if it may be used.
    fn judge(&self, block: &Block) -> Option<R>;
}

impl FreeIndex<'_> {
    /// The closest size of at least `size` bytes among what is seen; ties go to the better rank, then to the most recently
    /// freed, then to the lower address. Blocks of several points count as freed first; of those 64 are judged in all.
    ///
    /// O((64 + streams with free blocks in the pool) * (levels + heads / 64)).
    pub(crate) fn best<R: Ord + Copy>(
        &self,
        blocks: &Blocks<'_>,
        (pool, class): (usize, Class),
        size: u64,
        sight: &impl Sight<R>,
    ) -> Option<(usize, R)> {
        if PICKS.into_iter().any(plant::on) {
            return self.best_where(blocks, (pool, Kind::Free(class)), size, |block| sight.judge(block));
        }
        let mut search = Search::new(self, blocks, (pool, size), LOOKS);
        let own = self.entry(pool, sight.stream(), ONES + class as usize);
        if let Some(home) = home_of(*self.homes.get(own)) {
            search.all(self, home, sight.own());
            // Nothing comes before a block of just the size that is the stream's own.
            if search.is_exact() {
                return search.best;
            }
        }
        search.all(self, fixed(pool, ANYONES + class as usize), sight.anyones());
        let mut next = self.bins.get(chain_of(pool, Kind::Free(class))).next;
        for _ in 0..self.bins.len() {
            let Some(home) = home_of(next) else { break };
            let bins = self.bins.get(home);
            next = bins.next;
            match bins.whose {
                Whose::Ones(stream) if bins.former || usize::from(stream) != sight.stream() => {
                    search.reached(self, home, usize::from(stream), sight);
                }
                Whose::Shared(stream) => {
                    let furthest = sight.furthest(usize::from(stream), bins.former);
                    search.judged(self, home, &UpTo(furthest.word()), |block| sight.judge(block));
                }
                Whose::Ones(_) | Whose::Anyones | Whose::Mixed => {}
            }
        }
        search.judged(self, fixed(pool, MIXED + class as usize), &All, |block| sight.judge(block));
        search.best
    }

    /// The closest size from `size` on, below `below`, among what is let through by sight and by `fits`. Blocks are judged
    /// one by one, [`LOOKS`] in all and no more than an eighth of them of one kind. O(LOOKS * levels + kinds).
    #[cfg_attr(feature = "compact", inline(never))]
    pub(crate) fn best_of_some<R: Ord + Copy>(
        &self,
        blocks: &Blocks<'_>,
        (pool, class): (usize, Class),
        (size, below): (u64, u64),
        sight: &impl Sight<R>,
        fits: impl Fn(&Block) -> bool,
    ) -> Option<(usize, R)> {
        let mut search = Search::new(self, blocks, (pool, size), 0);
        let mut left = LOOKS;
        for home in self.homes_of(pool, Kind::Free(class)) {
            search.looks = left.min(LOOKS / 8);
            left = left.saturating_sub(search.looks);
            search.judged(self, home, &All, |block| if fits(block) { sight.judge(block) } else { None });
            left = left.wrapping_add(search.looks);
        }
        search.best.filter(|&(slot, _)| blocks.get(slot).size < below)
    }

    /// As [`best`](Self::best), whoever may use it. O(blocks).
    pub(crate) fn best_where<R: Ord + Copy>(
        &self,
        blocks: &Blocks<'_>,
        (pool, kind): (usize, Kind),
        size: u64,
        judge: impl Fn(&Block) -> Option<R>,
    ) -> Option<(usize, R)> {
        let bin = self.bin_of(pool, size);
        let of_bin = |bin| {
            let ranked = self.ranked(blocks, bin, size, &judge);
            if PICKS.into_iter().any(plant::on) { pick_wrong(ranked) } else { pick(ranked) }
        };
        let of_home = |home| self.heads.filled(Bin { kind: home, bin }, self.bins.get(home).words).find_map(of_bin);
        let firsts = self.homes_of(pool, kind).filter_map(of_home);
        let best = if PICKS.into_iter().any(plant::on) { pick_wrong(firsts) } else { pick(firsts) };
        best.map(|(slot, _, rank)| (slot, rank))
    }

    /// The smallest or largest entry of at least `size` bytes among those allowed; of the smallest the one freed last, then
    /// the one of the lowest address; of the largest that. O(blocks).
    #[inline(never)]
    pub(crate) fn extreme(
        &self,
        blocks: &Blocks<'_>,
        (pool, kind): (usize, Kind),
        size: u64,
        end: End,
        allowed: impl Fn(&Block) -> bool,
    ) -> Option<usize> {
        let first = self.bin_of(pool, size);
        let mut best: Option<usize> = None;
        for home in self.homes_of(pool, kind) {
            let mut at = match end {
                End::Smallest => Bin { kind: home, bin: first },
                End::Largest => self.heads.end(home),
            };
            // What another of the bins holds is smaller, or larger, than all in the first that has any.
            let mut found = None;
            while found.is_none() {
                let next = match end {
                    End::Smallest => self.heads.next_filled(at, self.bins.get(home).words, |_| true),
                    End::Largest => self.heads.previous_filled(at, first),
                };
                let Some(bin) = next else { break };
                at = if end == End::Smallest { bin.next() } else { bin };
                let mut tree = Tree::new(blocks, self.heads.head(bin));
                while let Some((slot, block)) = tree.next(blocks) {
                    if block.size >= size && allowed(block) && end.prefers(blocks, slot, found) {
                        found = Some(slot);
                    }
                }
            }
            if found.is_some_and(|found| end.prefers(blocks, found, best)) {
                best = found;
            }
        }
        best
    }

    /// What one bin has of at least `size` bytes that the judge lets through.
    fn ranked<'b, R>(
        &self,
        blocks: &'b Blocks<'_>,
        bin: Bin,
        size: u64,
        judge: impl Fn(&Block) -> Option<R>,
    ) -> impl Iterator<Item = Ranked<'b, R>> {
        let fits = blocks.tree(self.heads.head(bin)).filter(move |(_, b)| b.size >= size);
        fits.filter_map(move |(slot, b)| judge(b).map(|rank| (slot, b, rank)))
    }
}

/// Which end of all sizes is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Smallest,
    Largest,
}

impl End {
    /// Whether a block comes before the best so far.
    fn prefers(self, blocks: &Blocks<'_>, slot: usize, best: Option<usize>) -> bool {
        let Some(best) = best else { return true };
        let (one, other) = (blocks.get(slot), blocks.get(best));
        if one.size != other.size {
            return (one.size < other.size) == (self == Self::Smallest);
        }
        let last_freed = |block: &Block| if self == Self::Smallest { block.freed() } else { 0 };
        (Reverse(last_freed(one)), one.at) < (Reverse(last_freed(other)), other.at)
    }
}

/// A search for the closest size.
struct Search<'b, 'a, R> {
    blocks: &'b Blocks<'a>,
    pool: usize,
    size: u64,
    best: Option<(usize, R)>,
    /// The best one's size: larger ones do not matter any more.
    most: u64,
    /// The heads that matter: from what is sought to the best one.
    span: Span,
    /// How many more blocks may be judged one by one.
    looks: usize,
}

impl<'b, 'a, R: Ord + Copy> Search<'b, 'a, R> {
    fn new(index: &FreeIndex<'_>, blocks: &'b Blocks<'a>, (pool, size): (usize, u64), looks: usize) -> Self {
        let span = Span { first: index.bin_of(pool, size), last: usize::MAX };
        Self { blocks, pool, size, best: None, most: u64::MAX, span, looks }
    }

    #[inline]
    fn offer(&mut self, index: &FreeIndex<'_>, slot: usize, rank: R) {
        let size = self.blocks.get(slot).size;
        if size > self.most {
            return;
        }
        if size < self.most || self.best.is_none_or(|best| self.comes_before(slot, rank, best)) {
            self.best = Some((slot, rank));
            self.most = size;
            self.span.last = index.bin_of(self.pool, size);
        }
    }

    /// Of two of one size.
    fn comes_before(&self, slot: usize, rank: R, (best, of_best): (usize, R)) -> bool {
        let key = |slot: usize, rank: R| {
            let block = self.blocks.get(slot);
            (rank, Reverse(block.freed()), block.at)
        };
        key(slot, rank) < key(best, of_best)
    }

    /// Whether a block of just the size was found.
    const fn is_exact(&self) -> bool {
        self.most == self.size
    }

    /// Looks among all blocks of some bins.
    #[inline]
    fn all(&mut self, index: &FreeIndex<'_>, home: usize, rank: R) {
        if index.bins.get(home).words != 0
            && let Some(slot) = index.first(self.blocks, home, (&Key::of_size(self.size), self.span), &All)
        {
            self.offer(index, slot, rank);
        }
    }

    /// Looks among what waits for one position of a stream.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline)]
    fn reached(&mut self, index: &FreeIndex<'_>, home: usize, stream: usize, sight: &impl Sight<R>) {
        // What the order says need not be asked where nothing is small enough.
        if index.bins.get(home).words & self.span.words() == 0 {
            return;
        }
        let seq = sight.reaches_to(stream);
        if seq == Seq::ZERO {
            return;
        }
        let scope = UpTo(Mark { stream, seq }.word());
        let found = index.first_of_few(self.blocks, home, (&Key::of_size(self.size), self.span), &scope);
        if let Some(slot) = found
            && self.blocks.get(slot).size <= self.most
        {
            self.offer_cheapest(index, (home, slot), stream, sight);
        }
    }

    /// Offers the block that was found, or one of its size that was freed earlier, but costs less.
    #[cfg_attr(feature = "compact", inline(always))]
    fn offer_cheapest(
        &mut self,
        index: &FreeIndex<'_>,
        (home, slot): (usize, usize),
        stream: usize,
        sight: &impl Sight<R>,
    ) {
        let block = self.blocks.get(slot);
        let (size, freed) = (block.size, Mark::of_word(block.first_mark()).seq);
        for (way, seq) in sight.reaches(stream).into_iter().enumerate() {
            if freed <= seq {
                return self.offer(index, slot, sight.way(way));
            }
            let (from, span) = (Key::of_size(size), Span::one(index.bin_of(self.pool, size)));
            if seq > Seq::ZERO
                && let scope = UpTo(Mark { stream, seq }.word())
                && let Some(cheaper) = index.first(self.blocks, home, (&from, span), &scope)
                && self.blocks.get(cheaper).size == size
            {
                return self.offer(index, cheaper, sight.way(way));
            }
        }
    }

    /// Looks at the first blocks that are large enough, one by one, as long as the search may.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline)]
    fn judged(&mut self, index: &FreeIndex<'_>, home: usize, scope: &impl Scope, judge: impl Fn(&Block) -> Option<R>) {
        if index.bins.get(home).words == 0 {
            return;
        }
        let (mut from, mut span) = (Key::of_size(self.size), self.span);
        while let Some(left) = self.looks.checked_sub(1) {
            self.looks = left;
            let Some(slot) = index.first(self.blocks, home, (&from, span), scope) else { return };
            let block = self.blocks.get(slot);
            if let Some(rank) = judge(block) {
                return self.offer(index, slot, rank);
            }
            from = Key::of(block).after();
            span.first = index.bin_of(self.pool, block.size);
        }
    }
}

type Ranked<'b, R> = (usize, &'b Block, R);

/// The first of candidates.
fn pick<'b, R: Ord + Copy>(ranked: impl Iterator<Item = Ranked<'b, R>>) -> Option<Ranked<'b, R>> {
    ranked.min_by_key(|(_, b, rank)| (b.size, *rank, Reverse(b.freed()), b.at))
}

/// Faults that can be planted in the choice among candidates.
pub(crate) const PICKS: [Plant; 3] = [Plant::SecondBest, Plant::OldestFirst, Plant::CostlierFirst];

fn pick_wrong<'b, R: Ord + Copy>(ranked: impl Iterator<Item = Ranked<'b, R>>) -> Option<Ranked<'b, R>> {
    if plant::on(Plant::SecondBest) {
        return ranked.max_by_key(|(_, b, _)| (b.size, b.at));
    }
    if plant::on(Plant::OldestFirst) {
        return ranked.min_by_key(|(_, b, rank)| (b.size, *rank, b.freed(), b.at));
    }
    ranked.min_by_key(|(_, b, rank)| (b.size, Reverse(*rank), b.at))
}
