//! Logs of other allocators: the readers, and the program that a log describes.
//!
//! What a file is says its content, not its name.

mod ascend;
mod ascend_db;
mod event_log;
mod held;
mod kineto;
mod lifetimes;
mod memscope;
mod nsight;
mod order;
mod pickle;
mod program;
mod recording;
mod rmm;
mod row;
mod snapshot;
mod sqlite;
mod static_ops;
mod table;
mod translate;

pub use event_log::program_of;
pub(crate) use kineto::{BESIDE as KINETO_BESIDE, MARK, MEMORY, OTHER as BESIDE, PART, POOL};
pub use order::{Order, Place};
pub use program::{Aside, Block, Op, Program, Recorded, Tie};
pub(crate) use rmm::{BESIDE as RMM_BESIDE, COLUMNS as RMM_COLUMNS, WITH_POOL};
pub use row::{ImportError, Spot};
pub(crate) use snapshot::{BESIDE as SNAPSHOT_BESIDE, PART as SNAPSHOT_PART};

use crate::model::{Fact, Unrecorded};
use crate::unpack::{Packing, unpack};
use recording::Recording;
use std::io::Read;

/// The formats, for messages.
pub const FORMATS: &str = "RMM's CSV (Thread,Time,Action,Pointer,Size,Stream; also record, wait, sync and mark), \
                           lifetimes (id,lower,upper,size), a memory snapshot of PyTorch (pickle), operator_memory.csv, \
                           memory_record.csv or static_op_mem.csv of the Ascend profiler, msMemScope's CSV, a Chrome trace with \
                           [memory] events (JSON), Nsight Systems', the Ascend profiler's or msMemScope's SQLite, or weir's own event log; packed by gzip or zstd or not";

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
    AscendOperators,
    AscendSums,
    AscendStatic,
    MemScope,
    Chrome,
    Nsight,
    EventLog,
}

/// Whether a line is a format's header.
type Is = fn(&str) -> bool;

/// What tells formats of text apart: their header.
const HEADERS: [(Is, Format); 6] = [
    (ascend::is_operators, Format::AscendOperators),
    (ascend::is_sums, Format::AscendSums),
    (static_ops::is_header, Format::AscendStatic),
    (memscope::is_header, Format::MemScope),
    (lifetimes::is_header, Format::Lifetimes),
    (rmm::is_header, Format::Rmm),
];

/// Reads a log, of one device where it has several: of the one that did most unless one is named.
///
/// # Errors
/// It cannot be read, or is none: where, what stands there, and what was expected.
pub fn read(mut input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let mut beginning = Vec::new();
    input.by_ref().take(SNIFFED).read_to_end(&mut beginning).map_err(|error| unreadable(&error))?;
    let Some(packing) = Packing::of(&beginning) else {
        return read_plain(beginning, input, device);
    };
    let unpacked = unpack(packing, beginning.as_slice().chain(input));
    match unpacked.damage {
        // A program that ends in the middle of the file is another program.
        Some(found) => {
            let expected = format!("a whole {} file that holds {FORMATS}", packing.name());
            Err(ImportError { at: Spot::File, column: None, found, expected })
        }
        None => {
            let mut rest = unpacked.bytes.as_slice();
            let mut beginning = Vec::new();
            rest.by_ref().take(SNIFFED).read_to_end(&mut beginning).map_err(|error| unreadable(&error))?;
            read_plain(beginning, rest, device)
        }
    }
}

