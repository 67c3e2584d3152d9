//! The chart of the used bytes, stacked by label, stream or size.

use super::{Anchor, Color, Context, Paint, Pos, Rect, Scale, View, pos, ticks};
use crate::font::{fit, width};
use crate::model::{By, EventIx, Groups, MOST_GROUPS, Model, Span};

/// Size of the legend's texts.
const TEXT: f32 = 11.0;
/// Height of the legend.
const LEGEND: f32 = 17.0;
/// Names are not longer.
const WIDEST: f32 = 130.0;

impl By {
    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }

    /// What comes after a way to stack, or after none; `None` again after the last.
    #[must_use]
    pub fn after(now: Option<Self>) -> Option<Self> {
        match now {
            None => Self::ALL.first().copied(),
            Some(by) => Self::ALL.get(by as usize + 1).copied(),
        }
    }
}

/// The colours of the groups. A stream has its own everywhere.
fn color(context: &Context<'_>, groups: &Groups, by: By, at: usize) -> Color {
    let palette = context.palette;
    match groups.all().get(at).and_then(crate::model::Group::key) {
        Some(stream) if by == By::Stream => {
            palette.stream(context.model.streams.get(stream).map_or(at, |stream| stream.rank))
        }
        Some(_) if at < MOST_GROUPS => palette.stream(at),
        _ => palette.other,
    }
}

/// How much room the legend takes, as a part of the chart's height.
pub(super) fn headroom(area: Rect) -> f64 {
    f64::from((LEGEND + 8.0) / area.h.max(60.0))
}

/// Draws the groups on top of each other, the largest lowest: in each pixel column what they hold where they hold most
/// together. A group that is there in a column, but not at that moment or with less than a pixel, has a pixel.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint, by: By, y: &Scale, columns: &[EventIx]) {
    let area = context.frame.chart;
    let groups = context.model.groups(context.view.pool, by);
    let spans: Vec<Span> = columns.windows(2).map(|pair| groups.span(context.model, pair[0], pair[1])).collect();
    let level = |span: &Span, upto: usize| {
        let sum = span.top.iter().take(upto + 1).fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        y.pixel(sum as f64)
    };
    for at in (0..groups.all().len()).rev() {
        let points = steps(area.x, spans.iter().map(|span| level(span, at)));
        paint.area(points, area.bottom(), color(context, groups, by, at));
    }
    for at in 0..groups.all().len() {
        let thin = spans.iter().enumerate().filter_map(|(column, span)| {
            let below = if at == 0 { y.pixel(0.0) } else { level(span, at - 1) };
            let top = level(span, at);
            (span.most[at] > 0 && below - top < 1.0).then_some((column, (top.min(below - 1.0)).round()))
        });
        paint.rects(runs(area.x, thin), color(context, groups, by, at));
    }
}

/// One level a column; columns of the same level share two points.
fn steps(left: f32, levels: impl Iterator<Item = f32>) -> Vec<Pos> {
    let mut points: Vec<Pos> = Vec::new();
    for (column, y) in levels.enumerate() {
        let x = left + column as f32;
        match points.last_mut() {
            Some(last) if last.y == y => last.x = x + 1.0,
            _ => points.extend([pos(x, y), pos(x + 1.0, y)]),
        }
    }
    points
}

/// A pixel in each of these columns at its height; neighbours at one height are one.
fn runs(left: f32, cells: impl Iterator<Item = (usize, f32)>) -> Vec<Rect> {
    let mut rects: Vec<Rect> = Vec::new();
    for (column, y) in cells {
        let x = left + column as f32;
        match rects.last_mut() {
            Some(last) if last.y == y && last.right() == x => last.w += 1.0,
            _ => rects.push(Rect { x, y, w: 1.0, h: 1.0 }),
        }
    }
    rects
}

/// The groups by name, in the chart's upper edge.
pub(super) fn legend(context: &Context<'_>, paint: &mut Paint, by: By) {
    let (area, palette) = (context.frame.chart, context.palette);
    let groups = context.model.groups(context.view.pool, by);
    let names: Vec<String> = groups.all().iter().map(|group| fit(&group.name, TEXT, WIDEST)).collect();
    let wide = |name: &str| 15.0 + width(name, TEXT) + 12.0;
    let title = format!("by {}", by.name());
    let mut x = area.x + 6.0 + width(&title, TEXT) + 10.0;
    let mut shown = 0;
    while shown < names.len() && x + wide(&names[shown]) < area.right() - 60.0 {
        x += wide(&names[shown]);
        shown += 1;
    }
    let more = names.len() - shown;
    let last = if more > 0 { format!("and {more} more") } else { String::new() };
    let right = x + width(&last, TEXT) + 2.0;
    let top = area.y + 3.0;
    paint.rect(Rect::between(area.x + 2.0, top, right, top + LEGEND), palette.panel.fade(225));
    let base = top + 12.5;
    paint.text(Anchor::Start, pos(area.x + 6.0, base), TEXT, palette.dim, title.clone());
    let mut x = area.x + 6.0 + width(&title, TEXT) + 10.0;
    for (at, name) in names.iter().enumerate().take(shown) {
        paint.rect(Rect::between(x, base - 9.0, x + 10.0, base + 1.0), color(context, groups, by, at));
        paint.text(Anchor::Start, pos(x + 15.0, base), TEXT, palette.ink, name.clone());
        x += wide(name);
    }
    paint.text(Anchor::Start, pos(x, base), TEXT, palette.dim, last);
}

/// What each group holds once a record has taken effect, the largest first; for the pointer.
pub(super) fn told(model: &Model, view: &View, event: EventIx) -> Vec<String> {
    let Some(by) = view.stack.filter(|_| view.pool.at() < model.pools.len()) else {
        return Vec::new();
    };
    let groups = model.groups(view.pool, by);
    let held = groups.before(model, EventIx(event.0 + 1));
    let mut list: Vec<(u64, &str)> = held.into_iter().zip(groups.all().iter().map(|g| g.name.as_str())).collect();
    list.retain(|(bytes, _)| *bytes > 0);
    list.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    list.into_iter().map(|(bytes, name)| format!("{name}: {}", ticks::bytes(bytes))).collect()
}
