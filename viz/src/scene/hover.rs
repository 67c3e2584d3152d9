//! What the pointer tells: painted over the scene, so that moving it rebuilds nothing.

use super::describe::{offset_words, reserved_words};
use super::{
    Anchor, Frame, Page, Paint, Palette, Pos, Rect, Shape, Stroke, View, map::stream_name, pos, source_words, ticks,
    wrap::wrap,
};
use crate::font::width;
use crate::model::{EventIx, Flag, LifeIx, Model};
use weir::units::Bytes;

/// Size of the texts.
const TEXT: f32 = 12.0;
/// Sentences are told in lines of this width.
pub(super) const WIDEST: f32 = 420.0;

/// A line at the pointer, and a box with what is under it.
#[must_use]
pub fn hover(model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<Shape> {
    let palette = view.theme.palette();
    let mut paint = Paint::default();
    if let Some(flag) = frame.finding_row_at(at, model).and_then(|row| model.findings.flag(row)) {
        boxed(&mut paint, palette, frame, at, &finding_lines(flag));
        return paint.shapes;
    }
    if model.events.is_empty() {
        return paint.shapes;
    }
    if view.page != Page::Addresses && frame.map.area.contains(at) {
        boxed(&mut paint, palette, frame, at, &view.page.panel().tell(model, view, frame, at));
        return paint.shapes;
    }
    if !frame.is_plot(at) {
        return paint.shapes;
    }
    let line = vec![pos(at.x, frame.chart.y), pos(at.x, frame.axis)];
    paint.line(line, Stroke::solid(palette.dim.fade(150), 1.0));
    let life = frame.map.area.contains(at).then(|| frame.life_at(model, view, at)).flatten();
    let flag = frame.finding_at(model, view, at).and_then(|finding| model.findings.flag(finding));
    let mut lines = flag.map_or(Vec::new(), finding_lines);
    lines.extend(life.map(|life| life_lines(model, life)).into_iter().flatten());
    if let Some(life) = life
        && let Some(rect) = frame.life_rect(model, view, life).clip(&frame.map.area)
    {
        paint.outline(rect, Stroke::solid(palette.chosen, 1.5));
    }
    let place = frame.map.x.value(at.x);
    let lost = model.gaps.iter().find(|g| {
        let (from, to) = super::gaps::span(model, view.axis, g);
        from <= place && place < to
    });
    if let Some(gap) = lost {
        lines = vec![format!("{} lost here", ticks::counted(gap.records, "record"))];
    } else if let Some(event) = frame.event_at(model, view, at) {
        lines.extend(moment_lines(model, view, event));
        if frame.chart.contains(at) {
            lines.extend(super::stack::told(model, view, event));
        }
    }
    if life.is_none()
        && frame.map.area.contains(at)
        && let Some(address) = frame.map.under(at).1
    {
        // No finer than a pixel tells.
        let pixel = 1_u64 << (frame.map.y.per_pixel().max(1.0) as u64).ilog2();
        lines.push(format!("address {}", offset_words(Bytes(address - address % pixel))));
    }
    boxed(&mut paint, palette, frame, at, &lines);
    paint.shapes
}

fn finding_lines(flag: &Flag) -> Vec<String> {
    super::findings::pointed(&flag.finding).iter().flat_map(|line| wrap(line, TEXT, WIDEST)).collect()
}

pub(super) fn life_lines(model: &Model, life: LifeIx) -> Vec<String> {
    let life = model.life(life);
    let mut lines = vec![format!("#{}  {}  {}", life.id, ticks::bytes(life.given.0), stream_name(model, life.stream))];
    let label = model.name(life.name);
    if !label.is_empty() {
        lines.push(label.to_owned());
    }
    lines.push(match life.source {
        Some(source) => format!("source: {}", source_words(source)),
        None => "source: not recorded".to_owned(),
    });
    lines
}

pub(super) fn moment_lines(model: &Model, view: &View, event: EventIx) -> Vec<String> {
    let events = &model.events;
    let time = ticks::time(events.time(event) - events.time(EventIx(0)));
    let mut lines = vec![format!("record {}, {time}", ticks::count(events.number(event)))];
    if let Some(pool) = model.pools.get(view.pool.at()) {
        lines.push(format!(
            "used {}, reserved {}",
            ticks::bytes(pool.used.after(event)),
            reserved_words(model, pool.reserved.after(event))
        ));
        let pending = model.pending(view.pool).map(|pending| pending.after(event)).filter(|bytes| *bytes > 0);
        lines.extend(pending.map(|bytes| {
            format!("pending {}: free, but work with it is not known to be complete", ticks::bytes(bytes))
        }));
    }
    lines
}

/// A box beside the pointer, inside the picture, and inside of the panels where it tells of those.
pub(super) fn boxed(paint: &mut Paint, palette: &Palette, frame: &Frame, at: Pos, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let wide = lines.iter().map(|l| width(l, TEXT)).fold(0.0, f32::max) + 16.0;
    let tall = lines.len() as f32 * 16.0 + 9.0;
    // What is told of a panel does not cover the lists beside it.
    let right = frame.list.map(|list| list.x - 4.0).filter(|right| at.x < *right).unwrap_or(frame.whole.right());
    let left = match at.x + 14.0 + wide > right {
        true => (at.x - 14.0 - wide).max(2.0),
        false => at.x + 14.0,
    };
    let top = (at.y + 12.0).min(frame.whole.bottom() - tall - 4.0);
    let area = Rect::between(left, top, left + wide, top + tall);
    paint.rect(area.grown(1.0), palette.edge);
    paint.rect(area, palette.ground);
    for (i, line) in lines.iter().enumerate() {
        let base = top + 16.0 + i as f32 * 16.0;
        paint.text(Anchor::Start, pos(left + 8.0, base), TEXT, palette.ink, line.clone());
    }
}
