//! A quantity that changes at records: a step curve with fast extremes, so that no spike is lost at any zoom.

use super::EventIx;

/// Values that one entry of a level sums up.
const FAN: usize = 16;

/// A step curve over the log's records.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    start: u64,
    at: Vec<EventIx>,
    value: Vec<u64>,
    levels: Vec<Vec<(u64, u64)>>,
}

impl Curve {
    /// A curve from its changes. `start` holds before the first; of several changes at one record all are kept.
    ///
    /// # Panics
    /// If the changes are not in the order of the records.
    #[must_use]
    pub fn new(start: u64, changes: &[(EventIx, u64)]) -> Self {
        assert!(changes.is_sorted_by_key(|c| c.0), "changes out of order");
        let value: Vec<u64> = changes.iter().map(|c| c.1).collect();
        let mut levels = Vec::new();
        let mut below: Vec<(u64, u64)> = value.iter().map(|v| (*v, *v)).collect();
        while below.len() > FAN {
            below = below.chunks(FAN).map(extremes_of).collect();
            levels.push(below.clone());
        }
        Self { start, at: changes.iter().map(|c| c.0).collect(), value, levels }
    }

    /// The value once the record has taken effect.
    #[must_use]
    pub fn after(&self, event: EventIx) -> u64 {
        self.value_at(self.at.partition_point(|e| *e <= event))
    }

    /// The value just before the record.
    #[must_use]
    pub fn before(&self, event: EventIx) -> u64 {
        self.value_at(self.at.partition_point(|e| *e < event))
    }

    fn value_at(&self, changes: usize) -> u64 {
        match changes {
            0 => self.start,
            n => self.value[n - 1],
        }
    }

    /// Smallest and largest value anywhere from just before `from` to just before `to`: the changes of the records
    /// `from..to`, and what held when the first of them came. O(log n).
    #[must_use]
    pub fn extremes(&self, from: EventIx, to: EventIx) -> (u64, u64) {
        let first = self.at.partition_point(|e| *e < from);
        let last = self.at.partition_point(|e| *e < to).max(first);
        let held = self.value_at(first);
        let (low, high) = self.extremes_of_changes(first, last);
        (low.min(held), high.max(held))
    }

    fn extremes_of_changes(&self, mut from: usize, mut to: usize) -> (u64, u64) {
        let mut found = (u64::MAX, 0);
        let mut level: Option<&[(u64, u64)]> = None;
        for above in self.levels.iter().map(Some).chain([None]) {
            let take = |range: std::ops::Range<usize>, found: &mut (u64, u64)| {
                for i in range {
                    let (low, high) = level.map_or_else(|| (self.value[i], self.value[i]), |l| l[i]);
                    *found = (found.0.min(low), found.1.max(high));
                }
            };
            let (head, tail) = (from.next_multiple_of(FAN), to / FAN * FAN);
            if above.is_none() || head >= tail {
                take(from..to, &mut found);
                break;
            }
            take(from..head, &mut found);
            take(tail..to, &mut found);
            (from, to) = (head / FAN, tail / FAN);
            level = above.map(Vec::as_slice);
        }
        found
    }

    /// The largest value of all, and the record that first reached it (`None`: it held from the start).
    #[must_use]
    pub fn peak(&self) -> (u64, Option<EventIx>) {
        let mut best = (self.start, None);
        for (value, at) in self.value.iter().zip(&self.at) {
            if *value > best.0 {
                best = (*value, Some(*at));
            }
        }
        best
    }

    /// The value at the end.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.value.last().copied().unwrap_or(self.start)
    }

    /// How many changes there are.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.value.len()
    }
}

fn extremes_of(values: &[(u64, u64)]) -> (u64, u64) {
    let low = values.iter().map(|v| v.0).min().unwrap_or(u64::MAX);
    (low, values.iter().map(|v| v.1).max().unwrap_or(0))
}

