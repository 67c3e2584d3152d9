//! Kernels that write bytes which can be told from any other's, and check them: written for speed, since the replays
//! write and check every block.
//!
//! The pattern of a seed is a row of 64-bit words, little endian: `mix(seed) + index * STEP`. It differs from that of
//! another seed and from itself at another place. The last word may be cut.

/// Odd, with its bits well spread: neighbouring words differ in about half their bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const WORD: usize = 8;
/// Words that are compared before the outcome is looked at.
const RUN: usize = 512;

/// The first byte that is not what the pattern says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its place, counted from the first byte that was checked.
    pub offset: usize,
    /// What it should be.
    pub expected: u8,
    /// What it is.
    pub found: u8,
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { offset, expected, found } = self;
        write!(f, "byte {offset} is {found:#04x}, expected {expected:#04x}")
    }
}

/// Spreads a seed over 64 bits, so that seeds which are close give patterns which are not.
const fn mix(seed: u64) -> u64 {
    let a = (seed ^ (seed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 30)
}

fn word(first: u64, index: usize) -> u64 {
    first.wrapping_add((index as u64).wrapping_mul(STEP))
}

/// Writes the seed's pattern.
pub fn fill(bytes: &mut [u8], seed: u64) {
    let (words, rest) = bytes.as_chunks_mut::<WORD>();
    let mut next = mix(seed);
    for target in words.iter_mut() {
        *target = next.to_le_bytes();
        next = next.wrapping_add(STEP);
    }
    let last = next.to_le_bytes();
    rest.iter_mut().zip(last).for_each(|(target, byte)| *target = byte);
}

/// Compares with the seed's pattern.
///
/// # Errors
/// The first byte that differs.
pub fn check(bytes: &[u8], seed: u64) -> Result<(), Mismatch> {
    let first = mix(seed);
    let mut at = 0;
    for run in bytes.chunks(RUN * WORD) {
        if differs(run, word(first, at)) {
            return Err(find(run, word(first, at), at * WORD));
        }
        at += RUN;
    }
    Ok(())
}

fn differs(run: &[u8], first: u64) -> bool {
    let (words, rest) = run.as_chunks::<WORD>();
    let mut next = first;
    let mut difference = 0;
    for found in words {
        difference |= u64::from_le_bytes(*found) ^ next;
        next = next.wrapping_add(STEP);
    }
    difference != 0 || rest.iter().zip(next.to_le_bytes()).any(|(found, expected)| *found != expected)
}

/// The first byte of a run that is known to differ.
fn find(run: &[u8], first: u64, offset: usize) -> Mismatch {
    let expected = (0..).flat_map(|i| word(first, i).to_le_bytes());
    let mut pairs = run.iter().zip(expected).enumerate();
    match pairs.find(|(_, (found, expected))| *found != expected) {
        Some((i, (found, expected))) => Mismatch { offset: offset + i, expected, found: *found },
        None => Mismatch { offset, expected: 0, found: 0 },
    }
}

/// The sum, modulo 2^64, of the bytes taken as little-endian 64-bit words, the last one filled up with zeroes.
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let whole = words.iter().fold(0u64, |sum, w| sum.wrapping_add(u64::from_le_bytes(*w)));
    let mut last = [0; WORD];
    last.iter_mut().zip(rest).for_each(|(target, byte)| *target = *byte);
    whole.wrapping_add(u64::from_le_bytes(last))
}

/// Adds `from` to `into` word by word, modulo 2^64, starting over in `into` whenever it is full. A cut word at either
/// end is left out.
pub fn add(into: &mut [u8], from: &[u8]) {
    let (targets, _) = into.as_chunks_mut::<WORD>();
    let (words, _) = from.as_chunks::<WORD>();
    if targets.is_empty() {
        return;
    }
    for run in words.chunks(targets.len()) {
        for (target, word) in targets.iter_mut().zip(run) {
            let sum = u64::from_le_bytes(*target).wrapping_add(u64::from_le_bytes(*word));
            *target = sum.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pattern as the module's page states it, byte by byte.
    fn stated(seed: u64, len: usize) -> Vec<u8> {
        (0..len).map(|i| word(mix(seed), i / WORD).to_le_bytes()[i % WORD]).collect()
    }

    #[test]
    fn fill_writes_what_is_stated_at_any_length() {
        for len in [0, 1, 7, 8, 9, 512, 4096, 4097, 3 * 4096 + 5] {
            let mut bytes = vec![0xAA; len];
            fill(&mut bytes, 7);
            assert_eq!(bytes, stated(7, len), "length {len}");
            assert_eq!(check(&bytes, 7), Ok(()), "length {len}");
        }
    }

    #[test]
    fn check_names_the_first_wrong_byte_wherever_it_is() {
        let good = stated(3, 3 * 4096 + 5);
        for place in [0, 1, 4095, 4096, 8191, 3 * 4096, 3 * 4096 + 4] {
            let mut bytes = good.clone();
            bytes[place] ^= 0x40;
            let wrong = Mismatch { offset: place, expected: good[place], found: good[place] ^ 0x40 };
            assert_eq!(check(&bytes, 3), Err(wrong));
        }
        assert!(check(&good, 4).is_err(), "another seed");
        assert!(check(&good[8..], 3).is_err(), "another place");
        assert!(check(&[0; 64], 0).is_err(), "zeroes are no pattern");
    }

    #[test]
    fn sum_and_add_are_plain_arithmetic() {
        let words = [1u64, u64::MAX, 5];
        let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.push(9);
        assert_eq!(sum(&bytes), 5 + 9);
        let mut bucket = [0u8; 16];
        add(&mut bucket, &bytes);
        assert_eq!(bucket.as_chunks::<8>().0, [6u64.to_le_bytes(), u64::MAX.to_le_bytes()]);
        add(&mut [], &bytes);
    }
}
