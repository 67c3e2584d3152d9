//! Logs of other allocators, opened as logs: what they recorded, and that what they did not is said and not invented.

use std::io::Write;
use std::path::{Path, PathBuf};
use weir_viz::check::{self, Told};
use weir_viz::cli::{self, Picture};
use weir_viz::model::{Fact, Model};
use weir_viz::part::Part;
use weir_viz::progress::Progress;
use weir_viz::source::{self, Opened};

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{name}"));
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

fn open(name: &str, bytes: &[u8]) -> Opened {
    source::open(&file(name, bytes)).unwrap_or_else(|error| panic!("{error}"))
}

fn sizes(model: &Model) -> Vec<(u64, bool)> {
    model.lives.iter().map(|life| (life.given.0, life.died().is_some())).collect()
}

const RMM: &str = "Thread,Time,Action,Pointer,Size,Stream\n\
    1,23:59:59.999999,allocate,0x1000,300,0\n\
    1,00:00:00.000001,allocate,0x2000,100,0xabc\n\
    1,00:00:00.000002,free,0x1000,300,0\n\
    1,00:00:00.000002,allocate failure,(nil),5000,0\n\
    1,00:00:00.000003,allocate,0x1000,200,0xabc\n";

#[test]
fn rmm_is_a_log_without_reserved_source_and_order() {
    let opened = open("rmm.txt", RMM.as_bytes());
    let model = &opened.model;
    assert_eq!(sizes(model), [(300, true), (100, false), (200, false)]);
    assert_eq!((model.pools[0].used.peak().0, model.pools[0].used.last()), (400, 300));
    assert_eq!(model.refusals(weir_viz::model::PoolIx(0)).len(), 1);
    assert!(model.lives.iter().all(|life| life.source.is_none()), "sources are not invented");
    assert!(opened.damages.is_empty(), "{:?}", opened.damages);
    let sentence = "translated from RMM's CSV; not recorded there: source, order, reserved, rounding, limit";
    assert_eq!(opened.origin.sentence().as_deref(), Some(sentence));
    assert_eq!(opened.origin.notes, ["stream 1 is 0xabc of device 0"]);
    // From a microsecond before midnight to one after it, and on.
    let last = weir_viz::model::EventIx(model.events.len() as u32 - 1);
    assert_eq!(model.events.time(last) - model.events.time(weir_viz::model::EventIx(0)), 4_000);
    let svg = weir_viz::svg::write(&cli::draw(&opened, &Picture { select: Some(1), ..Picture::default() }).unwrap());
    assert!(svg.contains("reserved: not recorded") && svg.contains(sentence), "the picture says so");
}

/// The second user of 0x1000 comes on another stream, with nothing to order it; RMM's log would not hold that either way.
#[test]
fn what_a_format_cannot_record_is_held_against_nobody() {
    let report =
        check::open(&file("order.csv", RMM.as_bytes()), &Part::default(), Told::Accept, &Progress::default()).unwrap();
    assert!(report.is_clean() && report.by_fault.is_empty(), "{report}");
    assert_eq!(report.not_judged.len(), 1, "{report}");
    // With rows for order the same reuse is a fault.
    let ordered = format!("{RMM}1,00:00:00.000004,record,7,0,0\n");
    let report =
        check::open(&file("ordered.csv", ordered.as_bytes()), &Part::default(), Told::Accept, &Progress::default())
            .unwrap();
    assert_eq!(report.total(), 1, "{report}");
}

