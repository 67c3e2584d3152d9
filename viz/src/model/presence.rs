//! Which keys occur where in a long column, with marks beside each: blocks of several sizes list their keys once, so that a
//! range is told without walking it.

use std::ops::Range;

/// Entries of the column in the smallest block.
const LEAF: usize = 64;
/// Blocks of one size in a block of the next.
const FAN: usize = 8;
/// A size with fewer blocks than this needs no larger one.
const FEW: usize = 64;

/// The keys of the blocks of all sizes. Only whole blocks are kept; what is left at the end is walked.
#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    /// Entries of the column.
    length: usize,
    levels: Vec<Level>,
}

/// The blocks of one size.
#[derive(Clone, Debug, Default)]
struct Level {
    size: usize,
    /// Where the keys of each block begin, and where the last one's end.
    starts: Vec<u32>,
    /// In order within a block.
    keys: Vec<u32>,
    marks: Vec<u16>,
}

impl Level {
    fn new(size: usize) -> Self {
        Self { size, starts: vec![0], ..Self::default() }
    }

    fn blocks(&self) -> usize {
        self.starts.len() - 1
    }

    fn entries(&self, block: usize) -> (&[u32], &[u16]) {
        let range = self.starts[block] as usize..self.starts[block + 1] as usize;
        (&self.keys[range.clone()], &self.marks[range])
    }

    fn close(&mut self, entries: &mut Vec<(u32, u16)>) {
        entries.sort_unstable();
        for (key, marks) in entries.drain(..) {
            match self.keys.len() > self.starts[self.starts.len() - 1] as usize && self.keys.last() == Some(&key) {
                true => *self.marks.last_mut().unwrap_or(&mut 0) |= marks,
                false => {
                    self.keys.push(key);
                    self.marks.push(marks);
                }
            }
        }
        self.starts.push(u32::try_from(self.keys.len()).unwrap_or(u32::MAX));
    }
}

impl Presence {
    /// Of a column of keys. Key 0 is none. O(n).
    pub(super) fn build(column: &[u32], marks: impl Fn(usize) -> u16) -> Self {
        let mut leaf = Level::new(LEAF);
        let mut found: Vec<(u32, u16)> = Vec::with_capacity(LEAF);
        for (block, keys) in column.chunks_exact(LEAF).enumerate() {
            for (at, key) in keys.iter().enumerate().filter(|(_, key)| **key > 0) {
                let marks = marks(block * LEAF + at);
                match found.iter_mut().find(|entry| entry.0 == *key) {
                    Some(entry) => entry.1 |= marks,
                    None => found.push((*key, marks)),
                }
            }
            leaf.close(&mut found);
        }
        let mut levels = vec![leaf];
        while let Some(below) = levels.last().filter(|below| below.blocks() / FAN >= FEW) {
            let mut level = Level::new(below.size * FAN);
            for block in 0..below.blocks() / FAN {
                for part in block * FAN..(block + 1) * FAN {
                    let (keys, marks) = below.entries(part);
                    found.extend(keys.iter().copied().zip(marks.iter().copied()));
                }
                level.close(&mut found);
            }
            levels.push(level);
        }
        Self { length: column.len(), levels }
    }

    /// The largest block of the first `levels` sizes that begins at this entry and ends within the range.
    fn block_from(&self, levels: usize, at: usize, to: usize) -> Option<usize> {
        let fits =
            |level: &Level| at.is_multiple_of(level.size) && at + level.size <= to && at / level.size < level.blocks();
        self.levels[..levels.min(self.levels.len())].iter().rposition(fits)
    }

    /// Tells those of the wanted keys that are in `from..to` with their marks, some of them several times. `single` tells
    /// one entry's.
    pub(super) fn each_in(
        &self,
        (from, to): (usize, usize),
        wanted: &[Range<u32>],
        single: impl Fn(usize) -> (u32, u16),
        mut tell: impl FnMut(u32, u16),
    ) {
        let mut at = from;
        while at < to {
            match self.block_from(self.levels.len(), at, to) {
                Some(level) => {
                    let level = &self.levels[level];
                    let (keys, marks) = level.entries(at / level.size);
                    for range in wanted {
                        let first = keys.partition_point(|key| *key < range.start);
                        let of = keys[first..].iter().zip(&marks[first..]).take_while(|(key, _)| **key < range.end);
                        of.for_each(|(key, marks)| tell(*key, *marks));
                    }
                    at += level.size;
                }
                None => {
                    // No block begins before the next leaf does.
                    let past = (at / LEAF + 1).saturating_mul(LEAF).min(to);
                    let found = (at..past).map(&single);
                    let found = found.filter(|(key, _)| wanted.iter().any(|range| range.contains(key)));
                    found.for_each(|(key, marks)| tell(key, marks));
                    at = past;
                }
            }
        }
    }

    fn has(&self, level: usize, block: usize, key: u32) -> bool {
        self.levels[level].entries(block).0.binary_search(&key).is_ok()
    }

    /// The first entry of this key from `at` on. `is` answers for one entry.
    pub(super) fn first_from(&self, key: u32, mut at: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let end = self.length;
        let mut levels = self.levels.len();
        while at < end {
            match self.block_from(levels, at, end) {
                Some(level) if self.has(level, at / self.levels[level].size, key) => levels = level,
                Some(level) => (at, levels) = (at + self.levels[level].size, self.levels.len()),
                None if is(at) => return Some(at),
                None => (at, levels) = (at + 1, self.levels.len()),
            }
        }
        None
    }

    /// The last entry of this key before `at`.
    pub(super) fn last_before(&self, key: u32, mut at: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut levels = self.levels.len();
        while at > 0 {
            let ends = |level: &Level| at.is_multiple_of(level.size) && at / level.size <= level.blocks();
            match self.levels[..levels].iter().rposition(ends) {
                Some(level) if self.has(level, at / self.levels[level].size - 1, key) => levels = level,
                Some(level) => (at, levels) = (at - self.levels[level].size, self.levels.len()),
                None if is(at - 1) => return Some(at - 1),
                None => (at, levels) = (at - 1, self.levels.len()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_neighbours_equal_a_walk() {
        let mut state = 7_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        for count in [0, 1, 63, 64, 700, 40_000] {
            // Rare keys among common ones, and none.
            let column: Vec<u32> = (0..count).map(|_| (next(4) * next(4) * next(90)) as u32).collect();
            let marks: Vec<u16> = (0..count).map(|_| 1 << next(10)).collect();
            let presence = Presence::build(&column, |at| marks[at]);
            for _ in 0..200 {
                let (a, b) = (next(count + 1) as usize, next(count + 1) as usize);
                let (from, to) = (a.min(b), a.max(b));
                let (mut told, mut plain) = (vec![0_u16; 1000], vec![0_u16; 1000]);
                let (some, more) = (1..next(300) as u32 + 1, 400..next(500) as u32 + 400);
                let wanted = [some.clone(), more.clone()];
                let single = |at: usize| (column[at], marks[at]);
                presence.each_in((from, to), &wanted, single, |key, marks| told[key as usize] |= marks);
                let of = (from..to).filter(|at| some.contains(&column[*at]) || more.contains(&column[*at]));
                of.for_each(|at| plain[column[at] as usize] |= marks[at]);
                assert_eq!(told, plain, "{wanted:?} in {from}..{to} of {count}");
                let key = next(600) as u32 + 1;
                let is = |at: usize| column[at] == key;
                assert_eq!(presence.first_from(key, from, is), (from..column.len()).find(|at| is(*at)));
                assert_eq!(presence.last_before(key, to, is), (0..to).rev().find(|at| is(*at)));
            }
        }
    }
}
