//! Which memory a malloc may have, and which it must get: the closest size among what costs nothing.
//!
//! The oracle does not know which neighbours the pool merged, so a block is known between two bounds. At least what was
//! freed as one and not cut since is one block; at most all that lies side by side, free and usable. A malloc got the
//! wrong block where even the least that it can have been is larger than the most that another one can be.

use crate::failure::Kind;
use crate::memory::{Memory, Piece};
use crate::oracle::{Asking, LARGE, Oracle, SMALL};
use crate::order::Point;
use crate::set::Set;
use weir::policy::Reuse;

/// Where memory is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In granules that only the request's class had, and in whole granules inside one piece.
    Class,
    /// Anywhere.
    All,
}

/// How a stream sees operations.
pub(crate) struct View {
    pub(crate) number: u32,
    settled: Set,
    /// Empty where orders along events do not count.
    ahead: Set,
    /// What the legacy default stream's rules alone put before the stream's next work: it counts beside a free of the
    /// stream's own, whatever the switches say.
    implied: Set,
    /// Driver slots of the pool's markers from here on, where waits for them are imagined.
    pub(crate) markers: Option<usize>,
}

/// The kinds of reuse that cost nothing, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Own,
    Settled,
    Event,
}

/// Usable pieces side by side: at most these are one block.
struct Region<'m> {
    pieces: &'m [Piece],
}

impl Region<'_> {
    fn ends(&self) -> (u64, u64) {
        (self.pieces.first().map_or(0, |piece| piece.from), self.pieces.last().map_or(0, |piece| piece.to))
    }

    fn bytes(&self) -> u64 {
        let (from, to) = self.ends();
        to - from
    }

    /// Whether the piece's block may be whole granules: then it is nobody's small memory any more.
    fn may_be_whole(&self, piece: &Piece, granularity: u64) -> bool {
        let (from, to) = self.ends();
        from.next_multiple_of(granularity) <= piece.from && piece.to <= to - to % granularity
    }
}

impl View {
    /// What the pool must know.
    pub(crate) fn least(oracle: &Oracle, asking: &Asking) -> Self {
        let asks = oracle.pools[asking.pool].reuse.contains(Reuse::OPPORTUNISTIC);
        Self::of(oracle, asking, if asks { oracle.order.known } else { oracle.order.seen })
    }

    /// The most that the pool may rely on.
    pub(crate) fn most(oracle: &Oracle, asking: &Asking) -> Self {
        let pool = &oracle.pools[asking.pool];
        // A wait for what the pool knows to be complete needs no driver call.
        let asks = pool.asked || pool.reuse.intersects(Reuse::OPPORTUNISTIC | Reuse::INTERNAL);
        let mut view = Self::of(oracle, asking, if asks { oracle.order.known } else { oracle.order.seen_at_most });
        // Positions that a block has from an epoch, or from others' frees, may make it the stream's own.
        view.ahead.add(&view.implied);
        view
    }

    fn of(oracle: &Oracle, asking: &Asking, settled: Set) -> Self {
        let order = &oracle.order;
        let events = asking.waited || oracle.pools[asking.pool].reuse.contains(Reuse::EVENT);
        let implied = order.implied(asking.native);
        let ahead = if events { order.ahead(asking.native) } else { Set::NONE };
        Self { number: order.number(asking.native), settled, ahead, implied, markers: None }
    }

    fn is_own(&self, point: &Point) -> bool {
        point.stream == self.number
    }
}

impl Oracle {
    /// Whether everything that must come before a piece's next use does.
    pub(crate) fn reached_all(&self, view: &View, piece: &Piece) -> bool {
        self.reached(view, &piece.points)
    }

    fn reached(&self, view: &View, points: &[Point]) -> bool {
        let own = points.iter().any(|point| view.is_own(point));
        points.iter().all(|point| {
            view.is_own(point)
                || view.settled.has(point.id)
                || view.ahead.has(point.id)
                || (own && view.implied.has(point.id))
                || view.markers.is_some_and(|first| self.order.marked(*point, first))
        })
    }

    /// Whether a stream may have a piece, whatever it is one block with.
    fn usable(&self, memory: &Memory, view: &View, piece: &Piece) -> bool {
        // Which of these it waits for is not known, so that none can be counted on to make it the stream's own.
        let maybe = |piece: &Piece| piece.maybe.chunks(1).all(|point| self.reached(view, point));
        let reached = |piece: &Piece| !piece.crowded && self.reached_all(view, piece) && maybe(piece);
        !piece.live && reached(piece) && memory.all_joined(piece, reached)
    }

    /// A run of free bytes that is long enough and that the view lets the stream have.
    pub(crate) fn find(&self, asking: &Asking, view: &View, scope: Scope) -> Option<(u64, u64)> {
        let granularity = self.granularity();
        let memory = &self.pools[asking.pool].memory;
        let (mut from, mut to) = (0, 0);
        for piece in &memory.pieces {
            if !self.usable(memory, view, piece) {
                (from, to) = (0, 0);
                continue;
            }
            let whole = (piece.from.next_multiple_of(granularity), piece.to - piece.to % granularity);
            if whole.1.saturating_sub(whole.0) >= asking.size.next_multiple_of(granularity) {
                return Some(whole);
            }
            for (at, classes) in memory.classes(piece.from, piece.to) {
                let (start, end) = (piece.from.max(at), piece.to.min(at + granularity));
                if scope == Scope::Class && (memory.mixed || classes != asking.class) {
                    (from, to) = (0, 0);
                    continue;
                }
                if to != start {
                    from = start;
                }
                to = end;
                if to - from >= asking.size {
                    return Some((from, to));
                }
            }
        }
        None
    }

