//! Which addresses were mapped before a recording began: from those at its end, back over what happened.

use super::recording::{Happening, What};
use std::collections::BTreeMap;

/// Runs of addresses that do not touch: start and end.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<u64, u64>);

impl Held {
    /// What was mapped before these things happened, as address and size, where `last` was mapped after them.
    pub(super) fn before<'h>(
        last: &[(u64, u64)],
        happenings: impl DoubleEndedIterator<Item = &'h Happening>,
    ) -> Vec<(u64, u64)> {
        let mut held = Self::default();
        last.iter().for_each(|(address, bytes)| held.add(*address, *bytes));
        for happening in happenings.rev() {
            match happening.what {
                What::Map { address, bytes } => held.remove(address, bytes),
                What::Unmap { address, bytes } => held.add(address, bytes),
                _ => {}
            }
        }
        held.0.into_iter().map(|(start, end)| (start, end - start)).collect()
    }

    fn add(&mut self, start: u64, bytes: u64) {
        let mut end = start.saturating_add(bytes);
        let mut start = start;
        while let Some((from, to)) = self.0.range(..=end).next_back().map(|(from, to)| (*from, *to)) {
            if to < start {
                break;
            }
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        if start < end {
            self.0.insert(start, end);
        }
    }

    fn remove(&mut self, start: u64, bytes: u64) {
        let end = start.saturating_add(bytes);
        while let Some((from, to)) = self.0.range(..end).next_back().map(|(from, to)| (*from, *to)) {
            if to <= start {
                break;
            }
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, start);
            }
            if end < to {
                self.0.insert(end, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::row::{Spot, StreamKey};

    fn happenings(whats: &[What]) -> Vec<Happening> {
        let of = |what: &What| Happening {
            at: Spot::File,
            time: None,
            device: 0,
            stream: StreamKey::Device,
            what: what.clone(),
        };
        whats.iter().map(of).collect()
    }

    #[test]
    fn what_was_mapped_before_follows_from_the_end() {
        let story = happenings(&[
            What::Map { address: 20, bytes: 10 },
            What::Unmap { address: 0, bytes: 5 },
            What::Map { address: 40, bytes: 20 },
            What::Unmap { address: 45, bytes: 5 },
        ]);
        // At the end: 5..30 (of which 20..30 is new), 40..45, 50..60.
        assert_eq!(Held::before(&[(5, 25), (40, 5), (50, 10)], story.iter()), [(0, 20)]);
        assert_eq!(Held::before(&[(0, 10), (10, 10), (30, 5)], [].iter()), [(0, 20), (30, 5)]);
        let hole = happenings(&[What::Map { address: 10, bytes: 10 }]);
        assert_eq!(Held::before(&[(0, 30)], hole.iter()), [(0, 10), (20, 10)]);
    }
}
