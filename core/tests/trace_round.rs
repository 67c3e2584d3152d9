//! Every record survives every form of the log.

mod trace_support;

use proptest::prelude::*;
use trace_support::{KINDS, Numbers, Room, Table, kind, numbered, ordinary, small_table, take, written};
use weir::error::Point;
use weir::id::{AllocId, LabelId, PoolId, StreamId};
use weir::trace::{Form, Log, MAX_RECORD_BYTES, Pages, Points, Reader, Record, Source, Stamped, text};
use weir::units::{Bytes, Nanos, Seq};

fn read(bytes: &[u8]) -> Vec<Stamped<'_>> {
    Reader::new(bytes).collect::<Result<_, _>>().expect("an undamaged log")
}

fn as_text(log: &[Stamped<'_>]) -> String {
    let mut out = format!("{}\n", text::HEADER);
    for stamped in log {
        text::write(stamped, &mut out).expect("room");
        out.push('\n');
    }
    out
}

/// Writes what was read: definitions as they stand there.
fn rewritten(log: &[Stamped<'_>]) -> Vec<u8> {
    written(log.iter().map(|stamped| (stamped.time, stamped.record)), &())
}

/// Records of every kind, in random order and number, at random times.
fn any_log(seed: u64) -> Vec<(Nanos, Record<'static>)> {
    let mut numbers = Numbers(seed);
    let mut log = Vec::new();
    let mut time = numbers.number();
    for _ in 0..1 + numbers.below(4) {
        for record in numbers.records() {
            if numbers.below(3) != 0 {
                time = time.wrapping_add(numbers.number() >> numbers.below(60));
                log.push((Nanos(time), record));
            }
        }
    }
    log
}

#[test]
fn the_samples_hold_every_kind() {
    let mut seen = [false; KINDS];
    Numbers(1).records().iter().for_each(|record| seen[kind(record)] = true);
    assert_eq!(seen, [true; KINDS]);
}

proptest! {
    #![proptest_config(trace_support::cases(64))]

    #[test]
    fn a_line_gives_the_record_back(seed: u64) {
        let mut numbers = Numbers(seed);
        for record in numbers.records() {
            let stamped = Stamped { number: numbers.number(), time: Nanos(numbers.number()), record };
            let mut line = String::new();
            text::write(&stamped, &mut line).expect("room");
            prop_assert_eq!(text::parse(&line), Ok(stamped), "{}", line);
            line.push('\n');
            prop_assert_eq!(text::parse(&line), Ok(stamped), "{}", line);
        }
    }

    #[test]
    fn pages_and_lines_give_every_record_back(seed: u64) {
        let log = any_log(seed);
        let bytes = written(log.iter().copied(), &());
        let stamped = read(&bytes);
        let back: Vec<_> = stamped.iter().map(|stamped| (stamped.time, stamped.record)).collect();
        prop_assert_eq!(&back, &log);
        let mut number = 0;
        for stamped in &stamped {
            prop_assert_eq!(stamped.number, number);
            number += u64::from(numbered(stamped));
        }
        let lines = as_text(&stamped);
        prop_assert_eq!(Reader::new(lines.as_bytes()).form(), Some(Form::Text));
        let from_text = read(lines.as_bytes());
        prop_assert_eq!(&from_text, &stamped);
        prop_assert_eq!(&as_text(&from_text), &lines);
        prop_assert_eq!(rewritten(&from_text), bytes);
    }

    #[test]
    fn a_log_with_definitions_is_written_again_as_it_was(seed: u64, count in 1..3000_usize) {
        let table = small_table();
        let bytes = written(ordinary(&mut Numbers(seed), count), &table);
        let stamped = read(&bytes);
        prop_assert_eq!(stamped.iter().filter(|stamped| numbered(stamped)).count(), count);
        let lines = as_text(&stamped);
        let from_text = read(lines.as_bytes());
        let mut known = Table::default();
        for stamped in from_text.iter().filter(|stamped| !numbered(stamped)) {
            if !known.definitions.contains(&stamped.record) {
                known.definitions.push(stamped.record);
            }
        }
        let records = from_text.iter().filter(|stamped| numbered(stamped));
        let again = written(records.map(|stamped| (stamped.time, stamped.record)), &known);
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn no_record_is_longer_than_it_may_be(seed: u64) {
        let mut numbers = Numbers(seed);
        for record in numbers.records() {
            prop_assert!(length_of(&record) <= MAX_RECORD_BYTES, "{:?}", record);
        }
    }
}

/// Bytes of a record in a page of its own, behind another one so that no field is zero by luck.
fn length_of(record: &Record<'_>) -> usize {
    let alone = written([(Nanos(0), Record::Lost { records: 0 })], &()).len();
    let both = written([(Nanos(0), Record::Lost { records: 0 }), (Nanos(u64::MAX), *record)], &()).len();
    both - alone
}

#[test]
fn the_largest_numbers_fit_too() {
    let pool = PoolId::from_raw(u64::MAX);
    let stream = StreamId::from_raw(u64::MAX);
    // Uneven, more than 63 bits, no two the same; differences from 0 of 64 bits.
    let bytes = |n: u64| Bytes(u64::MAX - 2 * n);
    let far = Seq(1 << 63);
    let point = Some(Point { stream, seq: Seq(0) });
    let name = "0123456789abcdef".repeat(4);
    let malloc = Record::Malloc {
        pool,
        stream,
        seq: far,
        id: AllocId(1 << 63),
        asked: bytes(0),
        given: bytes(1),
        offset: bytes(2),
        source: Source::Grow,
        label: LabelId(u32::MAX),
        points: Points { list: [point; 3], epoch: u64::MAX },
    };
    let out_of_memory = Record::OutOfMemory {
        pool,
        stream,
        requested: bytes(0),
        used: bytes(1),
        reserved: bytes(2),
        limit: bytes(3),
        largest_usable: bytes(4),
        pending: bytes(5),
    };
    let label = LabelId(u32::MAX);
    for (record, length) in [
        (malloc, 9 + 1 + 10 + 10 + 9 + 9 + 3 * 18 + 1 + 5 + 1 + 3 * 19 + 9),
        (out_of_memory, 9 + 1 + 10 + 10 + 6 * 18),
        (Record::LabelDef { label, name: &name }, 9 + 1 + 5 + 1 + 64),
    ] {
        assert_eq!(length_of(&record), length, "{record:?}");
        assert!(length <= MAX_RECORD_BYTES);
    }
    assert_eq!(length_of(&malloc), MAX_RECORD_BYTES);
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    let log = |seed| {
        let mut room = Room::new(3);
        let mut log: Log<'_> = room.log();
        let mut bytes = Vec::new();
        for (time, record) in ordinary(&mut Numbers(seed), 500) {
            log.append(time, record, &small_table());
        }
        log.seal();
        take(&mut log, &mut bytes);
        bytes
    };
    assert_eq!(log(5), log(5));
    assert_ne!(log(5), log(6));
}

#[test]
fn an_ordinary_record_takes_little_room() {
    let count = 20_000;
    let records = ordinary(&mut Numbers(3), count);
    let bytes = written(records.iter().copied(), &small_table());
    let average = bytes.len() as f64 / count as f64;
    println!("{average:.2} bytes a record, {} pages", Pages::new(&bytes).count());
    assert!(average <= 24.0, "{average}");
}