fn read_plain(beginning: Vec<u8>, input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let format = sniff(&beginning)?;
    if let (Some(device), Format::Rmm | Format::Lifetimes) = (device, format) {
        let found = format!("device {device} asked for in a log that names no devices");
        let expected = "no --device for CSV files".to_owned();
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    let all = beginning.as_slice().chain(input);
    match format {
        Format::Rmm => Program::around(rmm::Rows::new(all)?),
        Format::Lifetimes => {
            let (rows, damages) = lifetimes::salvage(all)?;
            Program::around(rows.into_iter().map(Ok).chain(damages.into_iter().map(Err)))
        }
        Format::Pickle => snapshot(all, device),
        Format::EventLog => event_log(all, device),
        format => recorded(format, all, device),
    }
}

/// Whether a file that begins so is of one of the formats.
#[must_use]
pub fn knows(beginning: &[u8]) -> bool {
    foreign(&beginning[..beginning.len().min(SNIFFED as usize)]).is_ok()
}

/// Whether a file is a database of SQLite.
#[must_use]
pub fn is_sqlite(beginning: &[u8]) -> bool {
    beginning.starts_with(sqlite::MAGIC)
}

/// The log of another allocator in weir's text form; `None` where it is of none of the formats. `damage` is what is wrong
/// with the file besides: it ends where that begins.
pub fn translate(bytes: &[u8], damage: Option<&str>) -> Option<Result<Vec<u8>, ImportError>> {
    let format = foreign(&bytes[..bytes.len().min(SNIFFED as usize)]).ok()?;
    Some(format.record(bytes).map(|mut recording| {
        if !format.tells_refusals() && !recording.refuses() {
            recording.unrecorded = recording.unrecorded.and(Fact::Refusals);
        }
        if let Some(damage) = damage {
            recording.damage(damage);
        }
        translate::translate(&recording)
    }))
}

impl Format {
    /// Whether allocations that failed are in such a file.
    const fn tells_refusals(self) -> bool {
        matches!(self, Self::Rmm | Self::Pickle | Self::EventLog)
    }

    /// What a file of the format recorded.
    fn record(self, bytes: &[u8]) -> Result<Recording, ImportError> {
        match self {
            Self::Rmm => rmm::record(bytes),
            Self::Lifetimes => {
                let unrecorded =
                    Unrecorded::of(&[Fact::Source, Fact::Order, Fact::Reserved, Fact::Addresses, Fact::Rounding]);
                let unrecorded = unrecorded.and(Fact::Streams).and(Fact::Times).and(Fact::Limit);
                let (rows, damages) = lifetimes::salvage(bytes)?;
                let rows = rows.into_iter().map(Ok).chain(damages.into_iter().map(Err));
                let mut recording = Recording::of_rows("lifetimes (CSV)", unrecorded, rows);
                recording.happenings.iter_mut().for_each(recording::Happening::forget_address);
                Ok(recording)
            }
            Self::Pickle => snapshot::record(bytes),
            Self::AscendOperators => ascend::operators(bytes),
            Self::AscendSums => ascend::sums(bytes),
            Self::AscendStatic => static_ops::record(bytes),
            Self::MemScope => memscope::record(bytes),
            Self::Chrome => kineto::record(bytes),
            Self::Nsight => nsight::record(bytes),
            Self::EventLog => {
                let (found, expected) = ("a log of weir's".to_owned(), "another allocator's".to_owned());
                Err(ImportError { at: Spot::File, column: None, found, expected })
            }
        }
    }
}

/// weir's own logs first: they may begin in the middle of one.
fn sniff(beginning: &[u8]) -> Result<Format, ImportError> {
    if weir::trace::sniff(beginning).is_ok() {
        return Ok(Format::EventLog);
    }
    foreign(beginning)
}

/// Pickles begin with their protocol, CSV with a header that has some of the columns.
fn foreign(beginning: &[u8]) -> Result<Format, ImportError> {
    if let [0x80, 2..=5, ..] = beginning {
        return Ok(Format::Pickle);
    }
    if beginning.starts_with(sqlite::MAGIC) {
        return Ok(Format::Nsight);
    }
    if kineto::is_trace(beginning) {
        return Ok(Format::Chrome);
    }
    let found = match beginning.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()) {
        None => "an empty file".to_owned(),
        Some(line) => match std::str::from_utf8(line) {
            Ok(line) if let Some((_, format)) = HEADERS.iter().find(|(is, _)| is(line)) => return Ok(*format),
            Ok(line) => format!("a first line {}", row::quoted(line.trim())),
            Err(_) => "bytes that are no text and no pickle".to_owned(),
        },
    };
    Err(ImportError { at: Spot::File, column: None, found, expected: FORMATS.to_owned() })
}

fn snapshot(input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let bytes = whole(input)?;
    let snapshot = snapshot::read(&pickle::load(&bytes, pickle::Limits::DEFAULT)?, device)?;
    let program = Program::of(snapshot.happenings.iter().filter_map(recording::Happening::row).map(Ok))?;
    Ok(Program { notes: snapshot.notes, ..program })
}

/// The program of a recording that may begin in the middle of one.
fn recorded(format: Format, input: impl Read, device: Option<usize>) -> Result<Program, ImportError> {
    let recording = format.record(&whole(input)?)?;
    let device = device.and_then(|device| u32::try_from(device).ok()).unwrap_or_else(|| recording.busiest());
    let mut notes = recording.notes.clone();
    notes.extend(recording.damages.iter().map(|damage| format!("left out: {damage}")));
    let (rows, strays) = recording.rows(device);
    if strays > 0 {
        notes.push(format!("{strays} frees of blocks that the file does not allocate are left out"));
    }
    let program = Program::of(rows.into_iter().map(Ok))?;
    if program.blocks.is_empty() {
        let found = format!("no allocation on device {device} in {}", recording.format);
        let expected = format!("a log with allocations ({})", Fact::Blocks.name());
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    Ok(Program { notes, ..program })
}

fn whole(input: impl Read) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    let read = input.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if read as u64 > MOST {
        let (found, expected) = (format!("more than {MOST} bytes"), "a smaller file".to_owned());
        return Err(ImportError { at: Spot::File, column: None, found, expected });
    }
    Ok(bytes)
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
    let mut program = event_log::tried_program_of(&opened.model, &[pool]);
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
