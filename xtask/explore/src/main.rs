//! The command; see the library.

use std::process::ExitCode;
use std::time::Instant;
use weir_explore::op::LONGEST;
use weir_explore::run::Setting;
use weir_explore::search::{Found, search};

const USAGE: &str = "usage: weir-explore --depth N [--threads N]";

/// What the command line asks for.
struct Options {
    depth: usize,
    threads: usize,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self { depth: 6, threads };
        let mut arguments = arguments;
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` wants a number; {USAGE}"))?;
            let number = value.parse().map_err(|_| format!("`{name} {value}`: not a number; {USAGE}"))?;
            match (name.as_str(), number) {
                ("--depth", 1..=LONGEST) => options.depth = number,
                ("--depth", _) => return Err(format!("--depth is from 1 to {LONGEST}, not {number}")),
                ("--threads", 1..=1024) => options.threads = number,
                ("--threads", _) => return Err(format!("--threads is from 1 to 1024, not {number}")),
                _ => return Err(format!("no option `{name}`; {USAGE}")),
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::from(2);
        }
    };
    let begun = Instant::now();
    let mut all = Found::default();
    for setting in Setting::all() {
        let found = search(setting, options.depth, options.threads);
        println!("{setting}: {} programs, {} states", found.programs, found.states);
        for (program, what) in &found.wrong {
            println!("  WRONG: {what}\n    {program}");
        }
        all.programs += found.programs;
        all.states += found.states;
        all.wrong.extend(found.wrong);
    }
    println!(
        "depth {}: {} programs, {} states, {} wrong, {:.1} s",
        options.depth,
        all.programs,
        all.states,
        all.wrong.len(),
        begun.elapsed().as_secs_f64()
    );
    if all.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
