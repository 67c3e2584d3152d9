//! Judges calls that the pool refused: it kept its memory whole, but the program is wrong.

use super::finding::{Fault, What};
use super::judge::Checker;
use super::memory::{End, Op};
use super::order::Place;
use weir::id::StreamId;
use weir::trace::{Record, Refusal, Stamped, Verb};
use weir::units::DevicePtr;

impl Checker {
    pub(super) fn refused(&mut self, stamped: &Stamped<'_>) {
        let Record::Refused { verb, stream, reason, .. } = stamped.record else { return };
        let op = |check: &mut Self, ptr| check.refused_op(stamped, verb, stream, ptr);
        match reason {
            Refusal::AlreadyFree(ptr, _) | Refusal::Unmapped(ptr) | Refusal::BadPointer(ptr) => {
                let op = op(self, Some(ptr));
                self.judge_pointer(verb, ptr, op);
            }
            Refusal::Interior(ptr, start) => {
                let op = op(self, Some(ptr));
                let life = self.beginning_at(start).map(|(_, life)| life).unwrap_or_default();
                let first = life.and_then(|life| self.lives[life].malloc(&self.order));
                self.accuse(Fault::InsideBlock, life, first, op, None);
            }
            Refusal::OtherPool(ptr, _) => {
                let op = op(self, Some(ptr));
                let life = self.beginning_at(ptr).map(|(_, life)| life).unwrap_or_default();
                let first = life.and_then(|life| self.lives[life].malloc(&self.order));
                self.accuse(Fault::OtherPool, life, first, op, None);
            }
            Refusal::Stale | Refusal::Unknown => {
                let op = op(self, None);
                self.accuse(Fault::StaleId, None, None, op, None);
            }
            _ => {}
        }
    }

    fn refused_op(
        &mut self,
        stamped: &Stamped<'_>,
        verb: Verb,
        stream: Option<StreamId>,
        ptr: Option<DevicePtr>,
    ) -> Op {
        let mut op = self.op(stamped, What::Refused(verb, ptr), None);
        op.shown.stream = stream;
        // The call took no position; what it was about stands before whatever comes next.
        op.place = stream.map(|stream| {
            let lane = self.order.lane(stream);
            Place { lane, seq: self.order.head(lane) }
        });
        op
    }

    /// The pool that an address lies in, a living one before a destroyed one, and the last block to begin there.
    fn beginning_at(&self, ptr: DevicePtr) -> Option<(usize, Option<usize>)> {
        let around = |(pool, state): (usize, &super::memory::PoolState)| Some((pool, state.offset(ptr)?));
        let found: Vec<(usize, u64)> = self.pools.iter().enumerate().filter_map(around).collect();
        let living = found.iter().rev().find(|(pool, _)| self.pools[*pool].ended.is_none());
        let (pool, offset) = living.or(found.last()).copied()?;
        Some((pool, self.pools[pool].beginning.get(&offset).copied()))
    }

    /// A free or use of what is no live block's start.
    fn judge_pointer(&mut self, verb: Verb, ptr: DevicePtr, op: Op) {
        let Some((pool, life)) = self.beginning_at(ptr) else {
            self.accuse(Fault::NotABlock, None, None, op, None);
            return;
        };
        if let Some(ended) = self.pools[pool].ended {
            self.accuse(Fault::PoolGone, life, Some(ended), op, None);
            return;
        }
        match life.map(|life| (life, self.lives[life].end(&self.order))) {
            Some((life, End::Freed { free, .. })) if verb == Verb::Use => self.judge_late_use(life, free, op),
            Some((life, End::Freed { free, .. })) => self.accuse(Fault::DoubleFree, Some(life), Some(free), op, None),
            _ => self.accuse(Fault::NotABlock, None, None, op, None),
        }
    }
}
