//! The embedded font: widths for layout, outlines for pixels. The same in every picture, whatever the system has.

use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

fn face() -> Option<&'static Face<'static>> {
    static FACE: OnceLock<Option<Face<'static>>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0).ok()).as_ref()
}

/// The glyph of a character; what the font lacks becomes a question mark.
fn glyph(face: &Face<'_>, character: char) -> GlyphId {
    let found = face.glyph_index(character).or_else(|| face.glyph_index('?'));
    found.unwrap_or(GlyphId(0))
}

/// Width in ems.
fn advance(character: char) -> f32 {
    static ASCII: OnceLock<[f32; 128]> = OnceLock::new();
    let measure = |character: char| {
        let Some(face) = face() else { return 0.5 };
        let width = face.glyph_hor_advance(glyph(face, character)).unwrap_or(0);
        f32::from(width) / f32::from(face.units_per_em())
    };
    let table = ASCII.get_or_init(|| std::array::from_fn(|i| char::from_u32(i as u32).map_or(0.0, measure)));
    match table.get(character as usize) {
        Some(width) => *width,
        None => measure(character),
    }
}

/// Width of a text in the unit that `size` (of one em) is in.
#[must_use]
pub fn width(text: &str, size: f32) -> f32 {
    text.chars().map(advance).sum::<f32>() * size
}

/// The text, or as much of it as fits with an ellipsis.
#[must_use]
pub fn fit(text: &str, size: f32, room: f32) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room / size - advance('…');
    let mut kept = String::new();
    for character in text.chars() {
        left -= advance(character);
        if left < 0.0 {
            break;
        }
        kept.push(character);
    }
    if kept.is_empty() {
        return kept;
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// Walks over the glyphs of a text whose baseline starts at `x`, `y`; `place` gets each outline's builder.
pub(crate) fn outline(text: &str, size: f32, x: f32, y: f32, pen: &mut impl Pen) {
    let Some(face) = face() else { return };
    let scale = size / f32::from(face.units_per_em());
    let mut at = x;
    for character in text.chars() {
        let mut placed = Placed { pen, scale, x: at, y };
        let _ = face.outline_glyph(glyph(face, character), &mut placed);
        at += advance(character) * size;
    }
}

/// What draws outlines, in the picture's coordinates.
pub(crate) trait Pen {
    /// Begins a contour.
    fn begin(&mut self, x: f32, y: f32);
    /// A straight line.
    fn line(&mut self, x: f32, y: f32);
    /// A quadratic curve over a control point.
    fn curve(&mut self, cx: f32, cy: f32, x: f32, y: f32);
    /// Closes the contour.
    fn end(&mut self);
}

struct Placed<'p, P> {
    pen: &'p mut P,
    scale: f32,
    x: f32,
    y: f32,
}

impl<P> Placed<'_, P> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl<P: Pen> OutlineBuilder for Placed<'_, P> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pen.begin(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pen.line(x, y);
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        let ((cx, cy), (x, y)) = (self.at(cx, cy), self.at(x, y));
        self.pen.curve(cx, cy, x, y);
    }

    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, x: f32, y: f32) {
        // TrueType outlines have no cubic curves.
        self.line_to(x, y);
    }

    fn close(&mut self) {
        self.pen.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_the_pictures_use_is_in_the_font() {
        let face = face().unwrap();
        for character in "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:;()[]#%+-=<>/·…–×µ".chars()
        {
            assert!(face.glyph_index(character).is_some(), "{character:?}");
        }
    }

    #[test]
    fn fitting_never_exceeds_the_room() {
        let text = "allocation 4711 on stream 3";
        for room in 0..200 {
            let fitted = fit(text, 12.0, room as f32);
            assert!(width(&fitted, 12.0) <= room as f32, "{fitted:?} in {room}");
        }
        assert_eq!(fit(text, 12.0, 1000.0), text);
    }
}
