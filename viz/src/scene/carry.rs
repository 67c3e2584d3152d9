//! A view of one log carried over to another: the same log read again, or as it has grown.

use super::{Notes, Range, Selection, View};
use crate::model::{Model, PoolIx};

impl View {
    /// Looks at this log as `old` looked at its own. What was shown whole is whole again; a range at its end stays at the
    /// end; what was selected is selected where it is there.
    pub fn look_as(&mut self, model: &Model, old: &Self, old_model: &Model) {
        let (size, title, notices) = (self.size, std::mem::take(&mut self.title), std::mem::take(&mut self.notices));
        *self = Self { size, title, notices, notes: Notes::default(), answer: None, ..old.clone() };
        self.listing.forget();
        if self.pool.at() >= model.pools.len() {
            self.pool = model.busiest_pool().unwrap_or(PoolIx(0));
        }
        let (was, is) = (old_model.events.extent(old.axis) as f64, model.events.extent(self.axis) as f64);
        self.x = match old.x {
            Range { from, to } if from <= 0.0 && to >= was => Range { from: 0.0, to: is },
            Range { from, to } if to >= was => Range { from: from + is - was, to: is }.within(is),
            within => within.within(is),
        };
        let heights = [old.addresses(old_model).length(), self.addresses(model).length()];
        self.y = match old.y {
            Range { from, to } if from <= 0.0 && to >= heights[0] => Range { from: 0.0, to: heights[1] },
            within => within.within(heights[1]),
        };
        let there = match self.selection {
            Selection::Life(life) => life.at() < model.lives.len(),
            Selection::Event(event) => event.at() < model.events.len(),
            Selection::Finding(finding) => finding.at() < model.findings.flags().len(),
            // What was free there need not be so now.
            Selection::Free(..) => false,
            Selection::Nothing => true,
        };
        if !there {
            self.selection = Selection::Nothing;
        }
        self.marks.retain(|mark| mark.event < model.events.end());
        self.top = self.top.min(model.events.len());
    }
}
