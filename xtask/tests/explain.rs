//! `explain`: the core, rebuilt from a log, decides as the log says; and what a script sees.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};
use weir::trace::{Record, Refusal, Source, Verb};
use weir::{Access, Candidate};
use weir_heap::HeapArenas;
use weir_viz::model::{EventIx, Kind, Model, Payload};
use weir_viz::rebuild::{self, Looks, Rebuild};

/// The event log of a replay, in this folder.
fn replay(folder: &TempDir, trace: &str, options: &str) -> PathBuf {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces").join(trace);
    let log = folder.path().join("trace.log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("replay").arg(trace).args(options.split_whitespace()).arg("--log").arg(&log);
    let output = command.output().expect("xtask runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    log
}

/// Makes every call of a log again; how many mallocs the core decided as they are logged.
fn decide_all(model: &Model, looks: Looks) -> u64 {
    let last = EventIx::next_of(model.events.len() - 1);
    let mut arenas = HeapArenas::new(rebuild::capacities(model, last).expect("a whole log"));
    let mut rebuild = Rebuild::new(model, arenas.lend(), last, looks).expect("a whole log");
    rebuild.run_through(last);
    if let Some(difference) = rebuild.difference() {
        panic!("{difference}");
    }
    // Most refused calls are not made again: those that change nothing.
    let skipped = |at: &EventIx| match model.events.payload(*at) {
        Payload::Other(Record::Refused { verb: Verb::CreateStream, reason, .. }) => {
            !matches!(reason, Refusal::ArenaFull(..))
        }
        // But for the marker that was due before it.
        Payload::Other(Record::Refused { verb: Verb::Record | Verb::Wait, .. }) => {
            model.events.kind(EventIx(at.0 - 1)) != Kind::MarkerLaid
        }
        Payload::Other(Record::Refused { verb, .. }) => verb != Verb::Malloc,
        _ => false,
    };
    let skipped = (0..model.events.len()).map(EventIx::next_of).filter(skipped).count();
    assert_eq!(rebuild.agreed() + skipped as u64, model.events.len() as u64, "every record was written again");
    model.lives.len() as u64
}

fn opened(log: &Path) -> Model {
    weir_viz::source::open(log).expect("a log").model
}

#[test]
fn every_decision_of_replayed_logs_is_recomputed() {
    for (trace, options) in [
        ("producer_consumer.csv", "--policy internal --lag 300 --limit 60MiB"),
        ("producer_consumer.csv", "--policy opportunistic --lag 50"),
        ("producer_consumer.csv", "--lag none --limit 90MiB"),
        ("two_streams_transformer.csv", "--lag none --limit 17GiB"),
    ] {
        let folder = tempdir().expect("a folder");
        let decided = decide_all(&opened(&replay(&folder, trace, options)), Looks::Never);
        assert!(decided > 4_000, "{trace} {options}: {decided}");
    }
}

/// In others a callback interrupts a call, which no log tells fully.
const SEEDS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// Random programs with streams, events and pools that come and go, several devices, and default streams.
#[test]
fn every_decision_of_random_programs_is_recomputed() {
    let folder = tempdir().expect("a folder");
    let log = folder.path().join("sim.log");
    let mut decided = 0;
    for seed in SEEDS {
        let plan = weir_sim_run::Plan {
            seed,
            steps: 3_000,
            streams: None,
            faults: 0,
            judge: weir_sim_run::Judge::Simulation,
            log: Some(log.clone()),
        };
        assert!(weir_sim_run::run(&plan).is_ok(), "seed {seed}");
        // The simulation recounts the pool behind every step.
        decided += decide_all(&opened(&log), Looks::Always);
    }
    assert!(decided > 1_000, "{decided}");
}

/// How many records of a log there are, and how many the core writes again as they are.
fn followed(model: &Model) -> (u64, u64) {
    let last = EventIx::next_of(model.events.len() - 1);
    let follow = |looks| {
        let mut arenas = HeapArenas::new(rebuild::capacities(model, last).expect("a whole log"));
        let mut rebuild = Rebuild::new(model, arenas.lend(), last, looks).expect("a whole log");
        rebuild.run_through(last);
        rebuild.difference().map_or(model.events.len() as u64, |parted| u64::from(parted.event.0))
    };
    (model.events.len() as u64, follow(Looks::Always).max(follow(Looks::Never)))
}

/// Of a hundred driver calls none, two, ten or thirty fail, on one to eight streams. What the driver answered is followed;
/// two facts are in no log: what a callback did in the middle of a call that left no trace on the same stream or event, and
/// which event a refused record was of where the event's later numbers do not tell.
#[test]
fn decisions_beside_failing_driver_calls_are_recomputed() {
    let folder = tempdir().expect("a folder");
    let log = folder.path().join("faults.log");
    for (faults, least) in [(0, 9), (20, 9), (100, 8), (300, 7)] {
        let (mut whole, mut records, mut agreed) = (0, 0, 0);
        for seed in 1..=10 {
            let plan = weir_sim_run::Plan {
                seed,
                steps: 1_000,
                streams: Some(1 + seed as usize % 8),
                faults,
                judge: weir_sim_run::Judge::Simulation,
                log: Some(log.clone()),
            };
            assert!(weir_sim_run::run(&plan).is_ok(), "seed {seed}");
            let (all, followed) = followed(&opened(&log));
            whole += u64::from(followed == all);
            (records, agreed) = (records + all, agreed + followed);
        }
        assert!(whole >= least, "of ten logs {whole} are followed to their end, with {faults} of 1000 calls failing");
        assert!(agreed * 100 >= records * 80, "{agreed} of {records} records, with {faults} of 1000 calls failing");
    }
}

/// Before each malloc the core is asked what it sees; what it then does must be among that.
#[test]
fn what_is_foretold_is_what_is_taken() {
    let folder = tempdir().expect("a folder");
    let model = opened(&replay(&folder, "producer_consumer.csv", "--policy internal --lag 300 --limit 60MiB"));
    let last = EventIx::next_of(model.events.len() - 1);
    let mut arenas = HeapArenas::new(rebuild::capacities(&model, last).expect("whole"));
    let mut rebuild = Rebuild::new(&model, arenas.lend(), last, Looks::Never).expect("whole");
    let (mut cheap, mut dear, mut foretold) = (0, 0, 0);
    for life in &model.lives {
        let event = life.born().expect("all are there");
        rebuild.run_before(event);
        let (pool, stream) = (model.pool(life.pool).id, model.stream(life.stream).id);
        let mut seen: Vec<Candidate> = Vec::new();
        let outlook =
            rebuild.candidates(pool, life.asked().expect("recorded"), stream, |c| seen.push(c)).expect("admitted");
        assert_eq!(outlook.size, life.given, "rounded as it was");
        let end = life.end();
        let parts = || seen.iter().filter(|c| c.offset.0 < end && life.offset.0 < c.offset.0 + c.size.0);
        let usable = |c: &Candidate| matches!(c.access, Access::Usable(_));
        match life.source.expect("recorded") {
            Source::SameStream | Source::Settled | Source::Event => {
                cheap += 1;
                // What was asked about before the cut may have joined it.
                let asked = model.events.kind(EventIx(event.0 - 1)) == Kind::Asked;
                assert!(parts().count() > 0 && (asked || parts().all(usable)), "{life:?}");
                // At the limit small and large blocks share granules, as the last resort.
                let mixed = outlook.to_map.is_none_or(|to_map| outlook.headroom < to_map);
                assert!(outlook.taken.is_some() || asked || mixed, "{life:?}");
                foretold += u64::from(outlook.taken == Some((life.offset, life.source.expect("recorded"))));
            }
            Source::Internal => {
                dear += 1;
                assert!(parts().any(|c| matches!(c.access, Access::Marked(_))), "{life:?}");
                assert_eq!(outlook.taken, None);
            }
            Source::Opportunistic | Source::Grow => assert_eq!(outlook.taken, None),
        }
    }
    assert!(rebuild.difference().is_none());
    assert!(cheap > 4_000 && dear > 100, "{cheap} {dear}");
    // The others were joined with what lies beside them before they were cut.
    assert!(foretold * 10 > cheap * 8, "{foretold} of {cheap}");
}

fn explain(log: &Path, options: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("explain").arg(log).args(options.split_whitespace());
    command.output().expect("xtask runs")
}

#[test]
fn the_object_says_what_was_taken_and_what_was_passed_over() {
    let folder = tempdir().expect("a folder");
    let log = replay(&folder, "producer_consumer.csv", "--policy internal --lag 300 --limit 60MiB");
    let model = opened(&log);
    let mut kinds = std::collections::BTreeMap::new();
    for life in model.lives.iter().step_by(431) {
        let output = explain(&log, &format!("--alloc {} --json", life.id.0));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(object["alloc"], life.id.0);
        assert_eq!((&object["size"], &object["offset"]), (&life.given.0.into(), &life.offset.0.into()));
        assert_eq!(object["source"], life.source.expect("recorded").name());
        let candidates = object["candidates"].as_array().expect("a list");
        let reuse = life.source != Some(Source::Grow);
        assert_eq!(candidates.first().is_some_and(|first| first["taken"] == true), reuse, "{object}");
        assert!(candidates.iter().all(|c| c["reason"].as_str().is_some_and(|reason| !reason.is_empty())));
        let parts: u64 = ["usable_in_pieces_bytes", "unordered_bytes", "lacking_bytes"]
            .iter()
            .map(|name| object[name].as_u64().expect("a number"))
            .sum();
        assert_eq!(parts, life.given.0, "the parts add up");
        *kinds.entry(object["verdict"].as_str().expect("a word").to_owned()).or_insert(0) += 1;
    }
    assert!(kinds["reuse"] > 5, "{kinds:?}");
}

#[test]
fn refusals_and_growths_are_explained() {
    let folder = tempdir().expect("a folder");
    let log = replay(&folder, "producer_consumer.csv", "--policy internal --lag 300 --limit 60MiB");
    let model = opened(&log);
    let first = |kind| (0..model.events.len()).map(EventIx::next_of).find(|at| model.events.kind(*at) == kind);
    let number = |kind| model.events.number(first(kind).expect("one"));
    let object = |record: u64| -> Value {
        let output = explain(&log, &format!("--record {record} --json"));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    };
    let refusal = object(number(Kind::OutOfMemory));
    assert_eq!(
        (&refusal["alloc"], &refusal["source"], &refusal["verdict"]),
        (&Value::Null, &Value::Null, &"demand".into())
    );
    assert!(refusal["least_change"].as_str().is_some_and(|change| change.contains("a limit larger by")), "{refusal}");
    // The growth's record leads to its malloc.
    let growth = object(number(Kind::GrowPlanned));
    assert_eq!((&growth["source"], &growth["alloc"]), (&"grow".into(), &1.into()));
    assert_eq!(growth["lacking_bytes"], growth["size"], "nothing was there yet");
    let wait = object(number(Kind::WaitInserted));
    assert_eq!((&wait["source"], &wait["verdict"]), (&"internal".into(), &"stream_order".into()));
    assert!(wait["least_change"].as_str().is_some_and(|c| c.contains("an event recorded on stream 1")), "{wait}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let folder = tempdir().expect("a folder");
    let log = replay(&folder, "producer_consumer.csv", "");
    let said = |options: &str, log: &Path| {
        let output = explain(log, options);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = said("--alloc 999999", &log);
    assert!(code == Some(2) && text.contains("1 to 4800"), "{text}");
    let (code, text) = said("--record 0", &log);
    assert!(code == Some(2) && text.contains("belongs to no malloc"), "{text}");
    let (code, text) = said("--alloc 1000 --from 500", &log);
    assert!(code == Some(1) && text.contains("leave --from out"), "{text}");
    let (code, text) = said("--alloc 1000 --to 5000", &log);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traces/producer_consumer.csv");
    let (code, text) = said("--alloc 1000", &trace);
    assert!(code == Some(1) && text.contains("not recorded: another allocator decided"), "{text}");
    // Allocation 5 is not in the part, though later ones are.
    let (code, text) = said("--alloc 5 --from 1000", &log);
    assert!(code == Some(2) && text.contains("a part of the log, from record 1000 on: leave --from out"), "{text}");
    let (code, text) = said("--alloc 5 --from -5", &log);
    assert!(code == Some(2) && text.contains("no mark `-5`; records and times are counted"), "{text}");
    // The first page is gone: the beginning is not there.
    let bytes = std::fs::read(&log).expect("is there");
    let cut = folder.path().join("cut.log");
    std::fs::write(&cut, &bytes[4096..]).expect("is written");
    let (code, text) = said("--alloc 4000", &cut);
    assert!(code == Some(1) && text.contains("not recorded"), "{text}");
}

/// The limit is less than the log's largest mallocs ask for: the record itself says by how much.
#[test]
fn a_malloc_that_was_refused_before_anything_was_looked_for_is_explained() {
    let folder = tempdir().expect("a folder");
    let log = replay(&folder, "producer_consumer.csv", "--limit 4MiB");
    let model = opened(&log);
    let above = |at: &EventIx| match model.events.payload(*at) {
        Payload::Other(Record::Refused { verb: Verb::Malloc, reason: Refusal::AboveLimit(_), size, .. }) => {
            Some((model.events.number(*at), size.0))
        }
        _ => None,
    };
    let refused = (0..model.events.len()).map(EventIx::next_of).find_map(|at| above(&at));
    let (record, asked) = refused.expect("some ask for more than 4 MiB");
    assert!(asked > 4 << 20);
    let output = explain(&log, &format!("--record {record} --json"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((object["verdict"].as_str(), object["refusal"].as_str()), (Some("refused"), Some("above_limit")));
    assert_eq!((object["asked"].as_u64(), object["record"].as_u64()), (Some(asked), Some(record)));
    assert_eq!(object["records_agreed"].as_u64(), Some(record + 1));
    let output = explain(&log, &format!("--record {record}"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("refused before anything was looked for") && text.contains("a larger limit"), "{text}");
}

/// Whatever a log says, the core that is called as it tells refuses what makes no sense.
#[test]
fn a_log_that_was_tampered_with_parts_from_the_core() {
    let folder = tempdir().expect("a folder");
    let log = std::fs::read(replay(&folder, "producer_consumer.csv", "--policy internal --lag 300 --limit 60MiB"))
        .expect("is there");
    let mut lines = vec!["weir-log version=1".to_owned()];
    for stamped in weir::trace::Reader::new(&log).flatten().take(600) {
        let mut line = String::new();
        weir::trace::text::write(&stamped, &mut line).expect("a string takes all");
        lines.push(line.trim_end().to_owned());
    }
    let mut parted = 0;
    for at in (20..lines.len()).step_by(17) {
        for (from, to) in [("offset=", "offset=9"), ("stream=0", "stream=1"), ("asked=", "asked=7"), ("seq=", "seq=8")]
        {
            let mut text = lines.clone();
            text[at] = text[at].replacen(from, to, 1);
            if text[at] == lines[at] {
                continue;
            }
            let model = weir_viz::source::read("tampered", text.join("\n").as_bytes()).expect("a log").model;
            let last = EventIx::next_of(model.events.len() - 1);
            let Ok(capacities) = rebuild::capacities(&model, last) else { continue };
            let mut arenas = HeapArenas::new(capacities);
            let mut rebuild = Rebuild::new(&model, arenas.lend(), last, Looks::Never).expect("whole");
            rebuild.run_through(last);
            parted += u64::from(rebuild.difference().is_some());
        }
    }
    assert!(parted > 50, "{parted} were noticed");
}
