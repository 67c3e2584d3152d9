//! The report as text, for a terminal.

use super::{Held, Idle, Moved, PoolReport, Report};
use crate::floor::Floor;
use crate::model::{Axis, Fact, Model};
use crate::scene::ticks;
use std::fmt::Write;
use weir::trace::Source;

/// How many lines a list has at most.
const MOST: usize = 10;
const LEAKS_UNKNOWN: &str = "not known: the log does not tell the end of the program or of its pools";

/// The report in lines. It needs the model that it was made of, for the names of allocations.
#[must_use]
pub fn text(report: &Report, model: &Model) -> String {
    let mut out = String::new();
    head(&mut out, report);
    report.busiest(MOST).into_iter().for_each(|pool| pool_text(&mut out, pool, model));
    if let Some(more) = report.pools.len().checked_sub(MOST).filter(|more| *more > 0) {
        let _ = writeln!(out, "\nand {} pools with fewer mallocs", ticks::count(more as u64));
    }
    waits(&mut out, report);
    refusals(&mut out, report);
    ends(&mut out, report);
    out
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name:<18} {value}");
}

fn head(out: &mut String, report: &Report) {
    let _ = writeln!(out, "{}", report.name);
    line(out, "records", format!("{} in {}", ticks::count(report.records), time(report)));
    line(out, "peak used", ticks::bytes_exact(report.peak_used));
    let reserved = |bytes| format!("{}{}", ticks::bytes_exact(bytes), over(bytes, report.peak_used));
    line(out, "peak reserved", or_not_recorded(report.peak_reserved, reserved));
    let floor = |floor: Floor| format!("{} ({})", ticks::bytes_exact(floor.bytes), floor.exactness.name());
    line(out, "ordered floor", or_not_recorded(report.floor, floor));
    if !report.unrecorded.is_empty() {
        line(out, "not recorded", report.unrecorded);
    }
    for damage in &report.damages {
        line(out, "damaged", damage);
    }
    if let Some(caveat) = report.caveat() {
        line(out, "note", caveat);
    }
    for (at, sentence) in report.open_ends.iter().enumerate() {
        line(out, if at == 0 { "part" } else { "" }, sentence);
    }
}

fn time(report: &Report) -> String {
    let nanos = Some(report.nanos).filter(|_| !report.unrecorded.has(Fact::Times));
    nanos.map_or_else(|| "a time that is not recorded".to_owned(), ticks::time)
}

/// What a log may lack, in words.
pub(crate) fn or_not_recorded<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "not recorded".to_owned(), words)
}

/// ` = 1.04 x used`.
pub(super) fn over(reserved: u64, used: u64) -> String {
    if used == 0 { String::new() } else { format!(" = {:.3} x used", reserved as f64 / used as f64) }
}

