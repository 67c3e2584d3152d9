//! Reports, comparisons and extracted programs of logs that do not make sense: whatever they say, nothing panics.

mod common;

use common::{Random, training};
use weir_viz::check::{self, Told};
use weir_viz::compare::{self, Comparison};
use weir_viz::floor::Floor;
use weir_viz::import::program_of;
use weir_viz::model::PoolIx;
use weir_viz::report::{self, Report};
use weir_viz::source::{self, Opened};

/// A training log as text, with some of its digits and lines changed.
fn damaged(random: &mut Random) -> String {
    let mut text = "weir-log version=1\n".to_owned();
    let changes = random.below(40) + 1;
    for record in training(random.below(1000), 2, 6) {
        let mut line = String::new();
        weir::trace::text::write(&record, &mut line).expect("a string takes all");
        match random.below(4 * changes) {
            0 => continue,
            1 => text += &(line.clone() + "\n"),
            2 => {
                // A digit of a field, not of the number that says where the record stands.
                let digits: Vec<usize> =
                    line.char_indices().filter(|(at, c)| *at > 30 && c.is_ascii_digit()).map(|(at, _)| at).collect();
                if let Some(at) = digits.get(random.below(digits.len() as u64) as usize) {
                    let digit = random.below(10).to_string();
                    let more = if random.below(3) == 0 { "99999999" } else { "" };
                    line.replace_range(*at..=*at, &(digit + more));
                }
            }
            _ => {}
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn everything(opened: &Opened, text: &str) {
    let checked = check::read("damaged", text.as_bytes(), Told::Accept).expect("a log");
    let report = Report::of(opened, &checked);
    assert!(report::text(&report, &opened.model).starts_with("damaged"));
    assert!(report::page(&report, opened).ends_with("</html>\n"));
    let figures = report::figures(&report);
    assert!(figures.iter().any(|figure| figure.name == "peak_used_bytes"));
    for pool in &report.pools {
        let parts = pool.samples.iter().map(|sample| sample.fragmentation());
        assert!(parts.into_iter().all(|part| (0.0..=1.0).contains(&part)));
    }
    let pools: Vec<PoolIx> = (0..opened.model.pools.len()).map(PoolIx::next_of).collect();
    let program = program_of(&opened.model, &pools);
    assert!(program.blocks.len() <= opened.model.lives.len());
    let _ = Floor::within(&program, 512, 100);
}

#[test]
fn nothing_panics_on_logs_that_do_not_fit() {
    let mut random = Random(7);
    let mut last: Option<Opened> = None;
    for _ in 0..60 {
        let text = damaged(&mut random);
        let Ok(opened) = source::read("damaged", text.as_bytes()) else { continue };
        everything(&opened, &text);
        if let Some(last) = last {
            let comparison = Comparison::of(&last, &opened);
            assert!(compare::text(&comparison).contains("whole log"));
        }
        last = Some(opened);
    }
    assert!(last.is_some());
}
