//! The set of points that a block waits for: small and fixed.

use crate::units::Seq;

/// A position on a stream, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) stream: usize,
    pub(crate) seq: Seq,
}

/// A use that counts up to the free: the position is filled in then.
pub(crate) const UNTIL_FREE: Seq = Seq(u64::MAX);

/// An epoch that is to be taken at the free.
const EPOCH_AT_FREE: u8 = u8::MAX;

/// Two uses beside the free.
const PLACES: usize = 3;

/// The points of one block: at most three positions, and an epoch (the heads of all streams at some moment) where there
/// were more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Points {
    seqs: [Seq; PLACES],
    streams: [u16; PLACES],
    used: u8,
    /// Row of the epoch ring, counted from 1; 0: none.
    epoch: u8,
}

impl Points {
    pub(crate) const NONE: Self = Self { seqs: [Seq::ZERO; PLACES], streams: [0; PLACES], used: 0, epoch: 0 };

    pub(crate) fn one(mark: Mark) -> Self {
        let mut points = Self::NONE;
        points.put(mark);
        points
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0 && self.epoch == 0
    }

    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> + Clone {
        self.seqs
            .into_iter()
            .zip(self.streams)
            .take(usize::from(self.used))
            .map(|(seq, stream)| Mark { stream: usize::from(stream), seq })
    }

    /// The position, where there is at most one and no epoch.
    #[inline(always)]
    pub(crate) fn at_most_one(&self) -> Option<Option<Mark>> {
        let ([seq, ..], [stream, ..]) = (self.seqs, self.streams);
        // Both bytes are compared at once.
        match u16::from_le_bytes([self.used, self.epoch]) {
            0 => Some(None),
            1 => Some(Some(Mark { stream: usize::from(stream), seq })),
            _ => None,
        }
    }

    /// The row of the epoch ring that the block waits for as well.
    pub(crate) fn epoch(&self) -> Option<usize> {
        match self.epoch {
            0 | EPOCH_AT_FREE => None,
            n => Some(usize::from(n).wrapping_sub(1)),
        }
    }

    pub(crate) fn set_epoch(&mut self, row: usize) {
        self.epoch = (row as u8).wrapping_add(1);
    }

    /// The same points, and this row of the epoch ring.
    pub(crate) fn with_epoch(mut self, row: Option<usize>) -> Self {
        if let Some(row) = row {
            self.set_epoch(row);
        }
        self
    }

    pub(crate) fn want_epoch_at_free(&mut self) {
        self.epoch = EPOCH_AT_FREE;
    }

    pub(crate) fn wants_epoch_at_free(&self) -> bool {
        self.epoch == EPOCH_AT_FREE
    }

    /// Adds a position, or raises the one of the same stream. False: no place is left.
    pub(crate) fn put(&mut self, mark: Mark) -> bool {
        let used = usize::from(self.used);
        let mut places = self.seqs.iter_mut().zip(self.streams.iter_mut());
        for _ in 0..used {
            if let Some((seq, stream)) = places.next()
                && usize::from(*stream) == mark.stream
            {
                *seq = (*seq).max(mark.seq);
                return true;
            }
        }
        let Some((seq, stream)) = places.next() else {
            return false;
        };
        *seq = mark.seq;
        *stream = mark.stream as u16;
        self.used = self.used.wrapping_add(1);
        true
    }

    /// Adds another block's points. What does not fit waits for every stream at the free.
    pub(crate) fn add_all(&mut self, other: &Self) {
        let mut fits = true;
        for mark in other.marks() {
            fits &= self.put(mark);
        }
        if !fits || (other.epoch != 0 && other.epoch != self.epoch) {
            self.epoch = EPOCH_AT_FREE;
        }
    }

    /// Adds a use, leaving a place for the free. What does not fit waits for every stream's head at the free.
    pub(crate) fn add_use(&mut self, mark: Mark) {
        let known = self.marks().any(|m| m.stream == mark.stream);
        let room = usize::from(self.used).wrapping_add(1) < PLACES;
        if !((known || room) && self.put(mark)) {
            self.epoch = EPOCH_AT_FREE;
        }
    }

    /// The points that `keep` lets through, each replaced by what it returns.
    pub(crate) fn filter_map(&self, mut keep: impl FnMut(Mark) -> Option<Mark>) -> Self {
        let mut points = Self { epoch: self.epoch, ..Self::NONE };
        for mark in self.marks() {
            if let Some(mark) = keep(mark) {
                points.put(mark);
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(stream: usize, seq: u64) -> Mark {
        Mark { stream, seq: Seq(seq) }
    }

    #[test]
    fn uses_of_one_stream_are_one_point() {
        let mut points = Points::NONE;
        points.add_use(mark(4, 9));
        points.add_use(mark(4, 7));
        assert!(points.marks().eq([mark(4, 9)]));
    }

    #[test]
    fn the_free_always_finds_a_place() {
        let mut points = Points::NONE;
        for stream in 1..9 {
            points.add_use(mark(stream, 1));
        }
        assert!(points.wants_epoch_at_free());
        assert!(points.put(mark(0, 5)));
        assert_eq!(points.marks().count(), 3);
        assert!(!points.put(mark(20, 5)));
    }
}
