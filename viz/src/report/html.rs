//! The report as one page for a browser: nothing is loaded, nothing runs, and it follows the reader's light or dark.

use super::plot::{Amount, Series, Values, plot};
use super::text::{length_words, life_name, or_not_recorded, over, percent};
use super::{PoolReport, Report};
use crate::cli::{self, Picture};
use crate::floor::Exactness;
use crate::model::{Fact, Model};
use crate::scene::{Parts, Size, Theme, source_words, ticks};
use crate::source::Opened;
use crate::svg;
use crate::words;
use std::fmt::Write;
use weir::trace::Source;

const STYLE: &str = include_str!("style.css");
/// How many rows a table has at most.
const MOST: usize = 12;
/// So many pools are shown, those with most mallocs.
const MOST_POOLS: usize = 6;
/// The timelines' size in points.
const PICTURE: Size = Size { w: 1040.0, h: 640.0 };

/// The page of a report on a log.
#[must_use]
pub fn page(report: &Report, opened: &Opened) -> String {
    let title = format!("{}: memory", report.name);
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = write!(
        out,
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n",
        escaped(&title)
    );
    head(&mut out, report);
    for pool in report.busiest(MOST_POOLS) {
        pool_part(&mut out, report, opened, pool);
    }
    if let Some(more) = report.pools.len().checked_sub(MOST_POOLS).filter(|more| *more > 0) {
        let _ = writeln!(out, "<p class=\"dim\">and {} pools with fewer mallocs</p>", ticks::count(more as u64));
    }
    order_part(&mut out, report);
    trouble_part(&mut out, report, &opened.model);
    out.push_str("</body>\n</html>\n");
    out
}

/// Text as it stands between tags and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A term, with what it means for who rests the pointer on it.
fn term(text: &str) -> String {
    match words::meaning(text) {
        Some(sentence) => format!("<span title=\"{}\">{}</span>", escaped(sentence), escaped(text)),
        None => escaped(text),
    }
}

fn head(out: &mut String, report: &Report) {
    let version = report.version.map_or(String::new(), |(a, b, c)| format!(", written by weir {a}.{b}.{c}"));
    let (records, time) = (ticks::count(report.records), ticks::time(report.nanos));
    let _ =
        write!(out, "<h1>{}</h1>\n<p class=\"dim\">{records} records in {time}{version}</p>\n", escaped(&report.name));
    for damage in &report.damages {
        let _ = writeln!(out, "<p class=\"alarm\">{}</p>", escaped(damage));
    }
    for sentence in report.caveat().into_iter().chain(report.open_ends.iter().map(String::as_str)) {
        let _ = writeln!(out, "<p>{}</p>", escaped(sentence));
    }
    out.push_str("<div class=\"tiles\">\n");
    let mut tile = |name: &str, value: String, note: String, alarm: bool| {
        let class = if alarm { " class=\"alarm\"" } else { "" };
        let _ = writeln!(
            out,
            "<div class=\"tile\"><span>{}</span><b{class}>{value}</b><span>{}</span></div>",
            term(name),
            escaped(&note)
        );
    };
    let ratio = report.peak_reserved.map_or(String::new(), |bytes| over(bytes, report.peak_used));
    let floor = report.floor.map_or("", |floor| match floor.exactness {
        Exactness::Exact => "no pool that adds no waits needs less",
        Exactness::LowerBound => "at least this is needed without added waits",
    });
    let reserved = or_not_recorded(report.peak_reserved, ticks::bytes);
    let floor_bytes = or_not_recorded(report.floor.map(|floor| floor.bytes), ticks::bytes);
    let live = format!("{} blocks live at the end", ticks::count(report.live_at_end));
    let pools = match report.pools.len() {
        1 => "one pool".to_owned(),
        pools => format!("{pools} pools"),
    };
    let mallocs = report.pools.iter().map(|pool| pool.mallocs).sum();
    tile("peak used", ticks::bytes(report.peak_used), String::new(), false);
    tile("peak reserved", reserved, ratio.trim_start_matches(" = ").to_owned(), false);
    tile("ordered floor", floor_bytes, floor.to_owned(), false);
    tile("mallocs", report.counted(mallocs), pools, false);
    let refused = Some(report.refused()).filter(|_| !report.unrecorded.has(Fact::Refusals));
    tile(
        "refused",
        or_not_recorded(refused, |count| report.counted(count)),
        "mallocs".to_owned(),
        report.refused() > 0,
    );
    let leaks = report.leaks.map_or_else(|| "not known".to_owned(), |leaks| report.counted(leaks));
    tile("leaks", leaks, live, report.leaks.is_some_and(|leaks| leaks > 0));
    if report.unrecorded.has(Fact::Source) {
        tile("waits inserted", "not recorded".to_owned(), String::new(), false);
    } else {
        let on_host = format!("{} on the host", report.host_waits);
        tile("waits inserted", report.counted(report.waits_inserted()), on_host, false);
    }
    out.push_str("</div>\n");
}

