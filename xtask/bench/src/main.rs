//! The program behind `cargo xtask bench`, which runs it once for each measurement and checks the arguments. It prints
//! a line for each thing that it found: words, one space between two.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use weir_bench::contender::{Contest, Effort, What, Who, ready};
use weir_bench::threads::{self, Share, Waits};
use weir_bench::worst::{self, Scene, Size};
use weir_bench::{BEGINS, special};

/// Rounds of what is timed, of which the median counts.
const ROUNDS: usize = 21;

/// How long each number of threads works.
const WHILE: Duration = Duration::from_millis(400);

/// Growths that mallocs of another thread are measured beside.
const GROWTHS: usize = 200;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["begins"] => Ok(vec![BEGINS.to_string()]),
        ["count", who, what] => count(who, what),
        ["special", name] => one_special(name),
        ["time", what, who @ ..] => time(what, who),
        ["scenes"] => {
            Ok(worst::scenes().map(|scene| format!("{} {} {}", scene.name, scene.length(), scene.about)).collect())
        }
        ["search", scene] => search(scene),
        ["worst", scene, numbers] => one_scene(scene, numbers),
        ["threads"] => several(),
        ["growth"] => growth(),
        _ => Err("this is run by `cargo xtask bench`".to_owned()),
    };
    let (text, code) = match outcome {
        Ok(lines) => (lines.join("\n") + "\n", ExitCode::SUCCESS),
        Err(text) => {
            let _ = writeln!(std::io::stderr(), "error: {text}");
            return ExitCode::FAILURE;
        }
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn who(name: &str) -> Result<Who, String> {
    Who::named(name).ok_or_else(|| format!("no allocator {name}"))
}

fn made_ready(name: &str, what: &What) -> Result<Box<dyn Contest>, String> {
    ready(who(name)?, what, Effort::full(what))
}

/// `pairs`.
fn count(who: &str, what: &str) -> Result<Vec<String>, String> {
    let pairs = made_ready(who, &What::named(what))?.count()?;
    Ok(vec![pairs.to_string()])
}

/// Calls, or records.
fn one_special(name: &str) -> Result<Vec<String>, String> {
    let special = special::ALL.iter().find(|special| special.name == name).ok_or("no such measurement")?;
    Ok(vec![(special.run)(special::FULL)?.to_string()])
}

/// For each allocator `name nanoseconds ratio footprint`: a pair's time, what it is of the first one's in the same rounds,
/// and what was held at the peak for each live byte, or `-`. What one cannot do is `name - reason`.
fn time(what: &str, names: &[&str]) -> Result<Vec<String>, String> {
    let what = What::named(what);
    let mut contests: Vec<_> = names.iter().map(|name| (*name, made_ready(name, &what), Vec::new())).collect();
    for _ in 0..ROUNDS {
        for (_, contest, times) in &mut contests {
            let Ok(contest) = contest else { continue };
            let (pairs, took) = contest.round()?;
            times.push(took.as_nanos() as f64 / pairs as f64);
        }
    }
    let first = contests.first().map(|(_, _, times)| times.clone()).unwrap_or_default();
    let line = |(name, contest, times): (&str, Result<Box<dyn Contest>, String>, Vec<f64>)| match contest {
        Err(reason) => format!("{name} - {reason}"),
        Ok(contest) => {
            let ratio = median(times.iter().zip(&first).map(|(time, first)| time / first).collect());
            let footprint = contest.footprint().map_or("-".into(), |footprint| format!("{footprint:.4}"));
            format!("{name} {:.2} {ratio:.4} {footprint}", median(times))
        }
    };
    Ok(contests.into_iter().map(line).collect())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

fn scene(name: &str) -> Result<&'static Scene, String> {
    Scene::named(name).ok_or_else(|| format!("no scene {name}"))
}

/// The numbers of the calls that may be the worst.
fn search(name: &str) -> Result<Vec<String>, String> {
    Ok(scene(name)?.search(Size::FULL)?.iter().map(ToString::to_string).collect())
}

/// `verb` for each call that was counted, or `aside` where it is none that counts.
fn one_scene(name: &str, numbers: &str) -> Result<Vec<String>, String> {
    let numbers = match numbers {
        "all" => None,
        some => Some(some.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|e| e.to_string())?),
    };
    Ok(scene(name)?.count(Size::FULL, numbers.as_deref())?.into_iter().map(str::to_owned).collect())
}

/// `threads waits share rate`.
fn several() -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for count in threads::THREADS {
        for (waits, how) in [("parking", Waits::Parking), ("spinning", Waits::Spinning)] {
            for (share, what) in [("nothing", Share::Nothing), ("runtime", Share::Runtime), ("pool", Share::Pool)] {
                lines.push(format!("{count} {waits} {share} {:.0}", threads::rate(count, what, how, WHILE)?));
            }
        }
    }
    Ok(lines)
}

/// `share quantile alone beside`, in nanoseconds.
fn growth() -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for (name, share) in [("runtime", Share::Runtime), ("pool", Share::Pool)] {
        let [alone, beside] = threads::beside_growth(share, GROWTHS)?;
        for (quantile, part) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            let [alone, beside] = [&alone, &beside].map(|times| times.quantile(part).as_nanos());
            lines.push(format!("{name} {quantile} {alone} {beside}"));
        }
    }
    Ok(lines)
}
