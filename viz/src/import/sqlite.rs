//! Reads the tables of an SQLite file: enough of its format to list rows, and no SQL.
//!
//! A reader of our own, because what there is else brings the whole of SQLite in C, for two tables of one format here.
//! Nothing in it calls itself or trusts a length; a page is visited once, so that a damaged file ends.

use super::row::{ImportError, Spot};
use std::collections::HashSet;

/// How a file begins.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER: usize = 100;
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes,
}

impl Value {
    /// A number or text as text.
    pub(super) fn shown(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Integer(number) => Some(number.to_string().into()),
            Self::Real(number) => Some(number.to_string().into()),
            Self::Text(text) => Some(text.as_str().into()),
            Self::Null | Self::Bytes => None,
        }
    }

    pub(super) const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

/// A table: where it begins, and its columns' names.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    root: u32,
    columns: Vec<String>,
    /// The column that is the row's number, and stored as nothing.
    key: Option<usize>,
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.eq_ignore_ascii_case(name))
    }
}

/// A file.
pub(super) struct Database<'a> {
    bytes: &'a [u8],
    page: usize,
    /// Bytes of a page that hold something.
    usable: usize,
}

impl<'a> Database<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, ImportError> {
        let page = match u16_at(bytes, 16) {
            Some(1) => 65_536,
            Some(size) if size >= 512 && size.is_power_of_two() => usize::from(size),
            size => {
                return Err(refuse(16, format!("{size:?} as the size of a page"), "a power of two from 512 to 65536"));
            }
        };
        let reserved = bytes.get(20).copied().map_or(0, usize::from);
        if u32_at(bytes, 56).is_some_and(|encoding| encoding > 1) {
            return Err(refuse(56, "text in UTF-16".to_owned(), "text in UTF-8"));
        }
        Ok(Self { bytes, page, usable: page.saturating_sub(reserved).max(480) })
    }

    /// The tables that the file has.
    pub(super) fn tables(&self) -> Result<Vec<Table>, ImportError> {
        let schema = Table { name: String::new(), root: 1, columns: Vec::new(), key: None };
        let (rows, damages) = self.rows(&schema);
        let tables: Vec<Table> = rows.into_iter().filter_map(|row| table(&row)).collect();
        match damages.into_iter().next() {
            Some(damage) if tables.is_empty() => Err(damage),
            _ => Ok(tables),
        }
    }

    /// The rows of a table in the order of their numbers, and what could not be read of it.
    pub(super) fn rows(&self, table: &Table) -> (Vec<Vec<Value>>, Vec<ImportError>) {
        let (mut rows, mut damages) = (Vec::new(), Vec::new());
        let (mut open, mut seen) = (vec![table.root], HashSet::new());
        while let Some(number) = open.pop() {
            if !seen.insert(number) {
                damages.push(refuse(
                    self.start(number),
                    format!("page {number} once more"),
                    "each page of a table once",
                ));
                continue;
            }
            if let Err(error) = self.visit(table, number, &mut open, &mut rows) {
                damages.push(error);
            }
        }
        (rows, damages)
    }

    fn start(&self, number: u32) -> usize {
        (number as usize).saturating_sub(1).saturating_mul(self.page)
    }

    fn page(&self, number: u32) -> Result<&'a [u8], ImportError> {
        let start = self.start(number);
        let page = self.bytes.get(start..).and_then(|rest| rest.get(..self.page)).filter(|_| number > 0);
        page.ok_or_else(|| refuse(start, format!("the file's end before page {number}"), "a whole page"))
    }

    fn visit(
        &self,
        table: &Table,
        number: u32,
        open: &mut Vec<u32>,
        rows: &mut Vec<Vec<Value>>,
    ) -> Result<(), ImportError> {
        let (page, start) = (self.page(number)?, self.start(number));
        let at = if number == 1 { HEADER } else { 0 };
        let kind = page.get(at).copied().unwrap_or(0);
        let cells = u16_at(page, at + 3).map_or(0, usize::from);
        let first = at + if kind == INTERIOR { 12 } else { 8 };
        let cell = |n: usize| u16_at(page, first + 2 * n).map(usize::from);
        match kind {
            INTERIOR => {
                // The rightmost child first: the last one pushed is visited next.
                open.extend(u32_at(page, at + 8));
                open.extend((0..cells).rev().filter_map(|n| u32_at(page, cell(n)?)));
                Ok(())
            }
            LEAF => {
                for n in 0..cells {
                    let place = cell(n).unwrap_or(usize::MAX);
                    let row = self.row(table, page, place);
                    rows.push(row.ok_or_else(|| refuse(start + n, format!("cell {n} of page {number}"), "a row"))?);
                }
                Ok(())
            }
            other => Err(refuse(start + at, format!("a page of kind {other}"), "a page of a table (5 or 13)")),
        }
    }

    /// The row in a cell.
    fn row(&self, table: &Table, page: &'a [u8], place: usize) -> Option<Vec<Value>> {
        let mut at = place;
        let length = usize::try_from(varint(page, &mut at)?).ok()?;
        let number = varint(page, &mut at)?;
        let local = self.local(length);
        let mut payload = page.get(at..)?.get(..local)?.to_vec();
        let mut next = if local < length { u32_at(page, at + local)? } else { 0 };
        // Pages that follow; each adds at least a byte, so that this ends.
        while payload.len() < length {
            let more = self.page(next).ok()?;
            let room = (self.usable - 4).min(length - payload.len());
            payload.extend_from_slice(more.get(4..)?.get(..room)?);
            next = u32_at(more, 0)?;
        }
        let mut row = values(&payload)?;
        if let Some(value) = table.key.and_then(|key| row.get_mut(key)).filter(|value| **value == Value::Null) {
            *value = Value::Integer(number as i64);
        }
        Some(row)
    }

    /// How much of a row stands in its cell.
    fn local(&self, length: usize) -> usize {
        let most = self.usable - 35;
        if length <= most {
            return length;
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fits = least + (length - least) % (self.usable - 4);
        if fits <= most { fits } else { least }
    }
}

