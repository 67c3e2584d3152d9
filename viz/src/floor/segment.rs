//! A part of a stream between two places where other streams are tied to it.
//!
//! A cut that ends inside a segment may end anywhere in it, so of all these places only the heaviest counts.

/// The calls of a segment, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// The weight of the whole.
    sum: i128,
    /// The weight of its heaviest beginning, which may be empty.
    best: i128,
}

impl Segment {
    /// One more call.
    pub(super) fn push(&mut self, weight: i128) {
        self.sum += weight;
        self.best = self.best.max(self.sum);
    }

    /// The weights of the heaviest beginning and of the rest.
    pub(super) const fn parts(self) -> [i128; 2] {
        [self.best, self.sum - self.best]
    }
}
