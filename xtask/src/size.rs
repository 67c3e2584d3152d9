//! Sizes as people write them.

use weir::units::Bytes;

const UNITS: [(&str, u64); 13] = [
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// Reads `1048576`, `512MiB`, `14GB` or `1.5 GiB`. Units of 1000 end in B, those of 1024 in iB or in nothing (`64G`);
/// upper and lower case are the same.
pub(crate) fn parse(text: &str) -> Result<Bytes, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let scale = match unit {
        // A number is missing, which is said below.
        _ if number.is_empty() => 1,
        "" => 1,
        _ => UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .map(|(_, scale)| *scale)
            .ok_or_else(|| format!("unknown unit `{unit}` in `{text}`; {EXPECTED}"))?,
    };
    scaled(number, scale).map(Bytes).ok_or_else(|| format!("`{text}` is no size below 16 EiB; {EXPECTED}"))
}

const EXPECTED: &str = "expected bytes or a number with kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 14GB or 512MiB";

fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 12 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = part * u128::from(scale) / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(scale)?.checked_add(u64::try_from(part).ok()?)
}

/// `681.2 MiB`: four figures or so, for tables.
pub(crate) fn shown(bytes: u64) -> String {
    let (unit, scale) = match bytes {
        0..1_024 => return format!("{bytes} B"),
        1_024..1_048_576 => ("KiB", 1_u64 << 10),
        1_048_576..1_073_741_824 => ("MiB", 1 << 20),
        1_073_741_824..1_099_511_627_776 => ("GiB", 1 << 30),
        _ => ("TiB", 1 << 40),
    };
    format!("{:.1} {unit}", bytes as f64 / scale as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_and_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1048576", 1_048_576),
            ("14GB", 14_000_000_000),
            ("14 GiB", 15_032_385_536),
            ("512MiB", 536_870_912),
            ("512mib", 536_870_912),
            ("64G", 68_719_476_736),
            ("1.5GiB", 1_610_612_736),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_units() {
        for text in ["", "GB", "-1", "1.2.3GB", "14 gigs", "99999999999TiB", "1e9", "."] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("512MiB"), "{error}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_fits() {
        assert_eq!(shown(1_023), "1023 B");
        assert_eq!(shown(714_256_192), "681.2 MiB");
        assert_eq!(shown(2 << 40), "2.0 TiB");
    }
}
