//! Title, figures, legend and notices above the panels; the x axis and the marks over them.

use super::frame::{MOST_NOTICES, NOTICE, PAD};
use super::{Anchor, Context, Page, Paint, Pos, Rect, Stroke, pos, ticks};
use crate::font::{fit, width};
use crate::model::{Axis, EventIx, Fact, NameIx, Pool};

/// Colours that the legend names.
const MOST_COLORS: usize = 14;
/// Their names are not longer.
const WIDEST: f32 = 150.0;

/// Draws everything above the panels.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let palette = context.palette;
    let room = context.frame.notices.w;
    let title = fit(&context.view.title, 18.0, room);
    paint.heading(pos(PAD, PAD + 15.0), 18.0, palette.ink, title);
    let mut at = pos(PAD, PAD + 36.0);
    if let Some(count) = findings(context) {
        paint.text(Anchor::Start, at, 12.5, palette.alarm, count.clone());
        at.x += width(&count, 12.5) + 16.0;
    }
    let facts = fit(&facts(context), 12.5, PAD + room - at.x);
    paint.text(Anchor::Start, at, 12.5, palette.dim, facts);
    legend(context, paint, pos(PAD, PAD + 58.0));
    notices(context, paint);
}

/// How much is wrong in the whole log; nothing where nothing is.
fn findings(context: &Context<'_>) -> Option<String> {
    match context.model.findings.total() {
        0 => None,
        n => Some(ticks::counted(n, "finding")),
    }
}

/// The figures in one line.
fn facts(context: &Context<'_>) -> String {
    let model = context.model;
    let Some(pool) = context.pool() else {
        return format!("{}, none of them about a pool", ticks::counted(model.events.len() as u64, "record"));
    };
    let mut parts = vec![pool_name(context, pool)];
    let (used, reserved) = (pool.used.peak().0, pool.reserved.peak().0);
    let lives = pool.lives.len() as u64;
    parts.push(ticks::counted(lives, "allocation"));
    parts.push(ticks::counted(model.events.len() as u64, "record"));
    parts.push(format!("peak used {}", ticks::bytes(used)));
    parts.push(match used {
        _ if model.unrecorded.has(Fact::Reserved) => "reserved: not recorded".to_owned(),
        0 => format!("peak reserved {}", ticks::bytes(reserved)),
        _ => format!("peak reserved {} ({:.3} × used)", ticks::bytes(reserved), reserved as f64 / used as f64),
    });
    parts.extend(pool.limit().map(|limit| format!("limit {}", ticks::bytes(limit.0))));
    if pool.refused > 0 {
        parts.push(format!("{} refused", ticks::count(pool.refused)));
    }
    parts.join("  ·  ")
}

fn pool_name(context: &Context<'_>, pool: &Pool) -> String {
    let device = pool.definition.map_or(String::new(), |d| format!(" on device {}", d.config.device));
    match context.model.pools.len() {
        1 => format!("Pool {}{device}", pool.id),
        n => format!("Pool {}{device} ({} of {n})", pool.id, context.view.pool.at() + 1),
    }
}

/// What is what by colour, the states of memory, and the lines of the chart.
fn legend(context: &Context<'_>, paint: &mut Paint, at: Pos) {
    let palette = context.palette;
    let right = PAD + context.frame.notices.w;
    let mut key = Key { paint, at, right, ink: palette.ink };
    // Where not everything fits, colours go before the rest.
    let room = if right > 900.0 { right - 470.0 } else { right - 90.0 };
    let (colors, mut left_out) = super::coloring::legend(context, MOST_COLORS);
    for (i, (name, color)) in colors.into_iter().enumerate() {
        let name = fit(&name, 12.0, WIDEST);
        if i > 0 && key.at.x + width(&name, 12.0) + GAP >= room {
            break;
        }
        key.item(&name, |paint, square| paint.rect(square, color));
        left_out -= 1;
    }
    key.ink = palette.dim;
    if left_out > 0 {
        key.words(&format!("and {left_out} more"));
    }
    states(context, &mut key);
}

