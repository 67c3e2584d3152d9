//! Heads of lists by size, and which of them hold anything: segregated fits in steps of a power of two within each octave,
//! two levels of 64 (Masmano et al. 2004 find the next list that is filled in the same way). Knows neither blocks nor pools.
//!
//! For each 64 heads a word says which are filled, and the least mark in those, in all and in each eight, so that what lies
//! above a mark is passed over 64 heads at a time and then eight. Which words are not 0 is said by a word of their owner's.

use crate::arena::{Empty, Link, Slots};
use crate::units::log2;

/// The fewest heads of one kind that an index works with.
pub(crate) const LEAST_HEADS: usize = 128;

/// An octave has a power of two of steps: at most so many bits.
const MAX_STEPS: u32 = 7;

/// Octaves that have heads of their own, at least; larger sizes share the last head.
const OCTAVES: usize = 32;

/// How many heads a kind of blocks should have in a runtime of so many blocks: the more, the lower the trees. With one for
/// every 16 blocks (of which a third may be free, and of several kinds) a head seldom has more than a few.
#[must_use]
pub const fn heads_for(blocks: usize) -> usize {
    let mut heads = LEAST_HEADS;
    while heads < blocks / 16 && heads < OCTAVES << MAX_STEPS {
        heads *= 2;
    }
    heads
}

/// How many words stand beside so many heads.
#[must_use]
pub const fn words_for(heads: usize) -> usize {
    heads.div_ceil(64)
}

/// What is said of 64 heads.
#[derive(Clone, Copy, Debug)]
pub struct HeadWord {
    /// Which are filled.
    filled: u64,
    /// The least mark in them.
    least: u64,
    /// The same for each eight.
    parts: [u64; PARTS],
}

/// Eights in a word.
const PARTS: usize = 8;

impl HeadWord {
    /// Those of the same eight as this bit.
    const fn beside(bit: u32) -> u64 {
        0xff << (bit & 0x38)
    }

    /// The least mark of the eight with this bit.
    fn part(&self, bit: u32) -> u64 {
        self.parts.get(bit as usize / 8 % PARTS).copied().unwrap_or(0)
    }

    fn set_part(&mut self, bit: u32, mark: u64) {
        if let Some(part) = self.parts.get_mut(bit as usize / 8 % PARTS) {
            *part = mark;
        }
    }

    /// The first bit of each eight of which any is filled.
    fn eights(&self) -> impl Iterator<Item = u32> + use<> {
        let filled = self.filled;
        (0..64).step_by(PARTS).filter(move |&bit| filled & Self::beside(bit) != 0)
    }
}

impl Empty for HeadWord {
    const EMPTY: Self = Self { filled: 0, least: 0, parts: [0; PARTS] };
}

/// Heads of many kinds, in lent memory. The words of a kind that are not 0 are its owner's to know.
pub(crate) struct Heads<'a> {
    heads: Slots<'a, Link>,
    words: Slots<'a, HeadWord>,
    /// log2 of the steps in an octave.
    steps: u32,
    /// Heads of one kind, in words of 64.
    width: usize,
}

/// A head of some kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bin {
    pub(crate) kind: usize,
    pub(crate) bin: usize,
}

impl Bin {
    /// The same kind's next.
    pub(crate) const fn next(self) -> Self {
        Self { bin: self.bin.wrapping_add(1), ..self }
    }

    const fn bit(self) -> u64 {
        1 << (self.bin % 64)
    }
}

impl<'a> Heads<'a> {
    /// `heads` and `words` for so many kinds.
    pub(crate) fn new(heads: Slots<'a, Link>, words: Slots<'a, HeadWord>, kinds: usize) -> Self {
        let of_one = |all: usize| all.checked_div(kinds).unwrap_or(0);
        let fits = |steps: u32| {
            let heads_of_one = OCTAVES << steps;
            heads_of_one <= of_one(heads.len()) && words_for(heads_of_one) <= of_one(words.len())
        };
        let steps = (1..=MAX_STEPS).rev().find(|&steps| fits(steps)).unwrap_or(0);
        Self { heads, words, steps, width: (OCTAVES << steps) / 64 }
    }

