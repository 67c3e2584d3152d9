//! The part of an axis that is shown.

/// The part of an axis that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

impl Range {
    pub(super) fn length(self) -> f64 {
        self.to - self.from
    }

    /// Zoomed by a factor (below 1: in) around a value, within `0..whole` and not below `least`. The value stays at
    /// the same part of the range, unless the range runs into an end.
    #[must_use]
    pub fn zoomed(self, around: f64, factor: f64, whole: f64, least: f64) -> Self {
        let length = (self.length() * factor).clamp(least.min(whole), whole);
        let part = (around - self.from) / self.length();
        Self { from: around - part * length, to: around - part * length + length }.within(whole)
    }

    /// Moved, but not out of `0..whole`.
    #[must_use]
    pub fn moved(self, by: f64, whole: f64) -> Self {
        Self { from: self.from + by, to: self.to + by }.within(whole)
    }

    /// Moved and cut into `0..whole`.
    #[must_use]
    pub fn within(self, whole: f64) -> Self {
        let length = self.length().min(whole);
        let from = self.from.clamp(0.0, (whole - length).max(0.0));
        Self { from, to: from + length }
    }
}
