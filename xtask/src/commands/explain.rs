//! `explain`: why a malloc got what it got, and not something cheaper.

use crate::failure::Failure;
use crate::progress;
use crate::replay::Available;
use clap::{Arg, ArgGroup, ArgMatches, Command};
use serde_json::{Value, json};
use std::path::PathBuf;
use weir_viz::explain::{self, ExplainError, Explanation, Untried, What};
use weir_viz::model::Model;
use weir_viz::part::Part;
use weir_viz::progress::Progress;
use weir_viz::source;

/// Candidates in JSON; the rest are counted.
const MOST: usize = 1000;

const HELP: &str = "\
Examples:
  cargo xtask explain target/demo/trace.log --alloc 1234
  cargo xtask explain target/demo/trace.log --alloc 1 --json

The core recomputes the decision: a runtime is rebuilt from the log up to the call, makes the call again, and its log is
held against the first one. Every free block is listed with why it was passed over, from the closest size on.

The verdict splits the needed bytes: free and usable (fragmentation, where they lie in pieces), free but not ordered
before the stream's next work (stream order), and not there (real demand). A malloc that was refused before anything was
looked for (more than the limit, a stream of another device) has the verdict `refused`, with the reason and what to change.

--to spares reading what comes after the decision; a part that begins late is not enough, for what the runtime knew is not
in it.

Exit status: 0 explained, 1 not recorded (another allocator's log, the log's beginning or records are lost, or the two
part), 2 a file that cannot be read, or no such allocation or record.";

pub(crate) fn parser() -> Command {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(clap::value_parser!(u64)).help(help)
    };
    Command::new("explain")
        .about("Explain a decision: the candidates, why each was passed over, and what would have changed it")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("The event log, binary or text, from its beginning on; - for standard input"),
        )
        .arg(number("alloc", "The allocation; ids count the successful mallocs from 1"))
        .arg(number("record", "The record: a malloc, a refusal, or a growth").alias("event"))
        .group(ArgGroup::new("what").args(["alloc", "record"]).required(true))
        .arg(super::json_in_place_of_text())
        .args(super::part_of_log())
        .arg(progress::argument())
        .after_help(HELP)
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let file = arguments.get_one::<PathBuf>("file").cloned().unwrap_or_default();
    let what = match (arguments.get_one::<u64>("alloc"), arguments.get_one::<u64>("record")) {
        (Some(alloc), _) => What::Alloc(*alloc),
        (None, record) => What::Record(record.copied().unwrap_or(0)),
    };
    let progress = progress::handle(arguments);
    let part = super::part(arguments);
    let opened = source::open_part(&file, &part, &progress);
    let opened = opened.map_err(|error| Failure::Unreadable(error.to_string()))?;
    opened.summary().iter().for_each(|damage| tell!("note: {damage}"));
    let (object, text) = match explained(&opened.model, what, &progress).map_err(|failure| in_part(&part, failure))? {
        Ok(explanation) => (object(&explanation, &opened.model), explain::text(&explanation, &opened.model)),
        Err(untried) => (untried_object(&untried), untried.text()),
    };
    if arguments.get_flag("json") {
        say!("{object}");
    } else {
        crate::say::text(&text);
    }
    Ok(())
}

/// What is not in a part may be in the log.
fn in_part(part: &Part, failure: Failure) -> Failure {
    let advice = match part.from {
        Some(_) => "leave --from out, for what the runtime knew before the part is not in it",
        None => "what comes behind --to is not in it",
    };
    match failure {
        Failure::Unreadable(said) if !part.is_whole() => {
            Failure::Unreadable(format!("{said}\nthis is a part of the log, {part}: {advice}"))
        }
        other => other,
    }
}

fn failure(error: ExplainError) -> Failure {
    match error {
        ExplainError::NoAlloc { .. } | ExplainError::NoRecord(_) | ExplainError::NoCall(_) => {
            Failure::Unreadable(error.to_string())
        }
        error => Failure::Failed(error.to_string()),
    }
}

/// Explains a decision of a log, or why there was none to make.
fn explained(model: &Model, what: What, progress: &Progress) -> Result<Result<Explanation, Box<Untried>>, Failure> {
    let event = explain::target(model, what).map_err(failure)?;
    affordable(explain::bytes(model, event).map_err(failure)?).map_err(Failure::Failed)?;
    match explain::explain(model, event, progress) {
        Ok(explanation) => Ok(Ok(explanation)),
        Err(ExplainError::Refused(untried)) => Ok(Err(untried)),
        Err(error) => Err(failure(error)),
    }
}

/// Refuses a runtime for which there is no memory.
fn affordable(needed: u64) -> Result<(), String> {
    let available = Available::now();
    match [available.machine, available.group].into_iter().flatten().min() {
        Some(left) if left < needed => {
            Err(format!("the log's runtime takes {needed} bytes to be rebuilt; {left} are available"))
        }
        _ => Ok(()),
    }
}

/// The fields of an explanation that a call has which was refused before anything was looked for.
fn untried_object(untried: &Untried) -> Value {
    json!({
        "alloc": null,
        "record": untried.record,
        "pool": untried.pool.map(|pool| pool.to_string()),
        "stream": untried.stream.map(|stream| stream.to_string()),
        "asked": untried.asked.0,
        "size": null,
        "offset": null,
        "source": null,
        "candidates": [],
        "more_candidates": 0,
        "verdict": "refused",
        "verdict_text": untried.verdict(),
        "refusal": untried.reason,
        "least_change": untried.change,
        "steps": [],
        "records_agreed": untried.agreed,
    })
}

/// One object on one line. Fields are added, never renamed.
fn object(explanation: &Explanation, model: &Model) -> Value {
    let Explanation { call, outlook, verdict, .. } = explanation;
    let candidates = explanation.candidates.iter().take(MOST).map(|candidate| {
        json!({
            "offset": candidate.offset.0,
            "size": candidate.size.0,
            "taken": candidate.taken,
            "reason": candidate.reason,
        })
    });
    let steps = explanation.steps.iter().map(|(record, what)| json!({ "record": record, "what": what }));
    json!({
        "alloc": call.alloc,
        "record": model.events.number(call.event),
        "pool": call.pool.to_string(),
        "stream": call.stream.to_string(),
        "asked": call.asked.0,
        "size": call.got.map_or(outlook.size.0, |(_, given)| given.0),
        "offset": call.got.map(|(offset, _)| offset.0),
        "source": call.source.map(|source| source.name()),
        "candidates": candidates.collect::<Vec<_>>(),
        "more_candidates": explanation.candidates.len().saturating_sub(MOST),
        "verdict": verdict.kind.name(),
        "verdict_text": verdict.words(),
        "usable_in_pieces_bytes": verdict.pieces,
        "unordered_bytes": verdict.unordered,
        "lacking_bytes": verdict.lacking,
        "unordered_block_bytes": verdict.whole,
        "largest_usable_bytes": verdict.largest_usable,
        "free_bytes": verdict.free,
        "headroom_bytes": outlook.headroom.0,
        "to_map_bytes": outlook.to_map.map(|bytes| bytes.0),
        "movable_bytes": outlook.movable.0,
        "least_change": explanation.change,
        "steps": steps.collect::<Vec<_>>(),
        "records_agreed": explanation.agreed,
    })
}