    pub(crate) fn strayed(&self) -> bool {
        self.heads.strayed() || self.words.strayed()
    }

    /// The head of a size in units: monotone; sizes of fewer units than an octave has steps have one each.
    #[inline]
    pub(crate) fn of_size(&self, units: u64) -> usize {
        let above = log2(units | 1).saturating_sub(self.steps);
        let bin = (u64::from(above) << self.steps).wrapping_add(units >> above);
        (bin as usize).min((self.width * 64).wrapping_sub(1))
    }

    const fn place(&self, Bin { kind, bin }: Bin) -> usize {
        kind.wrapping_mul(self.width).wrapping_mul(64).wrapping_add(bin)
    }

    const fn word_of(&self, Bin { kind, bin }: Bin) -> usize {
        kind.wrapping_mul(self.width).wrapping_add(bin / 64)
    }

    #[inline]
    pub(crate) fn head(&self, bin: Bin) -> Link {
        *self.heads.get(self.place(bin))
    }

    #[inline]
    pub(crate) fn set_head(&mut self, bin: Bin, head: Link) {
        *self.heads.get_mut(self.place(bin)) = head;
    }

    /// A head is filled from now on, or has one entry more, whose mark is this. `words`: those of the kind that are not 0.
    #[inline]
    pub(crate) fn fill(&mut self, bin: Bin, mark: u64, words: &mut u64) {
        let word = self.words.get_mut(self.word_of(bin));
        let (bit, filled) = ((bin.bin % 64) as u32, word.filled);
        if filled == 0 {
            word.least = mark;
            *words |= 1 << (bin.bin / 64);
        }
        word.least = word.least.min(mark);
        let part = if filled & HeadWord::beside(bit) == 0 { mark } else { word.part(bit).min(mark) };
        word.set_part(bit, part);
        word.filled |= bin.bit();
    }

    /// A head is empty from now on.
    #[inline]
    pub(crate) fn empty(&mut self, bin: Bin, words: &mut u64) {
        let word = self.words.get_mut(self.word_of(bin));
        word.filled &= !bin.bit();
        if word.filled == 0 {
            *words &= !(1 << (bin.bin / 64));
        }
    }

    /// A mark left a head: if it was the least of its eight, that is found anew, and so on. O(8).
    #[inline]
    pub(crate) fn raise(&mut self, bin: Bin, gone: u64, least_of: impl Fn(Link) -> u64) {
        let word = self.words.get(self.word_of(bin));
        let bit = (bin.bin % 64) as u32;
        if gone <= word.part(bit) {
            let part = self.least_of_eight(bin, word.filled, least_of);
            let word = self.words.get_mut(self.word_of(bin));
            word.set_part(bit, part);
            if gone <= word.least {
                word.least = word.eights().map(|bit| word.part(bit)).fold(u64::MAX, u64::min);
            }
        }
    }

    /// The least mark in the eight heads that one is among.
    fn least_of_eight(&self, bin: Bin, filled: u64, least_of: impl Fn(Link) -> u64) -> u64 {
        let heads = bits(filled & HeadWord::beside((bin.bin % 64) as u32));
        let first = bin.bin & !63;
        heads.map(|bit| least_of(self.head(Bin { bin: first.wrapping_add(bit), ..bin }))).fold(u64::MAX, u64::min)
    }

