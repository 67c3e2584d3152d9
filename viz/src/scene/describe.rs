//! Records and allocations in words: one line for the list, all there is for the details.

use super::map::stream_name;
use super::{Selection, source_words, ticks};
use crate::model::{Birth, Death, EventIx, Fact, Kind, Life, LifeIx, Link, Model, Payload, PoolIx};
use weir::policy::{Blocking, Capture, Growth, Release, Tuning};
use weir::trace::{MapReason, Record, Refusal, UnmapReason, text};
use weir::units::Bytes;

/// Links that the details name.
const MOST_LINKS: usize = 8;

/// A line of the details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is about; empty where it continues the line above.
    pub key: &'static str,
    /// What there is to say.
    pub value: String,
}

fn line(key: &'static str, value: impl Into<String>) -> Line {
    Line { key, value: value.into() }
}

/// The record in a few words, without its number and kind.
#[must_use]
pub fn headline(model: &Model, event: EventIx) -> String {
    match model.events.payload(event) {
        Payload::Life(life) => life_words(model, model.life(life), model.events.kind(event)),
        Payload::Other(Record::Mark { .. }) => {
            let mark = model.marks.iter().find(|m| m.event == event);
            mark.map_or(String::new(), |m| model.name(m.name).to_owned())
        }
        Payload::Other(record) => memory_words(&record)
            .or_else(|| order_words(&record))
            .or_else(|| refusal_words(&record))
            .unwrap_or_else(|| plain_words(&record)),
    }
}

fn life_words(model: &Model, life: &Life, kind: Kind) -> String {
    let size = ticks::bytes(life.given.0);
    match (kind, &life.death) {
        (Kind::Free, Death::Free { stream, .. }) => {
            format!("#{} {size} on {}", life.id, stream_name(model, *stream))
        }
        (Kind::Free, _) => format!("#{} {size}", life.id),
        _ => {
            let from = life.source.map_or("not recorded", source_words);
            format!("#{} {size} on {}, {from}", life.id, stream_name(model, life.stream))
        }
    }
}

fn granules(count: u32) -> String {
    match count {
        1 => "1 granule".to_owned(),
        n => format!("{} granules", ticks::count(u64::from(n))),
    }
}

/// An offset as the address axis has it.
pub(super) fn offset_words(offset: Bytes) -> String {
    match offset.0 {
        0 => "base".to_owned(),
        n => format!("+{}", ticks::bytes_whole(n)),
    }
}

fn memory_words(record: &Record<'_>) -> Option<String> {
    Some(match *record {
        Record::Mapped { offset, granules: n, reason, .. }
        | Record::MappedInOrder { offset, granules: n, reason, .. } => {
            let why = match reason {
                MapReason::Grow => "new memory",
                MapReason::Remap => "moved here",
                MapReason::Spare => "new memory, where moving some would have done",
            };
            format!("{} at {}, {why}", granules(n), offset_words(offset))
        }
        Record::Unmapped { offset, granules: n, reason, .. }
        | Record::UnmappedInOrder { offset, granules: n, reason, .. } => {
            format!("{} at {}, {}", granules(n), offset_words(offset), unmap_words(reason))
        }
        Record::Trimmed { target, reached, live, pending, partial, .. } => {
            let why = held_words([("live", live), ("pending", pending), ("in granules in part use", partial)]);
            format!("to {}, reached {}{why}", ticks::bytes(target.0), ticks::bytes(reached.0))
        }
        Record::TrimPending { on, bytes, streams, .. } => {
            let of =
                if streams == 1 { String::new() } else { format!(", one of {}", ticks::count(u64::from(streams))) };
            format!("{} on stream {} up to {}{of}", ticks::bytes(bytes.0), on.stream, on.seq)
        }
        Record::GrowPlanned { offset, granules: n, .. } => format!("{} at {}", granules(n), offset_words(offset)),
        Record::AttributeSet { attribute, value, .. } => {
            format!("{attribute:?} = {}", ticks::count(value))
        }
        Record::Quarantined { granules: n, .. } => granules(n),
        Record::Undestroyed { granules: 0, .. } => "none any more".to_owned(),
        Record::Undestroyed { granules: n, .. } => format!("{} mapped nowhere", granules(n)),
        Record::PoolDestroyed { leaked: Bytes(1..), .. } => "with live blocks".to_owned(),
        Record::PoolTuned { tuning, .. } => tuning_words(tuning),
        Record::Kept { kept, thrash, .. } => {
            format!("up to {} beyond the threshold; thrash so far {}", ticks::bytes(kept.0), ticks::bytes(thrash.0))
        }
        Record::Pressed { bytes, relieved, .. } => {
            let answer = if relieved { "some was given back" } else { "nothing was given back" };
            format!("{} asked of the program: {answer}", ticks::bytes(bytes.0))
        }
        _ => return None,
    })
}

