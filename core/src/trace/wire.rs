//! Numbers and names as bytes: what the fields of a record are written with and read from.

use super::MAX_NAME;

/// The longest record in bytes, its kind and time included.
pub const MAX_RECORD_BYTES: usize = 192;

/// Room for one record: the cursor is a byte, so every place it can point at exists, and a number's nine bytes after
/// the last of them. That is what makes the writer free of checks.
pub(super) const WINDOW: usize = 256 + 9;

const _: () = assert!(MAX_RECORD_BYTES < 256);

/// How many streams' last positions a page remembers; others share a place with the stream of the same remainder.
const SEQS: usize = 8;

/// What the fields of a page are written relative to. The same for the writer and the reader; starts anew in each page.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// Time of the record before.
    pub(super) time: u64,
    /// The largest allocation id so far.
    pub(super) id: u64,
    /// The byte count before in the same record.
    pub(super) size: u64,
    /// Slot of the stream that the record is about.
    pub(super) stream: usize,
    seqs: [u64; SEQS],
}

impl Context {
    pub(super) const fn new(time: u64) -> Self {
        Self { time, id: 0, size: 0, stream: 0, seqs: [0; SEQS] }
    }

    /// The last position written for the stream in `slot`.
    pub(super) fn seq(&self, slot: usize) -> u64 {
        self.seqs.get(slot % SEQS).copied().unwrap_or_default()
    }

    pub(super) fn set_seq(&mut self, slot: usize, seq: u64) {
        if let Some(place) = self.seqs.get_mut(slot % SEQS) {
            *place = seq;
        }
    }
}

/// A signed difference as a number that is small where the difference is small: 0, -1, 1, -2 become 0, 1, 2, 3.
pub(super) const fn folded(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

/// What [`folded`] folded.
pub(super) const fn unfolded(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Writes one record.
#[derive(Debug)]
pub(super) struct Writer<'w> {
    window: &'w mut [u8; WINDOW],
    at: u8,
    pub(super) context: &'w mut Context,
}

impl<'w> Writer<'w> {
    pub(super) const fn new(window: &'w mut [u8; WINDOW], context: &'w mut Context) -> Self {
        Self { window, at: 0, context }
    }

    /// How many bytes the record has so far.
    pub(super) fn written(&self) -> usize {
        usize::from(self.at)
    }

    #[inline(always)]
    pub(super) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.window.get_mut(usize::from(self.at)) {
            *place = byte;
        }
        self.at = self.at.wrapping_add(1);
    }

    /// A number in one to nine bytes, see [the format](super#numbers).
    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) {
        if number < 0x80 {
            self.byte(((number as u8) << 1) | 1);
        } else {
            self.at = long_number(self.window, self.at, number);
        }
    }

    /// A name, cut to [`MAX_NAME`] bytes at a character's edge.
    pub(super) fn name(&mut self, name: &str) {
        let mut length = name.len().min(MAX_NAME);
        while !name.is_char_boundary(length) {
            length = length.saturating_sub(1);
        }
        self.number(length as u64);
        for byte in name.bytes().take(length) {
            self.byte(byte);
        }
    }
}

/// Writes a number of two to nine bytes at `at`, and returns the place behind it.
#[inline(always)]
fn long_number(window: &mut [u8; WINDOW], at: u8, number: u64) -> u8 {
    let bits = u64::BITS - number.leading_zeros();
    // The quotient of bits by seven, rounded up, for all bits that occur.
    let length = (bits * 9 + 64) / 64;
    if length <= 8 {
        word(window, usize::from(at), (number << length) | (1 << (length - 1)));
        at.wrapping_add(length as u8)
    } else {
        word(window, usize::from(at), 0);
        word(window, usize::from(at) + 1, number);
        at.wrapping_add(9)
    }
}

/// Eight bytes, lowest first.
fn word(window: &mut [u8; WINDOW], at: usize, word: u64) {
    if let Some(place) = window.get_mut(at..at + 8).and_then(|rest| rest.first_chunk_mut()) {
        *place = word.to_le_bytes();
    }
}

/// Why a field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    /// The field.
    pub(super) key: &'static str,
    /// What was expected of it.
    pub(super) what: &'static str,
}

/// Reads the records of one page.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) context: Context,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], time: u64) -> Self {
        Self { bytes, context: Context::new(time) }
    }

    /// How many bytes are left.
    pub(super) const fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Leaves nothing to read.
    pub(super) const fn give_up(&mut self) {
        self.bytes = &[];
    }

    pub(super) fn byte(&mut self, key: &'static str) -> Result<u8, Bad> {
        let (first, rest) = self.bytes.split_first().ok_or(Bad { key, what: ENDS })?;
        self.bytes = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self, key: &'static str) -> Result<u64, Bad> {
        let first = *self.bytes.first().ok_or(Bad { key, what: ENDS })?;
        let length = first.trailing_zeros() as usize + 1;
        let bytes = self.take(length, key)?;
        let number = bytes.iter().rev().take(8).fold(0, |sum: u64, byte| (sum << 8) | u64::from(*byte));
        Ok(if length > 8 { number } else { number >> length })
    }

    pub(super) fn name(&mut self, key: &'static str) -> Result<&'a str, Bad> {
        let length = self.number(key)?;
        if length > MAX_NAME as u64 {
            return Err(Bad { key, what: "a name of at most 64 bytes" });
        }
        let bytes = self.take(length as usize, key)?;
        core::str::from_utf8(bytes).map_err(|_| Bad { key, what: "UTF-8" })
    }

    fn take(&mut self, length: usize, key: &'static str) -> Result<&'a [u8], Bad> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Bad { key, what: ENDS })?;
        self.bytes = rest;
        Ok(taken)
    }
}

const ENDS: &str = "more bytes than the page has";

#[cfg(test)]
mod tests {
    use super::{Context, Cursor, WINDOW, Writer, folded, unfolded};

    #[test]
    fn numbers_keep_their_value_and_have_the_stated_length() {
        for bits in 0..=64 {
            let highest = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            for number in [highest, highest / 3 * 2, highest ^ (highest >> 1)] {
                let mut window = [0xaa; WINDOW];
                let mut context = Context::new(0);
                let mut writer = Writer::new(&mut window, &mut context);
                writer.number(number);
                let length = writer.written();
                let expected = match 64 - number.leading_zeros() {
                    0 => 1,
                    long if long > 56 => 9,
                    bits => bits.div_ceil(7),
                };
                assert_eq!(length, expected as usize, "{number:#x}");
                let mut cursor = Cursor::new(&window[..length], 0);
                assert_eq!(cursor.number("n"), Ok(number));
                assert_eq!(cursor.left(), 0);
                assert!(Cursor::new(&window[..length - 1], 0).number("n").is_err());
            }
        }
    }

    #[test]
    fn differences_fold() {
        for (difference, number) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
            assert_eq!(folded(difference as u64), number);
            assert_eq!(unfolded(number), difference as u64);
        }
    }

    #[test]
    fn a_long_name_is_cut_at_a_characters_edge() {
        let mut window = [0; WINDOW];
        let mut context = Context::new(0);
        let mut writer = Writer::new(&mut window, &mut context);
        // Two bytes each after the first: byte 64 is the second half of a letter.
        writer.name("aäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü");
        let mut cursor = Cursor::new(&window, 0);
        assert_eq!(cursor.name("name"), Ok("aäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüä"));
    }
}
