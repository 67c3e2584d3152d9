//! Rows of clock entries, one entry a stream, most of them zero.
//!
//! A stream knows only those that it waited for, by whatever way. So each row has a word that says where entries above
//! zero may be, and only these are copied or joined: with 64 streams of which 8 know of each other a record takes 291
//! instructions in all instead of 979, a wait 296 instead of 1,464 (with what else was saved in them; `cargo xtask bench`).

use super::Mark;
use crate::arena::{note_step, note_stray};
use crate::units::Seq;
use core::cell::Cell;
use core::ops::Range;

/// Memory for rows of clock entries, as it is lent.
pub struct ClockRows<'a> {
    /// One entry a stream, row after row.
    pub entries: &'a mut [Seq],
    /// One word a row.
    pub present: &'a mut [u64],
}

impl ClockRows<'_> {
    /// Empties all rows.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(Seq::ZERO);
        self.present.fill(0);
    }
}

/// Entries that are copied together, being neighbours: eight take as many instructions as one or two would one by one. (A
/// maximum of eight takes as many as nine alone, so rows are joined entry by entry.)
const EIGHT: usize = 8;

/// Rows of clock entries over lent memory.
pub(super) struct Rows<'a> {
    entries: &'a mut [Seq],
    /// A bit of a row's word stands for `1 << shift` neighbouring entries. Where it is off they are zero.
    present: &'a mut [u64],
    width: usize,
    shift: u32,
    stray: Cell<bool>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(lent: ClockRows<'a>, width: usize) -> Self {
        // As few neighbours a bit as let a word cover a row: one up to 64 streams, 1,024 with 65,536.
        let shift = usize::BITS.wrapping_sub((width.saturating_sub(1) >> 6).leading_zeros());
        Self { entries: lent.entries, present: lent.present, width, shift, stray: Cell::new(false) }
    }

    /// Where a row lies; only used where the row has a word, so nothing overflows.
    #[inline]
    fn span(&self, row: usize) -> Range<usize> {
        let from = row.wrapping_mul(self.width);
        from..from.wrapping_add(self.width)
    }

    /// The row, or an empty one if there is none.
    #[inline]
    pub(super) fn row(&self, row: usize) -> Row<'_> {
        note_step();
        let word = self.present.get(row).copied();
        let found = word.and_then(|word| Some((self.entries.get(self.span(row))?, word)));
        let (entries, word) = found.unwrap_or_else(|| {
            note_stray(&self.stray);
            (&[], 0)
        });
        Row { entries, columns: Columns { word, shift: self.shift } }
    }

    #[inline]
    pub(super) fn row_mut(&mut self, row: usize) -> Option<RowMut<'_>> {
        note_step();
        let span = self.span(row);
        let found = self.present.get_mut(row).and_then(|word| Some((self.entries.get_mut(span)?, word)));
        if found.is_none() {
            note_stray(&self.stray);
        }
        found.map(|(entries, word)| RowMut { entries, word, shift: self.shift })
    }

    #[inline]
    pub(super) fn cell(&self, row: usize, column: usize) -> Seq {
        self.row(row).entries.get(column).copied().unwrap_or_else(|| {
            note_stray(&self.stray);
            Seq::ZERO
        })
    }

    /// Raises one entry to at least `seq`.
    pub(super) fn raise(&mut self, row: usize, column: usize, seq: Seq) {
        if let Some(mut row) = self.row_mut(row) {
            row.raise(column, seq);
        }
    }

    /// Sets every entry of a row to zero.
    pub(super) fn clear(&mut self, row: usize) {
        if let Some(mut row) = self.row_mut(row) {
            row.clear();
        }
    }

    /// Joins a row: what either knew.
    #[inline]
    pub(super) fn join(&mut self, row: usize, other: Row<'_>) {
        if let Some(mut row) = self.row_mut(row) {
            row.join(other);
        }
    }

    /// No column of a row, to add some to.
    pub(super) fn no_columns(&self) -> Columns {
        Columns { word: 0, shift: self.shift }
    }

    pub(super) fn strayed(&self) -> bool {
        self.stray.get()
    }

    /// Whether every entry above zero of every row is where the row's word says.
    pub(super) fn whole(&self) -> bool {
        self.present.iter().enumerate().all(|(row, _)| {
            let Row { entries, columns } = self.row(row);
            entries.iter().enumerate().all(|(column, &seq)| seq == Seq::ZERO || columns.has(column))
        })
    }
}

/// A row to read.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    pub(super) entries: &'r [Seq],
    /// Where it may have entries above zero.
    pub(super) columns: Columns,
}

