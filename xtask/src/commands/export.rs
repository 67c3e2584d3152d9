//! `export`: a log in the formats of others.

use crate::failure::Failure;
use crate::progress;
use crate::project;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use weir_viz::export::{self, ExportError, Format};
use weir_viz::source::STDIN;

pub(crate) fn parser() -> clap::Command {
    let path = clap::value_parser!(PathBuf);
    clap::Command::new("export")
        .about("Write a log for other tools: Perfetto, PyTorch's memory viewer, RMM's replay, CSV, Parquet, text")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(path.clone())
                .help("The log: weir's, or another allocator's; - for standard input"),
        )
        .arg(
            Arg::new("to-format")
                .long("format")
                .visible_alias("as")
                .value_name("FORMAT")
                .required(true)
                .value_parser(PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)))
                .help("What to write"),
        )
        .arg(Arg::new("out").value_name("OUT").required(true).value_parser(path).help("The file to write"))
        .args(super::part_of_log())
        .arg(progress::argument())
        .after_help(
            "csv and parquet have a row for each record; csv-allocations and parquet-allocations one for each allocation, \
             ...-decisions one for each malloc that was granted or refused. The columns are described, with queries to \
             begin with, in viz/src/export/tables.md. rmm has the rows of RMM's own log; rmm-order also those for events, \
             waits and synchronisations, which `cargo xtask replay` reads.\n\n\
             Example:\n  cargo xtask export target/demo/trace.log --format perfetto target/demo/trace.json\n\n\
             Exit status: 0 written, 1 not written, 2 a file that cannot be read.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let path = |name| arguments.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let (log, out) = (path("file"), path("out"));
    let word = |name| arguments.get_one::<String>(name).map(String::as_str);
    let name = word("to-format").unwrap_or_default();
    let format = Format::of_name(name).ok_or_else(|| Failure::Unreadable(format!("no format {name}")))?;
    if format.is_built() {
        let progress = progress::handle(arguments);
        let told =
            export::file(&log, &super::part(arguments), format, &out, &progress).map_err(|error| match error {
                ExportError::Write(..) => Failure::Failed(error.to_string()),
                _ => Failure::Unreadable(error.to_string()),
            })?;
        told.iter().for_each(|line| tell!("note: {line}"));
    } else {
        build_and_run(&log, name, &out, [word("from"), word("to"), word("progress")])?;
    }
    say!("{name}: {}", project::shown(&out));
    Ok(())
}

/// Lets the program that writes Parquet do it; builds that first. What it takes to build is no part of this program, so
/// that the first `cargo xtask demo` is quick.
fn build_and_run(log: &Path, format: &str, out: &Path, rest: [Option<&str>; 3]) -> Result<(), Failure> {
    // Cargo runs in the root, the caller perhaps elsewhere.
    let absolute = |path: &Path| match path == Path::new(STDIN) {
        true => path.to_path_buf(),
        false => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    };
    let package = ["--release", "--package", "weir-viz", "--features", "parquet", "--bin", "weir-export"];
    build(project::cargo(["build"]).args(package))?;
    let mut command = project::cargo(["run", "--quiet"]);
    command.args(package).arg("--").arg(absolute(log)).arg(format).arg(absolute(out));
    command.args(rest.map(Option::unwrap_or_default));
    let status = command.status().map_err(|error| Failure::Failed(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Said(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Failed(format!("the export ended: {status}"))),
    }
}

/// Builds, and says so where there is anything to build.
fn build(command: &mut Command) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("cannot run cargo: {error}"));
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (mut said, mut lines) = (false, Vec::new());
    for line in child.stderr.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
        if line.trim_start().starts_with("Compiling") && !std::mem::replace(&mut said, true) {
            tell!("building what writes Parquet; this takes a minute or two");
        }
        lines.push(line);
    }
    if child.wait().map_err(failed)?.success() {
        return Ok(());
    }
    lines.iter().for_each(|line| tell!("{line}"));
    Err(Failure::Failed("what writes Parquet cannot be built".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(words: &[&str]) -> Result<(), Failure> {
        run(&parser().try_get_matches_from([&["export"], words].concat()).expect("parses"))
    }

    #[test]
    fn exit_status_0_is_written_2_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let [log, out] = ["a.log", "a.csv"].map(|name| folder.path().join(name).display().to_string());
        let text = "weir-log version=1\nnumber=0 time=0 record=mark label=0 length=1 name=a\n";
        std::fs::write(&log, text).expect("a temporary file");
        outcome(&[&log, "--format", "csv", &out]).expect("is written");
        let rows = std::fs::read_to_string(&out).expect("is there");
        assert!(rows.contains("\n0,0,mark,,,,,a,,,,,,\n"), "{rows}");
        let missing = outcome(&[&log, "--format=csv", "--from=elsewhere", &out]);
        assert!(matches!(missing, Err(Failure::Unreadable(_))), "{missing:?}");
        assert!(matches!(outcome(&[&log, "--as=csv", &log]), Err(Failure::Unreadable(_))), "the log itself is spared");
        assert!(matches!(outcome(&["/no/such", "--as=csv", &out]), Err(Failure::Unreadable(_))));
        let nowhere = outcome(&[&log, "--as=csv", "/no/such/out.csv"]);
        assert!(matches!(nowhere, Err(Failure::Failed(_))), "{nowhere:?}");
    }
}
