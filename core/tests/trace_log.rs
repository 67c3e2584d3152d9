//! The writer and the sinks: what is defined when, what is lost and told, what is kept.

mod trace_support;

use trace_support::{Numbers, Room, Table, numbered, ordinary, pool, small_table, stream, take, written};
use weir::error::Point;
use weir::id::{DeviceId, LabelId, StreamId};
use weir::policy::{PoolConfig, StreamKind};
use weir::trace::{
    DamageKind, Log, NullSink, PAGE_BYTES, Page, Pages, Points, Reader, Record, RingSink, Sink, SinkError, Source,
    Stamped, TextSink, WriterSink, records_in,
};
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

fn read(bytes: &[u8]) -> Vec<Stamped<'_>> {
    Reader::new(bytes).map(|item| item.expect("an undamaged log")).collect()
}

fn free(slot: u64, seq: u64) -> Record<'static> {
    Record::StreamSynchronized { stream: stream(slot), seq: Seq(seq) }
}

fn is_stream(record: &Record<'_>, id: StreamId) -> bool {
    matches!(record, Record::StreamDef { stream, .. } if *stream == id)
}

#[test]
fn what_is_mentioned_is_defined_before_and_once_in_a_page() {
    let table = small_table();
    let points = Points { list: [Some(Point { stream: stream(2), seq: Seq(4) }), None, None], epoch: 0 };
    let malloc = |seq| Record::Malloc {
        pool: pool(1),
        stream: stream(0),
        seq: Seq(seq),
        id: weir::id::AllocId(seq),
        asked: Bytes(100),
        given: Bytes(512),
        offset: Bytes(0),
        source: Source::Event,
        label: LabelId(2),
        points,
    };
    let bytes = written([(Nanos(5), malloc(1)), (Nanos(6), malloc(2))], &table);
    let log = read(&bytes);
    let definition = |at: usize| table.definitions[at];
    // Device, pool 1, stream 0, label 2 and the point's stream 2, in the order of the record's fields.
    let expected = [definition(0), definition(6), definition(1), definition(8), definition(3), malloc(1), malloc(2)];
    assert_eq!(log.iter().map(|stamped| stamped.record).collect::<Vec<_>>(), expected);
    assert_eq!(log.iter().map(|stamped| stamped.number).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(log.iter().map(|stamped| stamped.time.0).collect::<Vec<_>>(), [5, 5, 5, 5, 5, 5, 6]);
}

#[test]
fn every_page_stands_alone() {
    let table = small_table();
    let bytes = written(ordinary(&mut Numbers(8), 3000), &table);
    assert!(Pages::new(&bytes).count() > 5);
    for page in Pages::new(&bytes).map(|page| page.expect("whole")) {
        let mut known: Vec<Record<'_>> = Vec::new();
        for stamped in page.records().map(|record| record.expect("whole")) {
            if !numbered(&stamped) {
                assert!(!known.contains(&stamped.record), "defined twice: {stamped:?}");
                known.push(stamped.record);
                continue;
            }
            let (Record::Malloc { pool, stream, .. } | Record::Free { pool, stream, .. }) = stamped.record else {
                panic!("{stamped:?}")
            };
            assert!(known.iter().any(|record| is_stream(record, stream)), "{stamped:?}");
            let defines = |record: &&Record<'_>| matches!(record, Record::PoolDef { pool: id, .. } if *id == pool);
            assert!(known.iter().any(|record| defines(&record)), "{stamped:?}");
            assert!(known.iter().any(|record| matches!(record, Record::DeviceDef { .. })));
        }
    }
}

#[test]
fn what_is_forgotten_is_defined_again() {
    let mut table = small_table();
    let mut room = Room::new(2);
    let mut log = room.log();
    log.append(Nanos(1), free(0, 1), &table);
    log.append(Nanos(2), Record::PoolCreated { pool: pool(0) }, &table);
    log.append(Nanos(3), free(0, 2), &table);
    // A new tenant of slot 0, and a pool with another limit.
    let tenant = StreamId::from_raw(2 << 32);
    let device = DeviceId(0);
    let of_tenant = Record::StreamDef { stream: tenant, device, kind: StreamKind::Legacy };
    table.definitions.push(of_tenant);
    let changed =
        Record::PoolDef { pool: pool(0), base: DevicePtr(64), range: Bytes(1), config: PoolConfig::new(device) };
    let place = table.definitions.iter().position(|record| matches!(record, Record::PoolDef { .. }));
    table.definitions[place.expect("a pool")] = changed;
    log.forget_stream(tenant);
    log.forget_pool(pool(0));
    let synchronized = Record::StreamSynchronized { stream: tenant, seq: Seq(3) };
    log.append(Nanos(4), synchronized, &table);
    log.append(Nanos(5), Record::PoolCreated { pool: pool(0) }, &table);
    log.forget_label(LabelId(1));
    log.seal();
    let mut bytes = Vec::new();
    take(&mut log, &mut bytes);
    let kept: Vec<_> = read(&bytes).iter().skip(6).map(|stamped| stamped.record).collect();
    assert_eq!(kept, [of_tenant, synchronized, changed, Record::PoolCreated { pool: pool(0) }]);
}

#[test]
fn slots_beyond_the_stamps_and_unknown_ids_are_written_all_the_same() {
    let mut table = small_table();
    let far = stream(1000);
    let def = Record::StreamDef { stream: far, device: DeviceId(0), kind: StreamKind::Blocking };
    table.definitions.push(def);
    let synchronized = |stream| Record::StreamSynchronized { stream, seq: Seq(1) };
    let records = [far, far, stream(7), stream(3000)].map(|stream| (Nanos(0), synchronized(stream)));
    let bytes = written(records, &table);
    let log: Vec<_> = read(&bytes).iter().skip(1).map(|stamped| stamped.record).collect();
    let expected = [def, records[0].1, def, records[1].1, records[2].1, records[3].1];
    assert_eq!(log, expected);
}

#[test]
fn a_log_without_pages_is_off() {
    let mut room = Room::new(0);
    let mut log = room.log();
    log.append(Nanos(1), free(0, 1), &small_table());
    log.seal();
    assert!(!log.has_page());
    assert_eq!(log.take_page(&mut [0; PAGE_BYTES]), None);
    assert_eq!((log.next(), log.lost()), (0, 0));
}

#[test]
fn an_untaken_ring_keeps_the_latest_pages_and_counts_the_rest() {
    for pages in 1..=4 {
        let mut room = Room::new(pages);
        let mut log = room.log();
        let count = 4000_u64;
        for (time, record) in ordinary(&mut Numbers(8), count as usize) {
            log.append(time, record, &small_table());
        }
        log.seal();
        let mut dump = Vec::new();
        log.for_each_page(|page| dump.extend(page));
        assert_eq!(Pages::new(&dump).count(), pages);
        let items: Vec<_> = Reader::new(&dump).collect();
        let first = items[0].expect_err("what is before");
        let stamped: Vec<_> = items.iter().flatten().collect();
        let kept = stamped.iter().filter(|stamped| numbered(stamped)).count() as u64;
        // The notes of losses are records too.
        assert!(log.next() > count);
        assert_eq!(first.kind, DamageKind::Missing { first: 0, records: log.lost() });
        assert_eq!(kept + log.lost(), log.next());
        assert!(items.iter().skip(1).all(Result::is_ok));
        // Each page begins with what was lost since the one before it, and its header holds the sum.
        for page in Pages::new(&dump).flatten() {
            let first = page.records().next().expect("a record").expect("whole");
            assert!(matches!(first.record, Record::Lost { records } if records > 0 && records < 400));
            assert!(page.header.lost <= page.header.first);
        }
        // Reading takes nothing; taking gives the same.
        let mut taken = Vec::new();
        take(&mut log, &mut taken);
        assert_eq!(taken, dump);
        assert!(!log.has_page());
    }
}

#[test]
fn pages_that_a_sink_failed_to_keep_are_told_of() {
    let mut room = Room::new(3);
    let mut log = room.log();
    let mut kept = Vec::new();
    let mut lost = 0;
    let mut turn = 0;
    for (time, record) in ordinary(&mut Numbers(8), 3000) {
        log.append(time, record, &small_table());
        let mut page = [0; PAGE_BYTES];
        while let Some(length) = log.take_page(&mut page) {
            turn += 1;
            if turn % 3 == 2 {
                lost += records_in(&page[..length]);
                log.count_lost(records_in(&page[..length]));
            } else {
                kept.extend(&page[..length]);
            }
        }
    }
    log.seal();
    take(&mut log, &mut kept);
    assert!(lost > 300);
    assert_eq!(log.lost(), lost);
    let told: u64 = Reader::new(&kept)
        .flatten()
        .map(|stamped| match stamped.record {
            Record::Lost { records } => records,
            _ => 0,
        })
        .sum();
    let missing: u64 = Reader::new(&kept)
        .filter_map(Result::err)
        .map(|damage| match damage.kind {
            DamageKind::Missing { records, .. } => records,
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!((told, missing), (lost, lost));
    let last = Pages::new(&kept).last().expect("a page").expect("whole");
    assert_eq!(last.header.lost, lost);
}

#[test]
fn taking_while_writing_loses_nothing_even_with_one_page() {
    for pages in [1, 2, 5] {
        let mut room = Room::new(pages);
        let mut log = room.log();
        let mut bytes = Vec::new();
        let records = ordinary(&mut Numbers(8), 1000);
        for (time, record) in &records {
            // With one page, what is sealed must be taken before the next record: sealing makes room for it.
            log.append(*time, *record, &small_table());
            if log.has_page() || pages == 1 {
                log.seal();
                take(&mut log, &mut bytes);
            }
        }
        log.seal();
        take(&mut log, &mut bytes);
        assert_eq!(log.lost(), 0);
        let back: Vec<_> = read(&bytes).into_iter().filter(numbered).map(|s| (s.time, s.record)).collect();
        assert_eq!(back, records);
    }
}

#[test]
fn times_that_step_back_are_kept() {
    let times = [50, 40, u64::MAX, 0, 7];
    let bytes = written(times.map(|time| (Nanos(time), free(0, 1))), &());
    assert_eq!(read(&bytes).iter().map(|stamped| stamped.time.0).collect::<Vec<_>>(), times);
}

/// What the format's description says, byte by byte.
#[test]
fn the_bytes_are_those_of_the_description() {
    let malloc = Record::Malloc {
        pool: pool(0),
        stream: stream(1),
        seq: Seq(12),
        id: weir::id::AllocId(5),
        asked: Bytes(1000),
        given: Bytes(1024),
        offset: Bytes(0),
        source: Source::Event,
        label: LabelId(0),
        points: Points {
            list: [Some(Point { stream: StreamId::from_raw(3 << 32 | 2), seq: Seq(9) }), None, None],
            epoch: 0,
        },
    };
    let bytes = written([(Nanos(51_200), malloc), (Nanos(51_328), malloc)], &());
    let body = [
        0x01, 13, // no time since the base time; kind
        0x01, 0x05, // slots 0 and 1, first generation: numbers 0 and 2
        0x31, 0x15, // seq 12 above 0: number 24; id 5 above 0: number 10
        0x46, 0x1f, // asked: odd number 2001;
        0x09, // given: 1024 / 512 * 2 = 4
        0x03, // offset: not as before and zero: odd number 1
        2, 0x01, // source; no label
        1, 0x0b, 0x07, 0x23, // one point: slot 2 of a later generation (5), generation 3, 9 back from 0: -9 is 17
    ];
    let header = 52;
    assert_eq!(&bytes[..8], b"\x89weir\r\n\x1a");
    assert_eq!(bytes[12..16], [1, 0, bytes.len() as u8, 0]);
    assert_eq!(bytes[16..32], [0; 16]);
    assert_eq!(bytes[32..40], 51_200_u64.to_le_bytes());
    assert_eq!(bytes[40..header], [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(bytes[header..header + body.len()], body);
    let second = &bytes[header + body.len()..];
    // 128 ns later: number 128; the same seq and id: number 0.
    assert_eq!(second[..7], [0x02, 0x02, 13, 0x01, 0x05, 0x01, 0x01]);
}

#[test]
fn sinks_keep_pages() {
    let bytes = written(ordinary(&mut Numbers(8), 2000), &small_table());
    let pages: Vec<&[u8]> = {
        let starts: Vec<_> = Pages::new(&bytes).map(|page| page.expect("whole").offset as usize).collect();
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        starts.iter().zip(ends).map(|(start, end)| &bytes[*start..end]).collect()
    };
    let mut places = vec![Page::EMPTY; 4];
    let mut ring = RingSink::new(&mut places);
    let mut file: Vec<u8> = Vec::new();
    let mut room = 4 * PAGE_BYTES;
    let mut writer = WriterSink(|page: &[u8]| {
        room = room.checked_sub(page.len()).ok_or(SinkError)?;
        file.extend(page);
        Ok(())
    });
    for (count, page) in pages.iter().enumerate() {
        let kept: Vec<_> = ring.pages().collect();
        assert_eq!(kept, pages[count.saturating_sub(4)..count]);
        assert_eq!(ring.page(page), Ok(()));
        assert_eq!(NullSink.page(page), Ok(()));
        assert_eq!(writer.page(page), if count < 4 { Ok(()) } else { Err(SinkError) });
    }
    assert_eq!(file, pages[..4].concat());
    assert_eq!(ring.page(b"no page"), Err(SinkError));
    assert_eq!(RingSink::new(&mut []).page(pages[0]), Err(SinkError));
}

#[test]
fn the_text_sink_writes_what_the_pages_hold() {
    let bytes = written(ordinary(&mut Numbers(8), 700), &small_table());
    let mut sink = TextSink::new(String::new());
    let mut page_bytes = bytes.as_slice();
    for page in Pages::new(&bytes).skip(1).flatten() {
        let taken = bytes.len() - page_bytes.len();
        let (page, rest) = page_bytes.split_at(page.offset as usize - taken);
        sink.page(page).expect("room");
        page_bytes = rest;
    }
    sink.page(page_bytes).expect("room");
    let lines = sink.into_inner();
    assert!(lines.starts_with("weir-log version=1\nnumber=0 time="));
    assert_eq!(read(lines.as_bytes()), read(&bytes));
    assert_eq!(lines.matches("weir-log").count(), 1);

    struct Full;
    impl core::fmt::Write for Full {
        fn write_str(&mut self, _: &str) -> core::fmt::Result {
            Err(core::fmt::Error)
        }
    }
    assert_eq!(TextSink::new(Full).page(page_bytes), Err(SinkError));
}

#[test]
fn an_empty_table_defines_nothing() {
    let mut room = Room::new(1);
    let mut log: Log<'_> = room.log();
    log.append(Nanos(1), free(3, 1), &Table::default());
    log.seal();
    let mut bytes = Vec::new();
    take(&mut log, &mut bytes);
    assert_eq!(read(&bytes).len(), 1);
}
