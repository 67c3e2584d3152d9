//! `bench`: instructions and times of the pool's decisions, and the same of others. Runs the package `weir-bench`, under
//! callgrind where instructions are counted.

use crate::bench::baseline::{Baseline, compiler, counts};
use crate::bench::figure::{FIGURES, Figure, Measured};
use crate::bench::program::Program;
use crate::bench::{peers, threads, viewer};
use crate::commands::no_install;
use crate::failure::Failure;
use crate::packages::{Permission, System, VALGRIND};
use crate::replay::table;
use crate::step;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

pub(crate) fn parser() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    Command::new("bench")
        .about("Measure the pool's decisions: instructions by callgrind, times as ratios")
        .arg(flag("json", "Print one object, figure to number"))
        .arg(flag("check", "Compare counts with the committed ones; fail where one is more than 3 % above").conflicts_with("only"))
        .arg(flag("update", "Count as --check does, and make that the baseline").conflicts_with_all(["check", "only"]))
        .arg(flag("peers", "One table: weir beside other allocators, on churn and on logs").conflicts_with_all(["check", "update", "json", "only"]))
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("FILE")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(PathBuf))
                .requires("takes-logs")
                .help("One more log for --peers, which may be given several times; or the one to measure --viewer with"),
        )
        .arg(
            flag("threads", "Pairs per second on 1, 2, 4 and 8 threads, and mallocs while another thread grows")
                .conflicts_with_all(["check", "update", "json", "peers", "only"]),
        )
        .arg(
            flag("viewer", "What the viewer's window takes to open and draw a long log; needs no display")
                .conflicts_with_all(["check", "update", "peers", "threads", "only"]),
        )
        .group(ArgGroup::new("takes-logs").args(["peers", "viewer"]))
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("FIGURE")
                .action(ArgAction::Append)
                .value_parser(PossibleValuesParser::new(FIGURES.iter().map(|figure| figure.name)))
                .hide_possible_values(true)
                .help("Measure only this figure; may be given several times"),
        )
        .arg(no_install())
        .after_help(
            "Examples:\n  cargo xtask bench --json\n  cargo xtask bench --peers --log my.csv\n  \
             cargo xtask bench --viewer --log my.log\n\n\
             Everything is built with optimisation. --check leaves out what takes minutes (a million blocks, the search for\n\
             the worst call) or does not depend on the code alone (times, the demo's log). Counts hold for one compiler:\n\
             with another one, make a new baseline by --update before a change and compare after it.",
        )
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let system = System::new(Permission::of(arguments));
    if arguments.get_flag("threads") {
        crate::say::text(&threads::measure(&Program::build()?)?);
        return Ok(());
    }
    if arguments.get_flag("viewer") {
        return measure_viewer(arguments);
    }
    if arguments.get_flag("peers") {
        profiler(&system)?;
        let more: Vec<PathBuf> = arguments.get_many("log").unwrap_or_default().cloned().collect();
        crate::say::text(&peers::compare(&Program::build()?, &more)?);
        return Ok(());
    }
    let (check, update) = (arguments.get_flag("check"), arguments.get_flag("update"));
    let only: Vec<&String> = arguments.get_many("only").unwrap_or_default().collect();
    let wanted = |figure: &&Figure| match (check || update, only.is_empty()) {
        (true, _) => figure.is_checked(),
        (false, true) => true,
        (false, false) => only.iter().any(|name| *name == figure.name),
    };
    let figures: Vec<&Figure> = FIGURES.iter().filter(wanted).collect();
    let measured = measure(&system, &figures)?;
    if arguments.get_flag("json") {
        say!("{}", object(&measured));
    } else if !check {
        crate::say::text(&figures_table(&figures, &measured));
    }
    if update {
        Baseline::of(compiler(), &measured).write(&counts())?;
    }
    if !check {
        return Ok(());
    }
    let baseline = Baseline::read(&counts())?;
    let compared = baseline.table(&measured);
    // The object stands alone.
    if arguments.get_flag("json") {
        crate::say::aside(format_args!("{compared}"));
    } else {
        crate::say::text(&compared);
    }
    baseline.judge(&measured, REPEAT)
}

