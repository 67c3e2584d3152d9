//! Judges what is done with blocks: who gets memory, who uses it, who frees it, and when it goes.

use super::finding::{Fault, Memory, What};
use super::judge::{Checker, Gap};
use super::memory::{End, Ended, Life, Noted, Op};
use super::order::Place;
use weir::policy::UseUntil;
use weir::trace::{Record, Stamped};
use weir::units::Bytes;

impl Checker {
    pub(super) fn malloc(&mut self, stamped: &Stamped<'_>) {
        let Record::Malloc { pool, stream, seq, id, given, offset, .. } = stamped.record else { return };
        self.counts().mallocs += 1;
        let op = self.op(stamped, What::Malloc(id), Some((stream, seq)));
        let memory = Memory { pool, offset, bytes: given };
        let pool = self.pool(pool);
        let (start, end) = (offset.0, offset.0.saturating_add(given.0));
        for before in distinct(self.pools[pool].owners.take(start, end)) {
            self.judge_reuse(before, op);
        }
        let life = self.lives.len();
        let malloc = Noted::of(&op);
        self.lives.push(Life { id, memory, malloc, uses: Vec::new(), ended: Ended::Not, leaked: false });
        if self.mapping_is_known(pool) && self.pools[pool].mapped.covered(start, end) < given.0 {
            self.accuse(Fault::NotMapped, Some(life), None, op, None);
        }
        let unseen =
            self.pools[pool].mapped.within(start, end).map(|(_, _, map)| map).find(|map| !self.follows(op, *map));
        if let Some(map) = unseen {
            self.suspect(Fault::NotMapped, Some(life), map, op, gap(map, op));
        }
        self.settle_in(pool, life);
        if let Some(early) = self.too_early.remove(&id) {
            self.name_first(early, op);
        }
    }

    /// The memory is this allocation's from here on.
    fn settle_in(&mut self, pool: usize, life: usize) {
        let Life { id, memory, .. } = self.lives[life];
        let pool = &mut self.pools[pool];
        let (start, end) = (memory.offset.0, memory.offset.0.saturating_add(memory.bytes.0));
        pool.owners.put(start, end, life);
        pool.beginning.insert(start, life);
        pool.live.insert(life);
        pool.used = pool.used.saturating_add(memory.bytes.0);
        self.by_id.insert(id, life);
    }

    /// Memory of an earlier allocation is given away by `op`.
    fn judge_reuse(&mut self, before: usize, op: Op) {
        let Some(to) = op.place else { return };
        match self.lives[before].end(&self.order) {
            End::Live => {
                let first = self.lives[before].malloc(&self.order).unwrap_or(op);
                self.suspect(Fault::GivenTwice, Some(before), first, op, None);
            }
            End::Freed { free, uses } => {
                self.judge_order(Fault::ReuseBeforeFree, before, free, to, op);
                for used in uses {
                    self.judge_order(Fault::ReuseBeforeUse, before, used, to, op);
                }
            }
            End::Abandoned { with, .. } => self.suspect(Fault::GivenTwice, Some(before), with, op, None),
        }
    }

    /// Reports the pair if the stream of `second` does not come after `first`.
    fn judge_order(&mut self, fault: Fault, life: usize, first: Op, to: Place, second: Op) {
        if let Some(from) = first.place
            && !self.order.reached(to.lane, from)
        {
            self.suspect(fault, Some(life), first, second, Some(Gap { from, to: Some(to) }));
        }
    }

    pub(super) fn take_use(&mut self, stamped: &Stamped<'_>) {
        let Record::Use { stream, seq, id, until, .. } = stamped.record else { return };
        self.counts().uses += 1;
        let op = self.op(stamped, What::Use(id), Some((stream, seq)));
        let Some(life) = self.by_id.get(&id).copied() else {
            if self.whole() {
                let at = self.found();
                self.too_early.insert(id, at);
                self.accuse(Fault::UseBeforeMalloc, None, None, op, None);
            }
            return;
        };
        match self.lives[life].end(&self.order) {
            End::Live => {
                if let (Some(malloc), Some(to)) = (self.lives[life].malloc(&self.order), op.place) {
                    self.judge_order(Fault::UseBeforeMalloc, life, malloc, to, op);
                }
                self.lives[life].uses.push((op, until));
            }
            End::Freed { free, .. } => self.judge_late_use(life, free, op),
            End::Abandoned { with, .. } => self.accuse(Fault::PoolGone, Some(life), Some(with), op, None),
        }
    }

    /// A use that the pool hears of after the free. On a stream that does not come after the free it may be older than
    /// that; then the free should have come after it, or the pool should have been told before.
    pub(super) fn judge_late_use(&mut self, life: usize, free: Op, used: Op) {
        match (free.place, used.place) {
            (Some(freed), Some(place)) if freed.lane != place.lane && !self.order.reached(place.lane, freed) => {
                let gap = Gap { from: place, to: Some(freed) };
                self.suspect(Fault::FreeBeforeUse, Some(life), used, free, Some(gap));
            }
            _ => self.accuse(Fault::UseAfterFree, Some(life), Some(free), used, None),
        }
    }