fn pool_part(out: &mut String, report: &Report, opened: &Opened, pool: &PoolReport) {
    let limit = pool.limit.map_or("not recorded".to_owned(), ticks::bytes);
    let _ = write!(
        out,
        "<h2>Pool {}</h2>\n<p class=\"dim\">{} {limit}, {} of {}</p>\n",
        pool.id,
        term("limit"),
        term("granules"),
        or_not_recorded(pool.granule, ticks::bytes)
    );
    timeline(out, opened, pool.at.at());
    curves(out, report, &opened.model, pool);
    holders(out, pool);
    if !report.unrecorded.has(Fact::Source) {
        reuse(out, pool);
    }
    moves(out, pool);
    long(out, pool, &opened.model);
}

/// The viewer's picture, once for each ground.
fn timeline(out: &mut String, opened: &Opened, number: usize) {
    out.push_str("<figure>");
    for (class, theme) in [("only-light", Theme::Light), ("only-dark", Theme::Dark)] {
        let picture =
            Picture { size: PICTURE, parts: Parts::Panels, theme, pool: Some(number + 1), ..Picture::default() };
        if let Ok(scene) = cli::draw(opened, &picture) {
            let _ = write!(out, "<div class=\"{class}\">{}</div>", svg::write(&scene));
        }
    }
    out.push_str(
        "<figcaption>Above: memory over the records. Below: which address was whose, when.</figcaption></figure>\n",
    );
}

fn curves(out: &mut String, report: &Report, model: &Model, pool: &PoolReport) {
    let of = model.pool(pool.at);
    let mut series = vec![Series { class: "used", filled: true, values: Values::Curve(&of.used) }];
    let mut keys = vec![("used", "used")];
    if pool.reserved.is_some() {
        series.insert(0, Series { class: "reserved", filled: true, values: Values::Curve(&of.reserved) });
        keys.insert(0, ("reserved", "reserved"));
    }
    if let (1, Some(floor)) = (report.pools.len(), report.floor) {
        series.push(Series { class: "floor", filled: false, values: Values::Level(floor.bytes as f64) });
        keys.push(("floor", "ordered floor"));
    }
    out.push_str("<h3>Reserved against used</h3>\n<figure>");
    out.push_str(&plot(model, &series, Amount::Bytes, "Reserved and used bytes over the records"));
    out.push_str("<figcaption>");
    for (class, name) in keys {
        let _ = write!(out, "<span class=\"key {class}\">{}</span>", term(name));
    }
    out.push_str("</figcaption></figure>\n");
    let Some(worst) = pool.worst_fragmentation() else { return };
    let _ = write!(out, "<h3>{}</h3>\n<figure>", term("Fragmentation"));
    let points = pool.samples.iter().map(|sample| (sample.event, sample.fragmentation())).collect();
    let broken = [Series { class: "broken", filled: true, values: Values::Points(points) }];
    out.push_str(&plot(model, &broken, Amount::Part, "External fragmentation over the records"));
    let _ = writeln!(
        out,
        "<figcaption>The part of the free memory that is not in its largest piece; {} at worst, of the samples.</figcaption></figure>",
        percent(worst)
    );
}

/// A table with a bar in each row, whose names are as they stand in the page.
fn bars(out: &mut String, heading: [&str; 3], rows: &[(String, String, u64)], length: usize) {
    let most = rows.iter().map(|row| row.2).max().unwrap_or(0).max(1);
    let [name, note, amount] = heading;
    let _ = writeln!(
        out,
        "<table><tr><th>{name}</th><th class=\"n\">{note}</th><th class=\"n\">{amount}</th><th></th></tr>"
    );
    for (name, note, bytes) in rows.iter().take(MOST) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{note}</td><td class=\"n\">{}</td><td class=\"bar\">\
             <i style=\"width:{:.2}%\"></i></td></tr>",
            name,
            ticks::bytes(*bytes),
            *bytes as f64 * 100.0 / most as f64
        );
    }
    out.push_str("</table>\n");
    if length > MOST {
        let _ = writeln!(out, "<p class=\"dim\">and {} more</p>", ticks::count((length - MOST) as u64));
    }
}

fn holders(out: &mut String, pool: &PoolReport) {
    let rounding = pool.holders.iter().map(|holder| holder.bytes).sum::<u64>().saturating_sub(pool.asked_at_peak);
    let _ = write!(
        out,
        "<h3>Who held the peak</h3>\n<p class=\"dim\">{} at the peak of used bytes, {} of it {}.</p>\n",
        ticks::bytes(pool.used.bytes),
        ticks::bytes(rounding),
        term("rounding")
    );
    let rows: Vec<(String, String, u64)> = pool
        .holders
        .iter()
        .take(MOST)
        .map(|holder| (escaped(&holder.name()), ticks::count(holder.blocks), holder.bytes))
        .collect();
    bars(out, ["label", "blocks", "bytes"], &rows, pool.holders.len());
}

