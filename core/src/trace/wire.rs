//! Numbers and names as bytes: what the fields of a record are written with and read from.

use super::{MAX_NAME, MAX_RECORD_BYTES, Points};
use crate::error::Point;
use crate::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use crate::units::{Bytes, Seq};

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
    seqs: [u64; SEQS],
}

impl Context {
    pub(super) const fn new(time: u64) -> Self {
        Self { time, id: 0, seqs: [0; SEQS] }
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

/// What byte counts are multiples of, mostly.
pub(super) const UNIT: u64 = 512;

/// The code before a count that no other code fits: uneven and of more than 63 bits.
pub(super) const WIDE: u64 = 1 << 56;

/// Set in the count of points where an epoch follows them.
pub(super) const EPOCH: u8 = 4;

/// Where the fields of one record go: to [`Writer`], which takes all, or to the writer of
/// [ordinary](super::ordinary) records.
pub(super) trait Out {
    fn byte(&mut self, byte: u8);
    /// A number in one to nine bytes, see [the format](super#numbers).
    fn number(&mut self, number: u64);
    /// A signed difference.
    fn difference(&mut self, difference: u64);
    fn device(&mut self, device: DeviceId);
    /// The stream that the record is about: the positions that follow are on it.
    fn stream(&mut self, stream: StreamId);
    fn pool(&mut self, pool: PoolId);
    fn event(&mut self, event: EventId);
    fn label(&mut self, label: LabelId);
    /// A position on the record's stream.
    fn seq(&mut self, seq: Seq);
    fn point(&mut self, point: &Point);
    fn points(&mut self, points: &Points);
    fn alloc(&mut self, id: AllocId);
    fn bytes(&mut self, count: Bytes);
    /// A name, cut to [`MAX_NAME`] bytes at a character's edge.
    fn name(&mut self, name: &str);
}

/// Writes one record, whatever its values are. What is more than a few instructions is not inlined: every field of every
/// kind would hold it, 25 KB in all instead of 4.
#[derive(Debug)]
pub(super) struct Writer<'w> {
    window: &'w mut [u8; WINDOW],
    at: u8,
    /// The byte count before in the same record.
    size: u64,
    /// Slot of the stream that the record is about.
    stream: usize,
    context: &'w mut Context,
}

impl<'w> Writer<'w> {
    pub(super) const fn new(window: &'w mut [u8; WINDOW], context: &'w mut Context) -> Self {
        Self { window, at: 0, size: 0, stream: 0, context }
    }

    /// How many bytes the record has so far.
    pub(super) fn written(&self) -> usize {
        usize::from(self.at)
    }

    /// A number of more than one byte.
    #[inline(never)]
    fn long_number(&mut self, number: u64) {
        let at = usize::from(self.at);
        if number >> 56 == 0 {
            let (bytes, more) = short_form(number);
            put_word(self.window, at, bytes);
            self.at = self.at.wrapping_add(more as u8 + 1);
        } else {
            put_word(self.window, at, 0);
            put_word(self.window, at + 1, number);
            self.at = self.at.wrapping_add(9);
        }
    }