fn measure_viewer(arguments: &ArgMatches) -> Result<(), Failure> {
    let mut logs = arguments.get_many::<PathBuf>("log").unwrap_or_default();
    let log = logs.next();
    if logs.next().is_some() {
        return Err(Failure::Unreadable("--viewer takes one --log".into()));
    }
    let figures = viewer::Figures::measure(log.map(PathBuf::as_path))?;
    if arguments.get_flag("json") {
        say!("{}", figures.object());
    } else {
        crate::say::text(&figures.table());
    }
    Ok(())
}

const REPEAT: &str = "cargo xtask bench --check";

/// What `ci` runs. Without a profiler there is nothing to compare.
pub(crate) fn regressions(system: &System) -> Result<(), Failure> {
    step::header("instruction counts");
    if let Err(reason) = profiler(system) {
        step::skip("instruction counts", &reason.to_string());
        return Ok(());
    }
    let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| figure.is_checked()).collect();
    let (baseline, measured) = (Baseline::read(&counts())?, measure(system, &figures)?);
    crate::say::text(&baseline.table(&measured));
    baseline.judge(&measured, REPEAT)
}

fn profiler(system: &System) -> Result<(), Failure> {
    system.ensure(&[VALGRIND]).map_err(Failure::Failed)
}

fn measure(system: &System, figures: &[&Figure]) -> Result<Vec<Measured>, Failure> {
    if figures.iter().any(|figure| figure.needs_profiler()) {
        profiler(system)?;
    }
    let program = Program::build()?;
    let one = |figure: &&Figure| {
        tell!("measuring {}", figure.name);
        figure.measure(&program)
    };
    figures.iter().map(one).collect()
}

fn object(measured: &[Measured]) -> Value {
    Value::Object(measured.iter().map(|m| (m.name.to_owned(), json!(m.value))).collect::<Map<_, _>>())
}

fn figures_table(figures: &[&Figure], measured: &[Measured]) -> String {
    let row = |(figure, measured): (&&Figure, &Measured)| {
        let goal = figure.goal.map_or("-".into(), |goal| format!("{goal}"));
        vec![figure.name.to_owned(), format!("{:.2}", measured.value), goal]
    };
    let rows: Vec<Vec<String>> = figures.iter().zip(measured).map(row).collect();
    // What a figure is stands behind the table, whose columns end alike.
    let about = std::iter::once("").chain(figures.iter().map(|figure| figure.about));
    let lines = table(&["", "", "at most"], &rows);
    lines.lines().zip(about).map(|(line, about)| format!("{line}   {about}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(name: &'static str, value: f64) -> Measured {
        Measured { name, value }
    }

    #[test]
    fn a_regression_fails_and_is_named() {
        let baseline = Baseline::of(compiler(), &[measured("a", 100.0), measured("b", 100.0)]);
        assert!(baseline.judge(&[measured("a", 102.9), measured("b", 50.0)], REPEAT).is_ok());
        let failure = baseline.judge(&[measured("a", 103.1), measured("b", 100.0)], REPEAT).expect_err("is worse");
        let text = failure.to_string();
        assert!(text.contains("baseline: a\n"), "{text}");
        let old = Baseline::of("rustc 0.1".into(), &[measured("a", 1.0)]);
        let text = old.judge(&[measured("a", 2.0)], REPEAT).expect_err("is worse").to_string();
        assert!(text.contains("rustc 0.1"), "{text}");
    }

    #[test]
    fn the_object_maps_names_to_numbers() {
        assert_eq!(object(&[measured("a", 1.5)]).to_string(), r#"{"a":1.5}"#);
        let [first, ..] = &FIGURES;
        let text = figures_table(&[first], &[measured(first.name, 180.25)]);
        let words: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().take(5).collect();
        assert_eq!(words, [first.name, "180.25", "200", "free", "and"]);
    }
}
