//! The golden files of format version 1: read for ever, and written by today's encoder byte for byte.
//!
//! `golden/v1.log` holds every kind of record and every reason of a refusal that version 1 began with; `golden/v1.txt` is
//! the same log as text, made by a reader that was written apart, from the description of the format alone. These files
//! never change: a change of the format needs a new version, and a new kind of record a new file beside them.

mod trace_support;

use trace_support::{KINDS, Numbers, Room, kind, take};
use weir::trace::{Form, Header, Pages, Reader, Record, Refusal, Stamped, text};

const BINARY: &[u8] = include_bytes!("golden/v1.log");
const TEXT: &str = include_str!("golden/v1.txt");

/// Puts what differs where it can be looked at.
fn keep(name: &str, bytes: &[u8]) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, bytes).expect("the target directory");
    path
}

fn read(log: &[u8]) -> Vec<Stamped<'_>> {
    let whole = Reader::new(log).collect::<Result<_, _>>();
    whole.expect("an undamaged file")
}

/// What each page says about itself, and how many records it holds, definitions among them.
fn pages() -> Vec<(Header, usize)> {
    let pages = Pages::new(BINARY).map(|page| page.expect("whole"));
    pages.map(|page| (page.header, page.records().count())).collect()
}

#[test]
fn today_reads_the_file_as_it_ever_was() {
    assert_eq!(Reader::new(BINARY).form(), Some(Form::Binary));
    let missing = |log| Reader::new(log).filter_map(Result::err).count();
    assert_eq!((missing(BINARY), missing(TEXT.as_bytes())), (0, 0));
    let mut lines = format!("{}\n", text::HEADER);
    for stamped in read(BINARY) {
        text::write(&stamped, &mut lines).expect("room");
        lines.push('\n');
    }
    if lines != TEXT {
        panic!("version 1 is read differently now: compare {}", keep("v1.txt", lines.as_bytes()));
    }
    assert_eq!(Reader::new(TEXT.as_bytes()).form(), Some(Form::Text));
    assert_eq!(read(TEXT.as_bytes()), read(BINARY));
}

#[test]
fn today_writes_the_bytes_of_the_file() {
    let mut room = Room::new(8);
    let mut log = room.log();
    let mut records = read(TEXT.as_bytes()).into_iter();
    for (header, count) in pages() {
        // Loss is told by the log itself, in the first record of the next page.
        log.count_lost(header.lost - log.lost());
        let told = usize::from(header.lost > 0);
        for stamped in records.by_ref().take(count).skip(told) {
            log.append(stamped.time, stamped.record, &());
        }
        log.seal();
    }
    assert_eq!(records.count(), 0);
    let mut bytes = Vec::new();
    take(&mut log, &mut bytes);
    if bytes != BINARY {
        panic!("version 1 is written differently now: compare {}", keep("v1.log", &bytes));
    }
}

#[test]
fn the_file_holds_every_kind_and_every_reason() {
    let mut seen = [false; KINDS];
    let mut reasons = Vec::new();
    for stamped in read(BINARY) {
        seen[kind(&stamped.record)] = true;
        if let Record::Refused { reason, .. } = stamped.record {
            reasons.push(reason);
        }
    }
    assert_eq!(seen, [true; KINDS]);
    for reason in Numbers(0).refusals() {
        let same = |other: &Refusal| core::mem::discriminant(other) == core::mem::discriminant(&reason);
        assert!(reasons.iter().any(same), "{reason:?}");
    }
    assert_eq!(pages().last().map(|(header, _)| header.lost), Some(3));
}