    /// Slot and generation of an id; the first generation, which most ids have, goes without saying.
    #[inline(never)]
    fn id(&mut self, slot: usize, generation: u32) {
        let slot = (slot as u64) << 1;
        if generation == 1 {
            self.number(slot);
        } else {
            self.number(slot | 1);
            self.number(u64::from(generation));
        }
    }
}

impl Out for Writer<'_> {
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.window.get_mut(usize::from(self.at)) {
            *place = byte;
        }
        self.at = self.at.wrapping_add(1);
    }

    #[inline(always)]
    fn number(&mut self, number: u64) {
        if number < 0x80 {
            self.byte(((number << 1) | 1) as u8);
        } else {
            self.long_number(number);
        }
    }

    fn difference(&mut self, difference: u64) {
        self.number(folded(difference));
    }

    fn device(&mut self, device: DeviceId) {
        self.number(u64::from(device.0));
    }

    fn stream(&mut self, stream: StreamId) {
        self.stream = stream.slot();
        self.id(stream.slot(), stream.generation());
    }

    fn pool(&mut self, pool: PoolId) {
        self.id(pool.slot(), pool.generation());
    }

    fn event(&mut self, event: EventId) {
        self.id(event.slot(), event.generation());
    }

    fn label(&mut self, label: LabelId) {
        self.number(u64::from(label.0));
    }

    #[inline(never)]
    fn seq(&mut self, seq: Seq) {
        let step = seq.0.wrapping_sub(self.context.seq(self.stream));
        self.difference(step);
        self.context.set_seq(self.stream, seq.0);
    }

    #[inline(never)]
    fn point(&mut self, point: &Point) {
        let slot = point.stream.slot();
        self.id(slot, point.stream.generation());
        self.difference(self.context.seq(slot).wrapping_sub(point.seq.0));
    }

    fn points(&mut self, points: &Points) {
        let epoch = if points.epoch == 0 { 0 } else { EPOCH };
        self.byte(points.used().count() as u8 | epoch);
        points.used().for_each(|point| self.point(point));
        if points.epoch != 0 {
            self.number(points.epoch);
        }
    }

    fn alloc(&mut self, id: AllocId) {
        let latest = self.context.id;
        self.difference(id.0.wrapping_sub(latest));
        self.context.id = latest.max(id.0);
    }

    #[inline(never)]
    fn bytes(&mut self, count: Bytes) {
        let count = count.0;
        let before = core::mem::replace(&mut self.size, count);
        if count == before {
            self.number(0);
        } else if count != 0 && count.is_multiple_of(UNIT) {
            self.number(count / UNIT * 2);
        } else if count >> 63 == 0 {
            self.number((count << 1) | 1);
        } else {
            self.number(WIDE);
            self.number(count);
        }
    }

    #[inline(never)]
    fn name(&mut self, name: &str) {
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

/// The bytes of a number below 2^56, which are at most eight, and how many there are beside the first. Six instructions,
/// of which none is a branch.
#[inline(always)]
pub(super) fn short_form(number: u64) -> (u64, usize) {
    let odd = (number << 1) | 1;
    let bits = u64::from(odd.checked_ilog2().unwrap_or_default());
    // A seventh of the number's bits, rounded up, less one; for all that occur.
    let more = bits * 9 / 64;
    (odd << more, more as usize)
}

/// The most bytes of a number of so many bits.
pub(super) const fn number_bytes(bits: u32) -> usize {
    if bits > 56 { 9 } else { bits.div_ceil(7) as usize }
}

/// Puts eight bytes, lowest first.
#[inline(always)]
pub(super) fn put_word(window: &mut [u8], at: usize, word: u64) {
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
    /// The byte count before in the same record.
    pub(super) size: u64,
    /// Slot of the stream that the record is about.
    pub(super) stream: usize,
    pub(super) context: Context,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], time: u64) -> Self {
        Self { bytes, size: 0, stream: 0, context: Context::new(time) }
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

    /// A number of at most eight bytes, where the page has as many, is read as one word: byte by byte, numbers were a fifth of
    /// what reading a log took.
    #[inline]
    pub(super) fn number(&mut self, key: &'static str) -> Result<u64, Bad> {
        let Some(word) = self.bytes.first_chunk().map(|word| u64::from_le_bytes(*word)) else {
            return self.number_by_bytes(key);
        };
        let length = word.trailing_zeros() as usize + 1;
        match self.bytes.get(length..) {
            Some(rest) if length <= 8 => {
                self.bytes = rest;
                Ok((word << (64 - 8 * length)) >> (64 - 7 * length))
            }
            _ => self.number_by_bytes(key),
        }
    }

    #[cold]
    fn number_by_bytes(&mut self, key: &'static str) -> Result<u64, Bad> {
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
    use super::{Context, Cursor, Out, WINDOW, Writer, folded, unfolded};

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
                let mut amid = Cursor::new(&window, 0);
                assert_eq!((amid.number("n"), amid.left()), (Ok(number), WINDOW - length));
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
