//! The marks that a user sets, beside those of the log.

use super::{Anchor, Context, Frame, Paint, Range, Rect, Selection, Stroke, View, pos};
use crate::font::{fit, width};
use crate::model::{EventIx, Model};

/// Size of the names.
const TEXT: f32 = 10.5;
/// Widest name.
const WIDEST: f32 = 160.0;
/// Longest name that is kept.
const LONGEST: usize = 200;

/// A place that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The record.
    pub event: EventIx,
    /// The name.
    pub name: String,
}

impl View {
    /// Names a record; one that has a name gets this one. An empty name takes the mark away.
    pub fn set_mark(&mut self, event: EventIx, name: &str) {
        let name: String = name.trim().chars().take(LONGEST).collect();
        self.marks.retain(|mark| mark.event != event);
        if !name.is_empty() {
            let at = self.marks.partition_point(|mark| mark.event < event);
            self.marks.insert(at, Mark { event, name });
        }
    }

    /// The user's mark at a record.
    #[must_use]
    pub fn mark_at(&self, event: EventIx) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.event == event)
    }

    /// Goes to a record: it is selected, and in sight.
    pub fn go_to(&mut self, model: &Model, frame: &Frame, event: EventIx) {
        self.selection = Selection::Event(event);
        self.have_in_sight(model, event);
        self.show_in_list(model, frame);
    }

    /// Moves along x until the record is in sight.
    pub(super) fn have_in_sight(&mut self, model: &Model, event: EventIx) {
        let place = model.events.position(self.axis, event) as f64;
        if !(self.x.from..=self.x.to).contains(&place) {
            let half = self.x.length() / 2.0;
            let whole = model.events.extent(self.axis) as f64;
            self.x = Range { from: place - half, to: place + half }.within(whole);
        }
    }

    /// Goes to the next (1) or previous (-1) mark, of the log or of the user, around the ends.
    pub(super) fn step_mark(&mut self, model: &Model, frame: &Frame, by: i64) {
        let mut marks: Vec<EventIx> = model.marks.iter().map(|mark| mark.event).collect();
        marks.extend(self.marks.iter().map(|mark| mark.event));
        marks.sort_unstable();
        marks.dedup();
        let now = self.selected_event(model);
        let next = match (now, by > 0) {
            (Some(now), true) => marks.iter().find(|mark| **mark > now).or(marks.first()),
            (Some(now), false) => marks.iter().rfind(|mark| **mark < now).or(marks.last()),
            (None, true) => marks.first(),
            (None, false) => marks.last(),
        };
        if let Some(event) = next.copied() {
            self.go_to(model, frame, event);
        }
    }
}

/// A line through all panels over the x axis for each, one for those of a pixel, and its name in a flag at the top.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (frame, palette) = (context.frame, context.palette);
    let area = frame.map.area;
    let (mut last, mut free_from) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for mark in context.view.marks.iter().filter(|mark| mark.event < context.model.events.end()) {
        let x = context.x_of(mark.event).round();
        if x < area.x || x > area.right() {
            continue;
        }
        if x > last {
            paint.line(vec![pos(x, frame.chart.y), pos(x, frame.axis)], Stroke::solid(palette.used, 1.0));
        }
        last = x;
        let name = fit(&mark.name, TEXT, WIDEST);
        let long = width(&name, TEXT) + 8.0;
        // At the right edge the flag flies to the left.
        let left = if x + long <= area.right() { x } else { x - long };
        if left >= free_from {
            let flag = Rect { x: left, y: frame.chart.y, w: long, h: TEXT + 5.0 };
            paint.rect(flag, palette.used);
            let ink = palette.ink_on(palette.used);
            paint.text(Anchor::Start, pos(left + 4.0, flag.y + TEXT + 0.5), TEXT, ink, name);
            free_from = left + long + 2.0;
        }
    }
}
