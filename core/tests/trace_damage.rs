//! Damaged, cut, shuffled and foreign input: clear words, no panic, and whatever is whole is still read.

mod trace_support;

use proptest::prelude::*;
use trace_support::{Numbers, Room, numbered, ordinary, small_table, take, written};
use weir::trace::{
    Damage, DamageKind, HEADER_BYTES, Header, MAGIC, PAGE_BYTES, Pages, Reader, Record, Stamped, records_in, sniff,
    text,
};
use weir::units::{Bytes, Nanos};

type Item<'a> = Result<Stamped<'a>, Damage>;

/// A log of some pages, and each page's place in it.
fn paged(records: usize) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
    let bytes = written(ordinary(&mut Numbers(11), records), &small_table());
    let starts: Vec<usize> = Pages::new(&bytes).map(|page| page.expect("whole").offset as usize).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let ranges = starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
    (bytes, ranges)
}

fn header(page: &[u8]) -> Header {
    Pages::new(page).next().expect("a page").expect("whole").header
}

fn damages(bytes: &[u8]) -> Vec<Damage> {
    Reader::new(bytes).filter_map(Result::err).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let whole = Reader::new(bytes).flatten();
    whole.filter(numbered).map(|stamped| stamped.number).collect()
}

/// Numbers of the records in some pages, in their order.
fn numbers_of<'a>(pages: impl IntoIterator<Item = &'a [u8]>) -> Vec<u64> {
    let ranges = pages.into_iter().map(|page| {
        let header = header(page);
        header.first..header.first + u64::from(header.records)
    });
    ranges.flatten().collect()
}

#[test]
fn nothing_and_foreign_files_are_named() {
    fn first(bytes: &[u8]) -> Vec<Item<'_>> {
        Reader::new(bytes).collect()
    }
    let alone = |kind| vec![Err(Damage { offset: 0, kind })];
    assert_eq!(first(b""), alone(DamageKind::Empty));
    assert_eq!(first(&[0; 9000]), alone(DamageKind::Empty));
    assert_eq!(first(b"\x7fELF and so on"), alone(DamageKind::Foreign));
    assert_eq!(first(b"time,action\n1,malloc\n"), alone(DamageKind::Foreign));
    assert_eq!(first(&[0xff; 5000]), alone(DamageKind::Foreign));
    assert_eq!(Reader::new(b"").form(), None);
    assert!(sniff(b"weir").is_err());
    let words = |bytes: &[u8]| first(bytes)[0].expect_err("damage").to_string();
    assert!(words(b"").contains("empty"));
    assert!(words(b"PNG").contains("not a log of weir"));
}

#[test]
fn a_cut_file_gives_its_whole_pages() {
    let (bytes, pages) = paged(900);
    let last = pages.last().expect("pages").clone();
    let before = numbers(&bytes[..last.start]);
    for cut in [1, 4, 8, 15, 16, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, last.len() - 1] {
        let bytes = &bytes[..last.start + cut];
        let needs = if cut < HEADER_BYTES { HEADER_BYTES } else { last.len() } as u64;
        let kind = DamageKind::Cut { needs, has: cut as u64 };
        let offset = last.start as u64;
        assert_eq!(damages(bytes), [Damage { offset, kind }], "cut at {cut}");
        assert_eq!(numbers(bytes), before);
    }
    // A file cut so early that no page is whole is still known for what it is.
    assert_eq!(damages(&bytes[..5]).len(), 1);
    assert!(matches!(damages(&bytes[..5])[0].kind, DamageKind::Cut { has: 5, .. }));
}

#[test]
fn a_damaged_page_costs_itself_only() {
    let (bytes, pages) = paged(1500);
    let hit = pages[2].clone();
    let page = header(&bytes[hit.clone()]);
    for at in [12, 16, 24, 40, HEADER_BYTES, hit.len() / 2, hit.len() - 1] {
        let mut bytes = bytes.clone();
        bytes[hit.start + at] ^= 0x10;
        let damages = damages(&bytes);
        assert_eq!(damages.len(), 2, "{damages:?}");
        assert_eq!(damages[0].offset, hit.start as u64);
        assert!(matches!(damages[0].kind, DamageKind::BadCrc { stated, found } if stated != found));
        let missing = DamageKind::Missing { first: page.first, records: page.records.into() };
        assert_eq!(damages[1].kind, missing);
        let whole = pages.iter().filter(|range| **range != hit).map(|range| &bytes[range.clone()]);
        assert_eq!(numbers(&bytes), numbers_of(whole));
    }
}