    /// Whether what is said of a kind's marks is not so.
    pub(crate) fn is_astray(&self, kind: usize, words: u64, least_of: impl Fn(Link) -> u64) -> bool {
        let wrong = |at: usize| {
            let bin = Bin { kind, bin: at * 64 };
            let word = self.words.get(self.word_of(bin));
            let of_eight = |bit: u32| {
                self.least_of_eight(Bin { bin: bin.bin.wrapping_add(bit as usize), kind }, word.filled, &least_of)
            };
            word.eights().any(|bit| word.part(bit) != of_eight(bit))
                || word.eights().map(of_eight).fold(u64::MAX, u64::min) != word.least
        };
        bits(words).any(wrong)
    }

    /// The next filled head of a kind from one on, those passed over in whose eight nothing is admitted. O(64).
    #[inline]
    pub(crate) fn next_filled(&self, from: Bin, words: u64, admits: impl Fn(u64) -> bool) -> Option<Bin> {
        let at = from.bin / 64;
        let rest = words.checked_shr(at as u32).unwrap_or(0) << (at & 63);
        for found in bits(rest) {
            let mask = if found == at { !0 << (from.bin % 64) } else { !0 };
            let first = Bin { bin: found * 64, ..from };
            let word = self.words.get(self.word_of(first));
            let mut filled = word.filled & mask;
            if !admits(word.least) {
                continue;
            }
            while filled != 0 {
                let bit = filled.trailing_zeros();
                if admits(word.part(bit)) {
                    return Some(Bin { bin: first.bin.wrapping_add(bit as usize), ..from });
                }
                filled &= !HeadWord::beside(bit);
            }
        }
        None
    }

    /// Filled heads of a kind from one on.
    pub(crate) fn filled(&self, from: Bin, words: u64) -> impl Iterator<Item = Bin> {
        let mut next = from;
        core::iter::from_fn(move || {
            let found = self.next_filled(next, words, |_| true)?;
            next = found.next();
            Some(found)
        })
    }

    /// Behind the last head of a kind.
    pub(crate) const fn end(&self, kind: usize) -> Bin {
        Bin { kind, bin: self.width.wrapping_mul(64) }
    }

    /// The last filled head of a kind before one, down to `least`. O(heads / 64).
    pub(crate) fn previous_filled(&self, before: Bin, least: usize) -> Option<Bin> {
        let last = before.bin.checked_sub(1)?;
        let mut mask = u64::MAX >> (63 - last % 64);
        for at in (least / 64..=last / 64).rev() {
            let first = Bin { bin: at * 64, ..before };
            if let Some(bit) = (self.words.get(self.word_of(first)).filled & mask).checked_ilog2() {
                let bin = first.bin.wrapping_add(bit as usize);
                return (bin >= least).then_some(Bin { bin, ..before });
            }
            mask = u64::MAX;
        }
        None
    }

    /// Empties all heads of a kind. O(heads).
    pub(crate) fn clear(&mut self, kind: usize) {
        for at in 0..self.width {
            let first = Bin { kind, bin: at * 64 };
            *self.words.get_mut(self.word_of(first)) = HeadWord::EMPTY;
            for bin in 0..64 {
                self.set_head(Bin { kind, bin: first.bin.wrapping_add(bin) }, Link::NONE);
            }
        }
    }
}

/// The bits of a word that are 1, the lowest first.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;

    #[test]
    fn heads_are_monotone_and_cover_every_size() {
        let (mut heads, mut words) = (vec![Link::NONE; 4 * 1024], vec![HeadWord::EMPTY; 4 * words_for(1024)]);
        let heads = Heads::new(Slots::of(&mut heads), Slots::of(&mut words), 4);
        assert_eq!(heads.steps, 5);
        let mut last = 0;
        for units in (0..5_000_u64).chain((13..64).flat_map(|bit| [1 << bit, (1 << bit) + 1])) {
            let bin = heads.of_size(units);
            assert!(bin >= last && bin < 1024, "{units} units");
            last = bin;
        }
        assert_ne!(heads.of_size(63), heads.of_size(64));
        assert_eq!(heads.of_size(1 << 20), heads.of_size((1 << 20) + 1));
        assert_eq!(heads.of_size(u64::MAX), 1023);
    }
}