/// The states of memory and the lines of the chart, as far as there is room.
fn states(context: &Context<'_>, key: &mut Key<'_>) {
    let palette = context.palette;
    key.item("mapped, free", |paint, square| paint.rect(square, palette.free));
    key.item("not mapped", |paint, square| {
        let slant = |d: f32| [pos(square.x + d, square.bottom()), pos(square.right(), square.y + d)];
        let other = |d: f32| [pos(square.x, square.bottom() - d), pos(square.right() - d, square.y)];
        paint.segments(vec![slant(0.0), slant(5.5), other(5.5)], Stroke::solid(palette.edge, 1.0));
        paint.outline(square, Stroke::solid(palette.edge, 1.0));
    });
    if context.view.page == Page::Addresses && context.pool().is_some_and(|pool| !pool.holes.is_empty()) {
        key.item("small hole", |paint, square| {
            let thin = Rect { y: square.y + 4.0, h: 3.0, ..square };
            paint.rect(square, palette.free);
            paint.rect(thin, super::map::hole_color(palette));
        });
    }
    key.at.x += 8.0;
    key.item("used", |paint, square| paint.rect(square, palette.used.fade(200)));
    key.item("reserved", |paint, square| {
        paint.rect(square, palette.reserved_area);
        let top = vec![pos(square.x, square.y), pos(square.right(), square.y)];
        paint.line(top, Stroke::solid(palette.reserved, 1.5));
    });
    if context.model.pending(context.view.pool).is_some_and(|pending| pending.changes() > 0) {
        key.item("pending", |paint, square| {
            paint.rect(square, palette.pending.fade(90));
            let top = vec![pos(square.x, square.y), pos(square.right(), square.y)];
            paint.line(top, Stroke::solid(palette.pending, 1.5));
        });
    }
    key.item(&threshold_words(context), |paint, square| {
        let middle = square.y + square.h / 2.0;
        let line = vec![pos(square.x, middle), pos(square.right(), middle)];
        paint.line(line, Stroke::dashed(palette.threshold, 1.5, 3.0));
    });
}

/// The threshold with its amount, where it has one amount only.
fn threshold_words(context: &Context<'_>) -> String {
    let Some(pool) = context.pool() else {
        return "threshold".to_owned();
    };
    let all = pool.threshold.extremes(EventIx(0), context.model.events.end());
    if context.model.unrecorded.has(Fact::Limit) && all == (0, 0) {
        return "threshold: not recorded".to_owned();
    }
    match all {
        (low, high) if low != high => "threshold".to_owned(),
        (u64::MAX, _) => "threshold: all kept".to_owned(),
        (amount, _) => format!("threshold {}", ticks::bytes(amount)),
    }
}

/// Space from one word of the legend to the next square, square included.
const GAP: f32 = 33.0;

/// The legend as it is written.
struct Key<'p> {
    paint: &'p mut Paint,
    at: Pos,
    /// Nothing is written beyond.
    right: f32,
    ink: super::Color,
}

impl Key<'_> {
    fn item(&mut self, name: &str, sign: impl FnOnce(&mut Paint, Rect)) {
        if self.at.x + 17.0 + width(name, 12.0) > self.right {
            return;
        }
        let square = Rect::between(self.at.x, self.at.y - 10.0, self.at.x + 11.0, self.at.y + 1.0);
        sign(self.paint, square);
        self.at.x += 17.0;
        self.words(name);
    }

    fn words(&mut self, words: &str) {
        if self.at.x + width(words, 12.0) > self.right {
            return;
        }
        self.paint.text(Anchor::Start, self.at, 12.0, self.ink, words);
        self.at.x += width(words, 12.0) + GAP - 17.0;
    }
}

fn notices(context: &Context<'_>, paint: &mut Paint) {
    let (palette, area) = (context.palette, context.frame.notices);
    let all = &context.view.notices;
    if all.is_empty() {
        return;
    }
    paint.rect(area, palette.notice);
    for (i, notice) in all.iter().take(MOST_NOTICES).enumerate() {
        let text = match i + 1 == MOST_NOTICES && all.len() > MOST_NOTICES {
            true => format!("and {} more", ticks::count((all.len() - i) as u64)),
            false => notice.clone(),
        };
        let at = pos(area.x + 10.0, area.y + (i as f32 + 0.7) * NOTICE);
        paint.text(Anchor::Start, at, 12.0, palette.ink, fit(&text, 12.0, area.w - 20.0));
    }
}

