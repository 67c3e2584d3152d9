//! Tables as Parquet: every column optional, numbers as 64 bits with a sign, text as UTF-8.

use super::table::{self, Cells, MOST_NUMBER, Rows, Type as Kind};
use crate::model::Model;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

pub(super) fn write(rows: Rows, model: &Model, bytes: &[u8], out: &mut (impl Write + Send)) -> io::Result<()> {
    let schema = schema(rows).map_err(io::Error::other)?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(out, schema, properties).map_err(io::Error::other)?;
    let group = |group: Group| write_group(group, &mut file).map_err(io::Error::other);
    table::each(rows, model, bytes, || Group::new(rows), group)?;
    file.close().map(|_| ()).map_err(io::Error::other)
}

fn schema(rows: Rows) -> Result<Arc<Type>, ParquetError> {
    let fields = table::schema(rows).iter().map(|(name, kind)| {
        let (physical, logical) = match kind {
            Kind::Number => (Physical::INT64, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder(rows.name()).with_fields(fields).build()?))
}

fn write_group<W: Write + Send>(group: Group, file: &mut SerializedFileWriter<W>) -> Result<(), ParquetError> {
    let mut out = file.next_row_group()?;
    group.columns.into_iter().try_for_each(|column| write_column(column, &mut out))?;
    out.close().map(|_| ())
}

fn write_column<W: Write + Send>(
    Column { levels, values }: Column,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column less than the schema has".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    match values {
        Values::Number(numbers) => column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None)?,
        Values::Text { bytes, ends } => {
            // One piece of memory for all texts of a column.
            let bytes = ByteArray::from(bytes);
            let starts = std::iter::once(&0).chain(&ends);
            let texts: Vec<ByteArray> = starts.zip(&ends).map(|(from, to)| bytes.slice(*from, to - from)).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?
        }
    };
    column.close()
}

/// Rows that an engine reads at once.
struct Group {
    columns: Vec<Column>,
    /// The column of the next cell.
    next: usize,
}

struct Column {
    /// For each row 1 where there is a value, as Parquet counts.
    levels: Vec<i16>,
    values: Values,
}

/// Those that there are.
enum Values {
    Number(Vec<i64>),
    /// One behind the other, with where each ends.
    Text {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl Group {
    fn new(rows: Rows) -> Self {
        let values = |kind| match kind {
            Kind::Number => Values::Number(Vec::new()),
            Kind::Text => Values::Text { bytes: Vec::new(), ends: Vec::new() },
        };
        let column = |(_, kind): &(&str, Kind)| Column { levels: Vec::new(), values: values(*kind) };
        Self { columns: table::schema(rows).iter().map(column).collect(), next: 0 }
    }

    fn column(&mut self, is_there: bool) -> &mut Values {
        let column = &mut self.columns[self.next];
        self.next += 1;
        column.levels.push(i16::from(is_there));
        &mut column.values
    }
}

impl Cells for Group {
    const ROWS: usize = 1 << 17;

    fn number(&mut self, number: Option<u64>) {
        if let (Values::Number(numbers), Some(number)) = (self.column(number.is_some()), number) {
            numbers.push(number.min(MOST_NUMBER) as i64);
        }
    }

    fn text(&mut self, text: Option<&str>) {
        if let (Values::Text { bytes, ends }, Some(text)) = (self.column(text.is_some()), text) {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len());
        }
    }

    fn end(&mut self) {
        self.next = 0;
    }
}
