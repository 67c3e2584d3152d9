//! Whether moving granules pays: what one growth moves away and the next one brings back is thrash. Pure.
//!
//! A pool that is as small as its peak has no free granule where the next request does not fit, so a loop may move the
//! same granules in every round, for ever. Nobody says where a round ends, so mallocs are counted instead. Where many
//! granules were moved of late, the next growths create them, up to a bound: with a little more than is needed at the peak
//! most loops find their memory where they left it. (Granules are counted, not growths: of a training log whose sequences
//! have another length in each step, 10 maps and unmaps in 1,000 calls were left otherwise, and are 2.)

/// Moves of a granule, beyond those that are forgotten, that are taken for a habit.
const HABIT: u16 = 3;

/// Mallocs after which one such move is forgotten. One granule in so many, which is two driver calls in twice as many
/// mallocs and frees, is no thrash.
const FORGOTTEN: u16 = 256;

/// What is remembered at most, so that a habit ends some time after the last move.
const MOST: u16 = (HABIT + 1) * FORGOTTEN;

/// The part of what is needed that may be created beyond it, as a divisor, and the granules beside that. (On 131 logs of
/// training, inference and random sizes half of the part saved half as much, and twice the part cost what one granule in
/// fifty is worth; small pools need the granules.)
const PART: u32 = 50;
const GRANULES: u64 = 2;

/// How much a pool moved of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moves {
    /// Mallocs until all moves are forgotten.
    recent: u16,
    /// Bytes that were ever created rather than moved.
    pub(crate) spared: u64,
}

impl Moves {
    pub(crate) const NONE: Self = Self { recent: 0, spared: 0 };

    pub(crate) fn note_malloc(&mut self) {
        self.recent = self.recent.saturating_sub(1);
    }

    /// A growth moved a granule.
    pub(crate) fn note_moved(&mut self) {
        self.recent = self.recent.saturating_add(FORGOTTEN).min(MOST);
    }

    pub(crate) fn note_spared(&mut self, bytes: u64) {
        self.spared = self.spared.wrapping_add(bytes);
    }

    /// The device had none to create.
    pub(crate) fn forget(&mut self) {
        self.recent = 0;
    }

    /// How many reserved bytes are worth having rather than to move any, where at most `needed` are live at once; 0: none.
    pub(crate) fn worth(&self, needed: u64, granularity: u64) -> u64 {
        if self.recent <= (HABIT - 1) * FORGOTTEN {
            return 0;
        }
        needed.saturating_add(part_of(needed)).saturating_add(GRANULES.saturating_mul(granularity))
    }
}

/// A [`PART`]th, digit by digit: to divide 64 bits by another number a small processor links a routine of a kilobyte.
fn part_of(bytes: u64) -> u64 {
    let (mut quotient, mut rest) = (0, 0);
    for digit in [48, 32, 16, 0] {
        rest = rest << 16 | (bytes >> digit) as u32 & 0xffff;
        quotient = quotient << 16 | u64::from(rest / PART);
        rest %= PART;
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANULE: u64 = 100;

    /// Moves of a granule, so many mallocs apart.
    fn moved(granules: u16, apart: u16) -> Moves {
        let mut moves = Moves::NONE;
        for _ in 0..granules {
            (0..apart).for_each(|_| moves.note_malloc());
            moves.note_moved();
        }
        moves
    }

    #[test]
    fn a_few_moves_are_no_habit() {
        assert_eq!(moved(2, 0).worth(5000, GRANULE), 0);
        assert_eq!(moved(3, 0).worth(5000, GRANULE), 5000 + 100 + 200);
    }

    #[test]
    fn moves_far_apart_never_are() {
        assert_eq!(moved(1000, FORGOTTEN).worth(5000, GRANULE), 0);
        assert!(moved(1000, FORGOTTEN / 2).worth(5000, GRANULE) > 0);
    }

    #[test]
    fn a_habit_ends_when_nothing_is_moved_any_more() {
        let mut moves = moved(1000, 1);
        let mallocs = (1..).find(|_| {
            moves.note_malloc();
            moves.worth(5000, GRANULE) == 0
        });
        assert_eq!(mallocs, Some(2 * FORGOTTEN));
    }

    #[test]
    fn a_bound_beyond_all_bytes_is_all() {
        assert_eq!(moved(3, 0).worth(u64::MAX, GRANULE), u64::MAX);
    }

    #[test]
    fn a_part_is_what_a_division_gives() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for bytes in edges.chain((0..1000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 64))).chain([
            u64::MAX,
            49,
            50,
            51,
        ]) {
            assert_eq!(part_of(bytes), bytes / 50, "{bytes}");
        }
    }
}
