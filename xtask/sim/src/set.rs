//! Sets of operations: one bit each.

const WORDS: usize = 16;

/// How many operations can be told apart at one time.
pub(crate) const OPERATIONS: usize = WORDS * 64;

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set([u64; WORDS]);

impl Set {
    pub(crate) const NONE: Self = Self([0; WORDS]);
    pub(crate) const ALL: Self = Self([!0; WORDS]);

    pub(crate) fn has(&self, id: u16) -> bool {
        self.0[usize::from(id) / 64] & (1 << (id % 64)) != 0
    }

    pub(crate) fn insert(&mut self, id: u16) {
        self.0[usize::from(id) / 64] |= 1 << (id % 64);
    }

    pub(crate) fn remove(&mut self, id: u16) {
        self.0[usize::from(id) / 64] &= !(1 << (id % 64));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    pub(crate) fn keep(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine &= theirs;
        }
    }

    /// What is not in it.
    pub(crate) fn rest(&self) -> Self {
        Self(self.0.map(|word| !word))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The lowest member.
    pub(crate) fn first(&self) -> Option<u16> {
        let at = self.0.iter().position(|&word| word != 0)?;
        Some((at * 64) as u16 + self.0[at].trailing_zeros() as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_a_set() {
        let mut set = Set::NONE;
        assert_eq!(set.first(), None);
        for id in [1023, 64, 63] {
            set.insert(id);
        }
        assert!(set.has(63) && set.has(64) && set.has(1023) && !set.has(0) && !set.has(65));
        assert_eq!((set.len(), set.first()), (3, Some(63)));
        set.remove(63);
        assert_eq!(set.first(), Some(64));
        assert_eq!(set.rest().len(), OPERATIONS - 2);
        let mut both = Set::ALL;
        both.keep(&set);
        assert_eq!(both, set);
        both.add(&Set::ALL);
        assert_eq!(both, Set::ALL);
    }
}
