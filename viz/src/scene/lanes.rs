//! The stream lanes: what each stream did, and the arrows of the happens-before graph between them. What lies in one
//! pixel column is drawn once, so that a picture of any log is bounded; nothing that happened is without its column.

use super::acts;
use super::frame::PAD;
use super::page::Panel;
use super::rows::{NAMED, Rows, lane_color, lane_name};
use super::{Anchor, Context, Frame, Paint, Pos, Rect, Scale, Selection, Stroke, View, describe, pos, ticks};
use crate::font::{fit, width};
use crate::model::{Act, EventIx, Lane, LifeIx, Model, Payload, Tie};
use std::collections::BTreeMap;

/// Lines of a kind that are drawn between lanes, at most.
const MOST_ARROWS: usize = 128;
/// With more than these, they have no heads.
const MOST_HEADS: usize = 200;
/// Those that leave the picture at its right, at most.
const MOST_BEYOND: usize = 64;
/// Arrows of one part of the axis that are looked at for one to draw.
const MOST_TRIED: usize = 64;
/// Hand-overs of the selected allocation, at most.
const MOST_HAND_OVERS: usize = 200;
/// How near the pointer has to come to a record.
const NEAR: f32 = 5.0;
/// Size of the texts.
const TEXT: f32 = 11.0;

/// The panel.
pub(super) struct StreamLanes;

impl Panel for StreamLanes {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        let area = context.frame.map.area;
        let caption = super::of_pool(context, "Streams");
        super::panel(context, paint, area, &caption);
        key(context, paint, PAD + width(&caption, 13.0) + 24.0);
        let Some(rows) = &context.frame.lanes else { return };
        if rows.lanes.is_empty() {
            let words = "No stream did anything in the records in sight.";
            paint.text(Anchor::Start, pos(area.x + 20.0, area.y + 30.0), 13.0, context.palette.dim, words);
        }
        grounds(context, paint, rows);
        super::header::mark_lines(context, paint, area);
        arrows(context, paint, rows);
        acts::draw(context, paint, rows);
        words(context, paint, rows);
        chosen(context, paint, rows);
    }

    fn at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Selection {
        under(model, view, frame, at).map_or(Selection::Nothing, Selection::Event)
    }

    fn tell(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<String> {
        let lane = frame.lanes.as_ref().and_then(|rows| rows.at(at.y));
        let mut lines: Vec<String> = lane.map(|lane| lane_name(model, lane)).into_iter().collect();
        if let Some(event) = under(model, view, frame, at) {
            lines.push(format!("{} {}", model.events.kind(event).name(), describe::headline(model, event)));
            lines.extend(super::hover::moment_lines(model, view, event));
        }
        lines
    }
}

/// The record of the lane at the place that is nearest, if it is near.
fn under(model: &Model, view: &View, frame: &Frame, at: Pos) -> Option<EventIx> {
    let lane = frame.lanes.as_ref()?.at(at.y)?;
    let here = model.events.last_until(view.axis, frame.map.x.value(at.x)).unwrap_or(EventIx(0));
    let away = |event: &EventIx| {
        let x = frame.map.x.pixel(model.events.position(view.axis, *event) as f64);
        (x + half(frame.map.x) - at.x).abs()
    };
    let near = model.lanes().around(lane, view.pool, here);
    near.min_by(|a, b| away(a).total_cmp(&away(b))).filter(|event| away(event) <= NEAR.max(2.0 * half(frame.map.x)))
}

/// Half the width of what stands for one record.
pub(super) fn half(x: Scale) -> f32 {
    ((1.0 / x.per_pixel()) as f32 * 0.35).clamp(0.5, 4.0)
}

fn grounds(context: &Context<'_>, paint: &mut Paint, rows: &Rows) {
    let palette = context.palette;
    let area = rows.area;
    let (mut lines, mut edges) = (Vec::new(), Vec::new());
    for (at, lane) in rows.lanes.iter().enumerate() {
        let top = area.y + at as f32 * rows.high;
        let middle = top + rows.high / 2.0;
        lines.push([pos(area.x, middle), pos(area.right(), middle)]);
        if rows.high >= NAMED {
            edges.push([pos(area.x, top + rows.high), pos(area.right(), top + rows.high)]);
            let name = fit(&lane_name(context.model, *lane), TEXT, 78.0);
            paint.text(Anchor::End, pos(area.x - 20.0, middle + 4.0), TEXT, palette.ink, name);
            let sample = Rect::between(area.x - 14.0, middle - 5.0, area.x - 5.0, middle + 5.0);
            paint.rect(sample, lane_color(context, *lane));
        }
    }
    paint.segments(edges, Stroke::solid(palette.grid, 1.0));
    if rows.high >= 3.0 {
        paint.segments(lines, Stroke::solid(palette.edge, 1.0));
    }
}

