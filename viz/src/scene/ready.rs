//! What a picture needs that is worked out of the whole log, once, and then at hand: the groups of a stack, the sums of a
//! colouring, the lanes, who handed memory to whom.

use super::{ColorBy, Page, Selection, View};
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
        stacked && colored && (!self.is_about_order() || model.is_prepared())
    }

    /// Works it out. O(n) in the log's records.
    pub fn prepare(&self, model: &Model) {
        if self.pool.at() < model.pools.len() {
            let _ = self.stack.map(|by| model.groups(self.pool, by));
            model.sum(self.pool, self.color.summed());
        }
        if self.is_about_order() {
            model.prepare();
        }
    }

    /// What can be shown of it with as little as can be: the address map.
    #[must_use]
    pub fn at_once(&self) -> Self {
        let (page, color, selection) = (Page::default(), ColorBy::default(), Selection::Nothing);
        Self { page, color, selection, stack: None, answer: None, ..self.clone() }
    }

    /// Whether it shows what came before and after what else.
    fn is_about_order(&self) -> bool {
        matches!(self.page, Page::Lanes | Page::Flows) || matches!(self.selection, Selection::Life(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Size;
    use crate::source;
    use weir::trace::text;

    #[test]
    fn the_map_waits_for_less_than_the_lanes() {
        let log = format!("{}\nnumber=0 time=0 record=pool_created pool=0\n", text::HEADER);
        let model = source::read("a.log", log.as_bytes()).expect("a log").model;
        let lanes = View { page: Page::Lanes, ..View::whole(&model, Size { w: 900.0, h: 600.0 }) };
        let map = lanes.at_once();
        assert!(!map.is_ready(&model) && !lanes.is_ready(&model));
        map.prepare(&model);
        assert!(map.is_ready(&model) && !lanes.is_ready(&model), "what a long log shows first");
        lanes.prepare(&model);
        assert!(lanes.is_ready(&model) && View { page: Page::Flows, ..lanes }.is_ready(&model));
    }
}
