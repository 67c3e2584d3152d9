//! Texts in lines.

use crate::font::width;

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
