//! A log in the formats of others: read back by weir, and by Python as a third party.

mod common;

use common::{POOL, Tape, event, stream};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use weir::driver::{DriverCall, DriverError, DriverErrorKind};
use weir::id::LabelId;
use weir::trace::{Record, Refusal, Source, UnmapReason, Verb, text};
use weir::units::{Bytes, MIB, Seq};
use weir_viz::export::{self, Format};
use weir_viz::import::{self, Op};
use weir_viz::part::{Part, Place};
use weir_viz::progress::Progress;
use weir_viz::report;
use weir_viz::source::{self, Opened};

/// Two streams; the second gets the first one's block along an event; a refusal, a mark, and granules given back.
fn log() -> Vec<u8> {
    let mut tape = Tape::begin(64 * MIB, 0, 2);
    tape.time = 10_000;
    tape.map(0, 2);
    tape.malloc(1, 0, 0, 3 * MIB, Source::Grow);
    tape.time += 1_500;
    tape.malloc(2, 1, 3 * MIB, 512, Source::Grow);
    tape.push(Record::Mark { label: LabelId::NONE, name: "step, one" });
    tape.free(1, 0, 0, 3 * MIB);
    tape.push(Record::Recorded { event: event(4), stream: stream(0), seq: Seq(3), number: 1 });
    tape.push(Record::Waited { stream: stream(1), seq: Seq(2), event: event(4), number: 1 });
    tape.time += 1_000;
    tape.malloc(3, 1, 0, MIB, Source::Event);
    let error = DriverError { call: DriverCall::Create, code: 2, kind: DriverErrorKind::Exhausted };
    let (pool, stream) = (Some(POOL), Some(stream(1)));
    let reason = Refusal::Driver(error);
    tape.push(Record::Refused { verb: Verb::Malloc, pool, stream, size: Bytes(99 * MIB), reason });
    tape.free(3, 1, 0, MIB);
    tape.unmap(0, 1, UnmapReason::Trim);
    let mut out = format!("{}\n", text::HEADER);
    for stamped in &tape.records {
        text::write(stamped, &mut out).unwrap();
        out.push('\n');
    }
    out.into_bytes()
}

fn opened(bytes: &[u8]) -> Opened {
    source::read("a.log", bytes).unwrap()
}

fn written(format: &str) -> (Vec<u8>, Vec<String>) {
    let bytes = log();
    let mut out = Vec::new();
    let format = Format::of_name(format).unwrap();
    let notes = export::write(format, &opened(&bytes), &bytes, &mut out).unwrap();
    (out, notes)
}

fn text_of(format: &str) -> String {
    String::from_utf8(written(format).0).unwrap()
}

