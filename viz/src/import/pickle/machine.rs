//! The stack machine that a pickle is a program for.

use super::super::row::{ImportError, Spot};
use super::opcode::{Opcode, calls, foreign};
use super::{Id, Pickle, Value};
use std::collections::HashMap;

/// What a file may ask for.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Limits {
    /// The most values.
    pub(super) values: usize,
    /// The most marks that are open at once.
    pub(super) marks: usize,
}

impl Limits {
    /// Values of six million entries, about a gibibyte here. Of marks, snapshots have less than ten.
    pub(in super::super) const DEFAULT: Self = Self { values: 1 << 25, marks: 1_000 };
}

const EXPECTED: &str = "a pickle of built-in types, as PyTorch's memory snapshots are";

struct Machine<'a> {
    input: &'a [u8],
    limits: Limits,
    /// Where the opcode began that is carried out.
    begun: usize,
    at: usize,
    /// What was refused names or calls code, or would not end: nothing of the file is to be believed.
    hostile: bool,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
}

/// Reads a pickle.
pub(in super::super) fn load(input: &[u8], limits: Limits) -> Result<Pickle<'_>, ImportError> {
    match salvage(input, limits)? {
        (pickle, None) => Ok(pickle),
        (_, Some(cut)) => Err(cut),
    }
}

/// Reads a pickle; of one that is cut or damaged, what stands before that, and where it is. What is hostile is refused.
pub(in super::super) fn salvage(
    input: &[u8],
    limits: Limits,
) -> Result<(Pickle<'_>, Option<ImportError>), ImportError> {
    let mut machine = Machine::new(input, limits);
    match machine.run() {
        Ok(root) => Ok((Pickle { values: machine.values, root }, None)),
        Err(error) if !machine.hostile && !machine.stack.is_empty() => {
            let root = machine.close();
            Ok((Pickle { values: machine.values, root }, Some(error)))
        }
        Err(error) => Err(error),
    }
}

impl<'a> Machine<'a> {
    fn new(input: &'a [u8], limits: Limits) -> Self {
        Self {
            input,
            limits,
            begun: 0,
            at: 0,
            hostile: false,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        }
    }

    fn run(&mut self) -> Result<Id, ImportError> {
        loop {
            self.begun = self.at;
            let byte = self.unsigned(1)?.to_le_bytes()[0];
            let opcode = Opcode::of(byte).ok_or_else(|| {
                self.hostile = calls(byte);
                self.refuse(foreign(byte))
            })?;
            if opcode == Opcode::Stop {
                return self.pop();
            }
            self.step(opcode)?;
        }
    }

    /// Puts what is unfinished where it would have gone, from the innermost on; answers the value that holds all.
    fn close(&mut self) -> Id {
        loop {
            let from = self.marks.pop().unwrap_or(1).min(self.stack.len());
            let elements = self.stack.split_off(from);
            let Some(top) = self.stack.last() else {
                // A mark at the very bottom: what follows it is all there is.
                return elements.first().copied().unwrap_or_default();
            };
            let (mut pairs, mut single) = (elements.as_chunks::<2>().0.to_vec(), elements);
            match self.values.get_mut(*top as usize) {
                Some(Value::List(list)) => list.append(&mut single),
                Some(Value::Dict(dict)) => dict.append(&mut pairs),
                _ => {}
            }
            if from <= 1 {
                return self.stack.first().copied().unwrap_or_default();
            }
        }
    }
}

impl<'a> Machine<'a> {
    fn step(&mut self, opcode: Opcode) -> Result<(), ImportError> {
        match opcode {
            Opcode::Protocol => self.protocol(),
            Opcode::Frame => self.take(8).map(drop),
            Opcode::Stop => Ok(()),
            Opcode::Mark => self.mark(),
            Opcode::Pop => self.pop().map(drop),
            Opcode::None => self.push(Value::None),
            Opcode::True => self.push(Value::Bool(true)),
            Opcode::False => self.push(Value::Bool(false)),
            Opcode::Unsigned(bytes) => {
                let number = self.unsigned(bytes)?;
                self.push(Value::Int(number.into()))
            }
            Opcode::Signed => self.long(4),
            Opcode::Long(bytes) => {
                let length = self.unsigned(bytes)?;
                self.long(length)
            }
            Opcode::Float => self.float(),
            Opcode::Text(bytes) => {
                let length = self.unsigned(bytes)?;
                let text = self.take(length)?;
                self.push(Value::Text(text))
            }
            Opcode::EmptyList => self.push(Value::List(Vec::new())),
            Opcode::EmptyDict => self.push(Value::Dict(Vec::new())),
            Opcode::Tuple(count) => {
                let begin = self.above(count.into())?;
                let elements = self.stack.split_off(begin);
                self.push(Value::Tuple(elements))
            }
            Opcode::MarkedTuple => {
                let elements = self.since_mark()?;
                self.push(Value::Tuple(elements))
            }
            Opcode::MarkedList => {
                let elements = self.since_mark()?;
                self.push(Value::List(elements))
            }
            Opcode::MarkedDict => {
                let entries = self.since_mark()?;
                self.push(Value::Dict(Vec::new()))?;
                self.set(&entries)
            }
            Opcode::Append => {
                let element = self.pop()?;
                self.append(vec![element])
            }
            Opcode::Appends => {
                let elements = self.since_mark()?;
                self.append(elements)
            }
            Opcode::SetItem => {
                let begin = self.above(2)?;
                let entry = self.stack.split_off(begin);
                self.set(&entry)
            }
            Opcode::SetItems => {
                let entries = self.since_mark()?;
                self.set(&entries)
            }
            Opcode::Put(bytes) => {
                let number = self.unsigned(bytes)?;
                self.remember(number)
            }
            Opcode::Memoize => self.remember(self.memo.len() as u64),
            Opcode::Get(bytes) => self.recall(bytes),
        }
    }

