//! Round numbers on axes, and how quantities are written for people.

use weir::units::{GIB, KIB, MIB};

/// Places of round numbers in `from..=to`, so many at most, and the distance between them.
#[must_use]
pub fn ticks(from: f64, to: f64, most: usize) -> (Vec<f64>, f64) {
    let span = to - from;
    if span.is_nan() || span <= 0.0 || most == 0 {
        return (Vec::new(), 1.0);
    }
    let least = span / most as f64;
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= least * 0.999_999);
    let step = step.unwrap_or(power * 10.0);
    let first = (from / step).ceil();
    let count = ((to / step).floor() - first).max(-1.0) as usize;
    let places = (0..=count).map(|i| (first + i as f64) * step);
    (places.filter(|p| *p >= from && *p <= to).collect(), step)
}

/// A unit of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bytes in one.
    pub bytes: u64,
    /// Its name.
    pub name: &'static str,
}

/// The unit to write amounts up to this one in.
#[must_use]
pub const fn unit_for(bytes: u64) -> Unit {
    let (bytes, name) = match bytes {
        0..KIB => (1, "B"),
        KIB..MIB => (KIB, "KiB"),
        MIB..GIB => (MIB, "MiB"),
        _ => (GIB, "GiB"),
    };
    Unit { bytes, name }
}

/// A number with as many decimals as the step needs.
#[must_use]
pub fn decimal(value: f64, step: f64) -> String {
    let digits = if step >= 1.0 { 0 } else { (-step.log10().floor()).min(9.0) as usize };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, part)) => format!("{}.{part}", group(whole)),
        None => group(&text),
    }
}

fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// So many of a thing whose plural ends with an s: `1 row`, `12,345 rows`.
#[must_use]
pub fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
}

/// An amount of memory in three or four digits: `681 MiB`, `1.25 GiB`, `512 B`.
#[must_use]
pub fn bytes(amount: u64) -> String {
    let unit = unit_for(amount);
    let value = amount as f64 / unit.bytes as f64;
    let digits = match () {
        () if amount.is_multiple_of(unit.bytes) => 0,
        () if value < 10.0 => 2,
        () if value < 100.0 => 1,
        () => 0,
    };
    format!("{value:.digits$} {}", unit.name)
}

/// The exact amount, in the largest unit of which it is a whole number: `14 GiB`, `1,537 KiB`, `513 B`.
#[must_use]
pub fn bytes_whole(amount: u64) -> String {
    let units = [GIB, MIB, KIB, 1].map(unit_for);
    let whole = units.into_iter().find(|unit| amount > 0 && amount.is_multiple_of(unit.bytes));
    let unit = whole.unwrap_or(unit_for(0));
    format!("{} {}", count(amount / unit.bytes), unit.name)
}

/// The amount in a few digits, with the exact count where it was rounded: `1.25 GiB (1,342,177,281 B)`.
#[must_use]
pub fn bytes_exact(amount: u64) -> String {
    match unit_for(amount).bytes {
        1 => bytes(amount),
        _ => format!("{} ({} B)", bytes(amount), count(amount)),
    }
}

/// A unit of time for spans up to this one: nanoseconds in it, and its name.
#[must_use]
pub const fn time_unit(nanos: u64) -> (u64, &'static str) {
    match nanos {
        0..2_000 => (1, "ns"),
        2_000..2_000_000 => (1_000, "µs"),
        2_000_000..2_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    }
}

/// A span of time in three or four digits.
#[must_use]
pub fn time(nanos: u64) -> String {
    let (unit, name) = time_unit(nanos);
    let value = nanos as f64 / unit as f64;
    let digits = match value {
        _ if unit == 1 => 0,
        v if v < 10.0 => 3,
        v if v < 100.0 => 2,
        _ => 1,
    };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_inside_and_few() {
        for (from, to, most) in
            [(0.0, 1.0, 5), (3.0, 97.0, 7), (1e9, 1e9 + 7.0, 4), (0.0, 123_456.0, 9), (-3.0, 9.0, 3)]
        {
            let (places, step) = ticks(from, to, most);
            assert!(!places.is_empty() && places.len() <= most + 1, "{places:?}");
            for place in &places {
                assert!(*place >= from && *place <= to);
                assert!((place / step - (place / step).round()).abs() < 1e-6);
            }
        }
        assert_eq!(ticks(0.0, 100.0, 5), (vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0], 20.0));
        assert!(ticks(1.0, 1.0, 5).0.is_empty());
    }

    #[test]
    fn amounts_read_well() {
        let pairs = [
            (0, "0 B"),
            (512, "512 B"),
            (1536, "1.50 KiB"),
            (2 * MIB, "2 MiB"),
            (681 * MIB + 17, "681 MiB"),
            (14 * GIB, "14 GiB"),
            (5 * GIB / 4, "1.25 GiB"),
        ];
        for (amount, text) in pairs {
            assert_eq!(bytes(amount), text);
        }
        assert_eq!(bytes_exact(1536), "1.50 KiB (1,536 B)");
        let whole = [0, 512, KIB, 1536, GIB, 15 * GIB + MIB, 15 * GIB + 512].map(bytes_whole);
        assert_eq!(whole, ["0 B", "512 B", "1 KiB", "1,536 B", "1 GiB", "15,361 MiB", "16,106,127,872 B"]);
        assert_eq!([0, 1, 1_234].map(|n| counted(n, "row")), ["0 rows", "1 row", "1,234 rows"]);
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(decimal(-1234.5, 0.5), "-1,234.5");
        assert_eq!((time(999), time(1_500_000)), ("999 ns".to_owned(), "1500.0 µs".to_owned()));
    }
}
