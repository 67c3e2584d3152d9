//! The reuse flows: which stream handed how much memory to which, and what the pool had to rely on, over the records in
//! sight.

use super::lanes::in_view;
use super::page::Panel;
use super::rows::lane_color;
use super::{Anchor, Color, Context, Frame, Paint, Pos, Rect, Selection, Stroke, View, edge, pos, source_words, ticks};
use crate::font::{fit, width};
use crate::model::{Amount, EventIx, Handed, Lane, Model, Party, StreamIx};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use weir::trace::Source;

/// Size of the texts.
const TEXT: f32 = 11.5;
/// Space for the names of the rows.
const NAMES: f32 = 108.0;
/// A cell is not larger.
const WIDEST: f32 = 190.0;
const HIGHEST: f32 = 110.0;
/// From this size on, a cell has its amounts in words.
const WORDS: (f32, f32) = (70.0, 16.0);
/// Height of a kind's line in a cell: the six of a full cell fit.
const KIND: f32 = 14.0;

/// The panel.
pub(super) struct ReuseFlows;

impl Panel for ReuseFlows {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        let area = context.frame.map.area;
        super::panel(context, paint, area, &super::of_pool(context, "Reuse: who handed memory to whom"));
        let (first, past) = in_view(context);
        let cells = context.model.handed(context.view.pool, first, past);
        let grid = Grid::of(&cells, area);
        key(context, paint);
        names(context, paint, &grid);
        let most = cells.values().map(total).map(|a| a.bytes).max().unwrap_or(0);
        for ((from, to), by) in &cells {
            if let Some(rect) = grid.cell(*from, *to) {
                cell(context, paint, rect, by, most);
            }
        }
        if cells.is_empty() {
            let words = "No memory was allocated in the records in sight.";
            paint.text(Anchor::Start, pos(area.x + 20.0, area.y + 30.0), 13.0, context.palette.dim, words);
        }
    }

    fn at(&self, _: &Model, view: &View, _: &Frame, _: Pos) -> Selection {
        view.selection
    }

    fn tell(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Vec<String> {
        let events = &model.events;
        let range = (events.first_from(view.axis, view.x.from), events.first_from(view.axis, view.x.to));
        let cells = model.handed(view.pool, range.0, range.1);
        let grid = Grid::of(&cells, frame.map.area);
        let under = cells.iter().find(|((from, to), _)| grid.cell(*from, *to).is_some_and(|rect| rect.contains(at)));
        let Some(((from, to), by)) = under else {
            return Vec::new();
        };
        let mut lines = vec![format!("{} to {}: {}", name(model, *from), name(model, *to), words(total(by)))];
        lines.extend(
            largest_first(by).iter().map(|(source, amount)| format!("{}: {}", source_words(*source), words(*amount))),
        );
        lines
    }
}

fn total(by: &BTreeMap<Source, Amount>) -> Amount {
    by.values().fold(Amount::default(), |sum, amount| sum.and(*amount))
}

/// A malloc may get several pieces: these are counted, not the mallocs.
fn words(amount: Amount) -> String {
    format!("{} in {}", ticks::bytes(amount.bytes), ticks::counted(amount.hand_overs as u64, "piece"))
}

fn largest_first(by: &BTreeMap<Source, Amount>) -> Vec<(Source, Amount)> {
    let mut kinds: Vec<(Source, Amount)> = by.iter().map(|(source, amount)| (*source, *amount)).collect();
    kinds.sort_by_key(|(source, amount)| (Reverse(amount.bytes), *source));
    kinds
}

fn name(model: &Model, party: Party) -> String {
    let id = |stream: &StreamIx| model.stream(*stream).id.to_string();
    match model.streams_of(party) {
        [] => "nobody before".to_owned(),
        [one] => super::map::stream_name(model, *one),
        [first, .., last] => format!("{} to {}", id(first), id(last)),
    }
}

fn party_color(context: &Context<'_>, party: Party) -> Color {
    match context.model.streams_of(party).first() {
        Some(stream) => lane_color(context, Lane::Stream(*stream)),
        None => lane_color(context, Lane::Host),
    }
}

/// Where the cells are.
struct Grid {
    from: Vec<Party>,
    to: Vec<Party>,
    corner: Pos,
    wide: f32,
    high: f32,
}

impl Grid {
    fn of(cells: &Handed, area: Rect) -> Self {
        let parties = |parties: BTreeSet<Party>| parties.into_iter().collect::<Vec<_>>();
        let from = parties(cells.keys().map(|key| key.0).collect());
        let to = parties(cells.keys().map(|key| key.1).collect());
        let corner = pos(area.x + NAMES, area.y + 44.0);
        let room = (area.right() - corner.x - 12.0, area.bottom() - corner.y - 12.0);
        let wide = (room.0 / to.len().max(1) as f32).min(WIDEST);
        let high = (room.1 / from.len().max(1) as f32).min(HIGHEST);
        Self { from, to, corner, wide, high }
    }

