//! Whether asking the driver pays where memory is at hand. Pure.
//!
//! What is known to be complete joins, so that the next request is not cut from the middle of what could be one run. But
//! on a device that is far behind every answer is no: after each the pool lets twice as many occasions pass before it
//! asks again.

use crate::driver::Completion;

/// Occasions that pass after a first no, and at most. (A device that is a little behind is asked about each marker once
/// or twice with eight; one query in a thousand is no cost.)
const FEWEST: u16 = 8;
const MOST: u16 = 1024;

/// When a pool asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asking {
    /// Occasions that are still to pass.
    left: u16,
    /// As many passed, or pass, after the last answer.
    pause: u16,
}

impl Asking {
    pub(crate) const NONE: Self = Self { left: 0, pause: 0 };

    /// An occasion to ask. Returns whether to.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        due
    }

    /// The driver has answered; an error is as good as a no.
    pub(crate) fn note(&mut self, answer: Completion) {
        self.pause = match answer {
            Completion::Complete => 0,
            Completion::Pending => self.pause.saturating_mul(2).clamp(FEWEST, MOST),
        };
        self.left = self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many occasions, on how many a pool asks that always gets this answer.
    fn asked(asking: &mut Asking, occasions: u32, answer: Completion) -> u32 {
        let mut asked = 0;
        for _ in 0..occasions {
            if asking.is_due() {
                asking.note(answer);
                asked += 1;
            }
        }
        asked
    }

    #[test]
    fn a_device_that_keeps_up_is_asked_always() {
        let mut asking = Asking::NONE;
        assert_eq!(asked(&mut asking, 100, Completion::Complete), 100);
    }

    #[test]
    fn one_that_is_behind_is_asked_ever_less() {
        let mut asking = Asking::NONE;
        // Pauses of 8, 16, ..., 1,024 occasions, and the occasion before each.
        assert_eq!(asked(&mut asking, 2040 + 8, Completion::Pending), 8);
        assert_eq!(asked(&mut asking, 102_500, Completion::Pending), 100);
        asking.note(Completion::Complete);
        assert!(asking.is_due(), "one yes ends it");
    }
}