#[test]
fn a_damaged_magic_or_length_costs_one_page() {
    let (bytes, pages) = paged(1500);
    let hit = pages[2].clone();
    let whole = numbers_of(pages.iter().filter(|range| **range != hit).map(|range| &bytes[range.clone()]));
    let mut no_magic = bytes.clone();
    no_magic[hit.start] = b'w';
    let noise = hit.len() as u64;
    assert_eq!(damages(&no_magic)[0].kind, DamageKind::Noise { bytes: noise });
    assert_eq!(numbers(&no_magic), whole);
    let mut long = bytes.clone();
    long[hit.start + 15] = 0xff;
    assert!(matches!(damages(&long)[0].kind, DamageKind::BadLength { length } if length >= 0xff00));
    assert_eq!(numbers(&long), whole);
}

#[test]
fn noise_between_pages_is_skipped_and_zeros_are_none() {
    let (bytes, pages) = paged(900);
    let all = numbers(&bytes);
    let mut noisy = b"U-Boot 2024.01\r\n\x89weir".to_vec();
    let mut padded = vec![0; 100];
    for range in &pages {
        noisy.extend(&bytes[range.clone()]);
        noisy.extend(b"\x89\x89 [  12.5] random line \x89we");
        padded.extend(&bytes[range.clone()]);
        padded.resize(padded.len().next_multiple_of(PAGE_BYTES), 0);
    }
    assert_eq!(numbers(&noisy), all);
    let damages_of_noise = damages(&noisy);
    assert_eq!(damages_of_noise.len(), 1 + pages.len());
    assert!(damages_of_noise.iter().all(|damage| matches!(damage.kind, DamageKind::Noise { .. })));
    assert_eq!(numbers(&padded), all);
    assert_eq!(damages(&padded), []);
}

#[test]
fn a_newer_version_is_named() {
    let (mut bytes, pages) = paged(900);
    let page = &mut bytes[pages[1].clone()];
    page[12..14].copy_from_slice(&7_u16.to_le_bytes());
    let crc = crc_bit_by_bit(&page[12..]);
    page[8..12].copy_from_slice(&crc.to_le_bytes());
    let kind = DamageKind::UnknownVersion { version: 7 };
    let offset = pages[1].start as u64;
    assert_eq!(damages(&bytes)[0], Damage { offset, kind });
    let text = b"weir-log version=2\nnumber=0 time=0 record=lost records=1\n";
    assert_eq!(damages(text)[0].kind, DamageKind::UnknownVersion { version: 2 });
}

/// CRC-32 as its definition has it.
fn crc_bit_by_bit(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            register = (register >> 1) ^ if register & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !register
}

