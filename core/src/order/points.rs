//! The set of points that a block waits for: small and fixed.

use crate::units::Seq;

/// A position on a stream, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) stream: usize,
    pub(crate) seq: Seq,
}

/// Bits of a position; what is above them in a word names the stream.
const SEQ_BITS: u32 = 48;

/// From this position on a stream is refused: about 2^48, or a call a microsecond for nine years. What is above it is
/// for the call that comes there, which may take many.
pub(crate) const LAST_SEQ: Seq = Seq((1 << SEQ_BITS) - (1 << 20));

/// A use that counts up to the free: the position is filled in then.
pub(crate) const UNTIL_FREE: Seq = Seq((1 << SEQ_BITS) - 1);

impl Mark {
    /// The mark in one word. Of one stream, the later mark is the larger word.
    #[inline]
    pub(crate) const fn word(self) -> u64 {
        ((self.stream as u64) << SEQ_BITS) | (self.seq.0 & UNTIL_FREE.0)
    }

    #[inline]
    pub(crate) const fn of_word(word: u64) -> Self {
        Self { stream: (word >> SEQ_BITS) as usize, seq: Seq(word & UNTIL_FREE.0) }
    }
}

/// An epoch that is to be taken at the free.
pub(crate) const EPOCH_AT_FREE: u8 = 15;

/// Two uses beside the free.
pub(crate) const PLACES: usize = 3;

/// The points of one block: at most three positions, and an epoch (the heads of all streams at some moment) where there
/// were more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Points {
    /// Marks, each in a word.
    words: [u64; PLACES],
    used: u8,
    /// Row of the epoch ring, counted from 1; 0: none.
    epoch: u8,
}

impl Points {
    pub(crate) const NONE: Self = Self { words: [0; PLACES], used: 0, epoch: 0 };

    #[inline]
    pub(crate) const fn one(mark: Mark) -> Self {
        Self { words: [mark.word(), 0, 0], used: 1, epoch: 0 }
    }

    /// The points that [`parts`](Self::parts) took apart. Words that are not used are any.
    #[inline]
    pub(crate) fn of_parts(words: [u64; PLACES], used: u8, epoch: u8) -> Self {
        let [first, second, _] = words;
        let words = match used {
            0 => [0; PLACES],
            1 => [first, 0, 0],
            2 => [first, second, 0],
            _ => words,
        };
        Self { words, used, epoch }
    }

    /// The marks' words, how many there are (at most 3), and the epoch (below 16).
    #[inline]
    pub(crate) const fn parts(&self) -> ([u64; PLACES], u8, u8) {
        (self.words, self.used, self.epoch)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0 && self.epoch == 0
    }

    pub(crate) fn marks(&self) -> Marks {
        Marks { words: self.words, left: self.used }
    }

    /// The marks' words.
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        self.words.get(..usize::from(self.used)).unwrap_or_default()
    }

    /// The row of the epoch ring that the block waits for as well.
    #[inline]
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
        let mut places = self.words.iter_mut();
        for word in places.by_ref().take(used) {
            if Mark::of_word(*word).stream == mark.stream {
                *word = (*word).max(mark.word());
                return true;
            }
        }
        let Some(word) = places.next() else {
            return false;
        };
        *word = mark.word();
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

/// The positions of points.
#[derive(Clone)]
pub(crate) struct Marks {
    /// Those that are left come first.
    words: [u64; PLACES],
    left: u8,
}

impl Iterator for Marks {
    type Item = Mark;

    #[inline]
    fn next(&mut self) -> Option<Mark> {
        self.left = self.left.checked_sub(1)?;
        let [first, second, third] = self.words;
        self.words = [second, third, 0];
        Some(Mark::of_word(first))
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
