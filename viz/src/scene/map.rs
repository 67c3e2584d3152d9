//! The address map: a rectangle for each allocation, from its malloc to its free, at its addresses.

use super::coloring::Coloring;
use super::page::Panel;
use super::tiles::{Most, Tile, Tiling, tile};
use super::{
    Anchor, Color, Context, Dash, Frame, Paint, Palette, Pos, Rect, Selection, Stroke, View, edge, header, pos, ticks,
};
use crate::font::fit;
use crate::model::{EventIx, LifeIx, Link, Model, Part, StreamIx};
use weir::trace::Source;

/// Shades of a stream's colour.
const SHADES: u64 = 3;
/// Rectangles for what is mapped.
const MOST_RUNS: Most = Most { exact: 600, cells: 1_000 };
/// Rectangles for allocations.
const MOST_LIVES: Most = Most { exact: 2_800, cells: 5_000 };
/// Of all rectangles, the first so many carry an edge mark.
const MOST_EDGES: usize = 1_000;
/// The class of addresses without memory; blocks have the numbers of their colours.
const HOLE: u32 = u32::MAX;
/// Smaller ones in either direction are painted as such.
const SMALL: f32 = 2.0;
/// Allocations that carry their name, at most.
const MOST_NAMES: usize = 400;
/// Lines to earlier and later owners, at most.
const MOST_LINES: usize = 200;

/// The panel.
pub(super) struct AddressMap;

impl Panel for AddressMap {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        draw(context, paint);
    }

    fn at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Selection {
        let life = frame.life_at(model, view, at).map(Selection::Life);
        life.or_else(|| frame.free_at(model, view, at)).unwrap_or_default()
    }

    fn tell(&self, _: &Model, _: &View, _: &Frame, _: Pos) -> Vec<String> {
        Vec::new()
    }
}

fn draw(context: &Context<'_>, paint: &mut Paint) {
    let area = context.frame.map.area;
    super::panel(context, paint, area, "Address map");
    if context.pool().is_none() {
        return;
    }
    hatch(context, paint);
    mapped(context, paint);
    // Below the allocations: the shortest ones begin where a mark is.
    header::mark_lines(context, paint, area);
    lives(context, paint);
    super::moves::draw(context, paint);
    breaks(context, paint);
    labels(context, paint);
    if let Selection::Life(life) = context.view.selection {
        selected(context, paint, life);
    }
}

/// Slanted lines over everything: what stays visible of them is not mapped.
fn hatch(context: &Context<'_>, paint: &mut Paint) {
    let area = context.frame.map.area;
    let mut ends = Vec::new();
    let mut start = area.x - area.h;
    while start < area.right() {
        // From the lower left to the upper right, cut at the edges.
        let (x0, x1) = (start.max(area.x), (start + area.h).min(area.right()));
        if x0 < x1 {
            ends.push([pos(x0, area.bottom() - (x0 - start)), pos(x1, area.bottom() - (x1 - start))]);
        }
        start += 7.0;
    }
    paint.segments(ends, Stroke::solid(context.palette.hole, 1.0));
}

fn mapped(context: &Context<'_>, paint: &mut Paint) {
    let Some(pool) = context.pool() else { return };
    let end = context.extent();
    let tiles = pool.runs.iter().map(|run| {
        let from = context.place(run.since);
        let to = run.unmapped.map_or(end, |e| context.place(e));
        Tile { rect: context.frame.map.pixels(from, to, run.start, run.end), class: 0, tag: 0, cover: 1.0 }
    });
    let tiling = tile(tiles, context.frame.map.area, MOST_RUNS);
    let palette = context.palette;
    for ((_, level), rects) in tiling.cells {
        paint.rects(rects, palette.panel.mix(palette.free, u16::from(level) * 64));
    }
    paint.rects(tiling.exact.iter().map(|t| t.rect).collect(), palette.free);
}

