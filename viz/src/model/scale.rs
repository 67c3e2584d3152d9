//! What a long log costs, counted: entries in tables for each record, whatever the number of pools.

use super::{Life, Model, Pool};
use weir::id::{AllocId, EventId, LabelId, PoolId, StreamId};
use weir::trace::{Points, Record, Refusal, Source, Stamped, Verb};
use weir::units::{Bytes, Nanos, Seq};

const STREAM: StreamId = StreamId::from_raw(1 << 32);
const EVENT: EventId = EventId::from_raw(1 << 32);

/// Rounds of eight records, in so many pools one after the other; each is destroyed before the next one is made.
fn log(rounds: u64, pools: u64) -> Model {
    let mut records = Vec::new();
    for round in 0..rounds {
        let pool = PoolId::from_raw(((round * pools / rounds + 1) << 32) | 3);
        let last = round + 1 == rounds || (round + 1) * pools / rounds > round * pools / rounds;
        let (id, given, offset) = (AllocId(round + 1), Bytes(512), Bytes(0));
        let (label, points, source) = (LabelId::NONE, Points::default(), Source::Grow);
        let (seq, stream, asked) = (Seq(round), STREAM, Bytes(500));
        records.extend([
            Record::PoolCreated { pool },
            Record::Malloc { pool, stream, seq, id, asked, given, offset, source, label, points },
            Record::StreamSynchronized { stream, seq },
            Record::EventSynchronized { event: EVENT, number: round },
            Record::Refused { verb: Verb::Malloc, pool: None, stream: None, size: Bytes(0), reason: Refusal::ZeroSize },
            Record::Free { pool, stream, seq, id, offset, given },
            Record::Blocked { pool, stream, on: weir::error::Point { stream, seq } },
            if last { Record::PoolDestroyed { pool, leaked: Bytes(0) } } else { Record::Lost { records: 0 } },
        ]);
    }
    let stamped = records.into_iter().enumerate();
    Model::of(stamped.map(|(at, record)| Stamped { number: at as u64, time: Nanos(at as u64), record }))
}

/// All entries of all tables that grow with the log.
fn entries(model: &Model) -> usize {
    let of_pool = |pool: &Pool| {
        let lists = [&pool.waits, &pool.trims, &pool.refusals, &pool.findings].map(Vec::len);
        let curves = [&pool.used, &pool.reserved, &pool.threshold].map(super::Curve::changes);
        let sources = pool.by_source.each_ref().map(Vec::len);
        let all = lists.into_iter().chain(curves).chain(sources).sum::<usize>();
        all + pool.lives.len() + pool.runs.len()
    };
    let shared = [model.syncs.len(), model.refusals.len(), model.lives.len(), model.uses.len(), model.points.len()];
    let links = model.links.len() + model.later().links.len() + model.later().of.len();
    model.events.len() + shared.iter().sum::<usize>() + links + model.pools.iter().map(of_pool).sum::<usize>()
}

#[test]
fn what_a_record_costs_does_not_grow_with_the_pools() {
    let (one, many) = (log(4000, 1), log(4000, 2000));
    assert_eq!((one.pools.len(), many.pools.len()), (1, 2000));
    assert_eq!(one.events.len(), many.events.len());
    // Each record is in the tables of its events, its life and its signs; each pool adds a few entries of its own.
    assert!(entries(&one) < 3 * one.events.len(), "{}", entries(&one));
    assert!(entries(&many) < entries(&one) + 8 * many.pools.len(), "{} against {}", entries(&many), entries(&one));
}

#[test]
fn signs_that_concern_all_pools_are_those_since_the_pools_first_record() {
    let model = log(40, 4);
    for (at, pool) in (0..4).map(|at| (at, super::PoolIx(at))) {
        let rest = 40 - 10 * at as usize;
        assert_eq!(model.syncs(pool).len(), 2 * rest + 10, "pool {at}: all later ones, and its own waits");
        assert_eq!(model.refusals(pool).len(), rest, "pool {at}");
        let tenth = super::EventIx(80 * (at + 1));
        assert_eq!(model.syncs(pool).before(tenth), 30, "pool {at}");
        assert_eq!(model.refusals(pool).before(model.events.end()), rest);
    }
}

/// A log holds millions of lives.
const _: () = assert!(size_of::<Life>() <= 104);
