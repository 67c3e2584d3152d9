//! Sizes as people write them in environment variables.

use weir::units::{GIB, KIB, MIB};

const UNITS: [(&str, u64); 13] = [
    ("", 1),
    ("K", KIB),
    ("M", MIB),
    ("G", GIB),
    ("T", GIB * KIB),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", GIB * KIB),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// What [`parse`] takes.
pub(crate) const EXPECTED: &str = "a number of bytes above 0, or one with KiB, MiB, GiB, TiB (or K, M, G, T) or kB, \
                                   MB, GB, TB behind it, such as 64GiB";

/// Reads a whole number above 0, with or without a unit of 1024 (`K`, `KiB`) or of 1000 (`kB`), in upper or lower case.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, scale) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim_start()))?;
    number.parse::<u64>().ok()?.checked_mul(*scale).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        for (text, bytes) in [
            ("1", 1),
            (" 4096 ", 4096),
            ("3K", 3 << 10),
            ("5m", 5 << 20),
            ("64G", 64 << 30),
            ("64 GiB", 64 << 30),
            ("2tib", 2 << 40),
            ("14GB", 14_000_000_000),
            ("7kb", 7_000),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_size() {
        for text in ["", "0", "0GiB", "G", "-1", "1.5G", "1 P", "99999999999G", "1e9", "lots", "1B", "١"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
