//! Walks through a pool's part of the index. One walk for all searches that look at everything, not a chain of adapters that
//! each of them would hold anew.

use super::{FIXED_BINS, FreeIndex, Kind, chain_of, fixed, home_of};
use crate::bins::Bin;
use crate::block::Block;
use crate::blocks::Blocks;
use crate::tree::Tree;

/// The bins of a pool that hold blocks of a kind: those that it always has, then the others.
pub(crate) struct Homes<'i, 'a> {
    index: &'i FreeIndex<'a>,
    pool: usize,
    kind: Kind,
    /// How many of the fixed ones were looked at.
    place: usize,
    next: u16,
    /// A bound, so that a damaged list ends too.
    steps: usize,
}

impl Homes<'_, '_> {
    fn any(&mut self) -> Option<usize> {
        if self.place < FIXED_BINS {
            self.place = self.place.wrapping_add(1);
            return Some(fixed(self.pool, self.place.wrapping_sub(1)));
        }
        self.steps = self.steps.checked_sub(1)?;
        let home = home_of(self.next)?;
        self.next = self.index.bins.get(home).next;
        Some(home)
    }
}

impl Iterator for Homes<'_, '_> {
    type Item = usize;

    #[inline(never)]
    fn next(&mut self) -> Option<usize> {
        loop {
            let home = self.any()?;
            if self.index.bins.get(home).kind == self.kind {
                return Some(home);
            }
        }
    }
}

/// The entries of a kind with at least some size.
pub(crate) struct Entries<'i, 'b, 'a> {
    homes: Homes<'i, 'a>,
    blocks: &'b Blocks<'a>,
    size: u64,
    /// The first head that holds such.
    first: usize,
    /// The head that comes next, where there is one.
    at: Option<Bin>,
    tree: Option<Tree>,
}

impl<'b> Entries<'_, 'b, '_> {
    /// The next entry of the tree, then of the next head, then of the next bins, whatever its size.
    fn any(&mut self) -> Option<(usize, &'b Block)> {
        loop {
            if let Some(found) = self.tree.as_mut().and_then(|tree| tree.next(self.blocks)) {
                return Some(found);
            }
            let index = self.homes.index;
            let found = self.at.and_then(|at| index.heads.next_filled(at, index.bins.get(at.kind).words, |_| true));
            match found {
                Some(bin) => {
                    self.tree = Some(Tree::new(self.blocks, index.heads.head(bin)));
                    self.at = Some(bin.next());
                }
                None => self.at = Some(Bin { kind: self.homes.next()?, bin: self.first }),
            }
        }
    }
}

impl<'b> Iterator for Entries<'_, 'b, '_> {
    type Item = (usize, &'b Block);

    #[inline(never)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (slot, block) = self.any()?;
            if block.size >= self.size {
                return Some((slot, block));
            }
        }
    }
}

impl<'a> FreeIndex<'a> {
    /// The bins of a pool that hold blocks of a kind.
    pub(super) fn homes_of(&self, pool: usize, kind: Kind) -> Homes<'_, 'a> {
        let next = self.bins.get(chain_of(pool, kind)).next;
        Homes { index: self, pool, kind, place: 0, next, steps: self.bins.len() }
    }

    /// All entries of a kind with at least `size` bytes, in no order.
    pub(crate) fn entries<'b>(
        &self,
        blocks: &'b Blocks<'a>,
        (pool, kind): (usize, Kind),
        size: u64,
    ) -> Entries<'_, 'b, 'a> {
        let first = self.bin_of(pool, size);
        Entries { homes: self.homes_of(pool, kind), blocks, size, first, at: None, tree: None }
    }
}