#[test]
fn a_record_that_makes_no_sense_is_named_with_its_place() {
    // 3 records of 3 bytes each; the kind of the second becomes one that there is not.
    let lost = |records| (Nanos(5), Record::Lost { records });
    let mut bytes = written([lost(1), lost(2), lost(3)], &());
    let place = HEADER_BYTES + 3 + 1;
    assert_eq!(bytes[place], 35);
    bytes[place] = 99;
    let crc = crc_bit_by_bit(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    let items: Vec<Item<'_>> = Reader::new(&bytes).collect();
    assert_eq!(items.len(), 2);
    assert!(items[0].is_ok());
    let damage = items[1].expect_err("damage");
    assert_eq!(damage.offset, HEADER_BYTES as u64 + 3);
    assert!(matches!(damage.kind, DamageKind::BadRecord { page: 0, field: "record", .. }));
}

#[test]
fn missing_pages_are_counted() {
    let (bytes, pages) = paged(2000);
    let kept = [0, 1, 4, 5, 7].map(|page: usize| &bytes[pages[page].clone()]);
    let some = kept.concat();
    assert_eq!(numbers(&some), numbers_of(kept));
    let lost: u64 = [2, 3, 6].iter().map(|page: &usize| records_in(&bytes[pages[*page].clone()])).sum();
    let missing = damages(&some).into_iter().map(|damage| match damage.kind {
        DamageKind::Missing { records, .. } => records,
        other => panic!("{other:?}"),
    });
    assert_eq!(missing.collect::<Vec<_>>().iter().sum::<u64>(), lost);
    // From the middle on: what came before is missing too.
    let tail = &bytes[pages[3].start..];
    let first = header(tail).first;
    let kind = DamageKind::Missing { first: 0, records: first };
    assert_eq!(damages(tail), [Damage { offset: HEADER_BYTES as u64, kind }]);
}

#[test]
fn a_ring_as_it_lay_in_memory_is_read_from_its_oldest_page() {
    let (bytes, pages) = paged(2000);
    for split in 5..=7 {
        let ring: Vec<u8> = (split..8).chain(3..split).flat_map(|page| bytes[pages[page].clone()].to_vec()).collect();
        let found = numbers(&ring);
        assert!(found.is_sorted());
        assert_eq!(found, numbers_of((3..8).map(|page| &bytes[pages[page].clone()])));
        assert_eq!(damages(&ring).len(), 1, "what came before the ring: {:?}", damages(&ring));
    }
}

#[test]
fn pages_in_any_order_and_two_logs_in_one_file_are_read_as_they_stand() {
    let (bytes, pages) = paged(1200);
    let order = [2, 0, 3, 1].map(|page: usize| &bytes[pages[page].clone()]);
    assert_eq!(numbers(&order.concat()), numbers_of(order));
    let out_of_order = |bytes: &[u8]| {
        let kinds = damages(bytes).into_iter().map(|damage| damage.kind);
        kinds.filter(|kind| matches!(kind, DamageKind::OutOfOrder { .. })).collect::<Vec<_>>()
    };
    assert_eq!(out_of_order(&order.concat()).len(), 2);
    let all = numbers(&bytes);
    let expected = all.len() as u64;
    let twice = [bytes.as_slice(), bytes.as_slice()].concat();
    assert_eq!(numbers(&twice), [all.as_slice(), all.as_slice()].concat());
    assert_eq!(out_of_order(&twice), [DamageKind::OutOfOrder { number: 0, expected }]);
}

#[test]
fn bad_lines_are_named_and_skipped() {
    let good = "number=1 time=5 record=stream_created stream=3";
    let lines = [
        "weir-log version=1",
        "",
        "# a note",
        "number=0 time=0 record=lost records=4",
        good,
        "number=2 time=5 record=stream_created stream=x",
        "number=2 time=5 record=stream_created strm=3",
        "number=2 time=5 record=nonsense stream=3",
        "number=2 time=5 record=stream_created stream=3 more=1",
        "number=2 time=5 record=mark label=0 length=60 name=short",
        "number=2 time=+5 record=stream_created stream=3",
        "number=2 time=6 record=stream_created stream=3.2\r",
        "number=3 time=6 record=str",
    ];
    let joined = lines.join("\n");
    let items: Vec<Item<'_>> = Reader::new(joined.as_bytes()).collect();
    let bad = items.iter().filter_map(|item| item.err()).map(|damage| match damage.kind {
        DamageKind::BadLine { line, key, .. } => {
            let before: usize = lines.iter().take(line as usize - 1).map(|line| line.len() + 1).sum();
            assert_eq!(damage.offset, before as u64);
            (line, key)
        }
        other => panic!("{other:?}"),
    });
    let expected = [(6, "stream"), (7, "stream"), (8, "record"), (9, ""), (10, ""), (11, "time"), (13, "record")];
    assert_eq!(bad.collect::<Vec<_>>(), expected);
    assert_eq!(items.iter().flatten().count(), 3);
    assert_eq!(items[1], Ok(text::parse(good).expect("good")));
    let words = items[2].expect_err("damage").to_string();
    assert!(words.contains("line 6") && words.contains("`stream`"), "{words}");
}

#[test]
fn a_text_without_its_beginning_is_still_a_text() {
    let bytes = written(ordinary(&mut Numbers(2), 50), &small_table());
    let mut lines = String::new();
    for stamped in Reader::new(&bytes).flatten() {
        text::write(&stamped, &mut lines).expect("room");
        lines.push('\n');
    }
    assert_eq!(numbers(lines.as_bytes()), (0..50).collect::<Vec<_>>());
    let record = lines.find("record=malloc").expect("a malloc");
    let cut = &lines.as_bytes()[record..];
    assert_eq!(numbers(cut), (1..50).collect::<Vec<_>>());
}

#[test]
fn a_name_with_line_breaks_does_not_disturb_its_neighbours() {
    let name = "number=7 time=1 record=lost records=9\nnumber=8 ti\r\n";
    let mark = Record::Mark { label: Default::default(), name };
    let records = [(Nanos(1), mark), (Nanos(2), Record::Lost { records: 1 })];
    let mut lines = String::from("weir-log version=1\n");
    let bytes = written(records, &());
    for stamped in Reader::new(&bytes).flatten() {
        text::write(&stamped, &mut lines).expect("room");
        lines.push('\n');
    }
    lines.push_str("oops\n");
    let items: Vec<Item<'_>> = Reader::new(lines.as_bytes()).collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[0].expect("whole").record, mark);
    assert_eq!(items[1].expect("whole").record, records[1].1);
    assert!(matches!(items[2].expect_err("damage").kind, DamageKind::BadLine { line: 6, .. }));
}

/// Reads to the end, within as many steps as there are bytes.
fn comes_to_an_end(bytes: &[u8]) {
    let mut offset_seen = 0;
    for (steps, item) in Reader::new(bytes).enumerate() {
        assert!(steps <= bytes.len() * 2 + 1);
        if let Err(damage) = item {
            offset_seen = damage.offset.max(offset_seen);
            assert!(!damage.to_string().is_empty());
        } else if let Ok(stamped) = item {
            let mut line = String::new();
            text::write(&stamped, &mut line).expect("room");
            assert_eq!(text::parse(&line), Ok(stamped), "{line}");
        }
    }
    assert!(offset_seen <= bytes.len() as u64);
}

/// A page around any bytes, its checksum right.
fn page_around(body: &[u8], fields: &[u8; 34]) -> Vec<u8> {
    let mut page = MAGIC.to_vec();
    page.extend([0; 4]);
    page.extend(1_u16.to_le_bytes());
    page.extend(((HEADER_BYTES + body.len()) as u16).to_le_bytes());
    page.extend(fields);
    page.extend([0; 2]);
    page.extend(body);
    let crc = crc_bit_by_bit(&page[12..]);
    page[8..12].copy_from_slice(&crc.to_le_bytes());
    page
}

proptest! {
    #![proptest_config(trace_support::cases(300))]

    #[test]
    fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        comes_to_an_end(&bytes);
        comes_to_an_end(&[MAGIC.as_slice(), &bytes].concat());
        comes_to_an_end(&[b"weir-log version=1\n".as_slice(), &bytes].concat());
        comes_to_an_end(&[b"number=".as_slice(), &bytes].concat());
    }

    #[test]
    fn any_bytes_in_good_pages_come_to_an_end(
        bodies in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), any::<[u8; 34]>()), 1..4),
    ) {
        let pages: Vec<u8> = bodies.iter().flat_map(|(body, fields)| page_around(body, fields)).collect();
        prop_assert_eq!(Pages::new(&pages).filter(Result::is_ok).count(), bodies.len());
        comes_to_an_end(&pages);
    }

    #[test]
    fn records_of_every_kind_with_changed_bytes_come_to_an_end(seed: u64, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut numbers = Numbers(seed);
        let mut bytes = written(numbers.records().into_iter().map(|record| (Nanos(7), record)), &());
        let body = bytes.split_off(HEADER_BYTES);
        let body: Vec<u8> = body.into_iter().take(3000).collect();
        let mut changed = body.clone();
        for (at, byte) in &changes {
            let at = at % changed.len();
            changed[at] = *byte;
        }
        comes_to_an_end(&page_around(&changed, &[0; 34]));
    }

    #[test]
    fn a_changed_log_comes_to_an_end(seed: u64, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..40), cut: usize) {
        let mut bytes = written(ordinary(&mut Numbers(seed), 300), &small_table());
        for (at, byte) in &changes {
            let at = at % bytes.len();
            bytes[at] = *byte;
        }
        bytes.truncate(cut % bytes.len());
        comes_to_an_end(&bytes);
    }

    #[test]
    fn a_changed_text_comes_to_an_end(seed: u64, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..40)) {
        let records = Numbers(seed).records().into_iter().map(|record| (Nanos(7), record));
        let bytes = written(records, &());
        let mut lines = String::from("weir-log version=1\n");
        for stamped in Reader::new(&bytes).flatten() {
            text::write(&stamped, &mut lines).expect("room");
            lines.push('\n');
        }
        let mut bytes = lines.into_bytes();
        for (at, byte) in &changes {
            let at = at % bytes.len();
            bytes[at] = *byte;
        }
        comes_to_an_end(&bytes);
    }
}

