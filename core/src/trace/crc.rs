//! The checksum of a page: CRC-32 as in Ethernet, gzip and PNG (polynomial `0x04c1_1db7` reflected, register and
//! result inverted; the check value of `123456789` is `0xcbf4_3926`).

/// The polynomial, lowest bit for the highest power.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What a byte does to the register.
static FIRST: [u32; 256] = table(8);

/// What half a byte does to it: all that is linked where room is short.
static HALF: [u32; 16] = table(4);

/// `FURTHER.n`: the same once `n + 1` zero bytes have followed it. Four tables take four bytes a step, which halves the work
/// of one table; together they are as large as one page.
struct Further([u32; 256], [u32; 256], [u32; 256]);

static FURTHER: Further = Further(table(16), table(24), table(32));

/// One table: the register after `steps` single-bit steps from each byte, or from each half of one.
const fn table<const ENTRIES: usize>(steps: u32) -> [u32; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut rest: &mut [u32] = &mut table;
    let mut byte = 0;
    while let Some((entry, tail)) = rest.split_first_mut() {
        *entry = stepped(byte, steps);
        rest = tail;
        byte += 1;
    }
    table
}

const fn stepped(mut register: u32, steps: u32) -> u32 {
    let mut step = 0;
    while step < steps {
        let carry = register & 1;
        register = (register >> 1) ^ (POLYNOMIAL * carry);
        step += 1;
    }
    register
}

/// The checksum of `bytes`. Linear in their number. Not inlined, so that a profile counts it apart.
#[inline(never)]
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    if cfg!(feature = "compact") { !by_halves(bytes) } else { !by_words(bytes) }
}

fn by_halves(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |register, byte| half(half(register ^ u32::from(*byte))))
}

fn half(register: u32) -> u32 {
    (register >> 4) ^ entry(&HALF, register as u8 & 0xf)
}

fn by_words(bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let mut register = u32::MAX;
    for word in words {
        let [a, b, c, d] = (register ^ u32::from_le_bytes(*word)).to_le_bytes();
        register = entry(&FURTHER.2, a) ^ entry(&FURTHER.1, b) ^ entry(&FURTHER.0, c) ^ entry(&FIRST, d);
    }
    for byte in tail {
        let [low, ..] = register.to_le_bytes();
        register = (register >> 8) ^ entry(&FIRST, low ^ byte);
    }
    register
}

/// A table has an entry for whatever it is asked, so the default is never taken.
fn entry(table: &[u32], byte: u8) -> u32 {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{by_halves, crc32};

    #[test]
    fn known_checksums() {
        // The check value of the CRC catalogue, and values that zlib prints.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"a"), 0xe8b7_be43);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
        assert_eq!(crc32(&[0; 4096]), 0xc71c_0011);
    }

    #[test]
    fn a_small_table_gives_the_same() {
        assert_eq!(!by_halves(b"123456789"), 0xcbf4_3926);
        assert_eq!(!by_halves(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }
}