/// The numbers below the map and the grid lines over all panels.
pub(super) fn x_axis(context: &Context<'_>, paint: &mut Paint) {
    let (view, area) = (context.view, context.frame.map.area);
    let (unit, unit_name) = match view.axis {
        Axis::Record => (1, ""),
        Axis::Time => ticks::time_unit((view.x.to.abs()) as u64),
    };
    let first = match view.axis {
        Axis::Record if !context.model.events.is_empty() => context.model.events.number(EventIx(0)) as f64,
        _ => 0.0,
    };
    let mut most = (area.w / 95.0).max(1.0) as usize;
    if view.axis == Axis::Record {
        // There is nothing between two records.
        most = most.min((view.x.to - view.x.from).max(1.0) as usize);
    }
    let per = unit as f64;
    let (places, step) = ticks::ticks((view.x.from + first) / per, (view.x.to + first) / per, most);
    let mut lines = Vec::new();
    for place in &places {
        let x = context.frame.map.x.pixel(place * per - first);
        lines.push([pos(x, context.frame.axis), pos(x, context.frame.axis + 4.0)]);
        let text = ticks::decimal(*place, step);
        paint.text(Anchor::Middle, pos(x, context.frame.axis + 17.0), 11.5, context.palette.dim, text);
    }
    paint.segments(lines, Stroke::solid(context.palette.edge, 1.0));
    let title = match view.axis {
        Axis::Record => "record number".to_owned(),
        Axis::Time => format!("time since the first record, {unit_name}"),
    };
    let at = pos(area.x + area.w / 2.0, context.frame.axis + 36.0);
    paint.text(Anchor::Middle, at, 12.0, context.palette.ink, title);
}

/// Marks nearer to each other than this are ticks at the top instead of lines through the panels.
const LINES_APART: f32 = 10.0;

/// The user's marks: a line through the panels above the map, and the name above where it fits.
pub(super) fn marks(context: &Context<'_>, paint: &mut Paint) {
    let (frame, palette) = (context.frame, context.palette);
    let chart = frame.chart;
    let mut ticks = Vec::new();
    let (mut last, mut free_from) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for (x, name) in marks_in_view(context) {
        if x > last {
            ticks.push([pos(x, chart.y - 5.0), pos(x, chart.y)]);
        }
        last = x;
        let name = fit(context.model.name(name), 10.5, 160.0);
        let end = x + width(&name, 10.5);
        // A name that would run into the next one is left out; one at the right edge stands left of its line.
        let left = end - x;
        if x >= free_from && end <= chart.right() {
            paint.text(Anchor::Start, pos(x, chart.y - 8.0), 10.5, palette.dim, name);
            free_from = end + 10.0;
        } else if x - left >= free_from && end > chart.right() {
            paint.text(Anchor::End, pos(x, chart.y - 8.0), 10.5, palette.dim, name);
            free_from = x + 10.0;
        }
    }
    paint.segments(ticks, Stroke::solid(palette.dim, 1.0));
    for panel in [chart, frame.strip] {
        mark_lines(context, paint, panel);
    }
}

/// Places and names of the marks that are shown.
fn marks_in_view(context: &Context<'_>) -> Vec<(f32, NameIx)> {
    let area = context.frame.map.area;
    let shown = context.model.marks.iter().map(|m| (context.x_of(m.event).round(), m.name));
    shown.filter(|(x, _)| *x >= area.x && *x <= area.right()).collect()
}

/// A line through the panel for each mark that has room.
pub(super) fn mark_lines(context: &Context<'_>, paint: &mut Paint, panel: Rect) {
    let shown = marks_in_view(context);
    let mut lines = Vec::new();
    let mut last = f32::NEG_INFINITY;
    for (i, (x, _)) in shown.iter().copied().enumerate() {
        let next = shown.get(i + 1).map_or(f32::INFINITY, |n| n.0);
        if (x - last).min(next - x) >= LINES_APART && panel.h > 0.0 {
            lines.push([pos(x, panel.y), pos(x, panel.bottom())]);
        }
        last = x;
    }
    paint.segments(lines, Stroke::dashed(context.palette.dim.fade(150), 1.0, 2.0));
}
