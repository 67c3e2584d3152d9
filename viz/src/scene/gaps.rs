//! Where records are missing: a band over the panels. What was there is not known, so nothing is shown.

use super::{Anchor, Context, Paint, Rect, Stroke, pos, ticks};
use crate::font::width;
use crate::model::{Axis, EventIx, Gap, Model};

/// Narrower ones are a stroke.
const NARROW: f32 = 3.0;
/// Narrower ones have no edges.
const EDGED: f32 = 8.0;
/// Size of the text.
const TEXT: f32 = 11.5;

/// The part of the axis that has no records.
pub(super) fn span(model: &Model, axis: Axis, gap: &Gap) -> (f64, f64) {
    let place = |event: u32| model.events.position(axis, EventIx(event)) as f64;
    let after = if axis == Axis::Record { 1.0 } else { 0.0 };
    (gap.event.0.checked_sub(1).map_or(0.0, |before| place(before) + after), place(gap.event.0))
}

/// Draws the bands; what is narrower is one stroke for all gaps of a pixel column, and columns beside each other are one.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (frame, palette) = (context.frame, context.palette);
    let area = frame.map.area;
    let mut narrow: Vec<(f32, f32)> = Vec::new();
    for gap in &context.model.gaps {
        let (from, to) = span(context.model, context.view.axis, gap);
        let (left, right) = (frame.map.x.pixel(from), frame.map.x.pixel(to));
        if right < area.x || left > area.right() {
            continue;
        }
        let (left, right) = (left.max(area.x), right.min(area.right()));
        if right - left >= NARROW {
            band(context, paint, (left, right), gap.records);
            continue;
        }
        let left = left.floor();
        match narrow.last_mut() {
            Some(last) if left <= last.1 => last.1 = last.1.max(left + 1.0),
            _ => narrow.push((left, left + 1.0)),
        }
    }
    for panel in frame.over().iter().filter(|panel| panel.h > 0.0) {
        let stroke = |(left, right): &(f32, f32)| Rect::between(*left, panel.y, *right, panel.bottom()).clip(panel);
        paint.rects(narrow.iter().filter_map(stroke).collect(), palette.alarm.fade(100));
    }
}

/// Over all panels, with what was lost in words where there is room.
fn band(context: &Context<'_>, paint: &mut Paint, (left, right): (f32, f32), records: u64) {
    let wide = right - left;
    let lost = format!("{} lost", ticks::counted(records, "record"));
    let words = [lost.as_str(), "records lost", "lost"].into_iter().find(|words| width(words, TEXT) + 8.0 <= wide);
    for panel in context.frame.over().into_iter().filter(|panel| panel.h > 0.0) {
        paint.rect(Rect::between(left, panel.y, right, panel.bottom()), context.palette.notice);
        if wide >= EDGED {
            let edges = [left, right].map(|x| [pos(x, panel.y), pos(x, panel.bottom())]);
            paint.segments(edges.to_vec(), Stroke::dashed(context.palette.alarm.fade(170), 1.0, 2.0));
        }
        if let Some(words) = words {
            let at = pos(left + wide / 2.0, panel.y + panel.h / 2.0 + 4.0);
            paint.text(Anchor::Middle, at, TEXT, context.palette.ink, words);
        }
    }
}