fn lives(context: &Context<'_>, paint: &mut Paint) {
    let coloring = Coloring::of(context.model, context.view);
    let tiling = tile(tiles(context, &coloring), context.frame.map.area, MOST_LIVES);
    for number in &tiling.order {
        match *number {
            HOLE => holes(context, paint, &tiling),
            number => class(context, paint, &tiling, number, coloring.color(number)),
        }
    }
    names(context, paint, &tiling.exact, &coloring);
    for (number, rect) in &tiling.pins {
        let palette = context.palette;
        let color = if *number == HOLE { hole_color(palette) } else { coloring.color(*number) };
        paint.rect(*rect, color);
    }
}

/// The allocations in sight. Those that are too short to be told apart come summed up.
fn tiles(context: &Context<'_>, coloring: &Coloring<'_>) -> Vec<Tile> {
    let (model, frame) = (context.model, context.frame);
    let place = |event: EventIx| if event < model.events.end() { context.place(event) } else { context.extent() };
    let wide = |from: EventIx, to: EventIx| (place(to) - place(from)) / frame.map.x.per_pixel() > 1.0;
    let mut tiles = Vec::new();
    model.parts((context.view.pool, context.view.color.summed()), super::lanes::in_view(context), wide, |part| {
        tiles.push(match part {
            Part::Life(life) => {
                let rect = frame.life_rect(model, context.view, life);
                Tile { rect, class: coloring.class(life), tag: life.0, cover: 1.0 }
            }
            Part::Patch(from, to, patch) => {
                let rect = frame.map.pixels(place(from), place(to), patch.start, patch.end);
                Tile { rect, class: coloring.class(patch.life), tag: patch.life.0, cover: patch.cover }
            }
        });
    });
    // Where they are large, nothing is painted over the ground.
    let small = |rect: &Rect| rect.w < SMALL || rect.h < SMALL;
    let holes = unmapped(context).into_iter().filter(small);
    tiles.extend(holes.map(|rect| Tile { rect, class: HOLE, tag: 0, cover: 1.0 }));
    tiles
}

/// The addresses that were unmapped for a while. What lies side by side and came and went in the same pixels is one: a pool
/// that was mapped piece by piece and unmapped as a whole is one large area, not many small ones.
fn unmapped(context: &Context<'_>) -> Vec<Rect> {
    let frame = context.frame;
    let place =
        |event: EventIx| if event < context.model.events.end() { context.place(event) } else { context.extent() };
    let mut joined: Vec<Rect> = Vec::new();
    let mut end = None;
    for hole in context.pool().into_iter().flat_map(|pool| &pool.holes) {
        let until = hole.until.map_or_else(|| context.extent(), place);
        let rect = frame.map.pixels(place(hole.since), until, hole.start, hole.end);
        let same = |one: f32, other: f32| (one - other).abs() < 1.0;
        match joined.last_mut() {
            Some(last) if end == Some(hole.start) && same(last.x, rect.x) && same(last.right(), rect.right()) => {
                *last = Rect::between(last.x, last.y.min(rect.y), last.right(), last.bottom().max(rect.bottom()));
            }
            _ => joined.push(rect),
        }
        end = Some(hole.end);
    }
    joined
}

/// Small holes: the hatching would not be seen there.
pub(super) fn hole_color(palette: &Palette) -> Color {
    palette.hole.mix(palette.ink, 90)
}

/// Small addresses without memory between allocations: a thing of its own, so that none is lost among them.
fn holes(context: &Context<'_>, paint: &mut Paint, tiling: &Tiling) {
    let (palette, of_class) = (context.palette, tiling.cells.range((HOLE, 0)..=(HOLE, u8::MAX)));
    let color = hole_color(palette);
    paint.rects(of_class.flat_map(|(_, rects)| rects.iter().copied()).collect(), color);
    let rare = tiling.rare.iter().filter(|r| r.0 == HOLE).map(|r| r.1);
    paint.rects(rare.collect(), color);
}