/// A table by its row in the schema: type, name, name, root, SQL.
fn table(row: &[Value]) -> Option<Table> {
    let [Value::Text(kind), Value::Text(name), _, Value::Integer(root), Value::Text(sql), ..] = row else {
        return None;
    };
    let inside = sql.get(sql.find('(')? + 1..sql.rfind(')')?)?;
    let mut parts = vec![String::new()];
    let (mut depth, mut quoted) = (0, false);
    for c in inside.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if depth == 0 && !quoted => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut()?.push(c);
    }
    let defined: Vec<(String, String)> = parts.iter().filter_map(|part| column(part)).collect();
    let key = defined
        .iter()
        .position(|(_, rest)| rest.split_whitespace().next() == Some("integer") && rest.contains("primary key"));
    let columns = defined.into_iter().map(|(name, _)| name).collect();
    let root = u32::try_from(*root).ok()?;
    (kind == "table").then(|| Table { name: name.clone(), root, columns, key })
}

/// A column's name, and the rest of its definition in lower case; `None` for what is no column. Names in quotes may hold
/// anything.
fn column(part: &str) -> Option<(String, String)> {
    let part = part.trim();
    let (name, rest) = match part.chars().next()? {
        quote @ ('"' | '\'' | '`' | '[') => part[1..].split_once(if quote == '[' { ']' } else { quote })?,
        _ => {
            let (word, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
            let constraints = ["primary", "unique", "check", "foreign", "constraint"];
            if constraints.iter().any(|constraint| word.eq_ignore_ascii_case(constraint)) {
                return None;
            }
            (word, rest)
        }
    };
    let rest: Vec<&str> = rest.split_whitespace().collect();
    Some((name.to_owned(), rest.join(" ").to_ascii_lowercase()))
}

/// The values of a row.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let mut body = usize::try_from(varint(payload, &mut at)?).ok()?;
    let end = body;
    let mut values = Vec::new();
    while at < end {
        let kind = varint(payload, &mut at)?;
        let length = usize::try_from(match kind {
            0..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            8 | 9 => 0,
            10 | 11 => return None,
            _ => (kind - 12) / 2,
        })
        .ok()?;
        let bytes = payload.get(body..)?.get(..length)?;
        body += length;
        values.push(match kind {
            0 => Value::Null,
            1..=6 => Value::Integer(signed(bytes)),
            7 => Value::Real(f64::from_bits(signed(bytes) as u64)),
            8 | 9 => Value::Integer(kind as i64 - 8),
            _ if kind % 2 == 1 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            _ => Value::Bytes,
        });
    }
    Some(values)
}

/// Two's complement, the highest byte first.
fn signed(bytes: &[u8]) -> i64 {
    let first = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(first, |number, byte| number << 8 | i64::from(*byte))
}

/// Seven bits a byte, and eight in the ninth.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for n in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if n == 8 {
            return Some(number << 8 | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn refuse(at: usize, found: String, expected: &str) -> ImportError {
    ImportError { at: Spot::Byte(at as u64), column: None, found, expected: expected.to_owned() }
}