/// What a trim had to leave, after a colon; nothing where there is nothing.
fn held_words(held: [(&str, Bytes); 3]) -> String {
    let held = held.into_iter().filter(|(_, bytes)| bytes.0 > 0);
    let words: Vec<_> = held.map(|(what, bytes)| format!("{} {what}", ticks::bytes(bytes.0))).collect();
    if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
}

/// The settings that are not the defaults.
fn tuning_words(tuning: Tuning) -> String {
    let growth = match tuning.growth {
        Growth::Frugal => None,
        Growth::Eager(step) => Some(format!("grows by {}", ticks::bytes(step.0))),
    };
    let release = (tuning.release == Release::Always).then(|| "always releases".to_owned());
    let blocking = (tuning.blocking == Blocking::WhenExhausted).then(|| "may block".to_owned());
    let addresses = tuning.addresses.map(|times| format!("addresses {times} × its limit"));
    let parts: Vec<String> = [growth, release, blocking, addresses].into_iter().flatten().collect();
    parts.join(", ")
}

fn unmap_words(reason: UnmapReason) -> &'static str {
    match reason {
        UnmapReason::Threshold => "above the threshold",
        UnmapReason::Trim => "trim",
        UnmapReason::Remap => "needed elsewhere",
        UnmapReason::Destroy => "pool destroyed",
        UnmapReason::Undo => "undone",
    }
}

fn order_words(record: &Record<'_>) -> Option<String> {
    let answer = |complete| if complete { "complete" } else { "pending" };
    Some(match *record {
        Record::Use { id, stream, .. } => format!("#{id} by stream {stream}"),
        Record::Recorded { event, stream, .. } => format!("event {event} on stream {stream}"),
        Record::Waited { event, stream, .. } => format!("stream {stream} for event {event}"),
        Record::Queried { event, complete, .. } => format!("event {event}: {}", answer(complete)),
        Record::MarkerLaid { stream, seq, .. } => format!("on stream {stream} at {seq}"),
        Record::Asked { stream, seq, complete } => format!("stream {stream} at {seq}: {}", answer(complete)),
        Record::Blocked { stream, on, .. } => {
            format!("for stream {} at {}, so that stream {stream} gets memory", on.stream, on.seq)
        }
        Record::WaitInserted { stream, on, .. } => format!("stream {stream} for stream {} at {}", on.stream, on.seq),
        Record::StreamSynchronized { stream, .. } | Record::StreamCreated { stream } => format!("stream {stream}"),
        Record::StreamDestroyed { stream } => format!("stream {stream}"),
        Record::EventSynchronized { event, .. } => format!("event {event}"),
        Record::EventCreated { event } | Record::EventDestroyed { event } | Record::EventReset { event } => {
            format!("event {event}")
        }
        Record::CaptureSet { stream, capture: Capture::Active } => format!("stream {stream} is captured"),
        Record::CaptureSet { stream, capture: Capture::None } => format!("stream {stream} runs again"),
        Record::DeviceSynchronized { device } => format!("device {device}"),
        _ => return None,
    })
}

fn refusal_words(record: &Record<'_>) -> Option<String> {
    Some(match *record {
        Record::OutOfMemory { requested, used, reserved, limit, .. } => format!(
            "{} asked; used {}, reserved {} of {}",
            ticks::bytes(requested.0),
            ticks::bytes(used.0),
            ticks::bytes(reserved.0),
            ticks::bytes(limit.0)
        ),
        Record::Refused { verb, reason, size, .. } => {
            let why = match reason {
                Refusal::ZeroSize => "zero bytes".to_owned(),
                Refusal::AboveLimit(limit) => {
                    format!("{} above the limit {}", ticks::bytes(size.0), ticks::bytes(limit.0))
                }
                _ => crate::report::refusal_words(record).unwrap_or_default(),
            };
            format!("{}: {why}", verb.name().replace('_', " "))
        }
        Record::DriverFailed { error } => error.to_string(),
        Record::Lost { records } => ticks::counted(records, "record"),
        _ => return None,
    })
}

