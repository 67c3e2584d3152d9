//! Changes to inputs that keep what a change of single bytes nearly always breaks: the checksums of pages, the keys of
//! lines. Without them the fuzzer would learn how logs are refused and little of what becomes of them.
//!
//! Each takes the buffer, how many of its bytes are in use, a seed, and the fuzzer's own way to change bytes; and gives
//! how many are in use afterwards.

use std::ops::Range;
use weir::trace::{HEADER_BYTES, MAGIC, PAGE_BYTES};

const CRC: Range<usize> = 8..12;
const LENGTH: Range<usize> = 14..16;

/// Changes bytes, then makes the lengths and checksums of all pages right again; once in sixteen times it does not.
pub fn mutate_pages(data: &mut [u8], size: usize, seed: u32, bytes: impl FnOnce(&mut [u8], usize) -> usize) -> usize {
    let size = bytes(data, size);
    if !seed.is_multiple_of(16) {
        seal(data.get_mut(..size).unwrap_or_default());
    }
    size
}

/// Makes every page one whose header is right.
fn seal(bytes: &mut [u8]) {
    let starts: Vec<usize> =
        bytes.windows(MAGIC.len()).enumerate().filter(|(_, w)| *w == MAGIC).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let room = end.min(start + PAGE_BYTES);
        let Some(page) = bytes.get_mut(start..room).filter(|page| page.len() >= HEADER_BYTES) else { continue };
        let stated = usize::from(u16::from_le_bytes([page[LENGTH.start], page[LENGTH.start + 1]]));
        let length = if (HEADER_BYTES..=page.len()).contains(&stated) { stated } else { page.len() };
        page[LENGTH].copy_from_slice(&(length as u16).to_le_bytes());
        let crc = crc32fast::hash(&page[CRC.end..length]);
        page[CRC].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Changes bytes, or, as often, whole lines and numbers in them.
pub fn mutate_lines(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    bytes: impl FnOnce(&mut [u8], usize) -> usize,
) -> usize {
    let mut dice = Dice(u64::from(seed));
    let Some(text) = data.get(..size).filter(|_| dice.below(2) == 0) else { return bytes(data, size) };
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.below(3) {
        change(&mut lines, &mut dice);
    }
    let changed = lines.join(&b'\n');
    match data.get_mut(..changed.len()) {
        Some(room) if changed.len() <= max_size => {
            room.copy_from_slice(&changed);
            changed.len()
        }
        _ => bytes(data, size),
    }
}

/// One change to one line.
fn change(lines: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    let at = dice.below(lines.len());
    let other = dice.below(lines.len());
    match dice.below(8) {
        0 if lines.len() > 1 => drop(lines.remove(at)),
        1 => lines.swap(at, other),
        2 | 3 => lines.insert(at, lines[other].clone()),
        _ => change_number(lines, (at, other), dice),
    }
}

/// Puts another number in the place of one in a line: one at an edge, a neighbour, or one of another line.
fn change_number(lines: &mut [Vec<u8>], (at, other): (usize, usize), dice: &mut Dice) {
    const EDGES: [u64; 8] = [0, 1, u32::MAX as u64, 1 << 32, 1 << 40, i64::MAX as u64, u64::MAX - 1, u64::MAX];
    let places = numbers(&lines[at]);
    let Some(place) = places.get(dice.below(places.len())).cloned() else { return };
    let now = value(&lines[at][place.clone()]);
    let new = match dice.below(4) {
        0 => EDGES[dice.below(EDGES.len())],
        1 => now.wrapping_add(1),
        2 => now.wrapping_sub(1),
        _ => {
            let theirs = numbers(&lines[other]);
            theirs.get(dice.below(theirs.len())).map_or(now, |place| value(&lines[other][place.clone()]))
        }
    };
    lines[at].splice(place, new.to_string().into_bytes());
}

/// Where the decimal numbers of a line stand.
fn numbers(line: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in line.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

fn value(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// Numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    /// A number below `limit`, or 0 where there is none.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::trace::Reader;

    const GOLDEN: &[u8] = include_bytes!("../../../core/tests/golden/v1.log");

    #[test]
    fn a_page_that_was_changed_is_read_again() {
        let mut bytes = GOLDEN.to_vec();
        let size = bytes.len();
        let last = size - 1;
        let flip = |data: &mut [u8], size| {
            data[last] ^= 1;
            size
        };
        mutate_pages(&mut bytes, size, 0, flip);
        assert!(Reader::new(&bytes).any(|read| read.is_err()), "the checksum is wrong");
        mutate_pages(&mut bytes, size, 1, |_, size| size);
        let (before, after) = (Reader::new(GOLDEN).flatten().count(), Reader::new(&bytes).flatten().count());
        assert!(after + 1 >= before, "{after} of {before} records are left");
        mutate_pages(&mut bytes, size, 1, flip);
        assert_eq!(bytes, GOLDEN, "the last change is undone, and so is what followed from it");
    }

    #[test]
    fn lines_stay_within_the_room_that_there_is() {
        let text = b"weir-log version=1\nnumber=0 time=1 record=drain\n".to_vec();
        for seed in 0..1_000 {
            let mut data = text.clone();
            data.resize(64, 0);
            let size = mutate_lines(&mut data, text.len(), 64, seed, |_, size| size);
            assert!(size <= 64, "seed {seed}");
        }
    }

    #[test]
    fn numbers_in_a_line_are_found_and_changed() {
        assert_eq!(numbers(b"a=12 b=x3"), [2..4, 8..9]);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut lines = vec![b"a=12".to_vec(), b"b=77".to_vec()];
            change_number(&mut lines, (0, 1), &mut Dice(seed));
            seen.insert(String::from_utf8(lines.remove(0)).expect("text"));
        }
        for line in ["a=0", "a=13", "a=11", "a=77", "a=18446744073709551615"] {
            assert!(seen.contains(line), "{line} not in {seen:?}");
        }
    }
}
