//! `verify`: walks everything and checks every invariant.

use super::{Lock, Runtime, State};
use crate::block::{self, Block};
use crate::driver::Driver;
use crate::error::Unusable;
use crate::free_index::Kind;
use crate::order::Tenancy;
use crate::pool::{PoolSlot, Standing};
use crate::trace::Sink;
use crate::units::Bytes;

/// An invariant that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Violation {
    /// Which.
    pub what: &'static str,
    /// The pool's slot, or the arena's slot.
    pub place: usize,
}

/// What a walk over a pool's blocks adds up to.
#[derive(Default)]
struct Recount {
    used: u64,
    requested: u64,
    live: u64,
    /// Bytes of free blocks and holes, by kind.
    listed: [u64; 3],
    blocks: usize,
}

fn ensure(holds: bool, what: &'static str, place: usize) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { what, place }) }
}

impl State<'_> {
    fn verify(&self) -> Result<(), Violation> {
        ensure(!self.facts.strayed(), "every access met its arena", 0)?;
        self.facts.order.check().map_err(|what| Violation { what, place: 0 })?;
        for (slot, stream) in self.facts.order.streams().filter(|(_, stream)| stream.tenancy == Tenancy::Live) {
            ensure(stream.marked == self.facts.wants_markers(stream.device), "streams know of markers", slot)?;
        }
        let mut blocks = 0;
        for (slot, pool) in self.facts.pools.iter() {
            if !matches!(pool.standing, Standing::Vacant | Standing::Coming) {
                blocks += self.verify_pool(slot, pool)?;
            }
        }
        ensure(blocks == self.facts.blocks.count(), "every block in use is in some pool", blocks)
    }

    fn verify_pool(&self, slot: usize, pool: &PoolSlot) -> Result<usize, Violation> {
        let recount = self.walk_pool(slot, pool)?;
        ensure(recount.used == pool.used, "used bytes equal a recount", slot)?;
        ensure(recount.requested == pool.requested, "requested bytes equal a recount", slot)?;
        ensure(recount.live == pool.live_blocks(), "live blocks equal a recount", slot)?;
        let quiet = pool.coming == 0 && pool.transits == 0;
        ensure(pool.pins > 0 || quiet, "nothing is in transit while no call is in flight", slot)?;
        if pool.pins == 0 {
            ensure(self.physical_bytes(slot) == pool.reserved, "reserved bytes equal a recount", slot)?;
        }
        ensure(pool.used <= pool.reserved, "used <= reserved", slot)?;
        ensure(pool.reserved <= pool.limit, "reserved <= limit", slot)?;
        ensure(pool.used <= pool.used_high && pool.reserved <= pool.reserved_high, "high marks are high", slot)?;
        self.facts.index.check(&self.facts.blocks, slot).map_err(|what| Violation { what, place: slot })?;
        for (at, kind) in KINDS.into_iter().enumerate() {
            let listed = self.facts.index.entries(&self.facts.blocks, (slot, kind), 0);
            let mut bytes = 0u64;
            for (found, block) in listed {
                ensure(Kind::of(block) == Some(kind) && block.pool() == slot, "the index lists what it says", found)?;
                bytes = bytes.wrapping_add(block.size);
            }
            ensure(recount.listed.get(at) == Some(&bytes), "index and blocks agree", slot)?;
        }
        Ok(recount.blocks)
    }

    /// Blocks tile the range, and each is what it claims.
    fn walk_pool(&self, slot: usize, pool: &PoolSlot) -> Result<Recount, Violation> {
        let mut recount = Recount::default();
        let mut at = pool.base;
        let mut before = None;
        for (found, block) in self.facts.blocks.walk(pool.first) {
            ensure(block.at == at, "blocks tile the range", found)?;
            ensure(block.size > 0 && block.pool() == slot, "a block is in its pool", found)?;
            ensure(block.prev.slot() == before, "neighbours know each other", found)?;
            self.verify_block(found, block, pool)?;
            recount.add(block);
            before = Some(found);
            at = block.end();
        }
        ensure(at == pool.base.wrapping_add(pool.range), "blocks fill the range", slot)?;
        Ok(recount)
    }

    fn verify_block(&self, found: usize, block: &Block, pool: &PoolSlot) -> Result<(), Violation> {
        let aligned = |unit: u64| [block.at, block.size].into_iter().all(|at| Bytes(at).is_whole(Bytes(unit)));
        ensure(aligned(pool.alignment), "blocks are aligned", found)?;
        let findable = self.facts.blocks.find(block.at) == Some(found);
        ensure(findable == block.is_findable(), "the lookup leads to what it should", found)?;
        match block.state() {
            block::State::Unused | block::State::Signpost => return ensure(false, "a linked block is one", found),
            block::State::Live => {
                ensure(findable, "a live block is found by its address", found)?;
                ensure(block.asked() <= block.size, "a block holds what was asked for", found)?;
            }
            block::State::Free => {
                for mark in self.facts.order.all_marks(&block.points()) {
                    let head = self.facts.order.stream(mark.stream).head;
                    ensure(mark.seq <= head, "a free block's points have happened", found)?;
                }
            }
            block::State::Hole => {
                ensure(aligned(pool.granularity), "holes are whole granules", found)?;
                ensure(block.points().is_empty() || pool.maps_in_order, "a hole waits only for maps in order", found)?;
            }
            block::State::Transit | block::State::Quarantined => {}
        }
        if matches!(block.state(), block::State::Live | block::State::Free) {
            self.verify_mapped(found, block, pool)?;
        } else if block.state() == block::State::Hole {
            ensure(self.facts.granules.at(block.at).is_none(), "nothing is mapped in a hole", found)?;
        }
        Ok(())
    }

    fn verify_mapped(&self, found: usize, block: &Block, pool: &PoolSlot) -> Result<(), Violation> {
        let mut at = pool.granule_down(block.at);
        while at < block.end() {
            let granule = self.facts.granules.at(at);
            let mine = granule.is_some_and(|g| self.facts.granules.get(g).pool as usize == block.pool());
            ensure(mine, "live and free blocks are mapped", found)?;
            at = at.wrapping_add(pool.granularity);
        }
        Ok(())
    }
}

const KINDS: [Kind; 3] = [Kind::Free(block::Class::Large), Kind::Free(block::Class::Small), Kind::Hole];

impl Recount {
    fn add(&mut self, block: &Block) {
        self.blocks += 1;
        if block.state() == block::State::Live {
            self.used = self.used.wrapping_add(block.size);
            self.requested = self.requested.wrapping_add(block.asked());
            self.live += 1;
        }
        let kind = KINDS.iter().position(|&kind| Kind::of(block) == Some(kind));
        if let Some(bytes) = kind.and_then(|kind| self.listed.get_mut(kind)) {
            *bytes = bytes.wrapping_add(block.size);
        }
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Walks everything and checks every invariant: blocks tile each range, counts equal a recount, index and blocks
    /// agree, used <= reserved <= limit, points have happened. For tests and debugging: O(everything), under the lock.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn verify(&self) -> Result<(), Violation> {
        let busy = Violation { what: "the state can be had", place: 0 };
        let now = self.now();
        self.state
            .with(|state| match state.begin(now) {
                Ok(()) => state.verify(),
                Err(Unusable::Corrupt(corrupt)) => Err(Violation { what: corrupt.0, place: 0 }),
                Err(Unusable::Busy) => Err(busy),
            })
            .unwrap_or(Err(busy))
    }
}
