//! A hash of all that decides what the pool and the judge do next.

use crate::op::BLOCKS;
use crate::oracle::Oracle;
use crate::run::Held;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hash, Hasher};
use weir::Arenas;

/// Fields that decide nothing: numbers that count over the whole program, statistics, and scratch.
const IDLE: [&str; 18] = [
    "id",
    "asked",
    "pending",
    "pending_until",
    "native",
    "used_high",
    "requested",
    "requested_high",
    "reserved_high",
    "mallocs",
    "frees",
    "refused",
    "by_source",
    "number",
    "stands_for",
    "label",
    "waits",
    "caught_up",
];

/// The field whose order counts, not its values.
const RANKED: &str = "freed";

/// The name of a state, whose arenas are as the pool left them.
#[must_use]
pub fn digest(arenas: &Arenas<'_>, oracle: &Oracle, held: &[Option<Held>; BLOCKS], essence: &mut Essence) -> u128 {
    essence.clear();
    let clocks = (&arenas.clocks.entries, &arenas.event_clocks.entries, &arenas.marker_clocks.entries);
    let slots = (&arenas.streams, &arenas.events, &arenas.markers, &arenas.pools, &arenas.blocks);
    // Writing to it cannot fail.
    let _ = write!(essence, "{slots:?}{clocks:?}");
    essence.rank();
    let halves = [1, 2].map(|half| {
        let mut hasher = foldhash::quality::FixedState::with_seed(half).build_hasher();
        oracle.hash(&mut hasher);
        held.hash(&mut hasher);
        hasher.write(&essence.text);
        hasher.finish()
    });
    u128::from(halves[0]) << 64 | u128::from(halves[1])
}

/// What is done with the next piece of `Debug`'s output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Keep,
    /// It is in an idle field's value, so many brackets deep.
    Skip(usize),
    /// It is a ranked field's value.
    Rank,
}

/// Takes `Debug`'s output, piece by piece as it is written: keeps neither the names of fields nor the values of idle
/// ones, and ranks instead of the ranked ones.
#[derive(Debug, Default)]
pub struct Essence {
    text: Vec<u8>,
    /// Where the last piece begins.
    last: usize,
    next: Next,
    ranked: Vec<u64>,
}

impl Essence {
    fn clear(&mut self) {
        self.text.clear();
        self.ranked.clear();
        (self.last, self.next) = (0, Next::Keep);
    }

    /// Adds the ranks.
    fn rank(&mut self) {
        let mut sorted = self.ranked.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = self.ranked.iter().map(|value| sorted.partition_point(|other| other < value) as u8);
        self.text.extend(ranks);
    }

    /// A field's name was written, and its value comes.
    fn begin_value(&mut self) {
        let name = &self.text[self.last..];
        if IDLE.iter().any(|idle| idle.as_bytes() == name) {
            self.next = Next::Skip(0);
        } else if name == RANKED.as_bytes() {
            self.next = Next::Rank;
        }
        self.text.truncate(self.last);
    }
}

impl Write for Essence {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match (self.next, piece) {
            (Next::Rank, number) => {
                self.ranked.push(number.parse().unwrap_or(0));
                self.next = Next::Keep;
                return Ok(());
            }
            (Next::Skip(depth), "(" | "[" | "{" | " { ") => {
                self.next = Next::Skip(depth + 1);
                return Ok(());
            }
            (Next::Skip(0), ")" | "]" | "}" | " }" | ", ") => self.next = Next::Keep,
            (Next::Skip(depth), ")" | "]" | "}" | " }") => {
                self.next = Next::Skip(depth - 1);
                return Ok(());
            }
            (Next::Skip(_), _) => return Ok(()),
            (Next::Keep, ": ") => {
                self.begin_value();
                return Ok(());
            }
            (Next::Keep, _) => {}
        }
        self.last = self.text.len();
        self.text.extend_from_slice(piece.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "only shown")]
    struct Shown {
        id: Option<Inner>,
        by_source: [u64; 3],
        freed: u64,
        size: u64,
    }

    #[derive(Debug)]
    #[expect(dead_code, reason = "only shown")]
    struct Inner(u64, [u64; 2]);

    fn shown(idle: u64, freed: u64, size: u64) -> Vec<u8> {
        let one = Shown { id: Some(Inner(idle, [idle; 2])), by_source: [idle, 1, 2], freed, size };
        let other = Shown { id: None, by_source: [0; 3], freed: 5, size: 9 };
        let mut essence = Essence::default();
        write!(essence, "{:?}", [one, other]).expect("writing cannot fail");
        essence.rank();
        essence.text
    }

    #[test]
    fn idle_values_do_not_count_and_ranks_do() {
        assert_eq!(shown(1, 3, 7), shown(2, 4, 7));
        assert_ne!(shown(1, 3, 7), shown(1, 6, 7));
        assert_ne!(shown(1, 3, 7), shown(1, 3, 8));
        let text = String::from_utf8_lossy(&shown(1, 3, 7)).into_owned();
        assert!(text.contains('7') && text.contains('9') && !text.contains("size"), "{text}");
    }
}
