//! Answers what a selection asks: words and places from [`explain`] and [`reach`], for the scene to show.

use crate::explain::{self, ExplainError};
use crate::model::{EventIx, FreeBlock, Model, PoolIx};
use crate::progress::Progress;
use crate::reach::{self, Reach};
use crate::scene::{Answer, Line, Lit, Question, Told, headline, ticks};
use std::sync::Arc;

/// A log whose runtime would take more memory than this is not rebuilt for a click; `explain` at the command line does.
const MOST_BYTES: u64 = 1 << 30;
/// Candidates that are told one by one: the closest in size.
const MOST_CANDIDATES: usize = 6;
/// Streams that are told one by one.
const MOST_STREAMS: usize = 16;

/// The answer. O(n) in the log's records: on a long log, not to be waited for by a window.
#[must_use]
pub fn answer(model: &Model, question: Question) -> Answer {
    let told = match question {
        Question::Why(event) => why(model, event).unwrap_or_else(|error| only("why", error.to_string())),
        Question::Whose(pool, event, block) => whose(model, pool, event, &block),
    };
    Answer::Told(Arc::new(told))
}

fn only(key: &'static str, value: String) -> Told {
    let value = value.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    Told { lines: vec![Line { key, value }], lit: Vec::new() }
}

fn why(model: &Model, event: EventIx) -> Result<Told, ExplainError> {
    let needed = explain::bytes(model, event)?;
    if needed > MOST_BYTES {
        let bytes = ticks::bytes(needed);
        return Ok(only(
            "why",
            format!("the log's runtime takes {bytes} to be rebuilt: `cargo xtask explain` does that"),
        ));
    }
    let explained = explain::explain(model, event, &Progress::default())?;
    // The call itself is what is selected: the details say it already.
    let said = ["call", "asked", "got"];
    let lines = explain::lines(&explained, model, MOST_CANDIDATES).into_iter().filter(|(key, _)| !said.contains(key));
    let lines = lines.map(|(key, value)| Line { key, value: squeezed(&value) }).collect();
    let lit = explained.candidates.iter().map(|candidate| Lit {
        from: None,
        to: Some(event),
        start: candidate.offset.0,
        end: candidate.offset.0.saturating_add(candidate.size.0),
        taken: candidate.taken,
    });
    Ok(Told { lines, lit: lit.collect() })
}

/// Columns of a table are none in a list.
fn squeezed(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn whose(model: &Model, pool: PoolIx, event: EventIx, block: &FreeBlock) -> Told {
    let Some(reach) = reach::reach(model, pool, block, event) else {
        return only("whose", "not recorded: the order of the streams up to here is not all in the log".to_owned());
    };
    let lit = Lit { from: Some(reach.from), to: reach.until, start: block.start, end: block.end, taken: true };
    Told { lines: whose_lines(model, block, &reach), lit: vec![lit] }
}

fn whose_lines(model: &Model, block: &FreeBlock, reach: &Reach) -> Vec<Line> {
    let at = |event: EventIx| format!("record {}", ticks::count(model.events.number(event)));
    let mut lines = Vec::new();
    let mut line = |key: &'static str, value: String| lines.push(Line { key, value });
    let how = if block.last.is_some() { "freed" } else { "mapped" };
    line(
        "free",
        match reach.until {
            Some(until) => format!("{how} at {}, until {}", at(reach.from), at(until)),
            None => format!("{how} at {}, to the log's end", at(reach.from)),
        },
    );
    for (place, point) in reach.points.iter().enumerate() {
        line(if place == 0 { "after" } else { "" }, format!("stream {} at {}", point.stream, point.seq));
    }
    if reach.points.is_empty() {
        line("after", "nothing: no work was done with it".to_owned());
    }
    for (place, since) in reach.streams.iter().take(MOST_STREAMS).enumerate() {
        let stream = model.stream(since.stream).id;
        let words = match since.event {
            Some(event) if event == reach.from => format!("at once, from {} on", at(event)),
            Some(event) => {
                let kind = model.events.kind(event).name();
                let what = format!("{kind} {}", headline(model, event));
                format!("from {} on: {}", at(event), what.trim_end())
            }
            None if reach.until.is_some() => "not before it was gone".to_owned(),
            None => "not before the log ends".to_owned(),
        };
        line(if place == 0 { "could be of" } else { "" }, format!("stream {stream} {words}"));
    }
    if let Some(more) = reach.streams.len().checked_sub(MOST_STREAMS).filter(|more| *more > 0) {
        line("", format!("and {} more streams", ticks::count(more as u64)));
    }
    lines
}
