//! The reader of the binary form: pages in any bytes, records in a page.

use super::damage::{Damage, DamageKind};
use super::field::Field;
use super::page::{HEADER_BYTES, Header, MAGIC};
use super::wire::{Bad, Cursor};
use super::{Record, Stamped};
use crate::units::Nanos;

/// A page that was found, its checksum right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageView<'a> {
    /// Where in the input it begins.
    pub offset: u64,
    /// What it says about itself.
    pub header: Header,
    records: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> PageView<'a> {
    /// The whole page, as a sink was given it.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The page's records.
    #[must_use]
    pub fn records(&self) -> Records<'a> {
        Records {
            offset: self.offset,
            page: self.header.number,
            length: self.records.len(),
            cursor: Cursor::new(self.records, self.header.time.0),
            number: self.header.first,
        }
    }
}

/// The pages in some bytes, in the order in which they stand there. Looks for the next page behind whatever is none.
/// Zeros between pages are no damage. Each step goes on by at least one byte.
#[derive(Clone, Debug)]
pub struct Pages<'a> {
    rest: &'a [u8],
    offset: u64,
    /// What comes next was reported already, up to the next page.
    reported: Reported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    No,
    Yes,
}

impl<'a> Pages<'a> {
    /// The pages in `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// The pages in `bytes`, which stand at `offset` of the input.
    pub(super) const fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset, reported: Reported::No }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.offset = self.offset.saturating_add(bytes as u64);
    }

    /// Goes to the next page. What stands before it is damage, unless it is zero or was reported.
    fn skip_to_page(&mut self) -> Result<(), Damage> {
        let gap = find_magic(self.rest).unwrap_or(self.rest.len());
        let noise = self.rest.get(..gap).is_some_and(|gap| gap.iter().any(|byte| *byte != 0));
        let damage = Damage { offset: self.offset, kind: self.gap_kind(gap) };
        self.skip(gap);
        if noise && self.reported == Reported::No {
            self.reported = Reported::Yes;
            return Err(damage);
        }
        Ok(())
    }

    /// What the next `gap` bytes are: the first bytes of a page at the input's end, or noise.
    fn gap_kind(&self, gap: usize) -> DamageKind {
        let bytes = gap as u64;
        if gap == self.rest.len() && MAGIC.starts_with(self.rest) {
            return DamageKind::Cut { needs: HEADER_BYTES as u64, has: bytes };
        }
        DamageKind::Noise { bytes }
    }
}

impl<'a> Iterator for Pages<'a> {
    type Item = Result<PageView<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(damage) = self.skip_to_page() {
            return Some(Err(damage));
        }
        if self.rest.is_empty() {
            return None;
        }
        let offset = self.offset;
        match Header::open(self.rest) {
            Ok((header, records)) => {
                let length = HEADER_BYTES + records.len();
                let bytes = self.rest.get(..length).unwrap_or_default();
                self.skip(length);
                self.reported = Reported::No;
                Some(Ok(PageView { offset, header, records, bytes }))
            }
            Err(kind) => {
                self.skip(MAGIC.len());
                self.reported = Reported::Yes;
                Some(Err(Damage { offset, kind }))
            }
        }
    }
}

/// Where the next page seems to begin.
pub(super) fn find_magic(bytes: &[u8]) -> Option<usize> {
    let [first, ..] = MAGIC;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        from += rest.iter().position(|byte| *byte == first)?;
        if bytes.get(from..)?.starts_with(&MAGIC) {
            return Some(from);
        }
        from += 1;
    }
}

/// The records of one page. Ends after the first one that makes no sense.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    offset: u64,
    page: u64,
    length: usize,
    cursor: Cursor<'a>,
    number: u64,
}

impl<'a> Records<'a> {
    fn read(&mut self) -> Result<Stamped<'a>, Bad> {
        let elapsed = self.cursor.number("time")?;
        let time = self.cursor.context.time.wrapping_add(elapsed);
        self.cursor.context.time = time;
        self.cursor.size = 0;
        let record = Record::get("record", &mut self.cursor)?;
        let number = self.number;
        if !record.is_definition() {
            self.number = number.wrapping_add(1);
        }
        Ok(Stamped { number, time: Nanos(time), record })
    }

    /// Where in the input the next record begins.
    pub(super) fn place(&self) -> u64 {
        let done = HEADER_BYTES + self.length.saturating_sub(self.cursor.left());
        self.offset.saturating_add(done as u64)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Stamped<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.left() == 0 {
            return None;
        }
        let offset = self.place();
        Some(self.read().map_err(|bad| {
            self.cursor.give_up();
            let kind = DamageKind::BadRecord { page: self.page, field: bad.key, expected: bad.what };
            Damage { offset, kind }
        }))
    }
}