fn reuse(out: &mut String, pool: &PoolReport) {
    out.push_str("<h3>Where memory came from</h3>\n");
    let rows: Vec<(String, String, u64)> = Source::ALL
        .iter()
        .zip(pool.reuse)
        .map(|(source, reused)| (term(source_words(*source)), ticks::count(reused.count), reused.bytes))
        .collect();
    bars(out, ["kind", "mallocs", "bytes"], &rows, rows.len());
    if pool.pairs.is_empty() {
        return;
    }
    out.push_str("<h3>From stream to stream</h3>\n");
    let rows: Vec<(String, String, u64)> = pool
        .pairs
        .iter()
        .take(MOST)
        .map(|pair| {
            let name = format!("{} → {} ({})", pair.from_words(), pair.to, source_words(pair.source));
            (escaped(&name), ticks::count(pair.reused.count), pair.reused.bytes)
        })
        .collect();
    bars(out, ["freed on → allocated on", "mallocs", "bytes"], &rows, pool.pairs.len());
}

fn moves(out: &mut String, pool: &PoolReport) {
    out.push_str("<h3>Mapped and unmapped</h3>\n");
    let moves = [("mapped", &pool.mapped), ("unmapped", &pool.unmapped)];
    let rows: Vec<(String, String, u64)> = moves
        .iter()
        .flat_map(|(what, list)| {
            list.iter().map(move |m| (term(&format!("{what}: {}", m.reason)), ticks::count(m.times), m.bytes))
        })
        .collect();
    bars(out, ["why", "times", "bytes"], &rows, rows.len());
    if pool.thrash > 0 {
        let _ =
            writeln!(out, "<p>{} were released and created again ({}).</p>", ticks::bytes(pool.thrash), term("thrash"));
    }
}

fn long(out: &mut String, pool: &PoolReport, model: &Model) {
    out.push_str("<h3>Held longest</h3>\n<table><tr><th>block</th><th class=\"n\">bytes</th><th class=\"n\">held for</th></tr>\n");
    for held in &pool.held {
        let (name, bytes) = (life_name(model, held.life), ticks::bytes(model.life(held.life).given.0));
        let length = length_words(model, held.length);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{bytes}</td><td class=\"n\">{length}</td></tr>",
            escaped(&name)
        );
    }
    out.push_str("</table>\n<h3>Idle longest</h3>\n");
    if pool.idle.is_empty() {
        out.push_str("<p class=\"dim\">No use of a block is recorded.</p>\n");
        return;
    }
    out.push_str(
        "<table><tr><th>block</th><th class=\"n\">bytes</th><th class=\"n\">before its first use</th>\
         <th class=\"n\">after its last</th></tr>\n",
    );
    for idle in &pool.idle {
        let (name, bytes) = (life_name(model, idle.life), ticks::bytes(model.life(idle.life).given.0));
        let (early, late) = (length_words(model, idle.early), length_words(model, idle.late));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{bytes}</td><td class=\"n\">{early}</td><td class=\"n\">{late}</td></tr>",
            escaped(&name)
        );
    }
    out.push_str("</table>\n");
}

fn order_part(out: &mut String, report: &Report) {
    let _ = writeln!(out, "<h2>{}</h2>", term("Waits inserted"));
    if report.waits.is_empty() {
        out.push_str("<p class=\"dim\">None.</p>\n");
    }
    for waits in report.waits.iter().take(MOST) {
        let _ = writeln!(out, "<p>{}</p>", escaped(&waits.words()));
    }
    if report.host_waits > 0 {
        let _ = writeln!(out, "<p>{} waits of the pool's own on the host.</p>", ticks::count(report.host_waits));
    }
}

fn trouble_part(out: &mut String, report: &Report, model: &Model) {
    let _ = writeln!(out, "<h2>{}</h2>", term("Refused"));
    if report.refusals.is_empty() {
        out.push_str("<p class=\"dim\">Nothing.</p>\n");
    }
    for refused in report.refusals.iter().take(MOST) {
        let (reason, first) = (refused.reason.replace('_', " "), escaped(&refused.first));
        let _ = writeln!(
            out,
            "<p><b>{} × {}: {reason}</b><br>first at record {}: {first}</p>",
            ticks::count(refused.count),
            refused.verb,
            refused.record
        );
    }
    out.push_str("<h2>Leaks and findings</h2>\n");
    let found: Vec<_> = report.findings.iter().filter(|(_, count)| *count > 0).collect();
    if found.is_empty() {
        out.push_str("<p class=\"dim\">None.</p>\n");
    }
    for (name, count) in found {
        let _ = writeln!(out, "<p class=\"alarm\">{} × {}</p>", ticks::count(*count), name.replace('_', " "));
    }
    for flag in model.findings.flags().iter().take(MOST) {
        let lines = flag.finding.to_string();
        let _ = writeln!(out, "<p>{}</p>", lines.lines().map(escaped).collect::<Vec<_>>().join("<br>"));
    }
}