/// The allocations of one class.
fn class(context: &Context<'_>, paint: &mut Paint, tiling: &Tiling, rank: u32, color: Color) {
    let (model, palette) = (context.model, context.palette);
    for ((_, level), rects) in tiling.cells.range((rank, 0)..=(rank, u8::MAX)) {
        paint.rects(rects.clone(), palette.free.mix(color, 100 + u16::from(*level) * 36));
    }
    let exact = || tiling.exact.iter().filter(|t| t.class == rank);
    for shade in 0..SHADES {
        let of_shade = exact().filter(|t| scattered(model.life(LifeIx(t.tag)).id.0) % SHADES == shade);
        paint.rects(of_shade.map(|t| apart(t.rect)).collect(), palette.varied(color, shade));
    }
    let marked: Vec<(Rect, Source)> = tiling
        .exact
        .iter()
        .take(MOST_EDGES)
        .filter(|t| t.class == rank)
        .filter(|t| t.rect.w >= 5.0 && t.rect.h >= 3.0)
        .filter_map(|t| Some((apart(t.rect), model.life(LifeIx(t.tag)).source?)))
        .collect();
    edge::draw(paint, &marked, palette);
    let rare = tiling.rare.iter().filter(|r| r.0 == rank).map(|r| r.1);
    paint.rects(rare.collect(), color);
}

/// Ids, sizes and labels inside the allocations that have room for them.
fn names(context: &Context<'_>, paint: &mut Paint, tiles: &[Tile], coloring: &Coloring<'_>) {
    let roomy = tiles.iter().filter(|t| t.rect.w >= 90.0 && t.rect.h >= 16.0);
    for tile in roomy.take(MOST_NAMES) {
        let life = context.model.life(LifeIx(tile.tag));
        let label = context.model.name(life.name);
        let text = format!("#{}  {}  {label}", life.id, ticks::bytes(life.given.0));
        let text = fit(text.trim_end(), 11.0, tile.rect.w - 24.0);
        let shade = scattered(life.id.0) % SHADES;
        let ink = context.palette.ink_on(context.palette.varied(coloring.color(tile.class), shade));
        let at = pos(tile.rect.x + 16.0, tile.rect.y + tile.rect.h.min(40.0) / 2.0 + 4.0);
        paint.text(Anchor::Start, at, 11.0, ink, text);
    }
}

/// Without a pattern: programs allocate in patterns, and neighbours are to differ.
const fn scattered(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
}

/// A little smaller, so that neighbours are told apart.
fn apart(rect: Rect) -> Rect {
    let cut = |length: f32| if length > 4.0 { 0.7 } else { 0.0 };
    Rect { w: rect.w - cut(rect.w), h: rect.h - cut(rect.h), ..rect }
}

/// Where a wide gap of addresses is cut short: a band across.
fn breaks(context: &Context<'_>, paint: &mut Paint) {
    let map = &context.frame.map;
    let stretches = map.addresses.stretches();
    for pair in stretches.windows(2) {
        let (low, high) = (map.y.pixel(pair[0].at + (pair[0].end - pair[0].start) as f64), map.y.pixel(pair[1].at));
        let band = Rect::between(map.area.x, high, map.area.right(), low);
        let Some(band) = band.clip(&map.area) else {
            continue;
        };
        paint.rect(band, context.palette.ground);
        let edges = [band.y, band.bottom()].map(|y| [pos(band.x, y), pos(band.right(), y)]);
        paint.segments(edges.to_vec(), Stroke::dashed(context.palette.edge, 1.0, 3.0));
        if band.h >= 10.0 {
            let text = format!("{} of addresses never used", ticks::bytes(pair[1].start - pair[0].end));
            let at = pos(band.x + band.w / 2.0, band.y + band.h / 2.0 + 3.5);
            paint.text(Anchor::Middle, at, 10.0, context.palette.dim, text);
        }
    }
}

