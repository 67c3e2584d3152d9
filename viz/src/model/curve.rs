//! A quantity that changes at records: a step curve with fast extremes, so that no spike is lost at any zoom.

use super::EventIx;
use std::collections::BTreeMap;
use std::ops::Range;

/// Values that one entry of a level sums up.
const FAN: usize = 16;

/// A step curve over the log's records.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    start: u64,
    at: Vec<EventIx>,
    value: Vec<u64>,
    levels: Vec<Vec<(u64, u64)>>,
    peak: (u64, Option<EventIx>),
}

impl Curve {
    /// A curve from its changes. `start` holds before the first; of several changes at one record all are kept.
    ///
    /// # Panics
    /// If the changes are not in the order of the records.
    #[must_use]
    pub fn new(start: u64, changes: &[(EventIx, u64)]) -> Self {
        Self::of_columns(start, changes.iter().map(|c| c.0).collect(), changes.iter().map(|c| c.1).collect())
    }

    /// The same from a column of records and one of values, which it keeps: they are most of a long log's memory.
    fn of_columns(start: u64, at: Vec<EventIx>, value: Vec<u64>) -> Self {
        assert!(at.is_sorted(), "changes out of order");
        let mut levels: Vec<Vec<(u64, u64)>> = Vec::new();
        if value.len() > FAN {
            let of = |values: &[u64]| values.iter().fold((u64::MAX, 0), |(low, high), v| (low.min(*v), high.max(*v)));
            levels.push(value.chunks(FAN).map(of).collect());
        }
        while let Some(below) = levels.last().filter(|below| below.len() > FAN) {
            levels.push(below.chunks(FAN).map(extremes_of).collect());
        }
        let mut curve = Self { start, at, value, levels, peak: (start, None) };
        curve.peak = curve.highest();
        curve
    }

    /// The value once the record has taken effect.
    #[must_use]
    pub fn after(&self, event: EventIx) -> u64 {
        self.value_at(self.at.partition_point(|e| *e <= event))
    }

    /// The records after which it can be above zero: from one on, up to one that is no more.
    #[must_use]
    pub fn span(&self) -> Range<EventIx> {
        let never = EventIx(u32::MAX);
        let from = if self.start > 0 { EventIx(0) } else { self.at.first().copied().unwrap_or(never) };
        let zero_at_last = self.value_at(self.at.len()) == 0;
        from..self.at.last().copied().filter(|_| zero_at_last).unwrap_or(never)
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
    pub const fn peak(&self) -> (u64, Option<EventIx>) {
        self.peak
    }

    fn highest(&self) -> (u64, Option<EventIx>) {
        let mut best = (self.start, None);
        for (value, at) in self.value.iter().zip(&self.at) {
            if *value > best.0 {
                best = (*value, Some(*at));
            }
        }
        best
    }

    /// Its changes in the order of the records; of several at one record the last holds.
    pub fn steps(&self) -> impl Iterator<Item = (EventIx, u64)> {
        self.at.iter().copied().zip(self.value.iter().copied())
    }

    /// The value before the first change.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The value at the end.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.value.last().copied().unwrap_or(self.start)
    }

    /// This curve, but nowhere above the other.
    #[must_use]
    pub fn at_most(&self, most: &Self) -> Self {
        let mut at: Vec<EventIx> = self.at.iter().chain(&most.at).copied().collect();
        at.sort_unstable();
        at.dedup();
        let changes: Vec<_> = at.into_iter().map(|e| (e, self.after(e).min(most.after(e)))).collect();
        Self::new(self.start.min(most.start), &changes)
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

/// Collects changes. What turns out later to have happened where records are missing is put there.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    now: i64,
    at: Vec<EventIx>,
    by: Vec<i64>,
    /// What changed in the missing records just before these.
    unseen: BTreeMap<EventIx, i64>,
    /// The part of that which a record stated, and which nothing has explained yet.
    unexplained: i64,
}

impl Tally {
    /// Adds to the value at this record.
    pub(super) fn add(&mut self, at: EventIx, by: i64) {
        self.now = self.now.saturating_add(by);
        self.at.push(at);
        self.by.push(by);
    }

    /// It changed by so much in the missing records before this one.
    pub(super) fn unseen(&mut self, before: EventIx, by: i64) {
        let explains = match by.signum() == self.unexplained.signum() {
            true => by.signum().saturating_mul(by.saturating_abs().min(self.unexplained.saturating_abs())),
            false => 0,
        };
        self.unexplained -= explains;
        self.change_unseen(before, by - explains);
    }

    /// The value now, as a record states it. What does not fit changed in the missing records before `gap`.
    pub(super) fn state(&mut self, gap: EventIx, value: i64) {
        let by = value.saturating_sub(self.now);
        self.unexplained = self.unexplained.saturating_add(by);
        self.change_unseen(gap, by);
    }

