//! The list of records and the details at the right.

use super::frame::ROW;
use super::wrap::wrap;
use super::{Anchor, Color, Context, Frame, Paint, Rect, Selection, Stroke, View, describe, pos, ticks};
use crate::font::{fit, width};
use crate::model::{EventIx, Kind, Model};

/// Size of the texts.
const TEXT: f32 = 12.0;
/// Height of a line of the details.
const STEP: f32 = 16.5;
/// Where the values of the details begin.
const VALUE: f32 = 74.0;
/// What the details leave free at the right for the thumb.
const BESIDE_THUMB: f32 = 8.0;

/// Draws both, where the view has them.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (Some(list), Some(details)) = (context.frame.list, context.frame.details) else {
        return;
    };
    let palette = context.palette;
    let count = ticks::count(context.model.events.len() as u64);
    let caption = list.y - 15.0;
    paint.heading(pos(list.x, caption), 13.0, palette.ink, "Records");
    paint.text(Anchor::End, pos(list.right(), caption), TEXT, palette.dim, count);
    paint.rect(list, palette.panel);
    rows(context, paint, list);
    paint.outline(list, Stroke::solid(palette.edge, 1.0));
    thumb(context, paint, list, (context.view.top, context.frame.rows(), context.model.events.len()));
    paint.heading(pos(list.x, details.y - 9.0), 13.0, palette.ink, "Details");
    self::details(context, paint, details);
}

fn rows(context: &Context<'_>, paint: &mut Paint, list: Rect) {
    let (model, palette) = (context.model, context.palette);
    let first = context.view.top;
    let last = (first + context.frame.rows()).min(model.events.len());
    // A part of a log keeps the log's numbers, which are larger than the part is long.
    let largest = model.events.len().checked_sub(1).map_or(0, |last| model.events.number(EventIx::next_of(last)));
    let numbers = width(&ticks::count(largest), TEXT);
    let chosen = chosen(context);
    for event in (first..last).map(EventIx::next_of) {
        let top = list.y + (event.at() - first) as f32 * ROW;
        let base = top + ROW * 0.7;
        if chosen.contains(&Some(event)) {
            let row = Rect::between(list.x, top, list.right(), top + ROW);
            paint.rect(row, palette.used.fade(if chosen[0] == Some(event) { 70 } else { 30 }));
        }
        let number = ticks::count(model.events.number(event));
        let left = list.x + 8.0 + numbers;
        paint.text(Anchor::End, pos(left, base), TEXT, palette.dim, number);
        let kind = model.events.kind(event);
        paint.rect(Rect::between(left + 8.0, top + 5.0, left + 11.0, top + ROW - 4.0), color(context, event));
        paint.text(Anchor::Start, pos(left + 17.0, base), TEXT, ink(context, kind), kind.name());
        let words_at = left + 17.0 + 98.0;
        let words = fit(&describe::headline(model, event), TEXT, list.right() - 14.0 - words_at);
        paint.text(Anchor::Start, pos(words_at, base), TEXT, palette.dim, words);
    }
}

/// The records to mark: the one that is selected, then the other end of its allocation.
fn chosen(context: &Context<'_>) -> [Option<EventIx>; 2] {
    match context.view.selection {
        Selection::Nothing => [None, None],
        Selection::Event(event) | Selection::Free(event, _) => [Some(event), None],
        Selection::Life(life) => {
            let life = context.model.life(life);
            [life.born(), life.died()]
        }
        Selection::Finding(finding) => match context.model.findings.flag(finding) {
            Some(flag) => [Some(flag.second), flag.first],
            None => [None, None],
        },
    }
}

