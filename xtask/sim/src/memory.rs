//! Whose the bytes of a pool are, byte for byte: live, free with the operations that must come first, or not mapped.
//! Nothing is ever merged, so no rule about merging is trusted.

use crate::order::Point;

/// A run of mapped bytes.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) live: bool,
    /// What must come before the next use.
    pub(crate) points: Vec<Point>,
    /// Which free of the pool's made it free, counted from 1; 0: none did since it was mapped.
    pub(crate) freed: u64,
    /// The latest free that may count as its own, since pieces that were free beside it may have been one block with it.
    pub(crate) freed_at_most: u64,
    /// The pool may keep it longer than the points say: more streams used it than a pool has places for, say.
    pub(crate) crowded: bool,
    /// It was free while each stream of the device came after it: it may be one block with others like it beside it, and wait
    /// for what they wait for.
    pub(crate) common: bool,
    /// The stream that freed it took memory since, and no other came after it then: to that stream it may be one block with
    /// others like it beside it, and wait for what they wait for.
    own: Option<u32>,
    /// What else it may wait for, since it may have been one block with what is no longer beside it.
    pub(crate) maybe: Vec<Point>,
}

impl Piece {
    /// Whether it may be one block with the piece behind it.
    fn may_be_one_with(&self, next: &Self) -> bool {
        let alike = self.common && next.common || self.own.is_some() && self.own == next.own;
        alike && self.to == next.from && !self.live && !next.live
    }
}

/// A mapped granule, and which classes of requests had a part of it since.
#[derive(Clone, Copy, Debug)]
struct Granule {
    at: u64,
    classes: u8,
}

/// The mapped bytes of one pool, in the order of their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) pieces: Vec<Piece>,
    granules: Vec<Granule>,
    /// Small and large requests shared a granule at some time: from then on merging may have moved others' bytes to the
    /// other class.
    pub(crate) mixed: bool,
    frees: u64,
}

impl Memory {
    /// Where the pieces from `at` on begin.
    fn place(&self, at: u64) -> usize {
        self.pieces.partition_point(|piece| piece.to <= at)
    }

    /// Cuts the piece around `at` in two.
    fn cut(&mut self, at: u64) {
        let place = self.place(at);
        let Some(piece) = self.pieces.get_mut(place).filter(|piece| piece.from < at) else { return };
        let rest = Piece { from: at, ..piece.clone() };
        piece.to = at;
        self.pieces.insert(place + 1, rest);
    }

    /// The pieces between two addresses, cut there.
    fn between(&mut self, from: u64, to: u64) -> std::ops::Range<usize> {
        self.cut(from);
        self.cut(to);
        self.place(from)..self.place(to)
    }

    /// The pieces that overlap a range.
    pub(crate) fn overlapping(&self, from: u64, to: u64) -> impl Iterator<Item = &Piece> {
        self.pieces[self.place(from)..].iter().take_while(move |piece| piece.from < to)
    }

    pub(crate) fn map(&mut self, at: u64, granularity: u64, points: Vec<Point>, crowded: bool) {
        let place = self.place(at);
        let to = at + granularity;
        // Where granules are mapped again, the addresses remember frees from before.
        let (freed, freed_at_most) = (0, u64::MAX);
        self.pieces.insert(
            place,
            Piece {
                from: at,
                to,
                live: false,
                points,
                freed,
                freed_at_most,
                crowded,
                common: false,
                own: None,
                maybe: Vec::new(),
            },
        );
        self.share_frees(place);
        let place = self.granules.partition_point(|granule| granule.at < at);
        self.granules.insert(place, Granule { at, classes: 0 });
    }

    pub(crate) fn unmap(&mut self, at: u64, granularity: u64) {
        self.part(at, at + granularity);
        let gone = self.between(at, at + granularity);
        self.pieces.drain(gone);
        self.granules.retain(|granule| granule.at != at);
    }

