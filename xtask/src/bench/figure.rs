//! The figures: what each is, and how it is measured.

use super::callgrind;
use super::program::Program;
use crate::failure::Failure;
use crate::footprint;
use crate::project;
use crate::replay::{On, Options, replay_with_streams_around};
use std::path::Path;
use weir::trace::Reader;

/// A figure's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
}

/// How a figure is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Instructions of weir for each pair of this loop.
    Pairs(&'static str),
    /// Instructions for each call of this measurement.
    Calls(&'static str),
    /// Instructions for each record of the log.
    Records,
    /// Instructions of the worst call.
    Worst,
    /// Bytes for each record of the demo's log.
    LogBytes,
    /// Bytes for each block.
    Metadata,
    /// Time over that of `offset-allocator` in this loop.
    Time(&'static str),
}

/// Whether a figure is compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Yes,
    /// It takes too long, or depends on more than the code.
    No,
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    /// What it is, for tables.
    pub(crate) about: &'static str,
    /// What it should be at most.
    pub(crate) goal: Option<f64>,
    how: How,
    compared: Compared,
}

const fn figure(name: &'static str, goal: f64, how: How, compared: Compared, about: &'static str) -> Figure {
    Figure { name, about, goal: Some(goal), how, compared }
}

/// All figures, in the order in which they are printed.
pub(crate) const FIGURES: [Figure; 13] = [
    figure(
        "pair_loop_instructions",
        200.0,
        How::Pairs("loop"),
        Compared::Yes,
        "free and malloc of one size between two live blocks",
    ),
    figure("pair_churn_1k_instructions", 450.0, How::Pairs("churn_1k"), Compared::Yes, "churn over 1,000 live blocks"),
    figure("pair_churn_16k_instructions", 450.0, How::Pairs("churn_16k"), Compared::Yes, "churn over 16,000"),
    Figure {
        name: "pair_churn_1m_instructions",
        about: "churn over 1,000,000; at most 1.5 times that over 1,000",
        goal: None,
        how: How::Pairs("churn_1m"),
        compared: Compared::No,
    },
    figure(
        "malloc_event_64_streams_instructions",
        600.0,
        How::Calls("malloc_event"),
        Compared::Yes,
        "a malloc of what eight other streams freed before events that it waited for",
    ),
    figure("record_64_streams_instructions", 300.0, How::Calls("record"), Compared::Yes, "a record, 8 streams active"),
    figure("wait_64_streams_instructions", 300.0, How::Calls("wait"), Compared::Yes, "a wait, 8 streams active"),
    figure("worst_call_instructions", 20_000.0, How::Worst, Compared::No, "the worst call that was found"),
    figure("log_record_instructions", 120.0, How::Records, Compared::Yes, "a record of the log, without checksums"),
    figure("log_record_bytes", 24.0, How::LogBytes, Compared::No, "the demo's log over its records"),
    figure("metadata_bytes_per_block", 80.0, How::Metadata, Compared::Yes, "with the lookup by address"),
    figure(
        "pair_churn_16k_time_over_offset_allocator",
        1.0,
        How::Time("churn_16k"),
        Compared::No,
        "median of alternating rounds",
    ),
    figure("pair_loop_time_over_offset_allocator", 0.6, How::Time("loop"), Compared::No, "the same"),
];

impl Figure {
    /// Whether it is compared with the baseline.
    pub(crate) const fn is_checked(&self) -> bool {
        matches!(self.compared, Compared::Yes)
    }

    /// Whether instructions are counted for it.
    pub(crate) const fn needs_profiler(&self) -> bool {
        match self.how {
            How::Pairs(_) | How::Calls(_) | How::Records | How::Worst => true,
            How::LogBytes | How::Metadata | How::Time(_) => false,
        }
    }

    /// Measures it.
    pub(crate) fn measure(&self, program: &Program) -> Result<Measured, Failure> {
        let value = match self.how {
            How::Pairs(what) => program.each(&["count", "weir", what])?,
            How::Calls(name) => program.each(&["special", name])?,
            How::Records => records(program)?,
            How::Worst => super::worst::worst(program)?,
            How::LogBytes => log_bytes()?,
            How::Metadata => footprint::per_block(),
            How::Time(what) => over_offset_allocator(program, what)?,
        };
        let value = (value * 1000.0).round() / 1000.0;
        Ok(Measured { name: self.name, value })
    }
}

/// Functions that make a page's checksum. The second one writes the page's header as well; the compiler often makes the
/// first a part of it.
const CHECKSUMS: [&str; 2] = ["crc32", "Header::seal"];

/// What churn takes more with a log than without, for each record.
fn records(program: &Program) -> Result<f64, Failure> {
    let (logged, unlogged) = (program.profile(&["special", "logged"])?, program.profile(&["special", "unlogged"])?);
    let checksums = CHECKSUMS.iter().find_map(|name| callgrind::inclusive(&logged.text, name));
    let checksums = checksums.ok_or_else(|| Failure::Failed(format!("no function {CHECKSUMS:?} in the profile")))?;
    let (with, without) = (logged.total()?, unlogged.total()?);
    let more = with.checked_sub(without + checksums);
    let more = more.ok_or_else(|| Failure::Failed(format!("{with} with a log, {without} without")))?;
    Ok(more as f64 / logged.number()?)
}

/// Bytes of the demo's log, pages and all, for each record.
fn log_bytes() -> Result<f64, Failure> {
    let root = project::root();
    let read = crate::commands::read_log(&root.join("examples/traces/resnet50_train.csv"), None)?;
    let folder = project::output("bench");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
    let log = folder.join("demo.log");
    replay_with_streams_around(&read, &Options { log: Some(log.clone()), ..Options::new(On::best()) })?;
    let bytes = std::fs::read(&log).map_err(|error| Failure::file("read", &log, error))?;
    each_record(&bytes).map_err(|error| Failure::file("understand", Path::new(&log), error))
}

fn each_record(log: &[u8]) -> Result<f64, String> {
    let mut records = 0_u64;
    for read in Reader::new(log) {
        let stamped = read.map_err(|damage| format!("{damage:?}"))?;
        records += u64::from(!stamped.record.is_definition());
    }
    if records == 0 { Err("no record".into()) } else { Ok(log.len() as f64 / records as f64) }
}

fn over_offset_allocator(program: &Program, what: &str) -> Result<f64, Failure> {
    let lines = program.lines(&["time", what, "offset-allocator", "weir"])?;
    let ratio = lines.iter().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "weir").then(|| words.nth(1)?.parse().ok())?
    });
    ratio.ok_or_else(|| Failure::Failed(format!("no ratio in {lines:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir::id::LabelId;
    use weir::trace::{Log, LogStamps, Page, Record, Spill};
    use weir::units::Nanos;

    #[test]
    fn figures_have_the_names_that_scripts_rely_on() {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        let expected = "pair_loop_instructions pair_churn_1k_instructions pair_churn_16k_instructions \
                        pair_churn_1m_instructions malloc_event_64_streams_instructions record_64_streams_instructions \
                        wait_64_streams_instructions worst_call_instructions log_record_instructions log_record_bytes \
                        metadata_bytes_per_block pair_churn_16k_time_over_offset_allocator \
                        pair_loop_time_over_offset_allocator";
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn bytes_of_a_record_are_those_of_the_whole_log() {
        let mut pages = [const { Page::EMPTY }; 2];
        let mut spill = Spill::EMPTY;
        let mut log = Log::new(&mut pages, LogStamps::default(), &mut spill);
        for time in 0..10 {
            let record = Record::Mark { label: LabelId::NONE, name: "ten times" };
            log.append(Nanos(time), record, &());
        }
        log.seal();
        let mut bytes = Vec::new();
        log.for_each_page(|page| bytes.extend_from_slice(page));
        assert_eq!(each_record(&bytes), Ok(bytes.len() as f64 / 10.0));
        assert!(each_record(b"").is_err());
    }
}
