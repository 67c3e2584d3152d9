//! The list of records and the details at the right.

use super::frame::{PAD, ROW};
use super::{Anchor, Color, Context, Paint, Rect, Selection, Stroke, describe, pos, ticks};
use crate::font::{fit, width};
use crate::model::{EventIx, Kind};

/// Size of the texts.
const TEXT: f32 = 12.0;

/// Draws both, where the view has them.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let (Some(list), Some(details)) = (context.frame.list, context.frame.details) else {
        return;
    };
    let palette = context.palette;
    let count = ticks::count(context.model.events.len() as u64);
    paint.heading(pos(list.x, PAD + 15.0), 13.0, palette.ink, "Records");
    paint.text(Anchor::End, pos(list.right(), PAD + 15.0), TEXT, palette.dim, count);
    paint.rect(list, palette.panel);
    rows(context, paint, list);
    paint.outline(list, Stroke::solid(palette.edge, 1.0));
    thumb(context, paint, list);
    paint.heading(pos(list.x, details.y - 9.0), 13.0, palette.ink, "Details");
    lines(context, paint, details);
}

fn rows(context: &Context<'_>, paint: &mut Paint, list: Rect) {
    let (model, palette) = (context.model, context.palette);
    let first = context.view.top;
    let last = (first + context.frame.rows()).min(model.events.len());
    let numbers = width("0", TEXT) * digits(model.events.len());
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

fn digits(records: usize) -> f32 {
    ticks::count(records as u64).len() as f32
}

/// The records to mark: the one that is selected, then the other end of its allocation.
fn chosen(context: &Context<'_>) -> [Option<EventIx>; 2] {
    match context.view.selection {
        Selection::Nothing => [None, None],
        Selection::Event(event) => [Some(event), None],
        Selection::Life(life) => {
            let life = context.model.life(life);
            [life.born(), life.died()]
        }
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

/// Where in the log the list is.
fn thumb(context: &Context<'_>, paint: &mut Paint, list: Rect) {
    let (rows, all) = (context.frame.rows() as f32, context.model.events.len() as f32);
    if all <= rows {
        return;
    }
    let length = (list.h * rows / all).max(16.0);
    let top = list.y + (list.h - length) * (context.view.top as f32 / (all - rows)).min(1.0);
    let thumb = Rect::between(list.right() - 5.0, top, list.right() - 1.0, top + length);
    paint.rect(thumb, context.palette.dim.fade(120));
}

fn lines(context: &Context<'_>, paint: &mut Paint, area: Rect) {
    let palette = context.palette;
    let lines = describe::details(context.model, context.view.selection);
    if lines.is_empty() {
        let hint = "Click an allocation or a record.";
        paint.text(Anchor::Start, pos(area.x, area.y + 12.0), TEXT, palette.dim, hint);
        return;
    }
    let step = 16.5;
    let room = (area.h / step) as usize;
    for (i, line) in lines.iter().enumerate().take(room) {
        let base = area.y + i as f32 * step + 12.0;
        paint.text(Anchor::Start, pos(area.x, base), TEXT, palette.dim, line.key);
        let value_at = area.x + 74.0;
        let value = match i + 1 == room && lines.len() > room {
            true => "…".to_owned(),
            false => fit(&line.value, TEXT, area.right() - value_at),
        };
        paint.text(Anchor::Start, pos(value_at, base), TEXT, palette.ink, value);
    }
}
