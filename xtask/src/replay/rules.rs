//! A log under other rules, in one table.

use super::capacity::{Capacity, least};
use super::model::{self, Fit};
use super::summary::Measured;
use super::{Lag, On, Options, Simulated};
use crate::failure::Failure;
use crate::size;
use serde_json::{Value, json};
use weir::policy::{Preference, Reuse};
use weir::trace::Source;
use weir_viz::import::Program;

/// A rule, and how it is tried.
struct Rule {
    name: &'static str,
    how: How,
}

enum How {
    /// The pool, with other settings.
    Pool(fn(Options) -> Options),
    /// The pool, with every size rounded up to whole granules.
    Granules,
    /// No pool, but a model of what others do: see [`model`].
    Model(Fit),
}

const RULES: [Rule; 11] = [
    Rule { name: "weir", how: How::Pool(|options| options) },
    Rule { name: "switches: none", how: How::Pool(|options| Options { reuse: Reuse::empty(), ..options }) },
    Rule { name: "switches: 1", how: How::Pool(|options| Options { reuse: Reuse::EVENT, ..options }) },
    Rule {
        name: "switches: 1 and 2",
        how: How::Pool(|options| Options { reuse: Reuse::EVENT.union(Reuse::OPPORTUNISTIC), ..options }),
    },
    Rule {
        name: "switches: 1 and 3",
        how: How::Pool(|options| Options { reuse: Reuse::EVENT.union(Reuse::INTERNAL), ..options }),
    },
    Rule {
        name: "wait before growing",
        how: How::Pool(|options| Options { preference: Preference::WaitFirst, ..options }),
    },
    Rule { name: "2 MiB rounding", how: How::Granules },
    Rule { name: "model: best fit, no remap", how: How::Model(Fit::Best) },
    Rule { name: "model: first fit, no remap", how: How::Model(Fit::First) },
    Rule { name: "model: worst fit, no remap", how: How::Model(Fit::Worst) },
    Rule { name: "model: own stream first, no remap", how: How::Model(Fit::OwnFirst) },
];

/// One rule's numbers.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    rule: &'static str,
    reserved: u64,
    min_capacity: u64,
    /// By [`Source`], in its order.
    reuse: [u64; Source::ALL.len()],
    /// None for a model, which maps nothing.
    measured: Option<Measured>,
}

/// The rules' numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Those of the pool as it is.
    base: Capacity,
    lines: Vec<Line>,
    on: On,
}

/// Runs a log under every rule.
pub(crate) fn compare(program: &Program, options: &Options) -> Result<Comparison, Failure> {
    let base = least(program, options)?;
    let lines = RULES.iter().map(|rule| line(program, options, &base, rule)).collect::<Result<_, _>>()?;
    Ok(Comparison { base, lines, on: options.on })
}

fn line(program: &Program, options: &Options, base: &Capacity, rule: &Rule) -> Result<Line, Failure> {
    let granule = base.free.granule;
    match rule.how {
        How::Pool(with) => Ok(pool_line(rule.name, &least(program, &with(options.clone()))?)),
        How::Granules => {
            let mut rounded = program.clone();
            rounded.blocks.iter_mut().for_each(|block| block.size = block.size.next_multiple_of(granule));
            Ok(pool_line(rule.name, &least(&rounded, options)?))
        }
        How::Model(fit) => Ok(model_line(rule.name, model::run(program, fit, lag(options.on)), granule)),
    }
}

fn pool_line(rule: &'static str, capacity: &Capacity) -> Line {
    let free = &capacity.free;
    Line {
        rule,
        reserved: free.peak_reserved,
        min_capacity: capacity.min_capacity,
        reuse: free.reuse,
        measured: Some(free.measured),
    }
}

fn model_line(rule: &'static str, outcome: model::Outcome, granule: u64) -> Line {
    let reserved = outcome.reserved.next_multiple_of(granule);
    let [own, settled, event, grow] = outcome.sources;
    Line { rule, reserved, min_capacity: reserved, reuse: [own, settled, event, 0, 0, grow], measured: None }
}

const fn lag(on: On) -> Lag {
    match on {
        On::Sim(Simulated { lag, .. }) => lag,
        On::Host => Lag::Rows(0),
    }
}

impl Comparison {
    pub(crate) const HEADING: [&'static str; 9] = [
        "",
        "peak reserved",
        "/ floor",
        "smallest limit",
        "/ floor",
        "own/settled/event/asked/waited",
        "grown",
        "waits/1000",
        "maps/1000",
    ];

    /// What a reader should know beside the numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let model = "a model is one contiguous range with a free list; it follows the same order, but moves no memory, \
                     asks no device and inserts no wait";
        let mut notes = self.base.free.notes();
        notes.push(model.to_owned());
        notes
    }

    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let bounds = [("peak used", self.base.free.peak_used), ("ordered floor", self.base.floor.bytes)];
        let bounds = bounds.map(|(name, bytes)| vec![name.to_owned(), size::shown(bytes), self.over(bytes)]);
        bounds.into_iter().chain(self.lines.iter().map(|line| self.row(line))).collect()
    }

    fn over(&self, bytes: u64) -> String {
        format!("{:.4}", self.base.over(bytes))
    }

    fn row(&self, line: &Line) -> Vec<String> {
        let rate = |count: fn(&Measured) -> u64| match &line.measured {
            Some(measured) => format!("{:.1}", measured.per_thousand(count(measured))),
            None => "-".to_owned(),
        };
        let [own, settled, event, asked, waited, grown] = line.reuse;
        vec![
            line.rule.to_owned(),
            size::shown(line.reserved),
            self.over(line.reserved),
            size::shown(line.min_capacity),
            self.over(line.min_capacity),
            format!("{own}/{settled}/{event}/{asked}/{waited}"),
            grown.to_string(),
            rate(|measured| measured.waits),
            rate(|measured| measured.maps),
        ]
    }

    /// One object on one line. Fields are added, never renamed.
    pub(crate) fn json(&self) -> Value {
        let rules: Vec<Value> = self.lines.iter().map(Line::json).collect();
        json!({
            "device": self.on.json(),
            "peak_used_bytes": self.base.free.peak_used,
            "ordered_floor_bytes": self.base.floor.bytes,
            "ordered_floor_is": self.base.floor.exactness.name(),
            "granule_bytes": self.base.free.granule,
            "rules": rules,
        })
    }
}

impl Line {
    fn json(&self) -> Value {
        let reuse: serde_json::Map<_, _> = Source::ALL
            .iter()
            .zip(self.reuse)
            .map(|(source, count)| (source.name().to_owned(), json!(count)))
            .collect();
        json!({
            "rule": self.rule,
            "model": self.measured.is_none(),
            "peak_reserved_bytes": self.reserved,
            "min_capacity_bytes": self.min_capacity,
            "reuse": reuse,
            "map_unmap_per_1000": self.measured.map(|measured| measured.per_thousand(measured.maps)),
            "waits_inserted_per_1000": self.measured.map(|measured| measured.per_thousand(measured.waits)),
        })
    }
}
