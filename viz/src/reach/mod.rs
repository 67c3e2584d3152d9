//! When freed memory may be used again: from which record on which stream could have had a free block, and how many bytes
//! are free but wait for work.
//!
//! Both follow from the order of the streams as the log tells it: the detector's, which shares nothing with the pool's own.

mod pending;
mod walk;

pub use pending::pending;

use crate::check::order::Place;
use crate::model::{EventIx, Fact, FreeBlock, Kind, Model, Payload, PoolIx, StreamIx};
use walk::Walk;
use weir::error::Point;
use weir::trace::Record;

/// From when on a stream could have had a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// The stream.
    pub stream: StreamIx,
    /// The record from which on; `None`: not before it was taken or unmapped, or the log ends.
    pub event: Option<EventIx>,
}

/// Who could have had a free block, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// What has to come before whoever gets it.
    pub points: Vec<Point>,
    /// The record that made it free: a free, or a mapping.
    pub from: EventIx,
    /// The record that took or unmapped some of it; `None`: the log ends.
    pub until: Option<EventIx>,
    /// Each stream of the log, those that could have had it first.
    pub streams: Vec<Since>,
}

/// From when on which stream could have had a block that was free after a record. `None`: the log does not record the
/// order of streams, or records are missing while the block was free. O(n) in the records.
#[must_use]
pub fn reach(model: &Model, pool: PoolIx, block: &FreeBlock, event: EventIx) -> Option<Reach> {
    let run = model.pool(pool).runs.iter().find(|run| {
        run.start <= block.start
            && block.start < run.end
            && run.since <= event
            && run.unmapped.is_none_or(|u| u > event)
    });
    let freed = block.last.and_then(|life| model.life(life).died());
    let from = freed.or_else(|| run.map(|run| run.since)).unwrap_or(EventIx(0));
    let until = until(model, pool, block, event);
    let end = until.unwrap_or(model.events.end());
    let missing = model.gaps.iter().any(|gap| gap.event <= end);
    if missing || model.unrecorded.has(Fact::Order) || model.unrecorded.has(Fact::Streams) {
        return None;
    }
    let points = match block.last {
        Some(life) => model.points_of(life, event),
        None => mapped_behind(model, from).into_iter().collect(),
    };
    let mut streams: Vec<Since> = reached(model, &points, from, end);
    streams.sort_by_key(|since| (since.event.is_none(), since.event, model.stream(since.stream).rank));
    Some(Reach { points, from, until, streams })
}

/// The first record that took some of the block or unmapped it.
fn until(model: &Model, pool: PoolIx, block: &FreeBlock, event: EventIx) -> Option<EventIx> {
    let overlaps = |start: u64, end: u64| start < block.end && block.start < end;
    let pool = model.pool(pool);
    let lives = pool.lives.iter().map(|at| model.life(*at));
    let taken = lives.filter(|life| life.since() > event && overlaps(life.offset.0, life.end())).map(|l| l.since());
    let unmapped = pool.runs.iter().filter(|run| overlaps(run.start, run.end)).filter_map(|run| run.unmapped);
    taken.chain(unmapped.filter(|at| *at > event)).min()
}

/// The position behind which fresh memory was mapped, where that was in a stream's order.
fn mapped_behind(model: &Model, from: EventIx) -> Option<Point> {
    match (model.events.kind(from), model.events.payload(from)) {
        (Kind::MappedInOrder, Payload::Other(Record::MappedInOrder { stream, seq, .. })) => Some(Point { stream, seq }),
        _ => None,
    }
}

/// For each stream the first record from `from` on, and before `end`, once all points come before what it does next.
fn reached(model: &Model, points: &[Point], from: EventIx, end: EventIx) -> Vec<Since> {
    let mut walk = Walk::new(model);
    let mut since: Vec<Since> =
        (0..model.streams.len()).map(|at| Since { stream: StreamIx::next_of(at), event: None }).collect();
    for event in (0..end.at()).map(EventIx::next_of) {
        let orders = walk.step(event);
        if event < from || (event > from && !orders) {
            continue;
        }
        let order = &mut walk.order;
        let places: Vec<Place> =
            points.iter().map(|point| Place { lane: order.lane(point.stream), seq: point.seq.0 }).collect();
        for one in since.iter_mut().filter(|one| one.event.is_none()) {
            // One that is not made yet comes after nothing.
            let Some(lane) = order.known(model.stream(one.stream).id) else { continue };
            one.event = places.iter().all(|place| order.reached(lane, *place)).then_some(event);
        }
        if since.iter().all(|one| one.event.is_some()) {
            break;
        }
    }
    since
}
