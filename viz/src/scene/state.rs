//! The pool at the cursor: its addresses as they are then, and its free blocks by the stream that freed them, with what
//! each has to wait for.

use super::page::Panel;
use super::{Anchor, Context, Frame, Paint, Pos, ROW, Rect, Selection, View, describe, pos, ticks};
use crate::font::fit;
use crate::model::{EventIx, FreeBlock, Model, StreamIx};
use std::collections::BTreeMap;
use weir::units::Bytes;

/// Size of the texts.
const TEXT: f32 = 11.5;
/// Height of the bar of addresses.
const BAR: f32 = 34.0;
/// Where the list begins, below the upper edge.
const LIST: f32 = BAR + 40.0;

/// The panel.
pub(super) struct PoolState;

impl Panel for PoolState {
    fn draw(&self, context: &Context<'_>, paint: &mut Paint) {
        let area = context.frame.map.area;
        super::panel(context, paint, area, "Pool at the cursor");
        let Some(event) = cursor(context.model, context.view).filter(|_| context.pool().is_some()) else {
            return;
        };
        let palette = context.palette;
        let state = context.model.state(context.view.pool, event);
        let facts = format!(
            "after record {}: used {}, reserved {}, {} live",
            ticks::count(context.model.events.number(event)),
            ticks::bytes(state.used),
            ticks::bytes(state.reserved),
            ticks::count(state.live as u64)
        );
        paint.text(Anchor::End, pos(area.right(), area.y - 8.0), TEXT, palette.dim, facts);
        bar(context, paint, event);
        let words = "coloured: live; grey: free; pale: not mapped";
        paint.text(Anchor::Start, pos(area.x + 10.0, area.y + BAR + 23.0), 10.5, palette.dim, words);
        let lines = lines(context.model, context.view, event);
        let (room, all) = (room(area), lines.len());
        let top = context.view.free.top(Some((context.view.pool, event)), all, room);
        for (at, line) in lines[top..].iter().take(room).enumerate() {
            self::line(context, paint, event, (line, area.y + LIST + at as f32 * ROW));
        }
        if all > room {
            let words = format!("lines {} to {} of {all}", top + 1, (top + room).min(all));
            paint.text(Anchor::End, pos(area.right() - 10.0, area.y + BAR + 23.0), 10.5, palette.dim, words);
        }
        let list = Rect::between(area.x, area.y + LIST - ROW * 0.7, area.right(), area.bottom());
        super::side::thumb(context, paint, list, (top, room, all));
    }

    fn at(&self, model: &Model, view: &View, frame: &Frame, at: Pos) -> Selection {
        let Some(event) = cursor(model, view) else {
            return view.selection;
        };
        let (row, room) = (((at.y - frame.map.area.y - LIST) / ROW + 0.7).floor(), room(frame.map.area));
        if row < 0.0 || row as usize >= room {
            return view.selection;
        }
        let lines = lines(model, view, event);
        let top = view.free.top(Some((view.pool, event)), lines.len(), room);
        match lines.get(top + row as usize) {
            Some(Line::Block(block)) => Selection::Free(event, *block),
            _ => view.selection,
        }
    }

    fn tell(&self, _: &Model, _: &View, _: &Frame, _: Pos) -> Vec<String> {
        Vec::new()
    }
}

fn room(area: Rect) -> usize {
    ((area.h - LIST) / ROW).max(1.0) as usize
}

/// The selected record; else the pool's peak of used bytes where that is in sight, else the last record in sight.
fn cursor(model: &Model, view: &View) -> Option<EventIx> {
    let first = model.events.first_from(view.axis, view.x.from);
    let past = model.events.first_from(view.axis, view.x.to);
    let peak = || model.pools.get(view.pool.at())?.used.peak().1.filter(|at| (first..past).contains(at));
    view.selected_event(model).or_else(peak).or_else(|| past.0.checked_sub(1).map(EventIx))
}

/// The pool's addresses: free below, live above it; what is neither is not mapped. Everything has at least a pixel.
fn bar(context: &Context<'_>, paint: &mut Paint, event: EventIx) {
    let Some(pool) = context.pool() else { return };
    let (model, palette, map) = (context.model, context.palette, &context.frame.map);
    let area = Rect { x: map.area.x + 10.0, y: map.area.y + 10.0, w: map.area.w - 20.0, h: BAR };
    let per = f64::from(area.w) / map.addresses.length();
    let place = |start: u64, end: u64| {
        let x = |address: u64| area.x + (map.addresses.place(address) * per) as f32;
        let left = x(start);
        Rect { x: left, w: (x(end.saturating_sub(1)) - left).max(1.0), ..area }
    };
    paint.rect(area, palette.hole);
    let runs = pool.runs.iter().filter(|r| r.since <= event && r.unmapped.is_none_or(|u| u > event));
    paint.rects(merged(runs.map(|r| place(r.start, r.end))), palette.free.mix(palette.dim, 60));
    let mut by_rank: BTreeMap<usize, Vec<Rect>> = BTreeMap::new();
    model.each_live(context.view.pool, event, |at| {
        let life = model.life(at);
        let rank = model.stream(life.stream).rank;
        by_rank.entry(rank).or_default().push(place(life.offset.0, life.end()));
    });
    for (rank, rects) in by_rank {
        paint.rects(merged(rects.into_iter()), palette.stream(rank));
    }
}

