//! Used and reserved bytes over the x axis, a pixel column at a time.

use super::{Anchor, Context, Frame, Paint, Pos, Rect, Scale, Stroke, View, pos, ticks};
use crate::model::{Curve, EventIx, Model, Pool};

/// Draws the panel; answers nothing that others need.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let area = context.frame.chart;
    let palette = context.palette;
    super::panel(context, paint, area, "Memory");
    let Some(pool) = context.pool() else {
        return;
    };
    let (stack, limit) = (context.view.stack, near_limit(pool));
    let top = top(context, pool);
    let y = Scale::new(0.0, top, area.bottom(), area.y);
    grid(context, paint, &y, top);
    let columns = &context.columns;
    let reserved = Columns::of(&pool.reserved, columns);
    let used = Columns::of(&pool.used, columns);
    paint.area(reserved.tops(area.x, &y), area.bottom(), palette.reserved_area);
    let pending = context.model.pending(context.view.pool).map(|pending| Columns::of(pending, columns));
    if let Some(pending) = pending.as_ref().filter(|_| stack.is_none()) {
        paint.area(pending.tops(area.x, &y), area.bottom(), palette.pending.fade(90));
    }
    paint.area(used.tops(area.x, &y), area.bottom(), palette.used.fade(110));
    paint.area(used.bottoms(area.x, &y), area.bottom(), palette.used.fade(170));
    paint.rects(reserved.line(area, &y, 1.5), palette.reserved);
    // Over the line of the reserved bytes, which may be as high: what is thin is not to lie behind it.
    if let Some(by) = stack {
        super::stack::draw(context, paint, by, &y, columns);
    }
    if stack.is_none() {
        // The stack's upper edge is the same, and a line would hide its thinnest part.
        paint.rects(used.line(area, &y, 1.2), palette.used);
    }
    if let Some(pending) = pending {
        paint.rects(pending.line(area, &y, 1.2), palette.pending);
    }
    settings(context, paint, pool, (&y, limit), columns);
    if let Some(by) = stack {
        super::stack::legend(context, paint, by);
    }
}

/// The threshold and the limit, as long as there is a pool that they hold for.
fn settings(
    context: &Context<'_>,
    paint: &mut Paint,
    pool: &Pool,
    (y, limit): (&Scale, Option<u64>),
    columns: &[EventIx],
) {
    let (area, palette) = (context.frame.chart, context.palette);
    let from = pool.created.map_or(area.x, |event| context.x_of(event)).max(area.x);
    let to = pool.destroyed.map_or(area.right(), |event| context.x_of(event)).min(area.right());
    if from > to {
        return;
    }
    let last = ((to - area.x).ceil() as usize).clamp(1, columns.len() - 1);
    let first = ((from - area.x) as usize).min(last - 1);
    let (left, right) = (area.x + first as f32, area.x + last as f32);
    let threshold = Columns::of(&pool.threshold, &columns[first..=last]);
    if threshold.highest() as f64 <= y.value(area.y) {
        paint.line(threshold.tops(left, y), Stroke::dashed(palette.threshold, 1.2, 4.0));
    }
    if let Some(limit) = limit {
        let at = y.pixel(limit as f64);
        paint.line(vec![pos(left, at), pos(right, at)], Stroke::dashed(palette.alarm, 1.2, 2.0));
        paint.text(Anchor::Start, pos(area.right() + 8.0, at + 4.0), 11.5, palette.alarm, "limit");
    }
}

/// The limit, where it is near enough to matter.
fn near_limit(pool: &Pool) -> Option<u64> {
    let limit = pool.limit()?.0;
    (limit as f64 <= pool.reserved.peak().0 as f64 * 1.3).then_some(limit)
}

/// The largest amount that the axis shows, with the room that a stack's legend takes.
fn top(context: &Context<'_>, pool: &Pool) -> f64 {
    let room = if context.view.stack.is_some() { super::stack::headroom(context.frame.chart) } else { 0.0 };
    top_of(pool, near_limit(pool)) * (1.0 + room)
}

fn top_of(pool: &Pool, limit: Option<u64>) -> f64 {
    let peak = pool.reserved.peak().0.max(pool.used.peak().0) as f64;
    let threshold = Some(pool.threshold.peak().0 as f64).filter(|t| *t <= peak * 1.4);
    let top = peak.max(threshold.unwrap_or(0.0)).max(limit.unwrap_or(0) as f64);
    (top * 1.12).max(1.0)
}

