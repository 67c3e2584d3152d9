//! Where the view was before: undoing a zoom goes back there.

use super::{Page, Range, View};
use crate::model::PoolIx;

/// Changes that follow each other faster are one: a turn of the wheel, a drag.
const ONE_GESTURE: f64 = 0.5;
/// Places that are kept.
const MOST: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    x: Range,
    y: Range,
    page: Page,
    pool: PoolIx,
}

/// The places before this one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    past: Vec<(Place, crate::model::Axis)>,
    last: f64,
    /// The change to come is an undo.
    undone: bool,
}

fn place(view: &View) -> (Place, crate::model::Axis) {
    (Place { x: view.x, y: view.y, page: view.page, pool: view.pool }, view.axis)
}

impl History {
    /// Notes that the view was changed from another one, at this time in seconds. Changes of one gesture are one.
    pub fn note(&mut self, before: &View, after: &View, seconds: f64) {
        if std::mem::take(&mut self.undone) || place(before) == place(after) {
            return;
        }
        if seconds - self.last > ONE_GESTURE || self.past.is_empty() {
            self.past.push(place(before));
            let over = self.past.len().saturating_sub(MOST);
            self.past.drain(..over);
        }
        self.last = seconds;
    }

    /// Whether there is a place to go back to.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// Back to the place before. Does nothing where there is none.
    pub fn undo(&mut self, view: &mut View) {
        if let Some((place, axis)) = self.past.pop() {
            (view.x, view.y, view.page, view.pool, view.axis) = (place.x, place.y, place.page, place.pool, axis);
            (self.last, self.undone) = (f64::NEG_INFINITY, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::scene::Size;

    #[test]
    fn a_gesture_is_undone_at_once() {
        let mut view = View::whole(&Model::default(), Size { w: 800.0, h: 600.0 });
        let mut history = History::default();
        let start = view.clone();
        let change = |view: &mut View, to: f64, seconds: f64, history: &mut History| {
            let before = view.clone();
            view.x.to = to;
            history.note(&before, view, seconds);
        };
        for (to, seconds) in [(0.9, 1.0), (0.8, 1.1), (0.7, 1.2)] {
            change(&mut view, to, seconds, &mut history);
        }
        change(&mut view, 0.5, 9.0, &mut history);
        history.undo(&mut view);
        assert_eq!(view.x.to, 0.7);
        let now = view.clone();
        history.note(&start, &now, 9.1);
        history.undo(&mut view);
        assert_eq!(view, start);
        assert!(history.is_empty());
    }
}
