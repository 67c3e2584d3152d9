//! Findings in words.

use super::Report;
use super::finding::{Clue, Finding, Memory, Missing, Operation, What};
use std::fmt;
use weir::trace::Verb;

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malloc(id) => write!(f, "malloc of allocation {id}"),
            Self::Free(id) => write!(f, "free of allocation {id}"),
            Self::Use(id) => write!(f, "use of allocation {id}"),
            Self::Refused(verb, None) => write!(f, "{}, refused", verb_name(*verb)),
            Self::Refused(verb, Some(ptr)) => write!(f, "{} of {ptr}, refused", verb_name(*verb)),
            Self::Mapped => f.write_str("memory mapped"),
            Self::Unmapped => f.write_str("memory unmapped"),
            Self::WaitInserted => f.write_str("wait inserted by the pool"),
            Self::Marker => f.write_str("marker of the pool's"),
            Self::PoolDestroyed => f.write_str("pool destroyed"),
            Self::ProgramEnded => f.write_str("end of the program"),
            Self::Record(kind) => f.write_str(kind.name()),
        }
    }
}

fn verb_name(verb: Verb) -> &'static str {
    match verb {
        Verb::Malloc => "malloc",
        Verb::Free => "free",
        Verb::Use => "use",
        Verb::Record => "record of an event",
        Verb::Wait => "wait for an event",
        Verb::Query => "query of an event",
        Verb::Synchronize => "synchronisation",
        Verb::CreateStream => "creation of a stream",
        Verb::DestroyStream => "destruction of a stream",
        Verb::CreateEvent => "creation of an event",
        Verb::DestroyEvent => "destruction of an event",
        Verb::CreatePool => "creation of a pool",
        Verb::DestroyPool => "destruction of a pool",
        Verb::Attribute => "attribute of a pool",
        Verb::Trim => "trim of a pool",
        Verb::Label => "label",
        Verb::ResetEvent => "reset of an event",
        Verb::SetCapture => "capture of a stream",
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.record, self.what)?;
        if let Some(stream) = self.stream {
            write!(f, " on stream {stream}")?;
        }
        if let Some(seq) = self.seq {
            write!(f, " at seq {seq}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {} of pool {}", self.bytes, self.offset.0, self.pool)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record_on, after, .. } = self;
        match self.wait_on {
            None => write!(
                f,
                "a synchronisation, or a query that says \"complete\", of stream {record_on} up to seq {after}"
            )?,
            Some(wait_on) => {
                write!(
                    f,
                    "an event recorded on stream {record_on} behind seq {after}, and stream {wait_on} waiting for it"
                )?;
                if let Some(before) = self.before {
                    write!(f, " before seq {before}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Clue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded { record, event, number, stream } => write!(
                f,
                "record {record} records event {event} on stream {stream} (recording {number}): a wait for that would do"
            ),
            Self::TooLate { record, event } => write!(f, "record {record} waits for event {event}: too late"),
            Self::TooEarly { record, event, recorded } => write!(
                f,
                "record {record} waits for event {event}, which record {recorded} recorded: too early to cover it"
            ),
            Self::NeverRecorded { record, event } => {
                write!(f, "record {record} waits for event {event}, which was not recorded then: it orders nothing")
            }
            Self::Replaced { record, event } => {
                write!(
                    f,
                    "record {record} waits for event {event}, which was recorded anew meanwhile: it proves nothing"
                )
            }
        }
    }
}

impl fmt::Display for Finding {
    /// A few lines; no line break at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fault.name(), self.fault.meaning())?;
        match (self.allocation, self.memory) {
            (Some(id), Some(memory)) => write!(f, "\n  block:   allocation {id}, {memory}")?,
            (None, Some(memory)) => write!(f, "\n  memory:  {memory}")?,
            _ => {}
        }
        match &self.first {
            Some(first) => write!(f, "\n  first:   {first}\n  then:    {}", self.second)?,
            None => write!(f, "\n  at:      {}", self.second)?,
        }
        if let Some(missing) = &self.missing {
            write!(f, "\n  missing: {missing}")?;
            for clue in &missing.clues {
                write!(f, "\n  note:    {clue}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    /// Everything, for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for damage in &self.damages {
            writeln!(f, "damaged: {damage}")?;
        }
        for sentence in &self.open_ends {
            writeln!(f, "note: {sentence}")?;
        }
        for (at, finding) in self.findings.iter().enumerate() {
            writeln!(f, "{}. {finding}", at + 1)?;
        }
        if self.more > 0 {
            writeln!(f, "and {} more finding{}", self.more, plural(self.more))?;
        }
        for finding in &self.not_judged {
            writeln!(f, "not judged, records in between are missing: {finding}")?;
        }
        if self.more_not_judged > 0 {
            writeln!(f, "and {} more that are not judged", self.more_not_judged)?;
        }
        if self.told > 0 {
            writeln!(
                f,
                "note: {} uses are before no free by any event; the pool was told of them and waits",
                self.told
            )?;
        }
        let Self { name, records, mallocs, frees, uses, streams, .. } = self;
        let read = format!("{records} records, {mallocs} mallocs, {frees} frees, {uses} uses, {streams} streams");
        if self.is_clean() {
            let as_far = if self.damages.is_empty() && self.open_ends.is_empty() { "" } else { " as far as it goes" };
            return write!(f, "{name}: clean{as_far} ({read})");
        }
        let kinds: Vec<String> =
            self.by_fault.iter().map(|(fault, count)| format!("{count} {}", fault.name())).collect();
        write!(f, "{name}: {} finding{}: {} ({read})", self.total(), plural(self.total()), kinds.join(", "))
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