    /// A malloc of this class got the bytes.
    pub(crate) fn take(&mut self, from: u64, to: u64, class: u8) {
        self.part(from, to);
        let taken = self.between(from, to);
        self.pieces.drain(taken.clone());
        let (live, points, freed, freed_at_most) = (true, Vec::new(), 0, 0);
        let piece = Piece {
            from,
            to,
            live,
            points,
            freed,
            freed_at_most,
            crowded: false,
            common: false,
            own: None,
            maybe: Vec::new(),
        };
        self.pieces.insert(taken.start, piece);
        let first = self.granules.partition_point(|granule| granule.at <= from).saturating_sub(1);
        let touched = self.granules[first..].iter_mut().take_while(|granule| granule.at < to);
        for granule in touched {
            granule.classes |= class;
            self.mixed |= granule.classes != class;
        }
    }

    /// What was set aside between two addresses is not.
    pub(crate) fn open(&mut self, from: u64, to: u64) {
        let first = self.place(from);
        self.pieces[first..].iter_mut().take_while(|piece| piece.from < to).for_each(|piece| piece.crowded = false);
    }

    /// The live piece that starts at `at` is free from now on.
    pub(crate) fn give(&mut self, at: u64, points: Vec<Point>, crowded: bool) {
        let place = self.place(at);
        if let Some(piece) = self.pieces.get_mut(place).filter(|piece| piece.from == at) {
            self.frees += 1;
            (piece.live, piece.points, piece.crowded) = (false, points, crowded);
            (piece.freed, piece.freed_at_most) = (self.frees, self.frees);
            piece.maybe.clear();
            piece.own = None;
            self.share_frees(place);
        }
    }

    /// The free pieces around one may have become one block, which counts as freed with the last of them.
    fn share_frees(&mut self, place: usize) {
        let joins = |a: &Piece, b: &Piece| !a.live && !b.live && a.to == b.from;
        let mut first = place;
        while first > 0 && joins(&self.pieces[first - 1], &self.pieces[first]) {
            first -= 1;
        }
        let mut last = place;
        while last + 1 < self.pieces.len() && joins(&self.pieces[last], &self.pieces[last + 1]) {
            last += 1;
        }
        let region = &mut self.pieces[first..=last];
        let latest = region.iter().map(|piece| piece.freed_at_most).max().unwrap_or(0);
        region.iter_mut().for_each(|piece| piece.freed_at_most = latest);
    }

    /// A range leaves what it may be one block with: that keeps all of the block's points.
    fn part(&mut self, from: u64, to: u64) {
        let whole = self.between(from, to);
        let (mut first, mut last) = (whole.start, whole.end);
        while first > 0 && first < self.pieces.len() && self.pieces[first - 1].may_be_one_with(&self.pieces[first]) {
            first -= 1;
        }
        while last > 0 && last < self.pieces.len() && self.pieces[last - 1].may_be_one_with(&self.pieces[last]) {
            last += 1;
        }
        let block = &mut self.pieces[first..last];
        let all = block.iter().flat_map(|piece| piece.points.iter().chain(&piece.maybe));
        let mut all: Vec<Point> = all.copied().collect();
        all.sort_unstable_by_key(|point| point.id);
        all.dedup();
        block.iter_mut().for_each(|piece| piece.maybe.clone_from(&all));
    }

    /// What is free and such that each stream comes after it may become one block with its neighbours.
    pub(crate) fn note_common(&mut self, is_common: impl Fn(&[Point]) -> bool) {
        let free = self.pieces.iter_mut().filter(|piece| !piece.live && !piece.common);
        free.for_each(|piece| piece.common = is_common(&piece.points));
    }

    /// A stream takes memory: what it freed itself, and nobody else comes after, may become one block with its neighbours.
    pub(crate) fn note_own(&mut self, stream: u32, is_own: impl Fn(&[Point]) -> bool) {
        let own = self.pieces.iter_mut().filter(|piece| !piece.live && is_own(&piece.points));
        own.for_each(|piece| piece.own = Some(stream));
    }

    /// The free piece at `at` may wait for this as well, and is set aside with what does where the growth fails.
    pub(crate) fn doubt(&mut self, at: u64, point: Point) {
        let place = self.place(at);
        if let Some(piece) = self.pieces.get_mut(place).filter(|piece| piece.from == at && !piece.live) {
            piece.maybe.push(point);
            piece.crowded = true;
        }
    }