    fn cell(&self, from: Party, to: Party) -> Option<Rect> {
        let row = self.from.iter().position(|l| *l == from)? as f32;
        let column = self.to.iter().position(|l| *l == to)? as f32;
        let (x, y) = (self.corner.x + column * self.wide, self.corner.y + row * self.high);
        let gap = if self.wide.min(self.high) > 8.0 { 2.0 } else { 0.0 };
        Some(Rect { x, y, w: self.wide - gap, h: self.high - gap })
    }
}

fn names(context: &Context<'_>, paint: &mut Paint, grid: &Grid) {
    let (model, palette) = (context.model, context.palette);
    let head = "freed on, down; allocated on, across; what each byte relied on";
    paint.text(Anchor::Start, pos(grid.corner.x, grid.corner.y - 26.0), TEXT, palette.dim, head);
    for (at, party) in grid.to.iter().enumerate().filter(|_| grid.wide >= 24.0) {
        let x = grid.corner.x + at as f32 * grid.wide;
        paint.rect(
            Rect::between(x, grid.corner.y - 5.0, x + grid.wide - 2.0, grid.corner.y - 2.0),
            party_color(context, *party),
        );
        let words = fit(&name(model, *party), TEXT, grid.wide - 4.0);
        paint.text(Anchor::Start, pos(x, grid.corner.y - 9.0), TEXT, palette.ink, words);
    }
    for (at, party) in grid.from.iter().enumerate().filter(|_| grid.high >= 10.0) {
        let y = grid.corner.y + at as f32 * grid.high;
        paint.rect(
            Rect::between(grid.corner.x - 5.0, y, grid.corner.x - 2.0, y + grid.high - 2.0),
            party_color(context, *party),
        );
        let words = fit(&name(model, *party), TEXT, NAMES - 14.0);
        paint.text(
            Anchor::End,
            pos(grid.corner.x - 9.0, y + grid.high.min(40.0) / 2.0 + 4.0),
            TEXT,
            palette.ink,
            words,
        );
    }
}

/// Darker for more bytes; a bar for each kind, as long as its part, with the kind's mark and its amount.
fn cell(context: &Context<'_>, paint: &mut Paint, rect: Rect, by: &BTreeMap<Source, Amount>, most: u64) {
    let palette = context.palette;
    let all = total(by);
    let part = (all.bytes as f64 / most.max(1) as f64).sqrt();
    // However little it was, it is seen.
    let shade = 24 + (part * 96.0) as u16;
    paint.rect(rect, palette.panel.mix(palette.used, shade));
    if rect.w < WORDS.0 || rect.h < WORDS.1 {
        return;
    }
    let ink = palette.ink;
    paint.text(Anchor::Start, pos(rect.x + 7.0, rect.y + 14.0), TEXT, ink, fit(&words(all), TEXT, rect.w - 12.0));
    let kinds = largest_first(by);
    let room = ((rect.h - 20.0) / KIND) as usize;
    // Where not all have room, the last line says what is left out.
    let shown = if kinds.len() > room { room.saturating_sub(1) } else { kinds.len() };
    let top = |at: usize| rect.y + 20.0 + at as f32 * KIND;
    for (at, (source, amount)) in kinds[..shown].iter().enumerate() {
        let wide = (rect.w - 14.0) * (amount.bytes as f64 / all.bytes.max(1) as f64) as f32;
        let bar = Rect { x: rect.x + 7.0, y: top(at), w: wide.max(10.0), h: KIND - 2.0 };
        paint.rect(bar, palette.stream(0).mix(palette.ground, 110));
        edge::draw(paint, &[(bar, *source)], palette);
        let text = format!("{} {}", source_words(*source), ticks::bytes(amount.bytes));
        paint.text(Anchor::Start, pos(bar.x + 9.0, bar.y + 10.0), 10.5, ink, fit(&text, 10.5, rect.w - 24.0));
    }
    if shown < kinds.len() && room > 0 {
        let rest = kinds[shown..].iter().fold(Amount::default(), |sum, kind| sum.and(kind.1));
        let text = format!("… {} more: {}", kinds.len() - shown, ticks::bytes(rest.bytes));
        paint.text(Anchor::Start, pos(rect.x + 16.0, top(shown) + 10.0), 10.5, ink, fit(&text, 10.5, rect.w - 24.0));
    }
}

/// The range that is counted, at the right above the panel.
fn key(context: &Context<'_>, paint: &mut Paint) {
    let area = context.frame.map.area;
    let (first, past) = in_view(context);
    let number = |event: EventIx| ticks::count(context.model.events.number(event));
    let Some(last) = past.0.checked_sub(1).filter(|last| *last >= first.0) else {
        return;
    };
    let text = format!("mallocs of records {} to {}", number(first), number(EventIx(last)));
    if width(&text, TEXT) + 300.0 < area.w {
        paint.text(Anchor::End, pos(area.right(), area.y - 8.0), TEXT, context.palette.dim, text);
    }
    paint.outline(area, Stroke::solid(context.palette.edge, 1.0));
}
