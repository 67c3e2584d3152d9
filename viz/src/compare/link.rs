//! Two logs looked at together: where something of one stands in the other.

use super::{mallocs, marks, sections};
use crate::model::{Axis, EventIx, LifeIx, Model, PoolIx};
use crate::scene::{Range, Selection, View};
use std::cell::OnceCell;

/// What ties two logs. Places are tied at their beginnings, at common marks, and at their ends, and evenly in between;
/// mallocs as [`super::Comparison`] matches them.
#[derive(Clone, Debug)]
pub struct Link {
    /// The records of common marks, in both.
    marks: Vec<[EventIx; 2]>,
    /// Mallocs of both, by those of the first and by those of the second. Made when it is asked for.
    pairs: OnceCell<[Vec<[LifeIx; 2]>; 2]>,
}

impl Link {
    /// Ties two logs. O(n log n) in their marks.
    #[must_use]
    pub fn of(models: [&Model; 2]) -> Self {
        let marks = marks::common(models).0.iter().map(|mark| mark.at).collect();
        Self { marks, pairs: OnceCell::new() }
    }

    /// How many marks both have.
    #[must_use]
    pub fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The place in the other log of a place in log `from` (0 or 1). O(log n).
    #[must_use]
    pub fn place(&self, models: [&Model; 2], axis: Axis, from: usize, place: f64) -> f64 {
        let to = 1 - from;
        let stands = |at: usize, side: usize| models[side].events.position(axis, self.marks[at][side]) as f64;
        let position = |mark: &[EventIx; 2]| models[from].events.position(axis, mark[from]) as f64;
        let next = self.marks.partition_point(|mark| position(mark) <= place);
        let begin = next.checked_sub(1).map_or([0.0; 2], |at| [stands(at, from), stands(at, to)]);
        let end = match next < self.marks.len() {
            true => [stands(next, from), stands(next, to)],
            false => [from, to].map(|side| models[side].events.extent(axis) as f64),
        };
        let length = end[0] - begin[0];
        let part = if length > 0.0 { (place - begin[0]) / length } else { 0.0 };
        begin[1] + part * (end[1] - begin[1])
    }

    /// The same malloc in the other log. The first question takes O(n) in the mallocs, further ones O(log n).
    #[must_use]
    pub fn life(&self, models: [&Model; 2], from: usize, life: LifeIx) -> Option<LifeIx> {
        let pairs = &self.pairs.get_or_init(|| pairs(models))[from];
        let at = pairs.binary_search_by_key(&life, |pair| pair[from]).ok()?;
        Some(pairs[at][1 - from])
    }

    /// Has the view of the other log show what the view of log `from` does: the same page and filter, the same stretch
    /// along x, and what is selected.
    pub fn follow(&self, models: [&Model; 2], from: usize, leader: &View, follower: &mut View) {
        let to = 1 - from;
        if follower.page != leader.page {
            (follower.listing.sort, follower.listing.top) = (None, 0);
        }
        (follower.page, follower.axis, follower.theme) = (leader.page, leader.axis, leader.theme);
        (follower.stack, follower.color) = (leader.stack, leader.color);
        follower.listing.query.clone_from(&leader.listing.query);
        let extent = |side: usize| models[side].events.extent(leader.axis) as f64;
        let is_whole = leader.x.from <= 0.0 && leader.x.to >= extent(from);
        let ends = [leader.x.from, leader.x.to].map(|place| self.place(models, leader.axis, from, place));
        follower.x = match is_whole || ends[0] >= ends[1] {
            true => Range { from: 0.0, to: extent(to) },
            false => Range { from: ends[0], to: ends[1] }.within(extent(to)),
        };
        follower.selection = match leader.selection {
            Selection::Life(life) => self.life(models, from, life).map_or(Selection::Nothing, Selection::Life),
            Selection::Event(event) | Selection::Free(event, _) => {
                let place = models[from].events.position(leader.axis, event) as f64;
                let there = self.place(models, leader.axis, from, place);
                let there = models[to].events.last_until(leader.axis, there);
                there.map_or(Selection::Nothing, Selection::Event)
            }
            Selection::Nothing | Selection::Finding(_) => Selection::Nothing,
        };
        follower.notes.chosen = None;
        // A peak has its own place in each log, and its own holders.
        if let Some(note) = leader.chosen_note(models[from])
            && let Some(pool) = note.pool.and_then(|pool| same_pool(models, from, pool))
        {
            follower.choose_note(models[to], note.kind, pool);
        }
    }
}

/// The pool of the same id in the other log; where both have one only, that.
fn same_pool(models: [&Model; 2], from: usize, pool: PoolIx) -> Option<PoolIx> {
    let (one, other) = (models[from], models[1 - from]);
    let only = (one.pools.len() == 1 && other.pools.len() == 1).then_some(0);
    let id = one.pool(pool).id;
    other.pools.iter().rposition(|of| of.id == id).or(only).map(PoolIx::next_of)
}

/// The mallocs of both, in the order of the first's and in that of the second's.
fn pairs(models: [&Model; 2]) -> [Vec<[LifeIx; 2]>; 2] {
    let pools = models.map(Model::busiest_pool);
    let common = marks::common(models).0;
    let bounds: Vec<_> = sections(models, pools, &common).iter().map(|s| s.sides.map(|side| side.records)).collect();
    let pairs = mallocs::pairs(models, pools, &bounds);
    [0, 1].map(|side| {
        let mut pairs = pairs.clone();
        pairs.sort_unstable_by_key(|pair| pair[side]);
        pairs
    })
}
