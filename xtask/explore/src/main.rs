//! The command; see the library.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;
use weir_explore::op::LONGEST;
use weir_explore::run::{Family, Setting};
use weir_explore::search::{Found, search};

const USAGE: &str = "usage: weir-explore --depth N [--threads N] [--family plain|streams|faults] [--plant NAME]";

/// What the command line asks for.
struct Options {
    depth: usize,
    threads: usize,
    /// One family with the whole depth; else all, each with what fits.
    family: Option<Family>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self { depth: 6, threads, family: None };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` wants a value; {USAGE}"))?;
            match name.as_str() {
                "--depth" => options.depth = number(&name, &value, LONGEST)?,
                "--threads" => options.threads = number(&name, &value, 1024)?,
                "--family" => options.family = Some(family(&value)?),
                "--plant" => plant(&value)?,
                _ => return Err(format!("no option `{name}`; {USAGE}")),
            }
        }
        Ok(options)
    }

    /// The families to search, with their depths.
    fn families(&self) -> Vec<(Family, usize)> {
        match self.family {
            Some(family) => vec![(family, self.depth)],
            None => Family::ALL.map(|family| (family, self.depth.saturating_sub(family.shorter_by()).max(1))).to_vec(),
        }
    }
}

fn number(name: &str, value: &str, most: usize) -> Result<usize, String> {
    let number = value.parse().map_err(|_| format!("`{name} {value}`: not a number; {USAGE}"))?;
    if (1..=most).contains(&number) { Ok(number) } else { Err(format!("{name} is from 1 to {most}, not {number}")) }
}

fn family(value: &str) -> Result<Family, String> {
    let found = Family::ALL.into_iter().find(|family| family.to_string() == value);
    found.ok_or_else(|| format!("no family `{value}`; {USAGE}"))
}

#[cfg(feature = "plant")]
fn plant(name: &str) -> Result<(), String> {
    let plant = weir::plant::Plant::named(name).ok_or_else(|| format!("no plant `{name}`"))?;
    weir::plant::set(Some(plant));
    Ok(())
}

#[cfg(not(feature = "plant"))]
fn plant(_: &str) -> Result<(), String> {
    Err("built without plants; the feature `plant` builds with them".into())
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            // Nobody is left to tell where standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {what}");
            return ExitCode::from(2);
        }
    };
    let begun = Instant::now();
    let mut wrong = 0;
    for (family, depth) in options.families() {
        let mut all = Found::default();
        for setting in Setting::all(family) {
            let found = search(setting, depth, options.threads);
            say(format_args!("{setting}: {} programs, {} states", found.programs, found.states));
            for (program, what) in &found.wrong {
                say(format_args!("  WRONG: {what}\n    {program}"));
            }
            wrong += found.wrong.len();
            (all.programs, all.states) = (all.programs + found.programs, all.states + found.states);
        }
        say(format_args!("{family}, depth {depth}: {} programs, {} states", all.programs, all.states));
    }
    say(format_args!("{wrong} wrong, {:.1} s", begun.elapsed().as_secs_f64()));
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One line of output; a closed pipe ends nothing.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
