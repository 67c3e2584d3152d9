//! Whether releasing at a synchronisation pays: what one round releases and the next creates again is thrash. Pure.
//!
//! A round is the time between two synchronisations. CUDA and CANN release whatever stands above the threshold at each of
//! them; with a threshold of 0 a loop that synchronises once a round then pays for the same granules in every round
//! (ggml-org/llama.cpp#5429 measured 300 to 400 ms for 16 GB). So after a few such rounds in a row what recent rounds needed is
//! kept, until demand falls.

/// Rounds of thrash in a row that are taken for a habit.
const HABIT: u8 = 3;

/// Rounds whose demand is remembered.
const MEMORY: usize = 8;

/// The demand of recent rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The most used bytes of each of the last rounds, the latest first.
    rounds: [u64; MEMORY],
    /// The most used bytes of this round.
    most: u64,
    /// Bytes that the last synchronisation released.
    released: u64,
    /// Bytes of those that were created again since.
    again: u64,
    /// Rounds of thrash in a row.
    thrashed: u8,
    /// Bytes that were ever created again.
    pub(crate) thrash: u64,
}

impl Demand {
    pub(crate) const NONE: Self = Self { rounds: [0; MEMORY], most: 0, released: 0, again: 0, thrashed: 0, thrash: 0 };

    #[inline]
    pub(crate) fn note_used(&mut self, used: u64) {
        if used > self.most {
            self.most = used;
        }
    }

    pub(crate) fn note_created(&mut self, bytes: u64) {
        let again = bytes.min(self.released.saturating_sub(self.again));
        self.again = self.again.wrapping_add(again);
        self.thrash = self.thrash.wrapping_add(again);
    }

    /// Whether this round created again what the last synchronisation released.
    pub(crate) fn thrashes(&self) -> bool {
        self.again > 0
    }

    pub(crate) fn note_released(&mut self, bytes: u64) {
        self.released = self.released.wrapping_add(bytes);
    }

    /// The most used bytes of recent rounds and of this one.
    pub(crate) fn wanted(&self) -> u64 {
        self.rounds.iter().copied().fold(self.most, u64::max)
    }

    /// A round ends with `used` bytes live. Returns how many reserved bytes are worth keeping; 0: none beyond the
    /// threshold.
    pub(crate) fn end_round(&mut self, used: u64) -> u64 {
        let mut latest = core::mem::replace(&mut self.most, used);
        self.rounds.iter_mut().for_each(|round| core::mem::swap(round, &mut latest));
        let wanted = self.rounds.iter().copied().max().unwrap_or(0);
        self.thrashed = match self.thrashed {
            // A habit stays one until no more is wanted than what is live.
            HABIT.. if wanted > used => self.thrashed,
            HABIT.. => 0,
            // Nothing went, so nothing could come back.
            _ if self.released == 0 => self.thrashed,
            _ if self.again > 0 => self.thrashed.saturating_add(1),
            _ => 0,
        };
        (self.released, self.again) = (0, 0);
        if self.thrashed < HABIT {
            return 0;
        }
        // Live blocks never fill their granules to the last byte.
        wanted.saturating_add(wanted / 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round that uses `bytes` at most and nothing at its end, in a pool that creates what it lacks.
    fn round(demand: &mut Demand, reserved: &mut u64, bytes: u64) {
        if bytes > *reserved {
            demand.note_created(bytes - *reserved);
            *reserved = bytes;
        }
        demand.note_used(bytes);
        let keep = demand.end_round(0);
        demand.note_released(reserved.saturating_sub(keep));
        *reserved = (*reserved).min(keep);
    }

    #[test]
    fn a_steady_loop_stops_releasing_after_a_few_rounds() {
        let (mut demand, mut reserved) = (Demand::NONE, 0);
        for _ in 0..4 {
            round(&mut demand, &mut reserved, 1600);
        }
        let thrash = demand.thrash;
        assert_eq!(thrash, 3 * 1600);
        for _ in 0..100 {
            round(&mut demand, &mut reserved, 1600);
        }
        assert_eq!((demand.thrash, reserved), (thrash, 1600));
    }

    #[test]
    fn what_is_kept_falls_with_demand() {
        let (mut demand, mut reserved) = (Demand::NONE, 0);
        for _ in 0..10 {
            round(&mut demand, &mut reserved, 1600);
        }
        for _ in 0..MEMORY {
            round(&mut demand, &mut reserved, 160);
        }
        assert_eq!(reserved, 170);
        let thrash = demand.thrash;
        for _ in 0..100 {
            round(&mut demand, &mut reserved, 160);
        }
        assert_eq!(demand.thrash, thrash, "less, but still a habit");
        for _ in 0..MEMORY + 1 {
            round(&mut demand, &mut reserved, 0);
        }
        assert_eq!(reserved, 0);
    }

    #[test]
    fn a_single_peak_is_released() {
        let (mut demand, mut reserved) = (Demand::NONE, 0);
        round(&mut demand, &mut reserved, 1600);
        assert_eq!(reserved, 0);
        for _ in 0..5 {
            round(&mut demand, &mut reserved, 0);
        }
        round(&mut demand, &mut reserved, 1600);
        assert_eq!((demand.thrash, reserved), (0, 0));
    }
}
