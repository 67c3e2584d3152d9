//! A scene as pixels and PNG, with the embedded font: the same picture on every machine.

use crate::font::{self, Pen};
use crate::scene::{Anchor, Color, Dash, Pos, Rect, Scene, Shape, Stroke, Text, Weight};
use std::fmt;
use tiny_skia::{FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform};

/// The longest edge in pixels that a picture may have.
pub const MOST_PIXELS: u32 = 16_384;

/// A picture could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngError {
    /// The size is zero or too large.
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The encoder failed.
    Encoding,
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { width, height } => write!(
                f,
                "a picture of {width}x{height} pixels cannot be made; give a size from 1x1 to {MOST_PIXELS}x{MOST_PIXELS}"
            ),
            Self::Encoding => write!(f, "the picture could not be encoded as PNG"),
        }
    }
}

impl std::error::Error for PngError {}

/// The scene as PNG, `scale` pixels to the scene's unit.
///
/// # Errors
/// The size is impossible.
pub fn write(scene: &Scene, scale: f32) -> Result<Vec<u8>, PngError> {
    encode(&render(scene, scale)?).map_err(|_| PngError::Encoding)
}

/// Packs well instead of fast, without the opacity, of which a picture has none, and without filters, which are for
/// photographs: a quarter fewer bytes.
fn encode(pixmap: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let pixels: Vec<u8> = pixmap.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(out)
}

fn render(scene: &Scene, scale: f32) -> Result<Pixmap, PngError> {
    let (width, height) = ((scene.size.w * scale).round() as u32, (scene.size.h * scale).round() as u32);
    let fits = |n: u32| (1..=MOST_PIXELS).contains(&n);
    let pixmap = Pixmap::new(width, height).filter(|_| fits(width) && fits(height));
    let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
    pixmap.fill(skia(scene.ground));
    let mut canvas = Canvas { pixmap: &mut pixmap, at: Transform::from_scale(scale, scale) };
    for shape in &scene.shapes {
        canvas.shape(shape);
    }
    Ok(pixmap)
}

fn skia(color: Color) -> tiny_skia::Color {
    tiny_skia::Color::from_rgba8(color.r, color.g, color.b, color.a)
}

fn paint(color: Color) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(skia(color));
    paint
}

struct Canvas<'p> {
    pixmap: &'p mut Pixmap,
    at: Transform,
}

impl Canvas<'_> {
    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Rects { fill, rects } => rects.iter().for_each(|r| self.rect(r, *fill)),
            Shape::Area { fill, points, base } => {
                let mut path = PathBuilder::new();
                trace(&mut path, points);
                if let (Some(first), Some(last)) = (points.first(), points.last()) {
                    path.line_to(last.x, *base);
                    path.line_to(first.x, *base);
                    path.close();
                }
                self.fill(path.finish(), *fill);
            }
            Shape::Line { stroke, points } => {
                let mut path = PathBuilder::new();
                trace(&mut path, points);
                self.stroke(path.finish(), stroke);
            }
            Shape::Segments { stroke, ends } => {
                let mut path = PathBuilder::new();
                ends.iter().for_each(|pair| trace(&mut path, pair));
                self.stroke(path.finish(), stroke);
            }
            Shape::Outline { stroke, rect } => {
                let rect = tiny_skia::Rect::from_xywh(rect.x, rect.y, rect.w, rect.h);
                self.stroke(rect.map(PathBuilder::from_rect), stroke);
            }
            Shape::Text(text) => self.text(text),
        }
    }

    fn rect(&mut self, rect: &Rect, fill: Color) {
        if let Some(rect) = tiny_skia::Rect::from_xywh(rect.x, rect.y, rect.w, rect.h) {
            self.pixmap.fill_rect(rect, &paint(fill), self.at, None);
        }
    }

    fn fill(&mut self, path: Option<Path>, fill: Color) {
        if let Some(path) = path {
            self.pixmap.fill_path(&path, &paint(fill), FillRule::Winding, self.at, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke) {
        let Some(path) = path else { return };
        let style = tiny_skia::Stroke {
            width: stroke.width,
            line_join: LineJoin::Round,
            dash: match stroke.dash {
                Dash::Solid => None,
                Dash::Even(length) => StrokeDash::new(vec![length, length], 0.0),
            },
            ..tiny_skia::Stroke::default()
        };
        self.pixmap.stroke_path(&path, &paint(stroke.color), &style, self.at, None);
    }

    fn text(&mut self, text: &Text) {
        let wide = font::width(&text.text, text.size);
        let x = match text.anchor {
            Anchor::Start => text.at.x,
            Anchor::Middle => text.at.x - wide / 2.0,
            Anchor::End => text.at.x - wide,
        };
        let mut outlines = Outlines(PathBuilder::new());
        font::outline(&text.text, text.size, x, text.at.y, &mut outlines);
        let Some(path) = outlines.0.finish() else { return };
        // The font is a light one: a hair's breadth more makes it regular, three make it bold.
        let heavier = text.size
            * match text.weight {
                Weight::Regular => 0.022,
                Weight::Bold => 0.062,
            };
        self.stroke(Some(path.clone()), &Stroke::solid(text.color, heavier));
        self.fill(Some(path), text.color);
    }
}

fn trace(path: &mut PathBuilder, points: &[Pos]) {
    for (i, point) in points.iter().enumerate() {
        match i {
            0 => path.move_to(point.x, point.y),
            _ => path.line_to(point.x, point.y),
        }
    }
}

struct Outlines(PathBuilder);

impl Pen for Outlines {
    fn begin(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn curve(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.0.quad_to(cx, cy, x, y);
    }

    fn end(&mut self) {
        self.0.close();
    }
}