/// A file whose content another format's reader takes for a log again.
fn back(name: &str, bytes: &[u8]) -> Opened {
    source::open(&file(name, bytes)).unwrap_or_else(|error| panic!("{error}"))
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{name}"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What a Python program prints that reads the file. Nothing, and a word, where there is no Python, or not the modules.
fn python(program: &str, modules: &[&str], input: &[u8]) -> Option<String> {
    let run = |words: &[&str], input: &[u8]| {
        let mut child = Command::new("python3")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // A program that ends early has read enough.
        let _ = child.stdin.take()?.write_all(input);
        child.wait_with_output().ok()
    };
    let imports = format!("import sys, {}", modules.join(", "));
    if !run(&["-c", &imports], b"").is_some_and(|output| output.status.success()) {
        eprintln!("skipped: no python3 with {}", modules.join(" and "));
        return None;
    }
    let output = run(&["-c", program], input).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn text_is_the_same_log() {
    let (out, notes) = written("text");
    assert_eq!(out, log());
    assert!(notes.is_empty(), "{notes:?}");
    // Damage stays told.
    let mut bytes = log();
    let at = bytes.windows(6).position(|window| window == b"id=2 a").unwrap();
    bytes[at] = b'x';
    let mut out = Vec::new();
    export::write(Format::Text, &opened(&bytes), &bytes, &mut out).unwrap();
    let again = opened(&out);
    assert!(again.damages.iter().any(|damage| damage.contains("line skipped")), "{:?}", again.damages);
}

#[test]
fn rmm_has_the_rows_of_rmm_alone() {
    let rows = text_of("rmm");
    assert_eq!(
        rows,
        "Thread,Time,Action,Pointer,Size,Stream\n\
         0,00:00:00.010000,allocate,0x7f0000000000,3145721,0x0\n\
         0,00:00:00.011500,allocate,0x7f0000300000,505,0x1\n\
         0,00:00:00.011500,free,0x7f0000000000,3145721,0x0\n\
         0,00:00:00.012500,allocate,0x7f0000000000,1048569,0x1\n\
         0,00:00:00.012500,allocate failure,(nil),103809024,0x1\n\
         0,00:00:00.012500,free,0x7f0000000000,1048569,0x1\n"
            .replace(".010000", ".000010")
            .replace(".011500", ".000011")
            .replace(".012500", ".000012")
    );
    assert_eq!(written("rmm").1, ["marks are left out"]);
    assert_eq!(back("rmm.csv", rows.as_bytes()).model.pools[0].used.peak().0, 3 * MIB - 7 + 505);
}

#[test]
fn rmm_with_order_is_a_program_to_replay() {
    let program = import::read(text_of("rmm-order").as_bytes(), None).expect("a program");
    let right = [
        Op::Allocate { block: 0 },
        Op::Allocate { block: 1 },
        Op::Mark { number: 1 },
        Op::Free { block: 0, stream: 0 },
        Op::Record { event: 0, stream: 0 },
        Op::Wait { stream: 1, event: 0 },
        Op::Allocate { block: 2 },
        Op::Nothing,
        Op::Free { block: 2, stream: 1 },
    ];
    assert_eq!(program.ops, right);
    assert_eq!(program.marks, [Some("step, one".to_owned())]);
}

#[test]
fn csv_has_a_row_for_each_record() {
    let rows = text_of("csv");
    assert_eq!(rows.lines().count(), 1 + opened(&log()).model.events.len());
    let wait = rows.lines().find(|line| line.contains("waited")).unwrap();
    assert_eq!(wait, "10,11500,waited,,1,2,,,,,,,,event=4 number=1");
    let program = "import csv, sys\nrows = list(csv.DictReader(sys.stdin))\n\
        print(sum(int(r['given']) for r in rows if r['record'] == 'malloc'), [r['label'] for r in rows if r['label']])";
    if let Some(said) = python(program, &["csv"], rows.as_bytes()) {
        assert_eq!(said.trim(), format!("{} ['step, one']", 4 * MIB + 512));
    }
}

#[test]
fn allocations_and_decisions_are_tables() {
    let rows = text_of("csv-allocations");
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with("1,0,0,0,,3145721,3145728,0,grow,"), "{}", lines[1]);
    assert!(lines[1].ends_with(",0,freed,") && lines[2].ends_with(",,,,live,"), "{rows}");
    assert!(lines[3].ends_with(",1,freed,1"), "the third has the first one's memory: {}", lines[3]);
    let rows = text_of("csv-decisions");
    let refused: Vec<&str> = rows.lines().filter(|line| line.contains(",103809024,")).collect();
    assert_eq!(refused, ["12,12500,0,0,1,0,,103809024,,,,1049088,4194304,driver"]);
}

/// Python's own unpickler is told to refuse every class, and the opcodes are those that PyTorch's page knows.
const UNPICKLE: &str = r#"
import io, pickle, pickletools, sys
data = sys.stdin.buffer.read()
known = set('PROTO MARK STOP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE EMPTY_DICT EMPTY_LIST '
            'EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS'.split())
found = {op.name for op, _, _ in pickletools.genops(data)}
assert found <= known, found - known
class Plain(pickle.Unpickler):
    def find_class(self, *name): raise ValueError(name)
s = Plain(io.BytesIO(data)).load()
for segment in s['segments']:
    at = segment['address']
    for block in segment['blocks']:
        assert block['address'] == at, (block, at)
        at += block['size']
    assert at == segment['address'] + segment['total_size']
    assert segment['allocated_size'] == sum(b['size'] for b in segment['blocks'] if b['state'] == 'active_allocated')
print([(e['action'], e.get('addr', e.get('device_free')), e['size'], e['stream'], e['time_us']) for e in s['device_traces'][0]])
print([(x['total_size'], x['allocated_size']) for x in s['segments']])
"#;

#[test]
fn pytorch_s_snapshot_is_plain_and_sums_up() {
    let (out, notes) = written("pytorch");
    assert_eq!(notes[0], "a segment has one stream there; its blocks may be of any");
    // weir's own reader: another piece of code than the writer.
    let again = back("pickle", &out);
    let (one, two) = (&opened(&log()).model.pools[0], &again.model.pools[0]);
    // PyTorch's entries have what is asked for as their size; weir's say what a block takes, too.
    assert_eq!((two.used.peak().0, two.used.last()), (3 * MIB + 512, 512));
    assert_eq!((one.reserved.peak().0, one.reserved.last()), (two.reserved.peak().0, two.reserved.last()));
    assert_eq!(again.model.lives.len(), 3);
    if let Some(said) = python(UNPICKLE, &["pickle", "pickletools"], &out) {
        let base = 0x7f00_0000_0000_u64;
        let second = base + 3 * MIB;
        let right = format!(
            "[('segment_map', {base}, 4194304, 0, 10), ('alloc', {base}, 3145721, 0, 10), ('alloc', {second}, 505, 1, 11), \
             ('free_requested', {base}, 3145721, 0, 11), ('free_completed', {base}, 3145721, 0, 11), \
             ('alloc', {base}, 1048569, 1, 12), ('oom', 0, 103809024, 1, 12), ('free_requested', {base}, 1048569, 1, 12), \
             ('free_completed', {base}, 1048569, 1, 12), ('segment_unmap', {base}, 2097152, 0, 12)]\n[(2097152, 512)]\n"
        );
        assert_eq!(said, right);
    }
}

const JSON: &str = r#"
import json, sys
events = json.load(sys.stdin)['traceEvents']
last, open_, flows = {}, {}, {}
for e in events:
    if e['ph'] == 'X':
        key = (e['pid'], e['tid'])
        assert e['ts'] >= last.get(key, 0) - 1e-9, e      # slices of a stream do not overlap
        last[key] = e['ts'] + e['dur']
    if e['ph'] == 'b': open_[e['id']] = e
    if e['ph'] == 'e': del open_[e['id']]
    if e['ph'] in 'sf': flows.setdefault(e['id'], []).append(e)
    if e['ph'] == 'C': assert e['args'] and all(isinstance(v, int) for v in e['args'].values())
assert all([e['ph'] for e in f] == ['s', 'f'] and f[0]['ts'] <= f[1]['ts'] and f[1]['bp'] == 'e' for f in flows.values())
counters = [e['args'] for e in events if e['ph'] == 'C']
print(max(c['used'] for c in counters), max(c['reserved'] for c in counters), sorted(open_), [f[0]['name'] for f in flows.values()])
"#;

#[test]
fn perfetto_has_counters_slices_and_arrows() {
    let (out, _) = written("perfetto");
    let again = back("chrome.json", &out);
    let (one, two) = (&opened(&log()).model.pools[0], &again.model.pools[0]);
    assert_eq!((one.used.peak().0, one.reserved.peak().0), (two.used.peak().0, two.reserved.peak().0));
    assert_eq!(again.model.lives.len(), 3);
    if let Some(said) = python(JSON, &["json"], &out) {
        assert_eq!(said.trim(), format!("{} {} [2] ['wait', 'reuse']", 3 * MIB + 512, 4 * MIB));
    }
}

/// What a log does not record stands in no file as if it did.
#[test]
fn what_is_not_recorded_is_left_out() {
    let rmm = "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x1000,300,0\n1,2,free,0x1000,300,0\n";
    let path = file("foreign.csv", rmm.as_bytes());
    let bytes = source::load(&path, &Progress::default()).unwrap();
    let opened = source::read_file(&path, &bytes, &Progress::default()).unwrap();
    let write = |format| {
        let mut out = Vec::new();
        let notes = export::write(Format::of_name(format).unwrap(), &opened, &bytes, &mut out).unwrap();
        (String::from_utf8_lossy(&out).into_owned(), notes)
    };
    let (rows, notes) = write("csv");
    assert!(rows.contains("\n0,1000,malloc,0,0,1,1,,300,,4096,,,\n"), "neither source nor rounding: {rows}");
    assert!(rows.contains("\n1,2000,free,0,0,2,1,,300,,4096,,,\n"), "{rows}");
    assert!(notes[0].starts_with("translated from RMM's CSV; not recorded there: source"), "{notes:?}");
    let (trace, _) = write("perfetto");
    assert!(!trace.contains("eserved\":") && trace.contains("\"source\":\"not recorded\""), "{trace}");
    assert!(write("text").0.contains("# not recorded: source, order"), "the text says so itself");
    assert!(write("csv-decisions").0.ends_with(",300,,,,300,,\n"), "given and reserved are blank");
}

/// Lifetimes have no addresses: their blocks lie nowhere, and nothing lies between them.
#[test]
fn blocks_without_addresses_are_segments_of_their_own() {
    let part = "id,lower,upper,size\n1,0,9,1000\n2,1,9,5000000\n3,2,4,300\n";
    let path = file("placeless.csv", part.as_bytes());
    let whole = source::load(&path, &Progress::default()).unwrap();
    // Before anything is freed.
    let bytes = Part { from: None, to: Some(Place::Record(2)) }.of(&whole).unwrap();
    let opened = source::read("placeless", &bytes).unwrap();
    let mut out = Vec::new();
    let notes = export::write(Format::Pickle, &opened, &bytes, &mut out).unwrap();
    assert!(notes.iter().any(|note| note.contains("does not say which stream")), "{notes:?}");
    let program = "import pickle, sys\nfor s in pickle.load(sys.stdin.buffer)['segments']:\n \
                   print(s['total_size'], [b['state'] for b in s['blocks']])";
    if let Some(said) = python(program, &["pickle"], &out) {
        let block = |bytes: u64| format!("{bytes} ['active_allocated']");
        assert_eq!(said.trim(), [block(1000), block(5_000_000), block(300)].join("\n"));
    }
}

#[test]
fn a_part_is_exported_alone() {
    let path = file("part.log", &log());
    let out = path.with_extension("csv");
    let part = Part { from: Some(Place::parse("step, one")), to: Some(Place::parse("11.5us")) };
    let told = export::file(&path, &part, Format::of_name("csv").unwrap(), &out, &Progress::default()).unwrap();
    assert_eq!(told, ["blocks from before the log are there without their malloc"; 0], "what is left out is no damage");
    let rows = std::fs::read_to_string(&out).unwrap();
    let numbers: Vec<&str> = rows.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(numbers, ["7", "8", "9", "10"]);
    let nothing = Part { from: Some(Place::parse("step, one")), to: Some(Place::parse("1us")) };
    let error = export::file(&path, &nothing, Format::Text, &out, &Progress::default()).unwrap_err().to_string();
    assert!(error.contains("1000 ns comes before the mark `step, one`"), "{error}");
}

/// A part of a log is one in another format, too.
#[test]
fn a_part_is_known_as_one_when_it_is_read_again() {
    let part = Part { from: Some(Place::Record(4)), to: None };
    let path = file("again.log", &log());
    for format in ["text", "perfetto", "pytorch"] {
        let out = path.with_extension(format);
        export::file(&path, &part, Format::of_name(format).unwrap(), &out, &Progress::default()).unwrap();
        let origin = source::open(&out).unwrap().origin;
        assert_eq!((origin.part.as_str(), origin.begins_late()), ("from record 4 on", true), "{format}");
    }
    let (out, format) = (path.with_extension("csv"), Format::Rmm);
    let told = export::file(&path, &part, format, &out, &Progress::default()).unwrap();
    assert!(told.contains(&"RMM's rows have no room to say that this is a part of a log".to_owned()), "{told:?}");
}

/// A trace says how much is mapped, and not where: there is no fragmentation to tell of, not one that is wrong.
#[test]
fn where_memory_is_mapped_is_in_no_trace() {
    let fragmentation = |path: &Path| {
        let (_, report) = report::open(path, &Part::default(), &Progress::default()).unwrap();
        report.pools[0].worst_fragmentation()
    };
    assert!(fragmentation(&file("mapped.log", &log())).is_some());
    assert_eq!(fragmentation(&file("mapped.json", &written("perfetto").0)), None);
    assert!(fragmentation(&file("mapped.pickle", &written("pytorch").0)).is_some());
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::*;

    fn tables() -> Vec<(&'static str, PathBuf)> {
        [("events", "parquet"), ("allocations", "parquet-allocations"), ("decisions", "parquet-decisions")]
            .map(|(name, format)| (name, file(&format!("{name}-1.parquet"), &written(format).0)))
            .to_vec()
    }

    #[test]
    fn pyarrow_reads_what_csv_says() {
        for (name, path) in tables() {
            let program = format!(
                "import pyarrow.parquet as p\nt = p.read_table({:?}).to_pylist()\n\
                 print(','.join(t[0]))\n\
                 for r in t: print('|'.join('' if v is None else str(v) for v in r.values()))",
                path.display().to_string()
            );
            let Some(said) = python(&program, &["pyarrow.parquet"], b"") else { continue };
            let csv = text_of(&if name == "events" { "csv".to_owned() } else { format!("csv-{name}") });
            let mut lines = csv.lines();
            assert_eq!(said.lines().next(), lines.next(), "{name}");
            let plain = |line: &str| line.replace(['"'], "").replace(',', "|");
            // Names that hold a comma differ in their quotes only.
            let rows: Vec<String> = said.lines().skip(1).map(|line| line.replace(',', "|")).collect();
            assert_eq!(rows, lines.map(plain).collect::<Vec<_>>(), "{name}");
        }
    }

    /// The queries of `tables.md`, as they stand there.
    #[test]
    fn duckdb_answers_the_three_queries() {
        let folder = tables().remove(0).1.parent().unwrap().display().to_string();
        let text = include_str!("../src/export/tables.md");
        let sql = text.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let sql = sql.replace("read_parquet('", &format!("read_parquet('{folder}/export-"));
        let program = format!(
            "import duckdb\nfor q in [q for q in {sql:?}.split(';') if q.strip()]: print(duckdb.sql(q).fetchall())"
        );
        let Some(said) = python(&program, &["duckdb"], b"") else { return };
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("decisions-1.parquet', 3146240, 4194304, 11500)"), "{}", lines[0]);
        assert_eq!(lines[1], "[('grow', 2, 3146240), ('event', 1, 1048576)]");
        assert!(lines[2].starts_with("[('', 3, ") && lines[2].ends_with(", 512)]"), "{}", lines[2]);
    }
}

