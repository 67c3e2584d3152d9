//! A row for each kind of thing that happened: what the mallocs relied on, synchronisations, trims, refusals, findings.
//! It is the key to the edges in the address map, too.

use super::frame::STRIP_ROW;
use super::{Anchor, Color, Context, Paint, Rect, Stroke, edge, pos, source_words, ticks};
use crate::model::{EventIx, Model, PoolIx, Signs};
use weir::trace::Source;

/// Ticks of a row, at most.
const MOST_TICKS: usize = 300;

/// One row.
struct Row<'m> {
    name: &'static str,
    events: Signs<'m>,
    color: Color,
    source: Option<Source>,
}

fn rows_of<'m>(model: &'m Model, at: PoolIx, palette: &super::Palette) -> Vec<Row<'m>> {
    let pool = model.pool(at);
    let sources = Source::ALL.iter().zip(&pool.by_source).map(|(source, events)| Row {
        name: source_words(*source),
        events: Signs::own(events),
        color: palette.ink,
        source: Some(*source),
    });
    let signs = [
        ("synchronise", model.syncs(at), palette.dim),
        ("trim", Signs::own(&pool.trims), palette.threshold),
        ("refused", model.refusals(at), palette.alarm),
        // The last row: that is where its marks are looked for.
        ("finding", Signs::own(&pool.findings), palette.alarm),
    ];
    let signs = signs.into_iter().filter(|s| !s.1.is_empty()).map(|(name, events, color)| Row {
        name,
        events,
        color,
        source: None,
    });
    sources.chain(signs).collect()
}

/// How many rows the strip of this pool has.
pub(super) fn rows(model: &Model, pool: PoolIx) -> usize {
    match model.pools.get(pool.at()) {
        Some(_) => rows_of(model, pool, super::Theme::Light.palette()).len(),
        None => Source::ALL.len(),
    }
}

/// Draws the panel.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let area = context.frame.strip;
    if area.h == 0.0 {
        return;
    }
    super::panel(context, paint, area, "Sources and events");
    if context.pool().is_none() {
        return;
    }
    let mut lines = Vec::new();
    for (i, row) in rows_of(context.model, context.view.pool, context.palette).iter().enumerate() {
        let top = area.y + i as f32 * STRIP_ROW;
        if i > 0 {
            lines.push([pos(area.x, top), pos(area.right(), top)]);
        }
        let base = top + STRIP_ROW - 4.0;
        let quiet = row.events.is_empty();
        let color = if quiet { context.palette.dim } else { row.color };
        paint.text(Anchor::End, pos(area.x - 30.0, base), 11.5, color, row.name);
        if let Some(source) = row.source {
            let sample = Rect::between(area.x - 22.0, top + 2.5, area.x - 8.0, top + STRIP_ROW - 2.5);
            paint.rect(sample, context.palette.stream(0).mix(context.palette.ground, 90));
            edge::draw(paint, &[(sample, source)], context.palette);
        } else {
            paint.rect(Rect::between(area.x - 16.0, top + 2.5, area.x - 14.0, top + STRIP_ROW - 2.5), row.color);
        }
        let count = ticks::count(row.events.len() as u64);
        paint.text(Anchor::Start, pos(area.right() + 8.0, base), 11.5, color, count);
        draw_row(paint, area, top, &context.columns, row);
    }
    paint.segments(lines, Stroke::solid(context.palette.grid, 1.0));
}

/// A tick a column in which anything happened, or for several columns where those were too many; darker where more did.
fn draw_row(paint: &mut Paint, area: Rect, top: f32, columns: &[EventIx], row: &Row<'_>) {
    let bounds: Vec<usize> = columns.iter().map(|event| row.events.before(*event)).collect();
    let mut every = 1;
    let mut levels = levels(&bounds, every);
    while levels.iter().map(Vec::len).sum::<usize>() > MOST_TICKS && every < columns.len() {
        every *= 2;
        levels = self::levels(&bounds, every);
    }
    let x = |column: usize| (area.x + (column * every) as f32).min(area.right());
    for (runs, opacity) in levels.into_iter().zip([110, 165, 225]) {
        let tick = |(from, to): (usize, usize)| Rect::between(x(from), top + 2.0, x(to), top + STRIP_ROW - 1.0);
        paint.rects(runs.into_iter().map(tick).collect(), row.color.fade(opacity));
    }
}

/// Runs of columns, `every` of them taken as one, in which about as much happened: a little, more, much.
fn levels(bounds: &[usize], every: usize) -> [Vec<(usize, usize)>; 3] {
    let mut levels: [Vec<(usize, usize)>; 3] = Default::default();
    let last = bounds.len() - 1;
    for column in 0..last.div_ceil(every) {
        let level = match bounds[((column + 1) * every).min(last)] - bounds[column * every] {
            0 => continue,
            1 => 0,
            2..=4 => 1,
            _ => 2,
        };
        match levels[level].last_mut() {
            Some(run) if run.1 == column => run.1 = column + 1,
            _ => levels[level].push((column, column + 1)),
        }
    }
    levels
}
