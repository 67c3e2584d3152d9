//! How far a list is scrolled that belongs to something, as the details belong to the selection.

/// The first row of a list, for as long as it is of the same thing; the list of another one begins at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scrolled<T> {
    of: T,
    top: usize,
}

impl<T: Copy + PartialEq> Scrolled<T> {
    /// The first row of the list of this, which has so many rows, of which so many are shown.
    pub(super) fn top(&self, of: T, all: usize, shown: usize) -> usize {
        if self.of == of { self.top.min(all.saturating_sub(shown)) } else { 0 }
    }

    /// Scrolls it by so many rows.
    pub(super) fn by(&mut self, of: T, rows: f64, all: usize, shown: usize) {
        let top = self.top(of, all, shown);
        *self = Self { of, top: super::view::scrolled(top, rows, all, shown) };
    }
}
