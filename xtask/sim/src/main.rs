//! The command behind `cargo xtask sim`, which checks and explains the arguments.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use weir_sim_run::{Found, Judge, MAX_STREAMS, Plan, Report, partial, run};

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => { line(format_args!($($text)*)) };
}

/// A line on standard output. Where that is closed nobody is left to tell.
fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn main() -> ExitCode {
    // A panic of the code under test is a finding, reported with its program.
    std::panic::set_hook(Box::new(|_| {}));
    match parse(std::env::args().skip(1)) {
        Ok(Task::List) => {
            list();
            ExitCode::SUCCESS
        }
        Ok(Task::Run(plan)) => perform(&plan),
        Err(text) => {
            let _ = writeln!(std::io::stderr(), "error: {text}");
            ExitCode::from(2)
        }
    }
}

enum Task {
    List,
    Run(Plan),
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut plan = Plan { seed: 1, steps: 100_000, streams: None, faults: 0, judge: Judge::All, log: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seed" => plan.seed = seed(&value()?)?,
            "--steps" => plan.steps = number(&value()?)?,
            "--streams" => plan.streams = Some(number(&value()?)? as usize),
            "--faults" => plan.faults = per_mille(&value()?)?,
            "--log" => plan.log = Some(PathBuf::from(value()?)),
            "--no-oracle" => plan.judge = Judge::Simulation,
            "--plant" => plant(&value()?)?,
            "--plants" => return Ok(Task::List),
            _ => return Err(format!("{word} is not an option; see `cargo xtask sim --help`")),
        }
    }
    match plan.streams {
        Some(n) if n == 0 || n > MAX_STREAMS => Err(format!("--streams {n}: from 1 to {MAX_STREAMS}")),
        _ => Ok(Task::Run(plan)),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"))
}

fn seed(text: &str) -> Result<u64, String> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| format!("{text} is not a number")),
        None => number(text),
    }
}

fn per_mille(text: &str) -> Result<u16, String> {
    let rate: f64 = text.parse().map_err(|_| format!("{text} is not a rate"))?;
    if !(0.0..=1.0).contains(&rate) {
        return Err(format!("--faults {text}: a rate from 0 to 1"));
    }
    Ok((rate * 1000.0).round() as u16)
}

#[cfg(feature = "plant")]
fn plant(name: &str) -> Result<(), String> {
    let plant = ::weir::plant::Plant::named(name).ok_or_else(|| format!("no plant `{name}`; --plants lists them"))?;
    ::weir::plant::set(Some(plant));
    Ok(())
}

#[cfg(feature = "plant")]
fn list() {
    for plant in ::weir::plant::Plant::ALL {
        say!("{:24} {}", plant.name(), plant.what());
    }
}

#[cfg(not(feature = "plant"))]
fn plant(_: &str) -> Result<(), String> {
    Err("built without plants; `cargo xtask sim --plant` builds with them".into())
}

#[cfg(not(feature = "plant"))]
fn list() {
    say!("built without plants; `cargo xtask sim --plants` builds with them");
}

/// Ctrl-C takes a half-written log away.
#[cfg(unix)]
fn leave_no_half(log: &Path) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let half = partial(log);
    if half == log {
        return;
    }
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    // Without a thread the log is written all the same.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _ = std::fs::remove_file(half);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

#[cfg(not(unix))]
fn leave_no_half(_: &Path) {}

fn perform(plan: &Plan) -> ExitCode {
    let begun = Instant::now();
    if let Some(log) = &plan.log {
        leave_no_half(log);
    }
    let report = match run(plan) {
        Ok(report) => report,
        Err(error) => {
            let log = plan.log.clone().unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "error: cannot write {}: {error}", log.display());
            return ExitCode::FAILURE;
        }
    };
    summarise(plan, &report, begun.elapsed().as_secs_f64());
    match &report.found {
        None => ExitCode::SUCCESS,
        Some(found) => {
            accuse(plan, found);
            ExitCode::FAILURE
        }
    }
}

fn summarise(plan: &Plan, report: &Report, seconds: f64) {
    let tally = &report.tally;
    say!(
        "seed {}: {} steps in {} programs, {:.0} steps/s; digest {:016x}",
        plan.seed,
        tally.steps,
        tally.programs,
        tally.steps as f64 / seconds.max(1e-9),
        report.digest
    );
    let names = ["same stream", "settled", "event", "opportunistic", "internal", "grow"];
    let sources: Vec<String> = names.iter().zip(tally.by_source).map(|(name, n)| format!("{name} {n}")).collect();
    say!("{} mallocs ({}), {} refused", tally.mallocs, sources.join(", "), tally.refused);
    say!("{} kernels, {} driver calls failed on demand", tally.kernels, tally.faults);
    match plan.judge {
        Judge::All => say!("the oracle judged every malloc; {} costlier ways were justified", tally.justified),
        Judge::Simulation => say!("judged by the simulation alone"),
    }
    if report.found.is_none()
        && let Some(log) = &plan.log
    {
        say!("event log of the last program: cargo xtask viz {}", log.display());
    }
}

/// The fault that was planted: without it the seed is clean.
fn planted() -> Option<String> {
    std::env::args().skip_while(|word| word != "--plant").nth(1)
}

fn accuse(plan: &Plan, found: &Found) {
    say!("\nFAILED: seed {} (0x{:x}), step {}, {} steps in all", found.seed, found.seed, found.step, found.after);
    say!("  {}", found.failure);
    if let Some(small) = &found.small {
        say!("in {} steps:", small.lines().len());
        for (n, line) in small.lines().iter().enumerate() {
            say!("  {:3}  {line}", n + 1);
        }
        say!("  {}", small.failure);
    }
    if let Some(log) = &plan.log {
        say!("its event log: cargo xtask viz {}", log.display());
    }
    let streams = plan.streams.map_or(String::new(), |n| format!(" --streams {n}"));
    let faults = if plan.faults > 0 { format!(" --faults {}", f64::from(plan.faults) / 1000.0) } else { String::new() };
    let plant = planted().map(|name| format!(" --plant {name}")).unwrap_or_default();
    say!("again: cargo xtask sim --seed {} --steps {}{streams}{faults}{plant}", found.seed, found.step.max(1));
}