fn grid(context: &Context<'_>, paint: &mut Paint, y: &Scale, top: f64) {
    let area = context.frame.chart;
    let unit = ticks::unit_for(top as u64);
    // There is no part of a byte.
    let most = ((area.h / 28.0).max(2.0) as usize).min((top as usize).max(1));
    let (places, step) = ticks::ticks(0.0, top / unit.bytes as f64, most);
    let mut lines = Vec::new();
    for place in places {
        let at = y.pixel(place * unit.bytes as f64);
        // The caption is there.
        if at < area.y + 7.0 {
            continue;
        }
        lines.push([pos(area.x, at), pos(area.right(), at)]);
        let text = match place == 0.0 {
            true => "0".to_owned(),
            false => format!("{} {}", ticks::decimal(place, step), unit.name),
        };
        paint.text(Anchor::End, pos(area.x - 8.0, at + 4.0), 11.5, context.palette.dim, text);
    }
    paint.segments(lines, Stroke::solid(context.palette.grid, 1.0));
}

/// A ring at the peak of the used bytes, with its amount: over the bands of lost records.
pub(super) fn peak(context: &Context<'_>, paint: &mut Paint) {
    let Some(pool) = context.pool() else {
        return;
    };
    let (peak, Some(event)) = pool.used.peak() else {
        return;
    };
    let area = context.frame.chart;
    let y = Scale::new(0.0, top(context, pool), area.bottom(), area.y);
    let x = context.x_of(event);
    if x < area.x || x > area.right() {
        return;
    }
    let at = y.pixel(peak as f64);
    let ring = Rect::between(x - 2.5, at - 2.5, x + 2.5, at + 2.5);
    paint.rect(ring, context.palette.ground);
    paint.outline(ring, Stroke::solid(context.palette.used, 1.5));
    let text = format!("peak {}", ticks::bytes(peak));
    let room = crate::font::width(&text, 11.5) + 10.0;
    if room > area.w {
        return;
    }
    // Right of the ring, or left of it, or where there is room.
    let left = match x + room > area.right() {
        true => (x - room).max(area.x),
        false => x + 4.0,
    };
    let above = (at - 6.0).max(area.y + 11.0);
    let behind = Rect::between(left, above - 11.0, left + room - 4.0, above + 3.0);
    paint.rect(behind, context.palette.panel.fade(190));
    paint.text(Anchor::Start, pos(left + 3.0, above), 11.5, context.palette.ink, text);
}

/// The records of each pixel column: those of column `i` are `columns[i]..columns[i + 1]`.
pub(super) fn columns(model: &Model, view: &View, frame: &Frame) -> Vec<EventIx> {
    let (area, x) = (frame.chart, &frame.map.x);
    let count = area.w.floor().max(1.0) as usize;
    model.events.firsts_from(view.axis, (0..=count).map(|i| x.value(area.x + i as f32)))
}

/// What a curve does in each pixel column.
struct Columns {
    /// What held on entering, smallest, largest, and what held on leaving.
    values: Vec<[u64; 4]>,
}

impl Columns {
    fn of(curve: &Curve, columns: &[EventIx]) -> Self {
        let column = |pair: &[EventIx]| {
            let (low, high) = curve.extremes(pair[0], pair[1]);
            [curve.before(pair[0]), low, high, curve.before(pair[1])]
        };
        Self { values: columns.windows(2).map(column).collect() }
    }

    fn highest(&self) -> u64 {
        self.values.iter().map(|v| v[2]).max().unwrap_or(0)
    }

    fn tops(&self, left: f32, y: &Scale) -> Vec<Pos> {
        self.steps(left, |v| y.pixel(v[2] as f64))
    }

    fn bottoms(&self, left: f32, y: &Scale) -> Vec<Pos> {
        self.steps(left, |v| y.pixel(v[1] as f64))
    }

    /// One level a column; columns of the same level share two points.
    fn steps(&self, left: f32, level: impl Fn(&[u64; 4]) -> f32) -> Vec<Pos> {
        let mut points: Vec<Pos> = Vec::new();
        for (i, values) in self.values.iter().enumerate() {
            let (x, y) = (left + i as f32, level(values));
            match points.last_mut() {
                Some(last) if last.y == y => last.x = x + 1.0,
                _ => points.extend([pos(x, y), pos(x + 1.0, y)]),
            }
        }
        points
    }

    /// The line: in each column everything between both extremes, and what held on entering is between them. Columns
    /// alike are one.
    fn line(&self, area: Rect, y: &Scale, width: f32) -> Vec<Rect> {
        let mut rects: Vec<Rect> = Vec::new();
        for (i, [_, low, high, _]) in self.values.iter().enumerate() {
            let x = area.x + i as f32;
            let (top, bottom) = (y.pixel(*high as f64) - width / 2.0, y.pixel(*low as f64) + width / 2.0);
            match rects.last_mut() {
                Some(last) if last.y == top && last.bottom() == bottom => last.w = x + 1.0 - last.x,
                _ => rects.push(Rect::between(x, top, x + 1.0, bottom)),
            }
        }
        rects
    }
}
