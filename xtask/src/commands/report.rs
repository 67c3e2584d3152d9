//! `report`: what an event log tells, as text, numbers, a page or a picture.

use crate::failure::Failure;
use crate::progress;
use crate::project;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use weir::trace::Source;
use weir_viz::cli::{self, Picture};
use weir_viz::model::{Fact, Model};
use weir_viz::output;
use weir_viz::report::{self, Certainty, Expression, Figure, Moved, PoolReport, Report};
use weir_viz::source::Opened;

const HELP: &str = "\
Examples:
  cargo xtask report target/demo/trace.log
  cargo xtask report target/demo/trace.log --html target/demo/report.html
  cargo xtask report target/demo/trace.log --to 2000
  cargo xtask report target/demo/trace.log --fail-if 'peak_reserved > 1.05 * peak_used' --fail-if 'leaks > 0'

leaks are blocks that are live when their pool is destroyed, or at a mark `end of program`; null where blocks are live at
the log's end and it tells neither. A condition on what the log does not tell ends with status 2: it neither holds nor not.

Where records are lost, counts are at least what --json prints (their names are under `at_least`), and peaks and what is
live at the end may have been higher or lower (`open`): a condition that does not hold, or fail, for all that they can be
is one on what the log does not tell; 'refused > 0' holds as soon as one refusal is there.

A condition compares two terms of numbers (3, 1.05, 14GiB), names of --json (`_bytes` may be left out; the parts of
`reuse` are named as reuse.event), + - * / and parentheses.

From stream to stream: each byte of a malloc once, with the stream that freed it last; nobody (null): it was
mapped and not used since, or whose last free is not in the log. A malloc counts in each pair that it has bytes of.

The ordered floor is the largest total of allocations of which no two are ordered free-before-malloc: no pool that adds
no waits and does not ask the device can do with less.

Exit status:
  0  done, and no condition holds
  1  a condition of --fail-if holds, or an output cannot be written
  2  a file that cannot be read, a wrong condition or one on what the log does not tell, or wrong arguments";

pub(crate) fn parser() -> Command {
    let output = |name: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name("OUT").value_parser(clap::value_parser!(PathBuf));
        arg.help(help)
    };
    Command::new("report")
        .about("Report on an event log: peaks and who held them, reuse, waits, fragmentation, leaks, refusals")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("The event log, binary or text; - for standard input"),
        )
        .arg(output("html", "Write one self-contained page, readable in light and dark, instead of text"))
        .arg(output("svg", "Write the timeline as a picture instead of text"))
        .arg(super::json_in_place_of_text())
        .args(super::part_of_log())
        .arg(progress::argument())
        .arg(
            Arg::new("fail-if")
                .long("fail-if")
                .value_name("CONDITION")
                .action(ArgAction::Append)
                .help("Exit with status 1 where this holds, such as 'leaks > 0'; several may be given"),
        )
        .after_help(HELP)
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let texts = arguments.get_many::<String>("fail-if").unwrap_or_default();
    let conditions = texts.map(|text| Expression::parse(text).map_err(|error| wrong(&error)));
    let conditions: Vec<Expression> = conditions.collect::<Result<_, _>>()?;
    let file = arguments.get_one::<PathBuf>("file").cloned().unwrap_or_default();
    let outs: Vec<&PathBuf> = ["html", "svg"].into_iter().filter_map(|name| arguments.get_one(name)).collect();
    spare(&file, &outs)?;
    let (opened, report) = report::open(&file, &super::part(arguments), &progress::handle(arguments))
        .map_err(|error| Failure::Unreadable(error.to_string()))?;
    let figures = report::figures(&report);
    let held = held(&conditions, &figures)?;
    print(arguments, &report, &opened)?;
    held.iter().for_each(|line| tell!("condition holds: {line}"));
    if held.is_empty() { Ok(()) } else { Err(Failure::Said(1)) }
}