/// The fields as the log's text form has them.
fn plain_words(record: &Record<'_>) -> String {
    match *record {
        Record::Begin { version: (a, b, c), .. } => format!("weir {a}.{b}.{c}"),
        Record::PoolCreated { pool } | Record::PoolDestroyed { pool, .. } => format!("pool {pool}"),
        Record::GrowAborted { call, .. } => format!("call {call}"),
        _ => String::new(),
    }
}

/// All there is to say about the selection.
#[must_use]
pub fn details(model: &Model, selection: Selection) -> Vec<Line> {
    match selection {
        Selection::Nothing => Vec::new(),
        Selection::Event(event) => event_details(model, event),
        Selection::Life(life) => life_details(model, life),
        Selection::Finding(finding) => super::findings::details(model, finding),
        Selection::Free(event, block) => super::answer::block(model, event, &block),
    }
}

fn event_details(model: &Model, event: EventIx) -> Vec<Line> {
    let kind = model.events.kind(event);
    let mut lines = vec![
        line("record", format!("{} {}", ticks::count(model.events.number(event)), kind.name())),
        line("time", when(model, event)),
    ];
    let words = headline(model, event);
    if !words.is_empty() {
        lines.push(line("what", words));
    }
    if let Some(life) = model.life_at(event) {
        lines.push(line("allocation", link_words(model, &Link { life, bytes: model.life(life).given.0 })));
    }
    // The only one tells of itself before and after, too.
    let only = (model.pools.len() == 1).then(|| PoolIx::next_of(0));
    for pool in only.into_iter().chain(model.holding(event).filter(|_| only.is_none())) {
        let state = model.state(pool, event);
        let words = format!(
            "used {}, reserved {}, {} live",
            ticks::bytes(state.used),
            reserved_words(model, state.reserved),
            ticks::count(state.live as u64)
        );
        lines.push(line("after it", format!("pool {}: {words}", model.pool(pool).id)));
    }
    lines.extend(fields(model, event));
    lines
}

fn when(model: &Model, event: EventIx) -> String {
    let events = &model.events;
    ticks::time(events.time(event) - events.time(EventIx(0)))
}

/// The record's own fields, a line each, exactly as the log has them.
fn fields(model: &Model, event: EventIx) -> Vec<Line> {
    let mut written = String::new();
    if text::write(&model.record(event), &mut written).is_err() {
        return Vec::new();
    }
    let mut lines: Vec<Line> = Vec::new();
    for field in written.split_whitespace() {
        if field.starts_with("number=") || field.starts_with("record=") {
            continue;
        }
        match lines.last_mut() {
            Some(last) if last.value.len() + field.len() < 44 => {
                last.value.push_str("  ");
                last.value.push_str(field);
            }
            Some(_) => lines.push(line("", field)),
            None => lines.push(line("fields", field)),
        }
    }
    lines
}

/// Reserved bytes, where the log records them.
pub(super) fn reserved_words(model: &Model, bytes: u64) -> String {
    if model.unrecorded.has(Fact::Reserved) { "not recorded".to_owned() } else { ticks::bytes(bytes) }
}

