//! What callgrind writes: totals, those of single calls, and the share of a function.

use std::collections::HashMap;

/// The name of the function that is collected begins so, in the program that is measured.
pub(crate) const COUNTED: &str = "--toggle-collect=*counted_*";

/// Instructions of the whole file, or of its last part.
pub(crate) fn total(profile: &str) -> Option<u64> {
    profile.lines().rev().find_map(|line| line.strip_prefix("totals:")).and_then(number)
}

/// Instructions of each part that was written when a function was left, in that order.
pub(crate) fn after_each(profile: &str) -> Vec<u64> {
    let mut dumped = false;
    let mut counts = Vec::new();
    for line in profile.lines() {
        if let Some(trigger) = line.strip_prefix("desc: Trigger:") {
            dumped = trigger.trim_start().starts_with("--dump-after");
        } else if let Some(count) = line.strip_prefix("totals:").and_then(number)
            && dumped
        {
            counts.push(count);
        }
    }
    counts
}

/// Instructions of all functions whose name holds `name`, with what they call; `None` where there is no such function.
///
/// The format: `fn=(id) name` begins a function, later `fn=(id)` alone; `cfn=` names a callee in the same way. A line that
/// begins with a digit, `+`, `-` or `*` is a cost: a position and a count. The one behind a `calls=` line is the callee's.
pub(crate) fn inclusive(profile: &str, name: &str) -> Option<u64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut within, mut sum) = (false, None);
    for line in profile.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key {
            "fn" | "cfn" => {
                let (id, said) = value.split_once(' ').unwrap_or((value, ""));
                if !said.is_empty() {
                    names.insert(id, said);
                }
                if key == "fn" {
                    within = names.get(id).is_some_and(|known| known.contains(name));
                    sum = if within { sum.or(Some(0)) } else { sum };
                }
            }
            _ if within && line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) => {
                let cost = line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
                sum = sum.zip(cost).map(|(sum, cost)| sum + cost).or(sum);
            }
            _ => {}
        }
    }
    sum
}

fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 7
cmd:  ./weir-bench special logged
part: 1

desc: Trigger: Program termination

positions: line
events: Ir
summary: 1290

ob=(2) weir-bench
fl=(2) log.rs
fn=(2) weir::trace::log::Log::append
12 100
+3 20
cfi=(3) crc.rs
cfn=(4) weir::trace::crc::crc32
calls=2 20
* 800

fl=(3)
fn=(4)
20 500
fi=(5) slice.rs
+1 290
cfn=(6) memcpy
calls=1 +4
-5 10

fl=(7) page.rs
fn=(8) weir::trace::page::Header::seal
9 370

totals: 1290
";

    #[test]
    fn totals_and_shares_are_found() {
        assert_eq!(total(PROFILE), Some(1290));
        assert_eq!(inclusive(PROFILE, "crc32"), Some(800));
        assert_eq!(inclusive(PROFILE, "Header::seal"), Some(370));
        assert_eq!(inclusive(PROFILE, "append"), Some(920));
        assert_eq!(inclusive(PROFILE, "checksum"), None);
        assert_eq!(total("no profile"), None);
    }

    #[test]
    fn only_parts_behind_a_call_are_counts_of_calls() {
        let part = |trigger: &str, count: u64| {
            format!("part: 1\n\ndesc: Trigger: {trigger}\n\nsummary: {count}\n\nfn=(1) x\n5 3\n\ntotals: {count}\n")
        };
        let after = "--dump-after=weir_bench::calls::counted_free";
        let profile = part(after, 31) + &part(after, 7) + &part("Program termination", 0);
        assert_eq!(after_each(&profile), [31, 7]);
        assert_eq!(total(&profile), Some(0));
    }
}
