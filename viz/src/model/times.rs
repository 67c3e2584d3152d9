//! Clock readings in little room.

use super::EventIx;

/// The clock at each record, never going back: four bytes each, counted from a reading that is kept for four seconds of
/// records.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// From this record on, times are counted from that one.
    from: Vec<(EventIx, u64)>,
    since: Vec<u32>,
}

impl Times {
    /// The time of the next record; the last one's, where it is earlier than that.
    pub(super) fn push(&mut self, time: u64) {
        let event = EventIx::next_of(self.since.len());
        let last = event.0.checked_sub(1).map_or(0, |last| self.of(EventIx(last)));
        let time = time.max(last);
        let since = self.from.last().and_then(|from| u32::try_from(time - from.1).ok());
        if since.is_none() {
            self.from.push((event, time));
        }
        self.since.push(since.unwrap_or(0));
    }

    /// O(log n) in the seconds.
    pub(super) fn of(&self, event: EventIx) -> u64 {
        let since = self.since[event.at()];
        let from = match self.from.as_slice() {
            [one] => one.1,
            all => all[all.partition_point(|from| from.0 <= event) - 1].1,
        };
        from + u64::from(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_they_were_and_never_go_back() {
        let far = u64::from(u32::MAX);
        let pushed = [7, 7, 5, 7 + far, 8 + far, 9, 8 + 3 * far, u64::MAX, 0];
        let mut times = Times::default();
        pushed.into_iter().for_each(|time| times.push(time));
        let read: Vec<u64> = (0..pushed.len()).map(|at| times.of(EventIx::next_of(at))).collect();
        assert_eq!(read, [7, 7, 7, 7 + far, 8 + far, 8 + far, 8 + 3 * far, u64::MAX, u64::MAX]);
        assert_eq!(times.from.len(), 4);
    }
}
