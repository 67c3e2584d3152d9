//! When the allocations of a pool were there, so that those at a moment, and those that lasted, are found without walking
//! all of them.

use super::{EventIx, Life, LifeIx};

/// Entries of one level that one entry of the next sums up.
const FAN: usize = 16;

/// From when to when each allocation of a pool was live, in the order of the pool's list.
#[derive(Clone, Debug, Default)]
pub(super) struct Stays {
    /// The first ones, whose mallocs are not recorded, are in no order.
    unordered: usize,
    born: Vec<u32>,
    died: Vec<u32>,
    /// Of so many neighbours each: the latest end, and the longest stay.
    levels: Vec<Vec<(u32, u32)>>,
}

/// It was live when the log ended.
const NEVER: u32 = u32::MAX;

impl Stays {
    /// Of these lives, the first `unordered` of which are not in the order of their beginnings. O(n).
    pub(super) fn build(lives: &[Life], list: &[LifeIx], unordered: usize) -> Self {
        let born: Vec<u32> = list.iter().map(|at| lives[at.at()].since().0).collect();
        let died: Vec<u32> = list.iter().map(|at| lives[at.at()].died().map_or(NEVER, |event| event.0)).collect();
        let mut levels: Vec<Vec<(u32, u32)>> = Vec::new();
        let most = |of: &[(u32, u32)]| of.iter().fold((0, 0), |most, one| (most.0.max(one.0), most.1.max(one.1)));
        let single: Vec<(u32, u32)> =
            born.iter().zip(&died).map(|(born, died)| (*died, died.saturating_sub(*born))).collect();
        let mut below = single;
        while below.len() > FAN {
            let level: Vec<(u32, u32)> = below.chunks(FAN).map(most).collect();
            below.clone_from(&level);
            levels.push(level);
        }
        Self { unordered, born, died, levels }
    }

    fn is_live(&self, at: usize, event: EventIx) -> bool {
        self.born[at] <= event.0 && self.died[at] > event.0
    }

    /// Where in the list those begin that began at this record or later; behind the unordered ones.
    pub(super) fn first_born(&self, event: EventIx) -> usize {
        let ordered = &self.born[self.unordered.min(self.born.len())..];
        self.unordered + ordered.partition_point(|born| *born < event.0)
    }

    /// Those of `from..to` in the list for which `may` does not exclude a group and `is` holds, by their place.
    fn each(&self, from: usize, to: usize, may: impl Fn((u32, u32)) -> bool, mut tell: impl FnMut(usize)) {
        let mut at = from;
        while at < to {
            // The largest group that begins here and can be left out.
            let (mut step, mut size) = (1, 1);
            for level in &self.levels {
                size *= FAN;
                if !at.is_multiple_of(size) || may(level[at / size]) {
                    break;
                }
                step = size;
            }
            if step == 1 {
                tell(at);
            }
            at += step;
        }
    }

    /// The places of those that are live once the record has taken effect. About O(log n) for each.
    pub(super) fn each_live(&self, event: EventIx, mut tell: impl FnMut(usize)) {
        (0..self.unordered).filter(|at| self.is_live(*at, event)).for_each(&mut tell);
        let past = self.first_born(EventIx(event.0.saturating_add(1)));
        let ends_later = |(died, _): (u32, u32)| died > event.0;
        self.each(self.unordered, past, ends_later, |at| {
            if self.is_live(at, event) {
                tell(at);
            }
        });
    }

    /// The places of those that began in the records `from..to` and stayed for at least so many.
    pub(super) fn each_lasting(&self, from: EventIx, to: EventIx, least: u32, mut tell: impl FnMut(usize)) {
        let (from, to) = (self.first_born(from), self.first_born(to));
        let lasts = |(_, longest): (u32, u32)| longest >= least;
        self.each(from, to, lasts, |at| {
            if self.died[at].saturating_sub(self.born[at]) >= least {
                tell(at);
            }
        });
    }

    /// How many records it stayed.
    pub(super) fn length(&self, at: usize) -> u32 {
        self.died[at].saturating_sub(self.born[at])
    }

    /// How many there are whose beginning is not recorded: the first of the list.
    pub(super) const fn unordered(&self) -> usize {
        self.unordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_equals_a_walk() {
        let mut state = 3_u64;
        let mut next = |most: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(most)) as u32
        };
        for (count, unordered) in [(0, 0), (5, 5), (300, 0), (5000, 12)] {
            let mut born: Vec<u32> = (0..count).map(|_| next(9000)).collect();
            born[unordered..].sort_unstable();
            let died: Vec<u32> =
                born.iter().map(|born| if next(50) == 0 { NEVER } else { born + 1 + next(60) * next(9) }).collect();
            let mut stays = Stays { unordered, born, died, levels: Vec::new() };
            let mut below: Vec<(u32, u32)> = (0..count).map(|at| (stays.died[at], stays.length(at))).collect();
            while below.len() > FAN {
                let most = |of: &[(u32, u32)]| of.iter().fold((0, 0), |m, o| (m.0.max(o.0), m.1.max(o.1)));
                below = below.chunks(FAN).map(most).collect();
                stays.levels.push(below.clone());
            }
            for _ in 0..200 {
                let (a, b, least) = (next(9500), next(9500), next(300));
                let mut found = Vec::new();
                stays.each_live(EventIx(a), |at| found.push(at));
                let live = |at: &usize| stays.born[*at] <= a && stays.died[*at] > a;
                assert_eq!(found, (0..count).filter(live).collect::<Vec<_>>());
                found.clear();
                stays.each_lasting(EventIx(a.min(b)), EventIx(a.max(b)), least, |at| found.push(at));
                let lasts = |at: &usize| {
                    (a.min(b)..a.max(b)).contains(&stays.born[*at])
                        && stays.died[*at].saturating_sub(stays.born[*at]) >= least
                };
                assert_eq!(found, (unordered..count).filter(lasts).collect::<Vec<_>>());
            }
        }
    }
}