    pub(super) fn free(&mut self, stamped: &Stamped<'_>) {
        let Record::Free { pool, stream, seq, id, offset, given } = stamped.record else { return };
        self.counts().frees += 1;
        let op = self.op(stamped, What::Free(id), Some((stream, seq)));
        let memory = Memory { pool, offset, bytes: given };
        let Some(life) = self.by_id.get(&id).copied() else {
            self.free_unknown(op, memory, id);
            return;
        };
        match self.lives[life].end(&self.order) {
            End::Live => self.close(life, op),
            End::Freed { free, .. } => self.accuse(Fault::DoubleFree, Some(life), Some(free), op, None),
            End::Abandoned { with, .. } => self.accuse(Fault::PoolGone, Some(life), Some(with), op, None),
        }
    }

    /// A block whose malloc is not in the log: before its beginning, or lost.
    fn free_unknown(&mut self, op: Op, memory: Memory, id: weir::id::AllocId) {
        if self.whole() {
            self.accuse(Fault::NotABlock, None, None, op, None);
        }
        let pool = self.pool(memory.pool);
        let life = self.lives.len();
        let ended = Noted::of(&op).map_or(Ended::Not, Ended::Freed);
        self.lives.push(Life { id, memory, malloc: None, uses: Vec::new(), ended, leaked: false });
        let range = (memory.offset.0, memory.offset.0.saturating_add(memory.bytes.0));
        let _ = self.pools[pool].owners.take(range.0, range.1);
        self.settle_in(pool, life);
        self.pools[pool].end(life, memory.bytes);
    }

    /// A free of a live block.
    fn close(&mut self, life: usize, free: Op) {
        let Some(to) = free.place else { return };
        if let Some(malloc) = self.lives[life].malloc(&self.order) {
            self.judge_order(Fault::FreeBeforeMalloc, life, malloc, to, free);
        }
        let mut left = Vec::new();
        for (mut used, until) in std::mem::take(&mut self.lives[life].uses) {
            let Some(mut place) = used.place else { continue };
            if until == UseUntil::Free {
                place.seq = self.order.head(place.lane).max(place.seq);
                used.place = Some(place);
            }
            if self.order.reached(to.lane, place) {
                continue;
            }
            left.push((used, until));
            self.counts().told += 1;
            if self.strict() && until == UseUntil::Now {
                self.judge_order(Fault::FreeBeforeUse, life, used, to, free);
            }
        }
        let Memory { pool, bytes, .. } = self.lives[life].memory;
        let pool = self.pool(pool);
        self.lives[life].uses = left;
        self.lives[life].ended = Noted::of(&free).map_or(Ended::Not, Ended::Freed);
        self.pools[pool].end(life, bytes);
    }

    pub(super) fn destroy_pool(&mut self, stamped: &Stamped<'_>) {
        let Record::PoolDestroyed { pool, leaked } = stamped.record else { return };
        let op = self.op(stamped, What::PoolDestroyed, None);
        let pool = self.pool(pool);
        let live: Vec<usize> = self.pools[pool].live.iter().copied().collect();
        let known: u64 = live.iter().map(|life| self.lives[*life].memory.bytes.0).sum();
        let stated = known == leaked.0;
        let certain = live.iter().any(|life| stated || self.surely_live(*life));
        for life in &live {
            // Where the record says that nothing was live, the free is among what is missing.
            if leaked.0 > 0 || self.surely_live(*life) {
                self.leak(*life, op, stated);
            }
            // Uses by other devices' streams are told apart.
            let device = self.pools[pool].definition.map(|(_, _, device)| device);
            let heads = device.map_or(Vec::new(), |device| self.order.heads(device).collect());
            self.lives[*life].ended = Ended::Abandoned(Box::new((op, heads)));
        }
        if leaked.0 > 0 && !certain {
            self.accuse(Fault::Leak, None, None, op, None);
        }
        let state = &mut self.pools[pool];
        state.ended = Some(op);
        state.live.clear();
        state.used = 0;
    }

    /// Whether the log has everything since the malloc, and no free.
    fn surely_live(&self, life: usize) -> bool {
        self.lives[life].malloc(&self.order).is_none_or(|malloc| self.unbroken_since(malloc.at))
    }

    /// `stated`: the record's own count of live bytes agrees with the blocks that are known.
    fn leak(&mut self, life: usize, op: Op, stated: bool) {
        if std::mem::replace(&mut self.lives[life].leaked, true) {
            return;
        }
        match self.lives[life].malloc(&self.order) {
            Some(malloc) if !stated => self.suspect(Fault::Leak, Some(life), malloc, op, None),
            first => self.accuse(Fault::Leak, Some(life), first, op, None),
        }
    }

    pub(super) fn end_program(&mut self, stamped: &Stamped<'_>) {
        let op = self.op(stamped, What::ProgramEnded, None);
        let live: Vec<usize> = self.pools.iter().flat_map(|pool| pool.live.iter().copied()).collect();
        for life in live {
            self.leak(life, op, false);
        }
    }

