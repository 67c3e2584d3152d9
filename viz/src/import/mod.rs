//! Logs of other allocators: the readers, and the program that a log describes.
//!
//! What a file is says its content, not its name.

mod event_log;
mod lifetimes;
mod order;
mod pickle;
mod program;
mod rmm;
mod row;
mod snapshot;

pub use event_log::program_of;
pub use order::{Order, Place};
pub use program::{Aside, Block, Op, Program, Recorded, Tie};
pub use row::{ImportError, Spot};

use std::io::Read;

/// The formats, for messages.
pub const FORMATS: &str = "RMM's CSV (Thread,Time,Action,Pointer,Size,Stream; also record, wait, sync and mark), \
                           lifetimes (id,lower,upper,size), a memory snapshot of PyTorch (pickle), or \
                           weir's own event log";

/// So many bytes say what a file is.
const SNIFFED: u64 = 64 << 10;

/// The largest file that is read as a whole.
const MOST: u64 = 4 << 30;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Rmm,
    Lifetimes,
    Pickle,
    EventLog,
}

/// Reads a log, of one device where it has several: of the one that did most unless one is named.
///
/// # Errors
/// It cannot be read, or is none: where, what stands there, and what was expected.
pub fn read(mut input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let mut beginning = Vec::new();
    input.by_ref().take(SNIFFED).read_to_end(&mut beginning).map_err(|error| unreadable(&error))?;
    let format = sniff(&beginning)?;
    if let (Some(device), Format::Rmm | Format::Lifetimes) = (device, format) {
        let found = format!("device {device} asked for in a log that names no devices");
        let expected = "no --device for CSV files".to_owned();
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    let all = beginning.as_slice().chain(input);
    match format {
        Format::Rmm => Program::of(rmm::Rows::new(all)?),
        Format::Lifetimes => Program::of(lifetimes::read(all)?.into_iter().map(Ok)),
        Format::Pickle => snapshot(all, device),
        Format::EventLog => event_log(all, device),
    }
}

/// Pickles begin with their protocol, CSV with a header that has some of the columns.
fn sniff(beginning: &[u8]) -> Result<Format, ImportError> {
    if weir::trace::sniff(beginning).is_ok() {
        return Ok(Format::EventLog);
    }
    if let [0x80, 2..=5, ..] = beginning {
        return Ok(Format::Pickle);
    }
    let found = match beginning.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()) {
        None => "an empty file".to_owned(),
        Some(line) => match std::str::from_utf8(line) {
            Ok(line) if lifetimes::is_header(line) => return Ok(Format::Lifetimes),
            Ok(line) if rmm::is_header(line) => return Ok(Format::Rmm),
            Ok(line) => format!("a first line {}", row::quoted(line.trim())),
            Err(_) => "bytes that are no text and no pickle".to_owned(),
        },
    };
    Err(ImportError { at: Spot::File, column: None, found, expected: FORMATS.to_owned() })
}

fn snapshot(input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let mut bytes = Vec::new();
    let read = input.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if read as u64 > MOST {
        let (found, expected) = (format!("more than {MOST} bytes"), "a smaller snapshot".to_owned());
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    let snapshot = snapshot::read(&pickle::load(&bytes, pickle::Limits::DEFAULT)?, device)?;
    let program = Program::of(snapshot.rows.into_iter().map(Ok))?;
    Ok(Program { notes: snapshot.notes, ..program })
}

fn event_log(input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let mut bytes = Vec::new();
    let read = input.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let wrong = |found: String, expected: &str| {
        Err(ImportError { at: Spot::File, column: None, found, expected: expected.to_owned() })
    };
    if read as u64 > MOST {
        return wrong(format!("more than {MOST} bytes"), "a smaller event log");
    }
    let opened = match crate::source::read("", &bytes) {
        Ok(opened) => opened,
        Err(error) => return wrong(error.what, "an event log of weir's"),
    };
    let Some(pool) = event_log::pool_of(&opened.model, device) else {
        let found = device.map_or("no pool".to_owned(), |device| format!("no pool of device {device}"));
        return wrong(found, "the log of a pool");
    };
    let mut program = program_of(&opened.model, &[pool]);
    program.recorded = event_log::recorded(&opened.model, pool);
    program.notes.extend(opened.first_damages(3));
    Ok(program)
}

fn unreadable(error: &std::io::Error) -> ImportError {
    let found = format!("an input error ({error})");
    ImportError { at: Spot::File, column: None, found, expected: FORMATS.to_owned() }
}

#[cfg(test)]
mod tests;
