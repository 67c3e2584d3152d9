//! Holds the log that the rebuilt runtime writes against the one it was rebuilt from.

use super::refused;
use crate::model::{EventIx, Model, Payload};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use weir::id::LabelId;
use weir::trace::{POLICY, Reader, Record, Sink, SinkError, Stamped, text};
use weir::units::Nanos;

/// So many bytes of pages are looked at together.
const LONG: usize = 1 << 20;

/// The pages that a runtime has written.
#[derive(Debug, Default)]
pub(super) struct Pages(Rc<RefCell<Vec<u8>>>);

impl Pages {
    /// The same pages, for the other side.
    pub(super) fn share(&self) -> Self {
        Self(Rc::clone(&self.0))
    }

    pub(super) fn is_long(&self) -> bool {
        self.0.borrow().len() >= LONG
    }
}

impl Sink for Pages {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        self.0.borrow_mut().extend_from_slice(page);
        Ok(())
    }
}

/// The first record on which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its number in the log.
    pub record: u64,
    /// The record in the log.
    pub event: EventIx,
    /// What the log says, as a line of its text form.
    pub logged: String,
    /// What the core does.
    pub recomputed: String,
    /// The number of the rules by which the log's pools decided, where they are others than this weir's.
    pub rules: Option<u32>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, logged, recomputed, .. } = self;
        write!(
            f,
            "from record {record} on nothing can be recomputed: the log says\n  {logged}\nand the core, called as the log \
             tells, does\n  {recomputed}"
        )
    }
}

/// The rules of the log that begins there, if they are not this weir's.
fn other_rules(model: &Model, begin: EventIx) -> Option<u32> {
    match model.events.payload(begin) {
        Payload::Other(Record::Begin { policy, .. }) => Some(policy).filter(|policy| *policy != POLICY),
        _ => None,
    }
}

/// The place in the log that the runtime's own one has come to.
#[derive(Debug)]
pub(super) struct Twin<'m> {
    model: &'m Model,
    begin: EventIx,
    at: EventIx,
    agreed: u64,
    difference: Option<Difference>,
}

impl<'m> Twin<'m> {
    pub(super) fn new(model: &'m Model, begin: EventIx) -> Self {
        Self { model, begin, at: begin, agreed: 0, difference: None }
    }

    pub(super) fn difference(&self) -> Option<&Difference> {
        self.difference.as_ref()
    }

    pub(super) fn agreed(&self) -> u64 {
        self.agreed
    }

    /// Compares what was written and forgets it.
    pub(super) fn take(&mut self, pages: &Pages) {
        let mut pages = pages.0.borrow_mut();
        // A damage here is only that the pages do not begin with the log's first.
        for stamped in Reader::new(&pages).flatten() {
            if !stamped.record.is_definition() && self.difference.is_none() {
                self.hold(&stamped);
            }
        }
        pages.clear();
    }

    fn hold(&mut self, made: &Stamped<'_>) {
        self.skip();
        if self.at >= self.model.events.end() {
            return;
        }
        let logged = self.model.record(self.at);
        if plain(&logged.record) == plain(&made.record) {
            self.agreed += 1;
            self.at = EventIx(self.at.0 + 1);
            return;
        }
        self.difference = Some(Difference {
            record: logged.number,
            event: self.at,
            logged: line(&logged),
            recomputed: line(&Stamped { number: logged.number, time: logged.time, record: made.record }),
            rules: other_rules(self.model, self.begin),
        });
    }

    /// Refused calls that changed nothing are not made again.
    fn skip(&mut self) {
        while let Some(length) = refused::passed_over(self.model, self.at) {
            self.at = EventIx(self.at.0 + length);
        }
    }
}

/// Without what the program does not see and nothing depends on: numbers of labels and of calls.
fn plain<'r>(record: &Record<'r>) -> Record<'r> {
    match *record {
        Record::Malloc { pool, stream, seq, id, asked, given, offset, source, points, .. } => {
            let label = LabelId::NONE;
            Record::Malloc { pool, stream, seq, id, asked, given, offset, source, label, points }
        }
        Record::Mark { .. } => Record::Mark { label: LabelId::NONE, name: "" },
        Record::GrowPlanned { pool, stream, offset, granules, .. } => {
            Record::GrowPlanned { pool, stream, call: 0, offset, granules }
        }
        Record::GrowAborted { pool, .. } => Record::GrowAborted { pool, call: 0 },
        Record::Begin { streams, events, markers, pools, blocks, granules, .. } => {
            Record::Begin { version: (0, 0, 0), policy: 0, streams, events, markers, pools, blocks, granules }
        }
        other => other,
    }
}

fn line(stamped: &Stamped<'_>) -> String {
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = text::write(&Stamped { time: Nanos(0), ..*stamped }, &mut line);
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_other_rules_is_known() {
        let begins = |policy| {
            let (version, streams, events, markers) = ((0, 1, 0), 1, 1, 1);
            let record = Record::Begin { version, policy, streams, events, markers, pools: 1, blocks: 8, granules: 1 };
            Model::of([Stamped { number: 0, time: Nanos::ZERO, record }])
        };
        assert_eq!(other_rules(&begins(POLICY), EventIx(0)), None);
        assert_eq!(other_rules(&begins(POLICY - 1), EventIx(0)), Some(POLICY - 1));
    }
}