    fn change_unseen(&mut self, before: EventIx, by: i64) {
        if by != 0 {
            self.now = self.now.saturating_add(by);
            let known = self.unseen.entry(before).or_default();
            *known = known.saturating_add(by);
        }
    }

    /// It is zero from this record on.
    pub(super) fn end(&mut self, at: EventIx) {
        if self.now != 0 {
            self.add(at, self.now.saturating_neg());
        }
    }

    /// The curve. Nothing is left here, and where nothing was unseen within the log, nothing is copied.
    pub(super) fn finish(&mut self) -> Curve {
        let Self { at, by, unseen, .. } = std::mem::take(self);
        let mut value = unseen.get(&EventIx(0)).copied().unwrap_or(0);
        let amount = |v: i64| u64::try_from(v).unwrap_or(0);
        let start = amount(value);
        let mut sum = |by: i64| {
            value = value.saturating_add(by);
            amount(value)
        };
        let mut unseen = unseen.range(EventIx(1)..).peekable();
        if unseen.peek().is_none() {
            // In place: both are eight bytes.
            return Curve::of_columns(start, at, by.into_iter().map(sum).collect());
        }
        let mut changes = Vec::with_capacity(at.len());
        for (at, by) in at.into_iter().zip(by) {
            while let Some((before, by)) = unseen.next_if(|u| *u.0 <= at) {
                changes.push((*before, sum(*by)));
            }
            changes.push((at, sum(by)));
        }
        changes.extend(unseen.map(|(before, by)| (*before, sum(*by))));
        Curve::new(start, &changes)
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
    fn a_curve_is_zero_outside_its_span() {
        for (start, values) in
            [(0, vec![]), (3, vec![]), (0, vec![5, 0, 2, 0]), (3, vec![0]), (0, vec![0, 4]), (1, vec![0, 2, 0])]
        {
            let changes: Vec<_> = values.iter().zip(0..).map(|(value, at)| (EventIx(10 + 5 * at), *value)).collect();
            let curve = Curve::new(start, &changes);
            let span = curve.span();
            let outside = (0..60).map(EventIx).filter(|event| !span.contains(event));
            assert!(outside.map(|event| curve.after(event)).all(|value| value == 0), "{start} {values:?}: {span:?}");
            // It ends just where the curve does.
            let last = (0..60).map(EventIx).rfind(|event| curve.after(*event) > 0);
            let ends = if last == Some(EventIx(59)) { u32::MAX } else { last.map_or(span.end.0, |last| last.0 + 1) };
            assert_eq!(span.end, EventIx(ends), "{start} {values:?}");
        }
    }

    #[test]
    fn what_was_there_before_the_log_is_there_from_its_beginning() {
        let mut tally = Tally::default();
        tally.add(EventIx(2), -10);
        tally.add(EventIx(3), 4);
        tally.unseen(EventIx(0), 10);
        let curve = tally.finish();
        assert_eq!((curve.before(EventIx(2)), curve.after(EventIx(2)), curve.last()), (10, 0, 4));
        assert_eq!(curve.peak(), (10, None));
    }

    #[test]
    fn what_changed_unseen_holds_from_the_end_of_the_gap() {
        let mut tally = Tally::default();
        tally.add(EventIx(1), 5);
        tally.add(EventIx(4), 1);
        tally.unseen(EventIx(3), 20);
        tally.add(EventIx(5), -20);
        tally.end(EventIx(7));
        let curve = tally.finish();
        let seen: Vec<u64> = (0..8).map(|e| curve.after(EventIx(e))).collect();
        assert_eq!(seen, [0, 5, 5, 25, 26, 6, 6, 0]);
    }

    #[test]
    fn a_stated_value_is_not_counted_again_once_it_is_explained() {
        let mut tally = Tally::default();
        tally.add(EventIx(1), 5);
        tally.state(EventIx(2), 25);
        tally.unseen(EventIx(2), 15);
        tally.unseen(EventIx(2), 8);
        tally.unseen(EventIx(2), -1);
        let curve = tally.finish();
        assert_eq!((curve.before(EventIx(2)), curve.after(EventIx(2))), (5, 27));
    }

    #[test]
    fn a_curve_is_cut_at_another() {
        let changes = |list: &[(u32, u64)]| list.iter().map(|c| (EventIx(c.0), c.1)).collect::<Vec<_>>();
        let curve = Curve::new(1, &changes(&[(1, 9), (4, 3), (6, 7)]));
        let most = Curve::new(2, &changes(&[(2, 5), (5, 8)]));
        let cut = curve.at_most(&most);
        let seen: Vec<u64> = (0..8).map(|e| cut.after(EventIx(e))).collect();
        assert_eq!(seen, [1, 2, 5, 5, 3, 3, 7, 7]);
    }
}
