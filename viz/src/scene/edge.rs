//! The left edge of an allocation says where its memory came from. Forms, not colours: colours are the streams'.

use super::{Paint, Palette, Pos, Rect, Stroke, pos};
use weir::trace::Source;

/// Draws the edges of these rectangles. Grown memory has none: it came from nobody.
pub(super) fn draw(paint: &mut Paint, marked: &[(Rect, Source)], palette: &Palette) {
    let of = |source: Source| marked.iter().filter(move |m| m.1 == source).map(|m| m.0);
    let bar = |r: Rect, width: f32| Rect::between(r.x, r.y, r.x + (width * weight(&r)).min(r.w), r.bottom());
    paint.rects(of(Source::SameStream).map(|r| bar(r, 1.0)).collect(), palette.ink.fade(130));
    paint.rects(of(Source::Settled).map(|r| bar(r, 2.5)).collect(), palette.ink.fade(230));
    paint.rects(of(Source::Event).map(|r| bar(r, 1.0)).collect(), palette.ink);
    let heads: Vec<Rect> = of(Source::Event).collect();
    arrow_heads(paint, &heads, palette);
    paint.rects(of(Source::Opportunistic).flat_map(dots).collect(), palette.ink);
    let doubled = of(Source::Internal).flat_map(|r| {
        let second = Rect { x: r.x + 3.0, w: (r.w - 3.0).max(0.0), ..r };
        [bar(r, 1.5), bar(second, 1.5)]
    });
    paint.rects(doubled.filter(|r| r.w > 0.0).collect(), palette.ink);
}

/// Larger rectangles have heavier edges.
fn weight(rect: &Rect) -> f32 {
    (rect.h.min(rect.w) / 24.0).clamp(1.0, 2.0)
}

/// A triangle pointing into the rectangle, made of steps so that every writer draws it alike.
fn arrow_heads(paint: &mut Paint, rects: &[Rect], palette: &Palette) {
    let mut strokes: Vec<[Pos; 2]> = Vec::new();
    for rect in rects.iter().filter(|r| r.h >= 5.0 && r.w >= 5.0) {
        let middle = rect.y + rect.h / 2.0;
        let half = (rect.h / 2.0).min(3.5 * weight(rect));
        strokes.push([pos(rect.x, middle - half), pos(rect.x + half + 0.5, middle)]);
        strokes.push([pos(rect.x, middle + half), pos(rect.x + half + 0.5, middle)]);
    }
    paint.segments(strokes, Stroke::solid(palette.ink, 1.3));
}

/// A dotted edge, at most a dozen dots.
fn dots(rect: Rect) -> Vec<Rect> {
    let step = (rect.h / 12.0).max(3.5);
    let count = (rect.h / step).ceil() as usize;
    let dot = |i: usize| {
        let top = rect.y + i as f32 * step;
        Rect::between(rect.x, top, rect.x + 2.0_f32.min(rect.w), (top + step * 0.55).min(rect.bottom()))
    };
    (0..count).map(dot).filter(|r| r.h > 0.0).collect()
}
