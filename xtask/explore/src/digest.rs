//! A hash of all that decides what the pool and the judge do next.

use crate::op::BLOCKS;
use crate::oracle::Oracle;
use crate::run::Held;
use crate::space::Space;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

/// Fields that decide nothing: numbers that count over the whole program, statistics, and scratch.
const IDLE: [&str; 16] = [
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
];

/// The fields whose order counts, not their values.
const RANKED: &str = "freed";

/// A state's name.
#[must_use]
pub fn digest(space: &Space, oracle: &Oracle, held: &[Option<Held>; BLOCKS]) -> u128 {
    let mut text = String::with_capacity(8192);
    let clocks = (&space.clocks, &space.event_clocks, &space.marker_clocks);
    let slots = (&space.streams, &space.events, &space.markers, &space.pools, &space.blocks);
    // Writing to a string cannot fail.
    let _ = write!(text, "{slots:?}{clocks:?}");
    let halves = [0u8, 1].map(|half| {
        let mut hasher = DefaultHasher::new();
        half.hash(&mut hasher);
        oracle.hash(&mut hasher);
        held.hash(&mut hasher);
        hash_fields(&text, &mut hasher);
        hasher.finish()
    });
    u128::from(halves[0]) << 64 | u128::from(halves[1])
}

/// Hashes a text of `Debug` without the values of the idle fields, and with ranks instead of the ranked ones.
fn hash_fields(text: &str, into: &mut impl Hasher) {
    let mut rest = text;
    let mut ranked: Vec<u64> = Vec::new();
    while let Some(colon) = rest.find(": ") {
        let (before, after) = rest.split_at(colon + 2);
        into.write(before.as_bytes());
        let name = before[..colon].rsplit(' ').next().unwrap_or("");
        rest = after;
        if IDLE.contains(&name) {
            rest = &after[value_length(after)..];
        } else if name == RANKED {
            let length = value_length(after);
            ranked.push(after[..length].parse().unwrap_or(0));
            rest = &after[length..];
        }
    }
    into.write(rest.as_bytes());
    let mut sorted = ranked.clone();
    sorted.sort_unstable();
    sorted.dedup();
    ranked.iter().for_each(|value| sorted.binary_search(value).hash(into));
}

/// The length of a value: up to the comma or bracket that ends it.
fn value_length(text: &str) -> usize {
    let mut depth = 0;
    for (n, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth > 0 => depth -= 1,
            b',' | b' ' | b')' | b']' | b'}' if depth == 0 => return n,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        hash_fields(text, &mut hasher);
        hasher.finish()
    }

    #[test]
    fn idle_values_do_not_count_and_ranks_do() {
        let text = |id, freed, size| {
            format!(
                "A {{ id: AllocId({id}), by_source: [1, 2, {id}], freed: {freed}, size: {size} }}, B {{ freed: 5 }}"
            )
        };
        assert_eq!(hashed(&text(1, 3, 7)), hashed(&text(2, 4, 7)));
        assert_ne!(hashed(&text(1, 3, 7)), hashed(&text(1, 6, 7)));
        assert_ne!(hashed(&text(1, 3, 7)), hashed(&text(1, 3, 8)));
    }
}
