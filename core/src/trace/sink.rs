//! Where finished pages go.

use super::decode::Pages;
use super::page::Page;
use super::text;
use core::fmt::Write;

/// A page could not be kept; the runtime counts its records as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SinkError;

/// Where finished pages go. Never called with a lock of the pool's held.
pub trait Sink {
    /// Takes one page of at most [`PAGE_BYTES`](super::PAGE_BYTES) bytes.
    ///
    /// # Errors
    /// The page is lost; its records are counted and the count appears in a later page.
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        (**self).page(page)
    }
}

/// Drops every page.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    fn page(&mut self, _: &[u8]) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Keeps the latest pages in memory that it was lent, and overwrites the oldest.
#[derive(Debug)]
pub struct RingSink<'a> {
    pages: &'a mut [Page],
    /// Where the next page goes: the place of the oldest once all places are taken.
    next: usize,
    kept: usize,
}

impl<'a> RingSink<'a> {
    /// A ring of as many pages as there are places.
    #[must_use]
    pub const fn new(pages: &'a mut [Page]) -> Self {
        Self { pages, next: 0, kept: 0 }
    }

    /// The pages kept, oldest first. One after the other in a file, they are a log.
    pub fn pages(&self) -> impl Iterator<Item = &[u8]> {
        let (newer, older) = self.pages.split_at_checked(self.next).unwrap_or_default();
        let oldest_first = older.iter().chain(newer);
        // Before the ring is full, the places from the next one on hold nothing.
        let unused = self.pages.len().saturating_sub(self.kept);
        oldest_first.skip(unused).map(Page::bytes)
    }
}

impl Sink for RingSink<'_> {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        let place = self.pages.get_mut(self.next).ok_or(SinkError)?;
        place.copy_from(page).ok_or(SinkError)?;
        self.next = if self.next + 1 < self.pages.len() { self.next + 1 } else { 0 };
        self.kept = self.pages.len().min(self.kept + 1);
        Ok(())
    }
}

/// Hands every page to a function, which writes it wherever it likes.
#[derive(Clone, Copy, Debug)]
pub struct WriterSink<F>(pub F);

impl<F: FnMut(&[u8]) -> Result<(), SinkError>> Sink for WriterSink<F> {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        (self.0)(page)
    }
}

/// Writes every page as text, the header line before the first.
#[derive(Clone, Copy, Debug)]
pub struct TextSink<W> {
    out: W,
    header: &'static str,
}

impl<W: Write> TextSink<W> {
    /// Writes to `out`.
    #[must_use]
    pub const fn new(out: W) -> Self {
        Self { out, header: text::HEADER }
    }

    /// What was written to.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Sink for TextSink<W> {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        if !self.header.is_empty() {
            writeln!(self.out, "{}", self.header).map_err(|_| SinkError)?;
            self.header = "";
        }
        for stamped in Pages::new(page).flatten().flat_map(|page| page.records()).flatten() {
            text::write(&stamped, &mut self.out).map_err(|_| SinkError)?;
            self.out.write_char('\n').map_err(|_| SinkError)?;
        }
        Ok(())
    }
}

/// Writes every record through defmt, whatever the level: firmware's own log, with the pool's records in it.
///
/// Pages that are lost between a runtime and this sink are told by the records' numbers.
#[cfg(feature = "defmt")]
#[derive(Clone, Copy, Debug, Default)]
pub struct DefmtSink;

#[cfg(feature = "defmt")]
impl Sink for DefmtSink {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        for stamped in Pages::new(page).flatten().flat_map(|page| page.records()).flatten() {
            defmt::println!("{:?}", stamped);
        }
        Ok(())
    }
}

/// Writes a set of flags as `Debug` does: `Reuse(EVENT | INTERNAL)`, or `Reuse(0x0)` where there is none. The names are
/// parts of format strings, since text that is an argument would be quoted.
#[cfg(feature = "defmt")]
macro_rules! format_flags {
    ($f:ident, $flags:expr, $open:tt, $($flag:ident $name:tt),+) => {{
        let flags = $flags;
        let mut left = flags.bits().count_ones();
        defmt::write!($f, $open);
        $(
            if flags.contains(Self::$flag) {
                defmt::write!($f, $name);
                left = left.wrapping_sub(1);
                if left > 0 {
                    defmt::write!($f, " | ");
                }
            }
        )+
        if flags.is_empty() {
            defmt::write!($f, "0x0");
        }
        defmt::write!($f, ")");
    }};
}
#[cfg(feature = "defmt")]
pub(crate) use format_flags;