impl Row<'_> {
    /// The row without what is in other columns.
    pub(super) fn only(self, columns: Columns) -> Self {
        Self { columns: self.columns.and(columns), ..self }
    }
}

/// A row to write to.
pub(super) struct RowMut<'r> {
    entries: &'r mut [Seq],
    word: &'r mut u64,
    shift: u32,
}

impl RowMut<'_> {
    fn columns(&self) -> Columns {
        Columns { word: *self.word, shift: self.shift }
    }

    /// Raises one entry to at least `seq`.
    #[inline]
    pub(super) fn raise(&mut self, column: usize, seq: Seq) {
        if let Some(entry) = self.entries.get_mut(column)
            && *entry < seq
        {
            *entry = seq;
            *self.word |= self.columns().bit(column);
        }
    }

    /// Sets every entry to zero.
    pub(super) fn clear(&mut self) {
        self.columns().each(|column| {
            *self.entries.get_mut(column)? = Seq::ZERO;
            Some(())
        });
        *self.word = 0;
    }

    /// Overwrites the row with a stream's clock and the stream's own position.
    #[inline]
    pub(super) fn write(&mut self, clock: Row<'_>, own: Mark) {
        // What the row had and the clock has not becomes zero.
        let columns = self.columns().or(clock.columns);
        if columns.shift == 0 && !cfg!(feature = "compact") {
            copy_eights(self.entries, clock.entries, columns.word);
        } else {
            copy(self.entries, clock.entries, columns);
        }
        *self.word = clock.columns.word | clock.columns.bit(own.stream);
        if let Some(entry) = self.entries.get_mut(own.stream) {
            *entry = own.seq;
        }
    }

    /// Joins another row: the element-wise maximum, what either knew.
    #[inline]
    pub(super) fn join(&mut self, other: Row<'_>) {
        let Some(entries) = other.entries.get(..self.entries.len()) else { return };
        other.columns.each(|column| {
            let (seq, entry) = (*entries.get(column)?, self.entries.get_mut(column)?);
            if *entry < seq {
                *entry = seq;
            }
            Some(())
        });
        *self.word |= other.columns.word;
    }

    /// Joins several.
    #[inline(never)]
    pub(super) fn join_all<'r>(&mut self, others: impl Iterator<Item = Row<'r>>) {
        others.for_each(|other| self.join(other));
    }
}

/// Copies entries, a bit for each, and those beside them: what is in no column is zero in both rows.
#[inline(always)]
fn copy_eights(to: &mut [Seq], from: &[Seq], word: u64) {
    let mut left = word;
    for (to, from) in to.as_chunks_mut::<EIGHT>().0.iter_mut().zip(from.as_chunks().0) {
        if left.to_le_bytes()[0] != 0 {
            note_step();
            *to = *from;
        }
        left >>= EIGHT;
        if left == 0 {
            return;
        }
    }
    // Rows of other lengths have some more.
    copy(to, from, Columns { word, shift: 0 });
}

#[inline(never)]
fn copy(to: &mut [Seq], from: &[Seq], columns: Columns) {
    columns.each(|column| {
        *to.get_mut(column)? = *from.get(column)?;
        Some(())
    });
}

/// Columns of a row. A bit stands for `1 << shift` neighbours.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    word: u64,
    shift: u32,
}

impl Columns {
    #[inline]
    fn bit(self, column: usize) -> u64 {
        1u64.wrapping_shl((column >> self.shift) as u32)
    }

    pub(super) fn has(self, column: usize) -> bool {
        self.word & self.bit(column) != 0
    }

    pub(super) fn add(&mut self, column: usize) {
        self.word |= self.bit(column);
    }

    fn and(self, other: Self) -> Self {
        Self { word: self.word & other.word, ..self }
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        Self { word: self.word | other.word, ..self }
    }

    /// Calls `f` with each, in ascending order, until it finds none. The last ones may lie beyond the row.
    #[inline]
    pub(super) fn each(self, mut f: impl FnMut(usize) -> Option<()>) {
        if self.shift == 0 {
            bits(self.word, f);
            return;
        }
        bits(self.word, |group| {
            let first = group.unbounded_shl(self.shift);
            (0..1usize.unbounded_shl(self.shift)).inspect(|_| note_step()).try_for_each(|at| f(first | at))
        });
    }
}

/// Calls `f` with the number of each bit that is on, in ascending order, until it finds none.
#[inline]
fn bits(word: u64, mut f: impl FnMut(usize) -> Option<()>) -> Option<()> {
    let mut left = word;
    // Ends: each round takes a bit away.
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        note_step();
        f(bit)?;
    }
    Some(())
}