/// Mallocs and frees have their stream's colour.
fn color(context: &Context<'_>, event: EventIx) -> Color {
    let (model, palette) = (context.model, context.palette);
    match (model.events.kind(event), model.events.payload(event)) {
        (Kind::Malloc, crate::model::Payload::Life(life)) => palette.stream(model.stream(model.life(life).stream).rank),
        (Kind::Free, crate::model::Payload::Life(life)) => {
            palette.stream(model.stream(model.life(life).stream).rank).mix(palette.panel, 150)
        }
        (Kind::OutOfMemory | Kind::Refused | Kind::DriverFailed | Kind::Lost, _) => palette.alarm,
        (Kind::Mark, _) => palette.ink,
        _ => palette.edge,
    }
}

fn ink(context: &Context<'_>, kind: Kind) -> Color {
    match kind {
        Kind::OutOfMemory | Kind::Refused | Kind::DriverFailed | Kind::Lost => context.palette.alarm,
        _ => context.palette.ink,
    }
}

/// Where in all of it a list is: its first row, the rows that it shows, and all there are.
pub(super) fn thumb(context: &Context<'_>, paint: &mut Paint, list: Rect, (first, rows, all): (usize, usize, usize)) {
    if all <= rows {
        return;
    }
    let (first, rows, all) = (first as f32, rows as f32, all as f32);
    let length = (list.h * rows / all).max(16.0);
    let top = list.y + (list.h - length) * (first / (all - rows)).min(1.0);
    let thumb = Rect::between(list.right() - 5.0, top, list.right() - 1.0, top + length);
    paint.rect(thumb, context.palette.dim.fade(120));
}

/// All there is to say about the selection, with the answer to what it asks.
fn described(model: &Model, view: &View) -> Vec<describe::Line> {
    let mut described = describe::details(model, view.selection);
    // Behind what is said of it in short, and before the rest.
    let short = described.iter().position(|line| line.key == "source" || line.key == "what");
    let place = short.map_or(described.len(), |at| at + 1);
    described.splice(place..place, super::answer::lines(model, view));
    described
}

/// Each value in as many lines as it needs, behind its key.
fn lines(model: &Model, view: &View, area: Rect) -> Vec<(&'static str, String)> {
    let wrapped = |line: describe::Line| {
        let values = wrap(&line.value, TEXT, area.w - VALUE - BESIDE_THUMB);
        [line.key].into_iter().chain(std::iter::repeat("")).zip(values)
    };
    described(model, view).into_iter().flat_map(wrapped).collect()
}

/// How many lines of the details there is room for.
fn room(area: Rect) -> usize {
    (area.h / STEP).max(0.0) as usize
}

/// The details, from the line on to which they are scrolled.
fn details(context: &Context<'_>, paint: &mut Paint, area: Rect) {
    let palette = context.palette;
    let lines = lines(context.model, context.view, area);
    if lines.is_empty() {
        let hint = "Click an allocation or a record.";
        paint.text(Anchor::Start, pos(area.x, area.y + 12.0), TEXT, palette.dim, hint);
        return;
    }
    let room = room(area);
    let top = context.view.details.top(context.view.selection, lines.len(), room);
    for (i, (key, value)) in lines.iter().skip(top).take(room).enumerate() {
        let base = area.y + i as f32 * STEP + 12.0;
        paint.text(Anchor::Start, pos(area.x, base), TEXT, palette.dim, *key);
        let value = fit(value, TEXT, area.w - VALUE - BESIDE_THUMB);
        paint.text(Anchor::Start, pos(area.x + VALUE, base), TEXT, palette.ink, value);
    }
    if lines.len() > room {
        let (from, to) = (top + 1, (top + room).min(lines.len()));
        let words = format!("lines {from} to {to} of {}", lines.len());
        paint.text(Anchor::End, pos(area.right(), area.y - 9.0), TEXT, palette.dim, words);
    }
    thumb(context, paint, area, (top, room, lines.len()));
}

impl View {
    /// Scrolls the details by lines.
    pub(super) fn scroll_details(&mut self, model: &Model, frame: &Frame, by: f64) {
        let Some(area) = frame.details else { return };
        let all = lines(model, self, area).len();
        self.details.by(self.selection, by, all, room(area));
    }
}