    /// What is complete for all need not be waited for any more.
    pub(crate) fn forget(&mut self, complete: impl Fn(&Point) -> bool) {
        self.pieces.iter_mut().for_each(|piece| piece.maybe.retain(|point| !complete(point)));
    }

    /// Whether all that a piece may be one block with passes as well.
    pub(crate) fn all_joined(&self, piece: &Piece, passes: impl Fn(&Piece) -> bool) -> bool {
        let place = self.place(piece.from);
        let (before, after) = self.pieces.split_at(place.min(self.pieces.len()));
        let (mut first, mut last) = (piece, piece);
        let before =
            before.iter().rev().take_while(|other| other.may_be_one_with(std::mem::replace(&mut first, other)));
        let after = after.iter().skip(1).take_while(|other| std::mem::replace(&mut last, other).may_be_one_with(other));
        before.chain(after).all(passes)
    }

    /// The classes that had a part of each granule under a range.
    pub(crate) fn classes(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u8)> {
        let first = self.granules.partition_point(|granule| granule.at <= from).saturating_sub(1);
        self.granules[first..].iter().take_while(move |granule| granule.at < to).map(|g| (g.at, g.classes))
    }

    /// How many bytes from `from` on lie in granules of the same classes.
    pub(crate) fn alike(&self, from: u64, to: u64) -> u64 {
        let mut granules = self.classes(from, to);
        let first = granules.next().map(|(_, classes)| classes);
        let other = granules.find(|&(_, classes)| Some(classes) != first);
        other.map_or(to, |(at, _)| at) - from
    }

    /// The longest run of bytes between two addresses in granules that only this class had a part of.
    pub(crate) fn longest_of(&self, class: u8, from: u64, to: u64, granularity: u64) -> u64 {
        let (mut run, mut longest) = (0, 0);
        for (at, classes) in self.classes(from, to) {
            let bytes = to.min(at + granularity) - from.max(at);
            run = if classes == class { run + bytes } else { 0 };
            longest = longest.max(run);
        }
        longest
    }

    /// Bytes of granules all of whose pieces are free and pass.
    pub(crate) fn whole(&self, granularity: u64, passes: impl Fn(&Piece) -> bool) -> u64 {
        let idle = |g: &&Granule| self.overlapping(g.at, g.at + granularity).all(|piece| !piece.live && passes(piece));
        self.granules.iter().filter(idle).count() as u64 * granularity
    }

    /// Bytes that are mapped.
    pub(crate) fn mapped(&self, granularity: u64) -> u64 {
        self.granules.len() as u64 * granularity
    }

    /// The longest run of addresses of the range with nothing mapped.
    pub(crate) fn longest_hole(&self, base: u64, range: u64, granularity: u64) -> u64 {
        let mut from = base;
        let mut longest = 0;
        for granule in &self.granules {
            longest = longest.max(granule.at - from);
            from = granule.at + granularity;
        }
        longest.max(base + range - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1024;

    #[test]
    fn what_is_cut_keeps_its_points() {
        let mut memory = Memory::default();
        let point = Point { id: 7, stream: 1 };
        memory.map(G, G, vec![point], false);
        memory.map(2 * G, G, Vec::new(), false);
        memory.take(G + 100, 2 * G + 100, 1);
        let pieces: Vec<_> = memory.pieces.iter().map(|p| (p.from, p.to, p.live, p.points.len())).collect();
        assert_eq!(pieces, [(G, G + 100, false, 1), (G + 100, 2 * G + 100, true, 0), (2 * G + 100, 3 * G, false, 0)]);
        memory.give(G + 100, vec![point, point], false);
        assert_eq!(memory.whole(G, |p| p.points.is_empty()), 0);
        assert_eq!(memory.whole(G, |_| true), 2 * G);
        assert_eq!(memory.pieces.iter().map(|p| p.freed).collect::<Vec<_>>(), [0, 1, 0]);
        assert!(memory.pieces.iter().all(|p| p.freed_at_most == u64::MAX));
        memory.unmap(G, G);
        assert_eq!(memory.pieces.first().map(|p| (p.from, p.points.len())), Some((2 * G, 2)));
        assert_eq!(memory.longest_hole(0, 8 * G, G), 5 * G);
    }
}
