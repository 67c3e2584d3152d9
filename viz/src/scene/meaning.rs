//! What the words and signs around the panels mean, for the pointer.

use super::hover::{WIDEST, boxed};
use super::{Anchor, Frame, Paint, Pos, Rect, Scene, Shape, Text, View, wrap::wrap};
use crate::font::width;
use crate::words;

/// How far beside its word a sign is.
const SIGN: f32 = 24.0;
/// Size of what is told.
const TEXT: f32 = 12.0;

/// A box that says what the word under the pointer means, or the one beside the sign there.
#[must_use]
pub fn meaning(scene: &Scene, view: &View, frame: &Frame, at: Pos) -> Vec<Shape> {
    let mut paint = Paint::default();
    // Lists and titles hold what a log says.
    let lists = [frame.list, frame.findings, Some(frame.map.area), Some(frame.chart), Some(frame.notices)];
    if lists.into_iter().flatten().any(|list| list.contains(at)) {
        return paint.shapes;
    }
    let told = scene.shapes.iter().filter_map(|shape| {
        let Shape::Text(text) = shape else { return None };
        let place = place(text);
        let away = (place.x - at.x).max(at.x - place.right()).max(0.0);
        let near = place.y <= at.y && at.y < place.bottom() && away <= SIGN && text.text != view.title;
        Some((away, words::meaning(&text.text).filter(|_| near)?))
    });
    if let Some((_, sentence)) = told.min_by(|a, b| a.0.total_cmp(&b.0)) {
        boxed(&mut paint, view.theme.palette(), frame, at, &wrap(sentence, TEXT, WIDEST));
    }
    paint.shapes
}

/// Where a text is.
fn place(text: &Text) -> Rect {
    let wide = width(&text.text, text.size);
    let left = match text.anchor {
        Anchor::Start => text.at.x,
        Anchor::Middle => text.at.x - wide / 2.0,
        Anchor::End => text.at.x - wide,
    };
    Rect { x: left, y: text.at.y - text.size, w: wide, h: text.size * 1.3 }
}
