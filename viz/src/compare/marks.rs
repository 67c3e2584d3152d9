//! Marks that two logs have in common.

use crate::model::{EventIx, Model};
use std::collections::HashMap;

/// A mark in both logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) name: String,
    pub(super) at: [EventIx; 2],
}

/// The marks that both logs have in the same order, and how many others each has. The n-th mark of a name in one is the
/// n-th of that name in the other; of those the longest series that runs forwards in both counts. O(n log n).
pub(super) fn common(models: [&Model; 2]) -> (Vec<Common>, [u64; 2]) {
    let [one, other] = models;
    let mut places: HashMap<(&str, usize), usize> = HashMap::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, mark) in other.marks.iter().enumerate() {
        let nth = seen.entry(other.name(mark.name)).or_default();
        places.insert((other.name(mark.name), *nth), at);
        *nth += 1;
    }
    seen.clear();
    let mut both: Vec<(usize, usize)> = Vec::new();
    for (at, mark) in one.marks.iter().enumerate() {
        let name = one.name(mark.name);
        let nth = seen.entry(name).or_default();
        both.extend(places.get(&(name, *nth)).map(|there| (at, *there)));
        *nth += 1;
    }
    let common: Vec<Common> = forwards(&both)
        .into_iter()
        .map(|(a, b)| Common {
            name: one.name(one.marks[a].name).to_owned(),
            at: [one.marks[a].event, other.marks[b].event],
        })
        .collect();
    let odd = models.map(|model| (model.marks.len() - common.len()) as u64);
    (common, odd)
}

/// The longest series whose second places go up; the first ones do already.
fn forwards(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the pair that ends the best series of it; and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut series = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        series.push(pairs[at]);
        next = before[at];
    }
    series.reverse();
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_series_that_runs_forwards_is_kept() {
        assert_eq!(forwards(&[]), []);
        assert_eq!(forwards(&[(0, 0), (1, 1), (2, 2)]), [(0, 0), (1, 1), (2, 2)]);
        // One mark was moved to the end.
        assert_eq!(forwards(&[(0, 3), (1, 0), (2, 1), (3, 2)]), [(1, 0), (2, 1), (3, 2)]);
        assert_eq!(forwards(&[(0, 2), (1, 1), (2, 0)]).len(), 1);
    }
}
