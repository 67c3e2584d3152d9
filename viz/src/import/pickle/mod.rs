//! Pickles of built-in types: numbers, text, lists, tuples and dicts, as PyTorch writes its memory snapshots.
//!
//! Reading one runs nothing: whatever would name or call Python code is refused. Nothing here calls itself, so no depth
//! of nesting can overflow the stack; values stand in one list and refer to each other by number, so what is shared
//! through the memo is there once, and a list that contains itself is no trouble. Numbers of values and of open marks
//! are limited.

mod machine;
mod opcode;
#[cfg(test)]
mod tests;

pub(super) use machine::{Limits, load, salvage};

/// A value by its number.
pub(super) type Id = u32;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    Int(i128),
    /// A number of more than 16 bytes.
    Huge,
    Float(f64),
    /// As it stands in the file; not checked to be UTF-8.
    Text(&'a [u8]),
    List(Vec<Id>),
    Tuple(Vec<Id>),
    /// In the order of the file; a later entry of the same key replaces an earlier one.
    Dict(Vec<[Id; 2]>),
}

impl Value<'_> {
    /// What it is, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "a number",
            Self::Huge => "a number of more than 16 bytes",
            Self::Float(_) => "a floating-point number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Dict(_) => "a dict",
        }
    }
}

/// All values of a file.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// The value that holds all others.
    pub(super) const fn root(&self) -> Id {
        self.root
    }

    pub(super) fn value(&self, id: Id) -> &Value<'a> {
        self.values.get(id as usize).unwrap_or(&Value::None)
    }

    /// What a dict has under a key; none too where it is no dict.
    pub(super) fn field(&self, dict: Id, key: &str) -> Option<Id> {
        let Value::Dict(entries) = self.value(dict) else { return None };
        let same = |id: Id| matches!(self.value(id), Value::Text(text) if *text == key.as_bytes());
        entries.iter().rev().find(|[name, _]| same(*name)).map(|[_, value]| *value)
    }

    /// The elements of a list or a tuple.
    pub(super) fn elements(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::List(elements) | Value::Tuple(elements) => Some(elements),
            _ => None,
        }
    }
}
