//! A comparison in lines.

use super::{Comparison, Section, Side};
use crate::report::or_not_recorded;
use crate::scene::ticks;
use std::fmt::Write;
use weir::trace::Source;

/// How many lines a list has at most.
const MOST: usize = 12;

/// The comparison as text.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let [one, other] = &comparison.names;
    // Writing to a string cannot fail.
    let _ = writeln!(out, "A  {one}\nB  {other}");
    for (side, sentences) in ["A", "B"].into_iter().zip(&comparison.open_ends) {
        for sentence in sentences {
            let _ = writeln!(out, "note: {side}: {sentence}");
        }
    }
    pools(&mut out, comparison);
    out.push('\n');
    let _ = writeln!(out, "{:<34} {:>12} {:>12} {:>12} {:>12}", "", "used A", "used B", "reserved A", "reserved B");
    if comparison.leaves_pools_out() {
        let [a, b] = comparison.all_pools;
        peaks(&mut out, "whole log, all pools", [a.0, b.0], [a.1, b.1]);
        section(&mut out, "whole log, the pools named above", &comparison.whole);
    } else {
        section(&mut out, "whole log", &comparison.whole);
    }
    // Where peaks differ most.
    let mut sections: Vec<&Section> = comparison.sections.iter().collect();
    let apart = |s: &Section| {
        let [a, b] = s.sides;
        let reserved = a.peak_reserved.zip(b.peak_reserved).map_or(0, |(a, b)| a.abs_diff(b));
        reserved.max(a.peak_used.abs_diff(b.peak_used))
    };
    sections.sort_by_key(|section| std::cmp::Reverse(apart(section)));
    let told = sections.iter().filter(|section| apart(section) > 0).take(MOST);
    if comparison.sections.len() > 1 {
        told.for_each(|part| section(&mut out, &name(part), part));
        let same = sections.iter().filter(|section| apart(section) == 0).count();
        let _ = writeln!(out, "{} parts between common marks, {same} of them with the same peaks", sections.len());
    }
    let [odd_a, odd_b] = comparison.odd_marks;
    if odd_a + odd_b > 0 {
        let _ = writeln!(out, "{odd_a} marks are in A alone, {odd_b} in B alone");
    }
    reuse(&mut out, comparison);
    labels(&mut out, comparison);
    lost(&mut out, comparison);
    out
}

fn name(section: &Section) -> String {
    let place = |name: &Option<String>, none: &str| name.clone().unwrap_or_else(|| none.to_owned());
    let name = format!("{} .. {}", place(&section.from, "begin"), place(&section.to, "end"));
    let mut short: String = name.chars().take(33).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}

/// Which pool is looked at, where there are several.
fn pools(out: &mut String, comparison: &Comparison) {
    if !comparison.leaves_pools_out() {
        return;
    }
    for (side, pool) in ["A", "B"].into_iter().zip(comparison.pools) {
        let _ = match pool {
            Some((id, 1)) => writeln!(out, "note: {side}: pool {id}, its only one"),
            Some((id, count)) => {
                writeln!(out, "note: {side}: pool {id}, which has most allocations of its {count}, is looked at")
            }
            None => writeln!(out, "note: {side}: no pool"),
        };
    }
}

fn section(out: &mut String, name: &str, section: &Section) {
    let [a, b] = section.sides;
    peaks(out, name, [a.peak_used, b.peak_used], [a.peak_reserved, b.peak_reserved]);
}

fn peaks(out: &mut String, name: &str, used: [u64; 2], reserved: [Option<u64>; 2]) {
    let bytes = ticks::bytes;
    let [used_a, used_b] = used.map(bytes);
    let [reserved_a, reserved_b] = reserved.map(|reserved| or_not_recorded(reserved, bytes));
    let _ = writeln!(out, "{name:<34} {used_a:>12} {used_b:>12} {reserved_a:>12} {reserved_b:>12}");
}

fn reuse(out: &mut String, comparison: &Comparison) {
    let [a, b] = comparison.whole.sides;
    let _ = writeln!(out, "\n{:<34} {:>12} {:>12}", "mallocs by source", "A", "B");
    for source in Source::ALL {
        let name = source.name().replace('_', " ");
        let count = |side: Side| or_not_recorded(side.reuse.map(|reuse| reuse[source as usize]), ticks::count);
        let _ = writeln!(out, "{name:<34} {:>12} {:>12}", count(a), count(b));
    }
    let _ = writeln!(out, "{:<34} {:>12} {:>12}", "refused calls", ticks::count(a.refused), ticks::count(b.refused));
    for pair in comparison.pairs.iter().take(MOST) {
        let name = format!("  {} -> {} ({})", pair.from, pair.to, pair.source.name().replace('_', " "));
        let [one, other] = pair.mallocs;
        let _ = writeln!(out, "{name:<34} {:>12} {:>12}", ticks::count(one), ticks::count(other));
    }
}

fn labels(out: &mut String, comparison: &Comparison) {
    if comparison.labels.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{:<34} {:>12} {:>12}", "labels whose peaks differ", "A", "B");
    for growth in comparison.labels.iter().take(MOST) {
        let name = if growth.label.is_empty() { "(no label)".to_owned() } else { format!("{:?}", growth.label) };
        let [one, other] = growth.peak;
        let _ = writeln!(out, "{name:<34} {:>12} {:>12}", ticks::bytes(one), ticks::bytes(other));
    }
}

fn lost(out: &mut String, comparison: &Comparison) {
    let matched = &comparison.matched;
    let count = ticks::count;
    let _ = writeln!(
        out,
        "\n{} mallocs are in both, {} in A alone, {} in B alone",
        count(matched.count),
        count(matched.alone[0]),
        count(matched.alone[1])
    );
    if !comparison.tells_sources() {
        let _ = writeln!(out, "which of them lost their reuse is not recorded");
        return;
    }
    let _ = writeln!(
        out,
        "{} of them lost their reuse ({}), {} won it",
        count(matched.lost),
        ticks::bytes(matched.lost_bytes),
        count(matched.won)
    );
    for lost in matched.largest.iter().take(MOST) {
        let [was, is] = lost.source.map(|source| source.name().replace('_', " "));
        let label = if lost.label.is_empty() { String::new() } else { format!(" {:?}", lost.label) };
        let [one, other] = lost.alloc;
        let _ = writeln!(out, "  {:>10}{label}: A #{one} {was}, B #{other} {is}", ticks::bytes(lost.asked));
    }
}
