//! What the log has that comes near to an order that is missing: found afterwards, when all of it was read.

use super::finding::Clue;
use super::order::Place;
use foldhash::HashMap;
use weir::id::{EventId, StreamId};

/// How many recordings and waits one search looks at.
const LOOK: usize = 4096;
/// How many recordings are named that only lack a wait.
const MOST: usize = 4;

/// Something that orders streams.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Record { event: EventId, number: u64 },
    Wait { event: EventId, number: u64, honoured: bool },
    Lay { marker: u32 },
    WaitMarker { marker: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Its place in the log, definitions not counted.
    at: u64,
    /// Its number in the log.
    record: u64,
    place: Place,
    /// The stream by its name: a later one may share the lane.
    stream: StreamId,
    act: Act,
}

/// Two operations of which the first should come before the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Where the first stands in the log.
    pub(super) from_at: u64,
    pub(super) from: Place,
    pub(super) to_at: u64,
    /// The second's stream; `None`: the host.
    pub(super) to: Option<usize>,
}

/// All recordings and waits, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct History {
    steps: Vec<Step>,
    recordings: HashMap<(EventId, u64), usize>,
}

impl History {
    pub(super) fn push(&mut self, at: u64, record: u64, (stream, place): (StreamId, Place), act: Act) {
        if let Act::Record { event, number } = act {
            self.recordings.insert((event, number), self.steps.len());
        }
        self.steps.push(Step { at, record, place, stream, act });
    }

    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.recordings.clear();
    }

    /// What comes near to ordering the pair.
    pub(super) fn clues(&self, pair: &Pair) -> Vec<Clue> {
        let begin = self.steps.partition_point(|s| s.at <= pair.from_at);
        let end = self.steps.partition_point(|s| s.at < pair.to_at);
        let between = &self.steps[begin.min(end)..end];
        let mut clues = covering(between, pair.from);
        if let Some(to) = pair.to {
            clues.extend(self.short_wait(between, pair.from, to));
            clues.extend(self.late_wait(end, pair.from, to));
        }
        clues
    }

    /// The last wait of the stream that was for the right stream, but for nothing that helps.
    fn short_wait(&self, between: &[Step], from: Place, to: usize) -> Option<Clue> {
        let waits = between.iter().rev().take(LOOK).filter(|s| s.place.lane == to);
        for step in waits {
            let Act::Wait { event, number, honoured } = step.act else { continue };
            let record = step.record;
            if number == 0 {
                return Some(Clue::NeverRecorded { record, event });
            }
            let Some(taken) = self.recordings.get(&(event, number)).map(|at| self.steps[*at]) else { continue };
            if taken.place.lane != from.lane {
                continue;
            }
            if taken.place.seq < from.seq {
                return Some(Clue::TooEarly { record, event, recorded: taken.record });
            }
            if !honoured {
                return Some(Clue::Replaced { record, event });
            }
        }
        None
    }

    /// The first wait that would have helped, had it stood before the second operation.
    fn late_wait(&self, end: usize, from: Place, to: usize) -> Option<Clue> {
        self.steps[end..].iter().take(LOOK).find_map(|step| {
            let Act::Wait { event, number, honoured: true } = step.act else { return None };
            let taken = self.steps[*self.recordings.get(&(event, number))?];
            let helps = step.place.lane == to && taken.place.lane == from.lane && taken.place.seq >= from.seq;
            helps.then_some(Clue::TooLate { record: step.record, event })
        })
    }
}

/// The recordings in between that stand for the first operation: each would do, if it were waited for.
fn covering(between: &[Step], from: Place) -> Vec<Clue> {
    let mut after = vec![from.lane];
    let (mut events, mut markers) = (HashMap::default(), HashMap::default());
    let mut found = Vec::new();
    for step in between.iter().take(LOOK) {
        let Place { lane, seq } = step.place;
        let covers = after.contains(&lane) && (lane != from.lane || seq >= from.seq);
        match step.act {
            Act::Record { event, number } => {
                events.insert(event, (number, covers));
                if covers && found.len() < MOST {
                    found.push(Clue::Recorded { record: step.record, event, number, stream: step.stream });
                }
            }
            Act::Lay { marker } => {
                markers.insert(marker, covers);
            }
            Act::Wait { event, number, .. } if events.get(&event) == Some(&(number, true)) => after.push(lane),
            Act::WaitMarker { marker } if markers.get(&marker) == Some(&true) => after.push(lane),
            Act::Wait { .. } | Act::WaitMarker { .. } => {}
        }
    }
    found
}
