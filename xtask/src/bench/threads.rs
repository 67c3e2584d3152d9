//! Several threads at once.

use super::program::Program;
use crate::failure::Failure;
use crate::replay::table;

/// What is measured: the lock, and what threads have in common.
const COLUMNS: [(&str, &str); 5] = [
    ("parking", "nothing"),
    ("parking", "runtime"),
    ("parking", "pool"),
    ("spinning", "runtime"),
    ("spinning", "pool"),
];

const HEADING: [&str; 6] =
    ["threads", "own runtimes", "own pools", "one pool", "own pools, spinning", "one pool, spinning"];

/// Two tables: pairs per second, and mallocs beside growth.
pub(crate) fn measure(program: &Program) -> Result<String, Failure> {
    let rates = rates(&program.lines(&["threads"])?)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let growth = beside_growth(&program.lines(&["growth"])?)?;
    Ok(format!(
        "million pairs per second, all threads together (and times what one thread does); {cores} cores\n{rates}\n\
         a malloc of one thread, alone and while another one grows by 1 GiB again and again\n{growth}"
    ))
}

fn bad(line: &str) -> Failure {
    Failure::Failed(format!("cannot understand `{line}`"))
}

/// From lines `threads waits share rate`.
fn rates(lines: &[String]) -> Result<String, Failure> {
    let mut all: Vec<(&str, (&str, &str), f64)> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [threads, waits, share, rate] = words.as_slice() else { return Err(bad(line)) };
        all.push((*threads, (*waits, *share), rate.parse().map_err(|_| bad(line))?));
    }
    let rate = |threads: &str, column: (&str, &str)| {
        all.iter().find(|(count, what, _)| *count == threads && *what == column).map(|(_, _, rate)| *rate)
    };
    let cell = |threads: &str, column| match (rate(threads, column), rate("1", column)) {
        (Some(rate), Some(one)) => format!("{:.2} ({:.2} x)", rate / 1e6, rate / one),
        _ => "-".into(),
    };
    let mut counts: Vec<&str> = all.iter().map(|(threads, ..)| *threads).collect();
    counts.dedup();
    let row = |threads: &&str| {
        let cells = COLUMNS.iter().map(|column| cell(threads, *column));
        std::iter::once((*threads).to_owned()).chain(cells).collect::<Vec<_>>()
    };
    Ok(table(&HEADING, &counts.iter().map(row).collect::<Vec<_>>()))
}

/// From lines `share quantile alone beside`.
fn beside_growth(lines: &[String]) -> Result<String, Failure> {
    let row = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        let [share, quantile, alone, beside] = words.as_slice() else { return Err(bad(line)) };
        let [alone, beside] = [alone, beside].map(|nanos| nanos.parse::<f64>().map(|nanos| nanos / 1e3));
        let (Ok(alone), Ok(beside)) = (alone, beside) else { return Err(bad(line)) };
        let share = if *share == "pool" { "the same pool" } else { "another pool" };
        Ok(vec![
            format!("{share}, {quantile}"),
            format!("{alone:.2}"),
            format!("{beside:.2}"),
            format!("{:.2}", beside / alone),
        ])
    };
    let rows = lines.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    Ok(table(&["growing in", "alone, us", "beside, us", "ratio"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn rates_are_shown_with_their_scaling() {
        let text = rates(&lines("1 parking pool 2000000\n2 parking pool 3000000")).expect("are rates");
        let words: Vec<&str> = text.lines().nth(2).unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, ["2", "-", "-", "3.00", "(1.50", "x)", "-", "-"]);
        assert!(rates(&lines("1 parking pool fast")).is_err());
        assert!(rates(&lines("1 parking")).is_err());
    }

    #[test]
    fn growth_is_shown_with_its_ratio() {
        let text = beside_growth(&lines("pool p99.9 500 1000")).expect("are times");
        assert!(text.contains("the same pool, p99.9") && text.contains("2.00"), "{text}");
        assert!(beside_growth(&lines("pool p99.9 1")).is_err());
    }
}
