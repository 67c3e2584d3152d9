//! The model of a log that grows.

use super::Tail;
use crate::check::{Checker, Told};
use crate::import;
use crate::model::Builder;
use crate::origin::Origin;
use crate::source::{self, Damages, Opened, SourceError};
use std::time::{Duration, Instant};
use weir::trace::{Damage, DamageKind};

/// A model is made out of what was read at most so often.
const SHORTEST: Duration = Duration::from_millis(100);
/// Between two of them goes so many times what the last one took: a tenth of a core at most goes into them.
const PATIENCE: u32 = 9;

/// Takes a growing log's bytes. Records go into a builder and a checker as they come, O(1) each. A model for a picture is
/// made from a copy of the builder, which is linear in the records; [`Live::is_due`] keeps that to a tenth of the time.
#[derive(Debug)]
pub struct Live {
    name: String,
    tail: Tail,
    builder: Builder,
    checker: Checker,
    origin: Option<Origin>,
    damages: Damages,
    records: u64,
    /// Records in the last model.
    shown: u64,
    next: Option<Instant>,
}

impl Live {
    /// Of a log of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tail: Tail::default(),
            builder: Builder::default(),
            checker: Checker::new(Told::Accept),
            origin: None,
            damages: Damages::default(),
            records: 0,
            shown: 0,
            next: None,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// They are no log of weir's.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), SourceError> {
        if self.origin.is_none() {
            // Comments stand at a text's beginning.
            let origin = Origin::of(bytes);
            self.builder = Builder::without(origin.unrecorded);
            self.origin = Some(origin);
        }
        if self.records == 0 && import::knows(bytes) {
            return Err(self.refused("this is another allocator's log, which is translated as a whole".to_owned()));
        }
        let Self { tail, builder, checker, damages, records, .. } = self;
        let taken = tail.take(bytes, |read| match read {
            Ok(stamped) => {
                *records += u64::from(!stamped.record.is_definition());
                builder.push(&stamped);
                checker.push(&stamped);
            }
            Err(damage) => {
                builder.gap();
                checker.damage(damage.kind);
                damages.push(damage);
            }
        });
        taken.map_err(|damage: Damage| self.refused(damage.to_string()))
    }

    fn refused(&self, what: String) -> SourceError {
        let advice = "A log of weir is followed as it grows; open any other once it is complete.".to_owned();
        SourceError { name: self.name.clone(), what, advice }
    }

    /// Records so far, definitions not counted.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Whether there is something new, and it is time for a model of it.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.records > self.shown && self.next.is_none_or(|next| now >= next)
    }

    /// What was read so far, with what is wrong in it, ready to be drawn. Linear in all records.
    #[must_use]
    pub fn opened(&mut self) -> Opened {
        let begun = Instant::now();
        let origin = self.origin.clone().unwrap_or_default();
        let mut opened = source::opened(&self.name, self.builder.clone(), origin, self.damages.clone());
        opened.model.take_findings(self.checker.so_far());
        opened.model.prepare();
        self.shown = self.records;
        self.next = Some(Instant::now() + (begun.elapsed() * PATIENCE).max(SHORTEST));
        opened
    }

    /// Says that what came last is not an event log, where it does not look like one so far.
    #[must_use]
    pub fn foreign(&self) -> Option<String> {
        let foreign = self.tail.foreign();
        let what = if self.records == 0 { "what came" } else { "what came after the last record" };
        (!foreign.is_empty())
            .then(|| format!("{what} is not an event log of weir; it begins with {}", source::beginning(foreign)))
    }

    /// The log is complete: what waits is damage.
    pub fn finish(&mut self) {
        let Self { tail, builder, checker, damages, records, .. } = self;
        let nothing = tail.finish(|read| match read {
            Ok(stamped) => {
                *records += u64::from(!stamped.record.is_definition());
                builder.push(&stamped);
                checker.push(&stamped);
            }
            Err(damage) => damages.push(damage),
        });
        if let Err(damage) = nothing.map_err(|damage| damage.kind)
            && damage != DamageKind::Empty
        {
            damages.push(Damage { offset: 0, kind: damage });
        }
    }
}
