//! A table, for spreadsheets and scripts.

use super::table::Table;
use std::io::{Result, Write};

pub(super) fn write(table: &Table, out: &mut impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns.iter().map(|column| column.name))?;
    let mut row: Vec<String> = Vec::with_capacity(table.columns.len());
    for at in 0..table.rows {
        row.clear();
        row.extend(table.columns.iter().map(|column| column.values.text(at)));
        writer.write_record(&row)?;
    }
    writer.flush()
}