/// Those that touch, in one: as many as there are pixels, at most.
fn merged(rects: impl Iterator<Item = Rect>) -> Vec<Rect> {
    let mut rects: Vec<Rect> = rects.collect();
    rects.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut out: Vec<Rect> = Vec::new();
    for rect in rects {
        match out.last_mut() {
            Some(last) if rect.x <= last.right() + 0.5 => last.w = last.w.max(rect.right() - last.x),
            _ => out.push(rect),
        }
    }
    out
}

impl View {
    /// Scrolls the list of free blocks by lines.
    pub(super) fn scroll_free(&mut self, model: &Model, frame: &Frame, by: f64) {
        if let Some(event) = cursor(model, self) {
            let all = lines(model, self, event).len();
            self.free.by(Some((self.pool, event)), by, all, room(frame.map.area));
        }
    }
}

/// A line of the list. Its words are made once it is seen.
enum Line {
    Nothing,
    /// All that one stream freed.
    Group {
        stream: Option<StreamIx>,
        blocks: usize,
        sum: u64,
        largest: u64,
    },
    Block(FreeBlock),
}

/// By stream, those with most bytes first; below each its blocks, the largest first. O(n log n) in the pool's allocations.
fn lines(model: &Model, view: &View, event: EventIx) -> Vec<Line> {
    let mut by: BTreeMap<Option<StreamIx>, Vec<FreeBlock>> = BTreeMap::new();
    for block in model.free_blocks(view.pool, event) {
        by.entry(block.last.map(|life| model.freed_on(life))).or_default().push(block);
    }
    let mut groups: Vec<(Option<StreamIx>, Vec<FreeBlock>)> = by.into_iter().collect();
    let sum = |blocks: &[FreeBlock]| blocks.iter().map(FreeBlock::bytes).fold(0, u64::saturating_add);
    groups.sort_by_key(|(_, blocks)| std::cmp::Reverse(sum(blocks)));
    if groups.is_empty() {
        return vec![Line::Nothing];
    }
    let mut lines = Vec::new();
    for (stream, mut blocks) in groups {
        let largest = blocks.iter().map(FreeBlock::bytes).max().unwrap_or(0);
        lines.push(Line::Group { stream, blocks: blocks.len(), sum: sum(&blocks), largest });
        blocks.sort_by_key(|block| (std::cmp::Reverse(block.bytes()), block.start));
        lines.extend(blocks.into_iter().map(Line::Block));
    }
    lines
}

/// Draws a line of the list on its base.
fn line(context: &Context<'_>, paint: &mut Paint, event: EventIx, (line, base): (&Line, f32)) {
    let (model, palette, area) = (context.model, context.palette, context.frame.map.area);
    let (indent, ink) = match line {
        Line::Nothing | Line::Group { .. } => (26.0, palette.ink),
        Line::Block(_) => (40.0, palette.dim),
    };
    if let Line::Block(block) = line
        && context.view.selection == Selection::Free(event, *block)
    {
        paint.rect(Rect { y: base - ROW * 0.7, h: ROW, ..area }, palette.used.fade(70));
    }
    if let Line::Group { stream: Some(stream), .. } = line {
        let color = palette.stream(model.stream(*stream).rank);
        paint.rect(Rect::between(area.x + 10.0, base - 9.0, area.x + 19.0, base), color);
    }
    let text = words(model, line, event);
    paint.text(Anchor::Start, pos(area.x + indent, base), TEXT, ink, fit(&text, TEXT, area.w - indent - 10.0));
}

fn words(model: &Model, line: &Line, event: EventIx) -> String {
    match *line {
        Line::Nothing => "Nothing is free.".to_owned(),
        Line::Group { stream, blocks, sum, largest } => {
            let who =
                stream.map_or("never used".to_owned(), |s| format!("freed on {}", super::map::stream_name(model, s)));
            let pieces = if blocks == 1 { "piece" } else { "pieces" };
            let count = format!("{} {pieces}", ticks::count(blocks as u64));
            format!("{who}: {} in {count}, the largest {}", ticks::bytes(sum), ticks::bytes(largest))
        }
        Line::Block(block) => block_words(model, block, event),
    }
}

fn block_words(model: &Model, block: FreeBlock, event: EventIx) -> String {
    let place = format!("{} at {}", ticks::bytes(block.bytes()), describe::offset_words(Bytes(block.start)));
    let Some(life) = block.last else { return format!("{place}, for anyone") };
    let points = model.points_of(life, event);
    let points: Vec<String> = points.iter().map(|p| format!("stream {} at {}", p.stream, p.seq)).collect();
    format!("{place}, was #{}, after {}", model.life(life).id, points.join(" and "))
}
