//! `check`: what an event log shows to be wrong with the use of memory.

use crate::failure::Failure;
use crate::follow::{self, News};
use crate::progress;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use weir_viz::check::{self, Checker, Clue, END_OF_PROGRAM, Finding, Operation, Report, Told};
use weir_viz::follow::Feed;

pub(crate) fn parser() -> Command {
    Command::new("check")
        .about("Check an event log: use before malloc and after free, missing order, double frees, leaks")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(clap::value_parser!(OsString))
                .help("The event log, binary or text, or another allocator's log; - for standard input"),
        )
        .arg(Arg::new("strict").long("strict").action(ArgAction::SetTrue).help(
            "Report frees as well that only the pool's knowledge of a use holds back: \
             right here, a fault in a pool that cannot be told of uses",
        ))
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print one JSON object instead of text"),
        )
        .arg(Arg::new("follow").long("follow").action(ArgAction::SetTrue).help(
            "The log grows yet: print findings as they come, and all of it at the end or at Ctrl-C; FILE may be tcp:PORT, \
             too. With --json each finding is an object on a line of its own, and the last line is that of the whole",
        ))
        .args(super::part_of_log())
        .arg(progress::argument())
        .after_help(format!(
            "What is missing in a log is held against nobody. A block leaks that is live when its pool is destroyed, or at \
             a mark of the name `{END_OF_PROGRAM}`.\n\n\
             Examples:\n  cargo xtask check target/demo/trace.log\n  \
             cargo xtask check target/demo/trace.log --from 1000 --to 2000\n\n\
             Exit status: 0 nothing found, 1 findings, 2 a file that cannot be read.",
        ))
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let told = if arguments.get_flag("strict") { Told::Report } else { Told::Accept };
    if arguments.get_flag("follow") {
        return followed(&follow::feed(arguments, "file")?, told, arguments.get_flag("json"));
    }
    let file = PathBuf::from(arguments.get_one::<OsString>("file").cloned().unwrap_or_default());
    let report = check::open(&file, &super::part(arguments), told, &progress::handle(arguments))
        .map_err(|error| Failure::Unreadable(error.to_string()))?;
    print(&report, arguments.get_flag("json"));
    if report.is_clean() { Ok(()) } else { Err(Failure::Said(1)) }
}

fn print(report: &Report, json: bool) {
    match json {
        true => say!("{}", object(report)),
        false => say!("{report}"),
    }
}

/// Damages of a log that grows that are told once more at its end.
const MOST_DAMAGES: usize = 1000;

/// Prints each finding once it shows, and the whole report at the end.
fn followed(feed: &Feed, told: Told, json: bool) -> Result<(), Failure> {
    let (mut checker, mut printed, mut clean, mut damages) = (Checker::new(told), 0, true, Vec::new());
    follow::each(feed, |news| match news {
        News::Read(Ok(stamped)) => checker.push(&stamped),
        News::Read(Err(damage)) => {
            checker.damage(damage.kind);
            tell!("note: {damage}");
            if damages.len() < MOST_DAMAGES {
                damages.push(damage.to_string());
            }
        }
        // What came at once is told at once, so that a finding's notes know what came with it.
        News::Pause if checker.found() > printed => {
            let report = checker.so_far();
            report.findings.iter().skip(printed).for_each(|finding| match json {
                true => say!("{}", self::finding(finding)),
                false => say!("{finding}"),
            });
            printed = checker.found();
        }
        News::Pause => {}
        News::End => {
            let checker = std::mem::replace(&mut checker, Checker::new(told));
            let damages = std::mem::take(&mut damages);
            let report = Report { name: feed.to_string(), damages, ..checker.finish() };
            (printed, clean) = (0, clean && report.is_clean());
            print(&report, json);
        }
    })?;
    if clean { Ok(()) } else { Err(Failure::Said(1)) }
}

fn object(report: &Report) -> Value {
    let list = |findings: &[Finding]| findings.iter().map(finding).collect::<Vec<_>>();
    let by_kind: serde_json::Map<String, Value> =
        report.by_fault.iter().map(|(fault, count)| (fault.name().to_owned(), json!(count))).collect();
    json!({
        "log": report.name,
        "clean": report.is_clean(),
        "records": report.records,
        "mallocs": report.mallocs,
        "frees": report.frees,
        "uses": report.uses,
        "told_uses": report.told,
        "streams": report.streams,
        "total": report.total(),
        "by_kind": by_kind,
        "findings": list(&report.findings),
        "not_judged": list(&report.not_judged),
        "more_not_judged": report.more_not_judged,
        "damages": report.damages,
        "part": report.open_ends,
    })
}

