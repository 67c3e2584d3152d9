//! Two pictures as one: side by side.

use super::{Pos, Rect, Scene, Shape, Size};

/// The second to the right of the first.
#[must_use]
pub fn beside([mut left, right]: [Scene; 2]) -> Scene {
    let by = left.size.w;
    left.size = Size { w: by + right.size.w, h: left.size.h.max(right.size.h) };
    left.shapes.extend(right.shapes.into_iter().map(|shape| moved(shape, by)));
    left
}

fn moved(shape: Shape, by: f32) -> Shape {
    let rect = |rect: Rect| Rect { x: rect.x + by, ..rect };
    let place = |at: Pos| Pos { x: at.x + by, ..at };
    match shape {
        Shape::Rects { fill, rects } => Shape::Rects { fill, rects: rects.into_iter().map(rect).collect() },
        Shape::Area { fill, points, base } => {
            Shape::Area { fill, points: points.into_iter().map(place).collect(), base }
        }
        Shape::Line { stroke, points } => Shape::Line { stroke, points: points.into_iter().map(place).collect() },
        Shape::Segments { stroke, ends } => {
            Shape::Segments { stroke, ends: ends.into_iter().map(|pair| pair.map(place)).collect() }
        }
        Shape::Outline { stroke, rect: outline } => Shape::Outline { stroke, rect: rect(outline) },
        Shape::Text(mut text) => {
            text.at = place(text.at);
            Shape::Text(text)
        }
    }
}
