//! What a log says of where it comes from, in comments: a log of another allocator that was turned into weir's text form.
//!
//! Comments are no records. Every reader of the format skips them, and a log that is copied keeps them.

use crate::model::Unrecorded;
use std::fmt;
use weir::trace::{Damage, DamageKind};

const FORMAT: &str = "# translated from: ";
const MISSING: &str = "# not recorded: ";
const PART: &str = "# part: ";
const NOTE: &str = "# note: ";
/// What a line about damage begins with. It may stand at the log's end, too.
pub(crate) const DAMAGED: &str = "# damaged: ";
/// The longest last line that is looked at.
const LONGEST: usize = 1 << 10;

/// How many more damages there are than were told.
pub(crate) fn more_damaged(more: u64) -> String {
    let plural = if more == 1 { "" } else { "s" };
    format!("and {more} more damaged place{plural}")
}

/// Where a log comes from. Empty for one that weir wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The format that it was translated from; empty for weir's own.
    pub format: String,
    /// What that does not record.
    pub unrecorded: Unrecorded,
    /// Which part of it this is; empty where it is all.
    pub part: String,
    /// What else to know of it.
    pub notes: Vec<String>,
    /// What of it could not be read, each with its place.
    pub damages: Vec<String>,
}

impl Origin {
    /// What the comments at the beginning and end of a log say.
    #[must_use]
    pub fn of(log: &[u8]) -> Self {
        let mut origin = Self::default();
        let lines = log.split(|byte| *byte == b'\n');
        let first = lines.skip(1).map_while(|line| std::str::from_utf8(line).ok());
        first.take_while(|line| line.starts_with('#')).for_each(|line| origin.take(line));
        let end = log.strip_suffix(b"\n").unwrap_or(log);
        let end = &end[end.len().saturating_sub(LONGEST)..];
        let last = end.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Some(damage) = std::str::from_utf8(last).ok().and_then(|line| line.strip_prefix(DAMAGED))
            && origin.damages.last().is_none_or(|known| known != damage)
        {
            origin.damages.push(damage.to_owned());
        }
        origin
    }

    fn take(&mut self, line: &str) {
        if let Some(format) = line.strip_prefix(FORMAT) {
            format.clone_into(&mut self.format);
        } else if let Some(words) = line.strip_prefix(MISSING) {
            self.unrecorded = Unrecorded::parse(words);
        } else if let Some(part) = line.strip_prefix(PART) {
            part.clone_into(&mut self.part);
        } else if let Some(note) = line.strip_prefix(NOTE) {
            self.notes.push(note.to_owned());
        } else if let Some(damage) = line.strip_prefix(DAMAGED) {
            self.damages.push(damage.to_owned());
        }
    }

    /// Whether a damage is none: what a part of a log leaves out was not lost.
    #[must_use]
    pub fn expects(&self, damage: &Damage) -> bool {
        !self.part.is_empty() && matches!(damage.kind, DamageKind::Missing { first: 0, .. })
    }

    /// Whether the log goes on from a place that is not its beginning: what was live or mapped before is known only as far
    /// as its records name it.
    #[must_use]
    pub fn begins_late(&self) -> bool {
        self.part.starts_with("from ")
    }

    /// What a part leaves open, in sentences; nothing for a whole log.
    #[must_use]
    pub fn open_ends(&self) -> Vec<String> {
        if self.part.is_empty() {
            return Vec::new();
        }
        let mut said = vec![format!("this is a part of the log, {}", self.part)];
        if self.begins_late() {
            said.push(
                "what was live or mapped before it counts only where the part's records name it: peaks are at least so high, \
                 and order from before it is not known"
                    .to_owned(),
            );
        }
        said.push("whether what is live at its end leaks is not known".to_owned());
        said
    }

    /// In a sentence, for people; nothing for weir's own logs.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let lacks = if self.unrecorded.is_empty() { "nothing".to_owned() } else { self.unrecorded.to_string() };
        (!self.format.is_empty()).then(|| format!("translated from {}; not recorded there: {lacks}", self.format))
    }
}

impl fmt::Display for Origin {
    /// The comments, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What stands in a foreign file must not end the comment.
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        if !self.format.is_empty() {
            writeln!(f, "{FORMAT}{}", line(&self.format))?;
            writeln!(f, "{MISSING}{}", self.unrecorded)?;
        }
        if !self.part.is_empty() {
            writeln!(f, "{PART}{}", line(&self.part))?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{NOTE}{}", line(note)))?;
        self.damages.iter().try_for_each(|damage| writeln!(f, "{DAMAGED}{}", line(damage)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Fact;

    #[test]
    fn comments_are_read_back() {
        let origin = Origin {
            format: "a format".into(),
            unrecorded: Unrecorded::of(&[Fact::Order]),
            part: "from record 1 on".into(),
            notes: vec!["one".into(), "two".into()],
            damages: vec!["line 3: found x; expected y".into()],
        };
        let log = format!("weir-log version=1\n{origin}number=0 time=0 record=lost records=1\n");
        assert_eq!(Origin::of(log.as_bytes()), origin);
        assert_eq!(origin.sentence().as_deref(), Some("translated from a format; not recorded there: order"));
        let mut cut = origin.clone();
        cut.damages.push("the end is missing".into());
        assert_eq!(Origin::of(format!("{log}{DAMAGED}the end is missing\n").as_bytes()), cut);
    }

    #[test]
    fn what_a_file_holds_cannot_become_a_record() {
        let origin = Origin { notes: vec!["a\nnumber=0 time=0 record=lost records=1".into()], ..Origin::default() };
        assert_eq!(origin.to_string().lines().count(), 1);
        assert_eq!(Origin::of(b""), Origin::default());
        assert_eq!(Origin::default().sentence(), None);
    }
}
