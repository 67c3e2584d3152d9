//! Packed files: gzip and zstd, told by their first bytes.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{BufReader, Error, ErrorKind, Read, Result};

/// The most bytes that a packed file may unpack to: a small one can hold a great many.
pub const MOST: u64 = 16 << 30;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Packing {
    /// By the first bytes of a file; `None` where they are of no packing that is known.
    #[must_use]
    pub const fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The packing's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// What a packed file held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The bytes, as far as they could be unpacked.
    pub bytes: Vec<u8>,
    /// Why they are not all there, if they are not.
    pub damage: Option<String>,
}

/// Unpacks a file.
#[must_use]
pub fn unpack(packing: Packing, input: impl Read) -> Unpacked {
    unpack_within(MOST, packing, input)
}

fn unpack_within(most: u64, packing: Packing, input: impl Read) -> Unpacked {
    let mut bytes = Vec::new();
    let outcome = match packing {
        Packing::Gzip => copy(MultiGzDecoder::new(BufReader::new(input)), most, &mut bytes),
        Packing::Zstd => frames(input, most, &mut bytes),
    };
    let damage = outcome.err().map(|error| {
        let (name, read) = (packing.name(), bytes.len());
        format!("damaged {name} data after {read} unpacked bytes ({error})")
    });
    Unpacked { bytes, damage }
}

/// All frames of a zstd file, one after the other. The decoder keeps its window back until a frame ends, so that a frame that
/// is cut is ended behind its last whole block.
fn frames(mut input: impl Read, most: u64, bytes: &mut Vec<u8>) -> Result<()> {
    let mut packed = Vec::new();
    input.read_to_end(&mut packed)?;
    let mut rest = packed.as_slice();
    while !rest.is_empty() {
        let (frame, begun) = (rest, bytes.len());
        let decoder = StreamingDecoder::new(&mut rest).map_err(Error::other)?;
        if let Err(error) = copy(decoder, most, bytes) {
            if let (true, Some(ended)) = (error.kind() != ErrorKind::FileTooLarge, ended(frame)) {
                bytes.truncate(begun);
                copy(StreamingDecoder::new(ended.as_slice()).map_err(Error::other)?, most, bytes)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// A frame of zstd up to its last whole block, as a frame that ends there (RFC 8878, 3.1.1).
fn ended(frame: &[u8]) -> Option<Vec<u8>> {
    const CHECKSUM: u8 = 1 << 2;
    let descriptor = *frame.get(4)?;
    let alone = descriptor >> 5 & 1;
    let size = match descriptor >> 6 {
        0 => alone,
        exponent => 1 << exponent,
    };
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let mut at = 5 + usize::from(1 - alone) + dictionary + usize::from(size);
    let mut last = None;
    while let Some(&[low, middle, high]) = frame.get(at..at + 3) {
        let bytes = usize::from(low >> 3) | usize::from(middle) << 5 | usize::from(high) << 13;
        // A run of one byte states its length, and takes that byte.
        let end = at + 3 + if low >> 1 & 3 == 1 { 1 } else { bytes };
        if end > frame.len() {
            break;
        }
        last = Some((at, end));
        at = end;
        if low & 1 == 1 {
            break;
        }
    }
    let (at, end) = last?;
    let mut ended = frame.get(..end)?.to_vec();
    ended[4] &= !CHECKSUM;
    ended[at] |= 1;
    Some(ended)
}

fn copy(from: impl Read, most: u64, bytes: &mut Vec<u8>) -> Result<()> {
    let room = most.saturating_sub(bytes.len() as u64);
    let read = from.take(room.saturating_add(1)).read_to_end(bytes)? as u64;
    if read > room {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it unpacks to more than {most} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(bytes).expect("into memory");
        packed.finish().expect("into memory")
    }

    /// `weir-log version=1`, a line feed and forty zeroes, packed by zstd 1.5.4 (`zstd -19`).
    const ZSTD: &[u8] = include_bytes!("../tests/data/zeroes.zst");

    fn zeroes() -> Vec<u8> {
        [b"weir-log version=1\n".as_slice(), &[b'0'; 40]].concat()
    }

    #[test]
    fn both_packings_are_found_and_unpacked() {
        assert_eq!(Packing::of(ZSTD), Some(Packing::Zstd));
        assert_eq!(unpack(Packing::Zstd, ZSTD), Unpacked { bytes: zeroes(), damage: None });
        let packed = gzip(&zeroes());
        assert_eq!(Packing::of(&packed), Some(Packing::Gzip));
        assert_eq!(unpack(Packing::Gzip, packed.as_slice()), Unpacked { bytes: zeroes(), damage: None });
        assert_eq!(Packing::of(b"weir-log version=1\n"), None);
    }

    #[test]
    fn parts_that_follow_each_other_are_one_file() {
        let twice = zeroes().repeat(2);
        assert_eq!(unpack(Packing::Zstd, ZSTD.repeat(2).as_slice()).bytes, twice);
        assert_eq!(unpack(Packing::Gzip, gzip(&zeroes()).repeat(2).as_slice()).bytes, twice);
    }

    #[test]
    fn what_comes_before_the_damage_is_kept() {
        let whole: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let packed = gzip(&whole);
        let cut = unpack(Packing::Gzip, &packed[..packed.len() / 2]);
        assert!(cut.bytes.len() > 100_000 && whole.starts_with(&cut.bytes), "{}", cut.bytes.len());
        assert!(cut.damage.expect("is cut").starts_with("damaged gzip data after "));
        assert!(unpack(Packing::Zstd, &ZSTD[..ZSTD.len() - 3]).damage.is_some());
        let packed = ruzstd::encoding::compress_to_vec(whole.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(unpack(Packing::Zstd, packed.as_slice()), Unpacked { bytes: whole.clone(), damage: None });
        let cut = unpack(Packing::Zstd, &packed[..packed.len() / 2]);
        // A block holds at most 128 KiB.
        assert!(cut.bytes.len() > 250_000 && whole.starts_with(&cut.bytes), "{}", cut.bytes.len());
        assert!(cut.damage.expect("is cut").starts_with("damaged zstd data after "));
    }

    #[test]
    fn a_small_file_cannot_fill_the_memory() {
        let packed = gzip(&vec![0; 1 << 20]);
        let unpacked = unpack_within(1000, Packing::Gzip, packed.as_slice());
        assert_eq!(unpacked.bytes, [0; 1000]);
        assert!(unpacked.damage.expect("is cut").contains("more than 1000 bytes"));
    }
}
