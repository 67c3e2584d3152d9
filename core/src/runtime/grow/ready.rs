//! What was grown, as a block: joined with what lies beside it, and cut to what was asked for.

use crate::growth::Growth;
use crate::order::{Mark, Points};
use crate::reuse::Ask;
use crate::runtime::State;

impl State<'_> {
    /// Joins the run with the blocks beside it, cuts the malloc's bytes out and makes the rest free. Where the arena has
    /// no slot for the rest, the malloc gets it too.
    #[inline(never)]
    pub(super) fn finish_grow(&mut self, ask: &Ask, run: usize, growth: &Growth, fresh: Points) -> usize {
        self.facts.set_points(run, fresh);
        self.facts.blocks.get_mut(run).set_class(ask.class);
        let spare = growth.end.wrapping_sub(growth.start).saturating_sub(ask.size);
        // With blocks behind it only, what is over is the run's front.
        if growth.start == growth.from && growth.end > growth.to && spare > 0 {
            let mine = self.facts.cut(run, spare).unwrap_or(run);
            self.absorb(mine, ask.size);
            if mine != run {
                self.facts.settle_free(run);
            }
            return mine;
        }
        let mut first = run;
        self.facts.each_beside(run, growth, |facts, slot| {
            if facts.blocks.get(slot).at == growth.start {
                first = slot;
            }
            slot
        });
        self.absorb(first, ask.size);
        first
    }

    /// Joins a block in transit with those behind it up to `size` bytes; what is over of the last becomes free. It waits for
    /// all that they wait for.
    fn absorb(&mut self, slot: usize, size: u64) {
        self.cut_rest(slot, size);
        while let Some(next) = self.facts.blocks.get(slot).next.slot()
            && let Some(missing) = size.checked_sub(self.facts.blocks.get(slot).size).filter(|&bytes| bytes > 0)
        {
            self.cut_rest(next, missing);
            self.facts.join_all(slot, next);
        }
    }

    /// A position of its own behind a map or unmap that was queued on the stream: what was recorded or laid since the
    /// malloc began stands before it.
    pub(super) fn tick_after(&mut self, stream: usize) -> Mark {
        Mark { stream, seq: self.facts.order.tick_open(stream) }
    }

    fn cut_rest(&mut self, run: usize, size: u64) {
        if self.facts.blocks.get(run).size > size
            && let Ok(rest) = self.facts.cut(run, size)
        {
            self.facts.settle_free(rest);
        }
    }
}