/// How an arrow looks.
fn stroke(context: &Context<'_>, tie: Tie) -> Stroke {
    let palette = context.palette;
    match tie {
        Tie::Wait => Stroke::solid(palette.ink, 1.2),
        Tie::Inserted => Stroke::dashed(palette.threshold, 1.5, 3.0),
        Tie::Sync => Stroke::dashed(palette.dim, 1.0, 2.0),
        Tie::Reuse => Stroke::solid(palette.used.fade(120), 2.5),
    }
}

/// Where in its lanes an arrow begins and ends, as the acts' bands count: at the sign that it belongs to.
fn at_signs(tie: Tie) -> (f32, f32) {
    match tie {
        Tie::Wait => (0.37, -0.45),
        Tie::Inserted => (0.41, -0.45),
        Tie::Sync => (0.0, 0.22),
        Tie::Reuse => (0.15, -0.15),
    }
}

/// One that is drawn: both ends.
type Drawn = [Pos; 2];

fn arrows(context: &Context<'_>, paint: &mut Paint, rows: &Rows) {
    let drawn = Tie::ALL.map(|tie| (tie, lines(context, rows, tie)));
    let count: usize = drawn.iter().map(|d| d.1.len()).sum();
    for (tie, lines) in drawn {
        let stroke = stroke(context, tie);
        if count <= MOST_HEADS {
            paint.segments(lines.iter().flat_map(head).collect(), Stroke { dash: super::Dash::Solid, ..stroke });
        }
        let faded = count > MOST_HEADS;
        let color = stroke.color.fade(if faded { stroke.color.a / 2 } else { stroke.color.a });
        paint.segments(lines, Stroke { color, ..stroke });
    }
}

/// All that lead to records in sight; where those are many, some of every part of the axis, first those that each part
/// begins with. And those that leave the picture at its right.
fn lines(context: &Context<'_>, rows: &Rows, tie: Tie) -> Vec<Drawn> {
    let arrows = context.model.lanes().arrows(tie);
    let (first, past) = in_view(context);
    let (at, end) = (arrows.first_to(first), arrows.first_to(past));
    let (begin, finish) = at_signs(tie);
    let half = half(context.frame.map.x);
    let concerns = |at: &usize| context.model.lanes().concerns(arrows.get(*at).to, context.view.pool);
    let line = |at: usize| {
        let arrow = arrows.get(at);
        let from = rows.middle(arrow.from_lane)? + begin * rows.high;
        let to = rows.middle(context.model.lanes().lane(arrow.to)?)? + finish * rows.high;
        clipped([pos(context.x_of(arrow.from) + half, from), pos(context.x_of(arrow.to) + half, to)], rows.area)
    };
    let every = ((end - at) / MOST_ARROWS + 1).next_power_of_two();
    let parts = (at.next_multiple_of(every)..end).step_by(every);
    // Those of the pool may be few among others.
    let of_part = |at: usize| (at..(at + every).min(end)).take(MOST_TRIED).find(concerns);
    let mut out: Vec<Drawn> = parts.filter_map(of_part).filter_map(line).collect();
    let beyond = (end..arrows.len()).take(MOST_BEYOND).filter(|at| arrows.get(*at).from < past).filter(concerns);
    out.extend(beyond.filter_map(line));
    out
}

/// The records in sight, the last one excluded.
pub(super) fn in_view(context: &Context<'_>) -> (EventIx, EventIx) {
    let (events, axis, x) = (&context.model.events, context.view.axis, context.view.x);
    (events.first_from(axis, x.from), events.first_from(axis, x.to))
}

/// The part of a line between the left and right edge.
fn clipped([a, b]: Drawn, area: Rect) -> Option<Drawn> {
    if b.x < area.x || a.x > area.right() {
        return None;
    }
    let at = |x: f32| if b.x > a.x { a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x) } else { a.y };
    let left = if a.x < area.x { pos(area.x, at(area.x)) } else { a };
    let right = if b.x > area.right() { pos(area.right(), at(area.right())) } else { b };
    Some([left, right])
}

fn head([from, to]: &Drawn) -> [Drawn; 2] {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(0.1);
    let (ux, uy) = (dx / length * 6.0, dy / length * 6.0);
    let side = |s: f32| [*to, pos(to.x - ux - s * uy * 0.5, to.y - uy + s * ux * 0.5)];
    [side(1.0), side(-1.0)]
}

