//! Where records are missing: a band over the panels. What was there is not known, so nothing is shown.

use super::{Anchor, Context, Paint, Pos, Rect, Stroke, pos, ticks};
use crate::font::width;
use crate::model::{Axis, EventIx, Gap, Model};

/// Narrower ones are a line.
const NARROW: f32 = 3.0;
/// Size of the text.
const TEXT: f32 = 11.5;

/// The part of the axis that has no records.
pub(super) fn span(model: &Model, axis: Axis, gap: &Gap) -> (f64, f64) {
    let place = |event: u32| model.events.position(axis, EventIx(event)) as f64;
    let after = if axis == Axis::Record { 1.0 } else { 0.0 };
    (gap.event.0.checked_sub(1).map_or(0.0, |before| place(before) + after), place(gap.event.0))
}

/// Draws the bands.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (frame, palette) = (context.frame, context.palette);
    let panels = frame.over();
    let mut lines = Vec::new();
    for gap in &context.model.gaps {
        let (from, to) = span(context.model, context.view.axis, gap);
        let (left, right) = (frame.map.x.pixel(from), frame.map.x.pixel(to));
        for panel in panels.iter().filter(|p| p.h > 0.0) {
            let band = Rect::between(left, panel.y, right.max(left + 0.5), panel.bottom());
            match band.clip(panel) {
                Some(band) if band.w >= NARROW => self::band(context, paint, band, gap.records, &mut lines),
                Some(band) => lines.push([pos(band.x, band.y), pos(band.x, band.bottom())]),
                None => {}
            }
        }
    }
    lines.dedup_by(|a, b| (a[0].x - b[0].x).abs() < 1.0 && a[0].y == b[0].y);
    paint.segments(lines, Stroke::dashed(palette.alarm.fade(170), 1.0, 2.0));
}

fn band(context: &Context<'_>, paint: &mut Paint, band: Rect, records: u64, lines: &mut Vec<[Pos; 2]>) {
    paint.rect(band, context.palette.notice);
    lines.extend([band.x, band.right()].map(|x| [pos(x, band.y), pos(x, band.bottom())]));
    let words = [format!("{} lost", ticks::counted(records, "record")), "records lost".to_owned(), "lost".to_owned()];
    if let Some(text) = words.into_iter().find(|t| width(t, TEXT) + 8.0 <= band.w) {
        let at = pos(band.x + band.w / 2.0, band.y + band.h / 2.0 + 4.0);
        paint.text(Anchor::Middle, at, TEXT, context.palette.ink, text);
    }
}