/// The log is not written over, by way of a link neither, nor one output by the other.
fn spare(log: &Path, outs: &[&PathBuf]) -> Result<(), Failure> {
    outs.iter().try_for_each(|out| output::spare(log, out)).map_err(|error| Failure::Unreadable(error.to_string()))?;
    match outs {
        [one, other] if one == other || output::is_same(one, other) => {
            Err(Failure::Unreadable(format!("{}: named for two outputs; name another file for one", other.display())))
        }
        _ => Ok(()),
    }
}

fn wrong(error: &report::ExpressionError) -> Failure {
    Failure::Unreadable(format!("--fail-if:\n{error}"))
}

/// The conditions that hold, with their sides worked out.
fn held(conditions: &[Expression], figures: &[Figure]) -> Result<Vec<String>, Failure> {
    let mut held = Vec::new();
    for condition in conditions {
        let holds = condition.holds(figures).map_err(|error| wrong(&error))?;
        let (left, right) = condition.sides(figures).map_err(|error| wrong(&error))?;
        if holds {
            held.push(format!("{} ({left} against {right})", condition.text()));
        }
    }
    Ok(held)
}

fn print(arguments: &ArgMatches, report: &Report, opened: &Opened) -> Result<(), Failure> {
    let out = |name: &str| arguments.get_one::<PathBuf>(name);
    if let Some(out) = out("html") {
        write(out, report::page(report, opened).as_bytes())?;
    }
    if let Some(out) = out("svg") {
        let scene = cli::draw(opened, &Picture::default()).map_err(|error| Failure::Failed(error.to_string()))?;
        write(out, weir_viz::svg::write(&scene).as_bytes())?;
    }
    if arguments.get_flag("json") {
        crate::say::with(|out| write_object(report, &opened.model, out));
    } else if out("html").is_none() && out("svg").is_none() {
        crate::say::text(&report::text(report, &opened.model));
    }
    Ok(())
}

fn write(out: &Path, bytes: &[u8]) -> Result<(), Failure> {
    output::bytes(out, bytes).map_err(|(path, error)| Failure::file("write", &path, error))?;
    say!("{}", project::shown(out));
    Ok(())
}

/// The key of the pools.
const POOLS: &str = "pools";

/// One object on one line. A log may have thousands of pools: they are never all there as JSON.
fn write_object(report: &Report, model: &Model, out: &mut dyn Write) -> io::Result<()> {
    for (at, (key, value)) in object(report).iter().enumerate() {
        write!(out, "{}{}:", if at == 0 { '{' } else { ',' }, json!(key))?;
        if key != POOLS {
            write!(out, "{value}")?;
            continue;
        }
        out.write_all(b"[")?;
        for (at, of) in report.pools.iter().enumerate() {
            write!(out, "{}{}", if at == 0 { "" } else { "," }, pool(of, model))?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"}\n")
}

/// All fields, the pools left open. Fields are added, never renamed.
fn object(report: &Report) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("log".to_owned(), json!(report.name));
    for Figure { name, value, .. } in report::figures(report) {
        // The parts of `reuse` follow as an object.
        if !name.contains('.') {
            object.insert(name, json!(value));
        }
    }
    let reuse = Source::ALL.iter().zip(report.reuse());
    let counts: Map<String, Value> = reuse.map(|(source, of)| (source.name().to_owned(), json!(of.count))).collect();
    let counts = if report.unrecorded.has(Fact::Source) { Value::Null } else { Value::Object(counts) };
    object.insert("reuse".to_owned(), counts);
    object.insert("ordered_floor_is".to_owned(), json!(report.floor.map(|floor| floor.exactness.name())));
    object.insert("not_recorded".to_owned(), json!(report.unrecorded.names().collect::<Vec<_>>()));
    let nanos = Some(report.nanos).filter(|_| !report.unrecorded.has(Fact::Times));
    object.insert("time_ns".to_owned(), json!(nanos));
    object.insert(POOLS.to_owned(), Value::Null);
    object.insert("waits".to_owned(), report.waits.iter().map(waits).collect());
    object.insert("refusals".to_owned(), report.refusals.iter().map(refused).collect());
    let findings: Map<String, Value> =
        report.findings.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    object.insert("findings_by_kind".to_owned(), Value::Object(findings));
    let uncertain = |what: Certainty| -> Vec<String> {
        let figures = report::figures(report).into_iter();
        figures.filter(|figure| figure.value.is_some() && figure.certainty == what).map(|figure| figure.name).collect()
    };
    object.insert("at_least".to_owned(), json!(uncertain(Certainty::AtLeast)));
    object.insert("open".to_owned(), json!(uncertain(Certainty::Open)));
    object.insert("damages".to_owned(), json!(report.damages));
    object.insert("part".to_owned(), json!(report.open_ends));
    object
}

