//! An explanation in lines.

use super::Explanation;
use crate::model::Model;
use crate::scene::{self, ticks};
use std::fmt::Write;

/// So many candidates are told.
const MOST: usize = 16;

/// The explanation as text, a line each.
#[must_use]
pub fn text(explanation: &Explanation, model: &Model) -> String {
    let mut out = String::new();
    for (name, value) in lines(explanation, model, MOST) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<13} {value}");
    }
    out
}

/// The explanation in lines: what each is about, empty where it goes on with the one above, and what there is to say. So
/// many candidates are told; the others are counted.
#[must_use]
pub fn lines(explanation: &Explanation, model: &Model, candidates: usize) -> Vec<(&'static str, String)> {
    let Explanation { call, outlook, .. } = explanation;
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    let mut line = |name: &'static str, value: String| lines.push((name, value));
    let number = model.events.number(call.event);
    line("call", format!("record {number}: {}", scene::headline(model, call.event)));
    line("asked", format!("{} on stream {} of pool {}", ticks::bytes_exact(call.asked.0), call.stream, call.pool));
    match (call.got, call.source) {
        (Some((offset, given)), Some(source)) => {
            let kind = source.name().replace('_', " ");
            line("got", format!("{} at offset {} ({kind})", ticks::bytes_exact(given.0), offset.0));
        }
        _ => line("got", "nothing: the call was refused".to_owned()),
    }
    line("verdict", explanation.verdict.words());
    if let Some(change) = &explanation.change {
        line("least change", change.clone());
    }
    if let Some(to_map) = outlook.to_map.filter(|_| outlook.taken.is_none()) {
        line(
            "growth",
            format!(
                "{} to be mapped, of which {} can be moved; {} below the limit",
                ticks::bytes(to_map.0),
                ticks::bytes(outlook.movable.0.min(to_map.0)),
                ticks::bytes(outlook.headroom.0)
            ),
        );
    }
    for (at, (number, words)) in explanation.steps.iter().enumerate() {
        line(if at == 0 { "steps" } else { "" }, format!("record {number}: {words}"));
    }
    for (at, candidate) in explanation.candidates.iter().take(candidates).enumerate() {
        let name = if at == 0 { "candidates" } else { "" };
        let size = ticks::bytes(candidate.size.0);
        line(name, format!("{size:>10} at offset {:<12} {}", candidate.offset.0, candidate.reason));
    }
    if let Some(more) = explanation.candidates.len().checked_sub(candidates).filter(|more| *more > 0) {
        line("", format!("and {} more", ticks::count(more as u64)));
    }
    if explanation.candidates.is_empty() {
        line("candidates", "none: nothing was free".to_owned());
    }
    line("recomputed", Explanation::agreed_words(explanation.agreed));
    lines
}