fn life_details(model: &Model, at: LifeIx) -> Vec<Line> {
    let life = model.life(at);
    let mut lines = vec![line("allocation", format!("#{}", life.id))];
    let label = model.name(life.name);
    if !label.is_empty() {
        lines.push(line("label", label));
    }
    lines.push(line("size", ticks::bytes_exact(life.given.0)));
    lines.push(match life.asked() {
        Some(asked) => line("asked", ticks::bytes_exact(asked.0)),
        None => line("asked", "not recorded"),
    });
    let recorded = |fact, words: String| if model.unrecorded.has(fact) { "not recorded".to_owned() } else { words };
    lines.push(line("address", recorded(Fact::Addresses, address(model, life))));
    lines.push(line("stream", recorded(Fact::Streams, stream_name(model, life.stream))));
    lines.push(line("malloc", birth(model, life)));
    lines.push(line("free", death(model, life)));
    if let (Some(born), Some(died)) =
        (life.born(), life.died().filter(|_| !matches!(life.death, Death::NotRecorded(_))))
    {
        let records = ticks::count(u64::from(died.0 - born.0));
        let time = ticks::time(model.events.time(died) - model.events.time(born));
        lines.push(line("lived", format!("{records} records, {time}")));
    }
    let uses = model.uses(at).count();
    if uses > 0 {
        lines.push(line("uses", format!("{uses} by other streams")));
    }
    lines.push(line("source", life.source.map_or("not recorded", source_sentence)));
    waited_for(model, at, &mut lines);
    if model.unrecorded.has(Fact::Addresses) {
        lines.extend(["came from", "went to"].map(|key| line(key, "not recorded")));
    } else {
        links(model, "came from", model.came_from(at), life.given.0, &mut lines);
        links(model, "went to", model.went_to(at), life.given.0, &mut lines);
    }
    // A translated record's fields have values where the log has none.
    if let Some(born) = life.born().filter(|_| model.unrecorded.is_empty()) {
        lines.extend(fields(model, born));
    }
    lines
}

fn source_sentence(source: weir::trace::Source) -> &'static str {
    use weir::trace::Source;
    match source {
        Source::SameStream => "same stream: it was freed there",
        Source::Settled => "settled: its last work was complete",
        Source::Event => "event: ordered by the program's events",
        Source::Opportunistic => "opportunistic: the driver said complete",
        Source::Internal => "a wait was inserted",
        Source::Grow => "grow: new memory was mapped",
    }
}

fn address(model: &Model, life: &Life) -> String {
    let offset = offset_words(life.offset);
    match model.pool(life.pool).definition {
        Some(pool) => format!("{:#x} ({offset})", pool.base.0.wrapping_add(life.offset.0)),
        None => offset,
    }
}

fn birth(model: &Model, life: &Life) -> String {
    match life.birth {
        Birth::Malloc(event) => at_record(model, event),
        Birth::NotRecorded(EventIx(0)) => "not recorded: before the log".to_owned(),
        Birth::NotRecorded(event) => format!("not recorded, before {}", at_record(model, event)),
    }
}

fn death(model: &Model, life: &Life) -> String {
    match life.death {
        Death::Live => "none: live at the end of the log".to_owned(),
        Death::Free { event, stream, seq } => {
            format!("{} on {} at {seq}", at_record(model, event), stream_name(model, stream))
        }
        Death::Destroyed(event) => format!("none: gone with its pool, {}", at_record(model, event)),
        Death::NotRecorded(event) => format!("not recorded, before {}", at_record(model, event)),
    }
}

fn at_record(model: &Model, event: EventIx) -> String {
    format!("record {} ({})", ticks::count(model.events.number(event)), when(model, event))
}

fn waited_for(model: &Model, at: LifeIx, lines: &mut Vec<Line>) {
    let waited = model.waited_for(at);
    let mut key = "waited for";
    for point in waited.points {
        lines.push(line(key, format!("stream {} at {}", point.stream, point.seq)));
        key = "";
    }
    if waited.epoch > 0 {
        lines.push(line(key, format!("the heads of all streams at epoch {}", waited.epoch)));
    }
}

fn links(model: &Model, key: &'static str, links: &[Link], given: u64, lines: &mut Vec<Line>) {
    let linked: u64 = links.iter().map(|l| l.bytes).sum();
    let mut key = key;
    for link in links.iter().take(MOST_LINKS) {
        lines.push(line(key, link_words(model, link)));
        key = "";
    }
    if links.len() > MOST_LINKS {
        lines.push(line("", format!("and {} more", links.len() - MOST_LINKS)));
    }
    if key == "came from" {
        lines.push(line(key, "nobody: fresh memory"));
    } else if key == "went to" {
        lines.push(line(key, "nobody"));
    } else if linked < given {
        lines.push(line("", format!("{} nobody's", ticks::bytes(given - linked))));
    }
}

pub(super) fn link_words(model: &Model, link: &Link) -> String {
    let life = model.life(link.life);
    let label = match model.name(life.name) {
        "" => String::new(),
        name => format!(", {name}"),
    };
    format!("#{} ({} of {}){label}", life.id, ticks::bytes(link.bytes), stream_name(model, life.stream))
}
