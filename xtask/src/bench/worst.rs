//! The worst single call.

use super::callgrind;
use super::program::Program;
use crate::failure::Failure;
use crate::replay::table;

/// The functions of the program that make one call each.
const CALLS: [&str; 5] = [
    "weir_bench::calls::counted_malloc",
    "weir_bench::calls::counted_free",
    "weir_bench::calls::counted_use",
    "weir_bench::calls::counted_record",
    "weir_bench::calls::counted_wait",
];

/// Calls that are refused are shown, but are none of those that count.
const REFUSED: &str = "refused_free";

/// What is called, as the program names it.
const VERBS: [&str; 6] = ["malloc", "free", "use", "record", "wait", REFUSED];

/// The worst of one scene for each verb; 0 where it makes no such call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Worst([u64; VERBS.len()]);

impl Worst {
    /// What was called, each with its count. Mallocs that took more than what was there are left aside.
    fn of(called: &[String], counts: &[u64]) -> Result<Self, String> {
        if called.len() != counts.len() {
            return Err(format!("{} calls, but {} counts", called.len(), counts.len()));
        }
        let mut worst = Self::default();
        for (verb, count) in called.iter().zip(counts) {
            if let Some(place) = VERBS.iter().position(|name| name == verb) {
                worst.0[place] = worst.0[place].max(*count);
            }
        }
        Ok(worst)
    }

    /// The largest count of a call that is not refused.
    fn largest(&self) -> u64 {
        VERBS.iter().zip(self.0).filter(|(verb, _)| **verb != REFUSED).map(|(_, count)| count).max().unwrap_or(0)
    }
}

/// Counts the calls of all scenes, prints a table of them on standard error, and returns the worst call.
pub(crate) fn worst(program: &Program) -> Result<f64, Failure> {
    let mut rows = Vec::new();
    let mut largest = 0;
    for line in program.lines(&["scenes"])? {
        let mut words = line.split(' ');
        let (Some(name), Some(length)) = (words.next(), words.next()) else { continue };
        tell!("  {name}: {}", words.collect::<Vec<_>>().join(" "));
        let numbers = if length == "long" { program.lines(&["search", name])?.join(",") } else { "all".to_owned() };
        let profile = program.profile_with(&["worst", name, &numbers], &CALLS)?;
        let counts = callgrind::after_each(&profile.text);
        let worst = Worst::of(&profile.lines, &counts).map_err(|text| Failure::Failed(format!("{name}: {text}")))?;
        largest = largest.max(worst.largest());
        let cells = worst.0.iter().map(|count| if *count == 0 { "-".into() } else { count.to_string() });
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    let heading: Vec<&str> = std::iter::once("worst call, instructions").chain(VERBS).collect();
    crate::say::aside(format_args!("{}", table(&heading, &rows)));
    Ok(largest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_call_is_none_that_is_refused_or_not_served() {
        let called = ["malloc", "free", "malloc", "aside", "refused_free"].map(str::to_owned);
        let worst = Worst::of(&called, &[10, 30, 20, 900, 5000]).expect("as many");
        assert_eq!(worst, Worst([20, 30, 0, 0, 0, 5000]));
        assert_eq!(worst.largest(), 30);
        assert!(Worst::of(&called, &[1, 2]).is_err());
    }
}
