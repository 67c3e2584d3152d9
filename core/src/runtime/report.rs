//! What the runtime can be asked: counts, pending memory, blocks by address; and the names that people give.

use super::state::Counters;
use super::{Lock, Runtime, State};
use crate::block;
use crate::driver::Driver;
use crate::error::{ArenaFull, LabelError, PendingOn, PoolError, Unusable};
use crate::id::{AllocId, LabelId, PoolId, StreamId};
use crate::order::{Level, Mark};
use crate::pool::PoolStats;
use crate::release;
use crate::reuse::Ask;
use crate::trace::{MAX_NAME, Record, Sink, Verb};
use crate::units::{Bytes, DevicePtr, Seq};

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BlockInfo {
    /// The pool it belongs to.
    pub pool: PoolId,
    /// Its first address.
    pub start: DevicePtr,
    /// Its size.
    pub given: Bytes,
    /// What was asked for.
    pub asked: Bytes,
    /// The allocation.
    pub id: AllocId,
    /// Its label.
    pub label: LabelId,
}

/// Which free bytes count as pending.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pending<'ask> {
    /// What the asking stream may not use yet.
    For(&'ask Ask),
    /// What a trim may not release yet: in granules that are free as a whole, what is not known to be complete.
    InWholeGranules,
}

/// The most first.
const MOST: usize = 4;

/// The streams with most of the pending bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holders {
    /// Pending bytes in all, each once.
    pub(super) bytes: u64,
    /// How many streams hold any back.
    pub(super) streams: u32,
    pub(super) most: [Option<PendingOn>; MOST],
}