    /// Whether a malloc may ask the driver although there is memory: what it would cut may turn out to be one with what is
    /// free beside it.
    pub(crate) fn may_join(&self, asking: &Asking) -> bool {
        let pool = &self.pools[asking.pool];
        if !pool.reuse.contains(Reuse::OPPORTUNISTIC) {
            return false;
        }
        let most = View::most(self, asking);
        let usable = |piece: &Piece| self.reached_all(&most, piece);
        let open = |piece: &Piece| piece.points.iter().chain(&piece.maybe).any(|p| !self.order.known.has(p.id));
        pool.memory.pieces.windows(2).any(|pair| {
            let [first, second] = pair else { return false };
            let beside = first.to == second.from && !first.live && !second.live;
            beside && (usable(first) || usable(second)) && pair.iter().any(|piece| piece.crowded || open(piece))
        })
    }

    /// The malloc is about to get memory at `at`: no closer size, and none of the same size that comes first, may have
    /// been there at no cost.
    pub(crate) fn judge_fit(&mut self, asking: &Asking, at: u64) {
        let memory = &self.pools[asking.pool].memory;
        if !self.is_strict() || !self.fresh.is_empty() || memory.mixed {
            return;
        }
        let Some(chosen) = memory.overlapping(at, at + 1).next() else { return };
        let least = memory.alike(at, chosen.to);
        let stolen = asking.class == SMALL && memory.classes(at, at + 1).all(|(_, classes)| classes == LARGE);
        let granularity = self.granularity();
        let (known, most) = (View::least(self, asking), View::most(self, asking));
        let mut wrong = None;
        for region in self.regions(memory, &most) {
            let fits = |piece: &&Piece| {
                let mine = || memory.longest_of(asking.class, piece.from, piece.to, granularity);
                let kept = || asking.class == LARGE || !region.may_be_whole(piece, granularity);
                self.usable(memory, &known, piece) && mine() >= asking.size && kept()
            };
            let Some(better) = region.pieces.iter().find(fits) else { continue };
            if stolen || region.bytes() < least {
                wrong = Some((better, if stolen { "whole granules of the other class" } else { "a larger block" }));
            } else if let [alone] = region.pieces
                && alone.to - alone.from == least
                && self.is_whole(memory, chosen, at, &most)
                && self.comes_first(alone, chosen, (&known, &most))
            {
                wrong = Some((better, "one of the same size that comes later"));
            }
        }
        if let Some((better, got)) = wrong {
            let text = format!(
                "a malloc of {} bytes got {got} at {at:#x}, although {:#x}..{:#x} was usable",
                asking.size, better.from, better.to
            );
            self.fail(Kind::Fit, text);
        }
    }

    /// Pieces that may be one block, as the stream that asks sees them.
    fn regions<'m>(&'m self, memory: &'m Memory, most: &'m View) -> impl Iterator<Item = Region<'m>> {
        let usable = |piece: &Piece| !piece.live && self.reached_all(most, piece);
        let groups = memory.pieces.chunk_by(move |a, b| a.to == b.from && usable(a) && usable(b));
        groups.map(|pieces| Region { pieces })
    }

    /// Whether a piece is a block of its own, which begins at `at`.
    fn is_whole(&self, memory: &Memory, chosen: &Piece, at: u64, most: &View) -> bool {
        let alone = self.regions(memory, most).any(|region| region.pieces.len() == 1 && region.pieces[0].from == at);
        alone && memory.alike(at, chosen.to) == chosen.to - at
    }

    /// Whether one of two blocks of the same size comes before the other, beyond doubt.
    fn comes_first(&self, one: &Piece, other: &Piece, views: (&View, &View)) -> bool {
        match (self.rank(one, views), self.rank(other, views)) {
            (Some(mine), Some(theirs)) if mine == theirs => one.freed > other.freed_at_most,
            (Some(mine), Some(theirs)) => mine < theirs,
            _ => false,
        }
    }

    /// The kind of reuse that a piece would be; `None` where the oracle cannot tell.
    fn rank(&self, piece: &Piece, (known, most): (&View, &View)) -> Option<Rank> {
        // A block of several points counts as freed first: the oracle does not know which of them the pool kept.
        if piece.points.len() > 1 {
            return None;
        }
        let foreign = || piece.points.iter().filter(|point| !known.is_own(point));
        // What it was one block with may have made it the stream's own.
        if piece.crowded || piece.common || foreign().any(|point| known.implied.has(point.id)) {
            return None;
        }
        if foreign().next().is_none() && !piece.points.is_empty() {
            // Settled neighbours that merge drop whose they were.
            let open = piece.points.iter().any(|point| !self.order.known.has(point.id));
            return open.then_some(Rank::Own);
        }
        if foreign().all(|point| known.settled.has(point.id)) {
            return Some(Rank::Settled);
        }
        foreign().any(|point| !most.settled.has(point.id)).then_some(Rank::Event)
    }
}
