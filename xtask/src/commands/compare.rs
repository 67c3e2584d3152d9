//! `compare`: two event logs side by side.

use crate::failure::Failure;
use crate::progress;
use clap::{Arg, ArgMatches, Command};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use weir::trace::Source;
use weir_viz::compare::{self, Comparison, Section};
use weir_viz::progress::Unit;
use weir_viz::source::{self, Opened, STDIN};

const HELP: &str = "\
Example:
  cargo xtask compare target/demo/trace.log target/demo/what-if.log

The logs are aligned on marks of the same names. Of each the pool with most allocations is looked at; where there are
several it is named, with the peaks of all pools beside its own. Mallocs are matched in their order, by stream and size; one
has lost its reuse that cost nothing in A, and grew, asked or waited in B.

Exit status: 0 compared, 2 a file that cannot be read.";

pub(crate) fn parser() -> Command {
    let file = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).value_name(value).required(true).value_parser(clap::value_parser!(PathBuf)).help(help)
    };
    Command::new("compare")
        .about("Compare two event logs: where peaks differ, which labels grew, which reuse was lost")
        .arg(file(
            "one",
            "A",
            "The first event log, such as the one before a change; one of the two may be - for standard input",
        ))
        .arg(file("other", "B", "The second"))
        .arg(super::json_in_place_of_text())
        .args(super::part_of_log())
        .arg(progress::argument())
        .after_help(HELP)
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let (part, progress) = (super::part(arguments), progress::handle(arguments));
    if ["one", "other"]
        .iter()
        .all(|name| arguments.get_one::<PathBuf>(name).is_some_and(|file| file == Path::new(STDIN)))
    {
        return Err(Failure::Unreadable("both logs are -, the standard input, which can be read once".to_owned()));
    }
    let open = |name: &str| -> Result<Opened, Failure> {
        let file = arguments.get_one::<PathBuf>(name).cloned().unwrap_or_default();
        let opened = source::open_part(&file, &part, &progress);
        let opened = opened.map_err(|error| Failure::Unreadable(error.to_string()))?;
        opened.summary().iter().for_each(|damage| tell!("note: {}: {damage}", file.display()));
        Ok(Opened { name: file.display().to_string(), ..opened })
    };
    let (one, other) = (open("one")?, open("other")?);
    let task = progress.begin("comparing", Unit::Nothing, None);
    let comparison = Comparison::of(&one, &other);
    drop(task);
    if arguments.get_flag("json") {
        say!("{}", object(&comparison));
    } else {
        crate::say::text(&compare::text(&comparison));
    }
    Ok(())
}

/// One object on one line. Fields are added, never renamed.
fn object(comparison: &Comparison) -> Value {
    let labels = comparison.labels.iter().map(
        |growth| json!({ "label": growth.label, "peak_bytes": growth.peak, "grown_bytes": growth.grown() as i64 }),
    );
    let pairs = comparison.pairs.iter().map(|pair| {
        json!({
            "from": pair.from.to_string(),
            "to": pair.to.to_string(),
            "source": pair.source.name(),
            "mallocs": pair.mallocs,
        })
    });
    let matched = &comparison.matched;
    let largest = matched.largest.iter().map(|lost| {
        json!({
            "alloc": lost.alloc,
            "source": lost.source.map(Source::name),
            "asked": lost.asked,
            "label": lost.label,
        })
    });
    let moved = |from: &Source| {
        let counts =
            Source::ALL.iter().map(|to| (to.name().to_owned(), json!(matched.sources[*from as usize][*to as usize])));
        (from.name().to_owned(), Value::Object(counts.collect()))
    };
    let told = |value: Value| if comparison.tells_sources() { value } else { Value::Null };
    json!({
        "logs": comparison.names,
        "pools": comparison.pools.map(|pool| pool.map(|(id, count)| json!({ "pool": id.to_string(), "of": count }))),
        "all_pools": {
            "peak_used_bytes": comparison.all_pools.map(|peaks| peaks.0),
            "peak_reserved_bytes": comparison.all_pools.map(|peaks| peaks.1),
        },
        "parts": comparison.open_ends,
        "whole": section(&comparison.whole),
        "sections": comparison.sections.iter().map(section).collect::<Vec<_>>(),
        "odd_marks": comparison.odd_marks,
        "labels": labels.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "mallocs_in_both": matched.count,
        "mallocs_alone": matched.alone,
        "sources": told(Source::ALL.iter().map(moved).collect::<Map<String, Value>>().into()),
        "reuse_lost": told(matched.lost.into()),
        "reuse_lost_bytes": told(matched.lost_bytes.into()),
        "reuse_won": told(matched.won.into()),
        "lost": largest.collect::<Vec<_>>(),
    })
}

fn section(section: &Section) -> Value {
    let both = |of: fn(&compare::Side) -> u64| section.sides.each_ref().map(of);
    let reuse = Source::ALL.iter().map(|source| {
        (source.name().to_owned(), json!(section.sides.map(|side| side.reuse.map(|reuse| reuse[*source as usize]))))
    });
    json!({
        "from": section.from,
        "to": section.to,
        "peak_used_bytes": both(|side| side.peak_used),
        "peak_reserved_bytes": section.sides.each_ref().map(|side| side.peak_reserved),
        "refused": both(|side| side.refused),
        "reuse": reuse.collect::<Map<String, Value>>(),
    })
}
