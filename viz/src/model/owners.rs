//! Who owned each address last: the answer to "where did this memory come from".

use super::LifeIx;
use std::collections::BTreeMap;

/// A part of an allocation's bytes, and the allocation that had them before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The earlier (or later) allocation.
    pub life: LifeIx,
    /// How many bytes they share.
    pub bytes: u64,
}

/// Addresses in runs, each with a value. Runs never overlap.
#[derive(Clone, Debug)]
pub(crate) struct Spans<T> {
    runs: BTreeMap<u64, (u64, T)>,
}

/// A run that was cut out: its addresses and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span<T> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) value: T,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self { runs: BTreeMap::new() }
    }
}

impl<T: Copy> Spans<T> {
    /// Cuts `start..end` out and returns what was there, in address order. Amortised O(log n): every run that is
    /// met is removed, and at most two come back.
    pub(crate) fn take(&mut self, start: u64, end: u64) -> Vec<Span<T>> {
        let mut taken = Vec::new();
        self.cut(start, end, |span| taken.push(span));
        taken
    }

    /// Gives `start..end` this value, and tells what was there, in address order. Amortised O(log n).
    pub(crate) fn replace(&mut self, start: u64, end: u64, value: T, mut tell: impl FnMut(Span<T>)) {
        if start >= end {
            return;
        }
        // Mostly a run begins there, and its place in the map is kept.
        match self.runs.get_mut(&start) {
            Some(run) => {
                let (stop, old) = std::mem::replace(run, (end, value));
                tell(Span { start, end: stop.min(end), value: old });
                if stop > end {
                    self.runs.insert(end, (stop, old));
                } else {
                    self.cut_from(stop, end, tell);
                }
            }
            None => {
                self.cut(start, end, tell);
                self.put(start, end, value);
            }
        }
    }

    fn cut(&mut self, start: u64, end: u64, mut tell: impl FnMut(Span<T>)) {
        if start >= end {
            return;
        }
        if let Some((_, run)) = self.runs.range_mut(..start).next_back()
            && run.0 > start
        {
            let (stop, value) = std::mem::replace(run, (start, run.1));
            tell(Span { start, end: stop.min(end), value });
            if stop > end {
                self.runs.insert(end, (stop, value));
            }
        }
        self.cut_from(start, end, tell);
    }

    /// The same of the runs that begin there.
    fn cut_from(&mut self, start: u64, end: u64, mut tell: impl FnMut(Span<T>)) {
        let mut from = start;
        while from < end
            && let Some((&start, &(stop, value))) = self.runs.range(from..end).next()
        {
            self.runs.remove(&start);
            tell(Span { start, end: stop.min(end), value });
            if stop > end {
                self.runs.insert(end, (stop, value));
            }
            from = stop;
        }
    }

    /// Gives `start..end` this value. The place must be free.
    pub(crate) fn put(&mut self, start: u64, end: u64, value: T) {
        if start < end {
            self.runs.insert(start, (end, value));
        }
    }

    /// The parts of `start..end` that have no value, in address order.
    pub(crate) fn missing(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let last = self.runs.range(..=start).next_back();
        let first = last.map_or(start, |(at, _)| *at);
        if last.is_some_and(|run| run.1.0 >= end) {
            return Vec::new();
        }
        let mut missing = Vec::new();
        let mut from = start;
        for (at, (stop, _)) in self.runs.range(first..end) {
            if from < *at {
                missing.push((from, *at));
            }
            from = from.max(*stop);
        }
        if from < end {
            missing.push((from, end));
        }
        missing
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Everything, in address order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Span<T>> {
        self.runs.iter().map(|(start, (end, value))| Span { start: *start, end: *end, value: *value })
    }

    /// Everything, in address order; nothing is left.
    pub(crate) fn drain(&mut self) -> Vec<Span<T>> {
        std::mem::take(&mut self.runs).into_iter().map(|(start, (end, value))| Span { start, end, value }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_equals_a_map_of_single_bytes() {
        let mut spans = Spans::default();
        let mut plain = [0_u32; 64];
        let mut state = 1_u64;
        let mut last = (0, 0);
        for value in 1..2000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(17);
            let (a, b) = ((state >> 40) % 65, (state >> 50) % 65);
            // Some as they were put.
            let (start, end) = if value % 4 == 0 { last } else { (a.min(b), a.max(b)) };
            last = (start, end);
            let mut bare = [false; 64];
            for (from, to) in spans.missing(start, end) {
                assert!(start <= from && from < to && to <= end);
                bare[from as usize..to as usize].fill(true);
            }
            for i in start..end {
                assert_eq!(bare[i as usize], plain[i as usize] == 0, "byte {i} in step {value}");
            }
            let mut taken = Vec::new();
            let keep = if state & 1 == 0 { value } else { 0 };
            match keep {
                0 => taken = spans.take(start, end),
                _ => spans.replace(start, end, value, |span| taken.push(span)),
            }
            let mut seen = [0_u32; 64];
            for span in &taken {
                assert!(span.start < span.end);
                seen[span.start as usize..span.end as usize].fill(span.value);
            }
            for i in start..end {
                assert_eq!(seen[i as usize], plain[i as usize], "byte {i} in step {value}");
            }
            plain[start as usize..end as usize].fill(keep);
        }
    }
}
