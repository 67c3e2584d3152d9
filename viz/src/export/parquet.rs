//! Tables as Parquet: every column optional, numbers as 64 bits with a sign, text as UTF-8.

use super::table::{Table, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of one group: what an engine reads at once.
const GROUP: usize = 1 << 20;

pub(super) fn write(name: &str, table: &Table, out: &mut (impl Write + Send)) -> io::Result<()> {
    write_table(name, table, out).map_err(io::Error::other)
}

fn write_table(name: &str, table: &Table, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let fields = table.columns.iter().map(|column| {
        let (physical, logical) = match column.values {
            Values::Number(_) => (Physical::INT64, None),
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(column.name, physical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::builder().build()))?;
    for from in (0..table.rows.max(1)).step_by(GROUP) {
        let mut group = file.next_row_group()?;
        for column in &table.columns {
            write_column(&column.values, from..table.rows.min(from + GROUP), &mut group)?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn write_column<W: Write + Send>(
    values: &Values,
    rows: std::ops::Range<usize>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column less than the schema has".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    match values {
        Values::Number(all) => {
            let part = all.get(rows).unwrap_or_default();
            let present: Vec<i64> = part.iter().copied().flatten().collect();
            column.typed::<Int64Type>().write_batch(&present, Some(&levels(part)), None)?;
        }
        Values::Text(all) => {
            let part = all.get(rows).unwrap_or_default();
            let present: Vec<ByteArray> = part.iter().flatten().map(|text| ByteArray::from(text.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&present, Some(&levels(part)), None)?;
        }
    }
    column.close()
}

/// 1 where there is a value.
fn levels<T>(part: &[Option<T>]) -> Vec<i16> {
    part.iter().map(|value| i16::from(value.is_some())).collect()
}
