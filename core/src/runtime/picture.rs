//! What a malloc's record and its refusal say about the blocks around.

use super::State;
use super::report::Pending;
use crate::arena::Link;
use crate::error::OutOfMemory;
use crate::facts::Facts;
use crate::growth::Growth;
use crate::order::{Mark, Points};
use crate::release;
use crate::reuse::Ask;
use crate::trace;
use crate::units::Bytes;

impl Facts<'_> {
    /// The points as a record names them.
    pub(super) fn named(&self, points: &Points) -> trace::Points {
        let mut named = trace::Points { list: [None; 3], epoch: points.epoch().map_or(0, |row| row as u64 + 1) };
        for (place, mark) in named.list.iter_mut().zip(points.marks()) {
            *place = Some(self.order.point(mark));
        }
        named
    }
}

impl State<'_> {
    /// The points of so many bytes from a block on, for the log.
    #[inline(never)]
    pub(super) fn points_from(&self, first: usize, size: u64) -> trace::Points {
        let block = self.facts.blocks.get(first);
        if block.is_ones() && block.size >= size {
            return trace::Points::one(self.facts.order.point(Mark::of_word(block.first_mark())));
        }
        let mut points = Points::NONE;
        let mut epoch = None;
        let mut bytes = 0u64;
        for (_, block) in self.facts.blocks.walk(Link::to(first)) {
            for mark in block.points().marks() {
                // A run may have more points than a record names; the first of each stream stand for it.
                points.put(mark);
            }
            epoch = epoch.or(block.points().epoch());
            bytes = bytes.saturating_add(block.size);
            if bytes >= size {
                break;
            }
        }
        self.facts.named(&points.with_epoch(epoch))
    }

    /// Notes the points of the blocks that a growth takes, for the log.
    #[inline(never)]
    pub(super) fn note_points_of_growth(&mut self, run: usize, growth: &Growth) {
        let mut points = Points::NONE;
        let mut epoch = None;
        let run = self.facts.blocks.get(run);
        for walk in [self.facts.blocks.walk_back(run.prev), self.facts.blocks.walk(run.next)] {
            for (_, block) in walk.take_while(|(_, block)| growth.takes(block)) {
                for mark in block.points().marks() {
                    points.put(mark);
                }
                epoch = epoch.or(block.points().epoch());
            }
        }
        self.waited_for = self.facts.named(&points.with_epoch(epoch));
    }

    /// Everything that explains a refusal, but for what the driver said.
    pub(super) fn paint(&mut self, ask: &Ask, picture: &mut OutOfMemory) {
        self.paint_pending(ask, picture);
        let pool = self.facts.pool(ask.pool);
        picture.requested = Bytes(ask.size);
        picture.used = Bytes(pool.used);
        picture.reserved = Bytes(pool.reserved);
        picture.limit = Bytes(pool.limit);
        picture.largest_usable = Bytes(ask.largest_usable(&self.facts));
        picture.unsettled = Bytes(release::held(&self.facts, ask.pool).pending);
    }

    #[inline(never)]
    fn paint_pending(&mut self, ask: &Ask, picture: &mut OutOfMemory) {
        let holders = self.holders(ask.pool, Pending::For(ask));
        (picture.pending, picture.pending_on) = (Bytes(holders.bytes), holders.most);
    }

    pub(super) fn pin_stream(&mut self, slot: usize) {
        let stream = self.facts.order.stream_mut(slot);
        stream.pins = stream.pins.saturating_add(1);
    }

    pub(super) fn unpin_stream(&mut self, slot: usize) {
        let stream = self.facts.order.stream_mut(slot);
        stream.pins = stream.pins.saturating_sub(1);
    }
}