fn finding(finding: &Finding) -> Value {
    let memory = finding
        .memory
        .map(|memory| json!({ "pool": memory.pool.to_string(), "offset": memory.offset.0, "bytes": memory.bytes.0 }));
    let missing = finding.missing.as_ref().map(|missing| {
        json!({
            "record_on": missing.record_on.to_string(),
            "after_seq": missing.after.0,
            "wait_on": missing.wait_on.map(|stream| stream.to_string()),
            "before_seq": missing.before.map(|seq| seq.0),
            "clues": missing.clues.iter().map(clue).collect::<Vec<_>>(),
        })
    });
    json!({
        "kind": finding.fault.name(),
        "meaning": finding.fault.meaning(),
        "allocation": finding.allocation.map(|id| id.0),
        "memory": memory,
        "first": finding.first.as_ref().map(operation),
        "second": operation(&finding.second),
        "missing": missing,
    })
}

fn operation(operation: &Operation) -> Value {
    json!({
        "record": operation.record,
        "time_ns": operation.time.0,
        "what": operation.what.to_string(),
        "stream": operation.stream.map(|stream| stream.to_string()),
        "seq": operation.seq.map(|seq| seq.0),
    })
}

fn clue(clue: &Clue) -> Value {
    let (kind, record, event) = match *clue {
        Clue::Recorded { record, event, .. } => ("recorded", record, event),
        Clue::TooLate { record, event } => ("too_late", record, event),
        Clue::TooEarly { record, event, .. } => ("too_early", record, event),
        Clue::NeverRecorded { record, event } => ("never_recorded", record, event),
        Clue::Replaced { record, event } => ("replaced", record, event),
    };
    json!({ "kind": kind, "record": record, "event": event.to_string(), "text": clue.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "weir-log version=1\n\
        number=0 time=0 record=begin version=0.1.0 policy=1 streams=2 events=2 markers=2 pools=1 blocks=9 granules=9\n\
        number=1 time=1 record=pool_created pool=0\n\
        number=2 time=2 record=malloc pool=0 stream=0 seq=1 id=1 asked=9 given=512 offset=0 source=grow label=0 points=- epoch=0\n";
    const FREE: &str = "number=3 time=3 record=free pool=0 stream=0 seq=2 id=1 offset=0 given=512\n";
    const REUSE: &str = "number=4 time=4 record=malloc pool=0 stream=1 seq=1 id=2 asked=9 given=512 offset=0 source=event \
        label=0 points=0@2 epoch=0\n";

    /// The command's outcome on a log of this text.
    fn outcome(text: &str) -> Result<(), Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("a.log");
        std::fs::write(&log, text).expect("a temporary file");
        run(&parser().try_get_matches_from(["check".into(), log.into_os_string()]).expect("parses"))
    }

    #[test]
    fn exit_status_0_is_clean_1_has_findings_2_cannot_be_read() {
        assert!(outcome(&format!("{HEAD}{FREE}")).is_ok());
        assert!(matches!(outcome(&format!("{HEAD}{FREE}{REUSE}")), Err(Failure::Said(1))));
        assert!(matches!(outcome(""), Err(Failure::Unreadable(_))));
        assert!(matches!(outcome("a,b,c\n"), Err(Failure::Unreadable(_))));
        let matches = parser().try_get_matches_from(["check", "/no/such/file"]).expect("parses");
        assert!(matches!(run(&matches), Err(Failure::Unreadable(_))));
    }

    #[test]
    fn the_object_names_operations_streams_and_what_is_missing() {
        let text = format!("{HEAD}{FREE}{REUSE}");
        let report = check::read("x.log", text.as_bytes(), Told::Accept).expect("a log");
        let object = object(&report);
        let finding = &object["findings"][0];
        assert_eq!((&object["clean"], &object["total"]), (&json!(false), &json!(1)));
        assert_eq!(finding["kind"], "reuse_before_free");
        assert_eq!((&finding["first"]["record"], &finding["first"]["stream"]), (&json!(3), &json!("0")));
        assert_eq!((&finding["second"]["record"], &finding["second"]["stream"]), (&json!(4), &json!("1")));
        let missing = json!({ "record_on": "0", "after_seq": 2, "wait_on": "1", "before_seq": 1, "clues": [] });
        assert_eq!(finding["missing"], missing);
    }
}