/// Numbers beside the ticks, where the records have room for them.
fn words(context: &Context<'_>, paint: &mut Paint, rows: &Rows) {
    let room = (1.0 / context.frame.map.x.per_pixel()) as f32;
    if room < 40.0 || rows.high < 30.0 || !acts::apart(context) {
        return;
    }
    let (first, past) = in_view(context);
    let mut free_from = BTreeMap::new();
    for event in (first.0..past.0).map(EventIx) {
        let Payload::Life(life) = context.model.events.payload(event) else { continue };
        if context.model.life(life).pool != context.view.pool {
            continue;
        }
        let act = Act::of(context.model.events.kind(event));
        let below = act == Some(Act::Free);
        let stream = if below { context.model.freed_on(life) } else { context.model.life(life).stream };
        let Some(middle) = rows.middle(Lane::Stream(stream)) else { continue };
        let life = context.model.life(life);
        let text = fit(&format!("#{} {}", life.id, ticks::bytes(life.given.0)), TEXT, room - 12.0);
        let y = if below { middle + 0.30 * rows.high - 1.0 } else { middle - 0.14 * rows.high };
        // What happened at once has one place.
        let x = context.x_of(event);
        if x >= free_from.insert((stream, below), x + room).unwrap_or(x) {
            paint.text(Anchor::Start, pos(x + 10.0, y), TEXT, context.palette.ink, text);
        }
    }
}

/// The selected allocation: its malloc and its free, and the arrows that its memory came by.
fn chosen(context: &Context<'_>, paint: &mut Paint, rows: &Rows) {
    let Selection::Life(life) = context.view.selection else {
        return;
    };
    let mut lines = Vec::new();
    for link in context.model.came_from(life).iter().take(MOST_HAND_OVERS) {
        lines.extend(hand_over(context, rows, link.life, life));
    }
    for link in context.model.went_to(life).iter().take(MOST_HAND_OVERS) {
        lines.extend(hand_over(context, rows, life, link.life));
    }
    let stroke = Stroke::solid(context.palette.chosen, 2.0);
    paint.segments(lines.iter().flat_map(head).collect(), stroke);
    paint.segments(lines, stroke);
    let model = context.model;
    let of = model.life(life);
    for (event, stream) in [(of.born(), of.stream), (of.died(), model.freed_on(life))] {
        let (Some(event), Some(middle)) = (event, rows.middle(Lane::Stream(stream))) else { continue };
        let x = context.x_of(event);
        let ring = Rect::between(x - 4.0, middle - 0.36 * rows.high, x + 4.0, middle + 0.36 * rows.high);
        if x >= rows.area.x && x <= rows.area.right() {
            paint.outline(ring, stroke);
        }
    }
}

fn hand_over(context: &Context<'_>, rows: &Rows, from: LifeIx, to: LifeIx) -> Option<Drawn> {
    let model = context.model;
    let (a, b) = (model.life(from).died()?, model.life(to).born()?);
    let (y0, y1) =
        (rows.middle(Lane::Stream(model.freed_on(from)))?, rows.middle(Lane::Stream(model.life(to).stream))?);
    clipped([pos(context.x_of(a), y0), pos(context.x_of(b), y1)], rows.area)
}

/// What the signs are, at the right above the panel, as far as `from`.
fn key(context: &Context<'_>, paint: &mut Paint, from: f32) {
    let area = context.frame.map.area;
    let palette = context.palette;
    let arrows = [
        ("waits for an event", stroke(context, Tie::Wait)),
        ("inserted wait", stroke(context, Tie::Inserted)),
        ("host knows", stroke(context, Tie::Sync)),
        ("memory handed over", stroke(context, Tie::Reuse)),
    ];
    let mut x = area.right();
    for (words, stroke) in arrows.into_iter().rev() {
        let left = x - width(words, TEXT);
        if left - 22.0 < from {
            return;
        }
        paint.text(Anchor::Start, pos(left, area.y - 8.0), TEXT, palette.dim, words);
        paint.line(vec![pos(left - 22.0, area.y - 12.0), pos(left - 5.0, area.y - 12.0)], stroke);
        x = left - 36.0;
    }
    let words = "refused";
    let left = x - width(words, TEXT);
    if left - 13.0 < from {
        return;
    }
    paint.text(Anchor::Start, pos(left, area.y - 8.0), TEXT, palette.dim, words);
    paint.rect(Rect { x: left - 13.0, y: area.y - 16.0, w: 8.0, h: 8.0 }, palette.alarm);
    x = left - 27.0;
    let words = "above the line: malloc, wait; below: free, record";
    if x - width(words, TEXT) > from {
        paint.text(Anchor::End, pos(x, area.y - 8.0), TEXT, palette.dim, words);
    }
}
