//! A line of the text form, taken apart from left to right.

use super::wire::Bad;

/// What is left of a line, and of the text behind it.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    pub(super) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// How many bytes are left, the following lines included.
    pub(super) const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Takes `key=value` and gives the value, which ends at a space or the line's end.
    pub(super) fn value(&mut self, key: &'static str) -> Result<&'a str, Bad> {
        let value = self.after(key)?;
        let length = value.iter().position(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
        self.text(key, value, length.unwrap_or(value.len()))
    }

    /// Takes `key=` and exactly `length` bytes, whatever they are.
    pub(super) fn counted(&mut self, key: &'static str, length: usize) -> Result<&'a str, Bad> {
        let value = self.after(key)?;
        self.text(key, value, length)
    }

    /// Takes the line's end.
    pub(super) fn end(&mut self) -> Result<(), Bad> {
        let what = "nothing more in the line";
        let (line, next) = split_line(self.rest);
        if !line.is_empty() {
            return Err(Bad { key: "", what });
        }
        self.rest = next;
        Ok(())
    }

    /// What follows `key=`, which must come next.
    fn after(&mut self, key: &'static str) -> Result<&'a [u8], Bad> {
        let what = "this key next";
        let after = self.rest.strip_prefix(key.as_bytes());
        after.and_then(|rest| rest.strip_prefix(b"=")).ok_or(Bad { key, what })
    }

    /// The first bytes of `value` as text; goes on behind them and the space that separates them from the next key.
    fn text(&mut self, key: &'static str, value: &'a [u8], length: usize) -> Result<&'a str, Bad> {
        let what = "a longer value";
        let (taken, rest) = value.split_at_checked(length).ok_or(Bad { key, what })?;
        self.rest = rest.strip_prefix(b" ").unwrap_or(rest);
        core::str::from_utf8(taken).map_err(|_| Bad { key, what: "UTF-8" })
    }
}

/// The first line without its end, and what follows.
pub(super) fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (line, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    let rest = rest.split_first().map_or(rest, |(_, rest)| rest);
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}