/// Programs that make logs may count where an allocator has addresses.
#[test]
fn pointers_that_overlap_are_names() {
    let text =
        "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x1,300,0\n1,2,allocate,0x2,100,1\n1,3,free,0x1,300,0\n";
    let opened = open("names.csv", text.as_bytes());
    assert!(opened.model.unrecorded.has(Fact::Addresses));
    assert_eq!(opened.origin.notes[0], "live blocks overlap: the pointers are names, and no addresses");
    assert_eq!(sizes(&opened.model), [(300, true), (100, false)]);
    let report =
        check::open(&file("names.csv", text.as_bytes()), &Part::default(), Told::Accept, &Progress::default()).unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn damaged_rows_are_named_and_the_others_read() {
    let text = RMM.replace("0x2000,100", "0x2000,many").replace("allocate failure", "allocate perhaps");
    let opened = open("damaged.csv", text.as_bytes());
    assert_eq!(sizes(&opened.model), [(300, true), (200, false)]);
    assert_eq!(opened.damaged, 2);
    assert_eq!(opened.damages[0], "line 3, column Size: found \"many\"; expected a count of bytes, such as 4096");
    assert!(opened.damages[1].starts_with("line 5, column Action: found \"allocate perhaps\""), "{:?}", opened.damages);
}

#[test]
fn lifetimes_have_no_addresses_streams_and_times() {
    let opened = open("lifetimes", b"id,lower,upper,size\na,0,3,4\nb,1,5,6\nc,3,4,7\n");
    assert_eq!(sizes(&opened.model), [(4, true), (6, true), (7, true)]);
    assert_eq!(opened.model.pools[0].used.peak().0, 13);
    for fact in [Fact::Addresses, Fact::Streams, Fact::Times, Fact::Reserved] {
        assert!(opened.model.unrecorded.has(fact), "{fact:?}");
    }
    let svg = weir_viz::svg::write(&cli::draw(&opened, &Picture { select: Some(1), ..Picture::default() }).unwrap());
    for words in ["threshold: not recorded", "reserved: not recorded"] {
        assert!(svg.contains(words), "{words}");
    }
    // Address, stream, source, where its memory came from and went to, beside those two and the lists.
    assert!(svg.matches(">not recorded<").count() >= 5, "{svg}");
    assert!(!svg.contains("source=grow"), "what a translated record has in its place is not shown");
}

/// The snapshot of `data/snapshot.py`; the figures are its own.
#[test]
fn a_snapshot_has_a_pool_for_each_device_and_what_was_mapped() {
    const SNAPSHOT: &[u8] = include_bytes!("data/snapshot.4.pickle");
    let opened = open("snapshot", SNAPSHOT);
    let pools = &opened.model.pools;
    assert_eq!(pools.len(), 2);
    // The segment of the end was there before; the first entry maps another one, the last one gives it back.
    assert_eq!((pools[0].reserved.peak().0, pools[0].reserved.last()), (4 << 20, 2 << 20));
    assert_eq!(pools[0].lives.len(), 6);
    // 4001 asked for is known to have got 4096; the free of stream 7 counts when it is complete.
    let given: Vec<u64> = pools[0].lives.iter().map(|life| opened.model.life(*life).given.0).collect();
    assert_eq!(given, [4000, 4096, 5000, 3000, 7000, 6000]);
    assert_eq!(pools[0].used.peak().0, 4096 + 5000 + 3000 + 7000 + 6000);
    assert_eq!((pools[1].lives.len(), pools[1].used.last()), (2, 2 << 20 | 1 << 20));
    assert!(!opened.model.unrecorded.has(Fact::Reserved) && opened.damages.is_empty(), "{:?}", opened.damages);
}

/// Cut anywhere, a snapshot gives what stands before the cut, says where that is, and never more than the whole.
/// What names code is refused as a whole, whatever stands before it.
#[test]
fn a_snapshot_with_a_wrong_byte_is_read_up_to_that() {
    const SNAPSHOT: &[u8] = include_bytes!("data/snapshot.2.pickle");
    let whole = open("whole-one", SNAPSHOT).model.lives.len();
    let (mut read, mut part) = (0, 0);
    for place in (SNAPSHOT.len() / 4..SNAPSHOT.len()).step_by(11) {
        let mut bytes = SNAPSHOT.to_vec();
        bytes[place] = 0xff;
        let Ok(opened) = source::open(&file("flipped.pickle", &bytes)) else { continue };
        assert!(opened.model.lives.len() <= whole + 1);
        read += 1;
        part += usize::from(opened.damages.iter().any(|damage| damage.contains("found the byte 0xff")));
        bytes[place] = b'R';
        let error = source::open(&file("called.pickle", &bytes));
        assert!(error.is_err() || !opened.damages.iter().any(|damage| damage.contains("byte 0xff")), "byte {place}");
    }
    assert!(read > 10 && part > 5, "{read} were read, {part} in part");
}

#[test]
fn a_cut_snapshot_is_read_as_far_as_it_goes() {
    const SNAPSHOT: &[u8] = include_bytes!("data/snapshot.2.pickle");
    let whole = open("whole", SNAPSHOT).model.lives.len();
    let mut most = 0;
    for length in (20..SNAPSHOT.len()).step_by(7) {
        let Ok(opened) = source::open(&file("cut.pickle", &SNAPSHOT[..length])) else { continue };
        let lives = opened.model.lives.len();
        assert!(lives <= whole + 1, "{length}: {lives}");
        assert!(opened.damages[0].contains("the file's end after byte"), "{length}: {:?}", opened.damages);
        most = most.max(lives);
    }
    assert!(most >= 6, "{most}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).expect("into memory");
    packed.finish().expect("into memory")
}

#[test]
fn packed_logs_are_opened_whatever_their_name() {
    let opened = open("packed.csv", &gzip(RMM.as_bytes()));
    assert_eq!(opened.model.lives.len(), 3);
    let program = weir_viz::import::read(gzip(RMM.as_bytes()).as_slice(), None).expect("a program");
    assert_eq!(program.blocks.len(), 3);
    let text = format!("weir-log version=1\n{}", "number=0 time=5 record=lost records=3\n");
    assert_eq!(open("packed.log", &gzip(text.as_bytes())).model.events.len(), 1);
}

#[test]
fn a_cut_packed_log_says_what_is_wrong() {
    let rows: String =
        (0..20_000).map(|n: u64| format!("1,{n},allocate,{:#x},{},0\n", n * 4096, n * n % 4093 + 1)).collect();
    let packed = gzip(format!("Thread,Time,Action,Pointer,Size,Stream\n{rows}").as_bytes());
    let cut = &packed[..packed.len() / 2];
    let opened = open("cut.csv.gz", cut);
    assert!((1_000..19_999).contains(&opened.model.lives.len()), "{}", opened.model.lives.len());
    assert!(opened.damages.iter().any(|damage| damage.starts_with("damaged gzip data after ")), "{:?}", opened.damages);
    let error = weir_viz::import::read(cut, None).expect_err("half a program").to_string();
    assert!(error.contains("expected a whole gzip file"), "{error}");
}

#[test]
fn a_hostile_pickle_is_refused_with_its_place() {
    let error = source::open(&file("hostile", b"\x80\x02cos\nsystem\nU\x02ls\x85R.")).unwrap_err();
    assert_eq!(
        error.what,
        "byte 2: found GLOBAL, which names or calls Python code; expected a pickle of built-in types, as PyTorch's memory snapshots are"
    );
}