    fn granules(&self, pool: usize, offset: Bytes, granules: u32) -> Option<(u64, u64)> {
        let (_, _, device) = self.pools[pool].definition?;
        let granularity = self.granularity.get(&device)?;
        let bytes = granularity.saturating_mul(u64::from(granules));
        Some((offset.0, offset.0.saturating_add(bytes)))
    }

    /// Whether the log says what is mapped: it has all of the pool, and no driver call failed half way.
    fn mapping_is_known(&self, pool: usize) -> bool {
        let state = &self.pools[pool];
        let sized = state.definition.is_some_and(|(_, _, device)| self.granularity.contains_key(&device));
        sized && !self.unclear(pool) && state.created.is_some_and(|at| self.unbroken_since(at))
    }

    /// Whether a driver call failed half way since the pool is there.
    fn unclear(&self, pool: usize) -> bool {
        let state = &self.pools[pool];
        state.unclear || self.failures > state.failures_before
    }

    /// Whether an operation comes after one that stands in the order of a stream; the host's, once that is complete. What
    /// stands in no such order was done when it was recorded.
    fn follows(&self, op: Op, earlier: Op) -> bool {
        let Some(from) = earlier.place else { return true };
        op.place.map_or_else(|| self.order.settled(from), |to| self.order.reached(to.lane, from))
    }

    pub(super) fn map(&mut self, stamped: &Stamped<'_>) {
        let (pool, offset, granules, stands) = match stamped.record {
            Record::Mapped { pool, offset, granules, .. } => (pool, offset, granules, None),
            Record::MappedInOrder { pool, stream, seq, offset, granules, .. } => {
                (pool, offset, granules, Some((stream, seq)))
            }
            _ => return,
        };
        let op = self.op(stamped, What::Mapped, stands);
        let pool = self.pool(pool);
        let Some((start, end)) = self.granules(pool, offset, granules) else { return };
        let twice = self.pools[pool].mapped.take(start, end);
        if let Some((_, _, first)) = twice.last().copied()
            && !self.unclear(pool)
        {
            self.suspect(Fault::MappedTwice, None, first, op, None);
        }
        let left = self.pools[pool].leaving.take(start, end);
        if let Some((_, _, first)) = left.into_iter().find(|(_, _, unmap)| !self.follows(op, *unmap)) {
            self.suspect(Fault::MappedTwice, None, first, op, gap(first, op));
        }
        let state = &mut self.pools[pool];
        state.mapped.put(start, end, op);
        // Fresh memory: nobody had it at this address before.
        let _ = state.owners.take(start, end);
    }

    pub(super) fn unmap(&mut self, stamped: &Stamped<'_>) {
        let (pool, offset, granules, stands) = match stamped.record {
            Record::Unmapped { pool, offset, granules, .. } => (pool, offset, granules, None),
            Record::UnmappedInOrder { pool, stream, seq, offset, granules, .. } => {
                (pool, offset, granules, Some((stream, seq)))
            }
            _ => return,
        };
        let op = self.op(stamped, What::Unmapped, stands);
        let pool = self.pool(pool);
        let Some((start, end)) = self.granules(pool, offset, granules) else { return };
        let mapped = self.pools[pool].mapped.take(start, end);
        if self.mapping_is_known(pool) && mapped.iter().map(|(from, to, _)| to - from).sum::<u64>() < end - start {
            self.accuse(Fault::NotHeld, None, None, op, None);
        }
        if let Some((_, _, map)) = mapped.into_iter().find(|(_, _, map)| !self.follows(op, *map)) {
            self.suspect(Fault::UnmappedPending, None, map, op, gap(map, op));
        }
        let _ = self.pools[pool].leaving.take(start, end);
        if op.place.is_some() {
            self.pools[pool].leaving.put(start, end, op);
        }
        for life in distinct(self.pools[pool].owners.take(start, end)) {
            self.judge_unmap(life, op);
        }
    }

    fn judge_unmap(&mut self, life: usize, op: Op) {
        match self.lives[life].end(&self.order) {
            End::Live => {
                let first = self.lives[life].malloc(&self.order).unwrap_or(op);
                self.suspect(Fault::UnmappedInUse, Some(life), first, op, None);
            }
            End::Freed { free, uses } => {
                for first in std::iter::once(free).chain(uses) {
                    if !self.follows(op, first) {
                        self.suspect(Fault::UnmappedPending, Some(life), first, op, gap(first, op));
                    }
                }
            }
            End::Abandoned { with, heads } => {
                let open = heads.into_iter().find(|head| !self.follows(op, Op { place: Some(*head), ..with }));
                if let Some(from) = open {
                    let first = Op { place: Some(from), ..with };
                    self.suspect(Fault::UnmappedPending, Some(life), with, op, gap(first, op));
                }
            }
        }
    }
}

/// The order that is missing between two operations.
fn gap(first: Op, second: Op) -> Option<Gap> {
    first.place.map(|from| Gap { from, to: second.place })
}

/// Each life once.
fn distinct(taken: Vec<(u64, u64, usize)>) -> Vec<usize> {
    let mut lives: Vec<usize> = taken.into_iter().map(|(_, _, life)| life).collect();
    lives.sort_unstable();
    lives.dedup();
    lives
}
