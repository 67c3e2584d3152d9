//! What is written for other tools and read back tells the same of the pools, however many there are and whatever ends with
//! them.

use std::path::PathBuf;
use weir_viz::check::{self, Fault, Told};
use weir_viz::export::{self, Format};
use weir_viz::model::{Fact, Model};
use weir_viz::part::Part;
use weir_viz::progress::Progress;
use weir_viz::report::{self, Report};
use weir_viz::source::{self, Opened};

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("weir-round-trip-{}-{name}", std::process::id()))
}

/// A log with the report on it.
fn read(name: &str, bytes: &[u8]) -> (Opened, Report, check::Report) {
    let path = file(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    let checked = check::open(&path, &Part::default(), Told::Accept, &Progress::default());
    let read = report::open(&path, &Part::default(), &Progress::default());
    std::fs::remove_file(path).expect("it is there");
    let ((opened, report), checked) =
        (read.unwrap_or_else(|e| panic!("{e}")), checked.unwrap_or_else(|e| panic!("{e}")));
    (opened, report, checked)
}

fn figure(report: &Report, name: &str) -> Option<u64> {
    report::figures(report).into_iter().find(|figure| figure.name == name).and_then(|figure| figure.value)
}

/// Mallocs and the most bytes that were live, of each pool that has any; by its first malloc.
fn pools(model: &Model) -> Vec<(usize, u64)> {
    let mut pools: Vec<_> = model.pools.iter().filter(|pool| !pool.lives.is_empty()).collect();
    pools.sort_by_key(|pool| pool.lives.iter().min().copied());
    pools.iter().map(|pool| (pool.lives.len(), pool.used.peak().0)).collect()
}

/// The most bytes asked for that were live at once, in all pools.
fn peak_asked(model: &Model) -> u64 {
    let mut changes: Vec<(u32, i64)> = Vec::new();
    for life in &model.lives {
        let asked = life.asked().unwrap_or(life.given).0 as i64;
        changes.push((life.since().0, asked));
        changes.extend(life.died().map(|died| (died.0, -asked)));
    }
    changes.sort_unstable();
    let mut live = 0;
    changes
        .into_iter()
        .map(|(_, change)| {
            live += change;
            live
        })
        .max()
        .unwrap_or(0) as u64
}

/// Exports a log in each format, and reads that.
fn round_trip(name: &str, log: &[u8]) {
    let (opened, report, _) = read(name, log);
    for format in ["rmm-order", "perfetto", "pytorch"] {
        let mut bytes = Vec::new();
        export::write(Format::of_name(format).expect("is one"), &opened, log, &mut bytes).expect("is written");
        let (again, back, found) = read(&format!("{name}-{format}"), &bytes);
        assert_eq!(again.damages, Vec::<String>::new(), "{name} {format}");
        assert_eq!(pools(&again.model), pools(&opened.model), "{name} {format}");
        for figure_name in ["peak_used_bytes", "mallocs", "leaks", "live_at_end", "live_at_end_bytes"] {
            let told = figure(&back, figure_name);
            // A mark at the program's end tells of leaks; PyTorch's snapshots have none.
            if figure_name == "leaks" && format == "pytorch" && told.is_none() {
                continue;
            }
            assert_eq!(told, figure(&report, figure_name), "{name} {format} {figure_name}");
        }
        if !again.model.unrecorded.has(Fact::Reserved) {
            assert_eq!(back.peak_reserved, report.peak_reserved, "{name} {format}");
        }
        let others: Vec<_> = found.by_fault.iter().filter(|(fault, _)| **fault != Fault::Leak).collect();
        assert!(others.is_empty(), "{name} {format}: {found}");
    }
    // RMM's own rows know neither pools nor what blocks take.
    let mut bytes = Vec::new();
    export::write(Format::of_name("rmm").expect("is one"), &opened, log, &mut bytes).expect("is written");
    let (again, back, found) = read(&format!("{name}-rmm"), &bytes);
    assert_eq!(figure(&back, "mallocs"), figure(&report, "mallocs"));
    assert_eq!((back.peak_used, back.live_at_end), (peak_asked(&opened.model), report.live_at_end), "{name}");
    assert!(found.is_clean() && !again.model.unrecorded.has(Fact::Addresses), "{name}: {found}");
}

/// Programs whose pools, streams and events come and go, on one to three devices.
#[test]
fn logs_of_random_programs() {
    let log = file("sim.log");
    let mut ended = 0;
    for seed in 1..=10 {
        let plan = weir_sim_run::Plan {
            seed,
            steps: 1_500,
            streams: None,
            faults: if seed % 4 == 3 { 30 } else { 0 },
            judge: weir_sim_run::Judge::Simulation,
            log: Some(log.clone()),
        };
        assert!(weir_sim_run::run(&plan).is_ok(), "seed {seed}");
        let bytes = std::fs::read(&log).expect("was written");
        ended += source::read("", &bytes).expect("a log").model.ended_with().len();
        round_trip(&format!("seed-{seed}"), &bytes);
    }
    std::fs::remove_file(log).expect("it is there");
    assert!(ended > 10, "{ended} pools end with blocks");
}

/// Two pools at the same addresses, of two devices, with one stream each: the first is destroyed while 512 of its bytes
/// are live, and a third pool gets its addresses. 2,000 bytes asked for take 2,048.
const LOG: &str = "weir-log version=1
number=0 time=0 record=begin version=0.1.0 policy=1 streams=4 events=4 markers=4 pools=4 blocks=64 granules=64
number=1 time=10 record=device_def device=0 granularity=2097152 alignment=512 total=67108864 capabilities=-
number=1 time=10 record=pool_def pool=0 base=0x10000000 range=67108864 device=0 limit=8388608 threshold=0 reuse=event preference=grow_first small_limit=-
number=1 time=10 record=pool_created pool=0
number=2 time=10 record=device_def device=1 granularity=2097152 alignment=512 total=67108864 capabilities=-
number=2 time=10 record=pool_def pool=1 base=0x10000000 range=67108864 device=1 limit=8388608 threshold=0 reuse=event preference=grow_first small_limit=-
number=2 time=10 record=pool_created pool=1
number=3 time=20 record=stream_def stream=0 device=0 kind=non_blocking
number=3 time=20 record=stream_created stream=0
number=4 time=30 record=stream_def stream=1 device=1 kind=non_blocking
number=4 time=30 record=stream_created stream=1
number=5 time=50 record=mapped pool=0 offset=0 granules=1 reason=grow
number=6 time=60 record=malloc pool=0 stream=0 seq=1 id=1 asked=2000 given=2048 offset=0 source=grow label=0 points=- epoch=0
number=7 time=70 record=malloc pool=0 stream=0 seq=2 id=2 asked=512 given=512 offset=2048 source=grow label=0 points=- epoch=0
number=8 time=80 record=mapped pool=1 offset=0 granules=1 reason=grow
number=9 time=90 record=malloc pool=1 stream=1 seq=1 id=3 asked=4096 given=4096 offset=0 source=grow label=0 points=- epoch=0
number=10 time=100 record=free pool=0 stream=0 seq=3 id=1 offset=0 given=2048
number=11 time=110 record=device_synchronized device=0
number=12 time=120 record=pool_destroyed pool=0 leaked=512
number=13 time=130 record=unmapped pool=0 offset=0 granules=1 reason=destroy
number=14 time=140 record=pool_def pool=0.2 base=0x10000000 range=67108864 device=0 limit=8388608 threshold=0 reuse=event preference=grow_first small_limit=-
number=14 time=140 record=pool_created pool=0.2
number=15 time=150 record=mapped pool=0.2 offset=0 granules=1 reason=grow
number=16 time=160 record=malloc pool=0.2 stream=0 seq=4 id=4 asked=1024 given=1024 offset=2048 source=grow label=0 points=- epoch=0
number=17 time=170 record=free pool=0.2 stream=0 seq=5 id=4 offset=2048 given=1024
number=18 time=180 record=free pool=1 stream=1 seq=2 id=3 offset=0 given=4096
";

#[test]
fn a_pool_that_ends_with_a_block() {
    let (opened, report, found) = read("hand", LOG.as_bytes());
    assert_eq!(pools(&opened.model), [(2, 2048 + 512), (1, 4096), (1, 1024)]);
    assert_eq!((report.peak_used, report.leaks, found.total()), (2048 + 512 + 4096, Some(1), 1));
    round_trip("hand", LOG.as_bytes());
    // What RMM's replay reads: the second pool is moved away from the first, the third is where that was.
    let mut rows = Vec::new();
    let notes = export::write(Format::Rmm, &opened, LOG.as_bytes(), &mut rows).expect("is written");
    let rows = String::from_utf8(rows).expect("is text");
    let pointers = |action| rows.lines().filter(move |line| line.contains(action)).map(|line| line.split(',').nth(3));
    let [a, b, c, d] = ["0x10000000", "0x10000800", "0x10001000", "0x10000800"].map(Some);
    assert_eq!(pointers("allocate").collect::<Vec<_>>(), [a, b, c, d], "{rows}");
    assert_eq!(pointers("free").collect::<Vec<_>>(), [a, b, d, c], "{rows}");
    assert_eq!(notes.len(), 2, "{notes:?}");
}