/// A link stays one, and what is no file is written to.
#[cfg(unix)]
#[test]
fn what_the_output_is_stays_what_it_is() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (log, target, link, pipe) =
        (place("kept-in.log"), place("kept-target"), place("kept-link"), place("kept-pipe"));
    std::fs::write(&log, self::log()).expect("a temporary file");
    std::fs::write(&target, "old").expect("a temporary file");
    for old in [&link, &pipe] {
        let _ = std::fs::remove_file(old);
    }
    symlink(&target, &link).expect("a link");
    let written =
        |out: &Path| export::file(&log, &Part::default(), Format::Text, out, &Progress::default()).expect("is written");
    written(&link);
    assert!(link.symlink_metadata().expect("is there").is_symlink());
    let text = std::fs::read_to_string(&target).expect("is there");
    assert!(text.starts_with(text::HEADER), "{text}");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("is a part of every Unix").success());
    std::thread::scope(|threads| {
        let read = threads.spawn(|| std::fs::read_to_string(&pipe).expect("is read"));
        written(&pipe);
        assert_eq!(read.join().expect("ends"), text);
    });
    assert!(pipe.metadata().expect("is there").file_type().is_fifo());
}

/// Frees, uses and records that were refused: with the stream, the pool and the reason, wherever there is a place for them.
#[test]
fn refused_calls_other_than_mallocs_are_told() {
    let mut text = String::from_utf8(log()).expect("is text");
    let next = opened(text.as_bytes()).model.events.len();
    let numbered = |n: usize| format!("number={} ", next + n);
    text += "number=20 time=20000 record=refused verb=free pool=0 stream=1 size=0 reason=already_free ptr=0x7f0000000000 freed_at=0@3\n\
             number=21 time=20000 record=refused verb=record pool=- stream=- size=0 reason=stale\n\
             number=22 time=20000 record=refused verb=use pool=0 stream=- size=0 reason=bad_pointer ptr=0x10\n";
    for n in 0..3 {
        text = text.replace(&format!("number={} ", 20 + n), &numbered(n));
    }
    let bytes = text.into_bytes();
    let opened = opened(&bytes);
    let write = |format| {
        let mut out = Vec::new();
        let notes = export::write(Format::of_name(format).unwrap(), &opened, &bytes, &mut out).unwrap();
        (String::from_utf8_lossy(&out).into_owned(), notes)
    };
    let (trace, notes) = write("perfetto");
    assert!(notes.is_empty(), "{notes:?}");
    let events: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = events["traceEvents"].as_array().expect("a list");
    let refused: Vec<_> = events.iter().filter(|event| event["cat"] == "refused").collect();
    let told =
        |at: usize| (refused[at]["name"].as_str(), refused[at]["args"]["why"].as_str(), refused[at]["pid"].as_u64());
    assert_eq!(refused.len(), 4);
    let already = "0x7f0000000000 is free already, by stream 0 at 3";
    assert_eq!(told(1), (Some("free refused"), Some(already), Some(0)));
    assert_eq!(told(2), (Some("record refused"), Some("stale"), Some(0)));
    assert_eq!(told(3), (Some("use refused"), Some("0x10 is in no pool"), Some(1)));
    let rows = write("csv").0;
    assert!(
        rows.contains(",20000,refused,0,1,,,,,,,,,verb=free size=0 reason=already_free ptr=0x7f0000000000"),
        "{rows}"
    );
    assert!(rows.contains(",20000,refused,,,,,,,,,,,verb=record size=0 reason=stale\n"), "{rows}");
    for format in ["rmm", "rmm-order", "pytorch"] {
        let notes = write(format).1;
        assert!(notes.iter().any(|note| note == "refused calls other than mallocs are left out"), "{format} {notes:?}");
    }
}
