//! Nsight Systems' SQLite export; the file is made by `data/nsight.py` with SQLite itself.

use std::path::{Path, PathBuf};
use weir_viz::import;
use weir_viz::model::{Fact, Model};
use weir_viz::source::{self, Opened};

const FILE: &[u8] = include_bytes!("data/nsight.sqlite");
const MIB: u64 = 1 << 20;

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nsight-{name}"));
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

fn opened() -> Opened {
    source::open(&file("whole", FILE)).unwrap_or_else(|error| panic!("{error}"))
}

fn labels(model: &Model) -> Vec<&str> {
    let mut labels: Vec<&str> = model.lives.iter().map(|life| model.name(life.name)).collect();
    labels.dedup();
    labels
}

#[test]
fn each_of_cuda_s_pools_has_its_sums_threshold_and_trims() {
    let opened = opened();
    let model = &opened.model;
    assert!(opened.damages.is_empty(), "{:?}", opened.damages);
    assert_eq!(model.pools.len(), 2);
    let (plain, pool) = (&model.pools[0], &model.pools[1]);
    assert_eq!((plain.lives.len(), pool.lives.len()), (1, 202));
    assert_eq!((pool.used.peak().0, pool.used.last()), (3 * MIB + 512, 512));
    assert_eq!((pool.reserved.peak().0, pool.reserved.last()), (4 * MIB, 2 * MIB));
    assert_eq!(pool.trims.len(), 1);
    // All kept at first, and nothing from the first round on.
    assert_eq!((pool.threshold.peak().0, pool.threshold.last()), (u64::MAX, 0));
    // The third name is longer than a page; of it what the log has room for is kept.
    assert_eq!(labels(model), ["", "weights", "activations", "x".repeat(64).as_str()]);
    assert_eq!(model.streams.iter().filter(|stream| stream.mallocs > 0).count(), 3);
    assert!(model.unrecorded.has(Fact::Order) && !model.unrecorded.has(Fact::Reserved));
    assert_eq!(
        opened.origin.notes[..3],
        [
            "pool 0 is what device 0 gave without a pool: what that reserves is not recorded",
            "pool 1 is CUDA's pool 0x7f3a00000001 of device 0",
            "1 events about the host's memory are left out",
        ]
    );
}

/// A program that writes keeps SQLite's newest pages in a second file.
#[test]
fn pages_that_lie_beside_the_file_are_told() {
    let path = file("writing", FILE);
    let wal = file("writing-wal", &[0; 4152]);
    let opened = source::open(&path).expect("reads");
    assert!(
        opened.damages[0].starts_with("4152 bytes of it are in nsight-writing-wal and are not read"),
        "{:?}",
        opened.damages
    );
    std::fs::write(&wal, b"").expect("is written");
    assert!(source::open(&path).expect("reads").damages.is_empty(), "an empty one holds nothing");
}

#[test]
fn it_is_a_program_to_replay() {
    let program = import::read(FILE, Some(0)).expect("a program");
    assert_eq!(program.blocks.len(), 203);
    assert!(import::read(FILE, Some(1)).is_err(), "there is one device");
}

#[test]
fn other_databases_are_refused_with_what_is_missing() {
    let name = b"CUDA_GPU_MEMORY_USAGE_EVENTS";
    let at: Vec<usize> = (0..FILE.len() - name.len()).filter(|at| FILE[*at..].starts_with(name)).collect();
    let mut other = FILE.to_vec();
    at.iter().for_each(|at| other[*at] = b'X');
    let error = source::open(&file("other", &other)).unwrap_err();
    assert!(error.what.contains("without CUDA_GPU_MEMORY_USAGE_EVENTS"), "{error}");
    let error = source::open(&file("beginning", &FILE[..60])).unwrap_err();
    assert!(error.what.starts_with("byte 0: found the file's end before page 1"), "{error}");
}

/// Cut or with bytes changed, it is read in part, or refused; never with a panic, and always in the end.
#[test]
fn damage_costs_pages() {
    let mut holes = FILE.to_vec();
    holes[512 * 20..512 * 30].fill(0);
    let opened = source::open(&file("holes", &holes)).expect("most of it is there");
    assert!(!opened.damages.is_empty(), "nothing is said");
    assert!(opened.damages[0].contains("found a page of kind 0; expected a page of a table"), "{:?}", opened.damages);
    assert!((50..203).contains(&opened.model.lives.len()), "{}", opened.model.lives.len());
    let error = source::open(&file("cut", &FILE[..FILE.len() / 2])).unwrap_err();
    assert!(error.what.contains("found the file's end before page"), "the list of tables stands behind: {error}");
    let mut state = 7_u64;
    let mut read = 0;
    for _ in 0..400 {
        let mut bytes = FILE.to_vec();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 20) as u8;
        }
        read += u32::from(import::translate(&bytes, None).is_some_and(|log| log.is_ok()));
    }
    assert!(read > 200, "{read}");
}