/// Collects changes whose origin may not be known yet: a log may begin in the middle of a program's life.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    now: i64,
    base: i64,
    /// The value at the log's beginning, once something states it.
    fixed: Option<i64>,
    changes: Vec<(EventIx, i64)>,
}

impl Tally {
    /// The change from the beginning of the log until now.
    pub(super) const fn now(&self) -> i64 {
        self.now
    }

    /// It is zero when the log begins.
    pub(super) fn set_zero(&mut self) {
        self.fixed = Some(0);
    }

    /// Adds to the value at this record.
    pub(super) fn add(&mut self, at: EventIx, by: i64) {
        self.now = self.now.saturating_add(by);
        self.changes.push((at, self.now));
    }

    /// So much was there without a record of its coming: before the log, or where that part of the log is lost.
    pub(super) fn unseen(&mut self, by: i64) {
        match self.fixed {
            None => self.base = self.base.saturating_add(by),
            Some(_) => self.now = self.now.saturating_add(by),
        }
    }

    /// A record states the value.
    pub(super) fn state(&mut self, at: EventIx, value: i64) {
        match self.fixed {
            None => self.fixed = Some(value.saturating_sub(self.now)),
            Some(start) => {
                let missing = value.saturating_sub(self.now).saturating_sub(start);
                if missing != 0 {
                    self.add(at, missing);
                }
            }
        }
    }

    /// The curve, from zero up.
    pub(super) fn finish(&self) -> Curve {
        let lowest = self.changes.iter().map(|c| c.1).min().unwrap_or(0).min(0);
        let base = self.fixed.unwrap_or(self.base).max(-lowest);
        let lift = |v: i64| u64::try_from(v.saturating_add(base)).unwrap_or(0);
        let changes: Vec<_> = self.changes.iter().map(|(at, v)| (*at, lift(*v))).collect();
        Curve::new(lift(0), &changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain generator, so that a failing case can be repeated.
    fn numbers(seed: u64, count: usize) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn extremes_equal_a_scan() {
        for count in [0, 1, 15, 16, 17, 255, 256, 257, 5000] {
            let changes: Vec<_> = numbers(count as u64 + 1, count)
                .iter()
                .enumerate()
                .map(|(i, v)| (EventIx(i as u32 * 3), v % 1000))
                .collect();
            let curve = Curve::new(7, &changes);
            for pair in numbers(99, 400).chunks(2) {
                let (a, b) = (pair[0] % 15100, pair[1] % 15100);
                let (from, to) = (EventIx(a.min(b) as u32), EventIx(a.max(b) as u32));
                let held = changes.iter().rev().find(|c| c.0 < from).map_or(7, |c| c.1);
                let inside = changes.iter().filter(|c| c.0 >= from && c.0 < to).map(|c| c.1);
                let all: Vec<u64> = inside.chain([held]).collect();
                let want = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
                assert_eq!(curve.extremes(from, to), want, "{count} changes, {from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn a_log_that_begins_late_is_lifted_above_zero() {
        let mut tally = Tally::default();
        tally.add(EventIx(2), -10);
        tally.add(EventIx(3), 4);
        tally.unseen(3);
        let curve = tally.finish();
        assert_eq!((curve.before(EventIx(2)), curve.after(EventIx(2)), curve.last()), (10, 0, 4));
        assert_eq!(curve.peak(), (10, None));
    }

    #[test]
    fn a_stated_value_fixes_the_beginning_and_later_ones_correct() {
        let mut tally = Tally::default();
        tally.add(EventIx(1), 5);
        tally.state(EventIx(2), 25);
        tally.add(EventIx(3), -1);
        tally.state(EventIx(4), 30);
        let curve = tally.finish();
        let seen: Vec<u64> = (0..5).map(|e| curve.after(EventIx(e))).collect();
        assert_eq!(seen, [20, 25, 25, 24, 30]);
    }
}
