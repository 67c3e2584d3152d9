//! The golden files of format version 1: read for ever, and written by today's encoder byte for byte.
//!
//! Each comes as pages and as text. The text of `golden/v1.log` was made by a reader, the pages of the later files by a
//! writer that was written apart, from the description of the format alone. These files never change: a change of the
//! format needs a new version, and a new kind of record a new file beside them.

mod trace_support;

use trace_support::{KINDS, Numbers, Room, VERBS, kind, take};
use weir::trace::{Form, Header, Pages, Reader, Record, Refusal, Stamped, text};

/// One log in both forms.
struct Golden {
    name: &'static str,
    binary: &'static [u8],
    text: &'static str,
}

macro_rules! golden {
    ($name:literal) => {
        Golden {
            name: $name,
            binary: include_bytes!(concat!("golden/", $name, ".log")),
            text: include_str!(concat!("golden/", $name, ".txt")),
        }
    };
}

/// Every kind of record and every reason of a refusal that version 1 began with, and then what came later.
const FILES: [Golden; 5] = [
    golden!("v1"),
    golden!("v1_event_reset_capture_set"),
    golden!("v1_memory_in_order"),
    golden!("v1_trim_pending"),
    golden!("v1_undestroyed"),
];

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
fn pages(binary: &[u8]) -> Vec<(Header, usize)> {
    let pages = Pages::new(binary).map(|page| page.expect("whole"));
    pages.map(|page| (page.header, page.records().count())).collect()
}

#[test]
fn today_reads_the_files_as_it_ever_did() {
    for Golden { name, binary, text } in FILES {
        assert_eq!(Reader::new(binary).form(), Some(Form::Binary));
        let missing = |log| Reader::new(log).filter_map(Result::err).count();
        assert_eq!((missing(binary), missing(text.as_bytes())), (0, 0), "{name}");
        let mut lines = format!("{}\n", text::HEADER);
        for stamped in read(binary) {
            text::write(&stamped, &mut lines).expect("room");
            lines.push('\n');
        }
        if lines != text {
            panic!("{name} is read differently now: compare {}", keep(&format!("{name}.txt"), lines.as_bytes()));
        }
        assert_eq!(Reader::new(text.as_bytes()).form(), Some(Form::Text));
        assert_eq!(read(text.as_bytes()), read(binary));
    }
}

#[test]
fn today_writes_the_bytes_of_the_files() {
    for Golden { name, binary, text } in FILES {
        let mut room = Room::new(8);
        let mut log = room.log();
        let mut records = read(text.as_bytes()).into_iter();
        for (header, count) in pages(binary) {
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
        if bytes != binary {
            panic!("{name} is written differently now: compare {}", keep(&format!("{name}.log"), &bytes));
        }
    }
}

#[test]
fn the_files_hold_every_kind_every_verb_and_every_reason() {
    let mut seen = [false; KINDS];
    let (mut reasons, mut verbs) = (Vec::new(), Vec::new());
    for stamped in FILES.iter().flat_map(|file| read(file.binary)) {
        seen[kind(&stamped.record)] = true;
        if let Record::Refused { reason, verb, .. } = stamped.record {
            reasons.push(reason);
            verbs.push(verb);
        }
    }
    assert_eq!(seen, [true; KINDS]);
    for reason in Numbers(0).refusals() {
        let same = |other: &Refusal| core::mem::discriminant(other) == core::mem::discriminant(&reason);
        assert!(reasons.iter().any(same), "{reason:?}");
    }
    for verb in VERBS {
        assert!(verbs.contains(&verb), "{verb:?}");
    }
    assert_eq!(pages(FILES[0].binary).last().map(|(header, _)| header.lost), Some(3));
}
