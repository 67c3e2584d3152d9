//! The Ascend profilers' databases; the files are made by `data/ascend.py` with SQLite itself.

use std::path::{Path, PathBuf};
use weir_viz::import;
use weir_viz::model::Fact;
use weir_viz::source;

const OPERATORS: &[u8] = include_bytes!("data/ascend.sqlite");
const SUMS: &[u8] = include_bytes!("data/ascend-sums.sqlite");
const MEMSCOPE: &[u8] = include_bytes!("data/memscope.sqlite");
const MIB: u64 = 1 << 20;

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ascend-{name}"));
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

#[test]
fn operators_have_their_names_streams_and_sums() {
    let opened = source::open(&file("operators.db", OPERATORS)).expect("a database");
    let model = &opened.model;
    let lives: Vec<_> = model
        .lives
        .iter()
        .map(|life| (model.name(life.name), life.given.0, model.events.time(life.born().expect("is there"))))
        .collect();
    assert_eq!(lives, [("aten::mul", MIB, 1000), ("aten::add", 2 * MIB, 2000)]);
    // It could be used again only at its active release.
    assert_eq!(model.lives[0].died().map(|free| model.events.time(free)), Some(3100));
    assert_eq!((model.pools[0].used.peak().0, model.pools[0].reserved.peak().0), (3 * MIB, 20 * MIB));
    assert_eq!(model.pools[0].reserved.last(), 10 * MIB);
    assert_eq!(model.streams.iter().filter(|stream| stream.mallocs > 0).count(), 2);
    assert!(model.unrecorded.has(Fact::Addresses) && !model.unrecorded.has(Fact::Streams));
    assert_eq!(opened.origin.format, "the Ascend profiler's OP_MEMORY");
    assert_eq!(opened.origin.notes[0], "1 rows are about blocks that were allocated before the recording");
    assert_eq!(opened.damages, ["entry 3, key size: found nothing, or no number; expected a number"]);
    assert_eq!(import::read(OPERATORS, None).expect("a program").blocks.len(), 2);
}

#[test]
fn without_operators_there_are_sums() {
    let opened = source::open(&file("sums.db", SUMS)).expect("a database");
    let pool = &opened.model.pools[0];
    assert_eq!((pool.used.peak().0, pool.reserved.peak().0, pool.reserved.last()), (3 * MIB, 20 * MIB, 10 * MIB));
    assert!(opened.model.unrecorded.has(Fact::Blocks));
    assert_eq!(opened.origin.notes[..2], ["component PTA", "1 rows of component APP are left out"]);
}

#[test]
fn a_database_of_neither_is_refused_with_what_was_expected() {
    let renamed = |bytes: &[u8], from: &[u8], to: &[u8]| {
        let mut bytes = bytes.to_vec();
        for at in 0..bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + from.len()].copy_from_slice(to);
            }
        }
        bytes
    };
    let other = renamed(SUMS, b"MEMORY_RECORD", b"MEMORY_RECODE");
    let error = source::open(&file("other.db", &other)).expect_err("has no memory").to_string();
    assert!(
        error.contains("2 tables without CUDA_GPU_MEMORY_USAGE_EVENTS, OP_MEMORY, MEMORY_RECORD and memscope_dump"),
        "{error}"
    );
}

/// Its columns are those of sums; a component of `memory_record.csv` that is none of the known ones.
#[test]
fn modules_memory_is_read_as_sums() {
    let text = "Component,Timestamp(us),Total Reserved(MB),Device\nHCCL,1.000\t,4,NPU:0\nHCCL,2.000\t,6,NPU:0\n";
    let opened = source::open(&file("npu_module_mem.csv", text.as_bytes())).expect("sums");
    assert_eq!(opened.model.pools[0].reserved.peak().0, 6 * MIB);
}

#[test]
fn memscope_s_database_says_what_its_csv_says() {
    let opened = source::open(&file("memscope.db", MEMSCOPE)).expect("a database");
    let model = &opened.model;
    let lives = model.lives.iter().map(|life| (model.name(life.name), life.given.0, life.died().is_some()));
    assert_eq!(lives.collect::<Vec<_>>(), [("PTA@weights", 1024, true), ("", 512, false)]);
    assert_eq!((model.pools[0].reserved.peak().0, model.pools[0].used.peak().0), (2 * MIB, 1536));
    assert_eq!(model.marks.iter().map(|mark| model.name(mark.name)).collect::<Vec<_>>(), ["step 1"]);
    assert_eq!(opened.origin.format, "msMemScope's database");
    assert_eq!(opened.damages, ["entry 5, key Ptr: found \"\"; expected an address"]);
}
