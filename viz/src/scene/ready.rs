//! What a picture needs that is worked out of the whole log, once, and then at hand: the groups of a stack, the sums of a
//! colouring.

use super::{Page, View};
use crate::model::Model;

impl View {
    /// Whether that is at hand; else [`build`](super::build) works it out, which takes a walk over all records.
    #[must_use]
    pub fn is_ready(&self, model: &Model) -> bool {
        if self.pool.at() >= model.pools.len() {
            return true;
        }
        let stacked = self.stack.is_none_or(|by| model.has_groups(self.pool, by));
        let colored = self.page != Page::Addresses || model.has_sums(self.pool, self.color.summed());
        stacked && colored
    }

    /// Works it out. O(n) in the log's records.
    pub fn prepare(&self, model: &Model) {
        if self.pool.at() < model.pools.len() {
            let _ = self.stack.map(|by| model.groups(self.pool, by));
            model.sum(self.pool, self.color.summed());
        }
    }
}