    fn refuse(&self, found: impl Into<String>) -> ImportError {
        ImportError { at: Spot::Byte(self.begun as u64), column: None, found: found.into(), expected: EXPECTED.into() }
    }

    fn protocol(&mut self) -> Result<(), ImportError> {
        match self.unsigned(1)? {
            2..=5 => Ok(()),
            version => Err(self.refuse(format!("protocol {version} (2 to 5 are known)"))),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], ImportError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| self.refuse(format!("the file's end after byte {}", self.input.len())))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn unsigned(&mut self, bytes: u8) -> Result<u64, ImportError> {
        let taken = self.take(bytes.into())?;
        Ok(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number in two's complement.
    fn long(&mut self, length: u64) -> Result<(), ImportError> {
        let taken = self.take(length)?;
        let negative = taken.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut bytes = [if negative { 0xff } else { 0 }; 16];
        match bytes.get_mut(..taken.len()) {
            Some(low) => low.copy_from_slice(taken),
            None => return self.push(Value::Huge),
        }
        self.push(Value::Int(i128::from_le_bytes(bytes)))
    }

    fn float(&mut self) -> Result<(), ImportError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        self.push(Value::Float(f64::from_be_bytes(bytes)))
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), ImportError> {
        let most = self.limits.values;
        let id = Id::try_from(self.values.len()).ok().filter(|id| (*id as usize) < most);
        self.hostile |= id.is_none();
        self.stack.push(id.ok_or_else(|| self.refuse(format!("more than {most} values")))?);
        self.values.push(value);
        Ok(())
    }

    fn mark(&mut self) -> Result<(), ImportError> {
        let most = self.limits.marks;
        if self.marks.len() == most {
            self.hostile = true;
            return Err(self.refuse(format!("values nested more than {most} deep")));
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    /// Where the topmost `count` values begin. Those below a mark are out of reach.
    fn above(&self, count: usize) -> Result<usize, ImportError> {
        let bottom = self.marks.last().copied().unwrap_or(0);
        let begin = self.stack.len().checked_sub(count).filter(|begin| *begin >= bottom);
        begin.ok_or_else(|| self.refuse("an opcode that takes more values than there are"))
    }

    fn pop(&mut self) -> Result<Id, ImportError> {
        let top = self.above(1)?;
        let id = self.stack.get(top).copied().unwrap_or_default();
        self.stack.truncate(top);
        Ok(id)
    }

    fn since_mark(&mut self) -> Result<Vec<Id>, ImportError> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        let mark = mark.ok_or_else(|| self.refuse("an opcode that takes what follows a mark, and no mark"))?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> Result<Id, ImportError> {
        let top = self.above(1)?;
        Ok(self.stack.get(top).copied().unwrap_or_default())
    }

    fn append(&mut self, mut elements: Vec<Id>) -> Result<(), ImportError> {
        let top = self.top()? as usize;
        match self.values.get_mut(top) {
            Some(Value::List(list)) => list.append(&mut elements),
            _ => return Err(self.refuse("an append to what is no list")),
        }
        Ok(())
    }

    fn set(&mut self, entries: &[Id]) -> Result<(), ImportError> {
        let (pairs, odd) = entries.as_chunks::<2>();
        let top = self.top()? as usize;
        match self.values.get_mut(top) {
            Some(Value::Dict(dict)) if odd.is_empty() => dict.extend_from_slice(pairs),
            _ => return Err(self.refuse("entries for what is no dict, or a key without a value")),
        }
        Ok(())
    }

    fn remember(&mut self, number: u64) -> Result<(), ImportError> {
        let top = self.top()?;
        self.memo.insert(number, top);
        Ok(())
    }

    fn recall(&mut self, bytes: u8) -> Result<(), ImportError> {
        let number = self.unsigned(bytes)?;
        let id = self.memo.get(&number).copied();
        self.stack.push(id.ok_or_else(|| self.refuse(format!("memo entry {number}, which nothing has set")))?);
        Ok(())
    }
}
