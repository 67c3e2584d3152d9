//! A picture with nothing but a message: why there is no other.

use super::{Anchor, Paint, Rect, Scene, Size, Theme, pos};
use crate::font::width;

/// A heading and lines below it, wrapped, in the middle of the picture.
#[must_use]
pub fn message(size: Size, theme: Theme, heading: &str, lines: &[String]) -> Scene {
    let palette = theme.palette();
    let mut paint = Paint::default();
    let room = (size.w - 120.0).clamp(200.0, 720.0);
    let left = ((size.w - room) / 2.0).max(20.0);
    let wrapped: Vec<String> = lines.iter().flat_map(|l| wrap(l, 14.0, room)).collect();
    let mut y = (size.h / 2.0 - 10.0 - wrapped.len() as f32 * 11.0).max(40.0);
    paint
        .rect(Rect::between(left - 18.0, y - 18.0, left - 14.0, y + 14.0 + wrapped.len() as f32 * 22.0), palette.alarm);
    for part in wrap(heading, 19.0, room) {
        paint.heading(pos(left, y), 19.0, palette.ink, part);
        y += 28.0;
    }
    for line in wrapped {
        paint.text(Anchor::Start, pos(left, y), 14.0, palette.dim, line);
        y += 22.0;
    }
    Scene { size, ground: palette.ground, shapes: paint.shapes }
}

/// Lines of whole words, as long as they fit; a longer word stands alone.
pub(super) fn wrap(text: &str, size: f32, room: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_loses_no_word() {
        let text = "the log is empty: nothing was logged, or the log was never flushed";
        let lines = wrap(text, 14.0, 150.0);
        assert!(lines.len() > 2);
        assert_eq!(lines.join(" "), text);
    }
}
