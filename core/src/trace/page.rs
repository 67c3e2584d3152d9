//! One page of the binary form: a header that says what the page holds, and the records behind it.

use super::crc::crc32;
use super::damage::DamageKind;
use super::{FORMAT_VERSION, PAGE_BYTES};
use crate::units::Nanos;

/// How a page begins. Not text, and changed by whoever converts line ends.
pub const MAGIC: [u8; 8] = *b"\x89weir\r\n\x1a";

/// Bytes of a page's header.
pub const HEADER_BYTES: usize = 52;

/// Where the checksum stands, and where what it covers begins.
const CRC_AT: usize = MAGIC.len();
const COVERED_AT: usize = CRC_AT + 4;
const LENGTH_AT: usize = COVERED_AT + 2;
const NUMBER_AT: usize = LENGTH_AT + 2;
const FIRST_AT: usize = NUMBER_AT + 8;
const TIME_AT: usize = FIRST_AT + 8;
const LOST_AT: usize = TIME_AT + 8;
const RECORDS_AT: usize = LOST_AT + 8;

const _: () = assert!(HEADER_BYTES == RECORDS_AT + 4);

const _: () = assert!(PAGE_BYTES <= u16::MAX as usize);

/// Room for one page.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Page([u8; PAGE_BYTES]);

impl Page {
    /// An empty page, all zero.
    pub const EMPTY: Self = Self([0; PAGE_BYTES]);

    /// The page's bytes as they go to a sink; none where the page was never finished.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let length = stated_length(&self.0).unwrap_or(0);
        self.0.get(..length).unwrap_or_default()
    }

    /// Takes a copy of finished bytes, or nothing where they are no page.
    pub(super) fn copy_from(&mut self, bytes: &[u8]) -> Option<()> {
        if stated_length(bytes)? != bytes.len() {
            return None;
        }
        copy(bytes, &mut self.0);
        Some(())
    }

    pub(crate) const fn room(&mut self) -> &mut [u8; PAGE_BYTES] {
        &mut self.0
    }
}

/// Copies as much as there is room for.
pub(super) fn copy(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// The length that a finished page states, where it makes sense.
fn stated_length(page: &[u8]) -> Option<usize> {
    if !page.starts_with(&MAGIC) {
        return None;
    }
    let length = usize::from(u16::from_le_bytes(array(page, LENGTH_AT)?));
    (HEADER_BYTES..=PAGE_BYTES).contains(&length).then_some(length)
}

/// How many records a finished page holds, definitions not counted; 0 where the bytes are no page.
#[must_use]
pub fn records_in(page: &[u8]) -> u64 {
    stated_length(page).and_then(|_| Header::fields(page)).map_or(0, |header| u64::from(header.records))
}

/// What a page says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// Counts the pages of the log from 0, lost ones included.
    pub number: u64,
    /// Number of the first record in the page.
    pub first: u64,
    /// Time that the first record's is relative to.
    pub time: Nanos,
    /// Records known to be lost since the log began, when the page was begun.
    pub lost: u64,
    /// How many records are in the page, definitions not counted.
    pub records: u16,
}

impl Header {
    /// Finishes a page of `length` bytes in all, whose records stand in it already.
    pub(super) fn seal(&self, page: &mut [u8; PAGE_BYTES], length: usize) {
        put(page, 0, MAGIC);
        put(page, COVERED_AT, FORMAT_VERSION.to_le_bytes());
        put(page, LENGTH_AT, (length as u16).to_le_bytes());
        put(page, NUMBER_AT, self.number.to_le_bytes());
        put(page, FIRST_AT, self.first.to_le_bytes());
        put(page, TIME_AT, self.time.0.to_le_bytes());
        put(page, LOST_AT, self.lost.to_le_bytes());
        put(page, RECORDS_AT, self.records.to_le_bytes());
        put(page, RECORDS_AT + 2, [0; 2]);
        let crc = crc32(page.get(COVERED_AT..length).unwrap_or_default());
        put(page, CRC_AT, crc.to_le_bytes());
    }

    /// Reads the page at the start of `bytes`: its header and its records' bytes.
    pub(super) fn open(bytes: &[u8]) -> Result<(Self, &[u8]), DamageKind> {
        let cut = |needs: usize| DamageKind::Cut { needs: needs as u64, has: bytes.len() as u64 };
        let header = Self::fields(bytes).ok_or(cut(HEADER_BYTES))?;
        let length = array(bytes, LENGTH_AT).map_or(0, u16::from_le_bytes);
        if !(HEADER_BYTES..=PAGE_BYTES).contains(&usize::from(length)) {
            return Err(DamageKind::BadLength { length });
        }
        let covered = bytes.get(COVERED_AT..usize::from(length)).ok_or(cut(usize::from(length)))?;
        let stated = array(bytes, CRC_AT).map_or(0, u32::from_le_bytes);
        let found = crc32(covered);
        if found != stated {
            return Err(DamageKind::BadCrc { stated, found });
        }
        let version = array(bytes, COVERED_AT).map_or(0, u16::from_le_bytes);
        if version != FORMAT_VERSION {
            return Err(DamageKind::UnknownVersion { version });
        }
        Ok((header, bytes.get(HEADER_BYTES..usize::from(length)).unwrap_or_default()))
    }

    /// The fields behind the length, where the bytes reach that far.
    fn fields(bytes: &[u8]) -> Option<Self> {
        let number = |at| array(bytes, at).map(u64::from_le_bytes);
        bytes.get(..HEADER_BYTES)?;
        Some(Self {
            number: number(NUMBER_AT)?,
            first: number(FIRST_AT)?,
            time: Nanos(number(TIME_AT)?),
            lost: number(LOST_AT)?,
            records: u16::from_le_bytes(array(bytes, RECORDS_AT)?),
        })
    }
}

/// Writes `N` bytes from `at` on; where that is known, without a look at every byte.
fn put<const N: usize>(page: &mut [u8; PAGE_BYTES], at: usize, bytes: [u8; N]) {
    if let Some(place) = page.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = bytes;
    }
}

/// The `N` bytes from `at` on.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
