//! From the log's quantities to pixels and back.

use super::{Pos, Rect};
use crate::model::{Model, PoolIx};

/// Linear, one direction: positions on the x axis, or amounts on the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    from: f64,
    per_pixel: f64,
    origin: f32,
}

impl Scale {
    /// Maps `from..to` onto `start..end` in pixels (`end` may be smaller: the y axis goes up).
    #[must_use]
    pub fn new(from: f64, to: f64, start: f32, end: f32) -> Self {
        let pixels = f64::from(end) - f64::from(start);
        Self {
            from,
            per_pixel: (to - from).max(f64::MIN_POSITIVE) / if pixels == 0.0 { 1.0 } else { pixels },
            origin: start,
        }
    }

    /// The pixel of a value. Far outside, it stays far outside.
    #[must_use]
    pub fn pixel(&self, value: f64) -> f32 {
        let pixels = (value - self.from) / self.per_pixel + f64::from(self.origin);
        pixels.clamp(-1e6, 1e6) as f32
    }

    /// The value at a pixel.
    #[must_use]
    pub fn value(&self, pixel: f32) -> f64 {
        (f64::from(pixel) - f64::from(self.origin)) * self.per_pixel + self.from
    }

    /// How much one pixel is.
    #[must_use]
    pub fn per_pixel(&self) -> f64 {
        self.per_pixel.abs()
    }
}

/// A stretch of addresses that the map shows, and where in the compressed range it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// First address, from the pool's base.
    pub start: u64,
    /// Past the last.
    pub end: u64,
    /// Where it begins once the gaps are short.
    pub at: f64,
}

/// Addresses that anything ever was at, with the wide gaps between them cut short: a pool reserves many times the
/// addresses that it maps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addresses {
    stretches: Vec<Stretch>,
    gap: f64,
    length: f64,
}

/// Gaps shorter than this part of all that is shown stay as they are.
const SHORT_GAP: u64 = 16;

impl Addresses {
    /// The addresses of a pool.
    #[must_use]
    pub fn of(model: &Model, pool: PoolIx) -> Self {
        // Whatever was allocated was mapped.
        Self::from_spans(model.pool(pool).covered.clone())
    }

    /// The addresses of these spans.
    #[must_use]
    pub fn from_spans(mut spans: Vec<(u64, u64)>) -> Self {
        spans.retain(|s| s.0 < s.1);
        spans.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (start, end) in spans {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        let covered: u64 = merged.iter().map(|s| s.1 - s.0).sum();
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for (start, end) in merged {
            match stretches.last_mut() {
                Some(last) if start - last.1 <= covered / SHORT_GAP => last.1 = end,
                _ => stretches.push((start, end)),
            }
        }
        Self::lay_out(&stretches)
    }

    fn lay_out(stretches: &[(u64, u64)]) -> Self {
        let shown: u64 = stretches.iter().map(|s| s.1 - s.0).sum();
        let gaps = stretches.len().saturating_sub(1).max(1) as f64;
        let gap = shown as f64 * (0.2 / gaps).min(0.025);
        let mut at = 0.0;
        let place = |&(start, end): &(u64, u64)| {
            let here = Stretch { start, end, at };
            at += (end - start) as f64 + gap;
            here
        };
        let stretches: Vec<Stretch> = stretches.iter().map(place).collect();
        Self { length: (at - gap).max(1.0), stretches, gap }
    }

    /// Length of all that is shown, gaps cut short.
    #[must_use]
    pub const fn length(&self) -> f64 {
        self.length
    }

    /// The stretches, in address order.
    #[must_use]
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// How long a cut gap is drawn.
    #[must_use]
    pub const fn gap(&self) -> f64 {
        self.gap
    }

    /// Where an address is once the gaps are short.
    #[must_use]
    pub fn place(&self, address: u64) -> f64 {
        let after = self.stretches.partition_point(|s| s.start <= address);
        let Some(stretch) = self.stretches.get(after.saturating_sub(1)) else {
            return 0.0;
        };
        let inside = address.saturating_sub(stretch.start).min(stretch.end - stretch.start);
        stretch.at + inside as f64
    }

    /// The address at a place; `None` inside a cut gap.
    #[must_use]
    pub fn address(&self, place: f64) -> Option<u64> {
        let after = self.stretches.partition_point(|s| s.at <= place);
        let stretch = self.stretches.get(after.checked_sub(1)?)?;
        let inside = place - stretch.at;
        // Only inside of it, and there not rounded out of it: a log may say that memory ends where addresses do.
        let is_inside = inside < (stretch.end - stretch.start) as f64;
        is_inside.then(|| stretch.start.saturating_add(inside as u64).min(stretch.end - 1))
    }
}

/// Both axes of the address map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapScale {
    /// Left to right.
    pub x: Scale,
    /// Bottom to top, over compressed addresses.
    pub y: Scale,
    /// The addresses.
    pub addresses: Addresses,
    /// Where it is drawn.
    pub area: Rect,
}

impl MapScale {
    /// The pixels of a box of positions and addresses, not clipped.
    #[must_use]
    pub fn pixels(&self, from: f64, to: f64, start: u64, end: u64) -> Rect {
        let (left, right) = (self.x.pixel(from), self.x.pixel(to));
        let top = self.y.pixel(self.addresses.place(end.saturating_sub(1)) + 1.0);
        Rect::between(left, top, right, self.y.pixel(self.addresses.place(start)))
    }

    /// Position and address under a pixel.
    #[must_use]
    pub fn under(&self, at: Pos) -> (f64, Option<u64>) {
        (self.x.value(at.x), self.addresses.address(self.y.value(at.y)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_go_both_ways() {
        let scale = Scale::new(100.0, 300.0, 50.0, 450.0);
        assert_eq!((scale.pixel(100.0), scale.pixel(300.0), scale.per_pixel()), (50.0, 450.0, 0.5));
        let up = Scale::new(0.0, 10.0, 400.0, 100.0);
        assert_eq!((up.pixel(10.0), up.value(400.0), up.value(100.0)), (100.0, 0.0, 10.0));
    }

    #[test]
    fn wide_gaps_are_cut_and_narrow_ones_stay() {
        let addresses = Addresses::from_spans(vec![(0, 1000), (1010, 2000), (1_000_000, 1_002_000)]);
        let stretches: Vec<_> = addresses.stretches().iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(stretches, [(0, 2000), (1_000_000, 1_002_000)]);
        assert!((addresses.length() - 4100.0).abs() < 1e-9, "{}", addresses.length());
        for address in [0, 999, 1005, 1999, 1_000_000, 1_001_999] {
            assert_eq!(addresses.address(addresses.place(address)), Some(address));
        }
        assert_eq!(addresses.address(2050.0), None, "inside the gap");
        assert_eq!(addresses.place(500_000), 2000.0, "nothing is there: the end of the stretch before");
    }

    #[test]
    fn places_beyond_the_last_address_are_nowhere() {
        let addresses = Addresses::from_spans(vec![(0, 1000), (u64::MAX - 2000, u64::MAX)]);
        assert_eq!(addresses.address(addresses.place(u64::MAX - 1)), Some(u64::MAX - 1));
        assert_eq!(addresses.address(addresses.length()), None);
        assert_eq!(addresses.address(1e9), None);
    }
}
