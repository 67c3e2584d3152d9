//! The list of the findings, and each of them in words. It is there only where something was found.

use super::describe::{Line, offset_words};
use super::frame::{PAD, ROW};
use super::{Anchor, Context, Paint, Rect, Selection, Stroke, pos, ticks};
use crate::check::{Finding, What};
use crate::font::{fit, width};
use crate::model::{FindingIx, Model};

/// Size of the texts.
const TEXT: f32 = 12.0;

/// Draws the list, where the view has one.
pub(super) fn draw(context: &Context<'_>, paint: &mut Paint) {
    let Some(list) = context.frame.findings else {
        return;
    };
    let palette = context.palette;
    paint.heading(pos(list.x, PAD + 15.0), 13.0, palette.alarm, "Findings");
    let findings = &context.model.findings;
    let (listed, total) = (findings.flags().len() as u64, findings.total());
    let count = match listed == total {
        true => ticks::count(total),
        false => format!("the first {} of {}", ticks::count(listed), ticks::count(total)),
    };
    paint.text(Anchor::End, pos(list.right(), PAD + 15.0), TEXT, palette.dim, count);
    paint.rect(list, palette.panel);
    for row in 0..context.frame.finding_rows() {
        let at = FindingIx::next_of(context.view.top_finding + row);
        if let Some(flag) = findings.flag(at) {
            self::row(context, paint, Rect { y: list.y + row as f32 * ROW, h: ROW, ..list }, at, &flag.finding);
        }
    }
    paint.outline(list, Stroke::solid(palette.edge, 1.0));
    super::side::thumb(context, paint, list, (context.view.top_finding, context.frame.finding_rows(), listed as usize));
}

fn row(context: &Context<'_>, paint: &mut Paint, row: Rect, at: FindingIx, finding: &Finding) {
    let palette = context.palette;
    if context.view.selection == Selection::Finding(at) {
        paint.rect(row, palette.alarm.fade(50));
    }
    let base = row.y + ROW * 0.7;
    let digits = ticks::count(context.model.findings.flags().len() as u64);
    let left = row.x + 8.0 + width(&digits, TEXT);
    paint.text(Anchor::End, pos(left, base), TEXT, palette.dim, (at.0 + 1).to_string());
    let kind = finding.fault.name();
    paint.text(Anchor::Start, pos(left + 9.0, base), TEXT, palette.alarm, kind);
    let words_at = left + 9.0 + width(kind, TEXT) + 9.0;
    let words = fit(&headline(finding), TEXT, row.right() - 14.0 - words_at);
    paint.text(Anchor::Start, pos(words_at, base), TEXT, palette.dim, words);
}

/// The operations in a few words, the one where it shows first.
fn headline(finding: &Finding) -> String {
    let words = |operation: &crate::check::Operation| {
        let what = match operation.what {
            What::Malloc(id) => format!("malloc #{id}"),
            What::Free(id) => format!("free #{id}"),
            What::Use(id) => format!("use #{id}"),
            other => other.to_string(),
        };
        operation.stream.map_or(what.clone(), |stream| format!("{what} on stream {stream}"))
    };
    match &finding.first {
        Some(first) => format!("{}; {}", words(&finding.second), words(first)),
        None => words(&finding.second),
    }
}

/// All there is to say about a finding.
pub(super) fn details(model: &Model, at: FindingIx) -> Vec<Line> {
    let Some(flag) = model.findings.flag(at) else {
        return Vec::new();
    };
    let finding = &flag.finding;
    let line = |key: &'static str, value: String| Line { key, value };
    let count = ticks::count(model.findings.total());
    let mut lines = vec![
        line("finding", format!("{} of {count}: {}", at.0 + 1, finding.fault.name())),
        line("", finding.fault.meaning().to_owned()),
    ];
    lines.extend(finding.allocation.map(|id| line("block", format!("allocation {id}"))));
    lines.extend(finding.memory.map(|memory| {
        let (size, place) = (ticks::bytes(memory.bytes.0), offset_words(memory.offset));
        line("memory", format!("{size} at {place} of pool {}", memory.pool))
    }));
    lines.extend(finding.first.map(|first| line("first", first.to_string())));
    let key = if finding.first.is_some() { "then" } else { "at" };
    lines.push(line(key, finding.second.to_string()));
    if let Some(missing) = &finding.missing {
        lines.push(line("missing", missing.to_string()));
        lines.extend(missing.clues.iter().map(|clue| line("note", clue.to_string())));
    }
    lines
}

/// What the pointer tells of a finding.
pub(super) fn pointed(finding: &Finding) -> Vec<String> {
    finding.to_string().lines().map(|line| line.trim_start().to_owned()).collect()
}