/// Addresses at the left, from the pool's base.
fn labels(context: &Context<'_>, paint: &mut Paint) {
    let map = &context.frame.map;
    let highest = map.addresses.stretches().last().map_or(0, |s| s.end);
    let unit = ticks::unit_for(highest);
    let mut lines = Vec::new();
    let mut last = f32::INFINITY;
    for stretch in map.addresses.stretches() {
        let shown = |place: f64| map.addresses.address(place.max(stretch.at)).unwrap_or(stretch.end);
        let low = shown(context.view.y.from).clamp(stretch.start, stretch.end);
        let high = if context.view.y.to >= stretch.at + (stretch.end - stretch.start) as f64 {
            stretch.end
        } else {
            shown(context.view.y.to).clamp(stretch.start, stretch.end)
        };
        let pixels = (high - low) as f64 / map.y.per_pixel();
        let per = unit.bytes as f64;
        let most = (pixels / 34.0).max(1.0) as usize;
        let (places, step) = ticks::ticks(low as f64 / per, high as f64 / per, most);
        for place in places {
            let at = map.y.pixel(map.addresses.place((place * per) as u64));
            if at < map.area.y - 0.5 || at > map.area.bottom() + 0.5 || last - at < 16.0 {
                continue;
            }
            last = at;
            let text = match place == 0.0 {
                true => "base".to_owned(),
                false => format!("+{} {}", ticks::decimal(place, step), unit.name),
            };
            // The caption stands above.
            if at >= map.area.y + 5.0 {
                paint.text(Anchor::End, pos(map.area.x - 8.0, at + 4.0), 11.5, context.palette.dim, text);
            }
            lines.push([pos(map.area.x - 4.0, at), pos(map.area.x, at)]);
        }
    }
    paint.segments(lines, Stroke::solid(context.palette.edge, 1.0));
}

/// The selected allocation, those whose memory it got, and those that got its memory.
fn selected(context: &Context<'_>, paint: &mut Paint, life: LifeIx) {
    let chosen = context.palette.chosen;
    let model = context.model;
    if model.life(life).pool != context.view.pool {
        return;
    }
    let earlier: Vec<&Link> = model.came_from(life).iter().take(MOST_LINES).collect();
    let later: Vec<&Link> = model.went_to(life).iter().take(MOST_LINES).collect();
    for link in earlier.iter().chain(&later) {
        outline(context, paint, link.life, Stroke::dashed(chosen, 1.0, 2.5));
    }
    let joins = earlier.iter().map(|l| (l.life, life)).chain(later.iter().map(|l| (life, l.life)));
    for (from, to) in joins {
        join(context, paint, from, to);
    }
    outline(context, paint, life, Stroke::solid(context.palette.ground, 4.0));
    outline(context, paint, life, Stroke::solid(chosen, 2.0));
}

fn outline(context: &Context<'_>, paint: &mut Paint, life: LifeIx, stroke: Stroke) {
    let rect = context.frame.life_rect(context.model, context.view, life);
    let rect = Rect { w: rect.w.max(1.5), h: rect.h.max(1.5), ..rect };
    // Around it, so that the thinnest one keeps its colour.
    if let Some(rect) = rect.grown(1.5).clip(&context.frame.map.area) {
        paint.outline(rect, stroke);
    }
}

/// A line from the end of one allocation to the beginning of the next, in the middle of the bytes they share.
fn join(context: &Context<'_>, paint: &mut Paint, from: LifeIx, to: LifeIx) {
    let (model, map) = (context.model, &context.frame.map);
    let (a, b) = (model.life(from), model.life(to));
    let shared = (a.offset.0.max(b.offset.0), a.end().min(b.end()));
    let middle = shared.0 + shared.1.saturating_sub(shared.0) / 2;
    let y = map.y.pixel(map.addresses.place(middle));
    let (Some(died), Some(born)) = (a.died(), b.born()) else {
        return;
    };
    let (x0, x1) = (context.x_of(died), context.x_of(born));
    if y < map.area.y || y > map.area.bottom() || x1 < map.area.x || x0 > map.area.right() {
        return;
    }
    let (x0, x1) = (x0.max(map.area.x), x1.min(map.area.right()));
    let color = context.palette.chosen;
    let line = Stroke { color, width: 1.5, dash: Dash::Even(3.0) };
    paint.line(vec![pos(x0, y), pos(x1.max(x0 + 0.5), y)], line);
    let head = 4.0;
    let tips = [[pos(x1 - head, y - head), pos(x1, y)], [pos(x1 - head, y + head), pos(x1, y)]];
    paint.segments(tips.to_vec(), Stroke::solid(color, 1.5));
    paint.rect(Rect::between(x0 - 2.0, y - 2.0, x0 + 2.0, y + 2.0), color);
}

/// How a stream is called in the picture.
pub(super) fn stream_name(model: &Model, stream: StreamIx) -> String {
    format!("stream {}", model.stream(stream).id)
}