fn pool(pool: &PoolReport, model: &Model) -> Value {
    let record = |event: Option<_>| event.map(|event| model.events.number(event));
    let peak = |peak: report::Peak| json!({ "bytes": peak.bytes, "record": record(peak.event) });
    let holders = pool.holders.iter().map(|holder| {
        json!({
            "label": holder.label,
            "stream": holder.stream.map(|stream| stream.to_string()),
            "bytes": holder.bytes,
            "blocks": holder.blocks,
        })
    });
    let pairs = pool.pairs.iter().map(|pair| {
        json!({
            "from": pair.from.map(|from| from.to_string()),
            "to": pair.to.to_string(),
            "source": pair.source.name(),
            "mallocs": pair.reused.count,
            "bytes": pair.reused.bytes,
        })
    });
    let samples = pool.samples.iter().map(|sample| {
        json!({
            "record": model.events.number(sample.event),
            "used_bytes": sample.used,
            "reserved_bytes": pool.reserved.map(|_| sample.reserved),
            "largest_free_bytes": pool.laid_out.then_some(sample.largest_free),
            "fragmentation": pool.laid_out.then(|| sample.fragmentation()),
        })
    });
    let held = pool.held.iter().map(|held| json!({ "alloc": model.life(held.life).id.0, "length": held.length }));
    let idle = pool.idle.iter().map(|idle| {
        json!({ "alloc": model.life(idle.life).id.0, "before": idle.early, "after": idle.late, "uses": idle.uses })
    });
    json!({
        "pool": pool.id.to_string(),
        "limit_bytes": pool.limit,
        "granule_bytes": pool.granule,
        "mallocs": pool.mallocs,
        "peak_used": peak(pool.used),
        "peak_reserved": pool.reserved.map(peak),
        "asked_at_peak_bytes": pool.asked_at_peak,
        "held_by": holders.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "mapped": moves(&pool.mapped),
        "unmapped": moves(&pool.unmapped),
        "thrash_bytes": pool.reserved.map(|_| pool.thrash),
        "worst_fragmentation": pool.worst_fragmentation(),
        "samples": samples.collect::<Vec<_>>(),
        "held_longest": held.collect::<Vec<_>>(),
        "idle_longest": idle.collect::<Vec<_>>(),
    })
}

fn moves(moves: &[Moved]) -> Value {
    let of = |moved: &Moved| (moved.reason.to_owned(), json!({ "times": moved.times, "bytes": moved.bytes }));
    Value::Object(moves.iter().map(of).collect())
}

fn waits(waits: &report::Waits) -> Value {
    json!({
        "stream": waits.stream.to_string(),
        "on": waits.on.to_string(),
        "count": waits.count,
        "known": waits.known,
        "until_known_complete_ns": waits.nanos,
        "longest_ns": waits.longest,
    })
}

fn refused(refused: &report::Refused) -> Value {
    json!({
        "verb": refused.verb,
        "reason": refused.reason,
        "count": refused.count,
        "bytes": refused.bytes,
        "first_record": refused.record,
        "first": refused.first,
    })
}
