//! A table, for spreadsheets and scripts.

use super::table::{self, Cells, MOST_NUMBER, Rows};
use crate::model::Model;
use std::io::{Result, Write};

pub(super) fn write(rows: Rows, model: &Model, bytes: &[u8], out: &mut impl Write) -> Result<()> {
    let mut heading = Csv::default();
    table::schema(rows).iter().for_each(|(name, _)| heading.text(Some(name)));
    heading.end();
    out.write_all(&heading.finish()?)?;
    table::each(rows, model, bytes, Csv::default, |piece| out.write_all(&piece.finish()?))
}

/// Rows as bytes.
pub(super) struct Csv(csv::Writer<Vec<u8>>);

impl Default for Csv {
    fn default() -> Self {
        Self(csv::Writer::from_writer(Vec::new()))
    }
}

impl Csv {
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

// Nothing that is written to memory fails, and rows may be of any length.
impl Cells for Csv {
    const ROWS: usize = 1 << 12;

    fn number(&mut self, number: Option<u64>) {
        let mut digits = itoa::Buffer::new();
        let _ = self.0.write_field(number.map_or("", |number| digits.format(number.min(MOST_NUMBER))));
    }

    fn text(&mut self, text: Option<&str>) {
        let _ = self.0.write_field(text.unwrap_or_default());
    }

    fn end(&mut self) {
        let _ = self.0.write_record(None::<&[u8]>);
    }
}