impl State<'_> {
    /// The streams that hold most of a pool's free bytes back. O(blocks + streams).
    pub(super) fn holders(&mut self, pool: usize, what: Pending<'_>) -> Holders {
        let bytes = |on: &Option<PendingOn>| on.map_or(0, |on| on.bytes.0);
        let mut holders = Holders::default();
        let total = self.pending_by_stream(pool, what, |pending| {
            holders.streams = holders.streams.wrapping_add(1);
            // Each place keeps the larger of the two and hands the smaller on; what is left falls off the end.
            let mut next = Some(pending);
            for place in &mut holders.most {
                if bytes(&next) > bytes(place) {
                    core::mem::swap(place, &mut next);
                }
            }
        });
        Holders { bytes: total.0, ..holders }
    }

    /// Sums up, stream by stream, the free bytes of a pool that are pending; a block that several streams hold back counts
    /// with each. Returns the bytes in all, each once. O(blocks + streams).
    fn pending_by_stream(&mut self, pool: usize, what: Pending<'_>, mut f: impl FnMut(PendingOn)) -> Bytes {
        let width = self.facts.order.width();
        for slot in 0..width {
            let stream = self.facts.order.stream_mut(slot);
            (stream.pending, stream.pending_until) = (0, Seq::ZERO);
        }
        let (mut total, mut run) = (0u64, (0, 0));
        let mut at = self.facts.pool(pool).first;
        for _ in 0..self.facts.blocks.in_use() {
            let Some(slot) = at.slot() else { break };
            let block = self.facts.blocks.get(slot);
            at = block.next;
            if block.state() != block::State::Free {
                continue;
            }
            let bytes = match what {
                Pending::For(_) => block.size,
                Pending::InWholeGranules => {
                    if block.at >= run.1 {
                        run = release::run_from(&self.facts, slot);
                    }
                    let (from, to) = self.facts.pool(pool).whole_granules(run.0, run.1).unwrap_or_default();
                    block.end().min(to).saturating_sub(block.at.max(from))
                }
            };
            let held = bytes > 0 && self.add_pending(what, slot, bytes);
            total = total.saturating_add(if held { bytes } else { 0 });
        }
        for slot in 0..width {
            let stream = self.facts.order.stream(slot);
            if stream.pending > 0 {
                let id = self.facts.order.stream_id(slot);
                f(PendingOn { stream: id, until: stream.pending_until, bytes: Bytes(stream.pending) });
            }
        }
        Bytes(total)
    }

    /// Counts bytes of a free block with each stream that holds it back. O(1), with an epoch O(streams).
    #[inline(never)]
    fn add_pending(&mut self, what: Pending<'_>, block: usize, bytes: u64) -> bool {
        let (mut held, points) = (false, self.facts.blocks.get(block).points());
        for mark in points.marks() {
            held |= self.add_pending_on(what, block, mark, bytes);
        }
        let Some(epoch) = points.epoch() else { return held };
        for stream in 0..self.facts.order.width() {
            let mark = Mark { stream, seq: self.facts.order.epoch_seq(epoch, stream) };
            let counted = points.marks().any(|m| m.stream == stream);
            held |= self.add_pending_on(what, block, mark, if counted { 0 } else { bytes });
        }
        held
    }

    fn add_pending_on(&mut self, what: Pending<'_>, block: usize, mark: Mark, bytes: u64) -> bool {
        let held = match what {
            Pending::For(ask) => ask.is_unreached(&self.facts, self.facts.blocks.get(block), mark),
            Pending::InWholeGranules => !self.facts.order.settled(mark, Level::Known),
        };
        if held {
            let stream = self.facts.order.stream_mut(mark.stream);
            stream.pending = stream.pending.saturating_add(bytes);
            stream.pending_until = stream.pending_until.max(mark.seq);
        }
        held
    }

    fn label(&mut self, name: &str) -> Result<LabelId, LabelError> {
        self.facts.names.intern(name)
    }

    fn mark(&mut self, name: &str) -> Result<(), LabelError> {
        match self.label(name) {
            Ok(label) => self.record(Record::Mark { label, name: "" }),
            // A program that marks every step must not be refused at some step: the name goes along.
            Err(LabelError::ArenaFull(_)) => self.record(Record::Mark { label: LabelId::NONE, name }),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Counts of a pool.
    ///
    /// # Errors
    /// The id is not live.
    pub fn stats(&self, pool: PoolId) -> Result<PoolStats, PoolError> {
        self.enter(|state| {
            let slot = state.facts.find_pool(pool)?;
            let pool = *state.facts.pool(slot);
            Ok(PoolStats {
                base: DevicePtr(pool.base),
                range: Bytes(pool.range),
                used: Bytes(pool.used),
                used_high: Bytes(pool.used_high),
                requested: Bytes(pool.requested),
                requested_high: Bytes(pool.requested_high),
                reserved: Bytes(pool.reserved),
                reserved_high: Bytes(pool.reserved_high),
                live_blocks: pool.live_blocks(),
                mallocs: pool.mallocs(),
                frees: pool.frees,
                refused: pool.refused,
                thrash: Bytes(pool.demand.thrash),
                spared: Bytes(pool.moves.spared),
                kept: Bytes(pool.kept_beyond()),
                by_source: pool.by_source,
            })
        })
    }

    /// Driver calls and lost records so far.
    pub fn counters(&self) -> Counters {
        self.state.with(|state| state.counters()).unwrap_or_default()
    }

    /// Lists, stream by stream, the freed bytes of the pool that `stream` may not use yet, and up to where each stream
    /// must come. `f` is called without the lock. O(streams * (blocks + streams) / 16).
    ///
    /// # Errors
    /// An id is not live.
    pub fn pending(&self, pool: PoolId, stream: StreamId, mut f: impl FnMut(PendingOn)) -> Result<(), PoolError> {
        let mut from = 0;
        loop {
            let some = self.enter(|state| {
                let ask = state.ask_for(pool, stream)?;
                let mut some: heapless::Vec<PendingOn, 16> = heapless::Vec::new();
                state.pending_by_stream(ask.pool, Pending::For(&ask), |pending| {
                    if pending.stream.slot() >= from {
                        // Those that find no place come with the next look.
                        let _ = some.push(pending);
                    }
                });
                Ok::<_, PoolError>(some)
            })?;
            let Some(last) = some.last() else { return Ok(()) };
            from = last.stream.slot().wrapping_add(1);
            some.into_iter().for_each(&mut f);
        }
    }

    /// The live block that starts at `ptr`. Near constant time.
    pub fn block_at(&self, ptr: DevicePtr) -> Option<BlockInfo> {
        let found = self.enter(|state| {
            let slot = state.find_live(ptr).map_err(|_| Unusable::Busy)?;
            let block = *state.facts.blocks.get(slot);
            Ok::<_, Unusable>(BlockInfo {
                pool: state.facts.pool_id(block.pool()),
                start: DevicePtr(block.at),
                given: Bytes(block.size),
                asked: Bytes(block.asked()),
                id: block.id(),
                label: block.label(),
            })
        });
        found.ok()
    }

    /// The label of a name, for [`malloc_labelled`](Self::malloc_labelled). The same name gives the same label.
    /// O(labels).
    ///
    /// # Errors
    /// The name is too long, or the table of names is full.
    pub fn label(&self, name: &str) -> Result<LabelId, LabelError> {
        self.enter(|state| {
            let label = state.label(name);
            label.map_err(|error| state.refuse_label(error))
        })
    }

    /// Writes the user's mark into the log.
    ///
    /// # Errors
    /// The name is too long.
    pub fn mark(&self, name: &str) -> Result<(), LabelError> {
        self.enter(|state| {
            let marked = state.mark(name);
            marked.map_err(|error| state.refuse_label(error))
        })
    }
}

impl State<'_> {
    /// A question about a pool as a stream sees it.
    fn ask_for(&self, pool: PoolId, stream: StreamId) -> Result<Ask, PoolError> {
        let slot = self.facts.find_pool(pool)?;
        let stream = self.facts.order.find_stream(stream)?;
        Ok(Ask::about(slot, stream))
    }

    fn refuse_label(&mut self, error: LabelError) -> LabelError {
        let reason = match error {
            LabelError::ArenaFull(ArenaFull { arena, capacity }) => {
                crate::trace::Refusal::ArenaFull(arena, capacity as u64)
            }
            LabelError::TooLong { length } => crate::trace::Refusal::BadValue(length as u64),
            LabelError::Unusable(_) => return error,
        };
        let size = Bytes(MAX_NAME as u64);
        self.record(Record::Refused { verb: Verb::Label, pool: None, stream: None, size, reason });
        error
    }
}