#[test]
fn a_byte_count_that_no_code_stands_for_is_damage() {
    // `quarantined`-like bodies by hand: kind 7, pool 0, then an even code above 2^56.
    let mut body = vec![1, 7, 1, 0];
    body.extend(((1_u64 << 56) + 2).to_le_bytes());
    let page = page_around(&body, &[0; 34]);
    let damage = Reader::new(&page).next().expect("an item").expect_err("damage");
    assert!(matches!(damage.kind, DamageKind::BadRecord { field: "leaked", .. }), "{damage:?}");
    body.truncate(4);
    body.extend((1_u64 << 56).to_le_bytes());
    body.push(0);
    body.extend(u64::MAX.to_le_bytes());
    let page = page_around(&body, &[0; 34]);
    let stamped = Reader::new(&page).next().expect("an item").expect("whole");
    assert!(matches!(stamped.record, Record::PoolDestroyed { leaked: Bytes(u64::MAX), .. }));
}

#[test]
fn the_room_of_a_log_can_be_lent_again() {
    let mut room = Room::new(2);
    let mut twice = Vec::new();
    for _ in 0..2 {
        let mut log = room.log();
        for (time, record) in ordinary(&mut Numbers(4), 40) {
            log.append(time, record, &small_table());
        }
        log.seal();
        take(&mut log, &mut twice);
    }
    let (once, again) = twice.split_at(twice.len() / 2);
    assert_eq!(once, again);
}