fn pool_text(out: &mut String, pool: &PoolReport, model: &Model) {
    let limit = pool.limit.map_or("not recorded".to_owned(), ticks::bytes);
    let granules = pool.granule.map_or(String::new(), |bytes| format!(", granules of {}", ticks::bytes(bytes)));
    let _ = writeln!(out, "\npool {}: limit {limit}{granules}", pool.id);
    for (name, peak) in [("peak used", Some(pool.used)), ("peak reserved", pool.reserved)] {
        let Some(peak) = peak else { continue };
        let at = peak
            .event
            .map_or("from the log's beginning".to_owned(), |event| format!("at record {}", model.events.number(event)));
        let sample = peak.event.and_then(|event| pool.sample_at(event)).filter(|_| pool.laid_out);
        let beside = sample.map_or(String::new(), |sample| {
            format!(
                "; used {}, reserved {}, fragmentation {}",
                ticks::bytes(sample.used),
                ticks::bytes(sample.reserved),
                percent(sample.fragmentation())
            )
        });
        line(out, name, format!("{} {at}{beside}", ticks::bytes(peak.bytes)));
    }
    let worst = |part| format!("{} at worst, of {} samples", percent(part), pool.samples.len());
    line(out, "fragmentation", or_not_recorded(pool.worst_fragmentation(), worst));
    list(
        out,
        "held by",
        pool.holders.len(),
        pool.holders.iter().map(|holder| {
            format!("{:>10}  {} in {} blocks", ticks::bytes(holder.bytes), holder.name(), ticks::count(holder.blocks))
        }),
    );
    for (source, reused) in Source::ALL.iter().zip(pool.reuse).filter(|(_, reused)| reused.count > 0) {
        let name = format!("  {}", source.name().replace('_', " "));
        line(out, &name, format!("{} mallocs, {}", ticks::count(reused.count), ticks::bytes(reused.bytes)));
    }
    list(
        out,
        "from stream to",
        pool.pairs.len(),
        pool.pairs.iter().map(|pair| {
            let kind = pair.source.name().replace('_', " ");
            let (count, bytes) = (ticks::count(pair.reused.count), ticks::bytes(pair.reused.bytes));
            format!("{:>10}  {} -> {} ({kind}), {count} mallocs", bytes, pair.from_words(), pair.to)
        }),
    );
    moves(out, "mapped", &pool.mapped);
    moves(out, "unmapped", &pool.unmapped);
    if pool.thrash > 0 {
        line(out, "thrash", format!("{} released and created again", ticks::bytes(pool.thrash)));
    }
    list(out, "held longest", pool.held.len(), pool.held.iter().map(|held| held_words(held, model)));
    list(out, "idle longest", pool.idle.len(), pool.idle.iter().map(|idle| idle_words(idle, model)));
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn moves(out: &mut String, name: &str, moved: &[Moved]) {
    if moved.is_empty() {
        return;
    }
    let words: Vec<String> = moved
        .iter()
        .map(|moved| format!("{} {} ({} times)", moved.reason, ticks::bytes(moved.bytes), ticks::count(moved.times)))
        .collect();
    line(out, name, words.join(", "));
}

fn list(out: &mut String, name: &str, length: usize, lines: impl Iterator<Item = String>) {
    for (at, text) in lines.take(MOST).enumerate() {
        line(out, if at == 0 { name } else { "" }, text);
    }
    if length > MOST {
        line(out, "", format!("and {} more", length - MOST));
    }
}

/// A length of the log: time, or records where the clock stands still.
pub(super) fn length_words(model: &Model, length: u64) -> String {
    match super::held::axis(model) {
        Axis::Time => ticks::time(length),
        Axis::Record => format!("{} records", ticks::count(length)),
    }
}

/// `#12 "weights"`.
pub(super) fn life_name(model: &Model, at: crate::model::LifeIx) -> String {
    let life = model.life(at);
    let label = model.name(life.name);
    if label.is_empty() { format!("#{}", life.id) } else { format!("#{} {label:?}", life.id) }
}

pub(super) fn held_words(held: &Held, model: &Model) -> String {
    let bytes = ticks::bytes(model.life(held.life).given.0);
    format!("{bytes:>10}  {} for {}", life_name(model, held.life), length_words(model, held.length))
}

pub(super) fn idle_words(idle: &Idle, model: &Model) -> String {
    let bytes = ticks::bytes(model.life(idle.life).given.0);
    let (early, late) = (length_words(model, idle.early), length_words(model, idle.late));
    let name = life_name(model, idle.life);
    format!("{bytes:>10}  {name} allocated {early} before its first use, freed {late} after its last")
}

fn waits(out: &mut String, report: &Report) {
    let _ = writeln!(out);
    let inserted = Some(report.waits_inserted()).filter(|_| !report.unrecorded.has(Fact::Source));
    line(out, "waits inserted", or_not_recorded(inserted, |count| report.counted(count)));
    list(out, "", report.waits.len(), report.waits.iter().map(|waits| waits.words()));
    if report.host_waits > 0 {
        line(out, "waits on the host", ticks::count(report.host_waits));
    }
}

fn refusals(out: &mut String, report: &Report) {
    let refused = Some(report.refused()).filter(|_| !report.unrecorded.has(Fact::Refusals));
    line(out, "refused", or_not_recorded(refused, |count| report.counted(count)));
    list(
        out,
        "",
        report.refusals.len(),
        report.refusals.iter().map(|refused| {
            let (verb, reason) = (refused.verb, refused.reason.replace('_', " "));
            format!("{} x {verb}: {reason}; first at record {}: {}", refused.count, refused.record, refused.first)
        }),
    );
}

fn ends(out: &mut String, report: &Report) {
    line(out, "leaks", report.leaks.map_or_else(|| LEAKS_UNKNOWN.to_owned(), |leaks| report.counted(leaks)));
    if report.live_at_end > 0 {
        let (count, bytes) = (ticks::count(report.live_at_end), ticks::bytes(report.live_bytes_at_end));
        line(out, "live at the end", format!("{count} blocks, {bytes}"));
    }
    for (name, count) in report.findings.iter().filter(|(name, _)| *name != "leak") {
        line(out, "found", format!("{count} x {} (`check` says where)", name.replace('_', " ")));
    }
}
