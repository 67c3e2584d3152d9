//! The reader of both forms.

use super::damage::{Damage, DamageKind};
use super::decode::{Pages, Records, find_magic};
use super::line::{Line, split_line};
use super::page::MAGIC;
use super::{FORMAT_VERSION, Stamped, text};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Form {
    /// Pages.
    Binary,
    /// Lines.
    Text,
}

/// The form of a log.
///
/// # Errors
/// [`DamageKind::Empty`], [`DamageKind::Cut`] or [`DamageKind::Foreign`]: there is no log in these bytes.
pub fn sniff(bytes: &[u8]) -> Result<Form, Damage> {
    let nothing = |kind| Err(Damage { offset: 0, kind });
    if text::header_version(bytes).is_some() || bytes.starts_with(text::NUMBER) {
        return Ok(Form::Text);
    }
    if find_magic(bytes).is_some() {
        return Ok(Form::Binary);
    }
    if bytes.iter().all(|byte| *byte == 0) {
        return nothing(DamageKind::Empty);
    }
    if MAGIC.starts_with(bytes) {
        return Ok(Form::Binary);
    }
    if has_line(bytes) {
        return Ok(Form::Text);
    }
    nothing(DamageKind::Foreign)
}

/// Whether some line begins as a record's does: a text whose beginning was cut off.
fn has_line(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(text::NUMBER) {
            return true;
        }
        rest = split_line(rest).1;
    }
    false
}

/// Reads a log of either form, record by record, and reports whatever is wrong with it in between.
///
/// Records come in the order in which they stand there, except that a ring of pages that was saved as it lay in memory
/// is read from its oldest page on. Whatever the bytes, the reader comes to an end, after a time that is linear in their
/// number (but for bytes made to look like many overlapping pages).
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    source: Source<'a>,
    /// Number of the record expected next.
    expected: u64,
    /// Read already, to be handed out after the damage noticed before it.
    waiting: Option<Stamped<'a>>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Pages {
        pages: Pages<'a>,
        /// The pages that stand before those, where a ring is read.
        later: &'a [u8],
        records: Option<Records<'a>>,
    },
    Lines {
        rest: &'a [u8],
        offset: u64,
        line: u64,
    },
    Nothing(Option<Damage>),
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, of whatever form they are.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let source = match sniff(bytes) {
            Ok(Form::Binary) => binary(bytes),
            Ok(Form::Text) => Source::Lines { rest: bytes, offset: 0, line: 1 },
            Err(damage) => Source::Nothing(Some(damage)),
        };
        Self { source, expected: 0, waiting: None }
    }

    /// The form that was found; `None` where there is no log in the bytes.
    #[must_use]
    pub const fn form(&self) -> Option<Form> {
        match self.source {
            Source::Pages { .. } => Some(Form::Binary),
            Source::Lines { .. } => Some(Form::Text),
            Source::Nothing(_) => None,
        }
    }

    /// Hands out a record, or first that its number is not the expected one.
    fn checked(&mut self, stamped: Stamped<'a>, offset: u64) -> Result<Stamped<'a>, Damage> {
        let (number, expected) = (stamped.number, self.expected);
        self.expected = number.wrapping_add(u64::from(!stamped.record.is_definition()));
        if number == expected {
            return Ok(stamped);
        }
        self.waiting = Some(stamped);
        let kind = if number > expected {
            DamageKind::Missing { first: expected, records: number - expected }
        } else {
            DamageKind::OutOfOrder { number, expected }
        };
        Err(Damage { offset, kind })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Stamped<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(stamped) = self.waiting.take() {
            return Some(Ok(stamped));
        }
        let (offset, read) = self.source.next()?;
        Some(read.and_then(|stamped| self.checked(stamped, offset)))
    }
}

/// What was read, and where.
type Read<'a> = (u64, Result<Stamped<'a>, Damage>);

impl<'a> Source<'a> {
    fn next(&mut self) -> Option<Read<'a>> {
        match self {
            Self::Pages { pages, later, records } => next_in_pages(pages, later, records),
            Self::Lines { rest, offset, line } => next_line(rest, offset, line),
            Self::Nothing(damage) => damage.take().map(|damage| (damage.offset, Err(damage))),
        }
    }
}

fn next_in_pages<'a>(
    pages: &mut Pages<'a>,
    later: &mut &'a [u8],
    records: &mut Option<Records<'a>>,
) -> Option<Read<'a>> {
    loop {
        if let Some(within) = records {
            let offset = within.place();
            if let Some(read) = within.next() {
                return Some((offset, read));
            }
            *records = None;
        }
        match pages.next() {
            Some(Ok(page)) => *records = Some(page.records()),
            Some(Err(damage)) => return Some((damage.offset, Err(damage))),
            None if later.is_empty() => return None,
            None => *pages = Pages::new(core::mem::take(later)),
        }
    }
}

fn next_line<'a>(rest: &mut &'a [u8], offset: &mut u64, line: &mut u64) -> Option<Read<'a>> {
    while !rest.is_empty() {
        let (whole, (at, number)) = (*rest, (*offset, *line));
        let (first, next) = split_line(whole);
        let mut ahead = Line::new(whole);
        let read = match text::header_version(first) {
            Some(FORMAT_VERSION) => None,
            Some(version) => Some(Err(DamageKind::UnknownVersion { version })),
            None if first.is_empty() || first.starts_with(b"#") => None,
            None => Some(text::take(&mut ahead).map_err(|bad| DamageKind::BadLine {
                line: number,
                key: bad.key,
                expected: bad.what,
            })),
        };
        // A name may hold line breaks: the record says where it ends, anything else is one line.
        let left = match read {
            Some(Ok(_)) => ahead.left(),
            _ => next.len(),
        };
        let taken = whole.len().saturating_sub(left);
        let (passed, left) = whole.split_at_checked(taken).unwrap_or_default();
        *rest = left;
        *offset = at.saturating_add(taken as u64);
        *line = number.saturating_add(passed.iter().filter(|byte| **byte == b'\n').count() as u64);
        if let Some(read) = read {
            return Some((at, read.map_err(|kind| Damage { offset: at, kind })));
        }
    }
    None
}

/// Begins with the page that is the oldest where the bytes are a ring as it lay in memory: the numbers of its pages
/// rise but for one step back, and the last is smaller than the first.
fn binary(bytes: &[u8]) -> Source<'_> {
    let start = oldest(bytes).unwrap_or(0);
    let (later, sooner) = bytes.split_at_checked(start).unwrap_or((&[], bytes));
    Source::Pages { pages: Pages::at(sooner, start as u64), later, records: None }
}

fn oldest(bytes: &[u8]) -> Option<usize> {
    let mut pages = Pages::new(bytes).flatten();
    let first = pages.next()?.header.number;
    if first == 0 {
        return None;
    }
    let mut last = first;
    let mut back = None;
    for page in pages {
        let number = page.header.number;
        if number <= last && back.replace(page.offset).is_some() {
            return None;
        }
        last = number;
    }
    back.filter(|_| last < first).map(|offset| offset as usize)
}
