//! A scene as SVG. The same scene gives the same bytes.

use crate::scene::{Anchor, Color, Dash, Pos, Rect, Scene, Shape, Stroke, Text, Weight};
use crate::words;
use std::fmt::Write;

/// Fonts to try, the embedded one's family first.
const FAMILY: &str = "Ubuntu, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/// The scene as an SVG document.
#[must_use]
pub fn write(scene: &Scene) -> String {
    let mut out = String::new();
    let (w, h) = (number(scene.size.w), number(scene.size.h));
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{FAMILY}\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n",
        hex(scene.ground)
    );
    for shape in &scene.shapes {
        self::shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn shape(out: &mut String, shape: &Shape) {
    match shape {
        Shape::Rects { fill, rects } => {
            out.push_str("<path d=\"");
            rects.iter().for_each(|r| rect(out, r));
            let _ = writeln!(out, "\"{}/>", filled(*fill));
        }
        Shape::Area { fill, points, base } => {
            out.push_str("<path d=\"");
            path(out, points);
            if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let (right, base, left) = (number(last.x), number(*base), number(first.x));
                let _ = write!(out, "L{right} {base}L{left} {base}Z");
            }
            let _ = writeln!(out, "\"{}/>", filled(*fill));
        }
        Shape::Line { stroke, points } => {
            out.push_str("<path d=\"");
            path(out, points);
            let _ = writeln!(out, "\" fill=\"none\" stroke-linejoin=\"round\"{}/>", stroked(stroke));
        }
        Shape::Segments { stroke, ends } => {
            out.push_str("<path d=\"");
            ends.iter().for_each(|pair| path(out, pair));
            let _ = writeln!(out, "\"{}/>", stroked(stroke));
        }
        Shape::Outline { stroke, rect: r } => {
            out.push_str("<path d=\"");
            rect(out, r);
            let _ = writeln!(out, "\" fill=\"none\"{}/>", stroked(stroke));
        }
        Shape::Text(text) => self::text(out, text),
    }
}

fn rect(out: &mut String, rect: &Rect) {
    let (x, y) = (number(rect.x), number(rect.y));
    // From the rounded corners, so that neighbours meet.
    let (w, h) = (number(rect.right() - round(rect.x)), number(rect.bottom() - round(rect.y)));
    let _ = write!(out, "M{x} {y}h{w}v{h}h-{w}z");
}

fn path(out: &mut String, points: &[Pos]) {
    let mut last = (String::new(), String::new());
    for (i, point) in points.iter().enumerate() {
        let (x, y) = (number(point.x), number(point.y));
        let _ = match (i, x == last.0, y == last.1) {
            (0, ..) => write!(out, "M{x} {y}"),
            (_, true, true) => Ok(()),
            (_, true, false) => write!(out, "V{y}"),
            (_, false, true) => write!(out, "H{x}"),
            _ => write!(out, "L{x} {y}"),
        };
        last = (x, y);
    }
}

fn text(out: &mut String, text: &Text) {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = match text.weight {
        Weight::Regular => "",
        Weight::Bold => " font-weight=\"bold\"",
    };
    let (x, y, size) = (number(text.at.x), number(text.at.y), number(text.size));
    let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{weight}{}>", filled(text.color));
    if let Some(sentence) = words::meaning(&text.text) {
        let _ = write!(out, "<title>{sentence}</title>");
    }
    for character in text.text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '>' => out.push_str("&gt;"),
            // XML has no place for most control characters, and names may hold any.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push_str("</text>\n");
}

fn filled(color: Color) -> String {
    match color.a {
        255 => format!(" fill=\"{}\"", hex(color)),
        a => format!(" fill=\"{}\" fill-opacity=\"{}\"", hex(color), opacity(a)),
    }
}

fn stroked(stroke: &Stroke) -> String {
    let mut text = format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(stroke.color), number(stroke.width));
    if stroke.color.a < 255 {
        let _ = write!(text, " stroke-opacity=\"{}\"", opacity(stroke.color.a));
    }
    if let Dash::Even(length) = stroke.dash {
        let _ = write!(text, " stroke-dasharray=\"{}\"", number(length));
    }
    text
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

fn opacity(a: u8) -> String {
    format!("{:.2}", f32::from(a) / 255.0)
}

fn round(value: f32) -> f32 {
    (value * 10.0).round() / 10.0
}

/// A tenth of a pixel is enough; no trailing zeros.
fn number(value: f32) -> String {
    let tenths = (f64::from(value) * 10.0).round() as i64;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        part => {
            let sign = if tenths < 0 { "-" } else { "" };
            format!("{sign}{}.{}", tenths.unsigned_abs() / 10, part.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Size, pos};

    #[test]
    fn numbers_are_short() {
        let pairs = [(0.0, "0"), (1.04, "1"), (1.06, "1.1"), (-0.5, "-0.5"), (-12.25, "-12.3"), (1234.5, "1234.5")];
        for (value, text) in pairs {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn names_cannot_break_the_document() {
        let scene = Scene {
            size: Size { w: 10.0, h: 10.0 },
            ground: Color::hex(0),
            shapes: vec![Shape::Text(Text {
                at: pos(1.0, 2.0),
                anchor: Anchor::End,
                size: 12.0,
                weight: Weight::Bold,
                color: Color::hex(0xff_ff_ff).fade(128),
                text: "</text><script>&\u{1}".to_owned(),
            })],
        };
        let svg = write(&scene);
        assert!(svg.contains(">&lt;/text&gt;&lt;script&gt;&amp;\u{fffd}</text>"), "{svg}");
        assert!(svg.contains("fill=\"#ffffff\" fill-opacity=\"0.50\""), "{svg}");
    }
}
