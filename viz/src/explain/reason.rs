//! Why each candidate was passed over.

use super::{Call, Reasoned, place};
use crate::model::{Death, EventIx, Kind, Model, Payload};
use crate::scene::ticks;
use std::collections::{HashMap, HashSet};
use weir::error::Point;
use weir::id::StreamId;
use weir::trace::{Record, Source};
use weir::units::Bytes;
use weir::{Access, Candidate, Outlook};

/// What it takes to say why.
pub(super) struct Reasons<'m> {
    model: &'m Model,
    call: Call,
    outlook: Outlook,
    /// The records at the points that keep candidates from the stream.
    records: HashMap<(StreamId, u64), EventIx>,
}

/// The point that keeps the stream from a candidate.
pub(super) const fn held_by(candidate: &Candidate) -> Option<Point> {
    match candidate.access {
        Access::Usable(_) => None,
        Access::EventsOff(point) | Access::Unseen(point) | Access::Marked(point) | Access::Unordered(point) => {
            Some(point)
        }
    }
}

impl<'m> Reasons<'m> {
    pub(super) fn new(model: &'m Model, call: &Call, outlook: &Outlook, seen: &[Candidate]) -> Self {
        let wanted: HashSet<(StreamId, u64)> = seen.iter().filter_map(held_by).map(place).collect();
        let records = records_at(model, call.event, &wanted);
        Self { model, call: *call, outlook: *outlook, records }
    }

    /// The candidates with their reasons, in the order in which they matter.
    pub(super) fn candidates(&self, seen: &[Candidate]) -> Vec<Reasoned> {
        let needed = self.outlook.size;
        let mut order: Vec<&Candidate> = seen.iter().collect();
        let rank = |candidate: &Candidate| {
            let fits = candidate.size >= needed;
            let size = if fits { candidate.size.0 } else { u64::MAX - candidate.size.0 };
            (!self.is_taken(candidate), !fits, size, candidate.offset.0)
        };
        order.sort_by_key(|candidate| rank(candidate));
        order
            .into_iter()
            .map(|candidate| Reasoned {
                offset: candidate.offset,
                size: candidate.size,
                taken: self.is_taken(candidate),
                reason: self.reason(candidate),
            })
            .collect()
    }

    /// Whether what the call got was a part of it.
    fn is_taken(&self, candidate: &Candidate) -> bool {
        self.call.got.is_some_and(|(offset, given)| {
            candidate.offset.0 < offset.0.saturating_add(given.0)
                && offset.0 < candidate.offset.0.saturating_add(candidate.size.0)
        })
    }

    fn reason(&self, candidate: &Candidate) -> String {
        let small = self.outlook.size.0.checked_sub(candidate.size.0).filter(|lacking| *lacking > 0);
        if self.is_taken(candidate) {
            return match (small, self.call.source) {
                (Some(_), _) => "taken, together with what lies beside it".to_owned(),
                (None, Some(Source::Opportunistic)) => {
                    format!("taken: asked, and complete; {}", self.hindrance(candidate))
                }
                (None, Some(Source::Internal)) => format!("taken behind a wait; {}", self.hindrance(candidate)),
                (None, _) => "taken".to_owned(),
            };
        }
        let size = small.map(|lacking| format!("too small by {}", ticks::bytes(lacking)));
        let class = candidate
            .other_class
            .then(|| "small and large blocks are packed apart, and only whole granules change sides".to_owned());
        let order = held_by(candidate).map(|_| self.hindrance(candidate));
        let mut reasons: Vec<String> = [order, size, class].into_iter().flatten().collect();
        if reasons.is_empty() {
            reasons.push(self.outdone(candidate));
        }
        reasons.join("; ")
    }

    /// It could have been had, but another one was better.
    fn outdone(&self, candidate: &Candidate) -> String {
        let taken = self.call.got.map_or(0, |(_, given)| given.0);
        match candidate.size.0.checked_sub(taken) {
            _ if self.call.got.is_none() => "usable; the call was refused for another reason".to_owned(),
            Some(0) | None => "as close in size; the own stream's comes first, then what was freed last".to_owned(),
            Some(more) => format!("larger by {}: the closest size is taken", ticks::bytes(more)),
        }
    }

    /// Why the stream may not have it yet.
    fn hindrance(&self, candidate: &Candidate) -> String {
        let more = match candidate.unreached {
            0 | 1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        match candidate.access {
            Access::Usable(_) => "usable".to_owned(),
            Access::EventsOff(point) => {
                format!("ordered after {} by events, but switch 1 is off{more}", self.point(point))
            }
            Access::Unseen(point) => format!(
                "{} is complete, which weir knows and the program has not seen: switch 2 is off{more}",
                self.point(point)
            ),
            Access::Marked(point) => {
                format!("not ordered after {}; pending until the marker behind that{more}", self.point(point))
            }
            Access::Unordered(point) => format!("not ordered after {}{more}", self.point(point)),
        }
    }

    /// `stream 3's free at record 812 (seq 40)`.
    pub(super) fn point(&self, point: Point) -> String {
        let (stream, seq) = place(point);
        match self.records.get(&(stream, seq)) {
            Some(at) => {
                let what = match self.model.events.kind(*at) {
                    Kind::Free => "free",
                    Kind::Use => "use",
                    _ => "map",
                };
                format!("stream {stream}'s {what} at record {} (seq {seq})", self.model.events.number(*at))
            }
            None => format!("stream {stream}'s work up to seq {seq}"),
        }
    }
}

/// The records of frees and uses at these positions, before the call.
fn records_at(model: &Model, call: EventIx, wanted: &HashSet<(StreamId, u64)>) -> HashMap<(StreamId, u64), EventIx> {
    let mut found = HashMap::new();
    for at in (0..call.at()).rev().map(EventIx::next_of) {
        if found.len() == wanted.len() {
            break;
        }
        let position = match model.events.payload(at) {
            Payload::Life(life) => match model.life(life).death {
                Death::Free { event, stream, seq } if event == at => Some((model.stream(stream).id, seq.0)),
                _ => None,
            },
            Payload::Other(Record::Use { stream, seq, .. } | Record::UnmappedInOrder { stream, seq, .. }) => {
                Some((stream, seq.0))
            }
            Payload::Other(Record::MappedInOrder { stream, seq, .. }) => Some((stream, seq.0)),
            Payload::Other(_) => None,
        };
        if let Some(position) = position.filter(|position| wanted.contains(position)) {
            found.entry(position).or_insert(at);
        }
    }
    found
}

/// Free bytes in all and those that the stream may use, and the largest block of those.
pub(super) fn free_bytes(seen: &[Candidate]) -> (Bytes, Bytes, Bytes) {
    let usable = |candidate: &&Candidate| matches!(candidate.access, Access::Usable(_));
    let sum = |bytes: u64, candidate: &Candidate| bytes.saturating_add(candidate.size.0);
    let all = seen.iter().fold(0, sum);
    let mine = seen.iter().filter(usable).fold(0, sum);
    let largest = seen.iter().filter(usable).map(|candidate| candidate.size.0).max().unwrap_or(0);
    (Bytes(all), Bytes(mine), Bytes(largest))
}
