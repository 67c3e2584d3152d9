//! From when on which stream could have had freed memory, and how much of it waits.

mod common;

use common::{GRANULE, POOL, Tape, event, stream};
use weir::id::DeviceId;
use weir::trace::{Record, Source, UnmapReason};
use weir::units::{GIB, Seq};
use weir_viz::model::{EventIx, FreeBlock, LifeIx, Model, PoolIx};
use weir_viz::reach;

/// A block of stream 0 that stream 1 used: freed at record 8. Stream 2 waits for stream 0 at 10, stream 3 for both at 14;
/// everything is complete at 15.
fn log(ends: &[Record<'static>]) -> Model {
    let mut tape = Tape::begin(4 * GIB, 0, 4);
    tape.map(0, 4);
    tape.malloc(1, 0, 0, GRANULE, Source::Grow);
    let Some(Record::Malloc { id, .. }) = tape.records.last().map(|stamped| stamped.record) else { unreachable!() };
    // Its malloc was at 2 on stream 0, its free will be at 3.
    tape.push(Record::Use { pool: POOL, id, stream: stream(1), seq: Seq(5), until: weir::policy::UseUntil::Now });
    tape.free(1, 0, 0, GRANULE);
    let number = 1;
    tape.push(Record::Recorded { event: event(0), stream: stream(0), seq: Seq(4), number });
    tape.push(Record::Waited { stream: stream(2), seq: Seq(1), event: event(0), number });
    tape.push(Record::Recorded { event: event(1), stream: stream(1), seq: Seq(6), number });
    tape.push(Record::Recorded { event: event(2), stream: stream(0), seq: Seq(5), number });
    tape.push(Record::Waited { stream: stream(3), seq: Seq(1), event: event(2), number });
    tape.push(Record::Waited { stream: stream(3), seq: Seq(2), event: event(1), number });
    ends.iter().for_each(|record| tape.push(*record));
    Model::of(tape.records.iter().copied())
}

const SYNC: Record<'static> = Record::DeviceSynchronized { device: DeviceId(0) };

fn number(model: &Model, event: EventIx) -> u64 {
    model.events.number(event)
}

fn since(model: &Model, block: FreeBlock, at: u32) -> Vec<(String, Option<u64>)> {
    let reach = reach::reach(model, PoolIx(0), &block, EventIx(at)).unwrap();
    let mut list: Vec<(String, Option<u64>)> = reach
        .streams
        .iter()
        .map(|one| (model.stream(one.stream).id.to_string(), one.event.map(|event| number(model, event))))
        .collect();
    list.sort();
    list
}

fn named(list: [(&str, Option<u64>); 4]) -> Vec<(String, Option<u64>)> {
    list.map(|(name, at)| (name.to_owned(), at)).to_vec()
}

const BLOCK: FreeBlock = FreeBlock { start: 0, end: GRANULE, last: Some(LifeIx(0)) };

#[test]
fn a_block_is_a_streams_once_it_comes_after_the_free_and_every_use() {
    let model = log(&[SYNC]);
    // Records 0 to 5 make the pool and the streams, 6 maps, 7 is the malloc, 8 the use, 9 the free.
    let free = model.life(LifeIx(0)).died().unwrap();
    assert_eq!(number(&model, free), 9);
    // Stream 0 and stream 2 do not come after the use on stream 1, nor stream 1 after the free, before all is complete.
    let want = named([("0", Some(16)), ("1", Some(16)), ("2", Some(16)), ("3", Some(15))]);
    assert_eq!(since(&model, BLOCK, free.0), want);
    let reach = reach::reach(&model, PoolIx(0), &BLOCK, free).unwrap();
    assert_eq!((reach.from, reach.until, reach.points.len()), (free, None, 2));
    assert_eq!(model.stream(reach.streams[0].stream).id, stream(3), "the first one first");
}

#[test]
fn what_is_taken_before_is_nobody_elses() {
    let taken = |points| Record::Malloc {
        pool: POOL,
        stream: stream(3),
        seq: Seq(9),
        id: weir::id::AllocId(2),
        asked: weir::units::Bytes(512),
        given: weir::units::Bytes(512),
        offset: weir::units::Bytes(GRANULE / 2),
        source: Source::Event,
        label: weir::id::LabelId::NONE,
        points,
    };
    let model = log(&[taken(weir::trace::Points::default()), SYNC]);
    let free = model.life(LifeIx(0)).died().unwrap();
    let want = named([("0", None), ("1", None), ("2", None), ("3", Some(15))]);
    assert_eq!(since(&model, BLOCK, free.0), want);
    let reach = reach::reach(&model, PoolIx(0), &BLOCK, free).unwrap();
    assert_eq!(reach.until.map(|event| number(&model, event)), Some(16));
}

#[test]
fn memory_that_nobody_had_is_everybodys_from_its_mapping_on() {
    let model = log(&[SYNC]);
    let block = FreeBlock { start: GRANULE, end: 4 * GRANULE, last: None };
    let want = named([("0", Some(6)), ("1", Some(6)), ("2", Some(6)), ("3", Some(6))]);
    assert_eq!(since(&model, block, 8), want);
}

#[test]
fn where_records_are_missing_nobody_can_say() {
    let mut tape = Tape::begin(4 * GIB, 0, 2);
    tape.map(0, 4);
    tape.malloc(1, 0, 0, GRANULE, Source::Grow);
    tape.push(Record::Lost { records: 3 });
    tape.free(1, 0, 0, GRANULE);
    let mut records = tape.records;
    records.last_mut().unwrap().number += 3;
    let model = Model::of(records);
    let free = model.life(LifeIx(0)).died().unwrap();
    assert_eq!(reach::reach(&model, PoolIx(0), &BLOCK, free), None);
}

#[test]
fn bytes_are_pending_from_their_free_to_its_completion_or_their_next_owner() {
    let mut tape = Tape::begin(4 * GIB, 0, 2);
    tape.map(0, 8);
    for id in 1..=4 {
        tape.malloc(id, id % 2, (id - 1) * GRANULE, GRANULE, Source::Grow);
    }
    let mut want = vec![0_u64; tape.records.len()];
    let mut push = |tape: &mut Tape, granules: u64| {
        let definitions = tape.records.iter().filter(|s| s.record.is_definition()).count();
        want.resize(tape.records.len() - definitions, 0);
        *want.last_mut().unwrap() = granules * GRANULE;
    };
    // Blocks 1 and 3 are stream 1's, 2 and 4 stream 0's.
    tape.free(1, 1, 0, GRANULE);
    push(&mut tape, 1);
    tape.free(2, 0, GRANULE, GRANULE);
    push(&mut tape, 2);
    tape.free(3, 1, 2 * GRANULE, GRANULE);
    push(&mut tape, 3);
    // Stream 0 is complete up to the free of 2.
    tape.push(Record::StreamSynchronized { stream: stream(0), seq: Seq(5) });
    push(&mut tape, 2);
    tape.free(4, 0, 3 * GRANULE, GRANULE);
    push(&mut tape, 3);
    // Half of block 1's memory is used again by its own stream.
    tape.malloc(5, 1, 0, GRANULE / 2, Source::SameStream);
    push(&mut tape, 3);
    let half = want.len() - 1;
    tape.push(Record::StreamSynchronized { stream: stream(1), seq: Seq(3) });
    let mut definitions = tape.records.iter().filter(|s| s.record.is_definition()).count();
    want.resize(tape.records.len() - definitions, 0);
    let settled = want.len() - 1;
    tape.unmap(3 * GRANULE, 1, UnmapReason::Trim);
    definitions = tape.records.iter().filter(|s| s.record.is_definition()).count();
    want.resize(tape.records.len() - definitions, 0);
    (want[half], want[settled]) = (5 * GRANULE / 2, 2 * GRANULE);
    *want.last_mut().unwrap() = GRANULE;
    let model = Model::of(tape.records.iter().copied());
    let pending = reach::pending(&model).unwrap().remove(0);
    let seen: Vec<u64> = (0..model.events.len() as u32).map(|at| pending.after(EventIx(at))).collect();
    let first = want.iter().position(|bytes| *bytes > 0).unwrap();
    assert!(seen[..first].iter().all(|bytes| *bytes == 0));
    assert_eq!(seen[first..], want[first..]);
}
